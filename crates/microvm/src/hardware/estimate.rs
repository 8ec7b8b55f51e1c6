//! From the guest's stamps to the record: pure functions of visits.

use super::rows::{HardwareRow, Shape};
use crate::{Engine, IN_TURNS, Outcome, Row, Sample, Visit, phase};
use tollgate_measure::stats::{FEWEST_GROUPS, median, median_interval, quantile, sorted};
use tollgate_measure::summary::{HEADLINE_QUANTILE, Units, of_levels, single_of};
use tollgate_record::family::GuestFound;
use tollgate_record::number::plural;
use tollgate_record::{Evidence, Found, Measurement, Phase, Status, Warning, counter, warning};

/// The first of this many parts of a turn's crossings is the warm-up and is not counted; a phase without turns is one.
const WARM_PART: usize = 8;

/// A crossing that KVM intercepts takes at least this share of the shortest exit to KVM.
const OF_AN_EXIT: f64 = 0.8;

/// The visits of one engine, with the context for its figures.
pub(super) struct Scene<'a> {
    pub(super) engine: Engine,
    /// One for each virtual machine; never empty.
    pub(super) visits: &'a [Visit],
    /// Ticks as time; absent where a tick is an instruction.
    pub(super) units: Option<&'a Units>,
    /// The hypervisor below the host, if there is one.
    pub(super) hypervisor: Option<&'a str>,
}

/// Levels in ticks: one value for each visit.
type Levels = Vec<f64>;

