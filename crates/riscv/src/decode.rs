//! From instruction words to [`Insn`], by the table.

use crate::compressed;
use crate::insn::{INSTRUCTIONS, Insn, Row};
use crate::isa::{Extension, Isa};

/// The decoder of one ISA: the table's rows, sorted into buckets by the bits that all formats share.
pub struct Decoder {
    isa: Isa,
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
        let mut buckets = vec![Vec::new(); 256];
        for row in INSTRUCTIONS.iter().filter(|r| r.in_isa(&isa)) {
            for (index, bucket) in buckets.iter_mut().enumerate() {
                let word = bucket_bits(index);
                if word & row.format.mask() == row.bits & BUCKET_MASK & row.format.mask() {
                    bucket.push(row);
                }
            }
        }
        Decoder { isa, buckets }
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
    Insn { op: row.op, rd: o.rd, rs1: o.rs1, rs2: o.rs2, rs3: o.rs3, rm: o.rm, len: 4, imm: o.imm }
}

/// Decodes by going through the table from top to bottom, without preparation. Slower than a [`Decoder`].
pub(crate) fn decode_once(word: u32, isa: &Isa) -> Option<Insn> {
    let (full, len) = match word & 3 {
        3 => (word, 4),
        _ if isa.has(Extension::C) => (compressed::expand(word as u16, isa)?, 2),
        _ => return None,
    };
    let row = INSTRUCTIONS.iter().find(|r| r.in_isa(isa) && r.matches(full))?;
    Some(Insn { len, ..with_operands(row, full) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::Operands;
    use crate::isa::Xlen;
    use proptest::prelude::*;

    /// `zext.h` is the special case of these with `x0`, with a name of its own. Its row comes before theirs.
    const SPECIAL: [(&str, &str); 2] = [("zext.h", "pack"), ("zext.h", "packw")];

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
                    let names = (a.mnemonic, b.mnemonic);
                    let differs = a.bits & common != b.bits & common;
                    assert!(differs || SPECIAL.contains(&names), "{names:?} overlap");
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
        }
    }
}
