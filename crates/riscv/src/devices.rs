//! The devices, one file each. A device holds its registers; it reaches RAM only through what [`crate::bus`] passes
//! to it, and answers a hostile guest with an error state, never with a panic.

pub(crate) mod clint;
pub(crate) mod console;
pub(crate) mod finisher;
pub(crate) mod plic;
pub(crate) mod rtc;
pub(crate) mod uart;
pub(crate) mod virtio;
