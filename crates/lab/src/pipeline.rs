//! A stretch of a run on a pipelined core: finds the place in a program's run that the plan names, and takes the
//! instructions around it.

mod finder;
mod row;

use std::cell::RefCell;
use std::rc::Rc;

use tollgate_cores::{Core, CoreError, Passage, Stage, Timed};
use tollgate_record::stages::StageRow;
use tollgate_record::text::{nearest, suggestion};
use tollgate_riscv::{Decoder, Isa, Stop, text};

pub use finder::is_trapping;
pub use row::{Known, row};

pub(crate) use finder::{Finder, Place};
use finder::{Found, Handlers};

use crate::program::{self, Booted, Job, ProgramError};
use crate::symbols::{PROXY_KERNEL_BIAS as HIGH, Symbols};

/// The event in the middle of a diagram.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Around {
    /// An exception: a system call, a fault.
    Trap,
    /// An interrupt.
    Interrupt,
    /// A branch or jump that went elsewhere than was fetched.
    Branch,
    /// The arrival at a symbol, or at an address in hexadecimal; whether the instruction there retires or traps.
    Symbol(String),
}

impl Around {
    /// Its name in a sentence.
    pub fn name(&self) -> &str {
        match self {
            Self::Trap => "trap",
            Self::Interrupt => "interrupt",
            Self::Branch => "mispredicted branch or jump",
            Self::Symbol(name) => name,
        }
    }
}

/// A diagram to draw.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// Around what.
    pub around: Around,
    /// Which one of its kind, from 1.
    pub nth: u64,
    /// How many instructions in all, squashed ones too.
    pub count: usize,
}

/// Why there is no diagram.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages describe the variants")]
pub enum PipelineError {
    #[error("{0}")]
    Program(#[from] ProgramError),
    #[error("{0}")]
    Core(#[from] CoreError),
    #[error("no symbol is called '{name}'{}", suggestion(nearest.as_deref()))]
    Symbol { name: String, nearest: Option<String> },
    #[error(
        "the program {how} after {instructions} instructions, with {seen} of the {nth} asked for of kind: {what}"
    )]
    NotSeen { what: String, seen: u64, nth: u64, instructions: u64, how: String },
}

/// The most rows of a diagram.
pub const MOST: usize = 10_000;

/// A stretch of a run.
#[derive(Clone, Debug)]
pub struct View {
    /// The instructions, in the order of fetching.
    pub rows: Vec<StageRow>,
    /// The first one's number in that order, from the start of the simulation.
    pub first_fetch: u64,
    /// The index of the event: the instruction that trapped, was the last before the interrupt, jumped, or is at the
    /// symbol.
    pub event: usize,
    /// The cost of the hazard; `None` around a symbol.
    pub hazard: Option<Hazard>,
}

/// The cost of a control hazard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hazard {
    /// Cycles in which nothing retires, between the last instruction before and the first one after. A trapping
    /// instruction's own slot is one of them.
    pub lost: u64,
    /// Instructions that were fetched and thrown away; the trapping one is not counted.
    pub squashed: usize,
    /// How many of the lost cycles the first instruction after spent on something else, by cause.
    pub waits: Vec<(&'static str, u64)>,
    /// Index of the first instruction after.
    pub next: usize,
}

/// Steps between two looks at whether enough was seen.
const SLICE: u64 = 1 << 12;

/// Runs a job until enough was seen.
fn find(booted: &mut Booted, limit: u64, core: &Core, wanted: &Wanted) -> Result<Found, PipelineError> {
    let (place, target) = match &wanted.around {
        Around::Trap => (Place::Trap, None),
        Around::Interrupt => (Place::Interrupt, None),
        Around::Branch => (Place::Branch, None),
        Around::Symbol(name) => (Place::Symbol, Some(address(booted, name)?)),
    };
    // A third before, so that the pipe is seen full, and the rest after; at a symbol all of it.
    let before = if target.is_some() { 0 } else { wanted.count / 3 };
    let after = wanted.count.saturating_sub(before).max(2);
    let finder = Rc::new(RefCell::new(Finder::new(place, target, wanted.nth, before, after)));
    let taker = Rc::clone(&finder);
    let timed = Timed::new(core, (), move |passage: Passage| taker.borrow_mut().take(passage))?;
    let mut timed = timed.with_code(&booted.machine.code());
    // The first to observe a trap: the model may report a passage of its handler at once.
    let mut handlers = Handlers(Rc::clone(&finder));
    let machine = &mut booted.machine;
    let mut left = limit;
    let how = loop {
        let slice = left.min(SLICE);
        let stop = machine.run(slice, &mut (&mut handlers, &mut timed));
        machine.take_console();
        left -= slice;
        if finder.borrow().done {
            break String::new();
        }
        match stop {
            Stop::Exit { code } => break format!("ended with status {code}"),
            Stop::Budget if left == 0 => break "was stopped".to_owned(),
            Stop::Budget => {}
            _ => break "stopped to wait for what cannot come".to_owned(),
        }
    };
    let mut finder = finder.borrow_mut();
    finder.around(before, wanted.count).ok_or_else(|| PipelineError::NotSeen {
        what: wanted.around.name().to_owned(),
        seen: finder.seen,
        nth: wanted.nth,
        instructions: machine.instret(),
        how,
    })
}

