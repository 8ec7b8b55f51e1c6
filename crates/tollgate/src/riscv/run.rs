//! `tollgate riscv run` and `tollgate riscv profile`: a user's program on the embedded machine.

use std::io::{self, IsTerminal};
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use tollgate_lab::plan::{ProgramPlan, ProgramRequest, WatchRequest};
use tollgate_lab::program::{self, ProgramError};
use tollgate_lab::record;
use tollgate_lab::status::EXIT_STATUS;
use tollgate_progress::Console;
use tollgate_supervise::Stop;

use crate::args::Destination;
use crate::output::{reader_gone, say};
use crate::session::Session;

/// `tollgate riscv run`.
#[derive(Args)]
#[command(
    after_help = format!("A static Linux program runs on the proxy kernel: --pk names it, and the program comes before its own \
                        arguments.\n\n{EXIT_STATUS}\n\nExamples:\n  tollgate riscv run program.elf\n  tollgate riscv run program.elf --profile\n  \
                        tollgate riscv run program.elf --core rocket\n  \
                        tollgate riscv run program.elf --trace commit 2> trace.txt")
)]
pub(super) struct RunArgs {
    #[command(flatten)]
    program: ProgramRequest,

    #[command(flatten)]
    watch: WatchRequest,

    #[command(flatten)]
    destination: Destination,
}

/// `tollgate riscv profile`: `run --core` for whoever wants the profile.
#[derive(Args)]
#[command(
    after_help = format!("{EXIT_STATUS}\n\nExamples:\n  tollgate riscv profile program.elf\n  tollgate riscv profile program.elf --core cva6 --top 5\n  \
                        tollgate riscv profile program.elf --json --out profile.json && \
                        tollgate export profile.json --format folded --out program.folded")
)]
pub(super) struct ProfileArgs {
    #[command(flatten)]
    program: ProgramRequest,

    #[command(flatten)]
    destination: Destination,

    /// The core: a preset, or a file that ends in .toml
    #[arg(long, value_name = "CORE", default_value = "rocket")]
    core: String,

    /// Functions that are printed; the record has all
    #[arg(long, value_name = "N", default_value_t = 20, allow_hyphen_values = true)]
    top: u64,
}

/// Runs the program, watched as its options say.
pub(super) fn run(args: &RunArgs) -> Result<ExitCode> {
    let (mut program, mut watch) = (args.program.clone(), args.watch.clone());
    watch.take_words(&mut program)?;
    start(&program, &watch, &args.destination, None)
}

/// Runs the program on a core.
pub(super) fn profile(args: &ProfileArgs) -> Result<ExitCode> {
    let watch =
        WatchRequest { core: Some(args.core.clone()), signature_granularity: 16, ..WatchRequest::default() };
    start(&args.program, &watch, &args.destination, Some(args.top))
}

fn start(
    request: &ProgramRequest,
    asked: &WatchRequest,
    destination: &Destination,
    top: Option<u64>,
) -> Result<ExitCode> {
    let watch = request.watch(asked)?;
    let plan = ProgramPlan::new(request, asked)?;
    let profiled = watch.is_profile();
    let session = Session::of_profile(profiled, destination)?;
    let mut console = Console::of_guest("the program runs", destination.output.json);
    let stop = Stop::on_signal()?;
    let stopped = || stop.is_set();
    let mut input = program::Input { interrupted: &stopped };
    let done = program::run(&plan.job, watch, &mut input, &mut console, &mut io::stderr(), &stopped);
    let outcome = match done {
        Ok(outcome) => outcome,
        Err(error @ ProgramError::Output(_)) => return Err(reader_gone(error)),
        Err(error) => return Err(plan.explain(&error).into()),
    };
    drop(console);
    if let Some(mut session) = session {
        session.run.results.extend(record::program(&outcome, plan.asked(top)));
        session.finish_unless(&stop)?;
    }
    plan.save(&outcome)?;
    outcome.remarks().for_each(say);
    // A person wants to know; a script wants the program's own output and nothing else.
    if !outcome.is_success() || io::stderr().is_terminal() || profiled {
        say(outcome.verdict());
    }
    Ok(ExitCode::from(stop.status(outcome.exit_status())))
}
