//! Instructions that a machine does not have, by name: why an instruction is illegal.

use crate::compressed;
use crate::decode::decode_once;
use crate::isa::{Isa, Xlen};

/// Instructions of no machine here: mask, bits, name and extension (riscv-opcodes). The last rows of an extension are
/// for all that have no row of their own.
const FOREIGN: [(u32, u32, &str, &str); 16] = [
    (0xfe00_707f, 0x3200_0033, "aes64es", "Zkne"),
    (0xfe00_707f, 0x3600_0033, "aes64esm", "Zkne"),
    (0xfe00_707f, 0x3a00_0033, "aes64ds", "Zknd"),
    (0xfe00_707f, 0x3e00_0033, "aes64dsm", "Zknd"),
    (0xfff0_707f, 0x3000_1013, "aes64im", "Zknd"),
    (0xfff0_707f, 0x1000_1013, "sha256sum0", "Zknh"),
    (0xfff0_707f, 0x1010_1013, "sha256sum1", "Zknh"),
    (0xfff0_707f, 0x1020_1013, "sha256sig0", "Zknh"),
    (0xfff0_707f, 0x1030_1013, "sha256sig1", "Zknh"),
    (0xfe00_7fff, 0x2200_0073, "hfence.vvma", "H"),
    (0xfe00_7fff, 0x6200_0073, "hfence.gvma", "H"),
    (0xf000_707f, 0x6000_4073, "a load or store of a virtual machine", "H"),
    (0x0000_707f, 0x0000_4007, "flq", "Q"),
    (0x0000_707f, 0x0000_4027, "fsq", "Q"),
    (0x0600_007f, 0x0600_0053, "a quadruple-precision instruction", "Q"),
    (0x0600_0073, 0x0600_0043, "a quadruple-precision instruction", "Q"),
];

/// The name of an instruction that a machine with this ISA does not have, with its extension; `None` if it has it, or if
/// the bits encode nothing that is known here.
///
/// ```
/// use tollgate_riscv::{absent, Isa};
/// let isa = Isa::default();
/// let vector = "`vsetvli` of the extension 'v', which this machine's ISA string, rv64imafdc_zicsr_zifencei, leaves out";
/// assert_eq!(absent(0x0d05_f2d7, isa).as_deref(), Some(vector));
/// // add a0,a1,a0
/// assert_eq!(absent(0x00a5_8533, isa), None);
/// ```
pub fn absent(word: u32, isa: Isa) -> Option<String> {
    let there = |isa: Isa| decode_once(word, &isa);
    if there(isa).is_some() {
        return None;
    }
    let (other, width) = match isa.xlen() {
        Xlen::Rv32 => (Xlen::Rv64, "RV64"),
        Xlen::Rv64 => (Xlen::Rv32, "RV32"),
    };
    let quoted = |name: &str| if name.contains(' ') { name.to_string() } else { format!("`{name}`") };
    let foreign = || {
        let row = FOREIGN.iter().find(|(mask, bits, ..)| word & mask == *bits)?;
        Some(format!("{} of the {} extension, which this machine does not have", quoted(row.2), row.3))
    };
    if let Some(insn) = there(Isa::everything(isa.xlen())) {
        let row = insn.row();
        let short = compressed::row(word as u16, &Isa::everything(isa.xlen())).filter(|_| insn.len == 2);
        let missing = short.and_then(|short| short.extension.missing_from(&isa));
        let name = quoted(match short {
            Some(short) if missing.is_some_and(|missing| missing != "c") => short.mnemonic,
            _ => row.mnemonic,
        });
        let extension = missing.or_else(|| row.extension.missing_from(&isa)).unwrap_or("c");
        return Some(format!(
            "{name} of the extension '{extension}', which this machine's ISA string, {isa}, leaves out"
        ));
    }
    foreign().or_else(|| {
        let insn = there(Isa::everything(other))?;
        Some(format!("{}, which only {width} has", quoted(insn.row().mnemonic)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instruction_that_is_not_there_is_named() {
        let absent = |word, isa: &str| absent(word, isa.parse().unwrap()).unwrap_or_default();
        assert_eq!(absent(0xffff_ffff, "rv64gc"), "");
        // The words are those of GNU as: vle32.v v1,(a0); vadd.vi v1,v1,1; vandn.vv v1,v2,v3.
        for (word, name, extension) in [
            (0x0205_6087, "vle32.v", "v"),
            (0x0210_b0d7, "vadd.vi", "v"),
            (0x0621_80d7, "vandn.vv", "zvbb"),
            (0x0ec5_d533, "czero.eqz", "zicond"),
            (0x0420_f053, "fadd.h", "zfh"),
            (0x9d4d, "c.mul", "zcb"),
            (0x4225_8553, "fcvt.d.h", "zfhmin"),
        ] {
            let expected =
                format!("`{name}` of the extension '{extension}', which this machine's ISA string");
            assert!(absent(word, "rv64gc").starts_with(&expected), "{}", absent(word, "rv64gc"));
        }
        // sh1add a0,a1,a2; fadd.d fa0,fa1,fa2; c.li a0,1; ld a0,0(a1).
        assert!(
            absent(0x20c5_a533, "rv64gc")
                .starts_with("`sh1add` of the extension 'zba', which this machine's")
        );
        assert!(absent(0x02c5_f553, "rv64imac").starts_with("`fadd.d` of the extension 'd'"));
        assert!(absent(0x4505, "rv32im").starts_with("`addi` of the extension 'c'"));
        assert_eq!(absent(0x0005_b503, "rv32gc"), "`ld`, which only RV64 has");
    }

    #[test]
    fn no_instruction_of_the_table_is_foreign() {
        for row in crate::insn::INSTRUCTIONS {
            for (mask, bits, name, _) in FOREIGN {
                let same = mask & row.format.mask();
                // Bits that a row shares with another one are left to the table.
                let more = row.format.mask() & !mask;
                assert!(row.bits & same != bits & same || more != 0, "{} and {name}", row.mnemonic);
            }
        }
    }
}
