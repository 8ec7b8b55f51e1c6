//! The work of a task of a ring while it holds the token.

use super::Passed;

/// The work of a task each time it holds the token.
///
/// In a process both calls run after fork: they must be async-signal-safe and allocate nothing from the
/// heap.
pub trait Work: Send + 'static {
    /// Called once, on the task itself, before it takes its first token.
    ///
    /// # Errors
    /// The system's error number.
    fn enter(&mut self) -> Passed {
        Ok(())
    }

    /// The work.
    fn work(&mut self);
}

impl<F: FnMut() + Send + 'static> Work for F {
    fn work(&mut self) {
        self();
    }
}
