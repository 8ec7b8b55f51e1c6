//! The input and the result of a check.

use crate::host::Attempts;
use crate::noise::SpanNoise;
use crate::self_check::SelfCheck;
use tollgate_record::Host;

/// Observations and attempts beside the facts of the host; empty if there were none.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Observed {
    /// A span of a second or more in which this program did nothing.
    pub span: Option<SpanNoise>,
    /// Whether the kernel audits system calls; `None` if unknown.
    pub audit: Option<bool>,
    /// The system calls that were tried.
    pub attempts: Attempts,
    /// Whether the measured CPU could be pinned to, or why not.
    pub pinned: Option<Result<(), String>>,
    /// The harness measured by itself.
    pub self_check: Option<SelfCheck>,
    /// Where runs are saved, or why they cannot be.
    pub store: Option<Result<String, String>>,
}

/// One check.
pub(super) struct Check {
    /// Stable name of the finding.
    pub(super) code: &'static str,
    /// The effect of a bad state on a measurement; one sentence.
    pub(super) effect: &'static str,
    pub(super) look: fn(&View<'_>) -> Look,
}

/// The answer of a check. What spoils a measurement comes with its fix.
pub(super) enum Look {
    /// It is not known, or the question does not arise.
    Unknown,
    Ok(String),
    Info(String, Option<String>),
    Spoils(String, String),
}

impl Look {
    pub(super) fn ok(what: impl Into<String>) -> Self {
        Self::Ok(what.into())
    }

    pub(super) fn info(what: impl Into<String>, fix: impl Into<String>) -> Self {
        Self::Info(what.into(), Some(fix.into()))
    }

    pub(super) fn spoils(what: impl Into<String>, fix: impl Into<String>) -> Self {
        Self::Spoils(what.into(), fix.into())
    }

    /// Of a fact that is well when it is false.
    pub(super) fn of_switch(on: Option<bool>, well: &str, bad: Self) -> Self {
        on.map_or(Self::Unknown, |on| if on { bad } else { Self::ok(well) })
    }

    /// Of an amount that should be at least `least`.
    pub(super) fn of_amount(
        amount: Option<u64>,
        least: u64,
        what: impl Fn(u64) -> String,
        fix: impl Into<String>,
    ) -> Self {
        match amount {
            Some(amount) if amount < least => Self::spoils(what(amount), fix),
            Some(amount) => Self::Ok(what(amount)),
            None => Self::Unknown,
        }
    }
}

/// The input of a check.
pub(super) struct View<'a> {
    pub(super) host: &'a Host,
    pub(super) watch: &'a Observed,
    /// The measured CPU: as placed, or as it would be by default.
    pub(super) cpu: Option<usize>,
    /// Its peer, as placed or by default.
    pub(super) peer: Option<usize>,
}

impl View<'_> {
    pub(super) fn may(&self, capability: &str) -> bool {
        // Without /proc the capabilities are not known; then the user decides.
        let known = !self.host.unreadable.iter().any(|directory| directory == "/proc");
        if known { self.host.capabilities.iter().any(|name| name == capability) } else { self.host.uid == 0 }
    }
}
