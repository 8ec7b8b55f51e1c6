//! `tollgate riscv`: the bill of a trap, caches, and programs on the embedded machine. One file for each command.

mod bill;
mod boot;
mod exec;
mod icache;
mod options;
mod pipeline;
mod run;
mod trap;
mod validate;
mod workload;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, Subcommand};
use tollgate_lab::status::FAILED;
use tollgate_progress::ReaderGone;
use tollgate_record::text;

use crate::args::Usage;
use crate::output::say;

/// The bill of a trap, and programs on the embedded RISC-V machine
#[derive(Args)]
#[command(after_help = "Examples:\n  tollgate riscv trap\n  tollgate riscv trap --kernel all\n  \
                        tollgate riscv icache\n  tollgate riscv run hello.s --core rocket")]
pub(crate) struct RiscvArgs {
    #[command(subcommand)]
    command: RiscvCommand,
}

#[derive(Subcommand)]
enum RiscvCommand {
    /// The bill of a trap: what a system call costs, and where
    Trap(trap::TrapArgs),
    /// The stage diagram of a hazard, a trap or an interrupt
    Pipeline(pipeline::PipelineArgs),
    /// Instruction-cache misses with and without the C extension
    Icache(icache::IcacheArgs),
    /// Run a program; with --core profile its cycles
    Run(run::RunArgs),
    /// Boot a real kernel: Linux, xv6, or your own
    Boot(boot::BootArgs),
    /// Run a Linux program inside a kernel; the bill of both, exact
    Exec(exec::ExecArgs),
    /// The bill of a real kernel's system calls, faults and switches
    Bill(bill::BillArgs),
    /// Compare the timed cores with the RTL of real ones
    Validate(validate::ValidateArgs),
}

/// The end of a command that has the guest's status: errors are its own.
fn as_guest(done: Result<ExitCode>) -> Result<ExitCode> {
    done.or_else(|error| {
        if error.is::<ReaderGone>() {
            return Err(error);
        }
        say(format!("tollgate: {}", text::sentence(error.as_ref())));
        let status = error.root_cause().downcast_ref::<Usage>().map_or(FAILED, |usage| usage.of_guest);
        Ok(ExitCode::from(status))
    })
}

/// Runs `tollgate riscv`.
pub(crate) fn run(args: RiscvArgs) -> Result<ExitCode> {
    match args.command {
        RiscvCommand::Trap(args) => trap::run(&args),
        RiscvCommand::Pipeline(args) => pipeline::run(&args),
        RiscvCommand::Icache(args) => icache::run(&args),
        RiscvCommand::Run(args) => as_guest(run::run(args)),
        RiscvCommand::Boot(args) => as_guest(boot::run(&args)),
        RiscvCommand::Exec(args) => as_guest(exec::run(&args)),
        RiscvCommand::Bill(args) => bill::run(&args),
        RiscvCommand::Validate(args) => validate::run(&args),
    }
}
