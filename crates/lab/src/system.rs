//! Observers of a running kernel: a profile of its instructions or cycles, a trace of every instruction, or its traps over
//! time.

mod events;

use std::collections::HashMap;
use std::io::{self, Write};

use tollgate_cores::Core;
use tollgate_record::Measurement;
use tollgate_record::family::ProgramAsked;
use tollgate_riscv::{Aside, Elf, LoadError, Machine, aside};

use crate::boot::{BootOutcome, Input, KernelError, Limits, Watching, run_watched};
use crate::kernel::{from_map, kallsyms};
use crate::ledger::ProgramLedger;
use crate::profile::Profile;
use crate::record;
use crate::symbols::{Marks, NAMELESS, Symbols};
use crate::trace::Tracer;

pub use events::Events;

/// Where Linux is linked (`KERNEL_LINK_ADDR`); the tables in its image are right up to a constant.
const LINUX: u64 = 0xffff_ffff_8000_0000;
const RAM_BASE: u64 = 0x8000_0000;
/// The longest that the last function is.
const LAST: u64 = 1 << 16;

/// The functions of a kernel: an ELF, a `System.map`, or an image of Linux that contains its symbols. `None` without any.
pub fn functions(file: &[u8]) -> Option<Vec<(String, u64)>> {
    let mut functions = match Elf::parse(file) {
        Ok(elf) => elf.symbols.into_iter().map(|symbol| (symbol.name, symbol.address)).collect(),
        Err(_) => match std::str::from_utf8(file).ok().and_then(from_map) {
            Some(functions) => functions,
            None => {
                let mut functions = kallsyms::read(file)?;
                let bias = LINUX.wrapping_sub(functions.first()?.1);
                functions.iter_mut().for_each(|(_, address)| *address = address.wrapping_add(bias));
                functions
            }
        },
    };
    functions.sort_by_key(|function| function.1);
    Some(functions).filter(|functions| !functions.is_empty())
}

/// A static program that runs on a kernel.
pub struct Program {
    name: String,
    elf: Elf,
}

/// Why functions of a program cannot be told from others.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages describe the variants")]
pub enum ProgramError {
    #[error("{0}")]
    Elf(#[from] LoadError),
    #[error("no symbols: it was stripped")]
    NoSymbols,
    #[error("its code ends at {0:#x}, where the machine's memory is; a program must be below {RAM_BASE:#x}")]
    TooHigh(u64),
    #[error("it has addresses of '{0}', so their functions cannot be told apart; give one of them")]
    Overlaps(String),
}

impl Program {
    /// Reads a static ELF, called `name`.
    ///
    /// # Errors
    /// A file that is not an ELF, or has no symbols.
    pub fn new(name: &str, file: &[u8]) -> Result<Self, ProgramError> {
        let elf = Elf::parse(file)?;
        let program = Self { name: name.to_owned(), elf };
        match program.end() {
            _ if program.elf.symbols.is_empty() => Err(ProgramError::NoSymbols),
            end if end > RAM_BASE => Err(ProgramError::TooHigh(end)),
            _ => Ok(program),
        }
    }

    /// Whether a program of others has the same addresses.
    ///
    /// # Errors
    /// The one that has.
    pub fn beside(&self, others: &[Self]) -> Result<(), ProgramError> {
        let apart = |other: &&Self| other.end() <= self.begin() || self.end() <= other.begin();
        match others.iter().find(|other| !apart(other)) {
            Some(other) => Err(ProgramError::Overlaps(other.name.clone())),
            None => Ok(()),
        }
    }

    fn begin(&self) -> u64 {
        self.elf.segments.iter().map(|segment| segment.address).min().unwrap_or(0)
    }

