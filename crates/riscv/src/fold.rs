//! A hash for the maps of this crate: fast, and not against keys that somebody chose so that they collide.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A map with that hash.
pub type Map<K, V> = HashMap<K, V, BuildHasherDefault<Fold>>;

/// Folds words of 64 bits into one.
#[derive(Clone, Copy, Debug, Default)]
pub struct Fold(u64);

impl Hasher for Fold {
    fn finish(&self) -> u64 {
        // Maps take the highest bits and the lowest.
        self.0 ^ self.0 >> 32
    }

    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        words.iter().for_each(|word| self.write_u64(u64::from_le_bytes(*word)));
        rest.iter().for_each(|&byte| self.write_u8(byte));
    }

    fn write_u8(&mut self, word: u8) {
        self.write_u64(word.into());
    }

    fn write_u16(&mut self, word: u16) {
        self.write_u64(word.into());
    }

    fn write_u32(&mut self, word: u32) {
        self.write_u64(word.into());
    }

    #[inline]
    fn write_u64(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(23) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn write_usize(&mut self, word: usize) {
        self.write_u64(word as u64);
    }
}
