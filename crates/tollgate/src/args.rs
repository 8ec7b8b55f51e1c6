//! The options that several commands share, and their parsers.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use std::fmt::Display;
use std::path::{Path, PathBuf};
use tollgate_lab::status::FAILED;
use tollgate_measure::clock::Source;
use tollgate_measure::placement::{self, PlacementError};
use tollgate_measure::{Site, host};
use tollgate_record::Host;
use tollgate_record::host::Cpu;

/// The command line or an input file is wrong: exit status 2.
#[derive(Debug, thiserror::Error)]
#[error("{text}")]
pub(crate) struct Usage {
    pub(crate) text: String,
    /// The status of a command that otherwise ends with its guest's, as that of `env`: [`NOT_FOUND`], [`NOT_A_PROGRAM`], or
    /// [`FAILED`] for everything else.
    pub(crate) of_guest: u8,
}

pub(crate) const NOT_A_PROGRAM: u8 = 126;
pub(crate) const NOT_FOUND: u8 = 127;

impl Usage {
    /// An error that names a value that works.
    pub(crate) fn new(what: impl ToString) -> Self {
        Self { text: what.to_string(), of_guest: FAILED }
    }

    /// [`Usage::new`] as the error of a command.
    pub(crate) fn error(what: impl ToString) -> anyhow::Error {
        Self::new(what).into()
    }

    /// A value that does not work.
    pub(crate) fn value(option: &str, given: impl Display, why: impl Display) -> Self {
        Self::new(format!("{option} {given}: {why}"))
    }

    /// A value whose explanation repeats it.
    pub(crate) fn option(option: &str, why: impl Display) -> Self {
        Self::new(format!("{option}: {why}"))
    }

    /// A file that cannot be read or written.
    pub(crate) fn file(path: &Path, why: impl Display) -> Self {
        Self::new(format!("{}: {why}", path.display()))
    }

    /// The same where the file is not the guest's program.
    pub(crate) fn of_tollgate(self) -> Self {
        Self { of_guest: FAILED, ..self }
    }

    /// A file that is not a program which can be run.
    pub(crate) fn not_a_program(path: &Path, why: impl Display) -> Self {
        Self { of_guest: NOT_A_PROGRAM, ..Self::file(path, why) }
    }
}

/// A parser of one of these names; the help shows what each means.
pub(crate) fn one_of<T: Clone + Send + Sync + 'static>(
    names: impl Into<Vec<(&'static str, T, &'static str)>>,
) -> impl TypedValueParser<Value = T> {
    let names = names.into();
    let known: Vec<_> = names.iter().map(|(name, _, what)| PossibleValue::new(*name).help(*what)).collect();
    PossibleValuesParser::new(known).try_map(move |typed| {
        let found = names.iter().find(|(name, ..)| *name == typed);
        found.map(|(_, value, _)| value.clone()).ok_or("not one of the names")
    })
}

/// The heading of the options that commands share, in every help.
pub(crate) const COMMON: &str = "Common options";

/// The options of every measuring command.
#[derive(Args)]
#[command(next_help_heading = COMMON)]
pub(crate) struct Sampling {
    /// A rougher answer in about 5 seconds
    #[arg(long)]
    pub(crate) quick: bool,
    /// A finer answer in about 4 minutes
    #[arg(long, hide_short_help = true, conflicts_with = "quick")]
    pub(crate) thorough: bool,
    /// The CPU to measure on [default: the last one permitted]
    #[arg(long, value_name = "N", value_parser = cpu, allow_hyphen_values = true)]
    pub(crate) cpu: Option<usize>,
    /// The CPU of the other side in probes that need two [default: the nearest other core]
    #[arg(long, hide_short_help = true, value_name = "N", value_parser = cpu, allow_hyphen_values = true)]
    pub(crate) peer_cpu: Option<usize>,
    /// Seed of the order of the batches [default: a new one, which the record keeps]
    #[arg(long, hide_short_help = true, value_name = "N", value_parser = seed, allow_hyphen_values = true)]
    pub(crate) seed: Option<u64>,
    /// The clock that times the batches
    #[arg(long, hide_short_help = true, value_enum, default_value_t = ClockChoice::Auto)]
    pub(crate) clock: ClockChoice,
    #[command(flatten)]
    pub(crate) destination: Destination,
    /// Time for all batches, in milliseconds, in place of what --quick or --thorough gives
    #[arg(long, hide = true, value_name = "N")]
    pub(crate) budget_ms: Option<u32>,
    /// A worker that is silent for this many milliseconds counts as hung
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

    /// The longest silence of a worker.
    pub(crate) fn patience_ms(&self) -> i32 {
        self.patience_ms.try_into().unwrap_or(i32::MAX)
    }

    /// The seed that was given, or a new one.
    pub(crate) fn seed(&self) -> u64 {
        self.seed.unwrap_or_else(|| rand::random::<u32>().into())
    }
}

/// The options for printing and saving a run.
#[derive(Args)]
#[command(next_help_heading = COMMON)]
pub(crate) struct Destination {
    #[command(flatten)]
    pub(crate) output: Output,
    #[command(flatten)]
    pub(crate) detail: Detail,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
    /// Do not save the run
    #[arg(long, conflicts_with = "store")]
    pub(crate) no_save: bool,
}

impl Destination {
    /// Whether one of its options is given.
    pub(crate) fn is_given(&self) -> bool {
        self.output.json || self.output.out.is_some() || self.no_save || self.store.store.is_some()
    }
}

/// The rows and warnings that are printed. The record has all of them.
#[derive(Args, Clone, Copy, Default)]
#[command(next_help_heading = COMMON)]
pub(crate) struct Detail {
    /// Print every warning, and why rows are missing
    #[arg(long, hide_short_help = true)]
    pub(crate) warnings: bool,
    /// Print the folded rows, too: those of emulators, and figures of others
    #[arg(long, hide_short_help = true)]
    pub(crate) all: bool,
}

/// The options for the format and the destination of a result.
#[derive(Args, Clone, Default)]
#[command(next_help_heading = COMMON)]
pub(crate) struct Output {
    /// Print one JSON document instead of text
    #[arg(long)]
    pub(crate) json: bool,
    /// Print Markdown, for an issue or a pull request
    #[arg(long, hide_short_help = true, conflicts_with = "json")]
    pub(crate) markdown: bool,
    /// Write the result to a file instead of printing it
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}

/// The option that names the store.
#[derive(Args)]
#[command(next_help_heading = COMMON)]
pub(crate) struct StoreArgs {
    /// Directory of saved runs [default: tollgate in the XDG data directory]
    #[arg(long, hide_short_help = true, value_name = "DIR")]
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

/// The CPUs to measure on. An error names the wrong option.
pub(crate) fn site(known: &Cpu, cpu: Option<usize>, peer: Option<usize>) -> anyhow::Result<Site> {
    let named = |option: &str, error: PlacementError| Usage::error(format!("{option}: {error}"));
    placement::choose(known, cpu, None).map_err(|error| named("--cpu", error))?;
    placement::choose(known, cpu, peer).map_err(|error| named("--peer-cpu", error))
}

pub(crate) fn cpu(text: &str) -> Result<usize, String> {
    text.parse().map_err(|_| "a CPU is a whole number from 0, for example 0".into())
}

fn seed(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("a seed is a whole number from 0 to {}, for example 42", u64::MAX))
}
