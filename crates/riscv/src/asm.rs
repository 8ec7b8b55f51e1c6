//! An assembler for the sources of GNU `as`: what the instruction table decodes, it assembles.
//!
//! A program is one or more units; the result is linked, as `ld --no-relax` links it. The sources are texts: nothing
//! here opens a file. Every error of a program is reported at once.
//!
//! `preprocess` turns a text into statements, `state` with `macros` and `directive` goes through them, `instruction`
//! and `pseudo` encode, `section` relaxes branches, `link` places sections and resolves expressions.

mod directive;
mod error;
mod expr;
mod image;
mod instruction;
mod link;
mod macros;
mod preprocess;
mod pseudo;
mod section;
mod state;
mod statement;

use std::collections::BTreeMap;

pub use error::AsmError;
pub use image::{Image, LineEntry};

use crate::isa::Isa;
use state::Assembler;

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
    units: Vec<String>,
    files: BTreeMap<String, String>,
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
    fn find(&self, from: &str, name: &str) -> Option<(&str, &str)> {
        let folder = from.rfind('/').map_or("", |at| &from[..=at]);
        let mut parts: Vec<&str> = Vec::new();
        for part in folder.split('/').chain(name.split('/')).filter(|part| !matches!(*part, "" | ".")) {
            match part == ".." && parts.last().is_some_and(|last| *last != "..") {
                true => drop(parts.pop()),
                false => parts.push(part),
            }
        }
        let found = self.files.get_key_value(&parts.join("/"));
        found.or_else(|| self.files.get_key_value(name)).map(|(name, text)| (name.as_str(), text.as_str()))
    }
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

/// Assembles and links a program.
///
/// ```
/// use tollgate_riscv::{asm::{Options, Sources, assemble}, Isa};
/// let source = "_start: li a0, 42\n  call exit\nexit: j exit\n";
/// let image = assemble(&Sources::new("hello.s", source), &Options::default()).unwrap();
/// assert_eq!(image.program.entry, 0x8000_0000);
/// assert_eq!(image.program.segments[0].data[..4], [0x13, 0x05, 0xa0, 0x02]);
/// assert_eq!(image.line(0x8000_0004), Some(("hello.s", 2)));
///
/// let errors = assemble(&Sources::new("hello.s", "  adi a0, a0, 1"), &Options::default()).unwrap_err();
/// assert!(errors[0].to_string().starts_with("hello.s:1:3: unknown instruction `adi`: did you mean `addi`?"));
/// ```
///
/// # Errors
/// All errors of the program, in the order of the source, at most [`MAX_ERRORS`].
pub fn assemble(sources: &Sources, options: &Options) -> Result<Image, Vec<AsmError>> {
    let mut assembler = Assembler::new(sources, options);
    for unit in &sources.units {
        assembler.unit(unit);
    }
    assembler.link()
}
