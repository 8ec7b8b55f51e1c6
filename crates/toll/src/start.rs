//! Why a command cannot be started, and its exit status.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// A command that did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// No file of that name.
    #[error("cannot run '{program}': {why}")]
    NotFound {
        /// The name that was given.
        program: String,
        /// Which file is not there.
        why: String,
    },
    /// There is such a file, and the kernel refuses to execute it.
    #[error("cannot run '{program}': {why}")]
    NotExecutable {
        /// The name that was given.
        program: String,
        /// The kernel's reason.
        why: String,
    },
    /// A step before the execution failed.
    #[error("cannot {what}: {error}")]
    System {
        /// The failed action.
        what: &'static str,
        /// The kernel's reason.
        error: io::Error,
    },
    /// The source was refused before the command has begun, so that it can run without it.
    #[error("cannot {what}: {error}")]
    Refused {
        /// The failed action.
        what: &'static str,
        /// The kernel's reason.
        error: io::Error,
    },
    /// A signal has asked for the end before the command has begun.
    #[error("interrupted before the command has begun")]
    Interrupted,
}

/// As many interpreters of interpreters as the kernel follows.
const INTERPRETERS: usize = 5;
/// The kernel reads the interpreter from as many bytes.
const HEAD: usize = 256;

impl StartError {
    /// The exit status that `env` and `timeout` give it.
    #[must_use]
    pub fn exit_status(&self) -> u8 {
        match self {
            Self::NotFound { .. } => 127,
            Self::NotExecutable { .. } => 126,
            Self::System { .. } | Self::Refused { .. } => 125,
            Self::Interrupted => 130,
        }
    }

    /// By the files that were tried and the error of execve(2).
    pub(crate) fn of_exec(program: &OsStr, paths: &[PathBuf], errno: i32) -> Self {
        let error = io::Error::from_raw_os_error(errno);
        let there = paths.iter().find(|path| path.exists());
        let why = match there.and_then(|path| missing_interpreter(path)) {
            Some(why) => why,
            None if errno != libc::ENOENT => error.to_string(),
            None if there.is_some() => "a file that it needs does not exist".into(),
            None if program.as_bytes().contains(&b'/') => "there is no such file".into(),
            None => "not found; give a path, or a program on PATH".into(),
        };
        let program = program.to_string_lossy().into_owned();
        match errno {
            libc::ENOENT => Self::NotFound { program, why },
            _ => Self::NotExecutable { program, why },
        }
    }

    pub(crate) fn system(what: &'static str) -> Self {
        Self::System { what, error: io::Error::last_os_error() }
    }
}

/// Which interpreter of a file cannot be executed, and why.
fn missing_interpreter(path: &Path) -> Option<String> {
    let mut file = path.to_owned();
    for _ in 0..INTERPRETERS {
        let interpreter = interpreter_of(&file)?;
        let name = interpreter.to_string_lossy().escape_debug().to_string();
        let hint = if name.ends_with("\\r") { "; its first line ends with a carriage return" } else { "" };
        match std::fs::metadata(&interpreter) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Some(format!("its interpreter '{name}' does not exist{hint}"));
            }
            Err(error) => return Some(format!("its interpreter '{name}' cannot be executed: {error}")),
            Ok(it) if it.is_dir() => return Some(format!("its interpreter '{name}' is a directory")),
            Ok(it) if std::os::unix::fs::PermissionsExt::mode(&it.permissions()) & 0o111 == 0 => {
                return Some(format!("its interpreter '{name}' is not executable (chmod +x)"));
            }
            Ok(_) => file = interpreter.into(),
        }
    }
    None
}

/// The interpreter that a script names in its first line, or the loader that an ELF file names.
fn interpreter_of(path: &Path) -> Option<OsString> {
    let mut file = File::open(path).ok()?;
    let mut head = Vec::new();
    file.by_ref().take(HEAD as u64).read_to_end(&mut head).ok()?;
    if let Some(line) = head.strip_prefix(b"#!") {
        let line = line.split(|byte| *byte == b'\n').next()?;
        let mut words = line.split(|byte| b" \t".contains(byte)).filter(|word| !word.is_empty());
        return Some(OsString::from_vec(words.next()?.to_vec()));
    }
    elf_loader(&mut file, &head)
}

