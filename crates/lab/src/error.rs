//! The errors of an experiment.

/// Why an experiment could not be done.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages describe the variants")]
pub enum LabError {
    #[error("unknown system call '{call}': give a number up to 4095 or one of {known}")]
    UnknownCall { call: String, known: String },
    #[error(
        "call {0} does not return to its caller, so a round trip cannot be measured; use another, for example getpid"
    )]
    UnsuitableCall(String),
    #[error("{engine} is not on PATH; {install}")]
    EngineMissing { engine: &'static str, install: &'static str },
    #[error("{engine} cannot measure this: {reason}")]
    NotHere { engine: &'static str, reason: &'static str },
    #[error("{engine} gave no result; the last line that it printed: {said}")]
    EngineFailed { engine: &'static str, said: String },
    #[error("a guest image is damaged ({0}); rebuild with `cargo xtask guests`")]
    Image(String),
    #[error("the machine refused the guest: {0}")]
    Machine(String),
    /// The guest did something unexpected; the text begins with a verb.
    #[error("the guest {0}")]
    Guest(String),
    /// The bill and the guest's own counters disagree; one of them is wrong, so neither is printed.
    #[error("the bill has {outside} and the guest's own counter {inside}: one of them is wrong")]
    Disagreement { outside: u64, inside: u64 },
    #[error("{0}")]
    Core(#[from] tollgate_cores::CoreError),
    #[error("cannot use the temporary directory: {0}")]
    Scratch(std::io::Error),
}

impl LabError {
    /// Whether the engine is missing or unsuitable, and nothing is wrong.
    pub fn is_skip(&self) -> bool {
        matches!(self, Self::EngineMissing { .. } | Self::NotHere { .. })
    }
}
