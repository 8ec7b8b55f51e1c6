//! `tollgate riscv pipeline`: the stage diagram of a stretch of a run.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, ValueEnum};
use tollgate_lab::latency;
use tollgate_lab::pipeline::{self, Around, MOST, PipelineError, Wanted};
use tollgate_lab::program::Job;
use tollgate_lab::{Crossing, Design, Experiment, prepare, record};
use tollgate_report::export;

use super::session::open;
use crate::args::{Destination, Usage};

/// The call that is drawn of the bundled program: its caches are warm then.
const WARM: u64 = 10;
/// The jump that is drawn: a core that learns does not go wrong often.
const LEARNING: u64 = 3;

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
    if !(2..=MOST).contains(&args.count) {
        return Err(Usage::error(format!("--count {}: give a number from 2 to {MOST}", args.count)));
    }
    if args.nth == Some(0) {
        return Err(Usage::error("--nth 0: they are counted from 1"));
    }
    let core = super::core::read(&args.core)?;
    let around = match (&args.from, args.around) {
        (Some(symbol), _) => Around::Symbol(symbol.clone()),
        (None, Some(Hazard::Interrupt)) => Around::Interrupt,
        (None, Some(Hazard::Branch)) => Around::Branch,
        (None, _) => Around::Trap,
    };
    let bundled = if around == Around::Branch { LEARNING } else { WARM };
    let nth = args.nth.unwrap_or(if args.elf.is_none() { bundled } else { 1 });
    let wanted = Wanted { around, nth, count: args.count };
    let mut session = open(&args.destination)?;
    let (view, latency) = if args.elf.is_none() && wanted.around == Around::Interrupt && args.nth.is_none() {
        let latency = latency::measure(&core, args.count).map_err(|error| explained(args, &error))?;
        (latency.view.clone(), Some(latency))
    } else {
        let view =
            pipeline::view(&job(args, &wanted.around)?, &core, &wanted).map_err(|e| explained(args, &e))?;
        (view, None)
    };
    let program = args.elf.as_deref().and_then(Path::file_name).map(|name| name.to_string_lossy());
    let program = program.as_deref().unwrap_or("bundled");
    session.run.results.push(record::stages(view, &wanted, &core.name, program));
    session.run.results.extend(latency.map(|latency| record::latency(&latency, &core.name)));
    session.run.complete = true;
    let Some(format) = args.format.exported() else { return session.finish() };
    session.finish_with(|run, sink| {
        sink.deliver(&format.export(run)?.text)?;
        Ok(ExitCode::SUCCESS)
    })
}

/// Which option is wrong, and what to do.
fn explained(args: &PipelineArgs, error: &PipelineError) -> anyhow::Error {
    let program = args.elf.as_deref().unwrap_or(Path::new("the bundled program")).display();
    Usage::error(match error {
        PipelineError::Symbol { .. } => format!("--from: {error}"),
        PipelineError::Core(_) => format!("--core {}: {error}", args.core),
        PipelineError::NotSeen { seen: 0, .. } => {
            format!("{program}: {error}; choose another --around, or --from SYMBOL")
        }
        PipelineError::NotSeen { seen, .. } => format!("{program}: {error}; give --nth 1 to {seen}"),
        _ => format!("{program}: {error}"),
    })
}

fn job(args: &PipelineArgs, around: &Around) -> Result<Job> {
    let read = |path: &Path| fs::read(path).map_err(|e| Usage::error(format!("{}: {e}", path.display())));
    if args.max_instructions == 0 {
        return Err(Usage::error("--max-instructions 0: give at least 1"));
    }
    let isa = args.isa.parse().map_err(|e| Usage::error(format!("--isa: {e}")))?;
    if args.elf.is_none() && matches!(around, Around::Interrupt | Around::Branch) {
        return Ok(latency::job(0));
    }
    let (program, name) = match &args.elf {
        Some(path) => (read(path)?, path.to_string_lossy().into_owned()),
        None => {
            let design = Design::find("full").unwrap_or(&tollgate_lab::DESIGNS[0]);
            let crossing = Crossing::parse("getpid")?;
            let iterations = args.nth.unwrap_or(WARM).saturating_add(10).min(100_000);
            (prepare(&Experiment { design, crossing, iterations })?, "the bundled program".to_owned())
        }
    };
    Ok(Job {
        isa,
        machine: "spike".parse()?,
        ram_bytes: 128 << 20,
        bootargs: String::new(),
        program,
        proxy_kernel: args.pk.as_deref().map(read).transpose()?,
        arguments: vec![name],
        files: Vec::new(),
        max_instructions: args.max_instructions,
    })
}
