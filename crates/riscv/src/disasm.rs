//! Disassembly, by the table, in the form of GNU objdump without aliases.

use std::fmt::Write;

use crate::compressed;
use crate::decode::decode_once;
use crate::format::{Format, RegClass, Slot, registers, vectors as vector};
use crate::fp::CONSTANTS;
use crate::insn::{Insn, Op};
use crate::isa::Isa;

/// The ABI names of the integer registers.
pub const X_NAMES: [&str; 32] = [
    "zero", "ra", "sp", "gp", "tp", "t0", "t1", "t2", "s0", "s1", "a0", "a1", "a2", "a3", "a4", "a5", "a6",
    "a7", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "t3", "t4", "t5", "t6",
];

/// The ABI names of the floating-point registers.
pub const F_NAMES: [&str; 32] = [
    "ft0", "ft1", "ft2", "ft3", "ft4", "ft5", "ft6", "ft7", "fs0", "fs1", "fa0", "fa1", "fa2", "fa3", "fa4",
    "fa5", "fa6", "fa7", "fs2", "fs3", "fs4", "fs5", "fs6", "fs7", "fs8", "fs9", "fs10", "fs11", "ft8",
    "ft9", "ft10", "ft11",
];

pub(crate) const ROUNDING: [&str; 8] = ["rne", "rtz", "rdn", "rup", "rmm", "rm5", "rm6", "dyn"];

/// The text of one instruction; a 16-bit one is written as the 32-bit one that it stands for. What is not an
/// instruction of this ISA is shown as data.
///
/// ```
/// use tollgate_riscv::{disassemble, Isa};
/// let isa = Isa::default();
/// assert_eq!(disassemble(0x00a5_8533, isa), "add a0,a1,a0");
/// assert_eq!(disassemble(0x3000_2573, isa), "csrrs a0,mstatus,zero");
/// assert_eq!(disassemble(0xffff_ffff, isa), ".4byte 0xffffffff");
/// ```
pub fn disassemble(word: u32, isa: Isa) -> String {
    match decode_once(word, &isa) {
        Some(insn) => text(&insn),
        None if word & 3 == 3 => format!(".4byte {word:#010x}"),
        None => format!(".2byte {:#06x}", word & 0xffff),
    }
}

/// The name of the 16-bit encoding, such as `c.addi`, if `word` is one.
pub fn compressed_mnemonic(word: u32, isa: Isa) -> Option<&'static str> {
    if word & 3 == 3 {
        return None;
    }
    compressed::row(word as u16, &isa).map(|r| r.mnemonic)
}

/// The text of a 16-bit instruction by its own name, such as `c.addi a0,-1`; the assembler gives the same bits for it.
///
/// ```
/// # use tollgate_riscv::{disassemble_compressed, Isa};
/// assert_eq!(disassemble_compressed(0x157d, Isa::default()).as_deref(), Some("c.addi a0,-1"));
/// assert_eq!(disassemble_compressed(0x0000, Isa::default()), None);
/// ```
pub fn disassemble_compressed(half: u16, isa: Isa) -> Option<String> {
    let insn = decode_once(half.into(), &isa).filter(|insn| insn.len == 2)?;
    let shape = compressed::shape(half, &isa)?;
    Some(written(shape.row.mnemonic, &shape.slots, &insn))
}

/// The text of a decoded instruction.
pub fn text(insn: &Insn) -> String {
    let row = insn.row();
    match row.format {
        Format::Fence if insn.imm & 0xfff == 0x833 => "fence.tso".to_string(),
        // An atomic's immediate is its acquire and release bits.
        Format::Amo | Format::Lr => {
            let order = ORDERS[(insn.imm & 3) as usize];
            written(&format!("{}{order}", row.mnemonic), row.format.syntax(), insn)
        }
        Format::Vector(format) if format.has_fields() && insn.imm >> 4 != 0 => {
            let name = vector::segment_name(row.mnemonic, insn.imm >> 4 & 7);
            written(&name, format.slots, insn)
        }
        _ => written(row.mnemonic, row.format.syntax(), insn),
    }
}

/// The suffixes of atomics, by their acquire and release bits.
pub(crate) const ORDERS: [&str; 4] = ["", ".rl", ".aq", ".aqrl"];

