//! The way of some instructions through the pipe: finds the place in a program's run that was asked for, and
//! takes what is around it.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use tollgate_record::text::{nearest, suggestion};
use tollgate_riscv::timing::{Core, CoreError, Flush, Passage, Stage, Timed};
use tollgate_riscv::{Access, Decoder, Observer, Retired, Stop, Trap, TrapReturn, Walk, text};

use crate::diagram::Lane;
use crate::program::{self, Booted, Job, ProgramError};
use crate::symbols::Symbols;

/// What a diagram is drawn around.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Around {
    /// An exception: a system call, a fault.
    Trap,
    /// An interrupt.
    Interrupt,
    /// A branch or jump that went elsewhere than was fetched.
    Branch,
    /// The arrival at a symbol.
    Symbol(String),
}

impl Around {
    /// What it is called in a sentence.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Trap => "trap",
            Self::Interrupt => "interrupt",
            Self::Branch => "mispredicted branch or jump",
            Self::Symbol(name) => name,
        }
    }
}

/// What to draw.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// Around what.
    pub around: Around,
    /// The how manieth of its kind, from 1.
    pub nth: u64,
    /// How many instructions in all, squashed ones too.
    pub count: usize,
}

/// Why there is no diagram.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PipelineError {
    /// The program could not be run.
    #[error("{0}")]
    Program(#[from] ProgramError),
    /// The core cannot be.
    #[error("{0}")]
    Core(#[from] CoreError),
    /// No such symbol.
    #[error("no symbol is called '{name}'{}", suggestion(nearest.as_deref()))]
    Symbol {
        /// What was asked for.
        name: String,
        /// What may have been meant; none in a program without symbols.
        nearest: Option<String>,
    },
    /// It did not happen, or not so often.
    #[error(
        "the program {how} after {instructions} instructions, with {seen} of the {nth} asked for of kind: {what}"
    )]
    NotSeen {
        /// What was waited for.
        what: String,
        /// How often it happened.
        seen: u64,
        /// How often it should have.
        nth: u64,
        /// How far the program came.
        instructions: u64,
        /// How it ended.
        how: String,
    },
}

/// A stretch of a run.
#[derive(Clone, Debug)]
pub struct View {
    /// The instructions, in the order of fetching.
    pub lanes: Vec<Lane>,
    /// What the diagram is about, by index: the instruction that trapped, was the last before the interrupt,
    /// jumped, or stands at the symbol.
    pub event: usize,
    /// The cost of the hazard; none around a symbol.
    pub hazard: Option<Hazard>,
}

/// What a control hazard cost.
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

/// Passages, kept while they may be wanted.
#[derive(Default)]
struct Finder {
    kept: VecDeque<Passage>,
    before: usize,
    after: usize,
    target: Option<u64>,
    kind: Option<Kind>,
    nth: u64,
    seen: u64,
    /// Handlers that are about to begin, by what took the trap there.
    expected: VecDeque<(u64, bool)>,
    /// Sequence number of the event and how many passages came since.
    found: Option<(u64, usize)>,
    /// Whether the passage before was thrown away by a branch.
    in_branch: bool,
    done: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Trap,
    Interrupt,
    Branch,
    Symbol,
}

impl Finder {
    fn take(&mut self, passage: Passage) {
        if self.done {
            return;
        }
        let retired = passage.squashed.is_none();
        let mut event = None;
        let before = || last_real(&self.kept);
        if retired
            && let Some(&(handler, interrupt)) = self.expected.front()
            && passage.pc == handler
        {
            let wanted = if interrupt { Kind::Interrupt } else { Kind::Trap };
            if self.kind == Some(wanted) {
                event = before();
            }
        }
        let in_branch = passage.squashed == Some(Flush::Branch);
        if self.kind == Some(Kind::Branch) && in_branch && !self.in_branch {
            event = before();
        }
        if retired && self.target == Some(passage.pc) {
            event = Some(passage.sequence);
        }
        if retired && self.expected.front().is_some_and(|e| e.0 == passage.pc) {
            self.expected.pop_front();
        }
        self.in_branch = in_branch;
        self.kept.push_back(passage);
        if let Some((_, after)) = &mut self.found {
            *after += 1;
            self.done = *after >= self.after;
            return;
        }
        if let Some(sequence) = event {
            self.seen += 1;
            if self.seen == self.nth {
                let since = self.kept.iter().filter(|p| p.sequence > sequence).count();
                self.found = Some((sequence, since));
            }
        }
        let room = self.before + 64;
        while self.found.is_none() && self.kept.len() > room {
            self.kept.pop_front();
        }
    }
}

/// Whether it is the instruction that raised an exception, and not one of those that were fetched behind it.
fn is_trapping(passage: &Passage, before: Option<&Passage>) -> bool {
    let behind = before.is_some_and(|before| {
        before.squashed == Some(Flush::Trap) && matches!(passage.pc.wrapping_sub(before.pc), 2 | 4)
    });
    passage.squashed == Some(Flush::Trap) && !behind
}

/// The last of the passages that retired, or trapped.
fn last_real(passages: &VecDeque<Passage>) -> Option<u64> {
    let at = |i: usize| passages.get(i);
    let real = |i: &usize| {
        at(*i).is_some_and(|p| p.squashed.is_none() || is_trapping(p, i.checked_sub(1).and_then(at)))
    };
    let i = (0..passages.len()).rev().find(real)?;
    at(i).map(|passage| passage.sequence)
}

/// The timing model, and who tells the finder which handlers begin.
struct Watch<O> {
    timed: O,
    finder: Rc<RefCell<Finder>>,
}

impl<O: Observer> Observer for Watch<O> {
    const RETIRE: bool = true;
    const MEMORY: bool = true;
    const TRAP: bool = true;
    const WALK: bool = true;

