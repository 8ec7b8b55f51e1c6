//! An instruction as the core sees it.

use tollgate_riscv::{Class, Insn, Op as Opcode};

use super::float_unit::Floating;
use super::predictor::Jump;
use crate::core::Core;
use crate::csr;
use crate::ledger::Cause;
use crate::parts::memory_stage::accesses;
use crate::parts::operands::{self, Dependence};
use crate::parts::operation::{keys_of, registers};
use crate::parts::system::{Refetch, RefetchPenalties};

/// How an instruction goes through the pipe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// It waits for its operands and its fetch only.
    Plain,
    /// It may also jump.
    Jumps,
    /// A load or a store of integers.
    Access,
    /// The iterative unit multiplies or divides.
    Iterates,
    /// Whatever else.
    Other,
}

/// An instruction as the core sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Op {
    /// The registers that it waits for, a store's value and the one that it writes too (rtl: load.copy; csr.swap,
    /// load.then_multiply): 1 to 31 integer, 32 to 63 floating point, 0 for none.
    pub(super) waits: [u8; 4],
    /// The register that it writes, or 0.
    pub(super) writes: u8,
    pub(super) way: Way,
    pub(super) jump: Jump,
    /// Cycles from EX to that of an instruction that uses its result, and what waiting for that is charged to.
    pub(super) latency: i64,
    pub(super) cause: Cause,
    /// Bytes of its access.
    pub(super) size: u8,
    /// Reads and writes memory.
    pub(super) reads: bool,
    pub(super) stores: bool,
    /// Whether its store is not compared with loads behind it.
    pub(super) conditional: bool,
    /// Whether the iterative unit does it.
    pub(super) iterates: bool,
    /// How its cycles depend on its operands.
    pub(super) dependence: Option<Dependence>,
    pub(super) floating: Option<Floating>,
    /// Waits for all floating-point results.
    pub(super) flags: bool,
    pub(super) float_store: bool,
    /// Waits for the access before, and the next access for the one before it.
    pub(super) ordered: [bool; 2],
    pub(super) refetch: Option<Refetch>,
}

impl Op {
    /// An instruction that needs nothing and takes no time.
    pub(super) const PLAIN: Op = Op {
        waits: [0; 4],
        writes: 0,
        way: Way::Plain,
        jump: Jump::None,
        latency: 1,
        cause: Cause::LongOperation,
        size: 0,
        reads: false,
        stores: false,
        conditional: false,
        iterates: false,
        dependence: None,
        floating: None,
        flags: false,
        float_store: false,
        ordered: [false; 2],
        refetch: None,
    };

    pub(super) fn new(insn: &Insn, core: &Core) -> Self {
        let class = insn.row().class;
        let ([a, b, c], writes) = registers(insn, 0);
        let [reads, stores] = accesses(insn);
        let iterates = operands::is_product_or_quotient(insn.op);
        let cycles = keys_of(insn, core).cycles;
        let (latency, cause) = latency(insn, cycles);
        let mut op = Op {
            waits: [a, b, c, writes],
            writes,
            way: Way::Other,
            jump: Jump::of(insn),
            latency,
            cause,
            size: insn.op.access().map_or(0, |(size, _)| size),
            reads,
            stores,
            conditional: class == Class::StoreConditional,
            iterates,
            dependence: if insn.op.by_operands() { Dependence::of(insn, core) } else { None },
            floating: floating(insn, cycles),
            // fflags, frm and fcsr.
            flags: class == Class::Csr && (1..=3).contains(&(insn.imm & 0xfff)),
            float_store: class == Class::FpStore,
            ordered: ordered(insn),
            refetch: refetch(insn),
        };
        op.way = match class {
            Class::Branch | Class::Jump | Class::JumpReg => Way::Jumps,
            Class::Load | Class::Store => Way::Access,
            _ if iterates => Way::Iterates,
            _ if class == Class::Csr || op.is_special() => Way::Other,
            _ => Way::Plain,
        };
        op
    }

