//! The state of extensions that most machines do not have ([`extra`](crate::extra) says what it permits).

use serde::{Deserialize, Serialize};

/// `mseccfg`: landing pads in M-mode.
pub(crate) const MLPE: u64 = 1 << 10;
/// Of `mhpmevent`: a counter has overflowed, and does not count in M-mode, in S-mode, in U-mode.
pub(crate) const EVENT_FLAGS: u64 = 15 << 60;

/// The state; zero on a machine without these extensions.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Extra {
    /// The shadow stack pointer.
    pub(crate) ssp: u64,
    /// ELP: the next instruction must be a landing pad.
    pub(crate) expects_pad: bool,
    pub(crate) mseccfg: u64,
    pub(crate) mstateen: [u64; 4],
    pub(crate) sstateen0: u64,
    /// The flags of `mhpmevent3` to `mhpmevent31`.
    pub(crate) events: [u64; 29],
}
