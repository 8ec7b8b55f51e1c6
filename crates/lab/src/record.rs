//! Bills as entries of the run document.

use std::collections::BTreeMap;

use tollgate_cores::{Cause, Causes, Ledger};
use tollgate_record::family::{
    Caches, CallFound, FeatureAsked, FunctionFound, LatencyAsked, PathFound, PipelineAsked, PipelineFound,
    Policy, ProgramAsked, ProgramFound, TrapAsked, TrapFound, Wait, WorkloadAsked,
};
use tollgate_record::{
    Asked, Counter, Estimate, Evidence, Found, Measurement, Per, Phase as RecordPhase, Series, StageDiagram,
    Status, Warning, counter, phase as record_phase, warning,
};

use crate::bill::{Experiment, TrapBill};
use crate::call::Crossing;
use crate::engine::CycleBill;
use crate::error::LabError;
use crate::latency::Latency;
use crate::ledger::ProgramLedger;
use crate::phase::Phase;
use crate::pipeline::{Around, View, Wanted};
use crate::profile::Profile;
use crate::program::Outcome;
use crate::stacks::Path;
use crate::workload::Slowdown;

/// The entry for a bill. Instructions are counters; there are no cycles without a timing model.
pub fn measured(bill: &TrapBill) -> Measurement {
    let mut entry = empty(&bill.experiment, bill.engine, Status::Measured);
    let spread = bill.spread;
    entry.samples = spread.count;
    entry.crossings = spread.count;
    entry.found = found(&bill.experiment, bill.result);
    if let (Found::Trap(found), Some(0)) = (&mut entry.found, bill.asid_bits) {
        found.about = "other space, no ASIDs: TLB flushed".into();
        let text = "the core has no address space identifiers: each switch flushes the TLB".to_owned();
        entry.warnings.push(Warning::new(warning::NO_ASIDS, text));
    }
    entry.count(counter::INSTRUCTIONS, spread.mean());
    entry.count(counter::INSTRUCTIONS_SINGLE, spread.single as f64);
    entry.count(counter::INSTRUCTIONS_MIN, spread.min as f64);
    entry.count(counter::INSTRUCTIONS_MAX, spread.max as f64);
    if let Some(phases) = &bill.phases {
        let all = &phases[1];
        let each = |n: u64| n as f64 / spread.count as f64;
        let total = all.total();
        entry.count(counter::LOADS, each(total.loads));
        entry.count(counter::STORES, each(total.stores));
        entry.count(counter::BYTES_SAVED, each(all.bytes_saved()));
        for (phase, cost) in all.iter() {
            let name = phase.name();
            for (what, n) in [
                ("instructions", cost.instructions),
                ("loads", cost.loads),
                ("stores", cost.stores),
                ("bytes-stored", cost.bytes_stored),
                ("traps", cost.traps),
            ] {
                entry.counters.insert(counter::PHASE.part(&format!("{name}/{what}")), each(n));
            }
            entry.phases.push(self::phase(phase, each(cost.instructions)));
        }
        entry.proof.insert("traps-per-crossing".into(), each(total.traps));
    }
    if spread.min != spread.max || spread.single != spread.min {
        let text = "the crossings are not all alike; the phases are means".to_owned();
        entry.warnings.push(Warning::new(warning::CROSSINGS_DIFFER, text));
    }
    entry
}

