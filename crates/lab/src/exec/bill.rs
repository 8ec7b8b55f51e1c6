//! The bill of a program as an entry of the run document.

use std::collections::{BTreeMap, HashMap};
use std::iter::repeat;

use tollgate_cores::{Cause, Causes};
use tollgate_record::family::{
    FunctionFound, GuestCrossing, GuestExec, GuestSite, PathFound, ProgramAsked, ProgramFound,
};
use tollgate_record::{
    Asked, Estimate, Evidence, Found, Measurement, Per, Phase, PhaseName, Status, Warning, counter, phase,
    warning,
};

use super::crossing::{Crossing, Stage, Step, part};
use super::job::{Ended, ExecError, Ran};
use super::watch::Watch;
use crate::rtl::proof;

/// The parts of the bill, in their order.
const PARTS: [PhaseName; 10] = [
    phase::PROGRAM_START,
    phase::LOADER,
    phase::OWN_CODE,
    phase::ENTRY_CODE,
    phase::DISPATCH,
    phase::KERNEL_WORK,
    phase::FAULT_WORK,
    phase::SWITCHES,
    phase::EXIT_CODE,
    phase::PROGRAM_END,
];

/// Instructions, and cycles by cause.
#[derive(Clone, Copy, Default)]
struct Cost {
    instructions: u64,
    causes: Causes,
}

impl Cost {
    fn add(&mut self, instructions: u64, causes: Option<&Causes>) {
        self.instructions += instructions;
        for (sum, cycles) in self.causes.iter_mut().zip(causes.into_iter().flatten()) {
            *sum += cycles;
        }
    }

    fn cycles(&self) -> u64 {
        self.causes.iter().sum()
    }

    fn by_cause(&self) -> BTreeMap<String, u64> {
        let some = Cause::ALL.iter().zip(self.causes).filter(|(_, cycles)| *cycles > 0);
        some.map(|(cause, cycles)| (cause.name().to_owned(), cycles)).collect()
    }
}

