//! A program that was loaded or built.

use tollgate_riscv::asm::Image;

use super::lines::{Lines, Place};

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
    /// What the assembler made, if that is where it comes from.
    pub fn image(&self) -> Option<&Image> {
        self.lines.image()
    }

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
