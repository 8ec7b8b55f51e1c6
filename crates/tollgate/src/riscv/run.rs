//! `tollgate riscv run`: a user's program on the embedded machine.

use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use tollgate_lab::plan::{self, ProgramPlan, ProgramRequest};
use tollgate_lab::program::{self, GuestTime, ProgramError, Watch};
use tollgate_lab::{Trace, record};
use tollgate_measure::host;
use tollgate_record::family::ProgramAsked;

use crate::args::{Destination, Usage, one_of};
use crate::output::say;
use crate::session::Session;

const TRACES: [(&str, Trace, &str); 2] = [
    ("commit", Trace::Commit, "Registers and memory written, one line for each instruction"),
    ("disasm", Trace::Disasm, "Assembly"),
];

const TIMES: [(&str, GuestTime, &str); 2] =
    [("functional", GuestTime::Functional, "Instructions"), ("model", GuestTime::Model, "The core's cycles")];

/// `tollgate riscv run`.
#[derive(Args)]
#[command(
    after_help = "A static Linux program runs on the proxy kernel: --pk names it, and the program comes before its own \
                        arguments.\n\nExamples:\n  tollgate riscv run program.elf\n  tollgate riscv run program.elf --profile\n  \
                        tollgate riscv run program.elf --core rocket\n  \
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
    #[arg(long, value_parser = one_of(TRACES), value_name = "KIND", conflicts_with = "profile")]
    trace: Option<Trace>,

    /// Print and save a profile afterwards: instructions by function, by phase and by system call
    #[arg(long)]
    profile: bool,

    /// Count cycles on this core as well: a preset, or a file that ends in .toml. Print and save the profile with
    /// cycles by function and cause
    #[arg(long, value_name = "CORE", conflicts_with = "trace")]
    core: Option<String>,

    /// What the program's mcycle counts
    #[arg(long, value_parser = one_of(TIMES), value_name = "TIME", requires = "core")]
    guest_time: Option<GuestTime>,

    /// Stop a program that has not ended after so many instructions
    #[arg(long, default_value_t = 10_000_000_000, value_name = "N")]
    max_instructions: u64,

    #[command(flatten)]
    destination: Destination,
}

/// Runs the program.
pub(super) fn run(args: &RunArgs) -> Result<ExitCode> {
    let plan = ProgramPlan::new(ProgramRequest {
        elf: &args.elf,
        arguments: &args.args,
        isa: &args.isa,
        machine: &args.machine,
        memory: args.memory,
        bootargs: &args.bootargs,
        pk: args.pk.as_deref(),
        allow: &args.allow,
        max_instructions: args.max_instructions,
    })
    .map_err(Usage::error)?;
    let watch = match (args.trace, &args.core, args.profile) {
        (Some(trace), ..) => Watch::Trace(trace),
        (None, Some(core), _) => plan::ledger(core, args.guest_time).map_err(Usage::error)?,
        (None, None, true) => Watch::Profile,
        (None, None, false) => Watch::Nothing,
    };
    let profiled = args.profile || args.core.is_some();
    let destination = &args.destination;
    let output = &destination.output;
    let session = profiled.then(|| Session::open(destination, host::here(), 0)).transpose()?;
    if session.is_none()
        && (output.json || output.out.is_some() || destination.no_save || destination.store.store.is_some())
    {
        return Err(Usage::error(
            "--json, --out, --store and --no-save belong to a profile: add --profile or --core",
        ));
    }
    // With --json the record is all that standard output has.
    let mut console: Box<dyn Write> =
        if output.json { Box::new(io::stderr()) } else { Box::new(io::stdout()) };
    let outcome = match program::run(&plan.job, watch, &mut console, &mut io::stderr()) {
        Ok(outcome) => outcome,
        // Whoever read the output has seen enough.
        Err(ProgramError::Output(e)) if e.kind() == io::ErrorKind::BrokenPipe => {
            return Ok(ExitCode::SUCCESS);
        }
        Err(error @ ProgramError::Output(_)) => return Err(error.into()),
        Err(error) => return Err(Usage::error(plan.explain(&error))),
    };
    if let Some(mut session) = session {
        let program =
            args.elf.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        let asked =
            ProgramAsked { program, isa: args.isa.clone(), machine: args.machine.clone(), core: None };
        let ledger = outcome.ledger.as_ref().map(|ledger| record::program_ledger(ledger, asked.clone()));
        let entry = ledger.or_else(|| Some(record::profile(outcome.profile.as_ref()?, asked)));
        session.run.results.extend(entry);
        session.run.complete = true;
        session.finish()?;
    }
    for path in &outcome.refused {
        say(format_args!("the program asked for {path}, which it may not read; --allow {path} lets it"));
    }
    // A person wants to know; a script wants the program's own output and nothing else.
    if !outcome.is_success() || io::stderr().is_terminal() || profiled {
        say(outcome.verdict());
    }
    Ok(if outcome.is_success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