/// The entries for a bill in cycles: with warm caches, and of a crossing for which all are empty.
///
/// Cycles are exact: the interval is the figure itself. Counters that begin with `after/` are what the program
/// pays for each trap once it has returned.
pub fn measured_cycles(bill: &CycleBill) -> [Measurement; 2] {
    let cycles = &bill.cycles;
    let mut warm = measured(&bill.bill);
    let asked = |caches| TrapAsked {
        core: Some(bill.core.clone()),
        caches: Some(caches),
        ..asked(&bill.bill.experiment)
    };
    if let Found::Trap(found) = &mut warm.found {
        found.proof.clone_from(&bill.proof);
    }
    let mut cold = warm.clone();
    warm.asked = Asked::Trap(asked(Caches::Warm));
    cold.asked = Asked::Trap(asked(Caches::Cold));
    warm.samples = cycles.crossings;
    warm.crossings = cycles.crossings;
    warm.cycles = Some(exact(&cycles.each));
    charge(&mut warm, &cycles.warm, cycles.crossings);
    if let Some(after) = cycles.after.as_ref().filter(|after| after.returns > 0) {
        let each = |n: i64| n as f64 / after.returns as f64;
        let mut counter = |name: &str, value: f64| warm.counters.insert(counter::AFTER.part(name), value);
        counter("cycles", each(after.total()));
        counter("returns", after.returns as f64);
        counter("recovery-instructions", after.recovery as f64);
        counter("steady-cpi", after.steady as f64 / after.instructions.max(1) as f64);
        for (cause, &more) in Cause::ALL.iter().zip(&after.more) {
            if more != 0 {
                counter(cause.name(), each(more));
            }
        }
        for (name, lost) in after.lost.named() {
            counter(name, each(lost));
        }
    }
    cold.samples = 1;
    cold.crossings = 1;
    cold.cycles = Some(exact(&[(cycles.cold.total(), 1)].into()));
    cold.warnings.clear();
    cold.counters.clear();
    cold.count(counter::INSTRUCTIONS, bill.bill.spread.single as f64);
    cold.phases.clear();
    if let Some(phases) = &bill.bill.phases {
        cold.phases.extend(phases[0].iter().map(|(name, cost)| phase(name, cost.instructions as f64)));
    }
    charge(&mut cold, &cycles.cold, 1);
    [warm, cold]
}

/// Adds the cycles to an entry's phases; each is a mean over the crossings, and their sum is that of the total.
fn charge(entry: &mut Measurement, ledger: &Ledger, crossings: u64) {
    let crossings = crossings.max(1) as f64;
    for &phase in Phase::ALL {
        let cycles = ledger.of_phase(phase as u8);
        let name = phase.name();
        if cycles == 0 && entry.phases.iter().all(|known| known.name != name) {
            continue;
        }
        let at = entry.phases.iter().position(|known| known.name == name).unwrap_or_else(|| {
            entry.phases.push(RecordPhase::new(name, Evidence::Simulated));
            entry.phases.len() - 1
        });
        let known = &mut entry.phases[at];
        known.cycles = Some(Estimate::point(cycles as f64 / crossings));
        for &cause in Cause::ALL {
            let cycles = ledger.get(phase as u8, cause);
            if cycles > 0 {
                known.causes.insert(cause.name().into(), cycles as f64 / crossings);
            }
        }
    }
}

/// An entry of the embedded machine.
fn embedded(probe: &str, per: Per, crossings: u64) -> Measurement {
    let entry = Measurement::empty(probe, "embedded", per, Status::Measured);
    Measurement { samples: crossings, crossings, ..entry }
}

/// A phase of so many instructions.
fn phase(phase: Phase, instructions: f64) -> RecordPhase {
    let instructions = Some(instructions);
    RecordPhase { instructions, ..RecordPhase::new(phase.name(), Evidence::Simulated) }
}

