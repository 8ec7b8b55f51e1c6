//! Where readings come from.

use super::Counter;
use std::io;

/// A reading of one task's group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// Nanoseconds since the group was enabled.
    pub enabled: u64,
    /// Nanoseconds of these in which it was on the processor's counters.
    pub running: u64,
    /// One value for each counter of the group.
    pub values: Vec<u64>,
}

/// Why a group was not opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused {
    /// Which of the group's counters.
    pub counter: usize,
    /// The system's error number.
    pub errno: i32,
}

/// A source of counters.
pub trait Counters {
    /// Opens these counters as one group that counts one task (0 for the caller), and starts it. The number
    /// names the group afterwards.
    ///
    /// # Errors
    /// Which counter was refused, and how.
    fn open(&mut self, group: &[Counter], task: i32) -> Result<usize, Refused>;

    /// Reads a group.
    ///
    /// # Errors
    /// The system's error.
    fn read(&mut self, group: usize) -> io::Result<Reading>;

    /// Closes all groups.
    fn close(&mut self);
}
