//! The command line.

use crate::sampled::List;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;
use tollgate_measure::clock::Source;
use tollgate_measure::placement::{self, PlacementError};
use tollgate_measure::{Site, host};
use tollgate_record::Host;
use tollgate_record::host::Cpu;
use tollgate_record::text::nearest;

/// The command line or an input file is wrong: exit status 2.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Usage(String);

impl Usage {
    /// An error of the command line from whatever says what is wrong with it.
    pub(crate) fn error(what: impl ToString) -> anyhow::Error {
        Self(what.to_string()).into()
    }
}

#[derive(Parser)]
#[command(
    version,
    max_term_width = 80,
    about = "Measures and explains what it costs to cross an execution boundary",
    long_about = "Measures and explains what it costs to cross an execution boundary: a call, a fiber \
                  switch, a system call, a fault, a signal, a thread or process switch, a wake-up on \
                  another core, a VM exit.\n\nWithout a command it measures every boundary of this machine \
                  and prints one table.",
    after_help = "Exit status: 0 done; 1 something that was asked for failed, or the run could not be saved; \
                  2 the command line or an input file is wrong, or nothing can be saved in --store DIR.\n\nExamples:\n  tollgate --quick\n  tollgate run 'thread/*' --cpu 0\n  \
                  tollgate --json --quick > run.json",
    args_conflicts_with_subcommands = true
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    #[command(flatten)]
    pub(crate) ladder: Sampling,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Measure some of the probes
    Run(RunArgs),
    /// Context switches around a ring of tasks, over sizes and process counts, each taken apart
    Ring(crate::ring::Args),
    /// What lmbench's lat_ctx prints, called as it is called
    #[command(name = "lat_ctx")]
    LatCtx(crate::lat_ctx::Args),
    /// The user/kernel crossing taken apart: system call, page fault, signal
    Crossing(crate::crossing::Args),
    /// Page faults: what each kind costs, and a scan of a file that does not fit into memory
    Fault(crate::fault::Args),
    /// Fibers, coroutines and threads of other runtimes in one table, and how they grow
    Switch(crate::switch::Args),
    /// List every probe, and whether it can run here
    List(ListArgs),
    /// What on this host spoils a measurement, and what would mend it (changes nothing)
    Doctor(DoctorArgs),
    /// List the saved runs
    Runs(RunsArgs),
    /// Print a saved run
    Show(ShowArgs),
    /// Saved runs as one HTML page that needs nothing else
    Report(crate::report::Args),
    /// The saved runs of this host over time, and where a probe's figure changed
    History(crate::history::Args),
    /// What this program's worker understands
    #[command(hide = true)]
    Protocol,
    /// Compare runs: better, worse, same, or too noisy to tell
    Compare(crate::compare::Args),
    /// A saved run in another tool's format: CSV, benchstat, OpenMetrics, a trace and others
    Export(crate::export::Args),
    /// Another tool's results (lmbench, perf bench, hyperfine) as a run beside our own
    Import(crate::import::Args),
    /// The bill of a trap, and programs, on a RISC-V machine in which every instruction is seen
    Riscv(crate::riscv::RiscvArgs),
    /// What a shell needs to complete this command line
    Completions(crate::completions::Args),
    /// The manual pages
    Man(crate::man::Args),
    /// The examples of every help as JSON
    #[command(hide = true)]
    Examples,
    /// Answers the requests of the process that started it
    #[command(hide = true)]
    Worker(WorkerArgs),
}

#[derive(Args)]
#[command(
    after_help = "Examples:\n  tollgate run 'thread/*'\n  tollgate run syscall fault/anonymous --quick\n  \
                  tollgate run syscall --against ./tollgate-before --fail-above 5%\n  \
                  tollgate run call --against-with 'setarch -R' --explain"
)]
pub(crate) struct RunArgs {
    /// Probes by name ('thread/futex'), family ('thread') or pattern ('*/pipe'); all when none is given
    #[arg(value_name = "PATTERN")]
    pub(crate) patterns: Vec<String>,
    #[command(flatten)]
    pub(crate) baseline: crate::against::Baseline,
    #[command(flatten)]
    pub(crate) judging: crate::compare::Judging,
    #[command(flatten)]
    pub(crate) sampling: Sampling,
}

