//! `tollgate riscv`: the bill of a trap, and programs on the embedded machine.

use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{env, fs};

use anyhow::{Context, Result};
use clap::{Args, Subcommand, ValueEnum};
use tollgate_lab::program::{self, Ending, Job, Outcome, Watch};
use tollgate_lab::{Crossing, DESIGNS, Design, ENGINES, Engine, Experiment, LabError, Trace, TrapBill, USUAL};
use tollgate_lab::{find_engine, record, text};

/// `tollgate riscv`.
#[derive(Args, Debug)]
pub struct RiscvArgs {
    #[command(subcommand)]
    command: RiscvCommand,
}

#[derive(Subcommand, Debug)]
enum RiscvCommand {
    /// The bill of a trap: what a system call costs, and where
    Trap(TrapArgs),
    /// Run a bare ELF, or a static Linux program on the proxy kernel
    Run(RunArgs),
}

/// `tollgate riscv trap`.
#[derive(Args, Debug)]
struct TrapArgs {
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

    /// One JSON document and nothing else
    #[arg(long)]
    json: bool,

    /// Write the JSON document to a file as well
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum TraceKind {
    /// Registers and memory written, one line for each instruction
    Commit,
    /// Assembly
    Disasm,
}

/// `tollgate riscv run`.
#[derive(Args, Debug)]
struct RunArgs {
    /// The program
    elf: PathBuf,

    /// Its arguments, on the proxy kernel
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    args: Vec<String>,

    /// The machine's instructions
    #[arg(long, default_value = "rv64gc", value_name = "ISA")]
    isa: String,

    /// Memory map and devices: spike or virt
    #[arg(long, default_value = "spike", value_name = "MACHINE")]
    machine: String,

    /// RAM in MiB
    #[arg(long, default_value_t = 128, value_name = "MIB")]
    memory: u64,

    /// Run the program on this proxy kernel (riscv-pk)
    #[arg(long, value_name = "PK")]
    pk: Option<PathBuf>,

    /// A file that the program may read through the proxy kernel; may be given more than once
    #[arg(long, value_name = "FILE", requires = "pk")]
    allow: Vec<PathBuf>,

    /// Write every instruction to standard error
    #[arg(long, value_enum, value_name = "KIND", conflicts_with = "profile")]
    trace: Option<TraceKind>,

    /// Show instructions by function, by phase and by system call afterwards
    #[arg(long)]
    profile: bool,

