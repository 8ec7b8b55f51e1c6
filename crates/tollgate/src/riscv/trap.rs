//! `tollgate riscv trap`: the bill of a trap, and with `--workload` what traps cost a program with a working set.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use tollgate_cores::Core;
use tollgate_lab::own::{self, Own, OwnError};
use tollgate_lab::source::SourceError;
use tollgate_lab::{
    Crossing, DESIGNS, Design, ENGINES, Embedded, Engine, Experiment, FEATURES, Feature, USUAL, record,
    workload,
};
use tollgate_measure::host;
use tollgate_record::family::FeatureAsked;
use tollgate_record::{Measurement, Status, number};
use tollgate_supervise::Stop;

use super::options::{self, within};
use super::workload::{WorkloadArgs, WorkloadPlan};
use crate::args::{Destination, Usage};
use crate::output::{Sink, say};
use crate::session::Session;

/// Kernels, calls and what counts.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  tollgate riscv trap\n  tollgate riscv trap --core cva6\n  tollgate riscv trap \
                  --kernel all --core rocket\n  tollgate riscv trap --workload chase --every 10000 \
                  --kernel-touch 0,16,64 --core cva6"
)]
pub(super) struct TrapArgs {
    /// The design of the kernel, or a file with your own; can be repeated
    ///
    /// all compares the designs, list names them, template prints a file to start from. A file is
    /// assembly, C or an ELF file whose traps come in at trap_entry; labels phase_save: and so on mark its phases.
    #[arg(long, default_value = "full", value_name = "K", conflicts_with = "workload")]
    kernel: Vec<String>,

    /// What switching a feature costs, by design: a name or all
    ///
    /// Features are fp, vector, shadow-stack, space, asid, bank and stack. Each design is compared with the same kernel
    /// without the feature, in instructions and bytes.
    #[arg(long, value_name = "F", value_delimiter = ',',
        conflicts_with_all = ["kernel", "calls", "vlen", "core", "workload"])]
    feature: Vec<String>,

    /// Calls to measure, by name or number, as getpid,64
    #[arg(long, value_name = "CALLS", value_delimiter = ',', conflicts_with = "workload")]
    calls: Option<Vec<String>>,

    /// Crossings in the loop, after the single one
    #[arg(long, default_value_t = 1000, value_name = "N", conflicts_with = "workload")]
    iterations: u64,

    /// Bits of a vector register, for the kernels with vectors: 128, 256, 512 or 1024
    #[arg(long, default_value_t = 128, value_name = "N", conflicts_with = "workload")]
    vlen: u64,

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
    let text = match &args.kernel[..] {
        [word] if word == "list" => {
            Design::named().map(|it| format!("{:<15}{}\n", it.name, it.about)).collect()
        }
        [word] if word == "template" => own::TEMPLATE.to_owned(),
        _ => String::new(),
    };
    if !text.is_empty() {
        return Sink::open(&args.destination.output)?.deliver(&text);
    }
    if let Some(plan) = WorkloadPlan::new(&args.workload, args.core.as_deref())? {
        return sweep(&plan, &args.destination);
    }
    let (features, designs): (Vec<_>, Vec<_>) = features(args)?.into_iter().unzip();
    if !features.is_empty() {
        return measure(args, &TrapPlan::new(args, &designs, None)?, &features);
    }
    let calls = calls(args)?;
    let kernels = kernels(args, calls.as_deref())?;
    let designs = self::designs(args, &kernels)?;
    measure(args, &TrapPlan::new(args, &designs, calls)?, &[])
}

/// Measures the plan; its designs are those of features, or there are no features.
fn measure(args: &TrapArgs, plan: &TrapPlan<'_>, features: &[FeatureAsked]) -> Result<ExitCode> {
    let mut session = Session::open(&args.destination, host::here(), 0)?;
    let stop = Stop::on_signal()?;
    let mut results = plan.measure(|share, design| {
        session.progress.show(share, design);
        !stop.is_set()
    });
    record::add_features(&mut results, features);
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
struct TrapPlan<'d> {
    experiments: Vec<Experiment<'d>>,
    counters: Vec<Counter>,
}

