//! `tollgate riscv trap`: the bill of a trap, and with `--workload` what traps cost a program with a working set.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use tollgate_cores::Core;
use tollgate_lab::{
    Crossing, DESIGNS, Design, ENGINES, Embedded, Engine, Experiment, USUAL, record, workload,
};
use tollgate_measure::host;
use tollgate_record::{Measurement, Status, number};
use tollgate_supervise::Stop;

use super::options::{self, within};
use super::workload::{WorkloadArgs, WorkloadPlan};
use crate::args::{Destination, Usage};
use crate::output::Sink;
use crate::session::Session;

/// Kernels, calls and what counts.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  tollgate riscv trap\n  tollgate riscv trap --core cva6\n  tollgate riscv trap \
                  --kernel all --core rocket\n  tollgate riscv trap --workload chase --every 10000 \
                  --kernel-touch 0,16,64 --core cva6"
)]
pub(super) struct TrapArgs {
    /// The design of the kernel; all compares them, list names them
    #[arg(long, default_value = "full", value_name = "K", conflicts_with = "workload")]
    kernel: String,

    /// Calls to measure, by name or number, as getpid,64
    #[arg(long, value_name = "CALLS", value_delimiter = ',', conflicts_with = "workload")]
    calls: Option<Vec<String>>,

    /// Crossings in the loop, after the single one
    #[arg(long, default_value_t = 1000, value_name = "N", conflicts_with = "workload")]
    iterations: u64,

    /// What counts: embedded, spike, qemu, or all
    #[arg(long, default_value = "embedded", value_name = "E", conflicts_with = "workload")]
    engine: String,

    /// Count cycles on this core: a preset, a file that ends in .toml, or all
    #[arg(long, value_name = "CORE")]
    core: Option<String>,

    #[command(flatten)]
    workload: WorkloadArgs,

    #[command(flatten)]
    destination: Destination,
}

/// Measures what the command line asks for.
pub(super) fn run(args: &TrapArgs) -> Result<ExitCode> {
    if args.kernel == "list" {
        let list: String = DESIGNS.iter().map(|it| format!("{:<15}{}\n", it.name, it.about)).collect();
        return Sink::open(&args.destination.output)?.deliver(&list);
    }
    if let Some(plan) = WorkloadPlan::new(&args.workload, args.core.as_deref())? {
        return sweep(&plan, &args.destination);
    }
    let plan = TrapPlan::new(args)?;
    let mut session = Session::open(&args.destination, host::here(), 0)?;
    let stop = Stop::on_signal()?;
    let results = plan.measure(|share, design| {
        session.progress.show(share, design);
        !stop.is_set()
    });
    if let Some(why) = plan.failure(&results) {
        session.fail(why);
    }
    session.run.results = results;
    session.finish_unless(&stop)
}

/// Measures every point of the sweep.
fn sweep(plan: &WorkloadPlan, destination: &Destination) -> Result<ExitCode> {
    let points = plan.points();
    let mut session = Session::open(destination, host::here(), 0)?;
    let stop = Stop::on_signal()?;
    for (done, point) in points.iter().enumerate() {
        if stop.is_set() {
            break;
        }
        let [set, touch] = [point.set, point.touch].map(|bytes| number::bytes(bytes as f64));
        let what = format!("{} of {set}, the kernel reads {touch}", plan.workload.name);
        session.progress.show(done as f64 / points.len() as f64, what);
        let seen = workload::measure(point, &plan.core)?;
        session.push(record::slowdown(&seen, &plan.core.name));
    }
    session.finish_unless(&stop)
}

/// Experiments, and what counts in each of them.
struct TrapPlan {
    experiments: Vec<Experiment>,
    counters: Vec<Counter>,
}

enum Counter {
    /// Instructions, on this engine.
    Engine(&'static dyn Engine),
    /// Cycles, on the embedded machine with this core.
    Core(Box<Core>),
}

impl TrapPlan {
    fn new(args: &TrapArgs) -> Result<Self, Usage> {
        within("--iterations", args.iterations, "a number", 1..=10_000_000)?;
        let engines = engines(&args.engine)?;
        let experiments = experiments(args)?;
        let counters = match &args.core {
            None => engines.into_iter().map(Counter::Engine).collect(),
            Some(name) => {
                let presets = if name == "all" { Core::PRESETS } else { &[name.as_str()] };
                let core = |name: &&str| options::core(name).map(Box::new).map(Counter::Core);
                let cores = presets.iter().map(core).collect::<Result<_, _>>()?;
                if args.engine != "embedded" {
                    let why = "--core counts cycles on the embedded machine: leave --engine out";
                    return Err(Usage::new(why));
                }
                cores
            }
        };
        Ok(Self { experiments, counters })
    }

    /// Measures until `progress`, which receives the finished share and the name of the next design, is false.
    fn measure(&self, progress: impl Fn(f64, &str) -> bool) -> Vec<Measurement> {
        let each =
            self.counters.iter().flat_map(|counter| self.experiments.iter().map(move |it| (counter, it)));
        let each: Vec<_> = each.collect();
        let mut results = Vec::new();
        for (done, (counter, experiment)) in each.iter().enumerate() {
            let design = experiment.design.name;
            let name = match counter {
                Counter::Engine(_) => design.to_owned(),
                Counter::Core(core) => format!("{design} on {}", core.name),
            };
            if !progress(done as f64 / each.len() as f64, &name) {
                break;
            }
            match counter {
                Counter::Engine(engine) => results.push(match engine.measure(experiment) {
                    Ok(bill) => record::measured(&bill),
                    Err(why) => record::not_measured(experiment, engine.name(), &why),
                }),
                Counter::Core(core) => match Embedded.measure_cycles(experiment, core) {
                    Ok(bill) => results.extend(record::measured_cycles(&bill)),
                    Err(why) => results.push(record::not_measured(experiment, "embedded", &why)),
                },
            }
        }
        results
    }

