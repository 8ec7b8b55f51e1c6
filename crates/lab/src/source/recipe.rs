//! How a source becomes a program.

use tollgate_riscv::Isa;

/// Where RAM begins, and where programs for Linux do.
const RAM: u64 = 0x8000_0000;
const LINUX: u64 = 0x1_0000;

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
