//! Programs from files: assembly by our assembler, C by a compiler that is installed, an ELF file as it is.
//!
//! ```no_run
//! use tollgate_lab::source::{Recipe, load};
//! use tollgate_riscv::{Elf, Isa};
//! let program = load("hello.s".as_ref(), &Recipe::new("rv64gc", Isa::default()))?;
//! let entry = Elf::parse(&program.elf)?.entry;
//! assert_eq!(program.line(entry).map(|place| place.line), Some(1));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod assembly;
mod compiler;
mod error;
mod library;
mod lines;

use std::path::Path;

use tollgate_record::file;
use tollgate_riscv::Isa;

pub use error::SourceError;
pub use lines::{Lines, Place};

/// What a file contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// A linked program, or an object.
    Elf,
    /// Assembly: `.s`, `.asm`, and `.S` with the directives of the C preprocessor.
    Assembly,
    /// C.
    C,
}

impl Language {
    /// The language of a file, by its contents and the end of its name.
    ///
    /// # Errors
    /// Other languages, with what builds them; what is no source.
    pub fn of(path: &Path, bytes: &[u8]) -> Result<Self, SourceError> {
        if bytes.starts_with(b"\x7fELF") {
            return Ok(Self::Elf);
        }
        let end = path.extension().and_then(|end| end.to_str()).unwrap_or_default();
        let other = |language, build| Err(SourceError::Other { path: path.to_owned(), language, build });
        match end {
            "s" | "S" | "asm" => Ok(Self::Assembly),
            "c" => Ok(Self::C),
            "cc" | "cpp" | "cxx" | "C" => other("C++", "riscv64-linux-gnu-g++ -O2 -static"),
            "rs" => other("Rust", "rustc --target riscv64gc-unknown-linux-gnu -C target-feature=+crt-static"),
            _ if bytes.is_empty() => Err(SourceError::Empty),
            _ => Err(SourceError::Unknown),
        }
    }
}

/// A program that was loaded or built.
#[derive(Clone, Debug, Default)]
pub struct Executable {
    /// The linked program's file; [`tollgate_riscv::Elf::parse`] has its segments and symbols.
    pub elf: Vec<u8>,
    /// Its lines; see [`Executable::line`].
    pub lines: Lines,
    /// Bytes of code in the source's own object, before linking.
    pub object_text: Option<u64>,
    /// Whether it was built from a source, and has no start-up code that sets the stack.
    pub needs_stack: bool,
    /// Where the program's own code begins, if our start-up code comes before it.
    pub main: Option<u64>,
}

impl Executable {
    /// The line of the instruction at an address, if it is known.
    pub fn line(&self, address: u64) -> Option<Place> {
        self.lines.at(&self.elf, address)
    }
}

/// A linked program, of whose source nothing is known.
impl From<Vec<u8>> for Executable {
    fn from(elf: Vec<u8>) -> Self {
        Self { elf, ..Self::default() }
    }
}

/// How a source becomes a program.
#[derive(Clone, Debug)]
pub struct Recipe<'a> {
    /// The instructions that there are.
    pub isa: Isa,
    /// The same as a compiler's `-march` has it.
    pub march: &'a str,
    /// The level of optimization of C, after `-O`.
    pub opt: &'a str,
    /// Where the program is linked.
    pub base: u64,
    /// Bytes of nothing before its code.
    pub skipped: u64,
    /// Where execution begins: at the first of these names that there is, else where the code begins.
    pub entries: &'a [&'a str],
    /// Texts that sources may include, by their names.
    pub headers: &'a [(&'a str, &'a str)],
    /// Sources in memory that are linked behind the program: name and text.
    pub units: &'a [(&'a str, &'a str)],
    /// Macros of the preprocessor: name and value.
    pub defines: &'a [(&'a str, &'a str)],
    /// Whether our C library belongs to a C program.
    pub library: Library,
}

/// Whether our C library and its start-up code, which calls `main`, belong to a C program with a `main` and no `_start`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Library {
    /// Never.
    None,
    /// If the program uses one of its functions.
    IfUsed,
    /// Always.
    Start,
    /// Never: the program is a static one for Linux, with the C library of the cross compiler.
    Linux,
}

impl<'a> Recipe<'a> {
    /// A bare program at the start of RAM, which begins at `_start` or else at `main`. The instruction set has two forms: as
    /// it was written, for compilers, and parsed.
    pub fn new(march: &'a str, isa: Isa) -> Self {
        Self {
            isa,
            march,
            opt: "2",
            base: RAM,
            skipped: 0,
            entries: &["_start", "main"],
            headers: &[],
            units: &[],
            defines: &[],
            library: Library::Start,
        }
    }

    /// A static program for Linux or a proxy kernel.
    #[must_use]
    pub fn for_linux(self) -> Self {
        Self { base: LINUX, library: Library::Linux, ..self }
    }
}

/// Where RAM begins, and where programs for Linux do.
const RAM: u64 = 0x8000_0000;
const LINUX: u64 = 0x1_0000;
/// The longest file of a program that was built.
const LONGEST_ELF: u64 = 4 << 30;

/// Loads a program: an ELF file as it is, a source as the recipe says. Nothing is left behind.
///
/// # Errors
/// All errors of a source at once; what a compiler says; what is missing.
pub fn load(path: &Path, recipe: &Recipe<'_>) -> Result<Executable, SourceError> {
    let bytes = file::read(path, LONGEST_ELF)?;
    match Language::of(path, &bytes)? {
        Language::Elf => Ok(bytes.into()),
        Language::Assembly => assembly::assemble_file(path, bytes, recipe),
        Language::C => compiler::compile(path, recipe),
    }
}
