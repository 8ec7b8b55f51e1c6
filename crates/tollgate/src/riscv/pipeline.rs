//! `tollgate riscv pipeline`: the stage diagram of a stretch of a run.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use tollgate_cores::Core;
use tollgate_lab::pipeline::{self, Around, MOST, PipelineError, Wanted};
use tollgate_lab::program::Job;
use tollgate_lab::{DESIGNS, Experiment, USUAL, latency, prepare, record};
use tollgate_measure::host;
use tollgate_record::Measurement;
use tollgate_report::export;
use tollgate_riscv::{ConfigError, Elf, MachineKind};

use super::options::{self, check_budget, isa, within};
use super::trap::Kernel;
use crate::args::{Destination, Usage, one_of};
use crate::session::Session;

/// The system call of the bundled program that is drawn: the caches are warm then.
const WARM: u64 = 10;
/// The jump that is drawn: a core that learns does not mispredict often.
const LEARNING: u64 = 3;
/// What errors call the program that is drawn without a file.
const BUNDLED: &str = "the bundled program";

/// The exporter that writes the diagram; `None` for the terminal.
type Exporter = Option<&'static export::Format>;

const FORMATS: [(&str, &str); 4] = [
    ("text", "For the terminal"),
    ("svg", "A picture"),
    ("kanata", "A Kanata 0004 log, for Konata"),
    ("o3pipeview", "gem5's O3PipeView trace"),
];

const HAZARDS: [(&str, Around, &str); 3] = [
    ("trap", Around::Trap, "A system call or a fault"),
    ("interrupt", Around::Interrupt, "The timer or another interrupt"),
    ("branch", Around::Branch, "A branch or jump that goes elsewhere than was fetched"),
];

/// `tollgate riscv pipeline`.
#[derive(Args)]
#[command(
    after_help = "Without PROGRAM a bundled program is drawn: a system call on the kernel 'full' for traps and \
                  symbols, and for branches and interrupts a loop that the timer interrupts, with the latency \
                  at each of its cycles.\n\nExamples:\n  tollgate riscv pipeline\n  tollgate riscv pipeline hello.s\n  tollgate riscv pipeline --around interrupt \
                  --core ibex\n  tollgate riscv pipeline --from trap_vector --format svg --out trap.svg\n  \
                  tollgate riscv pipeline program.elf --around branch --nth 100 --format kanata --out p.kanata"
)]
pub(super) struct PipelineArgs {
    /// A source that ends in .s, .S or .c, a bare ELF, or with --pk a static Linux program
    #[arg(value_name = "PROGRAM")]
    elf: Option<PathBuf>,

    /// Draw the bundled program's call on this design of a kernel, or on your own in a file
    #[arg(long, value_name = "K", conflicts_with = "elf")]
    kernel: Option<String>,

    /// Draw from the arrival at this symbol, or at an address like 0x80000120
    #[arg(long, visible_alias = "at", value_name = "SYMBOL", conflicts_with = "around")]
    from: Option<String>,

    /// Draw around a hazard [default: trap; from the entry of a program that has none]
    #[arg(long, value_parser = one_of(HAZARDS), value_name = "HAZARD")]
    around: Option<Around>,

    /// Which occurrence, from 1 [default: 1; in bundled programs one with warm caches]
    #[arg(long, value_name = "N")]
    nth: Option<u64>,

    /// Instructions to draw, with those that are flushed
    #[arg(long, value_name = "N", default_value_t = 24)]
    count: usize,

    /// The core: a preset, or a file that ends in .toml
    #[arg(long, default_value = "ripes-5stage", value_name = "CORE")]
    core: String,

    /// The instruction set
    #[arg(long, default_value = "rv64gc", value_name = "ISA")]
    isa: String,

    /// Memory map and devices: spike or virt [default: spike]
    #[arg(long, hide_short_help = true, value_name = "MACHINE", requires = "elf")]
    machine: Option<String>,

    /// Run the program on this proxy kernel (riscv-pk)
    #[arg(long, value_name = "PK", requires = "elf")]
    pk: Option<PathBuf>,

    /// Stop the program after N instructions
    #[arg(long, hide_short_help = true, default_value_t = 100_000_000, value_name = "N")]
    max_instructions: u64,

    /// The format
    #[arg(long, value_parser = one_of(FORMATS.map(|(name, what)| (name, export::Format::named(name), what))), default_value = "text", conflicts_with = "json")]
    format: Exporter,

    #[command(flatten)]
    destination: Destination,
}

/// Draws what the command line asks for.
pub(super) fn run(args: &PipelineArgs) -> Result<ExitCode> {
    let plan = PipelinePlan::new(args)?;
    let mut session = Session::open(&args.destination, host::here(), 0)?;
    session.run.results = plan.measure()?;
    session.run.complete = true;
    let Some(format) = args.format else { return session.finish() };
    session.finish_with(|run, sink| sink.deliver(format.export(run)?.bytes))
}

