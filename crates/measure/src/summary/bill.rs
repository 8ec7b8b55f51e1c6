//! The bill of a crossing: its parts from what was stamped, epoch by epoch, and what they leave over.
//!
//! A machine may change its speed by a fifth for seconds. So each part is known as a share of the whole from one visit: a
//! batch and the crossings that were stamped within a millisecond of it. An epoch's bill is the level of its batches,
//! divided by the middle shares.

use super::headline::{empty_ticks, epoch_levels, of_levels};
use super::units::Units;
use crate::dissection::{Dissection, Part, Term};
use crate::samples::{EpochSamples, ProbeSamples, Split};
use crate::stats::{median, median_interval, quantile, sorted};
use tollgate_record::{Evidence, Phase, Warning, warning};

/// Which quantile of an epoch's groups of stamped crossings stands for it. A group's median is already
/// free of single outliers, so that fewer groups than batches are thrown away.
const LEVEL: f64 = 0.1;
/// The name of what the parts leave over.
const REST: &str = "unattributed";
/// The largest rest of a bill without a warning: a share of the total, or ticks.
const CLOSE: (f64, f64) = (0.02, 3.0);

/// The parts and the total of a bill.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Bill {
    /// The parts, and last what they leave over.
    pub(super) phases: Vec<Phase>,
    /// The total in ticks by epoch where it was stamped; empty where batches give it.
    pub(super) stamped_total: Vec<f64>,
    /// The sum of the parts, in ticks.
    pub(super) total: Option<f64>,
    /// Whole crossings while something recorded: what recorded, their length in nanoseconds.
    pub(super) instrumented: Vec<(String, f64)>,
    /// Its warnings.
    pub(super) warnings: Vec<Warning>,
}

/// The bill of a probe; `None` when it is not taken apart, a bill without phases when it could not be.
pub(super) fn bill(probe: &ProbeSamples, per_pass: f64, units: &Units) -> Option<Bill> {
    let dissection = probe.dissection.as_ref()?;
    let mut bill = Bill::default();
    if let Some((reason, enable)) = &probe.undissected {
        bill.warnings.push(Warning::new(warning::NOT_SPLIT, format!("not taken apart: {reason}; {enable}")));
        return Some(bill);
    }
    let epochs = probe.epochs.iter().zip(epoch_levels(probe, per_pass));
    let empty = empty_ticks(probe);
    let used: Vec<EpochBill> = epochs
        .filter_map(|(epoch, batches)| EpochBill::of(epoch, batches, empty, per_pass, dissection))
        .collect();
    if used.is_empty() {
        bill.warnings
            .push(Warning::new(warning::NOT_SPLIT, "not taken apart: no crossing was stamped whole"));
        return Some(bill);
    }
    let doubt = used.iter().map(|bill| bill.doubt).fold(0.0, f64::max);
    let of = |part: &Part| -> Vec<f64> { used.iter().map(|bill| bill.part(part)).collect() };
    let totals: Vec<f64> = used.iter().map(|bill| bill.total).collect();
    let mut rest = totals.clone();
    for part in &dissection.parts {
        let levels = of(part);
        rest.iter_mut().zip(&levels).for_each(|(rest, level)| *rest -= level);
        let shift = doubt * f64::from(cuts(part, dissection).abs());
        bill.phases.push(phase(&part.name, part.evidence, &levels, shift, units));
    }
    if matches!(dissection.total, Term::Lane(_)) {
        bill.stamped_total.clone_from(&totals);
    }
    if dissection.parts.is_empty() {
        return Some(bill);
    }
    let over = median_interval(&rest).map_or(0.0, |it| it.estimate);
    let total = median_interval(&totals).map_or(0.0, |it| it.estimate);
    if over.abs() > (CLOSE.0 * total.abs()).max(CLOSE.1) {
        let text = format!("the parts leave {:+.1} % of the total unattributed", 100.0 * over / total);
        bill.warnings.push(Warning::new(warning::UNATTRIBUTED, text));
    }
    bill.total = Some(total);
    bill.phases.push(phase(REST, Evidence::Difference, &rest, 0.0, units));
    for (lane, by) in &dissection.instrumented {
        let levels: Vec<f64> = used.iter().map(|bill| bill.term(Term::Lane(*lane))).collect();
        if let Some(ns) = of_levels(&levels, units) {
            bill.instrumented.push((by.clone(), ns.estimate));
        }
    }
    Some(bill)
}

