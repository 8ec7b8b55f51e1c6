//! The bill of a cell: the parts of one hop, from rings that were timed side by side.

use super::spec::Spec;
use tollgate_measure::samples::{ProbeState, RunSamples};
use tollgate_measure::summary::{self, Units};
use tollgate_record::{
    Asked, Estimate, Evidence, Measurement, Phase, PhaseName, Status, Warning, phase, warning,
};

/// A ring, and the rings that are timed beside it for its bill.
///
/// With `T(n, s)` for the time of a hop in a ring of `n` tasks with arrays of `s` bytes, `T(1, s)` being one
/// task that passes the token to itself:
///
/// - hot work: `T(1, S)`; lmbench calls it overhead
/// - direct switch: `T(2, 0) - T(1, 0)`
/// - run queue: `T(N, 0) - T(2, 0)`
/// - refill: the rest, `T(N, S) - T(1, S) - (T(N, 0) - T(1, 0))`
#[derive(Clone, Debug)]
pub struct Cell {
    specs: Vec<Spec>,
    same: usize,
    two: usize,
    hot: usize,
    idle: usize,
}

impl Cell {
    /// The cell of this ring.
    pub fn new(spec: Spec) -> Self {
        let mut specs = vec![spec.clone()];
        let mut place = |procs, bytes| {
            let wanted = spec.of(procs, bytes);
            specs.iter().position(|there| *there == wanted).unwrap_or_else(|| {
                specs.push(wanted);
                specs.len() - 1
            })
        };
        let (same, two) = (place(spec.procs, 0), place(2, 0));
        let (hot, idle) = (place(1, spec.bytes), place(1, 0));
        Self { specs, same, two, hot, idle }
    }

    /// The rings to time side by side, the cell's own first.
    pub fn specs(&self) -> &[Spec] {
        &self.specs
    }

    /// The index of the ring of one task with the cell's array.
    pub fn hot(&self) -> usize {
        self.hot
    }

    /// The record of the cell; `measured` is that of its own ring.
    pub fn bill(&self, mut measured: Measurement, samples: &RunSamples, units: &Units) -> Measurement {
        let spec = &self.specs[0];
        measured.asked = Asked::Ring(spec.asked());
        if measured.status != Status::Measured {
            return measured;
        }
        for (spec, probe) in self.specs.iter().zip(&samples.probes).skip(1) {
            if let ProbeState::Skipped { reason, .. } | ProbeState::Failed(reason) = &probe.state {
                let text = format!(
                    "the ring of {} with {} bytes beside it failed: {reason}",
                    spec.procs, spec.bytes
                );
                measured.warnings.push(Warning::new(warning::BILL_INCOMPLETE, text));
            }
        }
        let hops = |ring: usize| f64::from(self.specs[ring].procs.max(1));
        let levels = |ring: usize| {
            let (of, whole) = (&samples.probes[ring], &samples.probes[0]);
            match of.state {
                ProbeState::Active if ring == 0 => summary::levels(of, hops(0)),
                ProbeState::Active => summary::levels_beside(of, whole, [hops(ring), hops(0)]),
                _ => Vec::new(),
            }
        };
        let [total, same, two, hot, idle] = [0, self.same, self.two, self.hot, self.idle].map(levels);
        let apart = |plus: &[&[f64]], minus: &[&[f64]]| -> Vec<f64> {
            let shortest = plus.iter().chain(minus).map(|levels| levels.len()).min().unwrap_or(0);
            let sum = |of: &[&[f64]], at: usize| of.iter().map(|levels| levels[at]).sum::<f64>();
            (0..shortest).map(|at| sum(plus, at) - sum(minus, at)).filter(|level| level.is_finite()).collect()
        };
        let mut phases = vec![
            (phase::HOT_WORK, Evidence::Measured, apart(&[&hot], &[])),
            (phase::DIRECT_SWITCH, Evidence::Difference, apart(&[&two], &[&idle])),
        ];
        if self.same != self.two {
            phases.push((phase::RUN_QUEUE, Evidence::Difference, apart(&[&same], &[&two])));
        }
        if spec.bytes > 0 {
            phases.push((phase::REFILL, Evidence::Difference, apart(&[&total, &idle], &[&hot, &same])));
        }
        for (name, evidence, levels) in phases {
            let Some(ns) = summary::of_levels(&levels, units) else { continue };
            measured.phases.push(part(name, ns, evidence, units));
        }
        unattributed(&mut measured, units);
        refill_warning(&mut measured);
        measured
    }
}

