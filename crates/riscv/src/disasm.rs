//! Disassembly, by the table, in the form of GNU objdump without aliases.

use crate::compressed;
use crate::decode::decode_once;
use crate::format::Format;
use crate::insn::Insn;
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

const ROUNDING: [&str; 8] = ["rne", "rtz", "rdn", "rup", "rmm", "rm5", "rm6", "dyn"];

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
    compressed::row(word as u16, isa.xlen()).map(|r| r.mnemonic)
}

/// The text of a decoded instruction.
pub fn text(insn: &Insn) -> String {
    use Format::*;
    let row = insn.row();
    let m = row.mnemonic;
    let x = |r: u8| X_NAMES[usize::from(r & 31)];
    let f = |r: u8| F_NAMES[usize::from(r & 31)];
    let (rd, rs1, rs2, imm) = (insn.rd, insn.rs1, insn.rs2, insn.imm);
    // objdump leaves the rounding mode out when it is the dynamic one.
    let rm = match insn.rm & 7 {
        7 => String::new(),
        r => format!(",{}", ROUNDING[usize::from(r)]),
    };
    // An atomic's immediate is its acquire and release bits.
    let order = ["", ".rl", ".aq", ".aqrl"][(imm & 3) as usize];
    match row.format {
        R => format!("{m} {},{},{}", x(rd), x(rs1), x(rs2)),
        I => format!("{m} {},{},{imm}", x(rd), x(rs1)),
        Shift64 | Shift32 => format!("{m} {},{},{imm:#x}", x(rd), x(rs1)),
        U => format!("{m} {},{:#x}", x(rd), imm as u32 >> 12),
        J => format!("{m} {},pc{imm:+}", x(rd)),
        Jalr | Load => format!("{m} {},{imm}({})", x(rd), x(rs1)),
        Store => format!("{m} {},{imm}({})", x(rs2), x(rs1)),
        FLoad => format!("{m} {},{imm}({})", f(rd), x(rs1)),
        FStore => format!("{m} {},{imm}({})", f(rs2), x(rs1)),
        B => format!("{m} {},{},pc{imm:+}", x(rs1), x(rs2)),
        Fence => match imm & 0xfff {
            0x833 => "fence.tso".to_string(),
            _ => format!("{m} {},{}", fence_set(imm >> 4), fence_set(imm)),
        },
        FenceI | Plain => m.to_string(),
        Sfence => format!("{m} {},{}", x(rs1), x(rs2)),
        Csr => format!("{m} {},{},{}", x(rd), csr_text(imm), x(rs1)),
        CsrImm => format!("{m} {},{},{rs1}", x(rd), csr_text(imm)),
        Amo => format!("{m}{order} {},{},({})", x(rd), x(rs2), x(rs1)),
        Lr => format!("{m}{order} {},({})", x(rd), x(rs1)),
        FR4 => format!("{m} {},{},{},{}{rm}", f(rd), f(rs1), f(rs2), f(insn.rs3)),
        FR => format!("{m} {},{},{}{rm}", f(rd), f(rs1), f(rs2)),
        FRn => format!("{m} {},{},{}", f(rd), f(rs1), f(rs2)),
        F1 => format!("{m} {},{}{rm}", f(rd), f(rs1)),
        FCmp => format!("{m} {},{},{}", x(rd), f(rs1), f(rs2)),
        F2x => format!("{m} {},{}{rm}", x(rd), f(rs1)),
        F2xn => format!("{m} {},{}", x(rd), f(rs1)),
        X2f => format!("{m} {},{}{rm}", f(rd), x(rs1)),
        X2fn => format!("{m} {},{}", f(rd), x(rs1)),
        Cbo => format!("{m} ({})", x(rs1)),
        R1 | BankFrom | BankTo => format!("{m} {},{}", x(rd), x(rs1)),
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
