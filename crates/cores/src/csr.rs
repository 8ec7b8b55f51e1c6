//! Control and status registers by what a core does when they are written.

use serde::Deserialize;

use tollgate_riscv::{Insn, Op};

/// `satp` (privileged specification, table 6).
pub(super) const SATP: u16 = 0x180;

/// Bubbles after a write, for each kind of register; kinds without a number have `csr-flush`. Registers of machine and
/// supervisor mode alike.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct CsrFlushes {
    /// `mstatus`, `sstatus`.
    pub status: Option<u32>,
    /// `mie`, `sie`.
    pub enable: Option<u32>,
    /// `mip`, `sip`.
    pub pending: Option<u32>,
    /// `mtvec`, `stvec`.
    pub vector: Option<u32>,
    /// `mscratch`, `sscratch`.
    pub scratch: Option<u32>,
    /// `mepc`, `sepc`.
    pub epc: Option<u32>,
    /// `mcause`, `scause`.
    pub cause: Option<u32>,
    /// `mtval`, `stval`.
    pub value: Option<u32>,
    /// `satp`.
    pub translation: Option<u32>,
    /// `pmpcfg` and `pmpaddr`.
    pub protection: Option<u32>,
    /// `fflags`, `frm`, `fcsr`.
    pub float: Option<u32>,
}

impl CsrFlushes {
    /// The kinds by name, for checks.
    pub(super) fn all(&self) -> [(&'static str, Option<u32>); 11] {
        [
            ("status", self.status),
            ("enable", self.enable),
            ("pending", self.pending),
            ("vector", self.vector),
            ("scratch", self.scratch),
            ("epc", self.epc),
            ("cause", self.cause),
            ("value", self.value),
            ("translation", self.translation),
            ("protection", self.protection),
            ("float", self.float),
        ]
    }

    /// Of the register with that number.
    pub(super) fn of(&self, number: u16) -> Option<u32> {
        match number {
            0x100 | 0x300 | 0x310 => self.status,
            0x104 | 0x304 => self.enable,
            0x144 | 0x344 => self.pending,
            0x105 | 0x305 => self.vector,
            0x140 | 0x340 => self.scratch,
            0x141 | 0x341 => self.epc,
            0x142 | 0x342 => self.cause,
            0x143 | 0x343 => self.value,
            0x180 => self.translation,
            0x3a0..=0x3ef => self.protection,
            0x001..=0x003 => self.float,
            _ => None,
        }
    }
}

/// Whether a CSR instruction writes.
pub(super) fn writes(insn: &Insn) -> bool {
    // csrrs and csrrc with x0, or with a zero immediate, do not write (unprivileged specification, 6.1).
    matches!(insn.op, Op::Csrrw | Op::Csrrwi) || insn.rs1 != 0
}

/// Whether a CSR instruction can only clear bits.
pub(super) fn clears(insn: &Insn) -> bool {
    matches!(insn.op, Op::Csrrc | Op::Csrrci)
}
