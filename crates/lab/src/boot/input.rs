//! What is typed at a console.

use std::sync::mpsc::Receiver;

/// Console input.
pub struct Input {
    /// The bytes that are typed before the kernel starts.
    pub first: Vec<u8>,
    /// Bytes as they come; disconnected at the end of the input.
    pub bytes: Receiver<Vec<u8>>,
    /// Whether a person types: an idle machine then does not run ahead of the clock on the wall.
    pub person: bool,
}