    fn end(&self) -> u64 {
        let ends =
            self.elf.segments.iter().map(|segment| segment.address.saturating_add(segment.memory_size));
        ends.max().unwrap_or(0)
    }
}

/// Functions by address, those of programs with their program's name, and names for what is neither.
fn symbols(functions: Vec<(String, u64)>, programs: &[Program], ram_bytes: u64) -> Symbols {
    let mut names =
        vec![NAMELESS.to_owned(), "(user mode)".to_owned(), "(before the kernel's addresses)".to_owned()];
    let mut known: HashMap<String, usize> = HashMap::new();
    // A kernel in the lower half is where it was loaded; one in the upper half begins there, before its own addresses hold.
    let mut marks = vec![(0, 1)];
    if functions.first().is_some_and(|first| first.1 > RAM_BASE + ram_bytes) {
        marks.extend([(RAM_BASE, 2), (RAM_BASE + ram_bytes, 1)]);
    } else {
        marks.push((RAM_BASE, 2));
    }
    for program in programs {
        let of = Symbols::new(&program.elf, None);
        let first = names.len() - 1;
        names.extend(of.names()[1..].iter().map(|name| format!("{}:{name}", program.name)));
        // Code without a symbol is code of user mode; before its first one another program may be.
        let places = of.places().skip_while(|place| place.1 == 0);
        marks.extend(places.map(|(at, name)| (at, if name == 0 { 1 } else { first + name })));
    }
    let last = functions.last().map_or(0, |last| last.1);
    let mut before = None;
    for (name, address) in functions {
        // Of several names for one place the first one holds.
        if before.replace(address) == Some(address) {
            continue;
        }
        let next = names.len();
        let index = *known.entry(name).or_insert_with_key(|name| {
            names.push(name.clone());
            next
        });
        marks.push((address, index));
    }
    marks.push((last.saturating_add(LAST), 0));
    Symbols::from_marks(Marks::new(0, marks), names)
}

impl Watching for Profile {}
impl Watching for Aside<'_, ProgramLedger> {}
impl Watching for Events {}

impl Watching for Tracer {
    fn pause(&mut self) -> io::Result<()> {
        io::stderr().write_all(self.take().as_bytes())
    }
}

/// An observer.
pub enum Watch {
    /// Nothing, at full speed.
    Nothing,
    /// Instructions by function.
    Profile(Box<Profile>),
    /// The same, and cycles on a core by function, cause and caller.
    Ledger(Box<ProgramLedger>),
    /// Every instruction, as lines on standard error.
    Trace(Box<Tracer>),
    /// Traps, interrupts and switches over time.
    Events(Box<Events>),
}

impl Watch {
    /// Instructions by function, or cycles on a core.
    ///
    /// # Errors
    /// An invalid core.
    pub fn profile(
        machine: &Machine,
        functions: Vec<(String, u64)>,
        programs: &[Program],
        core: Option<&Core>,
    ) -> Result<Self, tollgate_cores::CoreError> {
        let profile = Profile::of_system(symbols(functions, programs, machine.config().ram_bytes));
        Ok(match core {
            None => Self::Profile(Box::new(profile)),
            Some(core) => Self::Ledger(Box::new(ProgramLedger::new(profile, core, &machine.code())?)),
        })
    }

    /// Whether a record follows.
    pub fn is_profile(&self) -> bool {
        matches!(self, Self::Profile(_) | Self::Ledger(_))
    }

    /// Runs a machine as [`boot::run`](crate::boot::run) does, and watches it.
    ///
    /// # Errors
    /// Output that cannot be written.
    pub fn run(
        &mut self,
        machine: &mut Machine,
        limits: Limits<'_>,
        input: &Input,
        console: &mut dyn Write,
        interrupted: &dyn Fn() -> bool,
    ) -> Result<BootOutcome, KernelError> {
        match self {
            Self::Nothing => run_watched(machine, limits, input, console, interrupted, &mut ()),
            Self::Profile(watch) => run_watched(machine, limits, input, console, interrupted, &mut **watch),
            Self::Ledger(watch) => {
                let outcome = aside(&mut **watch, |watch| {
                    run_watched(machine, limits, input, console, interrupted, watch)
                });
                watch.end();
                outcome
            }
            Self::Trace(watch) => run_watched(machine, limits, input, console, interrupted, &mut **watch),
            Self::Events(watch) => run_watched(machine, limits, input, console, interrupted, &mut **watch),
        }
    }

    /// The entry of the record, if there is one.
    pub fn result(&self, asked: ProgramAsked) -> Option<Measurement> {
        match self {
            Self::Profile(profile) => record::system(Some(profile), None, asked),
            Self::Ledger(ledger) => record::system(None, Some(ledger), asked),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOW: &[u8] = include_bytes!("../guests/riscv/images/probe-xv6.elf");
    const LINUX: &[u8] = include_bytes!("../guests/riscv/images/probe.elf");
    const BARE: &[u8] = include_bytes!("../guests/riscv/images/latency.elf");

    #[test]
    fn functions_of_programs_have_their_program_s_name() {
        for (file, at) in [(LOW, 0), (LINUX, 0x1_0000)] {
            let main = Elf::parse(file).unwrap().symbol("main").unwrap();
            let programs = [Program::new("init", file).unwrap()];
            assert_eq!(programs[0].begin(), at);
            let mut symbols = symbols(vec![("start".into(), RAM_BASE)], &programs, 1 << 27);
            let mut name = |at: u64| {
                let index = symbols.at(at);
                symbols.names()[index].clone()
            };
            assert_eq!([main, main + 2].map(&mut name), ["init:main"; 2]);
            assert_eq!(name(RAM_BASE), "start");
            assert_eq!([programs[0].end(), 0x7000_0000].map(name), ["(user mode)"; 2]);
        }
    }

    #[test]
    fn programs_whose_functions_cannot_be_told_are_refused() {
        let error = |found: Result<(), ProgramError>| found.unwrap_err().to_string();
        let low = Program::new("low", LOW).unwrap();
        let error_of = |file: &[u8]| error(Program::new("x", file).map(drop));
        assert!(error(Program::new("x", LOW).unwrap().beside(&[low])).contains("addresses of 'low'"));
        assert!(error_of(BARE).contains("must be below 0x80000000"));
        assert!(error_of(b"#!/bin/sh").contains("not an ELF"), "{}", error_of(b"#!/bin/sh"));
    }
}