/// The cost of each trap of a workload.
pub fn slowdown(seen: &Slowdown, core: &str) -> Measurement {
    let point = &seen.point;
    let probe = format!("riscv-workload/{}", point.workload.name);
    let mut entry = embedded(&probe, Per::Trap, seen.traps);
    let each = |n: f64| n / seen.traps.max(1) as f64;
    entry.asked = Asked::Workload(WorkloadAsked {
        core: core.into(),
        kernel: "full".into(),
        set_bytes: point.set,
        touch_bytes: point.touch,
        every: point.every,
    });
    entry.cycles = Some(Estimate::point(each(seen.with_traps as f64 - seen.alone as f64)));
    let [user, kernel] = seen.instructions;
    entry.count(counter::USER_INSTRUCTIONS, each(user as f64));
    entry.count(counter::INSTRUCTIONS, each(kernel as f64));
    entry.count(counter::ALONE_CYCLES, each(seen.alone as f64));
    entry.count(counter::SLOW_DOWN, seen.with_traps as f64 / seen.alone.max(1) as f64 - 1.0);
    for (name, lost) in seen.lost.named() {
        entry.counters.insert(counter::REFILL.part(name), each(lost as f64));
    }
    let mut direct = RecordPhase::new(record_phase::DIRECT, Evidence::Simulated);
    direct.cycles = Some(Estimate::point(each(seen.direct() as f64)));
    let mut refill = RecordPhase::new(record_phase::REFILL, Evidence::Simulated);
    refill.cycles = Some(Estimate::point(each(seen.refill() as f64)));
    for &cause in Cause::ALL {
        for (phase, cycles) in [
            (&mut direct, seen.direct[cause as usize] as f64),
            (&mut refill, seen.refill[cause as usize] as f64),
        ] {
            if cycles != 0.0 {
                phase.causes.insert(cause.name().into(), each(cycles));
            }
        }
    }
    direct.instructions = Some(each(kernel as f64));
    entry.phases = vec![direct, refill];
    entry.proof.insert("traps-per-crossing".into(), 1.0);
    entry
}

/// A stage diagram. The figure is the cost of the hazard in cycles, if there is one.
pub fn stages(view: View, wanted: &Wanted, core: &str, program: &str) -> Measurement {
    let (kind, per) = match wanted.around {
        Around::Trap => ("trap", Per::Trap),
        Around::Interrupt => ("interrupt", Per::Trap),
        Around::Branch => ("branch", Per::Instruction),
        Around::Symbol(_) => ("symbol", Per::Instruction),
    };
    let mut entry = embedded(&format!("riscv-pipeline/{kind}"), per, 1);
    entry.asked = Asked::Pipeline(PipelineAsked {
        core: core.into(),
        from: match &wanted.around {
            Around::Symbol(name) => Some(name.clone()),
            _ => None,
        },
        program: program.into(),
        nth: Some(wanted.nth),
    });
    if let Some(hazard) = &view.hazard {
        entry.cycles = Some(Estimate::point(hazard.lost as f64));
        entry.count(counter::SQUASHED, hazard.squashed as f64);
        let waits = hazard.waits.iter().map(|&(cause, cycles)| Wait { cause: cause.into(), cycles });
        entry.found = Found::Pipeline(PipelineFound { waits: waits.collect() });
    }
    entry.stages =
        Some(StageDiagram { rows: view.rows, event: Some(view.event as u64), first_fetch: view.first_fetch });
    entry
}

/// Where a program's cycles went, or its instructions; `None` if neither was watched.
pub fn program(outcome: &Outcome, asked: ProgramAsked) -> Option<Measurement> {
    system(outcome.profile.as_ref(), outcome.ledger.as_ref(), asked)
}

/// The same of whatever was watched.
pub(crate) fn system(
    profile: Option<&Profile>,
    ledger: Option<&ProgramLedger>,
    asked: ProgramAsked,
) -> Option<Measurement> {
    match ledger {
        Some(ledger) => Some(program_ledger(ledger, asked)),
        None => Some(self::profile(profile?, asked)),
    }
}

