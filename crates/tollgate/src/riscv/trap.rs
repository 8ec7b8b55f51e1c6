//! `tollgate riscv trap`: the bill of a trap.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use tollgate_lab::{Crossing, DESIGNS, Design, ENGINES, Engine, Experiment, LabError, TrapBill, USUAL};
use tollgate_lab::{find_engine, record, text};
use tollgate_record::{Status, document};

use super::document;
use crate::cli::{Output, Usage};
use crate::output::Sink;

/// `tollgate riscv trap`.
#[derive(Args)]
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

    #[command(flatten)]
    output: Output,
}

/// What the command line asks for.
struct Plan {
    experiments: Vec<Experiment>,
    engines: Vec<&'static dyn Engine>,
    table: bool,
}

/// Measures what the command line asks for.
pub(super) fn run(args: &TrapArgs) -> Result<ExitCode> {
    let sink = Sink::open(&args.output)?;
    if args.kernel == "list" {
        sink.deliver(&text::list())?;
        return Ok(ExitCode::SUCCESS);
    }
    let plan = plan(args)?;
    let mut entries = Vec::new();
    let mut bills = Vec::new();
    let mut missing = Vec::new();
    for engine in &plan.engines {
        for experiment in &plan.experiments {
            match engine.measure(experiment) {
                Ok(bill) => {
                    entries.push(record::measured(&bill));
                    bills.push(bill);
                }
                Err(why) => {
                    entries.push(record::not_measured(experiment, engine.name(), &why));
                    missing.push((*experiment, why));
                }
            }
        }
    }
    let failed = entries.iter().any(|entry| entry.status == Status::Failed);
    // One engine was asked for and did nothing: what was asked for was not done.
    let nothing = plan.engines.len() == 1 && entries.iter().all(|entry| entry.status == Status::Skipped);
    let shown =
        if sink.json() { document::to_json(&document(entries))? } else { plan.show(&bills, &missing) };
    sink.deliver(&shown)?;
    Ok(if failed || nothing { ExitCode::FAILURE } else { ExitCode::SUCCESS })
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
    let table = args.kernel == "all";
    let experiment = |design, crossing| Experiment { design, crossing, iterations: args.iterations };
    let experiments = if table {
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
                calls.unwrap_or_else(|| USUAL.to_vec()).into_iter().map(|c| experiment(design, c)).collect()
            }
        }
    };
    Ok(Plan { experiments, engines, table })
}

impl Plan {
    fn show(&self, bills: &[TrapBill], missing: &[(Experiment, LabError)]) -> String {
        let mut out = match (&self.engines[..], self.table) {
            ([_], true) => text::comparison(bills),
            ([_], false) => text::bills(bills),
            (engines, _) => {
                let names: Vec<_> = engines.iter().map(|engine| engine.name()).collect();
                text::engines(&names, bills, &self.experiments)
            }
        };
        for engine in &self.engines {
            if bills.iter().any(|bill| bill.engine == engine.name()) {
                out.push_str(&text::wrapped(engine.note()));
            }
        }
        out.push_str(&text::missing(missing));
        out
    }
}
