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
mod executable;
mod library;
mod lines;
mod recipe;

use std::path::Path;

use tollgate_record::file;

pub use error::SourceError;
pub use executable::Executable;
pub use lines::{Lines, Place};
pub use recipe::{Library, Recipe};

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
    /// Other languages, with what builds them; what is not a source.
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

/// Assembles and links files that are in memory, each a name and its text: the first is the program, the others are what it
/// includes. No file is read.
///
/// ```
/// use tollgate_lab::source::{Recipe, assemble};
/// use tollgate_riscv::Isa;
/// let files = [("main.s", "_start: nop\n  j _start\n")];
/// let program = assemble(&files, &Recipe::new("rv64gc", Isa::default()))?;
/// assert_eq!(program.line(0x8000_0002).map(|place| place.line), Some(2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// All errors of the sources at once.
pub fn assemble(files: &[(&str, &str)], recipe: &Recipe<'_>) -> Result<Executable, SourceError> {
    let Some((name, _)) = files.first() else { return Err(SourceError::Empty) };
    let owned = files.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
    assembly::assemble_files(name, owned.collect(), recipe)
}

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
