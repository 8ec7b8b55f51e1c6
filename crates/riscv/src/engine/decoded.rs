//! Instructions that were decoded not long ago: code is decoded again for each block that contains it, and again when all blocks
//! have been dropped.

use crate::decode::Decoder;
use crate::insn::Insn;
use crate::jump::boxed;

const ENTRIES: usize = 1 << 12;

/// Words and their instructions; each word has one place. (Zero is never an instruction.)
pub(crate) struct Decoded(Box<[(u32, Option<Insn>); ENTRIES]>);

impl Decoded {
    pub(crate) fn new() -> Self {
        Decoded(boxed((0, None)))
    }

    /// Decodes a word, of which the upper half is zero if the lower one is an instruction. The decoder must be the same
    /// each time.
    #[inline]
    pub(crate) fn decode(&mut self, decoder: &Decoder, word: u32) -> Option<Insn> {
        // (Fibonacci hashing.)
        let place = (word.wrapping_mul(0x9e37_79b9) >> 20) as usize % ENTRIES;
        let entry = &mut self.0[place];
        if entry.0 != word {
            *entry = (word, decoder.decode(word));
        }
        entry.1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_with_the_same_place_are_decoded_one_after_the_other() {
        let decoder = Decoder::new("rv64gc".parse().unwrap());
        let mut decoded = Decoded::new();
        // Both halves, illegal words among them; more than there are places, so that some share one.
        for word in (0..3 * ENTRIES as u32).map(|n| n.wrapping_mul(0x0001_0015)) {
            for _ in 0..2 {
                assert_eq!(decoded.decode(&decoder, word), decoder.decode(word), "{word:#x}");
            }
        }
        assert_eq!(decoded.decode(&decoder, 0), None);
    }
}
