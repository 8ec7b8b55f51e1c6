//! `tollgate riscv run`: a user's program on the embedded machine.

use std::fs;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, ValueEnum};
use tollgate_lab::program::{self, Ending, Job, Outcome, ProgramError, Watch};
use tollgate_lab::{Trace, record};
use tollgate_record::family::ProgramAsked;
use tollgate_record::number::count;
use tollgate_riscv::{ConfigError, LoadError};

use crate::args::{Destination, Usage};

#[derive(Clone, Copy, ValueEnum)]
enum TraceKind {
    /// Registers and memory written, one line for each instruction
    Commit,
    /// Assembly
    Disasm,
}

/// `tollgate riscv run`.
#[derive(Args)]
#[command(
    after_help = "A static Linux program runs on the proxy kernel: --pk names it, and the program comes before its own \
                        arguments.\n\nExamples:\n  tollgate riscv run program.elf\n  tollgate riscv run program.elf --profile\n  \
                        tollgate riscv run program.elf --trace commit 2> trace.txt"
)]
pub(super) struct RunArgs {
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

    /// The kernel's command line in the device tree
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

    /// Print and save a profile afterwards: instructions by function, by phase and by system call
    #[arg(long)]
    profile: bool,

    /// Stop a program that has not ended after so many instructions
    #[arg(long, default_value_t = 10_000_000_000, value_name = "N")]
    max_instructions: u64,

    #[command(flatten)]
    destination: Destination,
}

/// Prints a line that is not the result.
fn tell(text: &str) {
    // If standard error is closed there is no other place to print it.
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// Runs the program.
pub(super) fn run(args: &RunArgs) -> Result<ExitCode> {
    let job = job(args)?;
    let watch = match (args.trace, args.profile) {
        (Some(TraceKind::Commit), _) => Watch::Trace(Trace::Commit),
        (Some(TraceKind::Disasm), _) => Watch::Trace(Trace::Disasm),
        (None, true) => Watch::Profile,
        (None, false) => Watch::Nothing,
    };
    let session = match args.profile {
        true => Some(super::session::open(&args.destination)?),
        false => None,
    };
    let of_profile = &args.destination;
    let output = &of_profile.output;
    if session.is_none()
        && (output.json || output.out.is_some() || of_profile.no_save || of_profile.store.store.is_some())
    {
        return Err(Usage::error("--json, --out, --store and --no-save belong to a profile: add --profile"));
    }
    // With --json the record is all that standard output has.
    let mut console: Box<dyn Write> =
        if output.json { Box::new(io::stderr()) } else { Box::new(io::stdout()) };
    let outcome = match program::run(&job, watch, &mut console, &mut io::stderr()) {
        Ok(outcome) => outcome,
        // Whoever read the output has seen enough.
        Err(ProgramError::Output(e)) if e.kind() == io::ErrorKind::BrokenPipe => {
            return Ok(ExitCode::SUCCESS);
        }
        Err(error @ ProgramError::Output(_)) => return Err(error.into()),
        Err(error) => return Err(Usage::error(explained(args, &error))),
    };
    if let (Some(profile), Some(mut session)) = (&outcome.profile, session) {
        let program =
            args.elf.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        let asked = ProgramAsked { program, isa: args.isa.clone(), machine: args.machine.clone() };
        session.run.results.push(record::profile(profile, asked));
        session.run.complete = true;
        session.finish()?;
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
    let count = count(outcome.instructions);
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
