//! What the models of pipes are given of an instruction.

use crate::insn::Insn;
use crate::privilege::Privilege;

/// An instruction on its way into the model.
pub(super) struct Step<'a> {
    pub(super) pc: u64,
    pub(super) pa: u64,
    pub(super) next_pc: u64,
    pub(super) insn: &'a Insn,
    pub(super) privilege: Privilege,
    pub(super) phase: u8,
    /// What [`Retired`](crate::Retired) has under these names.
    pub(super) operands: [u64; 2],
    pub(super) taken: bool,
}
