//! Checks of options and files that several commands of `tollgate riscv` share.

use std::io;
use std::ops::RangeInclusive;
use std::path::Path;

use tollgate_cores::{Core, CoreError};
use tollgate_lab::program::ProgramError;
use tollgate_lab::source::{self, Executable, Language, Recipe, SourceError};
use tollgate_record::file;
use tollgate_riscv::{Isa, LoadError, Privilege, Xlen};

use crate::args::{NOT_A_PROGRAM, NOT_FOUND, Usage};

/// Checks that a number is in its range.
pub(super) fn within(option: &str, given: u64, unit: &str, range: RangeInclusive<u64>) -> Result<(), Usage> {
    if range.contains(&given) {
        return Ok(());
    }
    let (least, most) = range.into_inner();
    Err(Usage::value(option, given, format_args!("give {unit} from {least} to {most}")))
}

/// Checks that a program may execute at least one instruction.
pub(super) fn check_budget(max_instructions: u64) -> Result<(), Usage> {
    match max_instructions {
        0 => Err(Usage::value("--max-instructions", 0, "give at least 1")),
        _ => Ok(()),
    }
}

/// The longest file that is read: some hundred times a kernel with its debug information.
const LONGEST: u64 = 4 << 30;
/// The longest file that describes a core.
const LONGEST_CORE: u64 = 1 << 20;

/// The ISA that `--isa` names.
pub(super) fn isa(text: &str) -> Result<Isa, Usage> {
    text.parse().map_err(|error| Usage::option("--isa", error))
}

/// The bytes of a program, an image or a table.
pub(super) fn read(path: &Path) -> Result<Vec<u8>, Usage> {
    file::read(path, LONGEST).map_err(|error| Usage::file(path, error))
}

/// The same of a file whose contents are believed: a core, rules, a machine. No other user may be able to change it.
///
/// # Errors
/// As [`read`], and who could change it.
pub(super) fn trusted(path: &Path) -> Result<Vec<u8>, Usage> {
    file::read_trusted(path, LONGEST).map_err(|error| Usage::file(path, error))
}

/// The bytes of a kernel that is built already.
///
/// # Errors
/// As [`read`]; and for a source what it is.
pub(super) fn program(path: &Path) -> Result<Vec<u8>, Usage> {
    let bytes = match read(path) {
        Ok(bytes) => bytes,
        Err(error) if path.exists() => return Err(Usage { of_guest: NOT_A_PROGRAM, ..error }),
        Err(error) => return Err(Usage { of_guest: NOT_FOUND, ..error }),
    };
    match Language::of(path, &bytes) {
        Ok(Language::Elf) | Err(SourceError::Unknown | SourceError::Empty) => Ok(bytes),
        Ok(_) => {
            let why = "is a source, and a linked program is needed here";
            Err(Usage::not_a_program(path, why))
        }
        Err(error) => Err(Usage { of_guest: NOT_A_PROGRAM, ..Usage::new(error) }),
    }
}

/// A program that is linked, or is built from a source for these instructions: bare, or for a proxy kernel.
///
/// # Errors
/// As [`read`]; all errors of a source, which compiler is missing, or what builds other languages.
pub(super) fn executable(path: &Path, march: &str, isa: Isa, proxied: bool) -> Result<Executable, Usage> {
    let recipe = Recipe::new(march, isa);
    built(path, &if proxied { recipe.for_linux() } else { recipe })
}

/// The same by a recipe.
///
/// # Errors
/// As [`executable`].
pub(super) fn built(path: &Path, recipe: &Recipe<'_>) -> Result<Executable, Usage> {
    source::load(path, recipe).map_err(|error| match error {
        SourceError::Read(error) if path.exists() => Usage::not_a_program(path, error),
        SourceError::Read(error) => Usage { of_guest: NOT_FOUND, ..Usage::file(path, error) },
        SourceError::Unknown
        | SourceError::Empty
        | SourceError::NoCode
        | SourceError::NoMain(_)
        | SourceError::NotText { .. }
        | SourceError::Include { .. } => Usage::not_a_program(path, error),
        error => Usage { of_guest: NOT_A_PROGRAM, ..Usage::new(error) },
    })
}

/// The core that `--core` names: a preset, or a file. The suffix `+fault` adds a core's known fault.
pub(super) fn core(name: &str) -> Result<Core, Usage> {
    let (plain, fault) = name.strip_suffix("+fault").map_or((name, false), |plain| (plain, true));
    let is_file = Path::new(plain).extension().is_some_and(|extension| extension == "toml");
    let core = if is_file {
        let bytes = file::read_trusted(plain.as_ref(), LONGEST_CORE);
        let text = bytes.and_then(|bytes| String::from_utf8(bytes).map_err(io::Error::other));
        Core::from_toml(&text.map_err(|error| Usage::value("--core", plain, error))?)
    } else {
        Core::preset(plain)
    };
    let mut core = core.map_err(|error: CoreError| Usage::value("--core", plain, error))?;
    if core.name.is_empty() {
        core.name = plain.to_owned();
    }
    if fault && core.trap.return_fault == 0 {
        let why = "this core has no known fault; cva6 has one, in its returns";
        return Err(Usage::value("--core", name, why));
    }
    Ok(if fault { core.with_fault() } else { core })
}

/// Why a program does not run, with the instruction set that it needs.
pub(super) fn explained(error: &ProgramError) -> String {
    match error {
        ProgramError::Program(LoadError::WrongWidth { found: Xlen::Rv32, .. }) => {
            format!("{error}: --isa rv32gc")
        }
        ProgramError::Program(LoadError::WrongWidth { found: Xlen::Rv64, .. }) => {
            format!("{error}: --isa rv64gc")
        }
        _ => error.to_string(),
    }
}

/// The modes on a command line.
pub(super) const MODES: [(&str, Privilege, &str); 3] = [
    ("u", Privilege::User, "User mode"),
    ("s", Privilege::Supervisor, "Supervisor mode"),
    ("m", Privilege::Machine, "Machine mode"),
];

/// A number, in hexadecimal behind `0x`.
pub(super) fn number(text: &str) -> Result<u64, String> {
    let parsed = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    parsed.map_err(|_| "give a number, as 12 or 0x8000000000080205".to_owned())
}

/// The options of a command line, for tests.
#[cfg(test)]
pub(super) fn parsed<T: clap::Args>(words: &[&str]) -> T {
    #[derive(clap::Parser)]
    #[command(no_binary_name = true)]
    struct Line<T: clap::Args> {
        #[command(flatten)]
        options: T,
    }
    let line = <Line<T> as clap::Parser>::try_parse_from(words);
    line.unwrap_or_else(|error| panic!("{words:?}: {error}")).options
}
