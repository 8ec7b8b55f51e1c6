//! The bills of two kernels for the same crossings: every difference is real.

use serde::Serialize;
use tollgate_record::family::Caches;
use tollgate_record::{Measurement, Run, counter};

use crate::guest::{Moved, moved, sorted};

/// One crossing on both kernels. Its parts are in cycles if both have some of the same core, else in instructions.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CrossingComparison {
    /// What is crossed, and after what.
    pub crossing: String,
    /// `cycles` or `instructions`.
    pub unit: String,
    /// The whole in instructions.
    pub instructions: Moved,
    /// The whole in the unit.
    pub total: Moved,
    /// The phases in the order of the bill, also those that are the same.
    pub phases: Vec<Moved>,
    /// Functions that differ, largest difference first.
    pub functions: Vec<Moved>,
}

/// The bills of two kernels.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct KernelComparison {
    /// The kernels' files.
    pub files: [String; 2],
    /// What they call themselves.
    pub kernels: [String; 2],
    /// The crossings that both have.
    pub crossings: Vec<CrossingComparison>,
    /// Crossings that only one of them has.
    pub single: Vec<String>,
}

impl KernelComparison {
    /// Whether a crossing costs more in B than in A by more than this share.
    #[must_use]
    pub fn exceeds(&self, share: f64) -> bool {
        self.crossings.iter().any(|it| it.total.difference() as f64 > share * it.total.cost[0] as f64)
    }
}

/// What a bill is of.
fn crossing(result: &Measurement) -> String {
    let name = result.probe.strip_prefix("riscv-trap/").unwrap_or(&result.probe);
    match result.asked.trap().and_then(|asked| asked.caches) {
        Some(Caches::Warm) => format!("{name}, warm"),
        Some(Caches::Evicted) => format!("{name}, after eviction"),
        Some(_) => format!("{name}, cold"),
        None => name.to_owned(),
    }
}

fn bills(run: &Run) -> impl Iterator<Item = &Measurement> {
    run.results.iter().filter(|result| result.asked.trap().is_some() && !result.phases.is_empty())
}

/// Compares the bills of two runs; `None` if they have no crossing in common.
#[must_use]
pub fn kernels(a: &Run, b: &Run, files: [String; 2]) -> Option<KernelComparison> {
    let named = |run| bills(run).map(|result| (crossing(result), result)).collect::<Vec<_>>();
    let sides: [Vec<(String, &Measurement)>; 2] = [named(a), named(b)];
    let find = |side: usize, name: &str| sides[side].iter().find(|it| it.0 == name).map(|it| it.1);
    let crossings: Vec<CrossingComparison> =
        sides[0].iter().filter_map(|(name, old)| Some(compared(name, [*old, find(1, name)?]))).collect();
    let only = |side: usize| {
        sides[side].iter().filter(move |it| find(1 - side, &it.0).is_none()).map(|it| it.0.clone())
    };
    let kernel = |side: usize| {
        let first = sides[side].first().and_then(|it| it.1.asked.trap());
        first.map(|asked| asked.kernel.clone()).unwrap_or_default()
    };
    let (kernels, single) = ([kernel(0), kernel(1)], only(0).chain(only(1)).collect());
    (!crossings.is_empty()).then_some(KernelComparison { files, kernels, crossings, single })
}

fn compared(name: &str, both: [&Measurement; 2]) -> CrossingComparison {
    let core = both.map(|result| result.asked.trap().and_then(|asked| asked.core.clone()));
    let timed = core[0].is_some() && core[0] == core[1];
    let unit = if timed { "cycles" } else { "instructions" };
    let instructions = both.map(|result| result.counter(counter::INSTRUCTIONS).unwrap_or_default() as u64);
    let total = match timed {
        true => both.map(|result| result.cycles.map_or(0, |cycles| cycles.estimate as u64)),
        false => instructions,
    };
    let phases = both.map(|result| {
        let of = |phase: &tollgate_record::Phase| match timed {
            true => phase.cycles.map_or(0.0, |cycles| cycles.estimate),
            false => phase.instructions.unwrap_or_default(),
        };
        result.phases.iter().map(|phase| (phase.name.clone(), (0, of(phase) as u64))).collect::<Vec<_>>()
    });
    let (before, end) = (counter::FUNCTION.part(""), format!("/{unit}"));
    let functions = both.map(|result| {
        let of = |(name, figure): (&String, &f64)| {
            let function = name.strip_prefix(&before)?.strip_suffix(&end)?;
            Some((function.to_owned(), (0, *figure as u64)))
        };
        result.counters.iter().filter_map(of).collect::<Vec<_>>()
    });
    let whole = |cost| Moved { name: "total".into(), cost, count: None };
    CrossingComparison {
        crossing: name.to_owned(),
        unit: unit.into(),
        instructions: whole(instructions),
        total: whole(total),
        phases: moved(phases, false, true),
        functions: sorted(moved(functions, false, false)),
    }
}

#[cfg(test)]
mod tests {
    use tollgate_record::family::TrapAsked;
    use tollgate_record::{Asked, Evidence, Host, Per, Phase, Status, Tool};

    use super::*;

    /// A bill of the parts and functions in instructions.
    fn bill(name: &str, phases: &[(&str, f64)], functions: &[(&str, f64)]) -> Run {
        let mut result =
            Measurement::empty(&format!("riscv-trap/{name}"), "embedded", Per::Trap, Status::Measured);
        result.asked = Asked::Trap(TrapAsked { kernel: "linux-6".into(), ..TrapAsked::default() });
        for &(name, instructions) in phases {
            let line = Phase::new(name, Evidence::Simulated);
            result.phases.push(Phase { instructions: Some(instructions), ..line });
        }
        result.count(counter::INSTRUCTIONS, phases.iter().map(|it| it.1).sum());
        for (function, instructions) in functions {
            let name = counter::FUNCTION.part(&format!("{function}/instructions"));
            result.counters.insert(name, *instructions);
        }
        let tool = Tool { version: String::new(), commit: String::new() };
        let mut run = Run::begin(name.into(), String::new(), tool, Vec::new(), Host::default(), 0);
        run.results.push(result);
        run
    }

    #[test]
    fn twenty_instructions_in_the_entry_are_all_that_moved() {
        let of = |save: f64, more: &[(&str, f64)]| {
            let functions: Vec<_> =
                [("handle", 90.0), ("sys_getpid", 10.0)].iter().chain(more).copied().collect();
            bill("getpid", &[("register-save", save), ("handler", 60.0)], &functions)
        };
        let (old, new) = (of(40.0, &[]), of(60.0, &[("planted", 20.0)]));
        let names = ["old".to_owned(), "new".to_owned()];
        let found = kernels(&old, &new, names.clone()).unwrap();
        let [it] = &found.crossings[..] else { panic!("{found:?}") };
        let list = |all: &[Moved]| -> Vec<(String, [u64; 2])> {
            all.iter().map(|it| (it.name.clone(), it.cost)).collect()
        };
        assert_eq!(
            (it.unit.as_str(), it.total.cost, it.total.difference()),
            ("instructions", [100, 120], 20)
        );
        assert_eq!(list(&it.phases), [("register-save".into(), [40, 60]), ("handler".into(), [60, 60])]);
        assert_eq!(list(&it.functions), [("planted".into(), [0, 20])]);
        assert!(found.exceeds(0.19) && !found.exceeds(0.2));
        assert_eq!((&found.kernels, &found.single), (&["linux-6".to_owned(), "linux-6".to_owned()], &vec![]));
        assert_eq!(kernels(&old, &bill("read", &[("handler", 1.0)], &[]), names), None);
    }
}
