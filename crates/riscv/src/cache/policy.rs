//! Which line a full set evicts, and how stores are handled.

use std::str::FromStr;

use serde::Deserialize;

use super::geometry::CacheError;

/// Which line a full set evicts. An empty place is always used first.
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
}

impl FromStr for Policy {
    type Err = CacheError;

    /// `lru`, `plru`, `fifo`, `random` (seed 1).
    fn from_str(text: &str) -> Result<Self, CacheError> {
        match text {
            "lru" => Ok(Self::Lru),
            "plru" => Ok(Self::Plru),
            "fifo" => Ok(Self::Fifo),
            "random" => Ok(Self::Random { seed: 1 }),
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
