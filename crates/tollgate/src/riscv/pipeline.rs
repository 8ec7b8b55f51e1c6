//! `tollgate riscv pipeline`: the stage diagram of a stretch of a run.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, ValueEnum};
use tollgate_lab::pipeline::Around;
use tollgate_lab::plan::{PipelinePlan, PipelineRequest};
use tollgate_measure::host;
use tollgate_report::export;

use crate::args::{Destination, Usage};
use crate::session::Session;

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Hazard {
    /// A system call or a fault
    Trap,
    /// The timer or another interrupt
    Interrupt,
    /// A branch or jump that goes elsewhere than was fetched
    Branch,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Format {
    /// For the terminal
    Text,
    /// A picture
    Svg,
    /// A Kanata 0004 log, for Konata
    Kanata,
    /// gem5's O3PipeView trace
    O3pipeview,
}

impl Format {
    /// The exporter that writes it; `None` for the terminal.
    fn exported(self) -> Option<&'static export::Format> {
        export::Format::named(self.to_possible_value()?.get_name())
    }
}

/// `tollgate riscv pipeline`.
#[derive(Args)]
#[command(
    after_help = "Without ELF a bundled program is drawn: a system call on the kernel 'full' for traps and \
                  symbols, and for branches and interrupts a loop that the timer interrupts, with the latency \
                  at each of its cycles.\n\nExamples:\n  tollgate riscv pipeline\n  tollgate riscv pipeline --around interrupt \
                  --core ibex-like\n  tollgate riscv pipeline --from trap_vector --format svg --out trap.svg\n  \
                  tollgate riscv pipeline program.elf --around branch --nth 100 --format kanata --out p.kanata"
)]
pub(super) struct PipelineArgs {
    /// A bare ELF, or with --pk a static Linux program
    elf: Option<PathBuf>,

    /// Draw from the arrival at this symbol
    #[arg(long, value_name = "SYMBOL", conflicts_with = "around")]
    from: Option<String>,

    /// Draw around a hazard [default: trap]
    #[arg(long, value_enum, value_name = "HAZARD")]
    around: Option<Hazard>,

    /// Which one of its kind, from 1 [default: 1; a later one in the bundled programs, with warm caches]
    #[arg(long, value_name = "N")]
    nth: Option<u64>,

    /// Instructions to draw, thrown-away ones too
    #[arg(long, value_name = "N", default_value_t = 24)]
    count: usize,

    /// The core: a preset, or a file that ends in .toml
    #[arg(long, default_value = "ripes-5stage", value_name = "CORE")]
    core: String,

    /// How it is written
    #[arg(long, value_enum, default_value_t = Format::Text, conflicts_with = "json")]
    format: Format,

    /// The machine's instructions
    #[arg(long, default_value = "rv64gc", value_name = "ISA")]
    isa: String,

    /// Run the program on this proxy kernel (riscv-pk)
    #[arg(long, value_name = "PK", requires = "elf")]
    pk: Option<PathBuf>,

    /// Give up after so many instructions
    #[arg(long, default_value_t = 100_000_000, value_name = "N")]
    max_instructions: u64,

    #[command(flatten)]
    destination: Destination,
}

/// Draws what the command line asks for.
pub(super) fn run(args: &PipelineArgs) -> Result<ExitCode> {
    let plan = PipelinePlan::new(PipelineRequest {
        elf: args.elf.as_deref(),
        around: match (&args.from, args.around) {
            (Some(symbol), _) => Around::Symbol(symbol.clone()),
            (None, Some(Hazard::Interrupt)) => Around::Interrupt,
            (None, Some(Hazard::Branch)) => Around::Branch,
            (None, _) => Around::Trap,
        },
        nth: args.nth,
        count: args.count,
        core: &args.core,
        isa: &args.isa,
        pk: args.pk.as_deref(),
        max_instructions: args.max_instructions,
    })
    .map_err(Usage::error)?;
    let mut session = Session::open(&args.destination, host::here(), 0)?;
    session.run.results = plan.measure().map_err(Usage::error)?;
    session.run.complete = true;
    let Some(format) = args.format.exported() else { return session.finish() };
    session.finish_with(|run, sink| {
        sink.deliver(&format.export(run)?.text)?;
        Ok(ExitCode::SUCCESS)
    })
}
