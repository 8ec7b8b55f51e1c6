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
mod input;
mod instruction;
mod link;
mod macros;
mod mnemonics;
mod names;
mod nesting;
mod preprocess;
mod pseudo;
mod section;
mod state;
mod statement;

pub use error::AsmError;
pub use image::{Image, LineEntry, OutputSection};
pub use input::{
    MAX_DEPTH, MAX_ERRORS, MAX_EXPANSION, MAX_IMAGE, MAX_MEMORY, MAX_STATEMENT, MAX_STATEMENTS, Options,
    Sources, beside,
};
pub use names::{DIRECTIVES, pseudo_instructions};

use state::Assembler;

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
