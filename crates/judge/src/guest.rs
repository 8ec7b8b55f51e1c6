//! Two bills of programs inside of a kernel: every difference is real.

use std::collections::BTreeMap;

use serde::Serialize;
use tollgate_record::family::{GuestExec, ProgramFound};
use tollgate_record::{Measurement, Run, counter};

/// A figure before and after.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Moved {
    /// The phase, function or crossing that moved.
    pub name: String,
    /// In A and in B.
    pub cost: [u64; 2],
    /// Of a crossing, how many in A and in B.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<[u64; 2]>,
}

impl Moved {
    /// B less A.
    #[must_use]
    pub fn difference(&self) -> i64 {
        self.cost[1] as i64 - self.cost[0] as i64
    }
}

/// The differences between two bills. Costs are cycles if both have some of the same core, else instructions.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GuestComparison {
    /// The programs.
    pub programs: [String; 2],
    /// `cycles` or `instructions`.
    pub unit: String,
    /// The whole.
    pub total: Moved,
    /// The parts of the bill, in its order, without those that are the same.
    pub parts: Vec<Moved>,
    /// Crossings whose number or cost differs, largest difference first.
    pub crossings: Vec<Moved>,
    /// Functions of the program and its libraries that differ, largest difference first.
    pub functions: Vec<Moved>,
    /// Functions of the kernel that differ, largest difference first.
    pub kernel: Vec<Moved>,
    /// Reasons why the comparison is not fair: another kernel, core or argument.
    pub differs: Vec<String>,
}

impl GuestComparison {
    /// Whether B costs more than A by more than this share.
    #[must_use]
    pub fn exceeds(&self, share: f64) -> bool {
        self.total.difference() as f64 > share * self.total.cost[0] as f64
    }
}

type Bill<'a> = (&'a Measurement, &'a ProgramFound, &'a GuestExec);

fn bill(run: &Run) -> Option<Bill<'_>> {
    run.results.iter().find_map(|result| {
        let found = result.found.program()?;
        Some((result, found, found.exec.as_ref()?))
    })
}

/// Compares the bills of two runs; `None` if one of them is not of a program inside of a kernel.
#[must_use]
pub fn guest(a: &Run, b: &Run) -> Option<GuestComparison> {
    let bills = [bill(a)?, bill(b)?];
    let core = bills.map(|(result, ..)| result.asked.program().and_then(|asked| asked.core.clone()));
    let timed = core[0].is_some() && core[0] == core[1];
    let unit = if timed { counter::CYCLES } else { counter::INSTRUCTIONS };
    let total = bills.map(|(result, ..)| result.counter(unit).unwrap_or_default() as u64);
    let parts = bills.map(|(result, ..)| {
        let of = |phase: &tollgate_record::Phase| match timed {
            true => phase.cycles.map_or(0.0, |cycles| cycles.estimate),
            false => phase.instructions.unwrap_or_default(),
        };
        result.phases.iter().map(|phase| (phase.name.clone(), (0, of(phase) as u64))).collect::<Vec<_>>()
    });
    let functions = |kernel: bool| {
        let of = bills.map(|(_, found, _)| {
            let fits =
                found.functions.iter().filter(|function| function.name.starts_with("kernel:") == kernel);
            let size = |function: &tollgate_record::family::FunctionFound| match timed {
                true => function.causes.values().sum(),
                false => function.instructions,
            };
            fits.map(|function| (function.name.clone(), (0, size(function)))).collect::<Vec<_>>()
        });
        sorted(moved(of, false, false))
    };
    let crossings = bills.map(|(_, _, exec)| {
        exec.crossings
            .iter()
            // Interrupts are not part of the whole.
            .filter(|crossing| crossing.kind != "interrupt")
            .map(|crossing| {
                let name = match crossing.stage.as_str() {
                    "program" => crossing.name.clone(),
                    stage => format!("{} ({stage})", crossing.name),
                };
                let of = if timed { &crossing.cycles } else { &crossing.instructions };
                (name, (crossing.count, of.values().sum()))
            })
            .collect::<Vec<_>>()
    });
    let name = |(result, ..): &Bill<'_>| {
        result.asked.program().map(|asked| asked.command.join(" ")).unwrap_or_default()
    };
    let mut differs = Vec::new();
    if core[0] != core[1] {
        differs.push(
            "only one side has cycles, or they are of different cores; instructions are compared".into(),
        );
    }
    let kernels = bills.map(|(.., exec)| exec.kernel.clone().unwrap_or_else(|| "no kernel".into()));
    let hashes = bills.map(|(.., exec)| exec.hashes.get("kernel").cloned());
    if kernels[0] != kernels[1] {
        differs.push(format!("the kernels are {} and {}", kernels[0], kernels[1]));
    } else if hashes[0] != hashes[1] && hashes.iter().all(Option::is_some) {
        differs.push("the kernels have one name and different files".into());
    }
    let machines = bills.map(|(result, ..)| result.asked.program().map_or("", |asked| &asked.machine));
    if machines[0] != machines[1] {
        differs.push(format!("the machines are {} and {}", machines[0], machines[1]));
    }
    if a.seed != b.seed {
        differs.push(format!("the seeds are {} and {}", a.seed, b.seed));
    }
    Some(GuestComparison {
        programs: [name(&bills[0]), name(&bills[1])],
        unit: unit.name.into(),
        total: Moved { name: "total".into(), cost: total, count: None },
        parts: moved(parts, false, false),
        crossings: sorted(moved(crossings, true, false)),
        functions: functions(false),
        kernel: functions(true),
        differs,
    })
}

/// What differs between two lists of a name, a number and a cost, or all of them.
pub(crate) fn moved([a, b]: [Vec<(String, (u64, u64))>; 2], counted: bool, all: bool) -> Vec<Moved> {
    let mut order: Vec<String> = Vec::new();
    let mut both: BTreeMap<String, [(u64, u64); 2]> = BTreeMap::new();
    for (side, list) in [a, b].into_iter().enumerate() {
        for (name, (count, cost)) in list {
            if !both.contains_key(&name) {
                order.push(name.clone());
            }
            let known = &mut both.entry(name).or_default()[side];
            *known = (known.0 + count, known.1 + cost);
        }
    }
    let of = |name: String| {
        let [a, b] = both.get(&name).copied().unwrap_or_default();
        (all || a != b).then(|| Moved { name, cost: [a.1, b.1], count: counted.then_some([a.0, b.0]) })
    };
    order.into_iter().filter_map(of).collect()
}

pub(crate) fn sorted(mut all: Vec<Moved>) -> Vec<Moved> {
    all.sort_by(|a, b| {
        b.difference().unsigned_abs().cmp(&a.difference().unsigned_abs()).then_with(|| a.name.cmp(&b.name))
    });
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_more_call_is_named_and_nothing_else() {
        let list =
            |getpid: u64| vec![("write".to_owned(), (3, 900)), ("getpid".to_owned(), (getpid, 150 * getpid))];
        let found = sorted(moved([list(4), list(5)], true, false));
        assert_eq!(found, [Moved { name: "getpid".into(), cost: [600, 750], count: Some([4, 5]) }]);
        assert_eq!(found[0].difference(), 150);
        assert!(moved([list(4), list(4)], true, false).is_empty());
        // What only one side has.
        let found = moved([vec![("old".into(), (1, 10))], vec![("new".into(), (1, 30))]], true, false);
        let found: Vec<_> = sorted(found).into_iter().map(|it| (it.name, it.cost)).collect();
        assert_eq!(found, [("new".to_owned(), [0, 30]), ("old".to_owned(), [10, 0])]);
    }
}
