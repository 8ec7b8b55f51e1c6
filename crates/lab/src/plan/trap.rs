//! Which designs, calls and engines a bill of traps compares.

use tollgate_cores::Core;
use tollgate_record::{Measurement, Status};

use super::options::{self, PlanError, within};
use crate::bill::{Engine, Experiment};
use crate::call::{Crossing, USUAL};
use crate::design::{DESIGNS, Design};
use crate::engine::{ENGINES, Embedded};
use crate::record;

/// Kernels, calls and what counts.
#[derive(clap::Args, Clone, Debug)]
pub struct TrapRequest {
    /// How the kernel takes the trap; `all` compares every design, `list` names them
    #[arg(long, default_value = "full", value_name = "K")]
    pub kernel: String,

    /// Calls to measure, by name or number, as getpid,64
    #[arg(long, value_name = "CALLS", value_delimiter = ',')]
    pub calls: Option<Vec<String>>,

    /// Crossings in the loop, after the single one
    #[arg(long, default_value_t = 1000, value_name = "N")]
    pub iterations: u64,

    /// What counts: embedded, spike, qemu, or all of them side by side
    #[arg(long, default_value = "embedded", value_name = "E")]
    pub engine: String,

    /// Count cycles on this core: a preset, a file that ends in .toml, or all presets side by side with 'all'
    #[arg(long, value_name = "CORE")]
    pub core: Option<String>,

    /// A program into which the traps come.
    #[command(flatten)]
    pub workload: WorkloadRequest,
}

/// A program with a working set, and what traps into it. Empty lists stand for the defaults.
#[derive(clap::Args, Clone, Debug)]
#[command(next_help_heading = "A program with a working set")]
pub struct WorkloadRequest {
    /// Trap again and again into a program: chase, walk or compute, or a C source with a function
    /// 'void work(char *set, unsigned long bytes)', which is called again and again
    #[arg(long, value_name = "PROG", conflicts_with_all = ["kernel", "calls", "iterations", "engine"])]
    pub workload: Option<String>,

    /// Instructions of the program from one trap to the next, as 1000,10000 [default: 10000]
    #[arg(long, value_name = "K", value_delimiter = ',')]
    pub every: Vec<u64>,

    /// The program's working set in KiB [default: 4,16,64]
    #[arg(long, value_name = "KIB", value_delimiter = ',')]
    pub set: Vec<u64>,

    /// What the kernel reads in each trap, in KiB [default: 0,4,16,64,256]
    #[arg(long, value_name = "KIB", value_delimiter = ',')]
    pub kernel_touch: Vec<u64>,

    /// Traps to measure at each point [default: what takes a moment]
    #[arg(long, value_name = "N")]
    pub traps: Option<u64>,
}

/// Experiments, and what counts in them.
pub struct TrapPlan {
    experiments: Vec<Experiment>,
    counter: Counter,
}

enum Counter {
    /// Instructions, on each of these engines.
    Engines(Vec<&'static dyn Engine>),
    /// Cycles, on the embedded machine with each of these cores.
    Cores(Vec<Core>),
}

impl TrapPlan {
    /// Plans a request.
    pub fn new(request: &TrapRequest) -> Result<Self, PlanError> {
        within("--iterations", request.iterations, "a number", 1..=10_000_000)?;
        let engines = engines(&request.engine)?;
        let experiments = experiments(request)?;
        let counter = match &request.core {
            None => Counter::Engines(engines),
            Some(name) => {
                let presets = if name == "all" { Core::PRESETS } else { &[name.as_str()] };
                let cores = presets.iter().map(|name| options::core(name)).collect::<Result<_, _>>()?;
                if request.engine != "embedded" {
                    let why = "--core counts cycles on the embedded machine: leave --engine out";
                    return Err(PlanError::conflict(why));
                }
                Counter::Cores(cores)
            }
        };
        Ok(Self { experiments, counter })
    }

