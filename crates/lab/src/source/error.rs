//! Why a file did not become a program.

use std::fmt::Write;
use std::path::PathBuf;

use tollgate_record::text::quoted;
use tollgate_riscv::asm::AsmError;

/// Why a file did not become a program.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages describe the variants")]
pub enum SourceError {
    #[error("the source has no instructions")]
    NoCode,
    #[error("the source has no {0}, where a program begins")]
    NoMain(String),
    #[error("{0}")]
    Read(#[from] std::io::Error),
    #[error("the file is empty")]
    Empty,
    #[error("not an ELF file, and a source ends in .s, .S or .c")]
    Unknown,
    #[error(
        "'{}' is {language} source: compile and link it first: {build} -o {} {}",
        path.display(), quoted(&path.with_extension("").to_string_lossy()), quoted(&path.to_string_lossy())
    )]
    Other { path: PathBuf, language: &'static str, build: &'static str },
    #[error("line {line} is not valid UTF-8: save the file as UTF-8 text")]
    NotText { line: usize },
    #[error("cannot include '{name}': {why}")]
    Include { name: String, why: String },
    #[error("{}", listed(.0))]
    Assembly(Vec<AsmError>),
    #[error("{compiler} refused the source for {march}:\n{said}")]
    Compile { compiler: &'static str, march: String, said: String },
    #[error(
        "no C compiler for RISC-V is on PATH: apt-get install gcc-riscv64-unknown-elf (or clang and lld), or give \
         assembly or a linked program"
    )]
    NoCompiler,
    #[error(
        "C for Linux or the proxy kernel needs riscv64-linux-gnu-gcc on PATH: apt-get install gcc-riscv64-linux-gnu"
    )]
    NoLinuxCompiler,
}

/// All errors, one below the other, and their number.
fn listed(errors: &[AsmError]) -> String {
    let mut out = String::new();
    for error in errors {
        let _ = writeln!(out, "{error}");
    }
    let _ = match errors.len() {
        1 => write!(out, "1 error"),
        n => write!(out, "{n} errors"),
    };
    out
}