impl Scene<'_> {
    /// The record of one row.
    pub(super) fn row(&self, row: &HardwareRow) -> Measurement {
        let mut result = Measurement::empty(row.probe, self.engine.name(), row.per, Status::Measured);
        result.warnings.extend(self.warnings(row));
        let usable: Vec<&Visit> = self.visits.iter().filter(|visit| has(visit, row)).collect();
        result.found = Found::Guest(GuestFound {
            virtual_machines: usable.len() as u64,
            ring_ratio: self.ring_ratio().map(round),
        });
        if usable.is_empty() {
            self.explain(row, &mut result);
            return result;
        }
        if usable.len() < self.visits.len() {
            let text = format!(
                "{} of {} virtual machines did not give this row",
                self.visits.len() - usable.len(),
                self.visits.len()
            );
            result.warnings.push(Warning::new(warning::SOME_FAILED, text));
        }
        if usable.len() < FEWEST_GROUPS && self.units.is_some() {
            let machines = plural(usable.len(), "virtual machine", "virtual machines");
            let text = format!("{machines} only: the interval does not show how they differ");
            result.warnings.push(Warning::new(warning::FEW_EPOCHS, text));
        }
        self.fill(row, &usable, &mut result);
        result
    }

    /// The median over the visits of how much longer a pair takes in ring 0.
    pub(super) fn ring_ratio(&self) -> Option<f64> {
        let ratios: Vec<f64> = self.visits.iter().filter_map(Visit::ring_ratio).collect();
        (!ratios.is_empty()).then(|| median(&ratios))
    }

    pub(super) fn warnings(&self, row: &HardwareRow) -> Vec<Warning> {
        if let Some(why) = self.engine.emulated(self.ring_ratio(), self.hypervisor) {
            return vec![Warning::new(warning::EMULATED, why)];
        }
        let nested = self.hypervisor.filter(|_| row.shape.exits()).map(|name| {
            let text = format!("this host is itself a guest ({name}): one exit may be several");
            Warning::new(warning::NESTED, text)
        });
        nested.into_iter().collect()
    }

    /// Why there is no figure: the first reason that a phase gives.
    fn explain(&self, row: &HardwareRow, result: &mut Measurement) {
        let mut needed = vec!["pair-ring-0", "pair-ring-3"];
        needed.extend(row.shape.phases());
        let answers: Vec<&Row> = needed
            .iter()
            .flat_map(|name| self.visits.iter().filter_map(|visit| answer(visit, name)))
            .filter(|answer| answer.samples().is_none())
            .collect();
        let reason = answers.iter().find(|answer| answer.outcome != Outcome::NotRun).or(answers.first());
        result.status = Status::Failed;
        result.reason = Some(
            reason.and_then(|answer| answer.why_not()).unwrap_or_else(|| "no sample could be used".into()),
        );
        if reason.is_some_and(|answer| answer.outcome == Outcome::Unsupported) {
            result.status = Status::Skipped;
            result.enable = Some(row.enable.into());
        }
    }

    fn fill(&self, row: &HardwareRow, usable: &[&Visit], result: &mut Measurement) {
        let over = |of: &dyn Fn(&Visit) -> Option<f64>| -> Levels {
            usable.iter().filter_map(|visit| of(visit)).collect()
        };
        let pair0 = over(&|visit| level(visit, "pair-ring-0", 0, 3));
        let pair3 = over(&|visit| level(visit, "pair-ring-3", 0, 3));
        let between =
            |name: &'static str, from: usize, to: usize| over(&|visit| level(visit, name, from, to));
        // Half of a pair is on each side of a crossing.
        let pair_across = each(&pair0, &pair3, |zero, three| (zero + three) / 2.0);
        match row.shape {
            // It has no phase in the guest.
            Shape::Posted => {}
            Shape::Pair => {
                self.put(result, &pair3, usable, ("pair-ring-3", 0, 3), &[]);
                result.phases =
                    self.phases(&[("ring 3", Evidence::Guest, pair3), ("ring 0", Evidence::Guest, pair0)]);
            }
            Shape::Trap { whole, split } => {
                let total = minus(&between(whole, 0, 3), &pair3);
                let entry = minus(&between(split, 0, 1), &pair_across);
                let handler = minus(&between(split, 1, 2), &pair0);
                let back = minus(&between(split, 2, 3), &pair_across);
                let rest = minus(&minus(&minus(&total, &entry), &handler), &back);
                self.intercepted(usable, &entry, result);
                self.put(result, &total, usable, (whole, 0, 3), &pair3);
                result.phases = self.phases(&[
                    ("entry", Evidence::Guest, entry),
                    ("handler", Evidence::Guest, handler),
                    ("return", Evidence::Guest, back),
                    ("unattributed", Evidence::Difference, rest),
                ]);
                result.proof.insert("handled-per-crossing".into(), recorded(usable, split));
            }
            Shape::Instruction(name) | Shape::InKernel(name) => {
                self.put(result, &minus(&between(name, 0, 3), &pair0), usable, (name, 0, 3), &pair0);
            }
            Shape::Flush(name) => {
                let write = minus(&between(name, 0, 1), &pair0);
                self.intercepted(usable, &write, result);
                let refill = minus(&between(name, 1, 2), &between(name, 2, 3));
                let total = each(&write, &refill, |write, refill| write + refill);
                self.put(result, &total, usable, (name, 0, 2), &pair0);
                result.phases = self.phases(&[
                    ("instruction", Evidence::Guest, write),
                    ("refill", Evidence::Difference, refill),
                ]);
            }
            Shape::InMonitor(name) => {
                let total = minus(&between(name, 0, 3), &pair0);
                let stay: Levels = usable.iter().map(|visit| stay(visit, name)).collect();
                self.put(result, &total, usable, (name, 0, 3), &pair0);
                let outside = minus(&total, &stay);
                let kernel = minus(&over(&|visit| level(visit, "exit-cpuid", 0, 3)), &pair0);
                let mut parts = vec![("monitor", Evidence::Measured, stay)];
                if kernel.len() == outside.len() {
                    let user = minus(&outside, &kernel);
                    parts.insert(0, ("exit and entry", Evidence::Difference, kernel));
                    parts.push(("user space", Evidence::Difference, user));
                } else {
                    parts.push(("exit, user space and entry", Evidence::Difference, outside));
                }
                result.phases = self.phases(&parts);
                result.proof.insert("exits-per-crossing".into(), exits(usable, name));
            }
            Shape::Doorbell(name) => {
                let total = minus(&between(name, 0, 3), &pair0);
                let kernel = minus(&over(&|visit| level(visit, "exit-cpuid", 0, 3)), &pair0);
                self.put(result, &total, usable, (name, 0, 3), &pair0);
                if kernel.len() == total.len() {
                    let note = minus(&total, &kernel);
                    result.phases = self.phases(&[
                        ("exit and entry", Evidence::Difference, kernel),
                        ("eventfd", Evidence::Difference, note),
                    ]);
                }
                let rung: u64 = usable.iter().map(|visit| visit.stays.doorbells).sum();
                result.proof.insert("exits-per-crossing".into(), rung as f64 / crossings(usable, name));
            }
            Shape::Answer(name) => {
                let total: Levels =
                    over(&|visit| answered(visit, name, |sample, _| signed(sample[0], sample[3])));
                let back: Levels =
                    over(&|visit| answered(visit, name, |sample, _| signed(sample[2], sample[3])));
                let stay: Levels =
                    over(&|visit| answered(visit, name, |_, [woken, sent]| signed(woken, sent)));
                self.put(result, &total, usable, (name, 0, 3), &[]);
                let mut parts = vec![("monitor", Evidence::Measured, stay.clone())];
                if usable.iter().all(|visit| visit.stays.one_clock) {
                    let there =
                        over(&|visit| answered(visit, name, |sample, [woken, _]| signed(sample[0], woken)));
                    let wake =
                        over(&|visit| answered(visit, name, |sample, [_, sent]| signed(sent, sample[2])));
                    parts.insert(0, ("to monitor", Evidence::Measured, there));
                    parts.push(("to handler", Evidence::Measured, wake));
                }
                parts.push(("to next instruction", Evidence::Guest, back));
                let known = parts
                    .iter()
                    .fold(vec![0.0; total.len()], |sum, (_, _, part)| each(&sum, part, |a, b| a + b));
                parts.push(("unattributed", Evidence::Difference, minus(&total, &known)));
                result.phases = self.phases(&parts);
                let answers: usize = usable.iter().map(|visit| visit.stays.answers.len()).sum();
                result.proof.insert("answers-per-crossing".into(), answers as f64 / crossings(usable, name));
            }
            Shape::Wake(name) => {
                let late: Levels = over(&|visit| wake(visit, name, |sample| signed(sample[1], sample[2])));
                let back: Levels = over(&|visit| wake(visit, name, |sample| signed(sample[2], sample[3])));
                self.put(result, &late, usable, (name, 1, 2), &[]);
                result.phases = self.phases(&[
                    ("to handler", Evidence::Guest, late),
                    ("to next instruction", Evidence::Guest, back),
                ]);
            }
        }
    }

    /// Warns if a crossing within the guest takes as long as an exit, because KVM then intercepts it.
    fn intercepted(&self, usable: &[&Visit], alone: &[f64], result: &mut Measurement) {
        let over = |name| -> Levels { usable.iter().filter_map(|visit| level(visit, name, 0, 3)).collect() };
        let exit = minus(&over("exit-cpuid"), &over("pair-ring-0"));
        if result.has_warning(warning::EMULATED) || exit.is_empty() || alone.is_empty() {
            return;
        }
        if median(alone) >= OF_AN_EXIT * median(&exit) {
            let text =
                "this takes as long as an exit from the guest: the hypervisor intercepts it".to_owned();
            result.warnings.push(Warning::new(warning::INTERCEPTED, text));
        }
    }

    /// The headline and the distribution of single crossings from stamp `from` to stamp `to` of a phase.
    fn put(
        &self,
        result: &mut Measurement,
        levels: &[f64],
        usable: &[&Visit],
        (name, from, to): (&'static str, usize, usize),
        pair: &[f64],
    ) {
        let all: Vec<f64> = usable.iter().flat_map(|visit| intervals(visit, name, from, to)).collect();
        result.samples = levels.len() as u64;
        result.crossings = all.len() as u64;
        let Some(units) = self.units else {
            // Ticks are counts of instructions here.
            result.count(counter::INSTRUCTIONS, median(levels));
            return;
        };
        let Some(ns) = of_levels(levels, units) else { return };
        let to_ns = units.ns_per_tick();
        result.ticks = units.ticks.then(|| ns.scaled(1.0 / to_ns));
        result.cycles = units.cycles_per_ns().map(|cycles| ns.scaled(cycles));
        result.ns = Some(ns);
        let overhead = if pair.is_empty() { 0.0 } else { median(pair) };
        let net = sorted(&all.iter().map(|ticks| (ticks - overhead) * to_ns).collect::<Vec<_>>());
        // One visit has no interval, so nothing is known of how wrong the single crossings are.
        let error = median_interval(pair).map_or(0.0, |pair| pair.half_width());
        result.single = single_of(&net, overhead * to_ns, error * to_ns).filter(|_| error.is_finite());
    }

    fn phases(&self, parts: &[(&str, Evidence, Levels)]) -> Vec<Phase> {
        parts
            .iter()
            .filter(|(_, _, levels)| !levels.is_empty())
            .map(|(name, evidence, levels)| {
                let mut phase = Phase::new(*name, *evidence);
                match self.units {
                    Some(units) => {
                        phase.ns = of_levels(levels, units);
                        phase.cycles =
                            phase.ns.zip(units.cycles_per_ns()).map(|(ns, cycles)| ns.scaled(cycles));
                    }
                    None => phase.instructions = Some(median(levels)),
                }
                phase
            })
            .collect()
    }
}

