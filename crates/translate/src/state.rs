//! The layout that translated code and its caller share.

use tollgate_riscv::tier::TlbEntry;

/// What a translation shares with its caller.
#[repr(C)]
pub(crate) struct State {
    pub(crate) x: *mut u64,
    pub(crate) ram: *mut u8,
    pub(crate) ram_bytes: u64,
    pub(crate) loads: *const TlbEntry,
    pub(crate) stores: *const TlbEntry,
    pub(crate) retired: u64,
    pub(crate) limit: u64,
    pub(crate) pc: u64,
    pub(crate) interpret: u64,
}