/// How often a crossing was made, and its cost by step.
type Made = (u64, BTreeMap<&'static str, Cost>);

impl Ran {
    /// The entry of the record.
    ///
    /// # Errors
    /// Parts that do not add up to what the machine counted.
    pub fn record(&self, asked: ProgramAsked) -> Result<Measurement, ExecError> {
        record(self, asked)
    }
}

fn record(ran: &Ran, asked: ProgramAsked) -> Result<Measurement, ExecError> {
    let watch = &ran.watch;
    let counted: u64 = watch.shares().flat_map(|share| share.instructions).sum();
    if counted != ran.instructions {
        return Err(ExecError::Sum { counted, retired: ran.instructions });
    }
    if let Some(cycles) = watch.cycles() {
        let clocks = watch.shares().filter_map(|share| share.clock);
        let charged: u64 = clocks.flat_map(|clock| clock.by_owner().iter().flatten()).sum();
        if charged != cycles {
            return Err(ExecError::Cycles { charged, cycles });
        }
    }
    // Without a kernel the code in machine mode is not part of the bill.
    let alone = ran.kernel.is_none();
    let timed = watch.cycles().is_some();
    let mut parts: BTreeMap<&str, Cost> = BTreeMap::new();
    let mut functions: BTreeMap<&str, Cost> = BTreeMap::new();
    let mut crossings: BTreeMap<(Stage, Crossing), Made> = BTreeMap::new();
    let (mut interrupts, mut others, mut unnamed) = (Cost::default(), Cost::default(), 0);
    let mut by_hart = Vec::new();
    for share in watch.shares() {
        let mut hart = Cost::default();
        let instructions = share.instructions.iter().copied().chain(repeat(0));
        for (at, (key, instructions)) in watch.keys.iter().zip(instructions).enumerate() {
            let causes = share.clock.and_then(|clock| clock.by_owner().get(at));
            if !watch.is_program(key.task) {
                others.add(instructions, causes);
                continue;
            }
            if alone && key.step != Step::Own {
                continue;
            }
            match part(key.stage, key.crossing, key.step) {
                Some(part) => {
                    parts.entry(part.name).or_default().add(instructions, causes);
                    let function = watch.code.function(key.function);
                    functions.entry(function).or_default().add(instructions, causes);
                    hart.add(instructions, causes);
                }
                None => interrupts.add(instructions, causes),
            }
            if key.crossing != Crossing::None {
                let step = match key.step {
                    Step::Entry => "entry",
                    Step::Dispatch => "dispatch",
                    Step::Exit => "exit",
                    Step::Switch => "switch",
                    Step::Own | Step::Work | Step::Inherit => "work",
                };
                let (_, steps) = crossings.entry((key.stage, key.crossing)).or_default();
                steps.entry(step).or_default().add(instructions, causes);
            }
            if watch.code.name(key.function).ends_with("(no symbol)") && key.step != Step::Own {
                unnamed += instructions;
            }
        }
        by_hart.push(hart);
    }
    for (&(task, stage, crossing), &count) in &watch.counts {
        if watch.is_program(task) {
            crossings.entry((stage, crossing)).or_default().0 += count;
        }
    }
    let mut entry = Measurement::empty("riscv-exec/program", "embedded", Per::Run, Status::Measured);
    (entry.samples, entry.crossings) = (1, 1);
    let total: u64 = parts.values().map(|cost| cost.instructions).sum();
    let cycles: u64 = parts.values().map(Cost::cycles).sum();
    entry.count(counter::INSTRUCTIONS, total as f64);
    let ticks: u64 = crossings
        .iter()
        .filter(|((_, crossing), _)| matches!(crossing, Crossing::Interrupt(_)))
        .map(|(_, (count, _))| count)
        .sum();
    let mut apart = |name: &str, value: u64| {
        entry.counters.insert(counter::APART.part(name), value as f64);
    };
    apart("interrupts/count", ticks);
    apart("interrupts/instructions", interrupts.instructions);
    apart("other-tasks/instructions", others.instructions);
    if timed {
        apart("interrupts/cycles", interrupts.cycles());
        apart("other-tasks/cycles", others.cycles());
        entry.count(counter::CYCLES, cycles as f64);
        entry.cycles = Some(Estimate::point(cycles as f64));
    }
    for (number, hart) in by_hart.iter().enumerate().filter(|_| by_hart.len() > 1) {
        let mut share = |of: &str, value: u64| {
            entry.counters.insert(counter::HART.part(&format!("{number}/{of}")), value as f64);
        };
        share("instructions", hart.instructions);
        if timed {
            share("cycles", hart.cycles());
        }
    }
    for name in PARTS {
        let Some(cost) = parts.get(name.name) else { continue };
        let mut line = Phase::new(name, Evidence::Simulated);
        line.instructions = Some(cost.instructions as f64);
        if timed {
            line.cycles = Some(Estimate::point(cost.cycles() as f64));
            line.causes = cost.by_cause().into_iter().map(|(cause, n)| (cause, n as f64)).collect();
        }
        entry.phases.push(line);
    }
    let mut functions: Vec<FunctionFound> = functions
        .iter()
        .map(|(&name, cost)| FunctionFound {
            name: name.to_owned(),
            instructions: cost.instructions,
            causes: cost.by_cause(),
            total: None,
        })
        .collect();
    let size = |function: &FunctionFound| match timed {
        true => function.causes.values().sum(),
        false => function.instructions,
    };
    functions.sort_by(|a, b| size(b).cmp(&size(a)).then_with(|| a.name.cmp(&b.name)));
    let crossings = crossings
        .into_iter()
        .map(|((stage, crossing), (count, steps))| GuestCrossing {
            kind: crossing.kind().into(),
            name: crossing.name(),
            stage: stage_name(stage).into(),
            count,
            instructions: steps.iter().map(|(step, cost)| ((*step).to_owned(), cost.instructions)).collect(),
            cycles: steps
                .iter()
                .filter(|_| timed)
                .map(|(step, cost)| ((*step).to_owned(), cost.cycles()))
                .collect(),
        })
        .collect();
    let (paths, sites) = paths(watch, alone);
    let (status, signal, stopped) = match ran.ended {
        Ended::Exited(status) => (Some(status), None, None),
        Ended::Killed(signal) => (None, Some(signal), None),
        Ended::Stopped(_) => (None, None, Some(ran.ended.sentence())),
    };
    if let Some(why) = &stopped {
        entry.warnings.push(Warning::new(warning::STOPPED, format!("the program was {why}")));
    }
    if unnamed * 50 > total && !alone {
        let text = format!("{unnamed} of {total} instructions have no symbol");
        entry.warnings.push(Warning::new(warning::UNNAMED, text));
    }
    let core = watch.core();
    entry.asked = Asked::Program(ProgramAsked { core: core.map(|core| core.name.clone()), ..asked });
    let exec = GuestExec {
        status,
        signal,
        stopped,
        kernel: ran.kernel.clone(),
        hashes: BTreeMap::new(),
        crossings,
        sites,
    };
    entry.found = Found::Program(ProgramFound {
        functions,
        paths,
        proof: core.and_then(proof),
        exec: Some(exec),
        ..ProgramFound::default()
    });
    Ok(entry)
}

fn stage_name(stage: Stage) -> &'static str {
    match stage {
        Stage::Starting => "start",
        Stage::Loading => "loader",
        Stage::Running => "program",
        Stage::Ending => "end",
    }
}