/// Where a program's instructions went.
fn profile(profile: &Profile, asked: ProgramAsked) -> Measurement {
    let mut entry = embedded("riscv-program/profile", Per::Pass, 1);
    entry.asked = Asked::Program(asked);
    let functions: Vec<FunctionFound> = profile
        .functions()
        .into_iter()
        .map(|(name, instructions)| FunctionFound {
            name: name.into(),
            instructions,
            ..FunctionFound::default()
        })
        .collect();
    let all: u64 = functions.iter().map(|function| function.instructions).sum();
    entry.count(counter::INSTRUCTIONS, all as f64);
    if profile.has_phases() {
        entry.phases.extend(profile.phases.iter().map(|(name, cost)| phase(name, cost.instructions as f64)));
    }
    let calls = profile.calls.iter().map(|(&number, call)| CallFound {
        number,
        name: u16::try_from(number).ok().and_then(Crossing::call_name).map(Into::into),
        count: call.count,
        min: call.min,
        max: call.max,
        phases: call.phases.iter().map(|(phase, cost)| (phase.name().into(), cost.instructions)).collect(),
    });
    entry.found =
        Found::Program(ProgramFound { functions, calls: calls.collect(), ..ProgramFound::default() });
    entry
}

/// The same with the cycles of a core, by function and cause, and by who called whom.
fn program_ledger(ledger: &ProgramLedger, asked: ProgramAsked) -> Measurement {
    let mut entry = profile(&ledger.profile, ProgramAsked { core: Some(ledger.core.clone()), ..asked });
    entry.count(counter::CYCLES, ledger.cycles() as f64);
    if let Found::Program(found) = &mut entry.found {
        found.proof.clone_from(&ledger.proof);
        let causes = |causes: &Causes| {
            let some = Cause::ALL.iter().zip(causes).filter(|(_, cycles)| **cycles > 0);
            some.map(|(cause, &cycles)| (cause.name().to_owned(), cycles)).collect::<BTreeMap<_, _>>()
        };
        let mut cycles: BTreeMap<&str, _> =
            ledger.functions().map(|(name, row, total)| (name, (causes(row), total))).collect();
        for function in &mut found.functions {
            let (causes, total) = cycles.remove(function.name.as_str()).unzip();
            (function.causes, function.total) = (causes.unwrap_or_default(), total);
        }
        // A function that only trapped has cycles and no instructions.
        found.functions.extend(cycles.into_iter().map(|(name, (causes, total))| FunctionFound {
            name: name.into(),
            instructions: 0,
            causes,
            total: Some(total),
        }));
        found.functions.sort_by_key(|function| std::cmp::Reverse(function.causes.values().sum::<u64>()));
        let (paths, cut) = ledger.paths();
        let path = |(at, path): (usize, &Path)| PathFound {
            caller: (path.caller != at).then_some(path.caller as u64),
            function: ledger.profile.name(path.function).into(),
            cycles: path.cycles,
        };
        found.paths = paths.iter().enumerate().map(path).collect();
        found.cut = (cut > 0).then_some(cut);
    }
    entry
}

/// How long the timer interrupt takes to its handler, over the cycles of a loop: the figure is the mean.
pub fn latency(latency: &Latency, core: &str) -> Measurement {
    let mut entry = embedded("riscv-pipeline/interrupt-latency", Per::Trap, latency.period);
    entry.asked = Asked::Latency(LatencyAsked { core: core.into() });
    entry.cycles = Some(exact(&latency.cycles));
    entry.count(counter::FIRST_FETCH_MIN, latency.first_fetch as f64);
    entry.series.push(Series {
        name: "latency".into(),
        x_unit: "cycles".into(),
        y_unit: "cycles of the loop".into(),
        points: latency.cycles.iter().map(|(&cycles, &count)| [cycles as f64, count as f64]).collect(),
    });
    entry
}

/// Exact figures of several crossings: how often each occurred.
fn exact(each: &BTreeMap<u64, u64>) -> Estimate {
    let count: u64 = each.values().sum();
    let sum: u64 = each.iter().map(|(cycles, count)| cycles * count).sum();
    let mean = sum as f64 / count.max(1) as f64;
    let at = |share: f64| {
        let mut seen = 0;
        let wanted = (share * count as f64).ceil().max(1.0) as u64;
        let found = each.iter().find(|&(_, &count)| {
            seen += count;
            seen >= wanted
        });
        found.map_or(mean, |(&cycles, _)| cycles as f64)
    };
    Estimate {
        min: each.keys().next().map_or(mean, |&n| n as f64),
        p10: at(0.1),
        p50: at(0.5),
        p90: at(0.9),
        p99: at(0.99),
        ..Estimate::point(mean)
    }
}

