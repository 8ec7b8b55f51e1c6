//! Whether runs can be saved.

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::{io, mem};

/// Bytes that a long run takes in the store.
const RECORD: u64 = 1 << 20;

/// The directory of a store, or why nothing can be saved there. The directory is not created here: the first run does
/// that.
///
/// # Errors
/// The reason as a sentence.
pub fn usable_store(directory: Option<PathBuf>) -> Result<String, String> {
    let directory = directory.ok_or("there is no home directory to save runs in")?;
    let there = directory.ancestors().find(|ancestor| ancestor.exists()).unwrap_or("/".as_ref());
    let path = CString::new(there.as_os_str().as_bytes()).map_err(|error| error.to_string())?;
    // SAFETY: the path ends in a zero byte.
    if unsafe { libc::access(path.as_ptr(), libc::W_OK | libc::X_OK) } != 0 {
        let (error, store) = (io::Error::last_os_error(), directory.display());
        return Err(format!("the store {store} cannot be written: {error}"));
    }
    // SAFETY: statvfs is plain numbers for which all zeroes is valid.
    let mut room: libc::statvfs = unsafe { mem::zeroed() };
    // SAFETY: the path ends in a zero byte, and `room` is valid for the call to fill.
    if unsafe { libc::statvfs(path.as_ptr(), &raw mut room) } == 0 && room.f_blocks > 0 {
        let left = room.f_bavail.saturating_mul(room.f_frsize);
        if left < RECORD {
            let (left, store) = (left >> 10, directory.display());
            return Err(format!("the disk of the store {store} is full: {left} KiB are left"));
        }
    }
    Ok(directory.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::usable_store;

    #[test]
    fn a_directory_that_can_be_made_is_named_and_is_not_made() {
        let dir = tempfile::tempdir().unwrap();
        let store = dir.path().join("new/runs");
        assert_eq!(usable_store(Some(store.clone())), Ok(store.display().to_string()));
        assert!(!dir.path().join("new").exists());
        assert_eq!(usable_store(None), Err("there is no home directory to save runs in".into()));
    }
}
