//! What a format is, and the rows of a run as every format needs them: each with a name of its own, and its figures
//! with units.

use crate::namesakes::Namesakes;
use std::collections::{BTreeMap, BTreeSet};
use tollgate_record::text::printable;
use tollgate_record::{EpochFigure, Estimate, Measurement, Phase, Run, Status, warning};

/// Only rows that the format cannot hold are in [`Exported::left_out`].
type Write = fn(&Run, &[ExportRow<'_>]) -> Result<Exported, ExportError>;

/// Another tool's format.
pub struct Format {
    /// What it is called on the command line.
    pub name: &'static str,
    /// How the name of a file of it usually ends.
    pub extension: &'static str,
    /// What reads it.
    pub what: &'static str,
    pub(super) write: Write,
}

pub(super) const fn format(
    name: &'static str,
    extension: &'static str,
    what: &'static str,
    write: Write,
) -> Format {
    Format { name, extension, what, write }
}

/// A run as another tool's file.
#[derive(Debug)]
pub struct Exported {
    /// The file; a text ends with a newline.
    pub bytes: Vec<u8>,
    /// Measured rows that the format cannot hold, each with the reason. Rows that were skipped or failed are
    /// not among them.
    pub left_out: Vec<(String, String)>,
}

impl Exported {
    pub(super) fn new(text: String, left_out: Vec<(String, String)>) -> Self {
        Self { bytes: text.into_bytes(), left_out }
    }

    /// The file as text; empty if it is not text.
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.bytes).unwrap_or_default()
    }
}

impl From<String> for Exported {
    fn from(text: String) -> Self {
        Self::new(text, Vec::new())
    }
}

/// Why a run cannot be written in a format.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExportError {
    /// Nothing in the run suits the format, and a file without anything would not be read.
    #[error("the run has nothing for the format {0}: {1}")]
    Nothing(&'static str, &'static str),
    /// A writer that failed; nothing is known to make it.
    #[error("the run cannot be written as {0}: {1}")]
    Unwritable(&'static str, String),
}

pub(super) fn json(value: &serde_json::Value) -> String {
    format!("{value:#}\n")
}

/// A number that reads back as itself, without a fraction where there is none.
pub(super) fn number(x: f64) -> String {
    let text = format!("{x:?}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

/// No name is longer, in characters: services that keep names have limits.
const MOST: usize = 200;

/// Engines whose counts are exact: the same program gives the same count.
const EXACT: [&str; 3] = ["embedded", "spike", "qemu"];

pub(super) struct ExportRow<'a> {
    pub(super) result: &'a Measurement,
    /// The probe, then each parameter that tells it from its namesakes (`/size=4096`), then the engine unless it
    /// is this host (`@embedded`). Printable, and no two rows have the same.
    pub(super) name: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Unit {
    Nanoseconds,
    Cycles,
    Ticks,
    Instructions,
}

impl Unit {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Nanoseconds => "ns",
            Self::Cycles => "cycles",
            Self::Ticks => "ticks",
            Self::Instructions => "instructions",
        }
    }
}

pub(super) struct ExportFigure {
    pub(super) unit: Unit,
    pub(super) value: f64,
    /// The distribution of the samples, where it is known.
    pub(super) samples: Option<Estimate>,
}

impl ExportFigure {
    fn of(unit: Unit, estimate: Option<Estimate>) -> Option<Self> {
        estimate.map(|it| Self { unit, value: it.estimate, samples: Some(it) })
    }

    fn instructions(value: f64) -> Self {
        Self { unit: Unit::Instructions, value, samples: None }
    }

    pub(super) fn of_phase(phase: &Phase) -> impl Iterator<Item = Self> {
        let instructions = phase.instructions.map(Self::instructions);
        [Self::of(Unit::Nanoseconds, phase.ns), Self::of(Unit::Cycles, phase.cycles), instructions]
            .into_iter()
            .flatten()
    }

    /// The 95 % interval, where there is one.
    pub(super) fn interval(&self) -> Option<[f64; 2]> {
        self.samples.filter(Estimate::is_measured).map(|estimate| estimate.ci)
    }
}

