use super::*;
use tollgate_measure::clock::Scale;

const UNITS: Units = Units { scale: Scale { hz: 2.25e9 }, ticks: true, core: None, core_spread: 0.0 };

#[test]
#[ignore]
fn shows() {
    let t = Instant::now();
    let all = Hardware::here(&UNITS, Some("KVM"), false).measure();
    eprintln!("{:?}", t.elapsed());
    for r in all {
        eprint!("{:24} {:15} {:?} ", r.probe, r.engine, r.status);
        if let Some(t) = r.ticks { eprint!("{:.1} [{:.1} {:.1}] ", t.estimate, t.ci[0], t.ci[1]); }
        for p in &r.phases { eprint!("{} {:.1} ", p.name, p.ns.map(|n| n.estimate*2.25).or(p.instructions).unwrap_or(f64::NAN)); }
        if let Some(w) = &r.reason { eprint!("{w} | {:?}", r.enable); }
        eprintln!("{:?} {:?} {:?}", r.counters, r.proof, r.warnings.iter().map(|w| &w.code).collect::<Vec<_>>());
    }
}