fn round(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}

fn answer<'a>(visit: &'a Visit, name: &str) -> Option<&'a Row> {
    visit.table.rows.get(phase(name)?)
}

fn samples<'a>(visit: &'a Visit, name: &str) -> Option<impl Iterator<Item = &'a Sample>> {
    Some(warm(visit, name, answer(visit, name)?.samples()?))
}

/// The values of the counted crossings of a phase, from one value for each crossing.
fn warm<'a, T>(visit: &Visit, name: &str, all: &'a [T]) -> impl Iterator<Item = &'a T> {
    let in_turns = phase(name).is_some_and(|place| place < IN_TURNS);
    let turn = if in_turns { visit.table.turn } else { all.len() }.max(1);
    all.iter()
        .enumerate()
        .filter(move |(number, _)| number % turn >= turn / WARM_PART)
        .map(|(_, value)| value)
}

/// Whether a visit has all the phases of the row, and as many exits as crossings.
fn has(visit: &Visit, row: &HardwareRow) -> bool {
    let there = ["pair-ring-0", "pair-ring-3"]
        .into_iter()
        .chain(row.shape.phases())
        .all(|name| samples(visit, name).is_some());
    there
        && match row.shape {
            Shape::InMonitor(name) => answer(visit, name)
                .and_then(Row::samples)
                .is_some_and(|samples| samples.len() == stays(visit, name).len()),
            Shape::Wake(name) => wake(visit, name, |sample| signed(sample[1], sample[2])).is_some(),
            Shape::Doorbell(name) => rung(visit, name) == Some(visit.stays.doorbells as usize),
            Shape::Answer(name) => rung(visit, name) == Some(visit.stays.answers.len()),
            _ => true,
        }
}

