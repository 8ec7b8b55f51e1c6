//! The counts of a command.

use crate::account::Account;
use crate::calibrate::{Overhead, Pair};
use crate::count::{Counts, Source};
use crate::price::Prices;
use crate::sites::Sites;
use crate::timeline::Timeline;
use tollgate_record::Warning;

/// Extras of a bill that cost more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extras {
    /// When the program crossed.
    pub timeline: bool,
    /// Where it crossed from.
    pub stacks: bool,
    /// Calls are timed in windows only, however few they are. Without that, BPF does so if the program calls too often.
    pub windows: bool,
}

/// The counts of one run of a command, or the medians of several.
#[derive(Clone, Debug)]
pub struct Counted {
    /// The run that was timed. One that was counted by ptrace alone is the traced one.
    pub account: Account,
    /// The source of the counts.
    pub source: Source,
    /// The counts, unless nothing counted.
    pub counts: Option<Counts>,
    /// The time of a call and a fault beside the command, uncounted.
    pub(crate) beside: Option<Pair>,
    /// The cost of counting, if it was in the timed run.
    pub overhead: Option<Overhead>,
    /// Wall time of the run that was traced over that of those that were not, where there are both.
    pub slowdown: Option<f64>,
    /// Each run, if there are several.
    pub repeats: Vec<Repeat>,
    /// When it crossed, if that was wanted and the source can say it.
    pub timeline: Option<Timeline>,
    /// Where it crossed from, if that was wanted.
    pub sites: Option<Sites>,
    /// The warnings.
    pub warnings: Vec<Warning>,
}

/// One of several runs.
#[derive(Clone, Debug)]
pub struct Repeat {
    /// Its account, and its end.
    pub account: Account,
    /// Its crossings. Runs beside a traced one are not counted.
    pub counts: Option<Counts>,
    /// Whether it was traced, so that its times are not those of the others.
    pub is_traced: bool,
}

impl Repeat {
    pub(crate) fn of(run: &Counted) -> Self {
        Self { account: run.account, counts: run.counts.clone(), is_traced: run.source == Source::Ptrace }
    }

    /// How often it crossed a boundary, if it was counted.
    pub(crate) fn crossings(&self, kind: &str, name: &str) -> Option<u64> {
        let counts = &self.counts.as_ref()?.boundaries;
        let found = counts.iter().find(|((of, it), _)| of.name() == kind && it == name);
        Some(found.map_or(0, |(_, tally)| tally.count))
    }
}

impl Counted {
    /// These prices, if nothing that is known of this run contradicts them.
    #[must_use]
    pub fn believed(&self, prices: &Prices) -> Prices {
        let beside = self.overhead.map(|overhead| overhead.bare).or(self.beside);
        prices.believed(beside, self.account.cpu, self.counts.as_ref())
    }

    /// Whether the times are those of a run that was traced.
    #[must_use]
    pub fn is_traced(&self) -> bool {
        self.source == Source::Ptrace && self.slowdown.is_none()
    }

    pub(crate) fn of(source: Source, account: Account, counts: Option<Counts>) -> Self {
        let warnings = Vec::new();
        Self {
            account,
            source,
            counts,
            beside: None,
            overhead: None,
            slowdown: None,
            repeats: Vec::new(),
            timeline: None,
            sites: None,
            warnings,
        }
    }
}
