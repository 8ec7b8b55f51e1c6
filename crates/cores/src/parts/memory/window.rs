//! The addresses at which a fetch finds what the last one found.

use tollgate_riscv::Privilege;

/// Virtual addresses in one mode from which four bytes are in the line and the page of the last fetch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    first: u64,
    /// The last of them less the first.
    reach: u64,
    privilege: Privilege,
}

impl Window {
    /// No instruction is at an odd address.
    pub(super) const NONE: Window = Window { first: 1, reach: 0, privilege: Privilege::Machine };

    /// The aligned bytes around an address.
    pub(super) fn around(pc: u64, bytes: u64, privilege: Privilege) -> Self {
        Window { first: pc & !(bytes - 1), reach: bytes - 4, privilege }
    }

    #[inline(always)]
    pub(super) fn has(&self, pc: u64, privilege: Privilege) -> bool {
        pc.wrapping_sub(self.first) <= self.reach && privilege as u8 == self.privilege as u8
    }
}