fn stays<'a>(visit: &'a Visit, name: &str) -> &'a [u64] {
    if name == "exit-port" { &visit.stays.port } else { &visit.stays.mmio }
}

/// How long the monitor kept an exit, at the headline's quantile.
fn stay(visit: &Visit, name: &str) -> f64 {
    let all: Vec<f64> = warm(visit, name, stays(visit, name)).map(|&ticks| ticks as f64).collect();
    quantile(&sorted(&all), HEADLINE_QUANTILE)
}

fn exits(usable: &[&Visit], name: &str) -> f64 {
    let exits: usize = usable.iter().map(|visit| stays(visit, name).len()).sum();
    exits as f64 / crossings(usable, name)
}

/// How often the guest made the crossing.
fn rung(visit: &Visit, name: &str) -> Option<usize> {
    Some(answer(visit, name)?.samples()?.len())
}

fn crossings(usable: &[&Visit], name: &str) -> f64 {
    usable.iter().filter_map(|visit| rung(visit, name)).sum::<usize>() as f64
}

/// The median over answered doorbells of something of the guest's stamps and of the low 32 bits of the monitor's. The median,
/// as for every wake-up: whether the other thread sleeps already differs from one to the next.
fn answered(visit: &Visit, name: &str, of: impl Fn(&Sample, [u32; 2]) -> f64) -> Option<f64> {
    let all = answer(visit, name)?.samples()?;
    let pairs: Vec<_> = all.iter().zip(&visit.stays.answers).collect();
    let counted = warm(visit, name, &pairs);
    let values: Vec<f64> = counted.map(|(sample, times)| of(sample, times.map(|at| at as u32))).collect();
    (!values.is_empty()).then(|| median(&values))
}

