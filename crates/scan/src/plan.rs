//! What a scan does.

use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::path::PathBuf;
use tollgate_measure::clock::Source;

/// What to scan and how.
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
    /// The name in the record.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Normal => "normal",
            Self::Random => "random",
            Self::Sequential => "sequential",
        }
    }
}

/// The size of a page on this system.
#[must_use]
pub fn page_bytes() -> u64 {
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