/// How often, with its sign, the moment of the kernel's stamp goes into a part.
fn cuts(part: &Part, dissection: &Dissection) -> i8 {
    let of = |lane: usize| dissection.mapped.iter().find(|(mapped, _)| *mapped == lane).map_or(0, |it| it.1);
    let one = |(sign, term): &(i8, Term)| match term {
        Term::Lane(lane) => sign * of(*lane),
        Term::Batches => 0,
    };
    part.terms.iter().map(one).sum()
}

fn phase(name: &str, evidence: Evidence, levels: &[f64], doubt: f64, units: &Units) -> Phase {
    let mut phase = Phase::new(name, evidence);
    phase.ns = of_levels(levels, units).map(|ns| ns.widened(doubt / units.scale.hz * 1e9));
    phase.cycles = phase.ns.zip(units.cycles_per_ns()).map(|(ns, cycles)| ns.scaled(cycles));
    phase
}

/// The bill of one epoch.
struct EpochBill {
    /// The level of the whole.
    total: f64,
    /// The batches and lanes of each visit, as shares of the whole of that visit.
    shares: Vec<Shares>,
    doubt: f64,
}

struct Shares {
    batch: f64,
    lanes: Vec<f64>,
}

impl EpochBill {
    /// `None` when a lane has nothing. `batches` is the level of the epoch's batches, `empty` the ticks of an empty one.
    fn of(
        epoch: &EpochSamples,
        batches: f64,
        empty: f64,
        per_pass: f64,
        dissection: &Dissection,
    ) -> Option<Self> {
        let total = match dissection.total {
            Term::Batches => batches,
            Term::Lane(lane) => {
                let groups: Vec<f64> = stamped(epoch, lane).collect();
                (!groups.is_empty()).then(|| quantile(&sorted(&groups), LEVEL))?
            }
        };
        let of = |split: &Split| {
            let batch = (split.batch.ticks as f64 - empty) / (split.batch.passes as f64 * per_pass);
            let lanes = (0..dissection.lanes).map(|lane| split.lane(lane).unwrap_or(f64::NAN));
            let mut shares = Shares { batch, lanes: lanes.collect() };
            let whole = shares.term(dissection.total);
            shares.batch /= whole;
            shares.lanes.iter_mut().for_each(|lane| *lane /= whole);
            (whole > 0.0).then_some(shares)
        };
        let shares: Vec<Shares> = epoch.splits.iter().filter_map(of).collect();
        let bill = Self { total, shares, doubt: epoch.doubt };
        let lanes = (0..dissection.lanes).map(Term::Lane);
        let whole = dissection.lanes > 0 && lanes.map(|lane| bill.term(lane)).all(f64::is_finite);
        (whole && !total.is_nan()).then_some(bill)
    }

    /// A share of the whole in the middle visit, times the level of the whole.
    fn scaled(&self, share: impl Fn(&Shares) -> f64) -> f64 {
        let shares: Vec<f64> = self.shares.iter().map(share).filter(|share| share.is_finite()).collect();
        if shares.is_empty() { f64::NAN } else { median(&shares) * self.total }
    }

    fn term(&self, term: Term) -> f64 {
        self.scaled(|shares| shares.term(term))
    }

    fn part(&self, part: &Part) -> f64 {
        self.scaled(|shares| part.terms.iter().map(|&(sign, term)| f64::from(sign) * shares.term(term)).sum())
    }
}

impl Shares {
    fn term(&self, term: Term) -> f64 {
        match term {
            Term::Batches => self.batch,
            Term::Lane(lane) => self.lanes.get(lane).copied().unwrap_or(f64::NAN),
        }
    }
}