impl PipelineArgs {
    /// What the diagram begins with.
    fn place(&self) -> Around {
        match (&self.from, &self.around) {
            (Some(symbol), _) => Around::Symbol(symbol.clone()),
            (None, around) => around.clone().unwrap_or(Around::Trap),
        }
    }
}

/// A program, a core, and the stretch to draw.
#[derive(Debug)]
struct PipelinePlan {
    core: Core,
    wanted: Wanted,
    /// What is drawn of a program without a trap, if no hazard was asked for: its beginning.
    otherwise: Option<Wanted>,
    /// `None` measures the latency at every cycle of the bundled loop.
    job: Option<Job>,
    path: PathBuf,
    core_name: String,
}

impl PipelinePlan {
    /// Plans a args.
    fn new(args: &PipelineArgs) -> Result<Self, Usage> {
        within("--count", args.count as u64, "a number", 2..=MOST as u64)?;
        if args.nth == Some(0) {
            return Err(Usage::value("--nth", 0, "give a number from 1"));
        }
        let core = options::core(&args.core)?;
        let around = args.place();
        let every_cycle =
            args.elf.is_none() && args.kernel.is_none() && around == Around::Interrupt && args.nth.is_none();
        let job = if every_cycle { None } else { Some(job(args, &around)?) };
        let nth = match (&args.elf, &around) {
            (Some(_), _) => 1,
            (None, Around::Branch) => LEARNING,
            (None, _) => WARM,
        };
        let nth = args.nth.unwrap_or(nth);
        let is_asked = args.from.is_some() || args.around.is_some() || args.nth.is_some();
        // Of a program with our start-up code, what is its own.
        let begin = |job: &Job| job.program.main.or_else(|| Some(Elf::parse(&job.program.elf).ok()?.entry));
        let entry = job.as_ref().filter(|_| !is_asked).and_then(begin);
        let from =
            |entry| Wanted { around: Around::Symbol(format!("{entry:#x}")), nth: 1, count: args.count };
        Ok(Self {
            core,
            otherwise: entry.map(from),
            wanted: Wanted { around, nth, count: args.count },
            job,
            path: args.elf.clone().unwrap_or(BUNDLED.into()),
            core_name: args.core.clone(),
        })
    }

    /// Runs the program: the diagram, and with the bundled loop the latencies.
    fn measure(&self) -> Result<Vec<Measurement>, Usage> {
        let explain = |error: PipelineError| self.explain(&error);
        let Some(job) = &self.job else {
            let latency = latency::measure(&self.core, self.wanted.count).map_err(explain)?;
            let stages = record::stages(latency.view.clone(), &self.wanted, &self.core.name, "bundled");
            return Ok(vec![stages, record::latency(&latency, &self.core.name)]);
        };
        let mut wanted = &self.wanted;
        let mut view = pipeline::view(job, &self.core, wanted);
        // A program that was stopped may have a trap later.
        if let (Err(PipelineError::NotSeen { instructions, .. }), Some(otherwise)) = (&view, &self.otherwise)
            && *instructions < job.max_instructions
        {
            wanted = otherwise;
            view = pipeline::view(job, &self.core, wanted);
        }
        let view = view.map_err(explain)?;
        let program = match self.path.as_os_str() == BUNDLED {
            true => "bundled".into(),
            false => self.path.file_name().unwrap_or_default().to_string_lossy(),
        };
        Ok(vec![record::stages(view, wanted, &self.core.name, &program)])
    }

    /// The option or file that caused an error, and what to do.
    fn explain(&self, error: &PipelineError) -> Usage {
        let why = match error {
            PipelineError::Symbol { .. } => return Usage::option("--from", error),
            PipelineError::Core(_) => return Usage::value("--core", &self.core_name, error),
            PipelineError::NotSeen { seen: 0, .. } => {
                format!("{error}; choose another --around, or --from SYMBOL")
            }
            PipelineError::NotSeen { seen, .. } => format!("{error}; give --nth 1 to {seen}"),
            PipelineError::Program(error) => options::explained(error),
            _ => error.to_string(),
        };
        Usage::file(&self.path, why)
    }
}

