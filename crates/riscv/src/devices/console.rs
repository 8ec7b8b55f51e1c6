//! The guest's output and input, for all of its console devices.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

/// The bytes in both directions, up to a limit each.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct Console {
    pub(crate) bytes: Vec<u8>,
    pub(crate) limit: usize,
    pub(crate) dropped: u64,
    /// Typed and not read yet.
    input: VecDeque<u8>,
    /// Something was typed since a device looked.
    pub(crate) typed: bool,
}

/// Bytes that may be typed ahead.
const MOST_INPUT: usize = 1 << 20;

impl Console {
    pub(crate) fn new(limit: usize) -> Self {
        Console { limit, ..Console::default() }
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) {
        let room = self.limit.saturating_sub(self.bytes.len()).min(bytes.len());
        self.bytes.extend_from_slice(&bytes[..room]);
        self.dropped += (bytes.len() - room) as u64;
    }

    /// Types; returns how many of the bytes there was room for.
    pub(crate) fn type_in(&mut self, bytes: &[u8]) -> usize {
        let taken = MOST_INPUT.saturating_sub(self.input.len()).min(bytes.len());
        self.input.extend(&bytes[..taken]);
        self.typed |= taken > 0;
        taken
    }

    /// The next byte that was typed.
    pub(crate) fn read(&mut self) -> Option<u8> {
        self.input.pop_front()
    }

    /// Whether something was typed.
    pub(crate) fn has_input(&self) -> bool {
        !self.input.is_empty()
    }
}