    /// Whether anything of it is not as in most instructions.
    fn is_special(&self) -> bool {
        self.reads
            || self.stores
            || self.iterates
            || self.flags
            || self.dependence.is_some()
            || self.floating.is_some()
            || self.ordered != [false; 2]
            || self.refetch.is_some()
    }
}

/// From EX of an instruction to that of one that uses its result: without stalls it is one cycle.
fn latency(insn: &Insn, cycles: u32) -> (i64, Cause) {
    use Opcode::{Lb, Lbu, Lh, Lhu};
    match insn.row().class {
        Class::FpLoad => (1 + FLOAT_LOAD_USE, Cause::LoadUse),
        Class::StoreConditional => (1 + NARROW_LOAD_USE, Cause::LoadUse),
        Class::Load if matches!(insn.op, Lb | Lbu | Lh | Lhu) => (1 + NARROW_LOAD_USE, Cause::LoadUse),
        Class::Load | Class::LoadReserved | Class::Amo => (1 + LOAD_USE, Cause::LoadUse),
        Class::Csr => (1 + CSR_USE, Cause::Csr),
        _ => (cycles.into(), Cause::LongOperation),
    }
}

/// Bubbles between a load and an instruction that uses its value. rtl: load.use; of bytes and halves, which are shifted and
/// extended, and of `sc` load.use_byte, load.use_half and amo.reserve; of floating point float.load_and_store; of a CSR csr.use.
const LOAD_USE: i64 = 1;
const NARROW_LOAD_USE: i64 = 2;
const FLOAT_LOAD_USE: i64 = 3;
const CSR_USE: i64 = 2;

fn floating(insn: &Insn, cycles: u32) -> Option<Floating> {
    use Opcode::{FdivD, FdivS, FsqrtD, FsqrtS};
    match insn.row().class {
        Class::FpLoad | Class::FpStore | Class::FpInt => Some(Floating::Passes),
        Class::FpFp if matches!(insn.op, FdivS | FdivD | FsqrtS | FsqrtD) => Some(Floating::Divides(cycles)),
        Class::FpFp | Class::IntFp => Some(Floating::Computes(cycles)),
        _ => None,
    }
}

fn ordered(insn: &Insn) -> [bool; 2] {
    match (insn.op, insn.row().class) {
        (Opcode::Fence, _) => [false, true],
        (Opcode::FenceI, _) => [true, false],
        // `rl` and `aq`.
        (_, Class::LoadReserved | Class::StoreConditional | Class::Amo) => {
            [insn.imm & 1 != 0, insn.imm & 2 != 0]
        }
        _ => [false; 2],
    }
}

/// Bubbles behind a write of a CSR. rtl: csr.write_status, csr.write_vector
const CSR_FLUSH: u32 = 4;
/// rtl: trap.return
const RETURN: u32 = 4;
/// Refilling the cache comes on top. rtl: fence.code
const FENCE_I: u32 = 4;
/// With the first walks behind it. rtl: translated.fence
const SFENCE_VMA: u32 = 6;
/// With an interrupt that is pending. rtl: wait.pending
const WFI: u32 = 4;

fn refetch(insn: &Insn) -> Option<Refetch> {
    // Scratch, epc, cause and tval of both modes flush nothing. rtl: csr.write_scratch, csr.write_epc, csr.write_cause,
    // csr.write_value
    let in_place = matches!(insn.imm as u16, 0x140..=0x143 | 0x340..=0x343);
    let penalties = RefetchPenalties {
        csr: if in_place { 0 } else { CSR_FLUSH },
        return_: RETURN,
        fence_i: FENCE_I,
        sfence_vma: SFENCE_VMA,
        wfi: WFI,
    };
    let writes = insn.row().class != Class::Csr || csr::writes(insn);
    Refetch::of(insn, &penalties).filter(|_| writes)
}
