//! What several plans share: the error, and the options that several commands have.

use std::fmt::Display;
use std::io;
use std::ops::RangeInclusive;
use std::path::Path;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use tollgate_cores::{Core, CoreError};
use tollgate_record::file;
use tollgate_record::text::quoted;
use tollgate_riscv::Isa;

use crate::icache::IcacheError;
use crate::status::FAILED;

/// Why a request cannot be measured: the option or file, what is wrong, and what works.
#[derive(Debug, thiserror::Error)]
#[error("{text}")]
pub struct PlanError {
    text: String,
    status: u8,
}

/// Exit statuses of commands that have that of the program otherwise: those of `env`.
const NOT_A_PROGRAM: u8 = 126;
const NOT_FOUND: u8 = 127;

impl PlanError {
    /// Options that do not work together.
    pub(super) fn conflict(why: impl Into<String>) -> Self {
        Self { text: why.into(), status: FAILED }
    }

    /// A value that does not work.
    pub(super) fn value(option: &str, given: impl Display, why: impl Display) -> Self {
        Self::conflict(format!("{option} {given}: {why}"))
    }

    /// A value whose explanation repeats it.
    pub(super) fn option(option: &str, why: impl Display) -> Self {
        Self::conflict(format!("{option}: {why}"))
    }

    /// A file that cannot be read or written.
    pub(super) fn file(path: &Path, why: impl Display) -> Self {
        Self::conflict(format!("{}: {why}", path.display()))
    }

    /// A file that is not a program which can be run.
    pub(super) fn not_a_program(path: &Path, why: impl Display) -> Self {
        Self { status: NOT_A_PROGRAM, ..Self::file(path, why) }
    }

    /// The exit status of a command that has that of the program otherwise, as `env` has it: 127 if the program was not
    /// found, 126 if it cannot be executed, 125 for everything else.
    pub fn exit_status(&self) -> u8 {
        self.status
    }
}

impl From<IcacheError> for PlanError {
    fn from(error: IcacheError) -> Self {
        Self::conflict(error.to_string())
    }
}

/// A parser of one of these names; the help shows what each means.
pub fn one_of<T: Clone + Send + Sync + 'static>(
    names: impl Into<Vec<(&'static str, T, &'static str)>>,
) -> impl TypedValueParser<Value = T> {
    let names = names.into();
    let known: Vec<_> = names.iter().map(|(name, _, what)| PossibleValue::new(*name).help(*what)).collect();
    PossibleValuesParser::new(known).try_map(move |typed| {
        let found = names.iter().find(|(name, ..)| *name == typed);
        found.map(|(_, value, _)| value.clone()).ok_or("not one of the names")
    })
}

/// Checks that a number is in its range.
pub(super) fn within(
    option: &str,
    given: u64,
    unit: &str,
    range: RangeInclusive<u64>,
) -> Result<(), PlanError> {
    if range.contains(&given) {
        return Ok(());
    }
    let (least, most) = range.into_inner();
    Err(PlanError::value(option, given, format_args!("give {unit} from {least} to {most}")))
}

/// Checks that a program may execute at least one instruction.
pub(super) fn check_budget(max_instructions: u64) -> Result<(), PlanError> {
    match max_instructions {
        0 => Err(PlanError::value("--max-instructions", 0, "give at least 1")),
        _ => Ok(()),
    }
}

/// The longest file that is read: some hundred times a kernel with its debug information.
const LONGEST: u64 = 4 << 30;
/// The longest file that describes a core.
const LONGEST_CORE: u64 = 1 << 20;

/// The ISA that `--isa` names.
pub(super) fn isa(text: &str) -> Result<Isa, PlanError> {
    text.parse().map_err(|error| PlanError::option("--isa", error))
}

/// The bytes of a program, an image or a table.
pub(super) fn read(path: &Path) -> Result<Vec<u8>, PlanError> {
    file::read(path, LONGEST).map_err(|error| PlanError::file(path, error))
}

/// The same of a file whose contents are believed: a core, rules, a machine. No other user may be able to change it.
///
/// # Errors
/// As [`read`], and who could change it.
pub(super) fn trusted(path: &Path) -> Result<Vec<u8>, PlanError> {
    file::read_trusted(path, LONGEST).map_err(|error| PlanError::file(path, error))
}

/// The bytes of a program that was built.
///
/// # Errors
/// As [`read`]; and for source code how to build it.
pub(super) fn program(path: &Path) -> Result<Vec<u8>, PlanError> {
    let bytes = match read(path) {
        Ok(bytes) => bytes,
        Err(error) if path.exists() => return Err(PlanError { status: NOT_A_PROGRAM, ..error }),
        Err(error) => return Err(PlanError { status: NOT_FOUND, ..error }),
    };
    let end = path.extension().and_then(|end| end.to_str()).unwrap_or_default();
    let (what, how) = match end {
        _ if bytes.starts_with(b"\x7fELF") => return Ok(bytes),
        "s" | "S" | "asm" => {
            ("assembly source: assemble and link it first", "riscv64-linux-gnu-gcc -nostdlib -static")
        }
        "c" => ("C source: compile and link it first", "riscv64-linux-gnu-gcc -O2 -static"),
        "cc" | "cpp" | "cxx" | "C" => {
            ("C++ source: compile and link it first", "riscv64-linux-gnu-g++ -O2 -static")
        }
        "rs" => (
            "Rust source: compile and link it first",
            "rustc --target riscv64gc-unknown-linux-gnu -C target-feature=+crt-static",
        ),
        _ => return Ok(bytes),
    };
    let word = |path: &Path| quoted(&path.to_string_lossy());
    let (name, out) = (path.display(), word(&path.with_extension("")));
    let why = format!("'{name}' is {what}: {how} -o {out} {}", word(path));
    Err(PlanError { status: NOT_A_PROGRAM, ..PlanError::conflict(why) })
}

/// The core that `--core` names: a preset, or a file. The suffix `+fault` adds a core's known fault.
pub(super) fn core(name: &str) -> Result<Core, PlanError> {
    let (plain, fault) = name.strip_suffix("+fault").map_or((name, false), |plain| (plain, true));
    let is_file = Path::new(plain).extension().is_some_and(|extension| extension == "toml");
    let core = if is_file {
        let bytes = file::read_trusted(plain.as_ref(), LONGEST_CORE);
        let text = bytes.and_then(|bytes| String::from_utf8(bytes).map_err(io::Error::other));
        Core::from_toml(&text.map_err(|error| PlanError::value("--core", plain, error))?)
    } else {
        Core::preset(plain)
    };
    let mut core = core.map_err(|error: CoreError| PlanError::value("--core", plain, error))?;
    if core.name.is_empty() {
        core.name = plain.to_owned();
    }
    if fault && core.trap.return_fault == 0 {
        let why = "this core has no known fault; cva6 has one, in its returns";
        return Err(PlanError::value("--core", name, why));
    }
    Ok(if fault { core.with_fault() } else { core })
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
