//! The plan of a scan.

use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;
use tollgate_measure::clock::Source;
use tollgate_record::number::bytes as human;
use tollgate_record::parse::bytes;

/// A plan of scans.
#[derive(Clone, Debug)]
pub struct ScanPlan {
    /// The file to map; `None` for a temporary file.
    pub file: Option<PathBuf>,
    /// How much of the file each scan goes over.
    pub sizes: Vec<u64>,
    /// The order of the touches.
    pub pattern: Pattern,
    /// The advice to the kernel (madvise).
    pub advice: Advice,
    /// Bytes of memory that the scan may use, with its page cache.
    pub memory_limit: Option<u64>,
    /// Keep the pages of the file that are in the page cache.
    pub warm: bool,
    /// How long all scans may touch, together.
    pub time: Duration,
    /// Seed of the random order.
    pub seed: u64,
    /// The CPU of the process that touches.
    pub cpu: usize,
    /// The clock that times single touches.
    pub source: Source,
    /// Program and first arguments of the process that touches; its job, for [`touch`](crate::touch()), is one more argument.
    pub toucher: Vec<OsString>,
}

/// The order in which pages are touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pattern {
    /// Each page after the one before.
    Sequential,
    /// As many touches as pages, each of a random page.
    Random,
    /// One touch in each step of this many bytes.
    Stride(u64),
}

/// The advice to the kernel (madvise).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Advice {
    /// `MADV_NORMAL`: nothing.
    Normal,
    /// `MADV_RANDOM`: do not read ahead.
    Random,
    /// `MADV_SEQUENTIAL`: read far ahead.
    Sequential,
}

impl ScanPlan {
    /// The time of all scans, unless another is asked for.
    pub const TIME: Duration = Duration::from_secs(60);

    /// An announcement of the work and its longest time.
    pub fn announced(&self) -> String {
        let sizes: Vec<String> = self.sizes.iter().map(|&size| human(size as f64)).collect();
        let seconds = self.time.as_secs_f64();
        format!(
            "scanning {} ({}): at most {seconds} s; --for allows more or less",
            sizes.join(", "),
            self.pattern.name()
        )
    }

    /// Checks the options against each other.
    ///
    /// # Errors
    /// A size that is smaller than a step of the pattern.
    pub fn check(&self) -> Result<(), String> {
        let step = self.pattern.step();
        match self.sizes.iter().find(|&&size| size < step) {
            Some(size) => {
                Err(format!("--size {size} is less than one step of {step} bytes; nothing would be touched"))
            }
            None => Ok(()),
        }
    }
}

impl Pattern {
    /// Parses the name of a pattern.
    ///
    /// # Errors
    /// An unknown pattern, and a stride that is not a whole number of pages.
    pub fn parse(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            None if text == "sequential" => Ok(Self::Sequential),
            None if text == "random" => Ok(Self::Random),
            Some(("stride", step)) => {
                let step = size(step)?;
                let page = page_bytes();
                if step.is_multiple_of(page) {
                    Ok(Self::Stride(step))
                } else {
                    Err(format!(
                        "a stride is a whole number of pages of {page} bytes, for example stride:64K"
                    ))
                }
            }
            _ => Err("a pattern is sequential, random or stride:SIZE, for example stride:64K".into()),
        }
    }

    /// Bytes between two touches, for the number of touches.
    pub(crate) fn step(self) -> u64 {
        match self {
            Self::Sequential | Self::Random => page_bytes(),
            Self::Stride(step) => step,
        }
    }

    /// The name in the record.
    pub(crate) fn name(self) -> String {
        match self {
            Self::Sequential => "sequential".into(),
            Self::Random => "random".into(),
            Self::Stride(step) => format!("stride:{step}"),
        }
    }
}

impl Advice {
    /// Each hint by its name on the command line, with a description.
    pub const NAMES: &[(&str, Self, &str)] = &[
        ("normal", Self::Normal, "Nothing (MADV_NORMAL)"),
        ("random", Self::Random, "That reading ahead does not help (MADV_RANDOM)"),
        ("sequential", Self::Sequential, "That reading far ahead helps (MADV_SEQUENTIAL)"),
    ];

    /// The name in the record.
    pub(crate) fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, advice, _)| *advice == self).map_or("", |(name, ..)| name)
    }
}

/// The size of a page on this system.
#[must_use]
pub(crate) fn page_bytes() -> u64 {
    // SAFETY: sysconf has no memory arguments.
    u64::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096)
}

/// A hash of a number: the finalizer of SplitMix64.
pub(crate) fn mix(number: u64) -> u64 {
    let mut z = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Parses a size that is not zero.
///
/// # Errors
/// A text that is not a size, and 0.
pub fn size(text: &str) -> Result<u64, String> {
    match bytes(text, 1)? {
        0 => Err("a size of 0 touches nothing; give one from one page, for example 64M".into()),
        size => Ok(size),
    }
}

#[cfg(test)]
mod tests {
    use super::{Pattern, size};

    #[test]
    fn patterns_are_read_and_wrong_ones_are_refused() {
        assert_eq!(Pattern::parse("random"), Ok(Pattern::Random));
        assert_eq!(Pattern::parse("stride:1M"), Ok(Pattern::Stride(1 << 20)));
        for wrong in ["", "stride", "stride:", "stride:0", "stride:100", "zigzag", "random:4K"] {
            assert!(Pattern::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn sizes_are_not_zero_and_do_not_overflow() {
        assert_eq!(size("64M"), Ok(64 << 20));
        for wrong in ["0", "0K", "-1", "1.5G", "99999999999G", "x"] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
    }
}
