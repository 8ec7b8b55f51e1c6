//! `tollgate riscv boot`: a real kernel on the embedded machine.

use std::io;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Result;
use clap::Args;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use tollgate_lab::boot::{self, Terminal};
use tollgate_lab::plan::{self, BootRequest};

use crate::args::Usage;
use crate::output::say;

/// `tollgate riscv boot`.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  tollgate riscv boot --kernel Image --initrd initrd.cpio --append console=ttyS0\n  \
                        tollgate riscv boot --kernel xv6/kernel/kernel --drive xv6/fs.img --memory 128\n  \
                        tollgate riscv boot --kernel Image --initrd initrd.cpio --append console=ttyS0 --save-at '# ' shell.snap\n  \
                        tollgate riscv boot --from shell.snap"
)]
pub(super) struct BootArgs {
    #[command(flatten)]
    request: BootRequest,
}

/// Boots the kernel; the terminal is its console.
pub(super) fn run(args: &BootArgs) -> Result<ExitCode> {
    let mut machine = args.request.prepare().map_err(Usage::error)?;
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGHUP, SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&stop))?;
    }
    let terminal = Terminal::take()?;
    let input = plan::input(io::stdin())?;
    let stopped = || stop.load(Ordering::Relaxed);
    let (until, most) = (args.request.until().map_err(Usage::error)?, args.request.max_instructions);
    let outcome = boot::run(&mut machine, most, until.as_ref(), &input, &mut io::stdout(), &stopped);
    drop(terminal);
    let outcome = outcome?;
    if let Some(saved) = args.request.save(&mut machine, &outcome)? {
        say(saved);
        return Ok(ExitCode::SUCCESS);
    }
    say(outcome.verdict());
    Ok(if outcome.is_success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