/// The entry for an experiment that gave no bill: skipped when nothing is wrong, failed otherwise.
pub fn not_measured(experiment: &Experiment, engine: &str, why: &LabError) -> Measurement {
    let status = if why.is_skip() { Status::Skipped } else { Status::Failed };
    let mut entry = empty(experiment, engine, status);
    entry.reason = Some(why.to_string());
    if let LabError::EngineMissing { install, .. } = why {
        entry.enable = Some((*install).into());
    }
    entry
}

/// Notes with each bill of a design the feature that it switches, and with those that do not always save its state from which share of
/// crossings on that would cost less.
pub fn add_features(results: &mut [Measurement], features: &[FeatureAsked]) {
    for (result, feature) in results.iter_mut().zip(features.iter().cycle()) {
        if let Asked::Trap(asked) = &mut result.asked {
            asked.feature = Some(feature.clone());
        }
    }
    let figures = [("instructions", counter::INSTRUCTIONS_MIN), ("bytes", counter::BYTES_SAVED)];
    let cost = |engine: &str, name: &str, policy: Policy, used: bool, what: Counter| {
        let is_meant = |result: &&Measurement| {
            let asked = result.asked.trap().and_then(|asked| asked.feature.as_ref());
            let of = |it: &FeatureAsked| it.name == name && it.policy == policy && it.used == Some(used);
            result.engine == engine && asked.is_some_and(of)
        };
        results.iter().find(is_meant)?.counter(what)
    };
    let mut shares = Vec::new();
    for (at, result) in results.iter().enumerate() {
        let feature = result.asked.trap().and_then(|asked| asked.feature.as_ref());
        let Some(feature) = feature.filter(|it| it.used == Some(true) && it.policy != Policy::Always) else {
            continue;
        };
        for (name, what) in figures {
            let cost = |policy, used| cost(&result.engine, &feature.name, policy, used, what);
            let all = [
                (Policy::Always, false),
                (Policy::Always, true),
                (feature.policy, false),
                (feature.policy, true),
            ];
            if let [Some(idle), Some(used), Some(own_idle), Some(own_used)] =
                all.map(|(policy, used)| cost(policy, used))
            {
                // Where the lines of both costs cross, if they do between no use and use behind each crossing.
                let share = (idle - own_idle) / ((own_used - own_idle) - (used - idle));
                if (0.0..=1.0).contains(&share) {
                    shares.push((at, name, share));
                }
            }
        }
    }
    for (at, name, share) in shares {
        results[at].counters.insert(counter::BREAK_EVEN.part(name), share);
    }
}

fn empty(experiment: &Experiment, engine: &str, status: Status) -> Measurement {
    let per = if experiment.crossing.is_switch() { Per::Switch } else { Per::Trap };
    let mut entry =
        Measurement::empty(&format!("riscv-trap/{}", experiment.crossing.slug()), engine, per, status);
    entry.asked = Asked::Trap(asked(experiment));
    entry.found = found(experiment, None);
    entry
}

fn asked(experiment: &Experiment) -> TrapAsked {
    TrapAsked {
        kernel: experiment.design.name.into(),
        isa: experiment.design.isa.into(),
        iterations: experiment.iterations,
        call: experiment.crossing.number(),
        ..TrapAsked::default()
    }
}

/// The facts of an experiment beside its figures, measured or not.
fn found(experiment: &Experiment, result: Option<i64>) -> Found {
    Found::Trap(TrapFound { result, about: experiment.design.about.into(), proof: None })
}
