//! Reading small text files below a root.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// More than any file of interest has; a hostile tree cannot fill memory.
const MOST_BYTES: u64 = 8 << 20;

/// A root below which files are read. Paths are given without the leading slash.
pub(crate) struct Files {
    root: PathBuf,
}

impl Files {
    pub(crate) fn below(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
    }

    pub(crate) fn exists(&self, path: &str) -> bool {
        self.path(path).exists()
    }

    /// The whole text, or nothing when it cannot be read. Invalid UTF-8 is replaced.
    pub(crate) fn text(&self, path: &str) -> Option<String> {
        let path = self.path(path);
        // Opening a pipe would wait for its writer.
        if !fs::metadata(&path).ok()?.is_file() {
            return None;
        }
        let mut bytes = Vec::new();
        File::open(path).ok()?.take(MOST_BYTES).read_to_end(&mut bytes).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
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
