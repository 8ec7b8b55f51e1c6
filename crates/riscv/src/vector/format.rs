//! How vector instructions are encoded and written (unprivileged specification, chapter 31).

use crate::format::{Operands, RegClass, Slot};

/// The format of a vector instruction. All have the registers at the same bits; what an instruction does not fix of the bits
/// from 25 on is its immediate: the mask bit is the lowest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct VectorFormat {
    pub(crate) mask: u32,
    pub(crate) slots: &'static [Slot],
    pub(crate) rd: RegClass,
    pub(crate) rs1: RegClass,
    pub(crate) rs2: RegClass,
}

/// Where the second operand of an operation comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    Vector,
    Integer,
    Float,
    Signed,
    Unsigned,
    /// Six bits, the highest of which is bit 26.
    Unsigned6,
    Nothing,
}

impl VectorFormat {
    pub(crate) fn source(&self) -> Source {
        let has = |slot| self.slots.contains(&slot);
        match self.rs1 {
            _ if has(Slot::Vs1) => Source::Vector,
            RegClass::X => Source::Integer,
            RegClass::F => Source::Float,
            _ if has(Slot::Simm) => Source::Signed,
            _ if has(Slot::Uimm) => Source::Unsigned,
            _ if has(Slot::Uimm6) => Source::Unsigned6,
            RegClass::None => Source::Nothing,
        }
    }

    /// Whether it is a load or store with a number of fields, which is in the name of the instruction.
    pub(crate) fn has_fields(&self) -> bool {
        self.mask >> 29 == 0 && self.slots.contains(&Slot::Address)
    }

    pub(crate) const fn extract(&self, w: u32) -> Operands {
        Operands {
            rd: (w >> 7 & 0x1f) as u8,
            rs1: (w >> 15 & 0x1f) as u8,
            rs2: (w >> 20 & 0x1f) as u8,
            rs3: (w >> 27) as u8,
            rm: (w >> 12 & 7) as u8,
            imm: (w >> 25) as i64,
        }
    }

    pub(crate) const fn insert(&self, o: &Operands) -> u32 {
        let registers = (o.rd as u32 & 31) << 7 | (o.rs1 as u32 & 31) << 15 | (o.rs2 as u32 & 31) << 20;
        (registers | (o.imm as u32 & 0x7f) << 25) & !self.mask
    }
}

