//! The privilege modes.

use serde::{Deserialize, Serialize};

/// A privilege mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[repr(u8)]
pub enum Privilege {
    /// User mode.
    User = 0,
    /// Supervisor mode.
    Supervisor = 1,
    /// Machine mode.
    Machine = 3,
}

impl Privilege {
    pub(crate) fn from_bits(bits: u64) -> Self {
        match bits & 3 {
            3 => Privilege::Machine,
            1 => Privilege::Supervisor,
            _ => Privilege::User,
        }
    }

    /// One letter: `U`, `S` or `M`.
    pub fn letter(self) -> char {
        match self {
            Privilege::User => 'U',
            Privilege::Supervisor => 'S',
            Privilege::Machine => 'M',
        }
    }
}
