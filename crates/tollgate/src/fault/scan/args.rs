//! The command line of a scan.

use crate::cli::Sampling;
use crate::cli::size::bytes;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

#[derive(clap::Args)]
#[command(
    after_help = "A file of its own is written with real bytes to TMPDIR (or /var/tmp where that is in memory) \
                  and has no name: nothing is left of it, however the program ends.\n\nExamples:\n  \
                  tollgate fault scan --size 256M,1G\n  \
                  tollgate fault scan --size 1G --memory-limit 256M\n  \
                  tollgate fault scan --size 1G --memory-limit 256M --pattern random --advice random\n  \
                  tollgate fault scan --file big.img --size 1G,20G --pattern stride:64K"
)]
pub(crate) struct ScanArgs {
    /// The file to map, read only [default: one of its own, made and removed]
    #[arg(long, value_name = "FILE")]
    pub(super) file: Option<PathBuf>,
    /// How much of the file to go over, for each scan: bytes, or with K, M, G (1,024) or kB, MB, GB (1,000) [default: 1G; with --quick 256M]
    #[arg(long, value_name = "SIZE,...", value_delimiter = ',', value_parser = size)]
    size: Vec<u64>,
    /// In which order: sequential, random, or stride:SIZE
    #[arg(long, default_value = "sequential", value_parser = Pattern::parse)]
    pub(super) pattern: Pattern,
    /// What the kernel is told of it (madvise)
    #[arg(long, value_enum, default_value_t = Advice::Normal)]
    pub(super) advice: Advice,
    /// The memory that the scan may use, its page cache included, in a control group of its own
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(super) memory_limit: Option<u64>,
    /// Leave in the page cache what is there of the file
    #[arg(long)]
    pub(super) warm: bool,
    #[command(flatten)]
    pub(super) sampling: Sampling,
}

/// In which order the pages are touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Pattern {
    /// Each page after the one before.
    Sequential,
    /// As many touches as there are pages, each of a page drawn from all.
    Random,
    /// One touch for each so many bytes.
    Stride(u64),
}

/// What the kernel is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Advice {
    /// Nothing (MADV_NORMAL)
    Normal,
    /// That reading ahead is no use (MADV_RANDOM)
    Random,
    /// That reading far ahead is of use (MADV_SEQUENTIAL)
    Sequential,
}

impl Pattern {
    fn parse(text: &str) -> Result<Self, String> {
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

    /// Bytes from one touch to the next, as far as the number of touches goes.
    pub(super) fn step(self) -> u64 {
        match self {
            Self::Sequential | Self::Random => page_bytes(),
            Self::Stride(step) => step,
        }
    }

    /// As the record names it.
    pub(super) fn name(self) -> String {
        match self {
            Self::Sequential => "sequential".into(),
            Self::Random => "random".into(),
            Self::Stride(step) => format!("stride:{step}"),
        }
    }
}

impl Advice {
    /// As the record names it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Normal => "normal",
            Self::Random => "random",
            Self::Sequential => "sequential",
        }
    }
}

impl ScanArgs {
    /// The sizes to scan.
    pub(super) fn sizes(&self) -> Vec<u64> {
        match (&self.size[..], self.sampling.quick) {
            ([], true) => vec![256 << 20],
            ([], false) => vec![1 << 30],
            (sizes, _) => sizes.to_vec(),
        }
    }

    /// What is wrong with the options as a whole.
    pub(super) fn check(&self) -> Result<(), String> {
        let step = self.pattern.step();
        match self.sizes().into_iter().find(|&size| size < step) {
            Some(size) => {
                Err(format!("--size {size} is less than one step of {step} bytes; nothing would be touched"))
            }
            None => Ok(()),
        }
    }
}

/// A size that is not zero.
fn size(text: &str) -> Result<u64, String> {
    match bytes(text, 1)? {
        0 => Err("a size of 0 touches nothing; give one from one page, for example 64M".into()),
        size => Ok(size),
    }
}

/// The size of a page on this system.
pub(super) fn page_bytes() -> u64 {
    // SAFETY: sysconf has no memory arguments.
    u64::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_read_and_wrong_ones_are_told_what_is_right() {
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
