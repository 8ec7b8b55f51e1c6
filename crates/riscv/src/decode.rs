//! From instruction words to [`Insn`], by the table.

use crate::compressed;
use crate::format::Format;
use crate::format::registers::FEWEST;
use crate::insn::{INSTRUCTIONS, Insn, Row, row_of};
use crate::isa::{Extension, Isa};

/// The decoder of one ISA: the table's rows, sorted into buckets by the bits that all formats share.
///
/// Where two rows match a word, the one that fixes more bits is meant: it redefines a hint or an operation that was reserved
/// for that, such as `lpad`, which is an `auipc` to `x0`.
pub struct Decoder {
    isa: Isa,
    /// Rows that are encoded in 16 bits themselves.
    short: Vec<&'static Row>,
    /// Rows for each value of bits 6:2 and 14:12; most buckets hold one to ten.
    buckets: Vec<Vec<&'static Row>>,
}

impl Decoder {
    /// Prepares the decoder of an ISA.
    ///
    /// ```
    /// use tollgate_riscv::{Decoder, Isa, Op};
    /// let decoder = Decoder::new("rv32imc".parse().unwrap());
    /// assert_eq!(decoder.decode(0x0000_8082).unwrap().op, Op::Jalr); // c.jr ra
    /// assert_eq!(decoder.decode(0x0000_0000), None); // all zeros is never an instruction
    /// assert_eq!(decoder.decode(0x0000_3503), None); // ld a0, 0(zero): only RV64 has it
    /// ```
    pub fn new(isa: Isa) -> Self {
        let mut buckets: Vec<Vec<&Row>> = vec![Vec::new(); 256];
        for row in INSTRUCTIONS.iter().filter(|r| r.in_isa(&isa)) {
            for (index, bucket) in buckets.iter_mut().enumerate() {
                let word = bucket_bits(index);
                if word & row.format.mask() == row.bits & BUCKET_MASK & row.format.mask() {
                    bucket.push(row);
                }
            }
        }
        buckets.iter_mut().for_each(|bucket| bucket.sort_by_key(|row| row.generality()));
        let short = INSTRUCTIONS.iter().filter(|row| row.is_short() && row.in_isa(&isa)).collect();
        Decoder { isa, short, buckets }
    }

    /// The ISA.
    pub fn isa(&self) -> Isa {
        self.isa
    }

    /// Decodes the instruction in the low bits of `word`. `None` is an illegal instruction.
    pub fn decode(&self, word: u32) -> Option<Insn> {
        if word & 3 != 3 {
            if !self.isa.has(Extension::C) {
                return None;
            }
            if let Some(row) = self.short.iter().find(|row| row.matches(word)) {
                return legal(with_operands(row, word));
            }
            let full = compressed::expand(word as u16, &self.isa)?;
            return self.decode_full(full).map(|i| Insn { len: 2, ..i });
        }
        self.decode_full(word)
    }

    fn decode_full(&self, word: u32) -> Option<Insn> {
        let bucket = &self.buckets[bucket_index(word)];
        bucket.iter().find(|r| r.matches(word)).map(|r| with_operands(r, word))
    }
}

const BUCKET_MASK: u32 = 0x0000_707f;

fn bucket_index(word: u32) -> usize {
    (word >> 2 & 0x1f | word >> 7 & 0xe0) as usize
}

fn bucket_bits(index: usize) -> u32 {
    let index = index as u32;
    (index & 0x1f) << 2 | (index & 0xe0) << 7 | 3
}

pub(crate) fn with_operands(row: &Row, word: u32) -> Insn {
    let o = row.format.extract(word);
    let len = if row.is_short() { 2 } else { 4 };
    Insn { op: row.op, rd: o.rd, rs1: o.rs1, rs2: o.rs2, rs3: o.rs3, rm: o.rm, len, imm: o.imm }
}

/// An instruction of 16 bits, unless its operands are reserved.
fn legal(insn: Insn) -> Option<Insn> {
    match insn.row().format {
        Format::Registers if insn.rs3 < FEWEST => None,
        // Zcmp, 28.13.8: the two destinations must differ.
        Format::MoveTo if insn.rd == insn.rs3 => None,
        _ => Some(insn),
    }
}

