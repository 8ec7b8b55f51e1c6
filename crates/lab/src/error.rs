//! What can go wrong in an experiment.

/// Why an experiment could not be done.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LabError {
    /// No such call.
    #[error("unknown system call '{call}': give a number up to 4095 or one of {known}")]
    UnknownCall {
        /// The name that was given.
        call: String,
        /// The names that exist.
        known: String,
    },
    /// A call that does not return to its caller, or not alone.
    #[error(
        "call {0} does not return to its caller, so a round trip cannot be measured; use another, for example getpid"
    )]
    UnsuitableCall(String),
    /// The engine is not on this machine: skipped.
    #[error("{engine} is not on PATH; {install}")]
    EngineMissing {
        /// The engine.
        engine: &'static str,
        /// What would make it available.
        install: &'static str,
    },
    /// This engine cannot do this experiment: skipped.
    #[error("{engine} cannot measure this: {reason}")]
    NotHere {
        /// Which engine.
        engine: &'static str,
        /// Why.
        reason: &'static str,
    },
    /// The engine ran and did not give a result.
    #[error("{engine} gave no result; the last line that it printed: {said}")]
    EngineFailed {
        /// The engine.
        engine: &'static str,
        /// The last line that it printed.
        said: String,
    },
    /// A built image differs from what its sources make.
    #[error("a guest image is damaged ({0}); rebuild with `cargo xtask guests`")]
    Image(String),
    /// The machine refused an image.
    #[error("the machine refused the guest: {0}")]
    Machine(String),
    /// The guest did something other than what it was built for; the text begins with a verb.
    #[error("the guest {0}")]
    Guest(String),
    /// The bill and the guest's own counters disagree; one of them is wrong, so neither is printed.
    #[error("the bill has {outside} and the guest's own counter {inside}: one of them is wrong")]
    Disagreement {
        /// Counted from outside.
        outside: u64,
        /// Counted by the guest.
        inside: u64,
    },
    /// An invalid description of a core.
    #[error("{0}")]
    Core(#[from] tollgate_riscv::timing::CoreError),
    /// A file of our own could not be written or read.
    #[error("cannot use the temporary directory: {0}")]
    Scratch(std::io::Error),
}

impl LabError {
    /// Whether the engine is missing or unsuitable, and nothing is wrong.
    #[must_use]
    pub fn is_skip(&self) -> bool {
        matches!(self, Self::EngineMissing { .. } | Self::NotHere { .. })
    }
}
