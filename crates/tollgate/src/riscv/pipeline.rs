//! `tollgate riscv pipeline`: the stage diagram of a stretch of a run.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use tollgate_lab::pipeline::Around;
use tollgate_lab::plan::{PipelinePlan, PipelineRequest};
use tollgate_measure::host;
use tollgate_report::export;

use crate::args::{Destination, Usage, one_of};
use crate::session::Session;

const HAZARDS: [(&str, Around, &str); 3] = [
    ("trap", Around::Trap, "A system call or a fault"),
    ("interrupt", Around::Interrupt, "The timer or another interrupt"),
    ("branch", Around::Branch, "A branch or jump that goes elsewhere than was fetched"),
];

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
    /// A bare ELF, or with --pk a static Linux program
    elf: Option<PathBuf>,

    /// Draw from the arrival at this symbol, or at an address like 0x80000120
    #[arg(long, value_name = "SYMBOL", conflicts_with = "around")]
    from: Option<String>,

    /// Draw around a hazard [default: trap]
    #[arg(long, value_parser = one_of(HAZARDS), value_name = "HAZARD")]
    around: Option<Around>,

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
    #[arg(long, value_parser = one_of(FORMATS.map(|(name, what)| (name, export::Format::named(name), what))), default_value = "text", conflicts_with = "json")]
    format: Exporter,

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
        around: match (&args.from, &args.around) {
            (Some(symbol), _) => Around::Symbol(symbol.clone()),
            (None, around) => around.clone().unwrap_or(Around::Trap),
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
    let Some(format) = args.format else { return session.finish() };
    session.finish_with(|run, sink| sink.deliver(&format.export(run)?.text))
}