    /// Stop a program that has not ended after so many instructions
    #[arg(long, default_value_t = 10_000_000_000, value_name = "N")]
    max_instructions: u64,
}

/// Bad input: the sentence goes to standard error, the exit status is 2.
struct Refusal(String);

impl<E: std::fmt::Display> From<E> for Refusal {
    fn from(error: E) -> Self {
        Self(error.to_string())
    }
}

/// Runs `tollgate riscv`.
pub fn run(args: RiscvArgs) -> Result<ExitCode> {
    match args.command {
        RiscvCommand::Trap(args) => trap(&args),
        RiscvCommand::Run(args) => run_program(&args),
    }
}

/// Writes to standard output; a reader that has gone away is no error of ours.
fn show(text: &str) -> Result<()> {
    match io::stdout().lock().write_all(text.as_bytes()) {
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other.context("cannot write to standard output"),
    }
}

/// Says something that is not the result.
fn tell(text: &str) {
    // With standard error gone there is nobody left to tell.
    let _ = writeln!(io::stderr().lock(), "{text}");
}

fn refuse(refusal: &Refusal) -> ExitCode {
    tell(&format!("error: {}", refusal.0));
    ExitCode::from(2)
}

// ---- trap ----------------------------------------------------------------------------------------------------

/// What the command line asks for.
struct Plan {
    experiments: Vec<Experiment>,
    engines: Vec<&'static dyn Engine>,
    table: bool,
}

fn trap(args: &TrapArgs) -> Result<ExitCode> {
    if args.kernel == "list" {
        let lines = DESIGNS.iter().map(|d| format!("{:<14} {}\n", d.name, d.about));
        return show(&lines.collect::<String>()).map(|()| ExitCode::SUCCESS);
    }
    let plan = match plan(args) {
        Ok(plan) => plan,
        Err(refusal) => return Ok(refuse(&refusal)),
    };
    let mut entries = Vec::new();
    let mut failed = false;
    let mut printed = String::new();
    for engine in &plan.engines {
        let mut bills = Vec::new();
        let mut missing = Vec::new();
        for experiment in &plan.experiments {
            match engine.measure(experiment) {
                Ok(bill) => {
                    entries.push(record::measured(&bill));
                    bills.push(bill);
                }
                Err(why) => {
                    entries.push(record::not_measured(experiment, engine.name(), &why));
                    let title = format!("{}, {}", experiment.design.name, experiment.crossing.name());
                    failed |= !why.is_skip();
                    missing.push((title, why));
                }
            }
        }
        printed.push_str(&shown(&plan, *engine, &bills, &missing, args.iterations));
    }
    let skipped_all = plan.engines.len() == 1 && entries.iter().all(|e| e.status == record::Status::Skipped);
    if args.json || args.out.is_some() {
        let mut document = serde_json::to_string_pretty(&record::run(entries, env::args().skip(1).collect()))?;
        document.push('\n');
        if let Some(path) = &args.out
            && let Err(e) = fs::write(path, &document)
        {
            return Ok(refuse(&Refusal(format!("--out {}: {e}; give a file that can be written", path.display()))));
        }
        if args.json {
            show(&document)?;
        }
    }
    if !args.json {
        show(&printed)?;
    }
    // An engine that was asked for by name and is not here: what was asked for was not done.
    Ok(if failed || skipped_all { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn plan(args: &TrapArgs) -> Result<Plan, Refusal> {
    const MOST: u64 = 10_000_000;
    if !(1..=MOST).contains(&args.iterations) {
        return Err(Refusal(format!("--iterations {}: give a number from 1 to {MOST}", args.iterations)));
    }
    let engines = if args.engine == "all" {
        ENGINES.to_vec()
    } else {
        vec![find_engine(&args.engine).ok_or_else(|| {
            let names: Vec<_> = ENGINES.iter().map(|e| e.name()).collect();
            Refusal(format!("--engine {}: no such engine; take {} or all", args.engine, names.join(", ")))
        })?]
    };
    let calls = match &args.calls {
        None => None,
        Some(calls) => {
            let parsed = calls.iter().map(|call| Crossing::parse(call)).collect::<Result<Vec<_>, LabError>>();
            Some(parsed.map_err(|e| Refusal(format!("--calls: {e}")))?)
        }
    };
    let table = args.kernel == "all";
    let experiment = |design, crossing| Experiment { design, crossing, iterations: args.iterations };
    let experiments = if table {
        let call = match calls.as_deref() {
            None => USUAL[0],
            Some([call]) => *call,
            Some(_) => return Err(Refusal("--kernel all compares one call: give --calls one name".into())),
        };
        DESIGNS.iter().map(|design| experiment(design, design.crossing.unwrap_or(call))).collect()
    } else {
        let design = Design::find(&args.kernel).ok_or_else(|| {
            let names: Vec<_> = DESIGNS.iter().map(|d| d.name).collect();
            Refusal(format!("--kernel {}: no such design; take all or one of {}", args.kernel, names.join(", ")))
        })?;
        match (design.crossing, calls) {
            (Some(_), Some(_)) => {
                return Err(Refusal(format!(
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

fn shown(
    plan: &Plan,
    engine: &dyn Engine,
    bills: &[TrapBill],
    missing: &[(String, LabError)],
    iterations: u64,
) -> String {
    let mut out = String::new();
    if plan.engines.len() > 1 {
        out.push_str(&format!("{}\n", engine.name()));
    }
    if let Some((first, others)) = bills.split_first() {
        if plan.table {
            out.push_str(&text::designs(bills));
            out.push('\n');
            out.push_str(&text::conclusion(bills));
        } else {
            out.push_str(&text::spreads(bills, iterations));
            out.push('\n');
            if !others.is_empty() && first.phases.is_some() {
                out.push_str(&text::matrix(bills));
                out.push('\n');
            }
            if first.phases.is_some() {
                out.push_str(&text::bill(first));
                out.push('\n');
                out.push_str(&text::answer(first));
            }
        }
        out.push_str(&text::wrapped(engine.note()));
    }
    // One reason for all is said once.
    let mut said: Vec<String> = Vec::new();
    for (title, why) in missing {
        let word = if why.is_skip() { "skipped" } else { "failed" };
        let sentence = match why {
            LabError::EngineMissing { .. } => format!("{word}: {why}"),
            _ => format!("{word}: {title}: {why}"),
        };
        if !said.contains(&sentence) {
            out.push_str(&text::wrapped(&sentence));
            said.push(sentence);
        }
    }
    if plan.engines.len() > 1 {
        out.push('\n');
    }
    out
}

// ---- run -----------------------------------------------------------------------------------------------------

fn run_program(args: &RunArgs) -> Result<ExitCode> {
    let job = match job(args) {
        Ok(job) => job,
        Err(refusal) => return Ok(refuse(&refusal)),
    };
    let watch = match (args.trace, args.profile) {
        (Some(TraceKind::Commit), _) => Watch::Trace(Trace::Commit),
        (Some(TraceKind::Disasm), _) => Watch::Trace(Trace::Disasm),
        (None, true) => Watch::Profile,
        (None, false) => Watch::Nothing,
    };
    let outcome = match program::run(&job, watch, &mut io::stdout(), &mut io::stderr()) {
        Ok(outcome) => outcome,
        // Whoever read the output has seen enough.
        Err(program::ProgramError::Output(e)) if e.kind() == io::ErrorKind::BrokenPipe => {
            return Ok(ExitCode::SUCCESS);
        }
        Err(error) if error.is_input() => {
            return Ok(refuse(&Refusal(format!("{}: {error}", culprit(args, &error).display()))));
        }
        Err(error) => return Err(error.into()),
    };
    if let Some(profile) = &outcome.profile {
        show(&text::profile(profile))?;
    }
    for path in &outcome.refused {
        tell(&format!("the program asked for {path}, which it may not read; --allow {path} lets it"));
    }
    Ok(verdict(args, &outcome))
}

fn culprit<'a>(args: &'a RunArgs, error: &program::ProgramError) -> &'a Path {
    match (&args.pk, error) {
        (Some(pk), program::ProgramError::ProxyKernel(_)) => pk,
        _ => &args.elf,
    }
}

fn job(args: &RunArgs) -> Result<Job, Refusal> {
    let read = |path: &Path| fs::read(path).map_err(|e| Refusal(format!("{}: {e}", path.display())));
    if args.max_instructions == 0 {
        return Err(Refusal("--max-instructions 0: give at least 1".into()));
    }
    let ram_bytes = args.memory.checked_mul(1 << 20).unwrap_or(u64::MAX);
    let name = args.elf.to_string_lossy().into_owned();
    let mut files = Vec::new();
    for path in &args.allow {
        files.push((path.to_string_lossy().into_owned(), read(path)?));
    }
    if args.pk.is_none() && !args.args.is_empty() {
        return Err(Refusal("a bare program takes no arguments; with --pk PK it would get them".into()));
    }
    Ok(Job {
        isa: args.isa.parse().map_err(|e| Refusal(format!("--isa: {e}")))?,
        machine: args.machine.parse().map_err(|e| Refusal(format!("--machine: {e}")))?,
        ram_bytes,
        program: read(&args.elf)?,
        proxy_kernel: args.pk.as_deref().map(read).transpose()?,
        arguments: std::iter::once(name).chain(args.args.iter().cloned()).collect(),
        files,
        max_instructions: args.max_instructions,
    })
}

fn verdict(args: &RunArgs, outcome: &Outcome) -> ExitCode {
    let count = text::grouped(outcome.instructions);
    match &outcome.ending {
        Ending::Exited(0) => {
            // A person wants to know; a script wants the program's own output and nothing else.
            if io::stderr().is_terminal() || args.profile {
                tell(&format!("ended after {count} instructions"));
            }
            ExitCode::SUCCESS
        }
        Ending::Exited(status) => {
            tell(&format!("the program ended with status {status} after {count} instructions"));
            ExitCode::FAILURE
        }
        Ending::Budget => {
            tell(&format!(
                "stopped: the program has not ended after {count} instructions; --max-instructions gives it more"
            ));
            ExitCode::FAILURE
        }
        Ending::Stuck(how) => {
            tell(&format!("stopped after {count} instructions: {how}"));
            ExitCode::FAILURE
        }
    }
}
