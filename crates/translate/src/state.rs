//! The layout that translated code and its caller share.

use tollgate_riscv::tier::{self, Start, TlbEntry};
use tollgate_riscv::{INSTRUCTIONS, Op};

/// What a translation shares with its caller.
#[repr(C)]
pub(crate) struct State {
    pub(crate) x: *mut u64,
    pub(crate) f: *mut u64,
    pub(crate) fflags: u64,
    pub(crate) ram: *mut u8,
    pub(crate) ram_bytes: u64,
    pub(crate) loads: *const TlbEntry,
    pub(crate) stores: *const TlbEntry,
    pub(crate) starts: *const Start,
    pub(crate) context: u64,
    /// The code of each translation, and how many there are.
    pub(crate) codes: *const *const u8,
    pub(crate) count: u64,
    pub(crate) retired: u64,
    pub(crate) limit: u64,
    pub(crate) pc: u64,
    pub(crate) interpret: u64,
}

/// Does a floating-point instruction for a translation; `what` is its op and rounding mode.
pub(crate) extern "C" fn float(state: &mut State, what: u64, a: u64, b: u64, c: u64) -> u64 {
    let [_, _, _, _, _, rounding, high, low] = what.to_be_bytes();
    let Some(row) = INSTRUCTIONS.get(usize::from(u16::from_be_bytes([high, low]))) else { return 0 };
    let mut flags = state.fflags as u8;
    let value = tier::float(row.op, rounding, &mut flags, [a, b, c]);
    state.fflags = flags.into();
    value
}

/// What [`float`] receives of an instruction.
pub(crate) fn float_code(op: Op, rounding: u8) -> u64 {
    u64::from(rounding) << 16 | u64::from(op as u16)
}
