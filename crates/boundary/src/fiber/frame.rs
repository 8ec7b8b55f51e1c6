//! The frame on the stack that a switch enters.

/// The words of the frame from which a switch restores, as indices from the lowest.
#[derive(Clone, Copy)]
pub(super) struct Frame {
    /// Their number; the stack stays 16-aligned above them.
    pub(super) words: usize,
    /// The registers in which `enter` expects the argument and the body.
    pub(super) argument: usize,
    pub(super) body: usize,
    /// The address that the switch jumps to.
    pub(super) next: usize,
    /// The control registers, if they are kept.
    pub(super) control: Option<usize>,
}