/// The most functions of a call site.
const CALLERS: usize = 4;

/// The paths of the program without what is not in its bill, and where it crosses.
fn paths(watch: &Watch, alone: bool) -> (Vec<PathFound>, Vec<GuestSite>) {
    let nodes = &watch.paths;
    // Without a kernel no crossing costs anything.
    let is_apart = |at: usize| match watch.crossing_of(nodes[at].function) {
        Some(crossing) => alone || matches!(crossing, Crossing::Interrupt(_)),
        None => false,
    };
    // A caller comes before its calls, so its weight with all of them is known from the last one on.
    let mut total: Vec<u64> = nodes.iter().map(|node| node.weight).collect();
    for at in (0..nodes.len()).rev() {
        if let Some(caller) = nodes[at].caller {
            total[caller as usize] += total[at];
        }
    }
    let mut places: HashMap<usize, u64> = HashMap::new();
    let mut found = Vec::new();
    let mut sites: BTreeMap<(Vec<String>, String), (u64, u64)> = BTreeMap::new();
    for (at, node) in nodes.iter().enumerate() {
        let caller = node.caller.map(|caller| caller as usize);
        let dropped = caller.is_some_and(|caller| !places.contains_key(&caller));
        if !watch.is_program(node.task) || is_apart(at) || dropped || total[at] == 0 && node.count == 0 {
            continue;
        }
        places.insert(at, found.len() as u64);
        let name = watch.code.name(node.function);
        found.push(PathFound {
            caller: caller.and_then(|caller| places.get(&caller).copied()),
            function: name.to_owned(),
            cycles: node.weight,
        });
        if node.count > 0 && watch.crossing_of(node.function).is_some() {
            let above = std::iter::successors(caller, |&at| nodes[at].caller.map(|caller| caller as usize));
            let callers: Vec<String> =
                above.take(CALLERS).map(|at| watch.code.name(nodes[at].function).to_owned()).collect();
            let (count, cost) = sites.entry((callers, name.trim_matches(['[', ']']).to_owned())).or_default();
            *count += node.count;
            *cost += total[at];
        }
    }
    let mut sites: Vec<GuestSite> = sites
        .into_iter()
        .map(|((callers, crossing), (count, cost))| GuestSite { crossing, callers, count, cost })
        .collect();
    sites.sort_by(|a, b| {
        b.cost.cmp(&a.cost).then_with(|| (&a.crossing, &a.callers).cmp(&(&b.crossing, &b.callers)))
    });
    (found, sites)
}