    fn walk(&mut self, walk: &Walk) {
        self.timed.walk(walk);
    }

    fn address_space(&mut self, satp: u64) {
        self.timed.address_space(satp);
    }

    fn retire(&mut self, retired: &Retired) {
        self.timed.retire(retired);
    }

    fn access(&mut self, access: &Access) {
        self.timed.access(access);
    }

    fn trap(&mut self, trap: &Trap) {
        self.finder.borrow_mut().expected.push_back((trap.handler, trap.cause.is_interrupt()));
        self.timed.trap(trap);
    }

    fn trap_return(&mut self, ret: &TrapReturn) {
        self.timed.trap_return(ret);
    }
}

/// Steps between two looks at whether enough was seen.
const SLICE: u64 = 1 << 12;

/// Passages around a place, and where among them it is.
struct Found {
    passages: Vec<Passage>,
    event: usize,
}

/// Runs a job until enough was seen.
fn find(booted: &mut Booted, limit: u64, core: &Core, wanted: &Wanted) -> Result<Found, PipelineError> {
    let (kind, target) = match &wanted.around {
        Around::Trap => (Kind::Trap, None),
        Around::Interrupt => (Kind::Interrupt, None),
        Around::Branch => (Kind::Branch, None),
        Around::Symbol(name) => (Kind::Symbol, Some(address(booted, name)?)),
    };
    // A third before, so that the pipe is seen full, and the rest after; at a symbol all of it.
    let before = if target.is_some() { 0 } else { wanted.count / 3 };
    let finder = Rc::new(RefCell::new(Finder {
        before,
        after: wanted.count.saturating_sub(before).max(2),
        target,
        kind: Some(kind),
        nth: wanted.nth,
        ..Finder::default()
    }));
    let taker = Rc::clone(&finder);
    let timed = Timed::new(core, (), move |passage: Passage| taker.borrow_mut().take(passage))?;
    let mut watch = Watch { timed, finder: Rc::clone(&finder) };
    let machine = &mut booted.machine;
    let mut left = limit;
    let how = loop {
        let slice = left.min(SLICE);
        let stop = machine.run(slice, &mut watch);
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
    let Some((sequence, _)) = finder.found else {
        return Err(PipelineError::NotSeen {
            what: wanted.around.name().to_owned(),
            seen: finder.seen,
            nth: wanted.nth,
            instructions: machine.instret(),
            how,
        });
    };
    let kept: Vec<Passage> = std::mem::take(&mut finder.kept).into();
    let at = kept.iter().position(|p| p.sequence == sequence).unwrap_or(0);
    let first = at.saturating_sub(before);
    let passages: Vec<Passage> = kept.into_iter().skip(first).take(wanted.count.max(2)).collect();
    Ok(Found { passages, event: at - first })
}

/// The address of a symbol of the program, or of the kernel below it.
fn address(booted: &Booted, name: &str) -> Result<u64, PipelineError> {
    let elves = || std::iter::once(&booted.program).chain(&booted.kernel);
    if let Some(address) = elves().find_map(|elf| elf.symbol(name)) {
        return Ok(address);
    }
    let names = elves().flat_map(|elf| &elf.symbols).map(|symbol| symbol.name.as_str());
    let names = names.filter(|name| !name.starts_with('$'));
    Err(PipelineError::Symbol { name: name.to_owned(), nearest: nearest(name, names).map(str::to_owned) })
}

/// Runs a job on a core and takes the instructions around what was asked for.
///
/// # Errors
/// A program that cannot be run, a core that cannot be, a symbol that is not there, and when the program ends
/// or has used up its instructions before it happened.
pub fn view(job: &Job, core: &Core, wanted: &Wanted) -> Result<View, PipelineError> {
    let mut booted = program::boot(job)?;
    let found = find(&mut booted, job.max_instructions, core, wanted)?;
    let decoder = Decoder::new(job.isa);
    let mut symbols = Symbols::new(&booted.program, booted.kernel.as_ref());
    let lanes = found
        .passages
        .iter()
        .enumerate()
        .map(|(i, passage)| {
            let insn =
                passage.word.or_else(|| bits(&booted, passage.pc)).and_then(|word| decoder.decode(word));
            let name = symbols.at(passage.pc);
            let place = if name == 0 { String::new() } else { symbols.names()[name].clone() };
            let before = i.checked_sub(1).and_then(|i| found.passages.get(i));
            let mut lane = Lane::new(
                passage,
                insn.as_ref().map(text).unwrap_or_default(),
                place,
                insn.map(|insn| insn.op),
            );
            lane.traps = is_trapping(passage, before);
            lane
        })
        .collect();
    let hazard = (!matches!(wanted.around, Around::Symbol(_))).then(|| hazard(&found)).flatten();
    Ok(View { lanes, event: found.event, hazard })
}

/// The bits of an instruction that the model did not see, from the program's file.
fn bits(booted: &Booted, pc: u64) -> Option<u32> {
    let half = |address: u64| {
        let elves = std::iter::once(&booted.program).chain(&booted.kernel);
        elves.flat_map(|elf| &elf.segments).find_map(|segment| {
            let at = usize::try_from(address.checked_sub(segment.address)?).ok()?;
            let bytes = segment.data.get(at..at.checked_add(2)?)?;
            Some(u32::from(bytes[0]) | u32::from(bytes[1]) << 8)
        })
    };
    let low = half(pc)?;
    if low & 3 == 3 { Some(low | half(pc.checked_add(2)?)? << 16) } else { Some(low) }
}

/// The cycle in which an instruction retires, or would.
fn slot(passage: &Passage) -> Option<u64> {
    passage.starts[Stage::WriteBack as usize]
}

/// What the hazard at the event cost.
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