/// What every measuring command takes.
#[derive(Args)]
pub(crate) struct Sampling {
    /// A rougher answer, in about 5 seconds
    #[arg(long)]
    pub(crate) quick: bool,
    /// A finer answer in about 4 minutes
    #[arg(long, conflicts_with = "quick")]
    pub(crate) thorough: bool,
    /// The CPU to measure on [default: the highest-numbered that may be used]
    #[arg(long, value_name = "N", value_parser = cpu, allow_hyphen_values = true)]
    pub(crate) cpu: Option<usize>,
    /// The CPU of the other side in probes that need two [default: the nearest other core]
    #[arg(long, value_name = "N", value_parser = cpu, allow_hyphen_values = true)]
    pub(crate) peer_cpu: Option<usize>,
    /// Seed of the order in which batches are made [default: a new one, which the record keeps]
    #[arg(long, value_name = "N", value_parser = seed, allow_hyphen_values = true)]
    pub(crate) seed: Option<u64>,
    /// The clock that times
    #[arg(long, value_enum, default_value_t = ClockChoice::Auto)]
    pub(crate) clock: ClockChoice,
    #[command(flatten)]
    pub(crate) destination: Destination,
    /// Time for all batches, in milliseconds, in place of what --quick or --thorough gives
    #[arg(long, hide = true, value_name = "N")]
    pub(crate) budget_ms: Option<u32>,
    /// A worker that is silent for so many milliseconds is taken for hung
    #[arg(long, hide = true, value_name = "N", default_value_t = 10_000)]
    pub(crate) patience_ms: u32,
}

impl Sampling {
    /// The host, and where on it is measured.
    pub(crate) fn place(&self) -> anyhow::Result<(Host, Site)> {
        let mut facts = host::here();
        let site = site(&facts.cpu, self.cpu, self.peer_cpu)?;
        host::place("/".as_ref(), &mut facts, site.cpu, site.peer);
        Ok((facts, site))
    }

    /// How long a worker may be silent.
    pub(crate) fn patience_ms(&self) -> i32 {
        self.patience_ms.try_into().unwrap_or(i32::MAX)
    }

    /// The seed that was given, or a new one.
    pub(crate) fn seed(&self) -> u64 {
        self.seed.unwrap_or_else(|| rand::random::<u32>().into())
    }
}

/// Where a run is printed and saved.
#[derive(Args)]
pub(crate) struct Destination {
    #[command(flatten)]
    pub(crate) output: Output,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
    /// Do not save the run
    #[arg(long, conflicts_with = "store")]
    pub(crate) no_save: bool,
}

/// How and where results are printed.
#[derive(Args)]
pub(crate) struct Output {
    /// Print one JSON document instead of text
    #[arg(long)]
    pub(crate) json: bool,
    /// Write what would be printed to a file
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}

/// Where runs are kept.
#[derive(Args)]
pub(crate) struct StoreArgs {
    /// Directory of saved runs [default: tollgate in the XDG data directory]
    #[arg(long, value_name = "DIR")]
    pub(crate) store: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
pub(crate) enum ClockChoice {
    /// The best that this machine has
    Auto,
    /// The processor's time-stamp counter
    #[value(alias = "counter")]
    Tsc,
    /// CLOCK_MONOTONIC_RAW
    Os,
}

impl ClockChoice {
    pub(crate) fn source(self) -> Source {
        match self {
            Self::Auto => Source::best(),
            Self::Tsc => Source::Counter,
            Self::Os => Source::Os,
        }
    }

    pub(crate) fn of(source: Source) -> &'static str {
        match source {
            Source::Counter => "tsc",
            Source::Os => "os",
        }
    }
}