macro_rules! formats {
    ($($(#[$doc:meta])* $name:ident $mask:literal [$($slot:ident)*] $rd:ident $rs1:ident $rs2:ident;)*) => {
        #[allow(non_upper_case_globals, reason = "they are used like the variants of `Format`")]
        impl crate::format::Format {
            $($(#[$doc])* pub const $name: Self = Self::Vector(&VectorFormat {
                mask: $mask, slots: &[$(Slot::$slot),*], rd: RegClass::$rd, rs1: RegClass::$rs1, rs2: RegClass::$rs2,
            });)*
        }
    };
}

formats! {
    /// `op vd, vs2, vs1, vm`
    Vv 0xfc00_707f [Vd Vs2 Vs1 Masked] None None None;
    /// `op vd, vs2, rs1, vm`
    Vx 0xfc00_707f [Vd Vs2 Rs1 Masked] None X None;
    /// `op vd, vs2, fs1, vm`
    Vf 0xfc00_707f [Vd Vs2 Rs1 Masked] None F None;
    /// `op vd, vs2, imm, vm`, signed
    Vi 0xfc00_707f [Vd Vs2 Simm Masked] None None None;
    /// `op vd, vs2, imm, vm`, unsigned
    Vu 0xfc00_707f [Vd Vs2 Uimm Masked] None None None;
    /// `op vd, vs2, imm, vm`, unsigned with six bits
    Vu6 0xf800_707f [Vd Vs2 Uimm6 Masked] None None None;
    /// `op vd, vs1, vs2, vm`
    MulVv 0xfc00_707f [Vd Vs1 Vs2 Masked] None None None;
    /// `op vd, rs1, vs2, vm`
    MulVx 0xfc00_707f [Vd Rs1 Vs2 Masked] None X None;
    /// `op vd, fs1, vs2, vm`
    MulVf 0xfc00_707f [Vd Rs1 Vs2 Masked] None F None;
    /// `op vd, vs2, vs1`
    Mm 0xfe00_707f [Vd Vs2 Vs1] None None None;
    /// `op vd, vs2, rs1`
    Mx 0xfe00_707f [Vd Vs2 Rs1] None X None;
    /// `op vd, vs2, imm`
    Mi 0xfe00_707f [Vd Vs2 Simm] None None None;
    /// `op vd, vs2, vs1, v0`
    Vvm 0xfe00_707f [Vd Vs2 Vs1 V0] None None None;
    /// `op vd, vs2, rs1, v0`
    Vxm 0xfe00_707f [Vd Vs2 Rs1 V0] None X None;
    /// `op vd, vs2, fs1, v0`
    Vfm 0xfe00_707f [Vd Vs2 Rs1 V0] None F None;
    /// `op vd, vs2, imm, v0`
    Vim 0xfe00_707f [Vd Vs2 Simm V0] None None None;
    /// `op vd, vs2, vm`
    V2 0xfc0f_f07f [Vd Vs2 Masked] None None None;
    /// `op rd, vs2, vm`
    X2 0xfc0f_f07f [Rd Vs2 Masked] X None None;
    /// `op vd, vs2`
    V2n 0xfe0f_f07f [Vd Vs2] None None None;
    /// `op rd, vs2`
    X2n 0xfe0f_f07f [Rd Vs2] X None None;
    /// `op fd, vs2`
    F2v 0xfe0f_f07f [Rd Vs2] F None None;
    /// `op vd, vm`
    Vd 0xfdff_f07f [Vd Masked] None None None;
    /// `op vd, vs1`
    V1n 0xfff0_707f [Vd Vs1] None None None;
    /// `op vd, rs1`
    X1n 0xfff0_707f [Vd Rs1] None X None;
    /// `op vd, fs1`
    F1v 0xfff0_707f [Vd Rs1] None F None;
    /// `op vd, imm`
    I1n 0xfff0_707f [Vd Simm] None None None;
    /// `op vd, (rs1), vm`, with a number of fields
    Unit 0x1df0_707f [Vd Address Masked] None X None;
    /// `op vd, (rs1), rs2, vm`
    Strided 0x1c00_707f [Vd Address Rs2 Masked] None X X;
    /// `op vd, (rs1), vs2, vm`
    Indexed 0x1c00_707f [Vd Address Vs2 Masked] None X None;
    /// `op vd, (rs1)`
    Whole 0xfff0_707f [Vd Address] None X None;
    /// `vsetvli rd, rs1, vtype`
    Setvli 0x8000_707f [Rd Rs1 Vtype] X X None;
    /// `vsetivli rd, imm, vtype`
    Setivli 0xc000_707f [Rd Uimm Vtype] X None None;
}

const SEW: [&str; 4] = ["e8", "e16", "e32", "e64"];
const LMUL: [&str; 8] = ["m1", "m2", "m4", "m8", "", "mf8", "mf4", "mf2"];

/// A type as it is written in `vsetvli`; one that has no name is a number.
pub(crate) fn vtype_text(vtype: i64) -> String {
    let [lmul, sew] = [vtype & 7, vtype >> 3 & 7].map(|bits| bits as usize);
    if vtype >> 8 != 0 || LMUL[lmul].is_empty() || sew > 3 {
        return vtype.to_string();
    }
    let tail = if vtype & 0x40 != 0 { "ta" } else { "tu" };
    let mask = if vtype & 0x80 != 0 { "ma" } else { "mu" };
    format!("{},{},{tail},{mask}", SEW[sew], LMUL[lmul])
}

/// The bits of a type from its names, separated by commas: LMUL is 1, and tail and mask are undisturbed, if they are not named.
pub(crate) fn vtype_bits(names: &[&str]) -> Option<i64> {
    let (sew, rest) = names.split_first()?;
    let mut bits = (SEW.iter().position(|name| name == sew)? as i64) << 3;
    let mut names = rest.iter().copied().peekable();
    if let Some(lmul) = names.next_if(|name| name.starts_with('m') && !matches!(*name, "ma" | "mu")) {
        bits |= LMUL.iter().position(|name| *name == lmul)? as i64;
    }
    for (set, clear, bit) in [("ta", "tu", 0x40), ("ma", "mu", 0x80)] {
        if let Some(name) = names.next_if(|name| *name == set || *name == clear) {
            bits |= if name == set { bit } else { 0 };
        }
    }
    names.next().is_none().then_some(bits)
}

/// The name of a load or store of several fields: `vle8.v` of three is `vlseg3e8.v`.
pub(crate) fn segment_name(mnemonic: &str, fields: i64) -> String {
    // Behind `vl` or `vs`, then the kind of its addresses.
    let at = match mnemonic.as_bytes().get(2) {
        Some(b's') => 3,
        Some(b'u' | b'o') => 4,
        _ => 2,
    };
    let (kind, rest) = mnemonic.split_at(at.min(mnemonic.len()));
    format!("{kind}seg{}{rest}", fields + 1)
}

/// The name of the load or store of one field, and how many there are less one; `None` if there is no number of fields in the
/// name.
pub(crate) fn plain_name(name: &str) -> Option<(String, i64)> {
    let at = name.find("seg")?;
    let fields = name.as_bytes().get(at + 3).filter(|digit| (b'2'..=b'8').contains(digit))?;
    Some((format!("{}{}", &name[..at], &name[at + 4..]), i64::from(fields - b'1')))
}
