//! The console's input and the drive of a machine, as files of this computer.

use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::mpsc;
use std::thread;

use tollgate_riscv::Storage;

use super::input::Input;

/// A file as a drive. It is only read: what the guest writes stays in the machine.
pub struct DriveFile {
    file: File,
    len: u64,
}

impl DriveFile {
    /// Opens a regular file.
    ///
    /// # Errors
    /// As those of opening, and for anything but a regular file.
    pub fn open(path: &Path) -> io::Result<Self> {
        let kind = std::fs::metadata(path)?;
        if !kind.is_file() {
            return Err(io::Error::other("not a regular file"));
        }
        Ok(Self { file: File::open(path)?, len: kind.len() })
    }
}

impl Storage for DriveFile {
    fn len(&self) -> u64 {
        self.len
    }

    fn read(&mut self, at: u64, bytes: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(bytes, at)
    }
}

/// The most that waits between the reader and the machine, in pieces of up to 4 KiB.
const PIECES: usize = 64;
/// The most that is typed from a regular file.
const MOST_TYPED: u64 = 1 << 20;

/// Console input: the bytes of a regular file are available from the beginning, so that two runs are the same; those of a
/// pipe or terminal arrive at any time.
///
/// # Errors
/// A file that cannot be read.
pub fn input(mut from: impl Read + AsFd + IsTerminal + Send + 'static) -> io::Result<Input> {
    let person = from.is_terminal();
    let (sender, bytes) = mpsc::sync_channel(PIECES);
    let mut first = Vec::new();
    if File::from(from.as_fd().try_clone_to_owned()?).metadata()?.is_file() {
        from.take(MOST_TYPED).read_to_end(&mut first)?;
        return Ok(Input { first, bytes, person });
    }
    // It ends with the input, or with the process.
    thread::spawn(move || {
        let mut buffer = [0; 4096];
        while let Ok(n @ 1..) = from.read(&mut buffer) {
            if sender.send(buffer[..n].to_vec()).is_err() {
                break;
            }
        }
    });
    Ok(Input { first, bytes, person })
}