/// The stamped crossings of a lane: one mean for each visit.
pub(super) fn stamped(epoch: &EpochSamples, lane: usize) -> impl Iterator<Item = f64> {
    epoch.splits.iter().filter_map(move |split| split.lane(lane))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::{CoreClock, Scale};
    use crate::samples::Batch;

    const UNITS: Units =
        Units { scale: Scale { hz: 2e9 }, ticks: true, core: Some(CoreClock { hz: 3e9 }), core_spread: 0.0 };

    /// A fault as the kernel's events see it: lanes are way in to the first stamp, way in to the second,
    /// way out of the second, and the whole with either event.
    fn fault() -> Dissection {
        Dissection {
            lanes: 5,
            parts: vec![
                Part::lane("entry", Evidence::KernelTimestamp, 0),
                Part::sum("handling", Evidence::Difference, &[(1, Term::Lane(1)), (-1, Term::Lane(0))]),
                Part::sum(
                    "return",
                    Evidence::Difference,
                    &[(1, Term::Lane(2)), (-1, Term::Lane(3)), (1, Term::Batches)],
                ),
            ],
            total: Term::Batches,
            instrumented: vec![(3, "fault".into()), (4, "minor".into())],
            mapped: vec![(0, 1), (1, 1), (2, -1)],
        }
    }

    /// Epochs whose crossing takes `entry + handling + back` ticks, to which an event adds its path before
    /// and after the stamp.
    fn collected(entry: f64, handling: f64, back: f64, event: (f64, f64)) -> ProbeSamples {
        let (before, after) = event;
        let total = entry + handling + back;
        let one = |at: u32| {
            let drift = 1.0 + f64::from(at) / 1e4;
            let lanes = [
                entry + before,
                entry + handling + before,
                back + after,
                total + before + after,
                total + before + after,
            ];
            let batch = Batch { passes: 1_000, ticks: (total * drift * 1_000.0) as u64 };
            let split = Split { batch, lanes: lanes.iter().map(|ticks| Some(ticks * drift)).collect() };
            EpochSamples {
                batches: vec![batch; 8],
                splits: vec![split; 8],
                doubt: 20.0,
                ..EpochSamples::default()
            }
        };
        ProbeSamples {
            passes: 1_000,
            epochs: (0..6).map(one).collect(),
            dissection: Some(fault()),
            ..ProbeSamples::default()
        }
    }

    fn ns(bill: &Bill, name: &str) -> f64 {
        bill.phases.iter().find(|phase| phase.name == name).unwrap().ns.unwrap().estimate
    }

    #[test]
    fn an_event_that_costs_nothing_before_its_stamp_leaves_the_true_parts() {
        let bill = bill(&collected(1_000.0, 2_500.0, 300.0, (0.0, 600.0)), 1.0, &UNITS).unwrap();
        for (name, ticks) in [("entry", 1_000.0), ("handling", 2_500.0), ("return", 300.0), (REST, 0.0)] {
            assert!((ns(&bill, name) - ticks / 2.0).abs() < 1.0, "{name}: {}", ns(&bill, name));
        }
        assert_eq!(bill.warnings, []);
        let with = &bill.instrumented;
        assert!(with.iter().all(|(_, ns)| (ns - 2_200.0).abs() < 2.0), "{with:?}");
        assert_eq!(with[0].0, "fault");
    }

    /// The machine is a fifth slower in all but two visits of each epoch, and in one of those two an interrupt lengthened
    /// the batch. The level is that of the fast batches, and the parts add up to it.
    #[test]
    fn a_machine_that_changes_its_level_leaves_nothing_unattributed() {
        let mut jumpy = collected(1_000.0, 2_500.0, 300.0, (0.0, 600.0));
        for epoch in &mut jumpy.epochs {
            for (at, (split, batch)) in epoch.splits.iter_mut().zip(&mut epoch.batches).enumerate() {
                let slow = if at < 2 { 1.0 } else { 1.2 };
                let interrupt = if at == 1 { 1.5 } else { 1.0 };
                split.batch.ticks = (split.batch.ticks as f64 * slow * interrupt) as u64;
                *batch = split.batch;
                split.lanes.iter_mut().flatten().for_each(|ticks| *ticks *= slow);
            }
        }
        let bill = bill(&jumpy, 1.0, &UNITS).unwrap();
        for (name, ticks) in [("entry", 1_000.0), ("handling", 2_500.0), ("return", 300.0), (REST, 0.0)] {
            // The epoch's level is 2 % of the way from its fastest batch to the next.
            assert!(
                (ns(&bill, name) - ticks / 2.0).abs() < 0.03 * ticks + 1.0,
                "{name}: {}",
                ns(&bill, name)
            );
        }
    }

    #[test]
    fn what_an_event_costs_before_its_stamp_moves_from_return_to_entry_and_the_sum_stays() {
        let bill = bill(&collected(1_000.0, 2_500.0, 300.0, (100.0, 500.0)), 1.0, &UNITS).unwrap();
        assert!((ns(&bill, "entry") - 550.0).abs() < 1.0);
        assert!((ns(&bill, "return") - 100.0).abs() < 1.0);
        assert!(ns(&bill, REST).abs() < 1.0);
    }

    #[test]
    fn the_two_clocks_doubt_widens_what_has_one_cut_and_drops_out_of_a_difference() {
        let bill = bill(&collected(1_000.0, 2_500.0, 300.0, (0.0, 0.0)), 1.0, &UNITS).unwrap();
        let half = |name: &str| {
            let ns = bill.phases.iter().find(|phase| phase.name == name).unwrap().ns.unwrap();
            (ns.ci[1] - ns.ci[0]) / 2.0
        };
        // 20 ticks of 2 GHz.
        assert!(half("entry") >= 10.0 && half("return") >= 10.0 && half("handling") < 5.0);
    }

    #[test]
    fn parts_that_do_not_add_up_are_shown_with_their_sign() {
        let mut much = collected(1_000.0, 2_500.0, 300.0, (0.0, 0.0));
        for epoch in &mut much.epochs {
            // The second event costs 190 ticks more than the first: on the way in.
            epoch.splits.iter_mut().for_each(|split| *split.lanes[1].as_mut().unwrap() += 190.0);
        }
        let bill = bill(&much, 1.0, &UNITS).unwrap();
        assert!((ns(&bill, REST) + 95.0).abs() < 1.0, "{}", ns(&bill, REST));
        assert_eq!(bill.warnings[0].code, "unattributed");
        assert!(bill.warnings[0].text.contains("-5.0 %"), "{}", bill.warnings[0].text);
    }

    /// Other tasks lengthened two of three batches of the only epoch. Its parts are those of the undisturbed crossing,
    /// and so is the figure that they make up.
    #[test]
    fn the_parts_add_up_to_the_figure_where_there_is_one_epoch_only() {
        let meta = crate::probe::Meta {
            id: "fault/test",
            what: "test",
            per: tollgate_record::Per::Touch,
            crossings_per_pass: 1,
            least_passes: 1,
            placement: crate::probe::Placement::One,
            proof: &[],
        };
        let mut one = collected(1_000.0, 2_500.0, 300.0, (0.0, 0.0));
        one.epochs.truncate(1);
        one.epochs[0].batches.truncate(3);
        for batch in &mut one.epochs[0].batches[1..] {
            batch.ticks *= 2;
        }
        let result = crate::summary::measurement(&meta, &one, &UNITS);
        let figure = result.ns.unwrap();
        let sum: f64 = result.phases.iter().map(|phase| phase.ns.unwrap().estimate).sum();
        assert!((figure.estimate - sum).abs() < 1.0, "{} for {sum}", figure.estimate);
        assert!(figure.ci[0] <= figure.estimate && figure.ci[1] > 3_700.0, "the interval keeps the others");
    }

    #[test]
    fn cycles_go_with_the_cores_clock() {
        let bill = bill(&collected(1_000.0, 2_500.0, 300.0, (0.0, 0.0)), 1.0, &UNITS).unwrap();
        let cycles = bill.phases[0].cycles.unwrap().estimate;
        assert!((cycles - 1_500.0).abs() < 2.0, "1,000 ticks of 2 GHz are 1,500 cycles of 3 GHz: {cycles}");
    }

    #[test]
    fn a_refusal_and_a_lane_without_a_stamp_say_so() {
        let mut refused = collected(1.0, 1.0, 1.0, (0.0, 0.0));
        refused.undissected = Some(("no events".into(), "sysctl".into()));
        let found = bill(&refused, 1.0, &UNITS).unwrap();
        assert!(found.phases.is_empty() && found.warnings[0].text.contains("no events; sysctl"));
        let mut empty = collected(1.0, 1.0, 1.0, (0.0, 0.0));
        empty.epochs.iter_mut().flat_map(|epoch| &mut epoch.splits).for_each(|split| split.lanes[2] = None);
        assert_eq!(bill(&empty, 1.0, &UNITS).unwrap().warnings[0].code, "not-split");
        let mut plain = collected(1.0, 1.0, 1.0, (0.0, 0.0));
        plain.dissection = None;
        assert_eq!(bill(&plain, 1.0, &UNITS), None);
    }

    #[test]
    fn a_stamped_total_takes_the_place_of_batches() {
        let mut stamped = collected(1_000.0, 2_500.0, 300.0, (0.0, 0.0));
        stamped.dissection = Some(Dissection {
            total: Term::Lane(3),
            parts: vec![Part::lane("in", Evidence::KernelTimestamp, 0)],
            ..fault()
        });
        let bill = bill(&stamped, 1.0, &UNITS).unwrap();
        assert_eq!(bill.stamped_total.len(), 6);
        assert!((bill.stamped_total[0] - 3_800.0).abs() < 1e-6);
        assert!((ns(&bill, REST) - 1_400.0).abs() < 1.0);
    }
}
