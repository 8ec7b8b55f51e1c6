//! Why a command cannot be started, and its exit status.

use std::ffi::OsStr;
use std::io;

/// A command that did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// No file of that name.
    #[error("cannot run '{program}': not found; give a path, or a program on PATH")]
    NotFound {
        /// The name that was given.
        program: String,
    },
    /// There is such a file, and the kernel refuses to execute it.
    #[error("cannot run '{program}': {error}")]
    NotExecutable {
        /// The name that was given.
        program: String,
        /// The kernel's reason.
        error: io::Error,
    },
    /// A step before the execution failed.
    #[error("cannot {what}: {error}")]
    System {
        /// What was to be done.
        what: &'static str,
        /// The kernel's reason.
        error: io::Error,
    },
}

impl StartError {
    /// The exit status that `env` and `timeout` give it.
    #[must_use]
    pub fn exit_status(&self) -> u8 {
        match self {
            Self::NotFound { .. } => 127,
            Self::NotExecutable { .. } => 126,
            Self::System { .. } => 125,
        }
    }

    pub(crate) fn of_exec(program: &OsStr, errno: i32) -> Self {
        let (program, error) = (program.to_string_lossy().into_owned(), io::Error::from_raw_os_error(errno));
        if errno == libc::ENOENT {
            Self::NotFound { program }
        } else {
            Self::NotExecutable { program, error }
        }
    }

    pub(crate) fn system(what: &'static str) -> Self {
        Self::System { what, error: io::Error::last_os_error() }
    }
}
