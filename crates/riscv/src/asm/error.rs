//! Errors: a sentence, the place, the line itself.

use std::fmt;

/// An error of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AsmError {
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// The column in characters, from 1.
    pub column: u32,
    /// The line itself.
    pub source: String,
    /// The sentence.
    pub message: String,
    /// The macros that the line was expanded from: name, file and line of each use, the innermost first.
    pub expansion: Vec<(String, String, u32)>,
}

/// What the message says about a name that nothing defines.
pub(super) const UNDEFINED: &str = "is not defined";

impl AsmError {
    /// Whether the error is a name that nothing defines; a library may define it.
    pub fn is_undefined(&self) -> bool {
        self.message.contains(UNDEFINED)
    }
}

impl fmt::Display for AsmError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, line, column, source, message, expansion } = self;
        write!(f, "{file}:{line}:{column}: {message}")?;
        // Control characters would move the mark, or the cursor.
        let source: String = source.chars().map(|c| if c.is_control() { ' ' } else { c }).take(200).collect();
        write!(f, "\n{line:5} | {source}")?;
        if *column <= 200 {
            write!(f, "\n      | {:>width$}", '^', width = *column as usize)?;
        }
        for (name, file, line) in expansion {
            write!(f, "\n      = in `{name}`, used at {file}:{line}")?;
        }
        Ok(())
    }
}

impl std::error::Error for AsmError {}

/// A place in the sources: the index of the file, and the line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Pos {
    pub(super) file: u32,
    pub(super) line: u32,
}

/// What is wrong with a statement, and which part of it.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) token: String,
    pub(super) message: String,
}

pub(super) fn fault<T>(token: &str, message: impl Into<String>) -> Result<T, Fault> {
    Err(Fault { token: token.to_owned(), message: message.into() })
}

/// The end of a message that names the nearest of the names.
pub(super) fn meant<'a>(word: &str, names: impl Iterator<Item = &'a str>) -> String {
    // Distances are quadratic in the length.
    if word.len() > 64 {
        return String::new();
    }
    names
        .filter(|name| name.len().abs_diff(word.len()) <= 2)
        .map(|name| (strsim::damerau_levenshtein(word, name), name))
        .filter(|(distance, _)| *distance <= 2.min(word.len() / 2))
        // Of several at the same distance, the most similar one.
        .map(|(distance, name)| (distance, (-1000.0 * strsim::jaro_winkler(word, name)) as i32, name))
        .min()
        .map_or(String::new(), |(.., name)| format!(": did you mean `{name}`?"))
}

/// A word as messages quote it.
pub(super) fn quoted(word: &str) -> String {
    match word.char_indices().nth(60) {
        Some((at, _)) => format!("`{}...`", &word[..at]),
        None => format!("`{word}`"),
    }
}