fn part(name: PhaseName, ns: Estimate, evidence: Evidence, units: &Units) -> Phase {
    let cycles = units.cycles_per_ns().map(|cycles| ns.scaled(cycles));
    Phase { ns: Some(ns), cycles, ..Phase::new(name, evidence) }
}

/// The median of the whole minus the medians of the parts: medians do not add up as means do. All are of the same epochs,
/// so the interval of independent figures is an upper bound.
fn unattributed(measured: &mut Measurement, units: &Units) {
    let Some(total) = measured.ns else { return };
    let ns = total.minus(&Estimate::sum(measured.phases.iter().filter_map(|phase| phase.ns)));
    measured.phases.push(part(phase::UNATTRIBUTED, ns, Evidence::Difference, units));
}

/// Warns when the refill's interval includes zero or is below it.
fn refill_warning(measured: &mut Measurement) {
    let refill = measured.phases.iter().find(|it| it.name == phase::REFILL).and_then(|phase| phase.ns);
    let Some(refill) = refill.filter(|refill| refill.ci[0] <= 0.0) else { return };
    let text = format!(
        "the refill cannot be distinguished from zero: {:+.0} ns, interval {:+.0} to {:+.0}",
        refill.estimate, refill.ci[0], refill.ci[1]
    );
    measured.warnings.push(Warning::new(warning::REFILL_INDISTINCT, text));
}

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate_measure::clock::Scale;
    use tollgate_measure::samples::{Batch, EpochSamples, ProbeSamples};
    use tollgate_record::Per;

    fn spec(procs: u32, bytes: u64) -> Spec {
        Spec::like_lmbench(procs, bytes, 0)
    }

    /// Samples in which each ring of the cell took so many nanoseconds for a hop, a little more in each
    /// further epoch.
    fn samples(cell: &Cell, ns: impl Fn(&Spec) -> f64) -> RunSamples {
        let probe = |spec: &Spec| {
            let epoch = |at: u32| {
                let ticks = (ns(spec) * f64::from(spec.procs) * 100.0) as u64 + u64::from(at);
                EpochSamples {
                    batches: vec![Batch { passes: 100, ticks }; 12],
                    rounds: (0..12).collect(),
                    visits: 12,
                    ..EpochSamples::default()
                }
            };
            ProbeSamples { passes: 100, epochs: (0..6).map(epoch).collect(), ..ProbeSamples::default() }
        };
        RunSamples {
            probes: cell.specs().iter().map(probe).collect(),
            complete: true,
            ..RunSamples::default()
        }
    }

    const UNITS: Units = Units { scale: Scale { hz: 1e9 }, ticks: true, core: None, core_spread: 0.0 };

    fn bill(cell: &Cell, samples: &RunSamples) -> Measurement {
        let mut measured = Measurement::empty("ring/pipe", "host", Per::Switch, Status::Measured);
        let total = summary::levels(&samples.probes[0], f64::from(cell.specs()[0].procs));
        measured.ns = summary::of_levels(&total, &UNITS);
        cell.bill(measured, samples, &UNITS)
    }

    fn ns(measured: &Measurement, name: &str) -> Option<f64> {
        measured.phases.iter().find(|phase| phase.name == name)?.ns.map(|ns| ns.estimate)
    }

    #[test]
    fn the_parts_are_the_differences_and_sum_to_the_whole() {
        let cell = Cell::new(spec(8, 65_536));
        assert_eq!(cell.specs().len(), 5);
        let samples = samples(&cell, |spec| match (spec.procs, spec.bytes) {
            (8, 65_536) => 10_000.0,
            (8, 0) => 3_000.0,
            (2, 0) => 2_000.0,
            (1, 65_536) => 4_000.0,
            _ => 500.0,
        });
        let measured = bill(&cell, &samples);
        for (name, expected) in
            [("hot-work", 4_000.0), ("direct-switch", 1_500.0), ("run-queue", 1_000.0), ("refill", 3_500.0)]
        {
            let found = ns(&measured, name).expect(name);
            assert!((found - expected).abs() < 0.1, "{name}: {found}");
        }
        let sum: f64 = measured.phases.iter().filter_map(|phase| phase.ns).map(|ns| ns.estimate).sum();
        assert!((sum - measured.ns.expect("a total").estimate).abs() < 1e-9);
        assert!(!measured.has_warning(warning::REFILL_INDISTINCT));
        assert_eq!(measured.asked.ring().map(|ring| (ring.procs, ring.size)), Some((8, 65_536)));
    }

    /// The machine is a fifth slower in all but the first rounds of each epoch, in which only the whole was measured.
    #[test]
    fn a_machine_that_changes_its_level_moves_no_part() {
        let cell = Cell::new(spec(8, 65_536));
        let of = |spec: &Spec| match (spec.procs, spec.bytes) {
            (8, 65_536) => 10_000.0,
            (8, 0) => 3_000.0,
            (2, 0) => 2_000.0,
            (1, 65_536) => 4_000.0,
            _ => 500.0,
        };
        let mut jumpy = samples(&cell, of);
        for (ring, probe) in jumpy.probes.iter_mut().enumerate() {
            for epoch in &mut probe.epochs {
                for (round, batch) in epoch.batches.iter_mut().enumerate() {
                    let slow = if round < 3 { 1.0 } else { 1.2 };
                    batch.ticks = (batch.ticks as f64 * slow) as u64;
                }
                if ring > 0 {
                    epoch.batches.drain(..3);
                    epoch.rounds.drain(..3);
                }
            }
        }
        let measured = bill(&cell, &jumpy);
        for (name, expected) in
            [("hot-work", 4_000.0), ("direct-switch", 1_500.0), ("run-queue", 1_000.0), ("refill", 3_500.0)]
        {
            let found = ns(&measured, name).expect(name);
            assert!((found - expected).abs() < 1.0, "{name}: {found}");
        }
    }

    #[test]
    fn a_ring_without_arrays_has_no_refill_and_two_tasks_no_queue() {
        let cell = Cell::new(spec(2, 0));
        assert_eq!(cell.specs().len(), 2, "the ring is its own baseline");
        let measured = bill(&cell, &samples(&cell, |spec| if spec.procs == 1 { 500.0 } else { 2_000.0 }));
        let names: Vec<&str> = measured.phases.iter().map(|phase| phase.name.as_str()).collect();
        assert_eq!(names, ["hot-work", "direct-switch", "unattributed"]);
        assert!(ns(&measured, "unattributed").expect("always there").abs() < 0.1);
    }

    #[test]
    fn a_negative_refill_is_signed_and_said_to_be_none() {
        let cell = Cell::new(spec(2, 4096));
        let samples = samples(&cell, |spec| match (spec.procs, spec.bytes) {
            (2, 4096) => 2_100.0,
            (2, 0) => 2_000.0,
            (1, 4096) => 800.0,
            _ => 500.0,
        });
        let measured = bill(&cell, &samples);
        assert!(ns(&measured, "refill").expect("it is there") < -190.0);
        let warning = measured.warnings.iter().find(|warning| warning.code == warning::REFILL_INDISTINCT);
        assert!(warning.expect("warned of").text.contains("cannot be distinguished from zero: -200 ns"));
    }

    #[test]
    fn a_baseline_that_failed_leaves_its_parts_out() {
        let cell = Cell::new(spec(8, 4096));
        let mut samples = samples(&cell, |_| 1_000.0);
        samples.probes[cell.same].state = ProbeState::Failed("gone".into());
        let measured = bill(&cell, &samples);
        assert_eq!(ns(&measured, "run-queue"), None);
        assert_eq!(ns(&measured, "refill"), None);
        assert!(ns(&measured, "hot-work").is_some());
        assert!(measured.has_warning(warning::BILL_INCOMPLETE));
    }
}
