//! Reading small text files below a root.

use std::collections::HashMap;
use std::fs::{self, OpenOptions};
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::{Mutex, PoisonError};

/// More than any file of interest has; a hostile tree cannot fill memory.
const MOST_BYTES: u64 = 8 << 20;

/// A root below which files are read. Paths are given without the leading slash.
pub(crate) struct Files {
    root: PathBuf,
    /// The texts that were read, if each is read once.
    kept: Option<Mutex<HashMap<String, Option<String>>>>,
}

impl Files {
    /// Files that are read anew each time.
    pub(crate) fn below(root: &Path) -> Self {
        Self { root: root.to_owned(), kept: None }
    }

    /// Files of which each is read once, for facts that do not change: the kernel writes some of these texts in 50 µs.
    pub(crate) fn once_below(root: &Path) -> Self {
        Self { kept: Some(Mutex::default()), ..Self::below(root) }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
    }

    pub(crate) fn exists(&self, path: &str) -> bool {
        self.path(path).exists()
    }

    /// The whole text, or nothing when it cannot be read. Invalid UTF-8 is replaced.
    pub(crate) fn text(&self, path: &str) -> Option<String> {
        let Some(kept) = &self.kept else { return self.read(path) };
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(text) = kept.get(path) {
            return text.clone();
        }
        let text = self.read(path);
        kept.insert(path.to_owned(), text.clone());
        text
    }

    fn read(&self, path: &str) -> Option<String> {
        // Without the flag, opening a pipe would wait for its writer.
        let mut options = OpenOptions::new();
        let file =
            options.read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open(self.path(path)).ok()?;
        if !file.metadata().ok()?.is_file() {
            return None;
        }
        let mut bytes = Vec::new();
        file.take(MOST_BYTES).read_to_end(&mut bytes).ok()?;
        Some(
            String::from_utf8(bytes)
                .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()),
        )
    }

    /// The text without the white space and the NUL (device tree) around it; nothing when that is empty.
    pub(crate) fn word(&self, path: &str) -> Option<String> {
        let text = self.text(path)?;
        let word = text.trim_matches(|c: char| c.is_whitespace() || c == '\0');
        (!word.is_empty()).then(|| word.to_owned())
    }

    pub(crate) fn number<T: FromStr>(&self, path: &str) -> Option<T> {
        self.word(path)?.parse().ok()
    }

    /// A file that holds 0 or 1, `N` or `Y`.
    pub(crate) fn switch(&self, path: &str) -> Option<bool> {
        match self.word(path)?.as_str() {
            "0" | "N" | "n" | "off" => Some(false),
            "1" | "Y" | "y" | "on" => Some(true),
            _ => None,
        }
    }

    /// CPUs in the kernel's list format; empty when there is no such file.
    pub(crate) fn cpus(&self, path: &str) -> Vec<usize> {
        self.word(path).map(|list| crate::placement::parse_cpu_list(&list)).unwrap_or_default()
    }

    /// The names in a directory, in order.
    pub(crate) fn names(&self, directory: &str) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.path(directory)) else { return Vec::new() };
        let mut names: Vec<String> =
            entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort_unstable();
        names
    }

    /// The numbers in names of the form `prefix` + number, in order.
    pub(crate) fn numbered(&self, directory: &str, prefix: &str) -> Vec<usize> {
        let mut numbers: Vec<usize> =
            self.names(directory).iter().filter_map(|name| name.strip_prefix(prefix)?.parse().ok()).collect();
        numbers.sort_unstable();
        numbers
    }
}

/// The value of `key: value` in a text of such lines; blanks around both are dropped.
pub(crate) fn value<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == key).then(|| value.trim())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_once_or_anew() {
        let root = tempfile::tempdir().unwrap();
        let (once, anew) = (Files::once_below(root.path()), Files::below(root.path()));
        for (written, kept) in [("a", "a"), ("b", "a")] {
            fs::write(root.path().join("file"), written).unwrap();
            assert_eq!(once.text("file").as_deref(), Some(kept));
            assert_eq!(anew.text("file").as_deref(), Some(written));
        }
        fs::write(root.path().join("late"), "c").unwrap();
        assert_eq!(once.text("late").as_deref(), Some("c"));
    }

    #[test]
    fn what_is_no_file_has_no_text_and_is_not_waited_for() {
        let root = tempfile::tempdir().unwrap();
        let pipe = std::ffi::CString::new(root.path().join("pipe").to_str().unwrap()).unwrap();
        // SAFETY: the path is a string that ends.
        assert_eq!(unsafe { libc::mkfifo(pipe.as_ptr(), 0o600) }, 0);
        fs::create_dir(root.path().join("folder")).unwrap();
        for name in ["pipe", "folder", "nothing"] {
            assert_eq!(Files::below(root.path()).text(name), None, "{name}");
        }
        fs::write(root.path().join("bytes"), b"a\xff").unwrap();
        assert_eq!(Files::below(root.path()).text("bytes").as_deref(), Some("a\u{fffd}"));
    }
}
