//! What a check of the doctor may look at, and what it answers.

use crate::host::Attempts;
use crate::noise::SpanNoise;
use crate::self_check::SelfCheck;
use tollgate_record::Host;

/// What was seen and tried beside the facts of the host; empty when nobody watched and nothing was tried.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Observed {
    /// A span in which we did nothing ourselves, a second or more.
    pub span: Option<SpanNoise>,
    /// Whether the kernel audits system calls; `None` where it does not tell.
    pub audit: Option<bool>,
    /// What was tried.
    pub attempts: Attempts,
    /// Whether the measured CPU could be pinned to, or why not.
    pub pinned: Option<Result<(), String>>,
    /// The harness measured by itself.
    pub self_check: Option<SelfCheck>,
    /// Where runs are saved, or why they cannot be.
    pub store: Option<Result<String, String>>,
}

/// One thing to look at.
pub(super) struct Check {
    /// Stable name of the finding.
    pub(super) code: &'static str,
    /// What it does to a measurement, when it is not well; one sentence.
    pub(super) effect: &'static str,
    pub(super) look: fn(&View<'_>) -> Look,
}

/// What a look gives. What spoils must come with what mends it.
pub(super) enum Look {
    /// The host does not tell, or the question does not arise.
    Unknown,
    Ok(String),
    Info(String, Option<String>),
    Spoils(String, String),
}

/// What a check may look at.
pub(super) struct View<'a> {
    pub(super) host: &'a Host,
    pub(super) watch: &'a Observed,
    /// The measured CPU: as placed, or as it would be by default.
    pub(super) cpu: Option<usize>,
    /// Its peer, likewise.
    pub(super) peer: Option<usize>,
}

impl View<'_> {
    pub(super) fn may(&self, capability: &str) -> bool {
        // Without /proc the capabilities are not known; then the user decides.
        let known = !self.host.unreadable.iter().any(|directory| directory == "/proc");
        if known { self.host.capabilities.iter().any(|name| name == capability) } else { self.host.uid == 0 }
    }
}
