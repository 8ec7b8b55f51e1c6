//! Which line a full set evicts, and how stores are handled.

use std::str::FromStr;

use serde::Deserialize;

use super::geometry::CacheError;

/// Which line a full set evicts. An empty place is used first, unless the policy says otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize, strum::Display)]
#[serde(try_from = "String")]
#[strum(serialize_all = "lowercase")]
pub enum Policy {
    /// The line that was not used for the longest time.
    #[default]
    Lru,
    /// A binary tree of bits for each set, each pointing away from the half that was used last. The number of
    /// ways must be a power of two, at most 64.
    Plru,
    /// The line that has been there for the longest time.
    Fifo,
    /// Any, each with the same chance; the same seed makes the same choices.
    Random {
        /// The seed of the choices.
        seed: u64,
    },
    /// The lowest bits of a linear feedback shift register that moves when a full set is filled, as in CVA6. The number
    /// of ways must be a power of two, from 2 to 8.
    Lfsr,
    /// The lowest bits of a linear feedback shift register of 16 bits that moves at each fill, whether the set has an empty
    /// place or not, as in Rocket. The number of ways must be a power of two, from 2 to 64.
    Lfsr16 {
        /// How often it has moved before the first fill.
        moves: u64,
    },
}

impl FromStr for Policy {
    type Err = CacheError;

    /// `lru`, `plru`, `fifo`, `random` (seed 1), `lfsr`, `lfsr16` (which has not moved).
    fn from_str(text: &str) -> Result<Self, CacheError> {
        match text {
            "lru" => Ok(Self::Lru),
            "plru" => Ok(Self::Plru),
            "fifo" => Ok(Self::Fifo),
            "random" => Ok(Self::Random { seed: 1 }),
            "lfsr" => Ok(Self::Lfsr),
            "lfsr16" => Ok(Self::Lfsr16 { moves: 0 }),
            _ => Err(CacheError::Policy(text.to_owned())),
        }
    }
}

impl TryFrom<String> for Policy {
    type Error = CacheError;

    fn try_from(text: String) -> Result<Self, CacheError> {
        text.parse()
    }
}

/// How stores are handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct WritePolicy {
    /// Whether a store stays in the cache until its line is evicted; otherwise each goes to memory at once,
    /// and no line is ever dirty.
    pub back: bool,
    /// Whether a store that misses brings its line in; otherwise it bypasses the cache.
    pub allocate: bool,
}

impl Default for WritePolicy {
    /// Write back, allocate.
    fn default() -> Self {
        Self { back: true, allocate: true }
    }
}

/// A Galois linear feedback shift register of four or eight bits, which begins with ones.
#[derive(Clone, Debug)]
pub(super) struct Register {
    bits: u8,
    taps: u8,
}

impl Register {
    /// As many bits as ways, but at least four.
    pub(super) fn new(ways: usize) -> Self {
        // Koopman, "Maximal length LFSR feedback terms".
        if ways <= 4 { Register { bits: 0xf, taps: 0xc } } else { Register { bits: 0xff, taps: 0xfa } }
    }

    /// Its lowest bits as a number below `ways`, a power of two; then it moves.
    pub(super) fn next(&mut self, ways: usize) -> usize {
        let way = usize::from(self.bits) & (ways - 1);
        self.bits = self.bits >> 1 ^ if self.bits & 1 != 0 { self.taps } else { 0 };
        way
    }
}

/// A Fibonacci linear feedback shift register of 16 bits, which begins with 1.
#[derive(Clone, Debug)]
pub(super) struct Register16(u16);

impl Register16 {
    pub(super) fn new(moves: u64) -> Self {
        let mut register = Register16(1);
        // Its period is one less than the number of states.
        for _ in 0..moves % u64::from(u16::MAX) {
            register.next(1);
        }
        register
    }

    /// Its lowest bits as a number below `ways`, a power of two; then it moves.
    pub(super) fn next(&mut self, ways: usize) -> usize {
        let bits = self.0;
        self.0 = bits << 1 | (bits >> 15 ^ bits >> 13 ^ bits >> 12 ^ bits >> 10) & 1;
        usize::from(bits) & (ways - 1)
    }
}

/// A generator of choices: SplitMix64 (Steele, Lea and Flood 2014), 64 bits of state.
#[derive(Clone, Debug)]
pub(super) struct Choices(u64);

impl Choices {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A number below `bound`, which is not 0.
    pub(super) fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^= z >> 31;
        // The upper 32 bits times the bound: no division, and even to one in 2^32 per way.
        (((z >> 32) * bound as u64) >> 32) as usize
    }
}
