//! `tollgate riscv pipeline`: the stage diagram of a stretch of a run.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use tollgate_lab::plan::{PipelinePlan, PipelineRequest, one_of};
use tollgate_measure::host;
use tollgate_report::export;

use crate::args::{Destination, Usage};
use crate::session::Session;

/// The exporter that writes the diagram; `None` for the terminal.
type Exporter = Option<&'static export::Format>;

const FORMATS: [(&str, &str); 4] = [
    ("text", "For the terminal"),
    ("svg", "A picture"),
    ("kanata", "A Kanata 0004 log, for Konata"),
    ("o3pipeview", "gem5's O3PipeView trace"),
];

/// `tollgate riscv pipeline`.
#[derive(Args)]
#[command(
    after_help = "Without ELF a bundled program is drawn: a system call on the kernel 'full' for traps and \
                  symbols, and for branches and interrupts a loop that the timer interrupts, with the latency \
                  at each of its cycles.\n\nExamples:\n  tollgate riscv pipeline\n  tollgate riscv pipeline --around interrupt \
                  --core ibex\n  tollgate riscv pipeline --from trap_vector --format svg --out trap.svg\n  \
                  tollgate riscv pipeline program.elf --around branch --nth 100 --format kanata --out p.kanata"
)]
pub(super) struct PipelineArgs {
    #[command(flatten)]
    request: PipelineRequest,

    /// How it is written
    #[arg(long, value_parser = one_of(FORMATS.map(|(name, what)| (name, export::Format::named(name), what))), default_value = "text", conflicts_with = "json")]
    format: Exporter,

    #[command(flatten)]
    destination: Destination,
}

/// Draws what the command line asks for.
pub(super) fn run(args: &PipelineArgs) -> Result<ExitCode> {
    let plan = PipelinePlan::new(&args.request).map_err(Usage::error)?;
    let mut session = Session::open(&args.destination, host::here(), 0)?;
    session.run.results = plan.measure().map_err(Usage::error)?;
    session.run.complete = true;
    let Some(format) = args.format else { return session.finish() };
    session.finish_with(|run, sink| sink.deliver(format.export(run)?.bytes))
}
