//! `tollgate riscv`: the bill of a trap, caches, and programs on the embedded machine. One file for each command.

mod core;
mod icache;
mod keep;
mod pipeline;
mod run;
mod trap;
mod workload;

use std::env;
use std::process::ExitCode;
use std::time::SystemTime;

use anyhow::Result;
use clap::{Args, Subcommand};
use tollgate_lab::diagram::text::Look;
use tollgate_lab::text;
use tollgate_measure::host;
use tollgate_record::{Measurement, Run, SCHEMA, Tool, store};
use tollgate_report::Style;

/// The bill of a trap, and programs on the embedded RISC-V machine
#[derive(Args)]
#[command(after_help = "Examples:\n  tollgate riscv trap\n  tollgate riscv trap --kernel all\n  \
                        tollgate riscv icache\n  tollgate riscv run program.elf --profile")]
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
}

/// Runs `tollgate riscv`.
pub(crate) fn run(args: &RiscvArgs) -> Result<ExitCode> {
    match &args.command {
        RiscvCommand::Trap(args) => trap::run(args),
        RiscvCommand::Pipeline(args) => pipeline::run(args),
        RiscvCommand::Icache(args) => icache::run(args),
        RiscvCommand::Run(args) => run::run(args),
    }
}

/// A saved run of this family that the report's own views do not show.
pub(crate) fn shown(run: &Run, style: &Style) -> Option<String> {
    text::is_stages(run).then(|| stages(run, style))
}

/// The stage diagrams of a run.
fn stages(run: &Run, style: &Style) -> String {
    text::stages(run, Look { width: style.width.min(200), unicode: style.unicode })
}

/// The run document around what a command of this family found.
fn document(results: Vec<Measurement>) -> Run {
    let now = SystemTime::now();
    Run {
        schema: SCHEMA.into(),
        checksum: None,
        id: store::new_id(now),
        started: store::rfc3339(now),
        // Nothing here is drawn at random.
        seed: 0,
        tool: Tool { version: env!("CARGO_PKG_VERSION").into(), commit: env!("TOLLGATE_COMMIT").into() },
        command: env::args().skip(1).collect(),
        complete: true,
        interleaved_with: None,
        host: host::here(),
        warnings: Vec::new(),
        results,
    }
}
