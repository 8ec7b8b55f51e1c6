//! What rooms call of [`file`] and [`trust`], on a system without files: each call fails.

use std::io;

fn none<T>() -> io::Result<T> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "there are no files here"))
}

/// Files that a user names.
pub mod file {
    use std::io;
    use std::path::Path;

    /// The bytes of a file.
    ///
    /// # Errors
    /// Always.
    pub fn read(_path: &Path, _most: u64) -> io::Result<Vec<u8>> {
        super::none()
    }
}

/// Places that no other user can change.
pub mod trust {
    use std::io;
    use std::path::PathBuf;

    /// A directory for temporary files.
    ///
    /// # Errors
    /// Always.
    pub fn temporary() -> io::Result<PathBuf> {
        super::none()
    }
}
