//! The state of the hart: registers, privilege mode and everything that control and status registers hold.

use serde::{Deserialize, Serialize};

use crate::arrays::registers;
use crate::clic_state::Clic;
use crate::extra_state::Extra;
use crate::hpm::{Count, Counters};
use crate::isa::{Extension, Isa};
use crate::pmp::Pmp;
use crate::privilege::Privilege;
use crate::vector_state::Vector;

/// Fields of `mstatus` in RV64's layout, which is also how an RV32 machine keeps it.
pub(crate) mod status {
    pub(crate) const SIE: u64 = 1 << 1;
    pub(crate) const MIE: u64 = 1 << 3;
    pub(crate) const SPIE: u64 = 1 << 5;
    pub(crate) const MPIE: u64 = 1 << 7;
    pub(crate) const SPP: u64 = 1 << 8;
    pub(crate) const MPP_SHIFT: u32 = 11;
    pub(crate) const MPP: u64 = 3 << MPP_SHIFT;
    pub(crate) const VS: u64 = 3 << 9;
    pub(crate) const FS: u64 = 3 << 13;
    pub(crate) const MPRV: u64 = 1 << 17;
    pub(crate) const SUM: u64 = 1 << 18;
    pub(crate) const MXR: u64 = 1 << 19;
    pub(crate) const TVM: u64 = 1 << 20;
    pub(crate) const TW: u64 = 1 << 21;
    pub(crate) const TSR: u64 = 1 << 22;
    pub(crate) const SPELP: u64 = 1 << 23;
    pub(crate) const MPELP: u64 = 1 << 41;
    /// UXL and SXL, both saying 64; only RV64 shows them.
    pub(crate) const XL64: u64 = 2 << 32 | 2 << 34;
}

/// Fields of `menvcfg`, and of `senvcfg` the lower ones.
pub(crate) mod environment {
    pub(crate) const FIOM: u64 = 1;
    pub(crate) const LPE: u64 = 1 << 2;
    pub(crate) const SSE: u64 = 1 << 3;
    pub(crate) const CBIE: u64 = 3 << 4;
    pub(crate) const CBCFE: u64 = 1 << 6;
    pub(crate) const CBZE: u64 = 1 << 7;
    pub(crate) const PMM: u64 = 3 << 32;
    pub(crate) const ADUE: u64 = 1 << 61;
    pub(crate) const PBMTE: u64 = 1 << 62;
    pub(crate) const STCE: u64 = 1 << 63;
}

/// Bits of `mip` and `mie`.
pub(crate) mod interrupt {
    pub(crate) const SSI: u64 = 1 << 1;
    pub(crate) const MSI: u64 = 1 << 3;
    pub(crate) const STI: u64 = 1 << 5;
    pub(crate) const MTI: u64 = 1 << 7;
    pub(crate) const SEI: u64 = 1 << 9;
    pub(crate) const MEI: u64 = 1 << 11;
    pub(crate) const LCOFI: u64 = 1 << 13;
    pub(crate) const SUPERVISOR: u64 = SSI | STI | SEI;
    pub(crate) const ALL: u64 = SUPERVISOR | MSI | MTI | MEI | LCOFI;
}

/// The state of the custom extensions ([`crate::custom`]).
#[derive(Clone, Default, Serialize, Deserialize)]
pub(crate) struct Custom {
    pub(crate) tollbank: u64,
    /// The bank not in use.
    pub(crate) other: [u64; 32],
    pub(crate) stollsp: u64,
    pub(crate) mtollsp: u64,
}

/// The hart. Integer values, addresses among them, are kept sign-extended to 64 bits on RV32 as well.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Hart {
    #[serde(skip)]
    pub(crate) isa: Isa,
    /// Its number, which `mhartid` shows.
    pub(crate) id: u64,
    /// `x0` to `x31`. As long as an index byte can reach, so that no access needs a bounds check; entry 32
    /// takes what the block engine writes to `x0`, the rest is never used.
    #[serde(with = "registers")]
    pub(crate) x: Box<[u64; 256]>,
    /// `f0` to `f31`, single precision NaN-boxed; long for the same reason.
    #[serde(with = "registers")]
    pub(crate) f: Box<[u64; 256]>,
    pub(crate) pc: u64,
    pub(crate) privilege: Privilege,
    pub(crate) frm: u8,
    pub(crate) fflags: u8,
    /// Instructions retired since reset.
    pub(crate) retired: u64,
    /// `mcycle` and `minstret`, which follow `retired`.
    pub(crate) cycle: Count,
    pub(crate) instret: Count,
    pub(crate) hpm: Counters,
    pub(crate) mstatus: u64,
    pub(crate) mtvec: u64,
    pub(crate) medeleg: u64,
    pub(crate) mideleg: u64,
    pub(crate) mie: u64,
    pub(crate) mip: u64,
    pub(crate) mscratch: u64,
    pub(crate) mepc: u64,
    pub(crate) mcause: u64,
    pub(crate) mtval: u64,
    pub(crate) mcounteren: u64,
    pub(crate) menvcfg: u64,
    pub(crate) stvec: u64,
    pub(crate) sscratch: u64,
    pub(crate) sepc: u64,
    pub(crate) scause: u64,
    pub(crate) stval: u64,
    pub(crate) scounteren: u64,
    pub(crate) senvcfg: u64,
    pub(crate) stimecmp: u64,
    pub(crate) satp: u64,
    /// Its bits that exist.
    pub(crate) satp_kept: u64,
    pub(crate) pmp: Pmp,
    /// The physical address that the last `lr` reserved.
    pub(crate) reservation: Option<u64>,
    pub(crate) custom: Custom,
    /// In a snapshot it is behind all other state, if the ISA has some of it.
    #[serde(skip)]
    pub(crate) extra: Extra,
    /// Only with vectors; in a snapshot it is behind all other state.
    #[serde(skip)]
    pub(crate) vector: Option<Box<Vector>>,
    /// Only with `smclic`, whose machines have no snapshots.
    #[serde(skip)]
    pub(crate) clic: Option<Box<Clic>>,
}

