//! `tollgate riscv`: the bill of a trap, caches, and programs on the embedded machine. One file for each command.

mod bill;
mod boot;
mod icache;
mod pipeline;
mod run;
mod trap;
mod validate;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, Subcommand};
use tollgate_lab::plan::PlanError;
use tollgate_lab::status::FAILED;
use tollgate_progress::ReaderGone;
use tollgate_record::text;

use crate::output::say;

/// The bill of a trap, and programs on the embedded RISC-V machine
#[derive(Args)]
#[command(after_help = "Examples:\n  tollgate riscv trap\n  tollgate riscv trap --kernel all\n  \
                        tollgate riscv icache\n  tollgate riscv profile program.elf --core rocket")]
pub(crate) struct RiscvArgs {
    #[command(subcommand)]
    command: RiscvCommand,
}

#[derive(Subcommand)]
enum RiscvCommand {
    /// The bill of a trap: what a system call costs, and where
    Trap(trap::TrapArgs),
    /// The stage diagram of a stretch of a run: hazards, traps, interrupts
    Pipeline(pipeline::PipelineArgs),
    /// What the C extension does for the instruction cache, on any program and cache
    Icache(icache::IcacheArgs),
    /// Run a bare ELF, or a static Linux program on the proxy kernel
    Run(run::RunArgs),
    /// Boot a real kernel: Linux, xv6, or your own
    Boot(boot::BootArgs),
    /// The bill of a real kernel: what system calls, faults and switches cost, by phase and function
    Bill(bill::BillArgs),
    /// Where the cycles of a whole program go on a core: by function and cause, and by who called whom
    Profile(run::ProfileArgs),
    /// How near the timed cores are to the RTL of real ones
    Validate(validate::ValidateArgs),
}

/// The end of a command that has the guest's status: errors are its own.
fn as_guest(done: Result<ExitCode>) -> Result<ExitCode> {
    done.or_else(|error| {
        if error.is::<ReaderGone>() {
            return Err(error);
        }
        say(format!("tollgate: {}", text::sentence(error.as_ref())));
        let status = error.root_cause().downcast_ref::<PlanError>().map_or(FAILED, PlanError::exit_status);
        Ok(ExitCode::from(status))
    })
}

/// Runs `tollgate riscv`.
pub(crate) fn run(args: &RiscvArgs) -> Result<ExitCode> {
    match &args.command {
        RiscvCommand::Trap(args) => trap::run(args),
        RiscvCommand::Pipeline(args) => pipeline::run(args),
        RiscvCommand::Icache(args) => icache::run(args),
        RiscvCommand::Run(args) => as_guest(run::run(args)),
        RiscvCommand::Boot(args) => as_guest(boot::run(args)),
        RiscvCommand::Bill(args) => bill::run(args),
        RiscvCommand::Profile(args) => as_guest(run::profile(args)),
        RiscvCommand::Validate(args) => validate::run(args),
    }
}
