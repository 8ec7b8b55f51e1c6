//! What the assembler is given, and its limits.

use std::collections::BTreeMap;

use crate::isa::Isa;

/// Statements of a program, after macros are expanded.
pub const MAX_STATEMENTS: usize = 4_000_000;
/// Bytes of one statement, after macros are expanded.
pub const MAX_STATEMENT: usize = 1 << 16;
/// Bytes of all sections with contents.
pub const MAX_IMAGE: u64 = 256 << 20;
/// Bytes of all sections, with those that are zero at the start.
pub const MAX_MEMORY: u64 = 1 << 40;
/// Macros, repetitions and included files inside each other.
pub const MAX_DEPTH: usize = 100;
/// Bytes that macros and repetitions may copy, of `.macro` and of `#define`.
pub const MAX_EXPANSION: usize = 512 << 20;
/// Errors that are reported.
pub const MAX_ERRORS: usize = 1000;

/// The texts of a program.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    pub(super) units: Vec<String>,
    pub(super) files: BTreeMap<String, String>,
}

impl Sources {
    /// A program that consists of one text. A name that ends in `.S` is preprocessed.
    pub fn new(name: &str, text: &str) -> Self {
        Self::default().unit(name, text)
    }

    /// Adds a text that is assembled. Its labels are local to it unless they are `.globl`.
    #[must_use]
    pub fn unit(mut self, name: &str, text: &str) -> Self {
        self.units.push(name.to_owned());
        self.file(name, text)
    }

    /// Adds a text that others include.
    #[must_use]
    pub fn file(mut self, name: &str, text: &str) -> Self {
        self.files.insert(name.to_owned(), text.to_owned());
        self
    }

    /// The file that `name` in an include directive of `from` stands for: beside it, else by its name alone.
    pub(super) fn find(&self, from: &str, name: &str) -> Option<(&str, &str)> {
        let found = self.files.get_key_value(&beside(from, name));
        found.or_else(|| self.files.get_key_value(name)).map(|(name, text)| (name.as_str(), text.as_str()))
    }
}

/// The name of a file that `name` in an include directive of the file `from` stands for, if it is beside it.
pub fn beside(from: &str, name: &str) -> String {
    let folder = from.rfind('/').map_or("", |at| &from[..=at]);
    let folder = if name.starts_with('/') { "" } else { folder };
    let mut parts: Vec<&str> = Vec::new();
    for part in folder.split('/').chain(name.split('/')).filter(|part| !matches!(*part, "" | ".")) {
        match part == ".." && parts.last().is_some_and(|last| *last != "..") {
            true => drop(parts.pop()),
            false => parts.push(part),
        }
    }
    let root = if folder.starts_with('/') || name.starts_with('/') { "/" } else { "" };
    format!("{root}{}", parts.join("/"))
}

/// How to assemble and where to link.
#[derive(Clone, Debug)]
pub struct Options {
    /// The instructions that there are.
    pub isa: Isa,
    /// Where `.text` begins; the other sections follow it.
    pub text: u64,
    /// Macros of the preprocessor that are defined at the start.
    pub defines: Vec<(String, String)>,
}

impl Default for Options {
    fn default() -> Self {
        Self { isa: Isa::default(), text: 0x8000_0000, defines: Vec::new() }
    }
}
