//! `tollgate riscv trap`: the bill of a trap.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use tollgate_lab::{Crossing, DESIGNS, Design, ENGINES, Embedded, Engine, Experiment, LabError, USUAL};
use tollgate_lab::{find_engine, record};
use tollgate_record::Status;

use super::session::open;
use crate::args::{Destination, Usage};
use crate::output::Sink;

/// `tollgate riscv trap`.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  tollgate riscv trap\n  tollgate riscv trap --core cva6-like\n  tollgate riscv trap \
                  --kernel all --core rocket-like\n  tollgate riscv trap --workload chase --every 10000 \
                  --kernel-touch 0,16,64 --core cva6-like"
)]
pub(super) struct TrapArgs {
    /// How the kernel takes the trap; `all` compares every design, `list` names them
    #[arg(long, default_value = "full", value_name = "K")]
    kernel: String,

    /// Calls to measure, by name or number, as getpid,64
    #[arg(long, value_name = "CALLS", value_delimiter = ',')]
    calls: Option<Vec<String>>,

    /// Crossings in the loop, after the single one
    #[arg(long, default_value_t = 1000, value_name = "N")]
    iterations: u64,

    /// What counts: embedded, spike, qemu, or all of them side by side
    #[arg(long, default_value = "embedded", value_name = "E")]
    engine: String,

    /// Count cycles on this core: a preset, or a file that ends in .toml
    #[arg(long, value_name = "CORE")]
    core: Option<String>,

    #[command(flatten)]
    workload: super::workload::WorkloadArgs,

    #[command(flatten)]
    destination: Destination,
}

/// What the command line asks for.
struct Plan {
    experiments: Vec<Experiment>,
    engines: Vec<&'static dyn Engine>,
}

/// Measures what the command line asks for.
pub(super) fn run(args: &TrapArgs) -> Result<ExitCode> {
    if args.kernel == "list" {
        let list: String = DESIGNS.iter().map(|it| format!("{:<15}{}\n", it.name, it.about)).collect();
        Sink::open(&args.destination.output)?.deliver(&list)?;
        return Ok(ExitCode::SUCCESS);
    }
    if args.workload.workload.is_some() {
        return super::workload::run(&args.workload, args.core.as_deref(), &args.destination);
    }
    args.workload.refuse_alone()?;
    let plan = plan(args)?;
    if let Some(core) = &args.core {
        return in_cycles(args, &plan, core);
    }
    let mut session = open(&args.destination)?;
    let all = (plan.engines.len() * plan.experiments.len()) as f64;
    for engine in &plan.engines {
        for experiment in &plan.experiments {
            session.progress(session.run.results.len() as f64 / all, experiment.design.name);
            session.run.results.push(match engine.measure(experiment) {
                Ok(bill) => record::measured(&bill),
                Err(why) => record::not_measured(experiment, engine.name(), &why),
            });
        }
    }
    // One engine was asked for and measured nothing.
    let skipped = session.run.results.iter().all(|result| result.status == Status::Skipped);
    if plan.engines.len() == 1 && skipped {
        session.fail(format!("engine {} measured nothing", plan.engines[0].name()));
    }
    session.run.complete = true;
    session.finish()
}

/// The same with cycles.
fn in_cycles(args: &TrapArgs, plan: &Plan, core: &str) -> Result<ExitCode> {
    let core = super::core::read(core)?;
    if args.engine != "embedded" {
        return Err(Usage::error("--core counts cycles on the embedded machine: leave --engine out"));
    }
    let mut session = open(&args.destination)?;
    for (done, experiment) in plan.experiments.iter().enumerate() {
        session.progress(done as f64 / plan.experiments.len() as f64, experiment.design.name);
        match Embedded.measure_cycles(experiment, &core) {
            Ok(bill) => session.run.results.extend(record::measured_cycles(&bill)),
            Err(why) => session.run.results.push(record::not_measured(experiment, "embedded", &why)),
        }
    }
    session.run.complete = true;
    session.finish()
}

fn plan(args: &TrapArgs) -> Result<Plan> {
    const MOST: u64 = 10_000_000;
    if !(1..=MOST).contains(&args.iterations) {
        return Err(Usage::error(format!(
            "--iterations {}: give a number from 1 to {MOST}",
            args.iterations
        )));
    }
    let engines = if args.engine == "all" {
        ENGINES.to_vec()
    } else {
        vec![find_engine(&args.engine).ok_or_else(|| {
            let names: Vec<_> = ENGINES.iter().map(|e| e.name()).collect();
            Usage::error(format!(
                "--engine {}: no such engine; take {} or all",
                args.engine,
                names.join(", ")
            ))
        })?]
    };
    let calls = match &args.calls {
        None => None,
        Some(calls) => {
            let parsed = calls.iter().map(|call| Crossing::parse(call)).collect::<Result<Vec<_>, LabError>>();
            Some(parsed.map_err(|e| Usage::error(format!("--calls: {e}")))?)
        }
    };
    let experiment = |design, crossing| Experiment { design, crossing, iterations: args.iterations };
    let experiments = if args.kernel == "all" {
        let call = match calls.as_deref() {
            None => USUAL[0],
            Some([call]) => *call,
            Some(_) => return Err(Usage::error("--kernel all compares one call: give --calls one name")),
        };
        DESIGNS.iter().map(|design| experiment(design, design.crossing.unwrap_or(call))).collect()
    } else {
        let design = Design::find(&args.kernel).ok_or_else(|| {
            let names: Vec<_> = DESIGNS.iter().map(|d| d.name).collect();
            Usage::error(format!(
                "--kernel {}: no such design; take all or one of {}",
                args.kernel,
                names.join(", ")
            ))
        })?;
        match (design.crossing, calls) {
            (Some(_), Some(_)) => {
                return Err(Usage::error(format!(
                    "--kernel {} is measured by its own crossing: leave --calls out",
                    design.name
                )));
            }
            (Some(crossing), None) => vec![experiment(design, crossing)],
            (None, calls) => {
                // A bill in cycles is a page for each.
                let usual = if args.core.is_some() { &USUAL[..1] } else { USUAL };
                calls.unwrap_or_else(|| usual.to_vec()).into_iter().map(|c| experiment(design, c)).collect()
            }
        }
    };
    Ok(Plan { experiments, engines })
}
