//! Instructions that a machine does not have, by name: why an instruction is illegal.

use crate::decode::decode_once;
use crate::isa::{Isa, Xlen};

/// Instructions of no machine here: mask, bits, name and extension (riscv-opcodes). Of an extension with hundreds, the last row is
/// for all that have no row of their own.
const FOREIGN: [(u32, u32, &str, &str); 66] = [
    (0x8000_707f, 0x0000_7057, "vsetvli", "V"),
    (0xc000_707f, 0xc000_7057, "vsetivli", "V"),
    (0xfe00_707f, 0x8000_7057, "vsetvl", "V"),
    (0x1df0_707f, 0x0000_0007, "vle8.v", "V"),
    (0x1df0_707f, 0x0000_5007, "vle16.v", "V"),
    (0x1df0_707f, 0x0000_6007, "vle32.v", "V"),
    (0x1df0_707f, 0x0000_7007, "vle64.v", "V"),
    (0x1df0_707f, 0x0000_0027, "vse8.v", "V"),
    (0x1df0_707f, 0x0000_5027, "vse16.v", "V"),
    (0x1df0_707f, 0x0000_6027, "vse32.v", "V"),
    (0x1df0_707f, 0x0000_7027, "vse64.v", "V"),
    (0x0000_007f, 0x0000_0057, "a vector instruction", "V"),
    (0x0000_707f, 0x0000_0007, "a vector load", "V"),
    (0x0000_507f, 0x0000_5007, "a vector load", "V"),
    (0x0000_707f, 0x0000_0027, "a vector store", "V"),
    (0x0000_507f, 0x0000_5027, "a vector store", "V"),
    (0xfe00_707f, 0x0e00_5033, "czero.eqz", "Zicond"),
    (0xfe00_707f, 0x0e00_7033, "czero.nez", "Zicond"),
    (0xfe00_707f, 0x0a00_1033, "clmul", "Zbc"),
    (0xfe00_707f, 0x0a00_2033, "clmulr", "Zbc"),
    (0xfe00_707f, 0x0a00_3033, "clmulh", "Zbc"),
    (0xfe00_707f, 0x0800_4033, "pack", "Zbkb"),
    (0xfe00_707f, 0x0800_7033, "packh", "Zbkb"),
    (0xfe00_707f, 0x0800_403b, "packw", "Zbkb"),
    (0xfff0_707f, 0x6870_5013, "brev8", "Zbkb"),
    (0xfe00_707f, 0x2800_2033, "xperm4", "Zbkx"),
    (0xfe00_707f, 0x2800_4033, "xperm8", "Zbkx"),
    (0xfe00_707f, 0x3200_0033, "aes64es", "Zkne"),
    (0xfe00_707f, 0x3600_0033, "aes64esm", "Zkne"),
    (0xfe00_707f, 0x3a00_0033, "aes64ds", "Zknd"),
    (0xfe00_707f, 0x3e00_0033, "aes64dsm", "Zknd"),
    (0xfff0_707f, 0x3000_1013, "aes64im", "Zknd"),
    (0xfff0_707f, 0x1000_1013, "sha256sum0", "Zknh"),
    (0xfff0_707f, 0x1010_1013, "sha256sum1", "Zknh"),
    (0xfff0_707f, 0x1020_1013, "sha256sig0", "Zknh"),
    (0xfff0_707f, 0x1030_1013, "sha256sig1", "Zknh"),
    (0xffff_ffff, 0x00d0_0073, "wrs.nto", "Zawrs"),
    (0xffff_ffff, 0x01d0_0073, "wrs.sto", "Zawrs"),
    (0xf800_707f, 0x2800_202f, "amocas.w", "Zacas"),
    (0xf800_707f, 0x2800_302f, "amocas.d", "Zacas"),
    (0xf800_707f, 0x2800_402f, "amocas.q", "Zacas"),
    (0x0000_707f, 0x0000_002f, "an atomic of a byte", "Zabha"),
    (0x0000_707f, 0x0000_102f, "an atomic of a halfword", "Zabha"),
    (0xb3c0_707f, 0x81c0_4073, "mop.r.n", "Zimop"),
    (0xb200_707f, 0x8200_4073, "mop.rr.n", "Zimop"),
    (0xfe00_7fff, 0x2200_0073, "hfence.vvma", "H"),
    (0xfe00_7fff, 0x6200_0073, "hfence.gvma", "H"),
    (0xf000_707f, 0x6000_4073, "a load or store of a virtual machine", "H"),
    (0xfff0_707f, 0xf010_0053, "fli.s", "Zfa"),
    (0xfff0_707f, 0xf210_0053, "fli.d", "Zfa"),
    (0xfff0_007f, 0x4040_0053, "fround.s", "Zfa"),
    (0xfff0_007f, 0x4240_0053, "fround.d", "Zfa"),
    (0xfff0_707f, 0xc280_1053, "fcvtmod.w.d", "Zfa"),
    (0x0000_707f, 0x0000_1007, "flh", "Zfh"),
    (0x0000_707f, 0x0000_1027, "fsh", "Zfh"),
    (0x0600_007f, 0x0400_0053, "a half-precision instruction", "Zfh"),
    (0x0600_0073, 0x0400_0043, "a half-precision instruction", "Zfh"),
    (0x0000_707f, 0x0000_4007, "flq", "Q"),
    (0x0000_707f, 0x0000_4027, "fsq", "Q"),
    (0x0600_007f, 0x0600_0053, "a quadruple-precision instruction", "Q"),
    (0x0600_0073, 0x0600_0043, "a quadruple-precision instruction", "Q"),
    (0xffff_fc03, 0x0000_8000, "c.lbu", "Zcb"),
    (0xffff_fc43, 0x0000_8400, "c.lhu", "Zcb"),
    (0xffff_fc03, 0x0000_8800, "c.sb", "Zcb"),
    (0xffff_fc63, 0x0000_9c41, "c.mul", "Zcb"),
    (0xffff_fc63, 0x0000_9c61, "a 16-bit extension of a sign or of zeros", "Zcb"),
];

/// The name of an instruction that a machine with this ISA does not have, with its extension; `None` if it has it, or if
/// the bits encode nothing that is known here.
///
/// ```
/// use tollgate_riscv::{absent, Isa};
/// let isa = Isa::default();
/// let vector = "`vsetvli` of the V extension, which this machine does not have";
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
        let extension = if isa.has(row.extension) { "c" } else { row.extension.name() };
        let name = quoted(row.mnemonic);
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
        // The words are those of GNU as: vle32.v v1,(a0); vadd.vi v1,v1,1; czero.eqz a0,a1,a2; fadd.h ft0,ft1,ft2; c.mul a0,a1.
        for (word, expected) in [
            (0x0205_6087, "`vle32.v` of the V extension, which this machine does not have"),
            (0x0210_b0d7, "a vector instruction of the V extension, which this machine does not have"),
            (0x0ec5_d533, "`czero.eqz` of the Zicond extension, which this machine does not have"),
            (
                0x0420_f053,
                "a half-precision instruction of the Zfh extension, which this machine does not have",
            ),
            (0x9d4d, "`c.mul` of the Zcb extension, which this machine does not have"),
            (0xffff_ffff, ""),
        ] {
            assert_eq!(absent(word, "rv64gc"), expected, "{word:#x}");
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