enum Counter {
    /// Instructions, on this engine.
    Engine(&'static dyn Engine),
    /// Cycles, on the embedded machine with this core.
    Core(Box<Core>),
}

impl<'d> TrapPlan<'d> {
    fn new(args: &TrapArgs, designs: &'d [Design<'d>], calls: Option<Vec<Crossing>>) -> Result<Self, Usage> {
        within("--iterations", args.iterations, "a number", 1..=10_000_000)?;
        let engines = engines(&args.engine)?;
        let experiments = experiments(args, designs, calls)?;
        let counters = match &args.core {
            None => engines.into_iter().map(Counter::Engine).collect(),
            Some(name) => {
                let presets = if name == "all" { Core::PRESETS } else { &[name.as_str()] };
                let cores = presets.iter().map(|name| options::core(name)).collect::<Result<Vec<_>, _>>()?;
                if args.engine != "embedded" {
                    let why = "--core counts cycles on the embedded machine: leave --engine out";
                    return Err(Usage::new(why));
                }
                check_timed(&cores, designs)?;
                cores.into_iter().map(Box::new).map(Counter::Core).collect()
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

/// Refuses a design that one of the cores does not time.
fn check_timed(cores: &[Core], designs: &[Design<'_>]) -> Result<(), Usage> {
    let untimed = |design: &Design<'_>| {
        let why = cores.iter().find_map(|core| design.untimed_on(core.design))?;
        let why = format!("{why}: leave --core out, for instructions and memory traffic");
        Some(Usage::value("--kernel", design.name, why))
    };
    designs.iter().find_map(untimed).map_or(Ok(()), Err)
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

/// The calls that are named.
fn calls(args: &TrapArgs) -> Result<Option<Vec<Crossing>>, Usage> {
    let parse = |call: &String| Crossing::parse(call).map_err(|error| Usage::option("--calls", error));
    args.calls.as_ref().map(|calls| calls.iter().map(parse).collect()).transpose()
}

/// A bundled kernel, or one in a file.
pub(super) enum Kernel {
    Bundled(&'static Design<'static>),
    Own(Box<Own>),
}

impl Kernel {
    /// The kernel of that name, or that in the file of that name after it was checked with these calls.
    pub(super) fn new(name: &str, calls: &[Crossing]) -> Result<Self, Usage> {
        if let Some(design) = Design::find(name) {
            return Ok(Self::Bundled(design));
        }
        let path = Path::new(name);
        if !path.exists() && path.extension().is_none() {
            let names: Vec<_> = Design::named().map(|design| design.name).collect();
            let why =
                format!("no such design, and no such file; use all, one of {}, or a file", names.join(", "));
            return Err(Usage::value("--kernel", name, why));
        }
        let refused = |error| match error {
            OwnError::Source(error @ (SourceError::Assembly(_) | SourceError::Compile { .. })) => {
                Usage::new(error)
            }
            error => Usage::file(path, error),
        };
        let mut own = Own::load(path).map_err(refused)?;
        for &call in calls {
            let lost = own.check(call).map_err(refused)?;
            if !lost.is_empty() {
                say(format!("{name}: a call loses {}; in Linux it loses a0 only", lost.join(", ")));
            }
        }
        Ok(Self::Own(Box::new(own)))
    }

    pub(super) fn design(&self) -> Design<'_> {
        match self {
            Self::Bundled(design) => **design,
            Self::Own(own) => own.design(),
        }
    }
}

/// The designs of the features that are chosen, each with what is measured of it.
fn features(args: &TrapArgs) -> Result<Vec<(FeatureAsked, Design<'static>)>, Usage> {
    let known = |key: &String| key == "all" || FEATURES.iter().any(|feature| feature.key == key);
    if let Some(key) = args.feature.iter().find(|key| !known(key)) {
        let keys: BTreeSet<_> = FEATURES.iter().map(|feature| feature.key).collect();
        let keys: Vec<_> = keys.into_iter().collect();
        return Err(Usage::value("--feature", key, format!("use all, or some of {}", keys.join(", "))));
    }
    let is_chosen = |key: &str| args.feature.iter().any(|chosen| chosen == "all" || chosen == key);
    Ok(FEATURES.iter().filter(|feature| is_chosen(feature.key)).flat_map(Feature::designs).collect())
}

/// The kernels that are named, each once.
fn kernels(args: &TrapArgs, calls: Option<&[Crossing]>) -> Result<Vec<Kernel>, Usage> {
    let mut kernels = Vec::new();
    let mut names = BTreeSet::new();
    for name in &args.kernel {
        let bundled: &[_] = if name == "all" { DESIGNS } else { &[] };
        let new = bundled.iter().filter(|design| names.insert(design.name.to_owned()));
        kernels.extend(new.map(Kernel::Bundled));
        if name != "all" && names.insert(name.clone()) {
            kernels.push(Kernel::new(name, calls.unwrap_or(&USUAL[..1]))?);
        }
    }
    Ok(kernels)
}

/// Their designs, with vector registers of the length that is asked for.
fn designs<'k>(args: &TrapArgs, kernels: &'k [Kernel]) -> Result<Vec<Design<'k>>, Usage> {
    let design = |kernel: &'k Kernel| {
        let design = kernel.design();
        let why = || Usage::value("--vlen", args.vlen.to_string(), "use 128, 256, 512 or 1024");
        design.with_vlen(args.vlen).ok_or_else(why)
    };
    kernels.iter().map(design).collect()
}

/// What is measured of which kernel. Several are compared by one call.
fn experiments<'d>(
    args: &TrapArgs,
    designs: &'d [Design<'d>],
    calls: Option<Vec<Crossing>>,
) -> Result<Vec<Experiment<'d>>, Usage> {
    let experiment = |design, crossing| Experiment { design, crossing, iterations: args.iterations };
    if let [design] = designs {
        return match (design.crossing, calls) {
            (Some(_), Some(_)) => Err(Usage::new(format!(
                "--kernel {} is measured by its own crossing: leave --calls out",
                design.name
            ))),
            (Some(crossing), None) => Ok(vec![experiment(design, crossing)]),
            (None, calls) => {
                // A bill in cycles fills a page for each call, and a user's kernel need not tell calls apart.
                let usual = if args.core.is_some() || design.own { &USUAL[..1] } else { USUAL };
                let calls = calls.unwrap_or_else(|| usual.to_vec());
                Ok(calls.into_iter().map(|call| experiment(design, call)).collect())
            }
        };
    }
    let call = match calls.as_deref() {
        None => USUAL[0],
        Some([call]) => *call,
        Some(_) => {
            let why = "several kernels are compared by one call: give --calls one name";
            return Err(Usage::new(why));
        }
    };
    Ok(designs.iter().map(|it| experiment(it, it.crossing.unwrap_or(call))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::riscv::options::parsed;

    fn crossings(words: &[&str]) -> Vec<Crossing> {
        plan(words, |plan| plan.experiments.iter().map(|it| it.crossing).collect()).unwrap()
    }

    fn plan<T>(words: &[&str], of: impl Fn(TrapPlan<'_>) -> T) -> Result<T, Usage> {
        let args = parsed(words);
        let calls = calls(&args)?;
        let kernels = kernels(&args, calls.as_deref())?;
        let designs = designs(&args, &kernels)?;
        TrapPlan::new(&args, &designs, calls).map(of)
    }

    fn error(words: &[&str]) -> String {
        plan(words, |_| ()).unwrap_err().to_string()
    }

    #[test]
    fn cycles_take_one_call_by_default_and_instructions_the_usual_ones() {
        assert_eq!(crossings(&[]), USUAL);
        assert_eq!(crossings(&["--core", "cva6"]), [Crossing::Call(172)]);
    }

    #[test]
    fn all_cores_are_the_presets() {
        let name = |counter: &Counter| match counter {
            Counter::Core(core) => core.name.clone(),
            Counter::Engine(engine) => panic!("{}", engine.name()),
        };
        let names = plan(&["--core", "all"], |plan| plan.counters.iter().map(name).collect::<Vec<_>>());
        assert_eq!(names.unwrap(), Core::PRESETS);
        let error = WorkloadPlan::new(&parsed(&["--workload", "chase"]), Some("all")).unwrap_err();
        assert_eq!(error.to_string(), "--core all: a workload runs on one core: give its name");
    }

    #[test]
    fn features_are_chosen_by_name() {
        let count = |words: &[&str]| features(&parsed(words)).map(|designs| designs.len());
        assert_eq!(count(&["--feature", "shadow-stack,fp"]).unwrap(), 2 + 5);
        assert_eq!(count(&["--feature", "vector"]).unwrap(), 4 * 7);
        assert_eq!(count(&[]).unwrap(), 0);
        assert_eq!(
            count(&["--feature", "vectors"]).unwrap_err().to_string(),
            "--feature vectors: use all, or some of asid, bank, fp, shadow-stack, space, stack, vector"
        );
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
        let cases: [(&[&str], &str); 8] = [
            (
                &["--kernel", "vectored", "--kernel", "clic-table", "--core", "all"],
                "--kernel clic-table: only the core cv32e40x has a CLIC: leave --core out, for instructions and memory traffic",
            ),
            (
                &["--kernel", "shadow-stack", "--core", "cva6"],
                "--kernel shadow-stack: no core here has shadow stacks: leave --core out, for instructions and memory traffic",
            ),
            (&["--iterations", "0"], "--iterations 0: give a number from 1 to 10000000"),
            (&["--engine", "gem5"], "--engine gem5: no such engine; use embedded, spike, qemu or all"),
            (
                &["--kernel", "all", "--calls", "172,174"],
                "several kernels are compared by one call: give --calls one name",
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
