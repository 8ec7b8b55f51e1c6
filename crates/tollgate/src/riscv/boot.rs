//! `tollgate riscv boot`: a real kernel on the embedded machine.

use std::io;
use std::path::PathBuf;
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
                        tollgate riscv boot --kernel xv6/kernel/kernel --drive xv6/fs.img --memory 128"
)]
pub(super) struct BootArgs {
    /// The kernel: Linux's Image, a vmlinux, or another ELF
    #[arg(long, value_name = "FILE")]
    kernel: PathBuf,
    /// The initial RAM disk
    #[arg(long, value_name = "FILE")]
    initrd: Option<PathBuf>,
    /// A virtio drive; what the kernel writes to it stays in memory, the file is only read
    #[arg(long, value_name = "FILE")]
    drive: Option<PathBuf>,
    /// The firmware: sbi (built in), none, or a file [default: none if the kernel is where firmware would be, else sbi]
    #[arg(long, value_name = "FIRMWARE")]
    bios: Option<PathBuf>,
    /// The kernel's command line
    #[arg(long, default_value = "", hide_default_value = true, value_name = "TEXT")]
    append: String,
    /// The machine's instructions
    #[arg(long, default_value = plan::BOOT_ISA, value_name = "ISA")]
    isa: String,
    /// How many harts, 1 to 8; they take turns of 10,000 instructions
    #[arg(long, default_value_t = 1, value_name = "N")]
    harts: u64,
    /// RAM in MiB
    #[arg(long, default_value_t = 512, value_name = "MIB")]
    memory: u64,
    /// Stop a kernel that has not ended after so many instructions
    #[arg(long, default_value_t = 100_000_000_000, value_name = "N")]
    max_instructions: u64,
}

/// Boots the kernel; the terminal is its console.
pub(super) fn run(args: &BootArgs) -> Result<ExitCode> {
    let BootArgs { kernel, initrd, drive, bios, append, isa, harts, memory, max_instructions } = args;
    let (initrd, drive, bios) = (initrd.as_deref(), drive.as_deref(), bios.as_deref());
    let (harts, memory, max_instructions) = (*harts, *memory, *max_instructions);
    let request = BootRequest { kernel, initrd, drive, bios, append, isa, harts, memory, max_instructions };
    let mut machine = request.prepare().map_err(Usage::error)?;
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGHUP, SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&stop))?;
    }
    let terminal = Terminal::take()?;
    let input = plan::input(io::stdin())?;
    let stopped = || stop.load(Ordering::Relaxed);
    let outcome = boot::run(&mut machine, max_instructions, &input, &mut io::stdout(), &stopped);
    drop(terminal);
    let outcome = outcome?;
    say(outcome.verdict());
    Ok(if outcome.is_success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