/// The address of a symbol of the program, or of the kernel below it; or an address itself.
pub(crate) fn address(booted: &Booted, name: &str) -> Result<u64, PipelineError> {
    let elves = || std::iter::once(&booted.program).chain(&booted.kernel);
    if let Some(address) = elves().find_map(|elf| elf.symbol(name)) {
        return Ok(address);
    }
    if let Some(address) = name.strip_prefix("0x").and_then(|digits| u64::from_str_radix(digits, 16).ok()) {
        return Ok(address);
    }
    let names = elves().flat_map(|elf| &elf.symbols).map(|symbol| symbol.name.as_str());
    let names = names.filter(|name| !name.starts_with('$'));
    Err(PipelineError::Symbol { name: name.to_owned(), nearest: nearest(name, names).map(str::to_owned) })
}

/// Runs a job on a core and returns the instructions around the wanted place.
pub fn view(job: &Job, core: &Core, wanted: &Wanted) -> Result<View, PipelineError> {
    let mut booted = program::boot(job)?;
    let found = find(&mut booted, job.max_instructions, core, wanted)?;
    Ok(drawn(&booted, &found, job.isa, &wanted.around))
}

/// The passages as rows.
pub(crate) fn drawn(booted: &Booted, found: &Found, isa: Isa, around: &Around) -> View {
    let decoder = Decoder::new(isa);
    let mut symbols = Symbols::new(&booted.program, booted.kernel.as_ref());
    let rows = found
        .passages
        .iter()
        .enumerate()
        .map(|(i, passage)| {
            let insn =
                passage.word.or_else(|| bits(booted, passage.pc)).and_then(|word| decoder.decode(word));
            let name = symbols.at(passage.pc);
            let before = i.checked_sub(1).and_then(|i| found.passages.get(i));
            let known = Known {
                text: insn.as_ref().map(text).unwrap_or_default(),
                place: if name == 0 { String::new() } else { symbols.names()[name].clone() },
                op: insn.map(|insn| insn.op),
                traps: is_trapping(passage, before),
            };
            row(passage, known)
        })
        .collect();
    let hazard = (!matches!(around, Around::Symbol(_))).then(|| hazard(found)).flatten();
    let first_fetch = found.passages.first().map_or(0, |passage| passage.sequence);
    View { rows, first_fetch, event: found.event, hazard }
}

/// The bits of an instruction that the model did not see, from the program's file.
fn bits(booted: &Booted, pc: u64) -> Option<u32> {
    // The proxy kernel runs where it was loaded, and then in the upper half.
    let kernel = |bias: u64| booted.kernel.iter().map(move |elf| (elf, bias));
    let half = |address: u64| {
        let elves = std::iter::once((&booted.program, 0)).chain(kernel(0)).chain(kernel(HIGH));
        elves.flat_map(|(elf, bias)| elf.segments.iter().map(move |it| (it, bias))).find_map(
            |(segment, bias)| {
                let at = usize::try_from(address.checked_sub(segment.address.wrapping_add(bias))?).ok()?;
                let bytes = segment.data.get(at..at.checked_add(2)?)?;
                Some(u32::from(bytes[0]) | u32::from(bytes[1]) << 8)
            },
        )
    };
    let low = half(pc)?;
    if low & 3 == 3 { Some(low | half(pc.checked_add(2)?)? << 16) } else { Some(low) }
}

/// The cycle in which an instruction retires, or would.
fn slot(passage: &Passage) -> Option<u64> {
    passage.starts[Stage::WriteBack as usize]
}

/// The cost of the hazard at the event.
fn hazard(found: &Found) -> Option<Hazard> {
    let behind = found.passages.iter().enumerate().skip(found.event + 1);
    let (next, first) = behind.clone().find(|(_, p)| p.squashed.is_none())?;
    let event = &found.passages[found.event];
    let own = u64::from(is_trapping(event, found.event.checked_sub(1).and_then(|i| found.passages.get(i))));
    let mut waits: Vec<(&'static str, u64)> = Vec::new();
    for stall in &first.stalls {
        waits.push((stall.cause.name(), stall.cycles));
    }
    Some(Hazard {
        lost: slot(first)?.checked_sub(slot(event)? + 1)? + own,
        squashed: next - found.event - 1,
        waits,
        next,
    })
}
