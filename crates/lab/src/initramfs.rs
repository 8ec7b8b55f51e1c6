//! The file system of a guest in memory: the `newc` format of cpio, which the kernel unpacks at boot.
//!
//! Format: Documentation/driver-api/early-userspace/buffer-format.rst of the kernel.

use std::io::{self, Write};

const DIRECTORY: u32 = 0o040_755;
const DEVICE: u32 = 0o020_666;
const FILE: u32 = 0o100_000;
const LINK: u32 = 0o120_777;

/// An archive that is being written.
pub struct Archive<W> {
    out: W,
    /// Number of the next file: files with equal numbers are links of one another.
    next: u32,
}

impl<W: Write> Archive<W> {
    /// An archive without files.
    pub fn new(out: W) -> Self {
        Self { out, next: 1 }
    }

    /// Adds a directory. Its parents must be added before.
    ///
    /// # Errors
    /// When writing fails.
    pub fn directory(&mut self, path: &str) -> io::Result<()> {
        self.entry(path, DIRECTORY, [0; 2], &[])
    }

    /// Adds a file. Its directory must be added before.
    ///
    /// # Errors
    /// When writing fails.
    pub fn file(&mut self, path: &str, permissions: u32, bytes: &[u8]) -> io::Result<()> {
        self.entry(path, FILE | permissions, [0; 2], bytes)
    }

    /// Adds a symbolic link. Its directory must be added before.
    ///
    /// # Errors
    /// When writing fails.
    pub fn link(&mut self, path: &str, target: &str) -> io::Result<()> {
        self.entry(path, LINK, [0; 2], target.as_bytes())
    }

    /// Adds a character device that all may use. Its directory must be added before.
    ///
    /// # Errors
    /// When writing fails.
    pub fn device(&mut self, path: &str, number: [u32; 2]) -> io::Result<()> {
        self.entry(path, DEVICE, number, &[])
    }

    /// Ends the archive.
    ///
    /// # Errors
    /// When writing fails.
    pub fn finish(mut self) -> io::Result<W> {
        self.entry("TRAILER!!!", 0, [0; 2], &[])?;
        self.out.flush()?;
        Ok(self.out)
    }

    fn entry(&mut self, path: &str, mode: u32, [major, minor]: [u32; 2], bytes: &[u8]) -> io::Result<()> {
        let size = u32::try_from(bytes.len()).map_err(|_| io::Error::from(io::ErrorKind::FileTooLarge))?;
        let name = path.len() as u32 + 1;
        // ino, mode, uid, gid, nlink, mtime, filesize, devmajor, devminor, rdevmajor, rdevminor, namesize, check
        let fields = [self.next, mode, 0, 0, 1, 0, size, 0, 0, major, minor, name, 0];
        self.next += 1;
        self.out.write_all(b"070701")?;
        for field in fields {
            write!(self.out, "{field:08x}")?;
        }
        self.out.write_all(path.as_bytes())?;
        self.out.write_all(&[0])?;
        // Name and contents both end at a multiple of four, counted from the header's beginning.
        self.pad(HEADER + path.len() + 1)?;
        self.out.write_all(bytes)?;
        self.pad(bytes.len())
    }

    fn pad(&mut self, length: usize) -> io::Result<()> {
        self.out.write_all(&[0; 3][..length.next_multiple_of(4) - length])
    }
}

/// The magic number and thirteen fields of eight digits.
const HEADER: usize = 6 + 13 * 8;

#[cfg(test)]
mod tests {
    use super::Archive;
    use std::io::Write;
    use std::process::{Command, Stdio};

    fn sample() -> Vec<u8> {
        let mut archive = Archive::new(Vec::new());
        archive.directory("case").unwrap();
        archive.file("case/a", 0o755, b"12345").unwrap();
        archive.file("empty", 0o644, b"").unwrap();
        archive.finish().unwrap()
    }

    #[test]
    fn an_entry_is_what_the_format_says() {
        let archive = sample();
        let text = String::from_utf8_lossy(&archive);
        let first = "070701000000010000041ed\0";
        // Directory 040755 is 0x41ed.
        assert!(text.starts_with("07070100000001000041ed"), "{first} {text}");
        assert_eq!(archive.len() % 4, 0);
        let file = text.find("case/a\0").expect("its name is there");
        // 110 bytes of header and 7 of name end at 120: three bytes of padding, then the contents.
        assert_eq!(&text[file + 7..file + 7 + 3 + 5], "\0\0\x0012345");
        assert!(text.contains("TRAILER!!!"));
    }

    #[test]
    fn cpio_reads_it() {
        let Some(cpio) = tollgate_testkit::program("cpio") else {
            return tollgate_testkit::skip!("cpio is missing: apt-get install cpio");
        };
        let mut child = Command::new(cpio)
            .args(["-t", "--quiet"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("cpio starts");
        child.stdin.take().unwrap().write_all(&sample()).unwrap();
        let done = child.wait_with_output().unwrap();
        assert!(done.status.success());
        assert_eq!(String::from_utf8_lossy(&done.stdout), "case\ncase/a\nempty\n");
    }
}
