//! `tollgate riscv boot`: a real kernel on the embedded machine.

use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Result;
use clap::Args;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use tollgate_lab::boot::Terminal;
use tollgate_lab::plan::{self, BootRequest};
use tollgate_measure::host;
use tollgate_progress::Console;

use crate::args::{Destination, Usage};
use crate::output::say;
use crate::session::Session;

/// `tollgate riscv boot`.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  tollgate riscv boot --kernel Image --initrd initrd.cpio --append console=ttyS0\n  \
                        tollgate riscv boot --kernel xv6/kernel/kernel --drive xv6/fs.img --memory 128\n  \
                        tollgate riscv boot --kernel Image --initrd initrd.cpio --append console=ttyS0 --save-at '# ' shell.snap\n  \
                        tollgate riscv boot --from shell.snap\n  \
                        tollgate riscv boot --from shell.snap --core rocket --symbols System.map --max-instructions 10000000\n  \
                        tollgate riscv boot --from shell.snap --timeline trace.json --max-instructions 10000000"
)]
pub(super) struct BootArgs {
    #[command(flatten)]
    request: BootRequest,

    #[command(flatten)]
    destination: Destination,
}

/// Boots the kernel; the terminal is its console.
pub(super) fn run(args: &BootArgs) -> Result<ExitCode> {
    let (request, output) = (&args.request, &args.destination.output);
    let mut machine = request.prepare().map_err(Usage::error)?;
    let mut watch = request.watch(&machine).map_err(Usage::error)?;
    let session =
        watch.is_profile().then(|| Session::open(&args.destination, host::here(), 0)).transpose()?;
    if session.is_none() && args.destination.is_given() {
        return Err(Usage::error(
            "--json, --out, --store and --no-save belong to a profile: add --profile or --core",
        ));
    }
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGHUP, SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&stop))?;
    }
    let terminal = Terminal::take()?;
    let input = plan::input(io::stdin())?;
    let stopped = || stop.load(Ordering::Relaxed);
    let (until, most) = (args.request.until().map_err(Usage::error)?, args.request.max_instructions);
    // With --json the record is all that standard output has.
    let console: Box<dyn Write> = if output.json { Box::new(io::stderr()) } else { Box::new(io::stdout()) };
    let mut console = Console::new(console, "the kernel runs", output.json || io::stdout().is_terminal());
    let outcome = watch.run(&mut machine, (most, until.as_ref()), &input, &mut console, &stopped);
    drop((terminal, console));
    let outcome = outcome?;
    if let Some(mut session) = session {
        session.run.results.extend(watch.result(request.asked()));
        session.run.complete = true;
        session.finish()?;
    }
    request.save_timeline(&watch).map_err(Usage::error)?.into_iter().for_each(say);
    if let Some(saved) = args.request.save(&mut machine, &outcome)? {
        say(saved);
        return Ok(ExitCode::SUCCESS);
    }
    say(outcome.verdict());
    Ok(if outcome.is_success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