#[derive(Args)]
#[command(after_help = "Example:\n  tollgate list --why")]
pub(crate) struct ListArgs {
    /// Say why a probe cannot run here, and what would enable it
    #[arg(long)]
    pub(crate) why: bool,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Args)]
#[command(after_help = "Example:\n  tollgate doctor")]
pub(crate) struct DoctorArgs {
    /// The CPU that would be measured on
    #[arg(long, value_name = "N", value_parser = cpu, allow_hyphen_values = true)]
    pub(crate) cpu: Option<usize>,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Args)]
#[command(after_help = "Example:\n  tollgate runs")]
pub(crate) struct RunsArgs {
    #[command(flatten)]
    pub(crate) output: Output,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

#[derive(Args)]
#[command(
    after_help = "Examples:\n  tollgate show latest\n  tollgate show 01M7WS4P --json\n  tollgate show ./run.json"
)]
pub(crate) struct ShowArgs {
    /// A run's id, the beginning of one, 'latest', or the path of a record
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    #[command(flatten)]
    pub(crate) output: Output,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

#[derive(Args)]
pub(crate) struct WorkerArgs {
    /// Process that started this one
    #[arg(long)]
    pub(crate) parent: u32,
    /// The measured CPU
    #[arg(long)]
    pub(crate) cpu: usize,
    /// The CPU of the other side
    #[arg(long)]
    pub(crate) peer: Option<usize>,
    /// The clock that times
    #[arg(long, value_enum)]
    pub(crate) clock: ClockChoice,
    /// Rings to measure instead of the listed probes, as JSON
    #[arg(long)]
    pub(crate) rings: Option<String>,
    /// Which list the numbers of probes mean
    #[arg(long, value_enum, conflicts_with = "rings", default_value_t = List::Ladder)]
    pub(crate) list: List,
}

/// The error of a wrong command line, with the name that was most likely meant and a tip where clap has none.
pub(crate) fn improved(mut error: clap::Error) -> clap::Error {
    let Some(ContextValue::String(name)) = error.get(ContextKind::InvalidSubcommand).cloned() else {
        return error;
    };
    let tip = if error.kind() == ErrorKind::ArgumentConflict {
        Some("options come after the command: tollgate run null --quick".into())
    } else if tollgate_boundary::select(std::slice::from_ref(&name)).is_ok() {
        Some(format!("'{name}' names probes; to measure them: tollgate run '{name}'"))
    } else {
        None
    };
    if error.kind() == ErrorKind::InvalidSubcommand {
        let known = siblings(std::env::args().take_while(|word| *word != name));
        let meant = nearest(&name, known.iter().map(String::as_str));
        let meant = meant.map_or(ContextValue::None, |meant| ContextValue::Strings(vec![meant.into()]));
        error.insert(ContextKind::SuggestedSubcommand, meant);
    }
    if let Some(tip) = tip {
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
    error
}

/// The commands among which the one after these words is.
fn siblings(words: impl Iterator<Item = String>) -> Vec<String> {
    let mut parent = Cli::command();
    for word in words {
        if let Some(command) = parent.find_subcommand(&word) {
            parent = command.clone();
        }
    }
    let known = parent.get_subcommands().filter(|command| !command.is_hide_set());
    known.map(|command| command.get_name().to_owned()).collect()
}

/// Where to measure. An error names the option that is wrong.
pub(crate) fn site(known: &Cpu, cpu: Option<usize>, peer: Option<usize>) -> anyhow::Result<Site> {
    let named = |option: &str, error: PlacementError| Usage::error(format!("{option}: {error}"));
    placement::choose(known, cpu, None).map_err(|error| named("--cpu", error))?;
    placement::choose(known, cpu, peer).map_err(|error| named("--peer-cpu", error))
}

fn cpu(text: &str) -> Result<usize, String> {
    text.parse().map_err(|_| "a CPU is a whole number from 0, for example 0".into())
}

fn seed(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("a seed is a whole number from 0 to {}, for example 42", u64::MAX))
}

#[cfg(test)]
mod tests;