impl ExportRow<'_> {
    /// Whether the counts of this row are the same each time.
    pub(super) fn is_exact(&self) -> bool {
        EXACT.contains(&self.result.engine.as_str())
    }

    /// The figures, the headline first; none unless the row was measured.
    pub(super) fn figures(&self) -> Vec<ExportFigure> {
        let result = self.result;
        if result.status != Status::Measured {
            return Vec::new();
        }
        // A simulator without a timing model counts instructions and nothing else.
        let counted = result.counters.get("instructions").filter(|_| self.is_exact());
        let all = [
            ExportFigure::of(Unit::Nanoseconds, result.ns),
            ExportFigure::of(Unit::Cycles, result.cycles),
            ExportFigure::of(Unit::Ticks, result.ticks),
            counted.copied().map(ExportFigure::instructions),
        ];
        let known = !result.has_warning(warning::NO_INTERVAL);
        let shown = |it: ExportFigure| ExportFigure { samples: it.samples.filter(|_| known), ..it };
        all.into_iter().flatten().map(shown).collect()
    }

    /// What was counted for each crossing: events, then what proves it. With the kind and the name of each.
    pub(super) fn counts(&self) -> impl Iterator<Item = (&'static str, &str, f64)> {
        let all = [("counter", &self.result.counters), ("proof", &self.result.proof)];
        all.into_iter()
            .flat_map(|(kind, counts)| counts.iter().map(move |(key, value)| (kind, key.as_str(), *value)))
    }

    pub(super) fn time(&self) -> Option<ExportFigure> {
        self.figures().into_iter().find(|figure| figure.unit == Unit::Nanoseconds)
    }

    /// What each epoch gave, where there are at least two and all are numbers; otherwise nothing. Tools that make
    /// intervals and tests of their own want these and not the headline, which is their median.
    pub(super) fn epochs(&self) -> &[EpochFigure] {
        let epochs = &self.result.epochs;
        let usable =
            self.time().is_some() && epochs.len() > 1 && epochs.iter().all(|epoch| epoch.ns.is_finite());
        if usable { epochs } else { &[] }
    }

    /// Why there is no figure: `skipped: io_uring is disabled here`.
    pub(super) fn status(&self) -> String {
        let word = match self.result.status {
            Status::Measured => return "measured".into(),
            Status::Skipped => "skipped",
            Status::Failed => "failed",
        };
        match &self.result.reason {
            Some(reason) => format!("{word}: {}", printable(reason)),
            None => word.into(),
        }
    }

    /// The row without a figure that the format could hold, when there are figures all the same.
    pub(super) fn left_out(&self, why: &str) -> Option<(String, String)> {
        (self.result.status == Status::Measured).then(|| (self.name.clone(), why.to_owned()))
    }

    /// What was asked for and what was found, as `procs=2 size=0`.
    pub(super) fn params(&self) -> String {
        let words = |(key, value): &(String, _)| format!("{}={}", printable(key), shown(value));
        self.facts().iter().map(words).collect::<Vec<_>>().join(" ")
    }

    pub(super) fn facts(&self) -> Vec<(String, serde_json::Value)> {
        self.result.asked.fields().into_iter().chain(self.result.found.fields()).collect()
    }

    pub(super) fn warnings(&self) -> String {
        let codes: BTreeSet<&str> =
            self.result.warnings.iter().map(|warning| warning.code.as_str()).collect();
        printable(&codes.into_iter().collect::<Vec<_>>().join(" ")).into_owned()
    }
}

/// A parameter as text, a string without its quotes.
pub(super) fn shown(value: &serde_json::Value) -> String {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    printable(&text).into_owned()
}

/// Every result of the run, in its order.
pub(super) fn rows(run: &Run) -> Vec<ExportRow<'_>> {
    let namesakes = Namesakes::of(&run.results, |result| format!("{}@{}", result.probe, result.engine));
    let mut taken = BTreeMap::new();
    let row = |result| {
        let result: &Measurement = result;
        let mut name = printable(&result.probe).trim().to_owned();
        if name.is_empty() {
            name = "(no name)".into();
        }
        for (key, value) in namesakes.telling(result) {
            name = format!("{name}/{}={}", printable(&key), shown(&value));
        }
        if result.engine != "host" {
            name = format!("{name}@{}", printable(&result.engine));
        }
        if name.chars().count() > MOST {
            name = name.chars().take(MOST - 3).chain("...".chars()).collect();
        }
        ExportRow { result, name: own(name, &mut taken) }
    };
    run.results.iter().map(row).collect()
}

/// The name, with a number behind it when it is taken. With each name is the next number to try, so that
/// many namesakes cost no more than few.
fn own(name: String, taken: &mut BTreeMap<String, u64>) -> String {
    let Some(&next) = taken.get(&name) else {
        taken.insert(name.clone(), 2);
        return name;
    };
    let free = (next..).map(|n| (n, format!("{name}#{n}"))).find(|(_, free)| !taken.contains_key(free));
    let (n, free) = free.unwrap_or((next, name.clone()));
    taken.insert(name, n + 1);
    taken.insert(free.clone(), 2);
    free
}
