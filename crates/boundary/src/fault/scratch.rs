//! Files without a name, which vanish with the program, however it ends.

use rustix::fs::{MemfdFlags, memfd_create};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use tollgate_measure::Refusal;

/// A file of `bytes` real bytes in the directory for temporary files, written `piece` bytes at a time: the
/// kernel makes its page cache of pieces no larger than what is written at once.
pub(super) fn file(bytes: usize, piece: usize) -> Result<File, Refusal> {
    let directory = std::env::temp_dir();
    let failed = |what: &str, error: std::io::Error| {
        let text = format!("a file of {} MiB cannot be {what} in {}", bytes >> 20, directory.display());
        // A limit of this process is not a fault of the directory.
        if let limit @ Refusal::Skip { .. } = Refusal::of(&text, &error) {
            return limit;
        }
        Refusal::skip(
            format!("{text}: {error}"),
            "set TMPDIR to a directory with room that may be written to",
        )
    };
    let file = tempfile::tempfile_in(&directory).map_err(|error| failed("made", error))?;
    fill(&file, bytes, piece)?.map_err(|error| failed("written", error))?;
    Ok(file)
}

/// A file of `bytes` bytes that exists only in memory and whose pages are all in the page cache.
pub(super) fn in_memory(bytes: usize) -> Result<File, Refusal> {
    let file = memfd_create("tollgate", MemfdFlags::CLOEXEC)
        .map_err(|error| crate::task::refusal("memfd_create", &error.into()))?;
    let file = File::from(file);
    fill(&file, bytes, 1 << 20)?.map_err(|error| crate::task::refusal("fill a file in memory", &error))?;
    Ok(file)
}

/// Writes `bytes` bytes, `piece` at a time.
fn fill(file: &File, bytes: usize, piece: usize) -> Result<io::Result<()>, Refusal> {
    let content = block(piece, |at| (at % 251) as u8)?;
    let write = |at: usize| file.write_all_at(&content[..piece.min(bytes - at)], at as u64);
    Ok((0..bytes).step_by(piece).try_for_each(write))
}

/// A block of bytes by their places. Where memory is limited this is a skip; an allocation by the library would end
/// the process.
fn block(bytes: usize, byte: impl Fn(usize) -> u8) -> Result<Vec<u8>, Refusal> {
    let mut block = Vec::new();
    block.try_reserve_exact(bytes).map_err(|_| {
        Refusal::of(&format!("set {bytes} bytes aside"), &io::Error::from_raw_os_error(libc::ENOMEM))
    })?;
    block.extend((0..bytes).map(byte));
    Ok(block)
}

#[cfg(test)]
mod tests {
    use super::{Refusal, block};

    #[test]
    fn a_block_that_there_is_no_memory_for_is_a_skip() {
        assert_eq!(block(3, |at| at as u8).unwrap(), [0, 1, 2]);
        let Err(Refusal::Skip { reason, enable }) = block(isize::MAX as usize, |_| 0) else {
            panic!("no machine has so much");
        };
        assert!(reason.contains("RLIMIT_AS") && enable.contains("ulimit -v"), "{reason}; {enable}");
    }
}