fn written(mnemonic: &str, slots: &[Slot], insn: &Insn) -> String {
    let row = insn.row();
    let register = |class, r: u8| match class {
        RegClass::F => F_NAMES[usize::from(r & 31)],
        _ => X_NAMES[usize::from(r & 31)],
    };
    let (imm, rs1) = (insn.imm, register(row.format.rs1(), insn.rs1));
    let mut out = mnemonic.to_string();
    let mut separator = ' ';
    for slot in slots {
        let omitted = match slot {
            Slot::Rounding => insn.rm & 7 == row.usual_rounding(),
            Slot::Masked => insn.imm & 1 != 0,
            _ => false,
        };
        if omitted {
            continue;
        }
        out.push(separator);
        separator = ',';
        let _ = match slot {
            Slot::Rd => write!(out, "{}", register(row.format.rd(), insn.rd)),
            Slot::Rs1 => write!(out, "{rs1}"),
            Slot::Rs2 => write!(out, "{}", register(row.format.rs2(), insn.rs2)),
            Slot::Rs3 => write!(out, "{}", register(row.format.rs3(), insn.rs3)),
            Slot::Imm => write!(out, "{imm}"),
            Slot::Shamt => write!(out, "{imm:#x}"),
            Slot::Upper => write!(out, "{:#x}", imm as u32 >> 12),
            Slot::Target => write!(out, "pc{imm:+}"),
            Slot::Memory => write!(out, "{imm}({rs1})"),
            Slot::Address => write!(out, "({rs1})"),
            Slot::Pred => write!(out, "{}", fence_set(imm >> 4)),
            Slot::Succ => write!(out, "{}", fence_set(imm)),
            Slot::Csr => write!(out, "{}", csr_text(imm)),
            Slot::Zimm => write!(out, "{}", insn.rs1),
            Slot::Vd => write!(out, "v{}", insn.rd),
            Slot::Vs1 => write!(out, "v{}", insn.rs1),
            Slot::Vs2 => write!(out, "v{}", insn.rs2),
            Slot::Masked => write!(out, "v0.t"),
            Slot::V0 => write!(out, "v0"),
            Slot::Simm => write!(out, "{}", i64::from(insn.rs1) - i64::from(insn.rs1 & 16) * 2),
            Slot::Uimm => write!(out, "{}", insn.rs1),
            Slot::Uimm6 => write!(out, "{}", i64::from(insn.rs1) | (imm & 2) << 4),
            Slot::Vtype => write!(out, "{}", vector::vtype_text(insn.vtype() as i64)),
            Slot::Constant => write!(out, "{}", CONSTANTS[usize::from(insn.rs1 & 31)]),
            Slot::Rounding => write!(out, "{}", ROUNDING[usize::from(insn.rm & 7)]),
            Slot::Registers => write!(out, "{}", list_text(insn.rs3)),
            Slot::Adjustment => {
                let bytes = registers::room(insn.rs3, row.width.word()) + imm;
                write!(out, "{}{bytes}", if matches!(insn.op, Op::CmPush | Op::CmPush32) { "-" } else { "" })
            }
            Slot::SavedD => write!(out, "{}", register(RegClass::X, insn.rd)),
            Slot::Saved1 => write!(out, "{rs1}"),
            Slot::Saved2 => write!(out, "{}", register(RegClass::X, insn.rs2)),
            Slot::Saved3 => write!(out, "{}", register(RegClass::X, insn.rs3)),
        };
    }
    out
}

/// A list of registers as GNU objdump writes it: `{ra, s0-s2}`.
pub(crate) fn list_text(encoded: u8) -> String {
    match registers::list(encoded) {
        [_, first, .., last] => {
            let [first, last] = [first, last].map(|r| X_NAMES[usize::from(*r)]);
            format!("{{ra,{first}-{last}}}")
        }
        [_, only] => format!("{{ra,{}}}", X_NAMES[usize::from(*only)]),
        _ => "{ra}".to_string(),
    }
}

fn fence_set(bits: i64) -> String {
    let set: String =
        "iorw".chars().zip([8, 4, 2, 1]).filter(|(_, b)| bits & b != 0).map(|(c, _)| c).collect();
    if set.is_empty() { "unknown".to_string() } else { set }
}

fn csr_text(number: i64) -> String {
    match crate::csr::name(number as u16) {
        Some(name) => name,
        None => format!("{:#x}", number & 0xfff),
    }
}