    /// Why the results are a failure: the only engine skipped every experiment.
    fn failure(&self, results: &[Measurement]) -> Option<String> {
        let [Counter::Engine(engine)] = &self.counters[..] else { return None };
        let skipped = results.iter().all(|result| result.status == Status::Skipped);
        skipped.then(|| format!("engine {} measured nothing", engine.name()))
    }
}

fn engines(name: &str) -> Result<Vec<&'static dyn Engine>, Usage> {
    if name == "all" {
        return Ok(ENGINES.to_vec());
    }
    let found = ENGINES.iter().copied().find(|engine| engine.name() == name);
    found.map(|engine| vec![engine]).ok_or_else(|| {
        let names: Vec<_> = ENGINES.iter().map(|engine| engine.name()).collect();
        Usage::value("--engine", name, format!("no such engine; use {} or all", names.join(", ")))
    })
}

fn experiments(args: &TrapArgs) -> Result<Vec<Experiment>, Usage> {
    let parse = |call: &String| Crossing::parse(call).map_err(|error| Usage::option("--calls", error));
    let calls: Option<Vec<_>> =
        args.calls.as_ref().map(|calls| calls.iter().map(parse).collect::<Result<_, _>>()).transpose()?;
    let experiment = |design, crossing| Experiment { design, crossing, iterations: args.iterations };
    if args.kernel == "all" {
        let call = match calls.as_deref() {
            None => USUAL[0],
            Some([call]) => *call,
            Some(_) => {
                let why = "--kernel all compares one call: give --calls one name";
                return Err(Usage::new(why));
            }
        };
        return Ok(DESIGNS.iter().map(|it| experiment(it, it.crossing.unwrap_or(call))).collect());
    }
    let design = Design::find(&args.kernel).ok_or_else(|| {
        let names: Vec<_> = DESIGNS.iter().map(|design| design.name).collect();
        let why = format!("no such design; use all or one of {}", names.join(", "));
        Usage::value("--kernel", &args.kernel, why)
    })?;
    match (design.crossing, calls) {
        (Some(_), Some(_)) => Err(Usage::new(format!(
            "--kernel {} is measured by its own crossing: leave --calls out",
            design.name
        ))),
        (Some(crossing), None) => Ok(vec![experiment(design, crossing)]),
        (None, calls) => {
            // A bill in cycles fills a page for each call.
            let usual = if args.core.is_some() { &USUAL[..1] } else { USUAL };
            let calls = calls.unwrap_or_else(|| usual.to_vec());
            Ok(calls.into_iter().map(|call| experiment(design, call)).collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::riscv::options::parsed;

    fn crossings(words: &[&str]) -> Vec<Crossing> {
        TrapPlan::new(&parsed(words)).unwrap().experiments.iter().map(|it| it.crossing).collect()
    }

    fn error(words: &[&str]) -> String {
        TrapPlan::new(&parsed(words)).map(|_| ()).unwrap_err().to_string()
    }

    #[test]
    fn cycles_take_one_call_by_default_and_instructions_the_usual_ones() {
        assert_eq!(crossings(&[]), USUAL);
        assert_eq!(crossings(&["--core", "cva6"]), [Crossing::Call(172)]);
    }

    #[test]
    fn all_cores_are_the_presets() {
        let plan = TrapPlan::new(&parsed(&["--core", "all"])).unwrap();
        let name = |counter: &Counter| match counter {
            Counter::Core(core) => core.name.clone(),
            Counter::Engine(engine) => panic!("{}", engine.name()),
        };
        assert_eq!(plan.counters.iter().map(name).collect::<Vec<_>>(), Core::PRESETS);
        let error = WorkloadPlan::new(&parsed(&["--workload", "chase"]), Some("all")).unwrap_err();
        assert_eq!(error.to_string(), "--core all: a workload runs on one core: give its name");
    }

    #[test]
    fn all_designs_keep_their_own_crossing() {
        let all = crossings(&["--kernel", "all", "--calls", "174"]);
        assert_eq!(all.len(), DESIGNS.len());
        assert_eq!(all[0], Crossing::Call(174));
        assert_eq!(*all.last().unwrap(), Crossing::Timer);
    }

    #[test]
    fn errors_name_the_option_and_a_value_that_works() {
        let cases: [(&[&str], &str); 6] = [
            (&["--iterations", "0"], "--iterations 0: give a number from 1 to 10000000"),
            (&["--engine", "gem5"], "--engine gem5: no such engine; use embedded, spike, qemu or all"),
            (
                &["--kernel", "all", "--calls", "172,174"],
                "--kernel all compares one call: give --calls one name",
            ),
            (
                &["--kernel", "direct", "--calls", "172,174"],
                "--kernel direct is measured by its own crossing: leave --calls out",
            ),
            (
                &["--core", "cva6", "--engine", "spike"],
                "--core counts cycles on the embedded machine: leave --engine out",
            ),
            (
                &["--core", "rocket+fault"],
                "--core rocket+fault: this core has no known fault; cva6 has one, in its returns",
            ),
        ];
        for (words, expected) in cases {
            assert_eq!(error(words), expected);
        }
    }
}
