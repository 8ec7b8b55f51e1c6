//! Descriptions of instructions that have no place in decoded code.

use tollgate_riscv::Insn;

/// The latest descriptions, found by a hash of the instruction.
#[derive(Clone, Debug)]
pub(crate) struct Descriptions<O>(Vec<Option<(Insn, O)>>);

impl<O: Copy> Descriptions<O> {
    /// Room for so many; a power of two.
    pub(crate) fn new(places: usize) -> Self {
        Descriptions(vec![None; places])
    }

    /// The description of an instruction.
    #[inline(always)]
    pub(crate) fn of(&mut self, insn: &Insn, describe: impl FnOnce(&Insn) -> O) -> O {
        let registers = u32::from_le_bytes([insn.rd, insn.rs1, insn.rs2, insn.op as u8]);
        let mixed = registers.wrapping_mul(0x9e37_79b1) ^ (insn.imm as u32).wrapping_mul(0x85eb_ca6b);
        let places = self.0.len();
        let place = &mut self.0[(mixed >> 20) as usize & (places - 1)];
        place.take_if(|(known, _)| known != insn);
        place.get_or_insert_with(|| (*insn, describe(insn))).1
    }
}