/// The share of recorded crossings whose handler left both its stamps.
fn recorded(usable: &[&Visit], name: &str) -> f64 {
    let all: Vec<&Sample> =
        usable.iter().filter_map(|visit| answer(visit, name)?.samples()).flatten().collect();
    let stamped = all.iter().filter(|sample| sample[1] != sample[0] && sample[2] != sample[1]).count();
    stamped as f64 / all.len() as f64
}

/// From one stamp to another, signed; the 32 bits wrap.
fn signed(from: u32, to: u32) -> f64 {
    f64::from(to.wrapping_sub(from).cast_signed())
}

fn intervals(visit: &Visit, name: &str, from: usize, to: usize) -> Vec<f64> {
    samples(visit, name)
        .into_iter()
        .flatten()
        .filter(|sample| name != "hlt-wake" || asleep(sample))
        .map(|sample| signed(sample[from], sample[to]))
        .collect()
}

fn level(visit: &Visit, name: &str, from: usize, to: usize) -> Option<f64> {
    let all = sorted(&intervals(visit, name, from, to));
    (!all.is_empty()).then(|| low(&all, step(visit)))
}

/// The headline's quantile of sorted values; if the counter advances in steps, the mean of all that are at most two steps above
/// it: what a step hides of one value evens out in a mean of many.
fn low(all: &[f64], step: f64) -> f64 {
    let quantile = quantile(all, HEADLINE_QUANTILE);
    if step <= 1.0 {
        return quantile;
    }
    let near: Vec<f64> = all.iter().copied().filter(|value| *value <= quantile + 2.0 * step).collect();
    near.iter().sum::<f64>() / near.len() as f64
}

/// By how many ticks the guest's counter advances at once: the greatest common divisor of all that it measured in turns.
fn step(visit: &Visit) -> f64 {
    let divisor = |mut a: u32, mut b: u32| {
        while b != 0 {
            (a, b) = (b, a % b);
        }
        a
    };
    let rows = visit.table.rows.iter().take(IN_TURNS).filter_map(Row::samples);
    rows.flatten().map(|sample| sample[3].wrapping_sub(sample[0])).fold(0, divisor).into()
}

/// Whether the guest slept before its deadline, so that the timer woke it.
fn asleep(sample: &Sample) -> bool {
    signed(sample[0], sample[1]) > 0.0
}

/// The median instead of a low quantile, because a hypervisor that fires early makes values that are too small.
fn wake(visit: &Visit, name: &str, of: impl Fn(&Sample) -> f64) -> Option<f64> {
    let all: Vec<f64> = samples(visit, name)?.filter(|sample| asleep(sample)).map(of).collect();
    (!all.is_empty()).then(|| median(&all))
}

fn each(left: &[f64], right: &[f64], of: impl Fn(f64, f64) -> f64) -> Levels {
    left.iter().zip(right).map(|(&left, &right)| of(left, right)).collect()
}

fn minus(left: &[f64], right: &[f64]) -> Levels {
    each(left, right, |left, right| left - right)
}
