//! How vector instructions are encoded and written (unprivileged specification, chapter 31).

use super::operand::{Operands, RegClass, Slot};

/// The format of a vector instruction. All have the registers at the same bits; what an instruction does not fix of the bits
/// from 25 on is its immediate: the mask bit is the lowest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct VectorFormat {
    pub(crate) mask: u32,
    pub(crate) slots: &'static [Slot],
    pub(crate) rd: RegClass,
    pub(crate) rs1: RegClass,
    pub(crate) rs2: RegClass,
    pub(crate) source: Source,
}

/// Where the second operand of an operation comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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

impl Source {
    /// The source of a format: what is in the place of `rs1`.
    pub(crate) const fn of(slots: &[Slot], rs1: RegClass) -> Self {
        let mut at = 0;
        while at < slots.len() {
            match slots[at] {
                Slot::Vs1 => return Source::Vector,
                Slot::Simm => return Source::Signed,
                Slot::Uimm => return Source::Unsigned,
                Slot::Uimm6 => return Source::Unsigned6,
                _ => at += 1,
            }
        }
        match rs1 {
            RegClass::X => Source::Integer,
            RegClass::F => Source::Float,
            RegClass::None => Source::Nothing,
        }
    }
}

impl VectorFormat {
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
