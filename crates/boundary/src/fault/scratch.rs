//! Files without a name for the kinds of fault that need one: nothing is left of them, however the
//! program ends.

use crate::region;
use std::fs::File;
use std::os::unix::fs::FileExt;
use tollgate_measure::Refusal;

/// A file of `bytes` real bytes in the directory for temporary files, written `piece` bytes at a time: the
/// kernel makes its page cache of pieces no larger than what is written at once.
pub(super) fn file(bytes: usize, piece: usize) -> Result<File, Refusal> {
    let directory = std::env::temp_dir();
    let failed = |what: &str, error: std::io::Error| {
        let text = format!("a file of {} MiB cannot be {what} in {}", bytes >> 20, directory.display());
        // A limit of ours is no fault of the directory.
        if let limit @ Refusal::Skip { .. } = Refusal::of(&text, &error) {
            return limit;
        }
        Refusal::skip(
            format!("{text}: {error}"),
            "set TMPDIR to a directory with room that may be written to",
        )
    };
    let file = tempfile::tempfile_in(&directory).map_err(|error| failed("made", error))?;
    let content = region::block(piece, |at| (at % 251) as u8)?;
    for at in (0..bytes).step_by(piece) {
        file.write_all_at(&content[..piece.min(bytes - at)], at as u64)
            .map_err(|error| failed("written", error))?;
    }
    Ok(file)
}
