//! tollgate: measures and explains what it costs to cross an execution boundary.
fn main() {
    use std::io::Write;
    use tollgate_measure::sampler::{self, Event, Outcome, Plan};
    let args: Vec<String> = std::env::args().collect();
    let probes = tollgate_boundary::PROBES;
    let site = tollgate_measure::Site { cpu: 1, peer: Some(0) };
    if args[1] == "worker" {
        tollgate_measure::worker::serve(
            probes,
            site,
            tollgate_measure::clock::Source::best(),
            args[2].parse().unwrap(),
        )
        .unwrap();
        return;
    }
    let secs: f64 = args[1].parse().unwrap();
    let epochs: u32 = args[2].parse().unwrap();
    let pattern = args.get(4).cloned().unwrap_or_default();
    let mut bench = tollgate_measure::remote::Remote::new(
        || {
            let mut c = std::process::Command::new("/proc/self/exe");
            c.arg("worker").arg(std::process::id().to_string());
            c
        },
        10_000,
    );
    let metas: Vec<_> = probes.iter().map(|p| p.meta()).collect();
    let refused =
        metas.iter().map(|m| (!m.id.contains(&pattern)).then(|| Outcome::Failed("no".into()))).collect();
    let plan = Plan {
        seed: 42,
        epochs,
        most_epochs: epochs,
        budget_ns: (secs * 1e9) as u64,
        batch_ns: 300_000,
        target: 0.0,
        singles_ns: 2_000_000,
    };
    let mut tell = |_: Event<'_>| std::ops::ControlFlow::Continue(());
    let harvest = sampler::run(&mut bench, &metas, refused, &plan, &|_, _| None, &mut tell).unwrap();
    let mut out = std::fs::File::create(&args[3]).unwrap();
    let hz = harvest.scale().unwrap().hz;
    for (i, c) in harvest.core.iter().enumerate() {
        writeln!(out, "core {i} {} {} {} {} {}", hz, c.multiply, c.add, c.thousand, c.pair).unwrap();
    }
    for (m, p) in metas.iter().zip(&harvest.probes) {
        if p.outcome != Outcome::Active {
            eprintln!("{} {:?}", m.id, p.outcome);
            continue;
        }
        for (e, ep) in p.epochs.iter().enumerate() {
            let j = |v: &[u64]| v.iter().map(|x| x.to_string()).collect::<Vec<_>>().join(",");
            writeln!(
                out,
                "epoch {} {} {} {} {} [{}] [{}] [{}] [{}] [{}] {:?}",
                m.id,
                e,
                p.passes,
                m.crossings_per_pass,
                ep.steady,
                j(&ep.batches.iter().map(|b| b.ticks).collect::<Vec<_>>()),
                j(&ep.doubles.iter().map(|b| b.ticks).collect::<Vec<_>>()),
                j(&ep.empty),
                j(&ep.singles),
                j(&ep.singles_empty),
                (ep.passes, ep.involuntary, &ep.counts)
            )
            .unwrap();
        }
    }
}
