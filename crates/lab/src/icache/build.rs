//! Where the programs come from: the tree, or a compiler.

use std::path::Path;

use tollgate_record::trust;
use tollgate_riscv::{Extension, Isa};

use super::error::IcacheError;
use super::settings::Build;
use crate::source::{self, Library, Recipe};

/// A program of the tree, as GCC 12.2 builds it.
#[derive(Clone, Copy, Debug)]
pub struct Bundled {
    /// What it was built for.
    pub isa: &'static str,
    /// The level of optimization, after `-O`.
    pub opt: &'static str,
    /// Bytes of code in its object; the linker makes less of them.
    object_text: u64,
    elf: &'static [u8],
}

impl Bundled {
    /// The program.
    pub fn build(&self) -> Build {
        Build {
            name: self.isa.to_owned(),
            // The four strings below are tested.
            isa: self.isa.parse().unwrap_or_default(),
            object_text: Some(self.object_text),
            elf: self.elf.to_vec(),
        }
    }
}

macro_rules! bundled {
    ($isa:literal, $opt:literal, $object:literal) => {
        Bundled {
            isa: $isa,
            opt: $opt,
            object_text: $object,
            elf: include_bytes!(concat!("../../../../guests/riscv/images/icache-", $isa, "-O", $opt, ".elf")),
        }
    };
}

/// `guests/riscv/programs/icache.c` with and without the C extension, at two levels of optimization.
pub const BUNDLED: [Bundled; 4] = [
    bundled!("rv32im", "1", 160),
    bundled!("rv32imc", "1", 98),
    bundled!("rv32im", "2", 160),
    bundled!("rv32imc", "2", 98),
];

/// The source of the bundled programs.
pub(super) const SOURCE: &str = include_str!("../../../../guests/riscv/programs/icache.c");

/// The bundled program for an ISA: a prebuilt image, or its source compiled.
pub fn bundled(isa: &str, parsed: Isa, opt: &str) -> Result<Build, IcacheError> {
    if let Some(bundled) = BUNDLED.iter().find(|bundled| bundled.isa == isa && bundled.opt == opt) {
        return Ok(bundled.build());
    }
    let folder = tempfile::tempdir_in(trust::temporary()?)?;
    let source = folder.path().join("icache.c");
    std::fs::write(&source, SOURCE)?;
    compile(&source, isa, parsed, opt)
}

/// Builds a source for an ISA at the start of RAM; our C library is a part of it only if it uses the library. Execution begins
/// at `_start` if there is one, else at `main`. Nothing is left behind.
pub fn compile(source: &Path, isa: &str, parsed: Isa, opt: &str) -> Result<Build, IcacheError> {
    built(source, isa, parsed, opt, 0)
}

fn built(source: &Path, isa: &str, parsed: Isa, opt: &str, skipped: u64) -> Result<Build, IcacheError> {
    let recipe = Recipe { opt, skipped, library: Library::IfUsed, ..Recipe::new(isa, parsed) };
    let program = source::load(source, &recipe)?;
    Ok(Build { name: isa.to_owned(), isa: parsed, object_text: program.object_text, elf: program.elf })
}

/// How many places the code of [`aligned`] has.
const PLACES: u64 = 8;

/// The same at eight places, each as far from the next as instructions may begin, since the lines that a loop touches depend
/// on where it begins.
pub fn aligned(source: &Path, isa: &str, parsed: Isa, opt: &str) -> Result<Vec<Build>, IcacheError> {
    let step = if parsed.has(Extension::C) { 2 } else { 4 };
    let at = |place: u64| {
        Ok(Build {
            name: format!("{isa} +{}", place * step),
            ..built(source, isa, parsed, opt, place * step)?
        })
    };
    (0..PLACES).map(at).collect()
}

/// The source of the bundled programs at eight places.
pub fn bundled_aligned(isa: &str, parsed: Isa, opt: &str) -> Result<Vec<Build>, IcacheError> {
    let folder = tempfile::tempdir_in(trust::temporary()?)?;
    let source = folder.path().join("icache.c");
    std::fs::write(&source, SOURCE)?;
    aligned(&source, isa, parsed, opt)
}
