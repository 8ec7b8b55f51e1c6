//! `tollgate riscv`: the bill of a trap, and programs on the embedded machine.

use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::SystemTime;
use std::{env, fs};

use anyhow::Result;
use clap::{Args, Subcommand, ValueEnum};
use tollgate_lab::program::{self, Ending, Job, Outcome, ProgramError, Watch};
use tollgate_lab::{
    Crossing, DESIGNS, Design, ENGINES, Engine, Experiment, LabError, Trace, TrapBill, USUAL,
};
use tollgate_lab::{find_engine, record, text};
use tollgate_measure::host;
use tollgate_record::{Measurement, Run, SCHEMA, Status, Tool, document, store};
use tollgate_riscv::{ConfigError, LoadError};

use crate::cli::{Output, Usage};
use crate::output::Sink;

/// The bill of a trap, and programs on the embedded RISC-V machine
#[derive(Args)]
#[command(after_help = "Examples:\n  tollgate riscv trap\n  tollgate riscv trap --kernel all\n  \
                        tollgate riscv run --pk pk program --profile")]
pub(crate) struct RiscvArgs {
    #[command(subcommand)]
    command: RiscvCommand,
}

#[derive(Subcommand)]
enum RiscvCommand {
    /// The bill of a trap: what a system call costs, and where
    Trap(TrapArgs),
    /// Run a bare ELF, or a static Linux program on the proxy kernel
    Run(RunArgs),
}

/// `tollgate riscv trap`.
#[derive(Args)]
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

    #[command(flatten)]
    output: Output,
}

#[derive(Clone, Copy, ValueEnum)]
enum TraceKind {
    /// Registers and memory written, one line for each instruction
    Commit,
    /// Assembly
    Disasm,
}

/// `tollgate riscv run`.
#[derive(Args)]
struct RunArgs {
    /// The program
    elf: PathBuf,

    /// Its arguments, on the proxy kernel; behind `--` those that begin with a dash
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

    /// The command line that the device tree hands to a kernel
    #[arg(long, default_value = "", hide_default_value = true, value_name = "TEXT")]
    bootargs: String,

    /// Run the program on this proxy kernel (riscv-pk)
    #[arg(long, value_name = "PK")]
    pk: Option<PathBuf>,

    /// A file that the program may read, by this path; may be given more than once
    #[arg(long, value_name = "FILE")]
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

/// Runs `tollgate riscv`.
pub(crate) fn run(args: &RiscvArgs) -> Result<ExitCode> {
    match &args.command {
        RiscvCommand::Trap(args) => trap(args),
        RiscvCommand::Run(args) => run_program(args),
    }
}

/// Says something that is not the result.
fn tell(text: &str) {
    // With standard error gone there is nobody left to tell.
    let _ = writeln!(io::stderr().lock(), "{text}");
}

// ---- trap ----------------------------------------------------------------------------------------------------

/// What the command line asks for.
struct Plan {
    experiments: Vec<Experiment>,
    engines: Vec<&'static dyn Engine>,
    table: bool,
}

fn trap(args: &TrapArgs) -> Result<ExitCode> {
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

fn document(results: Vec<Measurement>) -> Run {
    let now = SystemTime::now();
    Run {
        schema: SCHEMA.into(),
        id: store::new_id(now),
        started: store::rfc3339(now),
        // Nothing here is drawn at random.
        seed: 0,
        tool: Tool { version: env!("CARGO_PKG_VERSION").into(), commit: env!("TOLLGATE_COMMIT").into() },
        command: env::args().skip(1).collect(),
        complete: true,
        host: host::here(),
        warnings: Vec::new(),
        results,
    }
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

// ---- run -----------------------------------------------------------------------------------------------------

fn run_program(args: &RunArgs) -> Result<ExitCode> {
    let job = job(args)?;
    let watch = match (args.trace, args.profile) {
        (Some(TraceKind::Commit), _) => Watch::Trace(Trace::Commit),
        (Some(TraceKind::Disasm), _) => Watch::Trace(Trace::Disasm),
        (None, true) => Watch::Profile,
        (None, false) => Watch::Nothing,
    };
    let outcome = match program::run(&job, watch, &mut io::stdout(), &mut io::stderr()) {
        Ok(outcome) => outcome,
        // Whoever read the output has seen enough.
        Err(ProgramError::Output(e)) if e.kind() == io::ErrorKind::BrokenPipe => {
            return Ok(ExitCode::SUCCESS);
        }
        Err(error @ ProgramError::Output(_)) => return Err(error.into()),
        Err(error) => return Err(Usage::error(explained(args, &error))),
    };
    if let Some(profile) = &outcome.profile {
        io::stdout().write_all(text::profile(profile).as_bytes())?;
    }
    for path in &outcome.refused {
        tell(&format!("the program asked for {path}, which it may not read; --allow {path} lets it"));
    }
    Ok(verdict(args, &outcome))
}

/// Which option or file is wrong, how, and what to do.
fn explained(args: &RunArgs, error: &ProgramError) -> String {
    let elf = args.elf.display();
    match error {
        ProgramError::Machine(ConfigError::RamSize(_)) | ProgramError::NoMemory(_) => {
            format!("--memory {}: {error}", args.memory)
        }
        ProgramError::Machine(ConfigError::DeviceTree(..)) => format!("--bootargs: {error}"),
        ProgramError::ProxyKernel(_) => {
            format!("--pk {}: {error}", args.pk.as_deref().unwrap_or(Path::new("")).display())
        }
        ProgramError::Program(LoadError::OutsideRam { ram_base, address, .. }) if address < ram_base => {
            format!("{elf}: {error}; a static Linux program needs a proxy kernel: --pk PK")
        }
        _ => format!("{elf}: {error}"),
    }
}

fn job(args: &RunArgs) -> Result<Job> {
    let read = |path: &Path| fs::read(path).map_err(|e| Usage::error(format!("{}: {e}", path.display())));
    if args.max_instructions == 0 {
        return Err(Usage::error("--max-instructions 0: give at least 1"));
    }
    if args.pk.is_none() && !args.args.is_empty() {
        return Err(Usage::error("a bare program takes no arguments; with --pk PK it would get them"));
    }
    let mut files = Vec::new();
    for path in &args.allow {
        files.push((path.to_string_lossy().into_owned(), read(path)?));
    }
    let name = args.elf.to_string_lossy().into_owned();
    Ok(Job {
        isa: args.isa.parse().map_err(|e| Usage::error(format!("--isa: {e}")))?,
        machine: args.machine.parse().map_err(|e| Usage::error(format!("--machine: {e}")))?,
        ram_bytes: args.memory.saturating_mul(1 << 20),
        bootargs: args.bootargs.clone(),
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