    /// Measures everything; `progress` receives the finished share and the name of the next design.
    pub fn measure(&self, progress: impl Fn(f64, &str) -> bool) -> Vec<Measurement> {
        let mut results = Vec::new();
        let designs = self.experiments.len() as f64;
        match &self.counter {
            Counter::Engines(engines) => {
                let all = engines.len() as f64 * designs;
                for engine in engines {
                    for experiment in &self.experiments {
                        if !progress(results.len() as f64 / all, experiment.design.name) {
                            return results;
                        }
                        results.push(match engine.measure(experiment) {
                            Ok(bill) => record::measured(&bill),
                            Err(why) => record::not_measured(experiment, engine.name(), &why),
                        });
                    }
                }
            }
            Counter::Cores(cores) => {
                let all = cores.len() as f64 * designs;
                let each = cores.iter().flat_map(|core| self.experiments.iter().map(move |it| (core, it)));
                for (done, (core, experiment)) in each.enumerate() {
                    let name = format!("{} on {}", experiment.design.name, core.name);
                    if !progress(done as f64 / all, &name) {
                        return results;
                    }
                    match Embedded.measure_cycles(experiment, core) {
                        Ok(bill) => results.extend(record::measured_cycles(&bill)),
                        Err(why) => results.push(record::not_measured(experiment, "embedded", &why)),
                    }
                }
            }
        }
        results
    }

    /// Why the results are a failure: the only engine skipped every experiment.
    pub fn failure(&self, results: &[Measurement]) -> Option<String> {
        let Counter::Engines(engines) = &self.counter else { return None };
        let [engine] = &engines[..] else { return None };
        let skipped = results.iter().all(|result| result.status == Status::Skipped);
        skipped.then(|| format!("engine {} measured nothing", engine.name()))
    }
}

fn engines(name: &str) -> Result<Vec<&'static dyn Engine>, PlanError> {
    if name == "all" {
        return Ok(ENGINES.to_vec());
    }
    let found = ENGINES.iter().copied().find(|engine| engine.name() == name);
    found.map(|engine| vec![engine]).ok_or_else(|| {
        let names: Vec<_> = ENGINES.iter().map(|engine| engine.name()).collect();
        PlanError::value("--engine", name, format!("no such engine; use {} or all", names.join(", ")))
    })
}

fn experiments(request: &TrapRequest) -> Result<Vec<Experiment>, PlanError> {
    let parse = |call: &String| Crossing::parse(call).map_err(|error| PlanError::option("--calls", error));
    let calls: Option<Vec<_>> =
        request.calls.as_ref().map(|calls| calls.iter().map(parse).collect::<Result<_, _>>()).transpose()?;
    let experiment = |design, crossing| Experiment { design, crossing, iterations: request.iterations };
    if request.kernel == "all" {
        let call = match calls.as_deref() {
            None => USUAL[0],
            Some([call]) => *call,
            Some(_) => {
                let why = "--kernel all compares one call: give --calls one name";
                return Err(PlanError::conflict(why));
            }
        };
        return Ok(DESIGNS.iter().map(|it| experiment(it, it.crossing.unwrap_or(call))).collect());
    }
    let design = Design::find(&request.kernel).ok_or_else(|| {
        let names: Vec<_> = DESIGNS.iter().map(|design| design.name).collect();
        let why = format!("no such design; use all or one of {}", names.join(", "));
        PlanError::value("--kernel", &request.kernel, why)
    })?;
    match (design.crossing, calls) {
        (Some(_), Some(_)) => Err(PlanError::conflict(format!(
            "--kernel {} is measured by its own crossing: leave --calls out",
            design.name
        ))),
        (Some(crossing), None) => Ok(vec![experiment(design, crossing)]),
        (None, calls) => {
            // A bill in cycles fills a page for each call.
            let usual = if request.core.is_some() { &USUAL[..1] } else { USUAL };
            let calls = calls.unwrap_or_else(|| usual.to_vec());
            Ok(calls.into_iter().map(|call| experiment(design, call)).collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::WorkloadPlan;
    use crate::plan::options::parsed;

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
        let Counter::Cores(cores) = plan.counter else { panic!("cores") };
        assert_eq!(cores.iter().map(|core| &*core.name).collect::<Vec<_>>(), Core::PRESETS);
        let error = WorkloadPlan::new(&parsed(&["--workload", "chase", "--core", "all"])).unwrap_err();
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
