//! Instructions behind which the fetch begins anew, and what traps look up.

use tollgate_riscv::{Cause as Exception, Insn, Machine, Op, Trap};

use super::memory::Memory;
use crate::csr;
use crate::ledger::Cause;
use crate::passage::Flush;

use super::delays::Delays;

/// Buffers that an instruction empties.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Empties {
    Nothing,
    /// The instruction cache.
    Instructions,
    /// The translation buffers.
    Translations,
}

/// The fetch begins anew behind an instruction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Refetch {
    pub(crate) bubbles: i64,
    pub(crate) cause: Cause,
    pub(crate) flush: Flush,
    pub(crate) empties: Empties,
}

/// Bubbles of instructions behind which the fetch begins anew.
pub(crate) struct RefetchPenalties {
    /// After the CSR instruction in question, if it writes.
    pub(crate) csr: u32,
    pub(crate) return_: u32,
    pub(crate) fence_i: u32,
    pub(crate) sfence_vma: u32,
    pub(crate) wfi: u32,
}

impl Refetch {
    pub(crate) fn of(insn: &Insn, penalties: &RefetchPenalties) -> Option<Self> {
        let refetch = |bubbles: u32, empties| {
            Some(Refetch { bubbles: bubbles.into(), cause: Cause::Csr, flush: Flush::System, empties })
        };
        match insn.op {
            Op::Mret | Op::Sret => Some(Refetch {
                bubbles: penalties.return_.into(),
                cause: Cause::TrapFlush,
                flush: Flush::Return,
                empties: Empties::Nothing,
            }),
            Op::FenceI => refetch(penalties.fence_i, Empties::Instructions),
            Op::SfenceVma | Op::SinvalVma => refetch(penalties.sfence_vma, Empties::Translations),
            Op::Wfi if penalties.wfi > 0 => refetch(penalties.wfi, Empties::Nothing),
            _ if insn.row().class == tollgate_riscv::Class::Csr && csr::writes(insn) && penalties.csr > 0 => {
                refetch(penalties.csr, Empties::Nothing)
            }
            _ => None,
        }
    }

    /// Empties what it empties.
    pub(crate) fn empty(&self, memory: &mut Memory) {
        match self.empties {
            Empties::Nothing => {}
            Empties::Instructions => memory.flush_instructions(),
            Empties::Translations => memory.flush_translations(),
        }
    }
}

/// Whether an exception's instruction could not be fetched.
pub(crate) fn cannot_fetch(trap: &Trap) -> bool {
    matches!(
        trap.cause,
        Exception::InstructionMisaligned
            | Exception::InstructionAccessFault
            | Exception::InstructionPageFault
    )
}

pub(crate) fn is_ecall(trap: &Trap) -> bool {
    matches!(trap.cause, Exception::UserEcall | Exception::SupervisorEcall | Exception::MachineEcall)
}

/// The waits of an instruction that raises an exception. An access that fails takes `port` further cycles.
pub(crate) fn delays_of(trap: &Trap, memory: &mut Memory, port: i64) -> Delays {
    let mut delays = Delays::default();
    if !cannot_fetch(trap)
        && let Some(pa) = memory.physical(trap.epc, trap.from)
    {
        let waits = memory.fetch(trap.epc, pa, 1, trap.from);
        (delays.fetch_walk, delays.fetch_miss) = (waits.walk.into(), waits.miss.into());
    }
    match trap.cause {
        Exception::LoadAccessFault | Exception::StoreAccessFault => delays.port = port,
        // An access without a translation has looked for one.
        Exception::LoadPageFault | Exception::StorePageFault => {
            delays.data_walk = memory.fault_walk(trap.tval).into();
        }
        _ => {}
    }
    delays
}

/// Whether an exception is that of a CSR instruction, which waits as a legal one does.
pub(crate) fn is_illegal_csr(trap: &Trap) -> bool {
    trap.cause == Exception::IllegalInstruction && trap.tval & 0x7f == 0x73 && trap.tval >> 12 & 3 != 0
}

/// The instruction that a machine executes next.
pub(crate) fn next_instruction(machine: &Machine) -> Option<Insn> {
    let bytes = machine.read_memory(machine.translate(machine.pc())?, 4).ok()?;
    let word = u32::from_le_bytes(bytes.try_into().ok()?);
    let word = if word & 3 == 3 { word } else { word & 0xffff };
    machine.decoder().decode(word)
}