/// The name in the program header of type `PT_INTERP`.
fn elf_loader(file: &mut File, head: &[u8]) -> Option<OsString> {
    const PT_INTERP: u64 = 3;
    let (is_64, is_little) = match head.get(..6)? {
        [0x7f, b'E', b'L', b'F', class @ (1 | 2), order @ (1 | 2)] => (*class == 2, *order == 1),
        _ => return None,
    };
    let number = |bytes: &[u8], at: usize, size: usize| {
        let bytes = bytes.get(at..at + size)?.iter();
        let append = |number: u64, byte: &u8| number << 8 | u64::from(*byte);
        Some(if is_little { bytes.rev().fold(0, append) } else { bytes.fold(0, append) })
    };
    let word = if is_64 { 8 } else { 4 };
    // The fields of the header (elf(5)): e_phoff, e_phentsize, e_phnum.
    let table = number(head, if is_64 { 32 } else { 28 }, word)?;
    let sizes = if is_64 { 54 } else { 42 };
    let (size, count) = (number(head, sizes, 2)?, number(head, sizes + 2, 2)?);
    let mut read = |at: u64, length: u64| {
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(at)).ok()?;
        file.take(length).read_to_end(&mut bytes).ok()?;
        Some(bytes)
    };
    for index in 0..count {
        let header = read(table.checked_add(index * size)?, size)?;
        if number(&header, 0, 4)? != PT_INTERP {
            continue;
        }
        // p_offset and p_filesz.
        let (offset, length) = if is_64 { (8, 32) } else { (4, 16) };
        let name = read(number(&header, offset, word)?, number(&header, length, word)?.min(4096))?;
        return Some(OsString::from_vec(name.split(|byte| *byte == 0).next()?.to_vec()));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// The error for a file of these bytes that could not be executed.
    fn said(bytes: &[u8], errno: i32) -> String {
        let dir = tempfile::TempDir::new().unwrap();
        let path = dir.path().join("file");
        fs::write(&path, bytes).unwrap();
        StartError::of_exec(path.as_os_str(), std::slice::from_ref(&path), errno).to_string()
    }

    #[test]
    fn an_interpreter_that_does_not_exist_is_named() {
        for (head, says) in [
            ("#!/no/such\n", "its interpreter '/no/such' does not exist"),
            ("#! /no/such -x y\nz", "its interpreter '/no/such' does not exist"),
            ("#!\t/no/such", "its interpreter '/no/such' does not exist"),
            ("#!/bin/sh\r\n", "'/bin/sh\\r' does not exist; its first line ends with a carriage return"),
            ("#!/etc/passwd\n", "its interpreter '/etc/passwd' is not executable"),
            ("#!/\n", "its interpreter '/' is a directory"),
            ("echo\n", "a file that it needs does not exist"),
        ] {
            let text = said(head.as_bytes(), libc::ENOENT);
            assert!(text.contains(says), "{head:?}: {text}");
        }
    }

    #[test]
    fn a_loader_that_does_not_exist_is_named() {
        // The headers of elf(5): class, order, e_phoff, e_phentsize, e_phnum, then one program header and the name.
        for (is_64, is_little) in [(true, true), (false, true), (true, false), (false, false)] {
            let mut file = vec![0; 120];
            let mut put = |at: usize, size: usize, number: u64| {
                let bytes = number.to_be_bytes();
                let bytes = &bytes[8 - size..];
                for (index, byte) in bytes.iter().enumerate() {
                    file[at + if is_little { size - 1 - index } else { index }] = *byte;
                }
            };
            let word = if is_64 { 8 } else { 4 };
            let header = if is_64 { 64 } else { 52 };
            put(if is_64 { 32 } else { 28 }, word, header);
            put(if is_64 { 54 } else { 42 }, 2, if is_64 { 56 } else { 32 });
            put(if is_64 { 56 } else { 44 }, 2, 1);
            put(header as usize, 4, 3);
            put(header as usize + if is_64 { 8 } else { 4 }, word, 120);
            put(header as usize + if is_64 { 32 } else { 16 }, word, 11);
            file[..6].copy_from_slice(&[
                0x7f,
                b'E',
                b'L',
                b'F',
                1 + u8::from(is_64),
                2 - u8::from(is_little),
            ]);
            file.extend(b"/no/loader\0");
            let text = said(&file, libc::ENOENT);
            assert!(text.ends_with("its interpreter '/no/loader' does not exist"), "{text}");
            // A file that ends early names none.
            let text = said(&file[..70], libc::ENOENT);
            assert!(text.ends_with("a file that it needs does not exist"), "{text}");
        }
    }

    #[test]
    fn a_file_that_does_not_exist_has_the_status_of_env() {
        let of = |program: &str, errno| StartError::of_exec(program.as_ref(), &[], errno);
        let path = of("./no", libc::ENOENT);
        assert_eq!(
            (path.exit_status(), path.to_string()),
            (127, "cannot run './no': there is no such file".into())
        );
        assert!(of("no", libc::ENOENT).to_string().contains("a program on PATH"));
        assert_eq!(of("./no", libc::ENOTDIR).exit_status(), 126);
    }
}
