//! Why something cannot be measured.

/// Why a probe did not open, or why it stopped.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// It cannot be measured on this host.
    #[error("{reason}")]
    Skip {
        /// Why, as a clause without a full stop.
        reason: String,
        /// The remedy.
        enable: String,
    },
    /// It should have worked.
    #[error("{0}")]
    Failed(String),
}

impl Refusal {
    /// A skip with its reason and its remedy.
    pub fn skip(reason: impl Into<String>, enable: impl Into<String>) -> Self {
        Self::Skip { reason: reason.into(), enable: enable.into() }
    }

    /// The meaning of the last system call's error for a probe.
    pub fn os(what: &str) -> Self {
        Self::of(what, &std::io::Error::last_os_error())
    }

    /// The meaning for a probe of the error of the call `what`: a limit of the process or of the system is a skip with
    /// what lifts it, anything else is a failure.
    pub fn of(what: &str, error: &std::io::Error) -> Self {
        let (reason, enable) = match error.raw_os_error() {
            Some(libc::EMFILE) => (
                "this process may open no more descriptors (RLIMIT_NOFILE)",
                "raise the limit on open files with `ulimit -n`",
            ),
            Some(libc::ENFILE) => (
                "the system's table of open files is full",
                "close programs or have the administrator raise the sysctl fs.file-max",
            ),
            Some(libc::ENOMEM) => (
                "this process may have no more memory (RLIMIT_AS, or the machine has no more)",
                "raise the limit with `ulimit -v`, or free some memory",
            ),
            Some(libc::EFBIG) => (
                "this process may not write files of that size (RLIMIT_FSIZE)",
                "raise the limit on the size of files with `ulimit -f`",
            ),
            _ => return Self::Failed(format!("{what}: {error}")),
        };
        Self::skip(format!("{what}: {reason}"), enable)
    }
}

impl From<std::io::Error> for Refusal {
    fn from(error: std::io::Error) -> Self {
        match Self::of("a system call", &error) {
            // Such an error often names what was tried.
            Self::Failed(_) => Self::Failed(error.to_string()),
            limit => limit,
        }
    }
}
