//! How large a cache is, and in which shape.

use std::fmt;
use std::str::FromStr;

/// The shape of a cache, in Spike's notation: `sets:ways:line`, the line in bytes.
///
/// ```
/// use tollgate_riscv::cache::Geometry;
/// let icache: Geometry = "64:4:32".parse().unwrap();
/// assert_eq!((icache.sets(), icache.ways(), icache.line(), icache.bytes()), (64, 4, 32, 8192));
/// assert!("63:4:32".parse::<Geometry>().unwrap_err().to_string().contains("power of two"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Geometry {
    sets: u32,
    ways: u32,
    line: u32,
}

/// Shortest and longest line, in bytes.
const LINE: (u32, u32) = (4, 4096);
/// The most lines and the most bytes that a cache may have: enough for every real cache, and few enough
/// that the model needs a reasonable amount of memory.
const MOST_LINES: u64 = 1 << 22;
const MOST_BYTES: u64 = 1 << 28;

/// Why a cache cannot be built.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages describe the variants")]
pub enum CacheError {
    #[error("cache \"{0}\": give sets:ways:line, three whole numbers and the line in bytes, as in 64:4:32")]
    Form(String),
    #[error(
        "cache {0}: {1} sets; the sets are chosen by address bits, so their number must be a power of two"
    )]
    Sets(String, u32),
    #[error("cache {0}: 0 ways; a set needs at least 1")]
    NoWays(String),
    #[error("cache {0}: a line of {1} bytes; it must be a power of two, from 4 to 4096")]
    Line(String, u32),
    #[error("cache {0}: too large; at most 4194304 lines and 256 MiB")]
    TooLarge(String),
    /// Tree-PLRU divides the ways in halves.
    #[error(
        "cache {0}: tree-PLRU halves the ways again and again, so there must be 1, 2, 4, 8, 16, 32 or 64 of them"
    )]
    Tree(Geometry),
    #[error("cache {0}: a shift register chooses among 2, 4 or 8 ways, with lfsr16 also 16, 32 or 64")]
    Register(Geometry),
    #[error("policy \"{0}\": take lru, plru, fifo, random, lfsr or lfsr16")]
    Policy(String),
}

impl Geometry {
    /// A shape.
    ///
    /// # Errors
    /// When the number of sets or the line length is not a power of two, the line is not from 4 to 4,096 bytes, there
    /// are no ways, or there are more than 4 Mi lines or 256 MiB.
    pub fn new(sets: u32, ways: u32, line: u32) -> Result<Self, CacheError> {
        let name = || format!("{sets}:{ways}:{line}");
        if !sets.is_power_of_two() {
            return Err(CacheError::Sets(name(), sets));
        }
        if ways == 0 {
            return Err(CacheError::NoWays(name()));
        }
        if !line.is_power_of_two() || line < LINE.0 || line > LINE.1 {
            return Err(CacheError::Line(name(), line));
        }
        let lines = u64::from(sets) * u64::from(ways);
        if lines > MOST_LINES || lines * u64::from(line) > MOST_BYTES {
            return Err(CacheError::TooLarge(name()));
        }
        Ok(Self { sets, ways, line })
    }

    /// How many sets; a power of two.
    pub fn sets(&self) -> u32 {
        self.sets
    }

    /// How many lines of one set fit.
    pub fn ways(&self) -> u32 {
        self.ways
    }

    /// Bytes in a line; a power of two.
    pub fn line(&self) -> u32 {
        self.line
    }

    /// How many lines fit.
    pub fn lines(&self) -> u64 {
        u64::from(self.sets) * u64::from(self.ways)
    }

    /// How many bytes fit.
    pub fn bytes(&self) -> u64 {
        self.lines() * u64::from(self.line)
    }

    /// How far an address is shifted to give the number of its line.
    pub fn line_shift(&self) -> u32 {
        self.line.trailing_zeros()
    }
}

impl fmt::Display for Geometry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.sets, self.ways, self.line)
    }
}

impl FromStr for Geometry {
    type Err = CacheError;

    fn from_str(text: &str) -> Result<Self, CacheError> {
        let form = || CacheError::Form(text.to_owned());
        let mut parts = text.trim().split(':').map(|part| {
            let digits = !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
            digits.then_some(part)
        });
        let mut number = || -> Result<u32, CacheError> {
            let part = parts.next().flatten().ok_or_else(form)?;
            // Digits that do not fit are a number all the same.
            part.parse().map_err(|_| CacheError::TooLarge(text.to_owned()))
        };
        let (sets, ways, line) = (number()?, number()?, number()?);
        if parts.next().is_some() {
            return Err(form());
        }
        Self::new(sets, ways, line)
    }
}

#[cfg(test)]
mod tests {
    use super::{CacheError, Geometry};

    #[test]
    fn what_is_displayed_parses_to_the_same() {
        for text in ["8:1:8", "1:3:4", "64:4:64", "1:64:4096", "65536:1:4096"] {
            let parsed: Geometry = text.parse().unwrap();
            assert_eq!(parsed.to_string(), text);
        }
    }

    #[test]
    fn each_kind_of_invalid_geometry_has_its_error() {
        let refused = |text: &str| text.parse::<Geometry>().unwrap_err();
        for text in
            ["", "8", "8:1", "8:1:8:1", "8:1:", "a:b:c", "8:-1:8", "8:+1:8", "8 :1:8", "8:1:8B", "0x8:1:8"]
        {
            assert!(matches!(refused(text), CacheError::Form(_)), "{text}");
        }
        for text in ["0:1:8", "3:1:8", "100:1:8"] {
            assert!(matches!(refused(text), CacheError::Sets(..)), "{text}");
        }
        for text in ["8:1:0", "8:1:2", "8:1:12", "8:1:8192"] {
            assert!(matches!(refused(text), CacheError::Line(..)), "{text}");
        }
        assert!(matches!(refused("8:0:8"), CacheError::NoWays(_)));
        for text in ["4194304:2:4", "1:4294967295:4096", "131072:1:4096", "8:99999999999:8"] {
            assert!(matches!(refused(text), CacheError::TooLarge(_)), "{text}");
        }
    }
}