fn job(args: &PipelineArgs, around: &Around) -> Result<Job, Usage> {
    check_budget(args.max_instructions)?;
    let mut isa = isa(&args.isa)?;
    let (program, name) = match &args.elf {
        Some(path) => (
            options::executable(path, &args.isa, isa, args.pk.is_some())?,
            path.to_string_lossy().into_owned(),
        ),
        None if args.kernel.is_none() && matches!(around, Around::Interrupt | Around::Branch) => {
            return Ok(latency::job());
        }
        None => {
            let name = args.kernel.as_deref().unwrap_or(DESIGNS[0].name);
            let kernel = Kernel::new(name, &USUAL[..1])?;
            let design = kernel.design();
            let iterations = args.nth.unwrap_or(WARM).saturating_add(10).min(100_000);
            let crossing = design.crossing.unwrap_or(USUAL[0]);
            let experiment = Experiment { design: &design, crossing, iterations };
            let image = prepare(&experiment).map_err(|error| Usage::file(Path::new(BUNDLED), error))?;
            isa = design.isa.parse().unwrap_or(isa);
            (image.into(), BUNDLED.to_owned())
        }
    };
    let machine = args.machine.as_deref().map_or(Ok(MachineKind::default()), str::parse);
    Ok(Job {
        isa,
        machine: machine.map_err(|error: ConfigError| Usage::option("--machine", error))?,
        ram_bytes: 128 << 20,
        program,
        proxy_kernel: args.pk.as_deref().map(options::program).transpose()?,
        arguments: vec![name],
        max_instructions: args.max_instructions,
        ..Job::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::riscv::options::parsed;

    fn plan(words: &[&str]) -> PipelinePlan {
        PipelinePlan::new(&parsed(words)).unwrap()
    }

    #[test]
    fn bundled_programs_are_drawn_when_they_are_warm() {
        assert_eq!(plan(&[]).wanted.nth, 10);
        assert_eq!(plan(&["--around", "branch"]).wanted.nth, 3);
        assert_eq!(plan(&["--nth", "5"]).wanted.nth, 5);
    }

    #[test]
    fn only_the_bundled_loop_without_a_number_is_measured_at_every_cycle() {
        assert!(plan(&["--around", "interrupt"]).job.is_none());
        assert!(plan(&["--around", "branch"]).job.is_some());
        assert!(plan(&["--around", "interrupt", "--nth", "2"]).job.is_some());
    }

    #[test]
    fn a_program_without_a_trap_is_drawn_from_its_entry_unless_a_trap_was_asked_for() {
        // It has interrupts, and no exception.
        let elf = concat!(env!("CARGO_MANIFEST_DIR"), "/../../guests/riscv/images/latency.elf");
        let drawn = plan(&[elf, "--count", "4"]).measure().unwrap();
        let text = serde_json::to_string(&drawn[0]).unwrap();
        assert!(text.contains("\"_start\""), "{text}");
        for words in [&["--around", "trap"][..], &["--nth", "1"], &["--max-instructions", "100"]] {
            let error = plan(&[&[elf], words].concat()).measure().unwrap_err().to_string();
            assert!(error.contains("0 of the 1"), "{error}");
        }
    }

    #[test]
    fn a_program_runs_on_the_machine_that_is_named() {
        let elf = concat!(env!("CARGO_MANIFEST_DIR"), "/../../guests/riscv/images/full.elf");
        let machine = |words: &[&str]| plan(&[&[elf], words].concat()).job.unwrap().machine;
        assert_eq!([machine(&[]), machine(&["--machine", "virt"])], [MachineKind::Spike, MachineKind::Virt]);
        let error = PipelinePlan::new(&parsed(&[elf, "--machine", "pc"])).unwrap_err().to_string();
        assert_eq!(error, "--machine: unknown machine \"pc\": spike or virt");
    }

    /// `virt` has RAM where QEMU's machine of that name has it.
    #[test]
    fn a_program_below_the_ram_of_virt_is_sent_to_the_other_machine() {
        let elf = concat!(env!("CARGO_MANIFEST_DIR"), "/../../guests/riscv/images/note-linux.elf");
        let error = plan(&[elf, "--machine", "virt"]).measure().unwrap_err().to_string();
        assert!(error.contains("linked at 0x10000, ") && error.contains("use --machine spike"), "{error}");
        assert!(error.ends_with("(-Wl,-Ttext-segment=0x80000000)"), "{error}");
    }

    #[test]
    fn errors_name_the_option_and_a_value_that_works() {
        let cases = [
            (["--count", "1"], "--count 1: give a number from 2 to 10000"),
            (["--nth", "0"], "--nth 0: give a number from 1"),
            (["--max-instructions", "0"], "--max-instructions 0: give at least 1"),
        ];
        for (words, expected) in cases {
            assert_eq!(PipelinePlan::new(&parsed(&words)).unwrap_err().to_string(), expected);
        }
        let misspelled = plan(&["--from", "trap_vectr"]).measure().unwrap_err().to_string();
        assert!(misspelled.starts_with("--from: ") && misspelled.contains("'trap_vector'"), "{misspelled}");
    }
}
