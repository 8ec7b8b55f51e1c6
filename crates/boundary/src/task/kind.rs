//! Threads or processes.

/// What the tasks of a ring are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tasks {
    /// Threads of this process.
    Threads,
    /// Processes, forked from this one.
    Processes,
}