/// Decodes by going through the table from top to bottom, without preparation. Slower than a [`Decoder`].
pub(crate) fn decode_once(word: u32, isa: &Isa) -> Option<Insn> {
    let (full, len) = match word & 3 {
        3 => (word, 4),
        _ if isa.has(Extension::C) => match row_of(word & 0xffff, isa) {
            Some(row) => return legal(with_operands(row, word)),
            None => (compressed::expand(word as u16, isa)?, 2),
        },
        _ => return None,
    };
    let row = row_of(full, isa)?;
    Some(Insn { len, ..with_operands(row, full) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::Operands;
    use crate::isa::Xlen;
    use proptest::prelude::*;

    /// Special cases of another instruction, with a name of their own, and what they are cases of.
    const SPECIAL: [(&str, &str); 6] = [
        ("zext.h", "pack"),
        ("zext.h", "packw"),
        ("lpad", "auipc"),
        ("sspush", "mop.rr.7"),
        ("sspopchk", "mop.r.28"),
        ("ssrdp", "mop.r.28"),
    ];

    #[test]
    fn no_two_instructions_overlap() {
        for xlen in [Xlen::Rv32, Xlen::Rv64] {
            let isa = Isa::everything(xlen);
            let rows: Vec<_> = INSTRUCTIONS.iter().filter(|r| r.in_isa(&isa)).collect();
            for (i, a) in rows.iter().enumerate() {
                assert_eq!(a.bits & !a.format.mask(), 0, "{} has bits outside its mask", a.mnemonic);
                assert_eq!(a.bits & 3, 3, "{} is not a 32-bit encoding", a.mnemonic);
                for b in &rows[i + 1..] {
                    let common = a.format.mask() & b.format.mask();
                    let mut pair = [a, b];
                    pair.sort_by_key(|row| row.generality());
                    let names = (pair[0].mnemonic, pair[1].mnemonic);
                    let differs = a.bits & common != b.bits & common;
                    // (The special case fixes all bits that the other one fixes.)
                    let is_special = SPECIAL.contains(&names) && common == pair[1].format.mask();
                    assert!(differs || is_special, "{names:?} overlap");
                }
            }
        }
    }

    #[test]
    fn rows_stand_where_their_op_says() {
        for (i, row) in INSTRUCTIONS.iter().enumerate() {
            assert_eq!(row.op as usize, i);
            assert!(std::ptr::eq(row.op.row(), row));
        }
    }

    #[test]
    fn every_row_decodes_to_itself_with_its_operands() {
        for xlen in [Xlen::Rv32, Xlen::Rv64] {
            let isa = Isa::everything(xlen);
            let decoder = Decoder::new(isa);
            for row in INSTRUCTIONS.iter().filter(|r| r.in_isa(&isa)) {
                for imm in [0, -2, 2, 30, -2048, 2046, 0x7000, -0x7000] {
                    let o = Operands { rd: 13, rs1: 21, rs2: 7, rs3: 30, rm: 4, imm };
                    let word = Insn::encode(row.op, o);
                    let insn =
                        decoder.decode(word).unwrap_or_else(|| panic!("{} does not decode", row.mnemonic));
                    if SPECIAL.contains(&(insn.row().mnemonic, row.mnemonic)) {
                        continue;
                    }
                    assert_eq!(insn.op, row.op);
                    let again = Operands {
                        rd: insn.rd,
                        rs1: insn.rs1,
                        rs2: insn.rs2,
                        rs3: insn.rs3,
                        rm: insn.rm,
                        imm: insn.imm,
                    };
                    assert_eq!(Insn::encode(insn.op, again), word, "{}", row.mnemonic);
                }
            }
        }
    }

    proptest! {
        #[test]
        fn buckets_agree_with_the_plain_table(word: u32, rv64: bool) {
            let isa = Isa::everything(if rv64 { Xlen::Rv64 } else { Xlen::Rv32 });
            prop_assert_eq!(Decoder::new(isa).decode(word), decode_once(word, &isa));
            let zcmp: Isa = if rv64 { "rv64imac_zcmp" } else { "rv32imac_zcmp" }.parse().unwrap();
            prop_assert_eq!(Decoder::new(zcmp).decode(word), decode_once(word, &zcmp));
        }
    }
}