impl Hart {
    pub(crate) fn new(isa: Isa, asid_bits: u32) -> Self {
        Hart {
            isa,
            id: 0,
            x: Box::new([0; 256]),
            f: Box::new([0; 256]),
            pc: 0,
            privilege: Privilege::Machine,
            frm: 0,
            fflags: 0,
            retired: 0,
            cycle: Count::default(),
            instret: Count::default(),
            hpm: Counters::default(),
            mstatus: if isa.is_rv64() { status::XL64 } else { 0 },
            // With a CLIC always in its mode.
            mtvec: if isa.has(Extension::Smclic) { 3 } else { 0 },
            medeleg: 0,
            mideleg: 0,
            mie: 0,
            mip: 0,
            mscratch: 0,
            mepc: 0,
            mcause: 0,
            mtval: 0,
            mcounteren: 0,
            // As on QEMU's machines, these are on from reset.
            menvcfg: if isa.has(Extension::Svadu) && !isa.has(Extension::Svade) {
                environment::ADUE
            } else {
                0
            } | if isa.has(Extension::Svpbmt) { environment::PBMTE } else { 0 },
            stvec: 0,
            sscratch: 0,
            sepc: 0,
            scause: 0,
            stval: 0,
            scounteren: 0,
            senvcfg: 0,
            stimecmp: u64::MAX,
            satp: 0,
            satp_kept: {
                let (at, most) = if isa.is_rv64() { (44, 16) } else { (22, 9) };
                !(((1 << most) - (1 << asid_bits.min(most))) << at)
            },
            pmp: Pmp::permissive(isa.is_rv64()),
            reservation: None,
            custom: Custom::default(),
            extra: Extra::default(),
            vector: Vector::new(&isa),
            clic: isa.has(Extension::Smclic).then(Box::default),
        }
    }

    /// Cuts a value to the register width, sign-extended as registers hold it.
    #[inline(always)]
    pub(crate) fn canonical(&self, v: u64) -> u64 {
        self.isa.xlen().canonical(v)
    }

    /// Whether all integer registers and the program counter are as registers hold them.
    pub(crate) fn is_canonical(&self) -> bool {
        let registers = self.x[..32].iter().chain(&self.custom.other).chain([&self.pc]);
        self.isa.is_rv64() || registers.into_iter().all(|&v| self.canonical(v) == v)
    }

    /// A value as outsiders see it: zero-extended.
    pub(crate) fn outside(&self, v: u64) -> u64 {
        self.isa.xlen().outside(v)
    }

    #[inline(always)]
    pub(crate) fn set_x(&mut self, r: u8, v: u64) {
        debug_assert!(self.canonical(v) == v, "x{r} receives {v:#x}, which is not sign-extended");
        if r != 0 {
            self.x[usize::from(r)] = v;
        }
    }

    /// Whether `stimecmp` raises S-mode's timer interrupt.
    pub(crate) fn has_supervisor_timer(&self) -> bool {
        self.menvcfg & environment::STCE != 0
    }

    /// The alignment that jump targets need, less one.
    pub(crate) fn target_mask(&self) -> u64 {
        if self.isa.has(Extension::C) { 1 } else { 3 }
    }

    pub(crate) fn fp_enabled(&self) -> bool {
        self.mstatus & status::FS != 0
    }

    /// The privilege mode that loads and stores are checked for (privileged specification, 3.1.6.3).
    pub(crate) fn data_privilege(&self) -> Privilege {
        if self.mstatus & status::MPRV != 0 && self.privilege == Privilege::Machine {
            Privilege::from_bits(self.mstatus >> status::MPP_SHIFT)
        } else {
            self.privilege
        }
    }
}

impl Hart {
    /// The values of an instruction's two source registers, as outsiders see them.
    pub(crate) fn operands(&self, insn: &crate::insn::Insn) -> [u64; 2] {
        let both = [insn.rs1, insn.rs2].map(usize::from);
        match insn.row().class {
            crate::insn::Class::FpFp => both.map(|number| self.f[number]),
            _ => both.map(|number| self.outside(self.x[number])),
        }
    }

    /// The value of an instruction's destination register, as outsiders see it; 0 when it has none.
    pub(crate) fn destination(&self, insn: &crate::insn::Insn) -> u64 {
        match insn.row().format.rd() {
            crate::format::RegClass::X if insn.rd != 0 => self.outside(self.x[usize::from(insn.rd)]),
            crate::format::RegClass::F => self.f[usize::from(insn.rd)],
            _ => 0,
        }
    }
}
