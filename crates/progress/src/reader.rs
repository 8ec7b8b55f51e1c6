//! The reader of standard output, which may leave early (`| head`).

use std::error::Error;
use std::fmt::{self, Display, Formatter};
use std::io;

/// The reader of standard output has closed it.
#[derive(Debug)]
pub struct ReaderGone;

impl Display for ReaderGone {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("standard output was closed")
    }
}

impl Error for ReaderGone {}

impl ReaderGone {
    /// Whether an error of what writes to standard output means this.
    pub fn is_cause_of(error: &(dyn Error + 'static)) -> bool {
        let is_gone = |cause: &io::Error| cause.kind() == io::ErrorKind::BrokenPipe;
        error.downcast_ref().is_some_and(is_gone) || error.source().is_some_and(Self::is_cause_of)
    }

    /// Ends this process by the signal that ends any program that writes to such a pipe and does not ignore it.
    pub fn end_process() -> ! {
        // SAFETY: a signal gets its default action, without a handler, and is sent to this thread.
        unsafe {
            libc::signal(libc::SIGPIPE, libc::SIG_DFL);
            libc::raise(libc::SIGPIPE);
        }
        // The signal is blocked: what a shell reports of it.
        std::process::exit(128 + libc::SIGPIPE)
    }
}
