//! A program that runs: forwards in slices, and back by checkpoints and running again.
//!
//! A position counts the instructions that retired and the traps that were taken. Both forms of running (many instructions at once,
//! or one by one with their passages) come to the same state at the same position.

use std::collections::VecDeque;

use tollgate_cores::{ByPrivilege, CoreError, Passage, Timed};
use tollgate_riscv::{
    Checkpoint, Class, Insn, Machine, MachineKind, Observer, Step, Stop as Halt, Trap, csr, semihosting_name,
};

use crate::failure::Failure;
use crate::program::Loaded;

/// Positions between two checkpoints, with a core and without: run again in less than 100 ms.
const SPACING: u64 = 1 << 20;
const WIDE_SPACING: u64 = 1 << 24;
/// A checkpoint this far before a position that was gone to makes the next steps back short.
const CLOSE: u64 = 1 << 12;
/// Bounds of what checkpoints keep.
const MOST_POINTS: usize = 24;
const MOST_POINT_BYTES: usize = 48 << 20;
/// Traps and passages that are kept.
const MOST_TRAPS: usize = 1000;
const MOST_PASSAGES: usize = 4096;
/// Steps in which a program is looked at whether it repeats itself, and how many slices apart.
const LOOK: u64 = 4096;
const LOOKS: u64 = 64;
/// Traps in a row, with nothing retired between them, after which there is no handler.
const ENDLESS: u64 = 1000;

/// How many times longer a slice takes than its instructions, and how many nanoseconds, when a kernel waits for input.
const IDLE: u64 = 20;
const IDLE_NS: u64 = 10_000_000;

/// Why a run stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    Done,
    Breakpoint(usize, String),
    Exit(i32),
    Limit,
    Input,
    Stuck(String),
    Start,
}

/// Where a run stops.
#[derive(Clone, Debug)]
pub(crate) enum Break {
    /// Before one of these addresses.
    At(Vec<u64>),
    /// Before an instruction that names this CSR.
    Csr(u16),
    /// Behind a trap of this cause, or of any.
    Trap(Option<String>),
}

/// What a run is to reach.
#[derive(Clone, Debug, Default)]
pub(crate) struct Goal {
    pub(crate) breaks: Vec<Break>,
    pub(crate) position: Option<u64>,
    pub(crate) cycle: Option<u64>,
    /// Instructions since reset after which it stops.
    pub(crate) limit: Option<u64>,
    /// Whether reaching one of `breaks` is what was asked for.
    pub(crate) breaks_are_done: bool,
}

/// A trap, and how many came before it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Noted {
    pub(crate) index: u64,
    pub(crate) trap: Trap,
}

/// The traps of a run.
#[derive(Default)]
pub(crate) struct TrapLog {
    /// How many there were up to here.
    pub(crate) count: u64,
    /// The latest of them, and those that come behind a step back.
    latest: VecDeque<Noted>,
}

impl TrapLog {
    /// The latest traps up to here, in order.
    pub(crate) fn so_far(&self) -> impl DoubleEndedIterator<Item = &Noted> {
        self.latest.iter().filter(|noted| noted.index < self.count)
    }
}

impl Observer for TrapLog {
    const TRAP: bool = true;

    fn trap(&mut self, trap: &Trap) {
        // One that was taken before, and is taken again behind a step back, is known.
        if self.latest.back().is_none_or(|last| last.index < self.count) {
            if self.latest.len() == MOST_TRAPS {
                self.latest.pop_front();
            }
            self.latest.push_back(Noted { index: self.count, trap: *trap });
        }
        self.count += 1;
    }
}

/// The core beside the machine: with the passages of instructions, or without, which is faster.
enum Timing {
    None,
    Quick(Timed),
    Traced(Timed<ByPrivilege, Vec<Passage>>),
}

/// Something of a core in either form.
macro_rules! of_core {
    ($timing:expr, $core:ident => $value:expr) => {
        match $timing {
            Timing::None => None,
            Timing::Quick($core) => Some($value),
            Timing::Traced($core) => Some($value),
        }
    };
}

struct Point {
    position: u64,
    machine: Checkpoint,
    core: Option<Timed>,
    traps: u64,
    typed: usize,
}

/// Instructions in the pipeline, up to a position.
#[derive(Default)]
struct Recent {
    from: u64,
    to: u64,
    passages: VecDeque<Passage>,
}

/// A program that runs.
pub(crate) struct Running {
    pub(crate) loaded: Loaded,
    timing: Timing,
    pub(crate) traps: TrapLog,
    points: Vec<Point>,
    recent: Recent,
    /// What was typed, and at which position.
    typed: Vec<(u64, Vec<u8>)>,
    /// How much of it the machine has.
    taken: usize,
    /// How the program ended.
    pub(crate) ended: Option<Stop>,
    slices: u64,
    goal: Goal,
    /// Whether the run has left the place where it began.
    has_left: bool,
}

impl Running {
    pub(crate) fn new(loaded: Loaded) -> Result<Self, Failure> {
        let code = loaded.machine.code();
        let new = |core| Ok(Timing::Quick(Timed::new(core, ByPrivilege, ())?.with_code(&code)));
        let timing = loaded.core.as_ref().map_or(Ok(Timing::None), new);
        let timing = timing.map_err(|error: CoreError| Failure::request(error))?;
        let mut running = Self {
            loaded,
            timing,
            traps: TrapLog::default(),
            points: Vec::new(),
            recent: Recent::default(),
            typed: Vec::new(),
            taken: 0,
            ended: None,
            slices: 0,
            goal: Goal::default(),
            has_left: false,
        };
        running.keep_point()?;
        Ok(running)
    }

    pub(crate) fn machine(&self) -> &Machine {
        &self.loaded.machine
    }

    pub(crate) fn position(&self) -> u64 {
        self.machine().instret() + self.traps.count
    }

    pub(crate) fn cycles(&self) -> Option<u64> {
        of_core!(&self.timing, core => core.cycles())
    }

    /// The core, whose passages are not of interest.
    pub(crate) fn core(&self) -> Option<Timed> {
        of_core!(&self.timing, core => core.clone().with_sink(()))
    }

    /// The cycles of each phase (a privilege mode's number) by cause.
    pub(crate) fn ledger(&self) -> Option<tollgate_cores::Ledger> {
        of_core!(&self.timing, core => core.ledger().clone())
    }

    fn make(&mut self, traced: bool) {
        self.timing = match (std::mem::replace(&mut self.timing, Timing::None), traced) {
            (Timing::Quick(core), true) => Timing::Traced(core.with_sink(Vec::new())),
            (Timing::Traced(core), false) => Timing::Quick(core.with_sink(())),
            (timing, _) => timing,
        };
    }

    /// Begins a run.
    pub(crate) fn start(&mut self, goal: Goal) -> Result<(), Failure> {
        let behind = |it: Option<u64>, now: u64| it.is_some_and(|it| it < now);
        if behind(goal.position, self.position()) {
            self.go_to(goal.position.unwrap_or_default())?;
        } else if let (Some(cycle), Some(now)) = (goal.cycle, self.cycles())
            && cycle < now
        {
            let before = |point: &&Point| point.core.as_ref().is_some_and(|core| core.cycles() <= cycle);
            let position = self.points.iter().rev().find(before).map_or(0, |point| point.position);
            self.go_to(position)?;
        }
        self.goal = goal;
        self.has_left = false;
        Ok(())
    }

    /// Does at most so many steps of what was started; `None` if there is more to do.
    pub(crate) fn advance(&mut self, steps: u64) -> Result<Option<Stop>, Failure> {
        if let Some(ended) = &self.ended {
            return Ok(Some(ended.clone()));
        }
        let goal = self.goal.clone();
        let single = !goal.breaks.is_empty();
        let mut left = steps.max(1);
        let began = (self.machine().instret(), self.machine().elapsed());
        self.slices += 1;
        let looks =
            self.slices.is_power_of_two() && self.slices <= LOOKS || self.slices.is_multiple_of(LOOKS);
        if !single
            && looks
            && let Some(stop) = self.look(&goal, &mut left)?
        {
            return Ok(Some(stop));
        }
        while left > 0 {
            if goal.position.is_some_and(|to| self.position() >= to)
                || goal.cycle.is_some_and(|to| self.cycles().is_none_or(|now| now >= to))
            {
                return Ok(Some(Stop::Done));
            }
            if goal.limit.is_some_and(|limit| self.machine().instret() >= limit) {
                return Ok(Some(Stop::Limit));
            }
            let mut most = left;
            if let Some(to) = goal.position {
                most = most.min(to - self.position());
            }
            if let (Some(to), Some(now)) = (goal.cycle, self.cycles()) {
                // An instruction takes fewer cycles than this on average, so that the goal is not passed.
                most = most.min(((to - now) >> 8).max(1));
            }
            if let Some(limit) = goal.limit {
                most = most.min(limit - self.machine().instret());
            }
            if single {
                if let Some(found) = self.find_break(&goal).filter(|_| self.has_left) {
                    return Ok(Some(found));
                }
                most = 1;
            }
            let traps = self.traps.count;
            let before = self.position();
            let halt = self.run(most)?;
            self.has_left = true;
            left -= most.min(left);
            if let Some(stop) = self.halted(halt) {
                return Ok(Some(stop));
            }
            if single
                && self.traps.count > traps
                && let Some(stop) = self.trap_break(&goal)
            {
                return Ok(Some(stop));
            }
            if self.position() - before >= ENDLESS
                && self.traps.count - traps >= ENDLESS
                && let Some(stop) = self.endless()
            {
                return Ok(Some(stop));
            }
        }
        // A goal that is reached exactly with the last step.
        if goal.position.is_some_and(|to| self.position() >= to) {
            return Ok(Some(Stop::Done));
        }
        // A kernel at its prompt: time passes, and nothing but its timer happens.
        let retired = self.machine().instret() - began.0;
        let passed = self.machine().elapsed() - began.1;
        let idles = self.machine().listens() && passed > IDLE * (retired + 1) && passed > IDLE_NS;
        Ok((idles && goal.position.is_none() && goal.cycle.is_none()).then_some(Stop::Input))
    }

    /// Whether the program repeats itself for ever, and changes nothing.
    fn look(&mut self, goal: &Goal, left: &mut u64) -> Result<Option<Stop>, Failure> {
        if goal.position.is_some() || goal.cycle.is_some() || self.typed.len() > self.taken {
            return Ok(None);
        }
        let room = goal.limit.map_or(LOOK, |limit| limit.saturating_sub(self.machine().instret()));
        let most = LOOK.min(*left).min(room);
        if most == 0 {
            return Ok(None);
        }
        self.make(false);
        let (machine, traps) = (&mut self.loaded.machine, &mut self.traps);
        let (halt, steps, repeat) = match &mut self.timing {
            Timing::Quick(core) => machine.run_to_repeat(most, &mut (&mut *traps, &mut *core)),
            _ => machine.run_to_repeat(most, traps),
        };
        *left -= steps.min(*left);
        if let Some(repeat) = repeat {
            let place = self.loaded.places.name(repeat.pc);
            let traps = if repeat.traps { ", trap after trap" } else { "" };
            let text = format!(
                "the program repeats {} steps for ever and changes nothing{traps}: it is at {:#x} {place}",
                repeat.steps, repeat.pc
            );
            self.ended = Some(Stop::Stuck(text.trim_end().to_owned()));
            return Ok(self.ended.clone());
        }
        Ok(self.halted(halt))
    }

    /// A stop of the machine as the end of the program, if it is one.
    fn halted(&mut self, halt: Halt) -> Option<Stop> {
        let stop = match halt {
            Halt::Budget => return None,
            Halt::Exit { code } => Stop::Exit(code),
            Halt::Reboot => Stop::Exit(0),
            Halt::Input => return Some(Stop::Input),
            Halt::Idle if self.machine().listens() => return Some(Stop::Input),
            Halt::Idle => Stop::Stuck("the program waits for an interrupt that cannot come".into()),
            Halt::Semihosting { call } => Stop::Stuck(format!(
                "the program makes the semihosting call {}, which is not answered here",
                semihosting_name(call).map_or_else(|| call.to_string(), str::to_owned)
            )),
            other => Stop::Stuck(format!("the machine stopped: {other:?}")),
        };
        self.ended = Some(stop);
        self.ended.clone()
    }

    /// A handler that does nothing but trap.
    fn endless(&mut self) -> Option<Stop> {
        let first = self.traps.so_far().rev().take(ENDLESS as usize - 1).last()?;
        let last = self.traps.so_far().next_back()?;
        if first.trap.instret != last.trap.instret {
            return None;
        }
        let Trap { cause, epc, handler, .. } = last.trap;
        let why = if handler == 0 { ": no trap handler is set" } else { " does nothing but trap again" };
        let text = format!("{cause} at {epc:#x}, and the handler at {handler:#x}{why}");
        self.ended = Some(Stop::Stuck(text));
        self.ended.clone()
    }

    fn find_break(&self, goal: &Goal) -> Option<Stop> {
        let pc = self.machine().pc();
        let hit = |at: &Break| match at {
            Break::At(addresses) => addresses.contains(&pc),
            Break::Csr(number) => self.instruction(pc).is_some_and(|(insn, _)| {
                insn.row().class == Class::Csr && insn.imm as u16 & 0xfff == *number
            }),
            Break::Trap(_) => false,
        };
        let index = goal.breaks.iter().position(hit)?;
        if goal.breaks_are_done {
            return Some(Stop::Done);
        }
        let place = self.loaded.places.name(pc);
        let what = match &goal.breaks[index] {
            Break::Csr(number) => format!("an instruction with {}", csr::name(*number).unwrap_or_default()),
            _ => "a breakpoint".to_owned(),
        };
        Some(Stop::Breakpoint(index, format!("{what} at {pc:#x} {place}").trim_end().to_owned()))
    }

    fn trap_break(&self, goal: &Goal) -> Option<Stop> {
        let cause = self.traps.so_far().next_back()?.trap.cause.to_string();
        let hit =
            |at: &Break| matches!(at, Break::Trap(wanted) if wanted.as_ref().is_none_or(|it| *it == cause));
        let index = goal.breaks.iter().position(hit)?;
        Some(Stop::Breakpoint(index, format!("a trap was taken: {cause}")))
    }

    /// The instruction at a virtual address, with its bits.
    pub(crate) fn instruction(&self, pc: u64) -> Option<(Insn, u32)> {
        let machine = self.machine();
        let half = |va: u64| {
            let pa = crate::walk::physical(machine, va)?;
            let bytes = machine.read_memory(pa, 2).ok()?;
            Some(u32::from(bytes[0]) | u32::from(bytes[1]) << 8)
        };
        let low = half(pc)?;
        let word = if low & 3 == 3 { low | half(pc.wrapping_add(2))? << 16 } else { low };
        Some((machine.decoder().decode(word)?, word))
    }

    /// Runs at most so many steps, and types what belongs between them. Keeps checkpoints on the way.
    fn run(&mut self, most: u64) -> Result<Halt, Failure> {
        let spacing = if matches!(self.timing, Timing::None) { WIDE_SPACING } else { SPACING };
        let mut left = most;
        loop {
            let position = self.position();
            while let Some((at, text)) = self.typed.get(self.taken)
                && *at <= position
            {
                let text = text.clone();
                self.loaded.machine.type_in(&text);
                self.taken += 1;
            }
            if left == 0 {
                return Ok(Halt::Budget);
            }
            let last = self.points.iter().rev().find(|point| point.position <= position);
            let last = last.map_or(0, |point| point.position);
            if position - last >= spacing {
                self.keep_point()?;
            }
            let mut steps = left.min(spacing);
            if let Some((at, _)) = self.typed.get(self.taken) {
                steps = steps.min(at - position);
            }
            let (machine, traps) = (&mut self.loaded.machine, &mut self.traps);
            let halt = match &mut self.timing {
                Timing::None => machine.run(steps, traps),
                Timing::Quick(core) => machine.run(steps, &mut (&mut *traps, &mut *core)),
                Timing::Traced(core) => machine.run(steps, &mut (&mut *traps, &mut *core)),
            };
            self.collect(position);
            left -= steps;
            if halt != Halt::Budget {
                return Ok(halt);
            }
        }
    }

    /// Keeps the passages of instructions from a position up to now.
    fn collect(&mut self, from: u64) {
        let to = self.position();
        let Timing::Traced(core) = &mut self.timing else { return };
        if self.recent.to != from {
            self.recent = Recent { from, to, passages: VecDeque::new() };
        }
        self.recent.to = to;
        self.recent.passages.extend(core.sink().drain(..));
        let more = self.recent.passages.len().saturating_sub(MOST_PASSAGES);
        if more > 0 {
            self.recent.passages.drain(..more);
        }
    }

    /// Executes so many steps one by one, with their passages.
    pub(crate) fn step(&mut self, count: u64) -> Result<Stop, Failure> {
        if let Some(ended) = &self.ended {
            return Ok(ended.clone());
        }
        self.make(true);
        let to = self.position() + count;
        while self.position() < to {
            let halt = self.run(to - self.position())?;
            if let Some(stop) = self.halted(halt) {
                return Ok(stop);
            }
        }
        Ok(Stop::Done)
    }

    /// One step of the machine with an observer beside the core.
    pub(crate) fn observe(&mut self, observer: &mut impl Observer) -> Step {
        self.make(true);
        let from = self.position();
        let (machine, traps) = (&mut self.loaded.machine, &mut self.traps);
        let mut both = (&mut *traps, &mut *observer);
        let step = match &mut self.timing {
            Timing::Traced(core) => machine.step(&mut (&mut both, &mut *core)),
            _ => machine.step(&mut both),
        };
        self.collect(from);
        step
    }

    /// To the position so many steps earlier.
    pub(crate) fn back(&mut self, count: u64) -> Result<Stop, Failure> {
        let position = self.position();
        if position == 0 {
            return Ok(Stop::Start);
        }
        if self.ended.is_some() && count == 1 {
            // The last step may not have retired.
            self.go_to(position)?;
            if self.ended.is_none() && self.machine().instret() + self.traps.count == position {
                return Ok(Stop::Done);
            }
        }
        self.go_to(position.saturating_sub(count.max(1)))?;
        Ok(Stop::Done)
    }

    /// To an earlier position, or the same one before what has happened there.
    pub(crate) fn go_to(&mut self, position: u64) -> Result<(), Failure> {
        let at = self.points.partition_point(|point| point.position <= position);
        let point =
            self.points.get(at.saturating_sub(1)).ok_or_else(|| Failure::machine("there is no beginning"))?;
        self.loaded.machine.go_back(&point.machine).map_err(Failure::machine)?;
        self.timing = point.core.clone().map_or(Timing::None, Timing::Quick);
        self.traps.count = point.traps;
        self.taken = point.typed;
        self.recent = Recent::default();
        self.ended = None;
        self.reach(position.saturating_sub(CLOSE))?;
        let last = self.points.iter().rev().find(|it| it.position <= position).map_or(0, |it| it.position);
        if self.position() - last > CLOSE {
            self.keep_point()?;
        }
        self.reach(position)
    }

    fn reach(&mut self, position: u64) -> Result<(), Failure> {
        while self.position() < position {
            let halt = self.run(position - self.position())?;
            if self.halted(halt).is_some() {
                break;
            }
        }
        Ok(())
    }

    /// Keeps this state.
    fn keep_point(&mut self) -> Result<(), Failure> {
        let position = self.position();
        let at = self.points.partition_point(|point| point.position <= position);
        let before = at.checked_sub(1).map(|at| &self.points[at]);
        if before.is_some_and(|before| before.position == position) {
            return Ok(());
        }
        let machine = self.machine().checkpoint(before.map(|it| &it.machine)).map_err(Failure::machine)?;
        let point =
            Point { position, machine, core: self.core(), traps: self.traps.count, typed: self.taken };
        self.points.insert(at, point);
        let bytes = |points: &[Point]| points.iter().map(|it| it.machine.own_bytes()).sum::<usize>();
        // Of the older ones every second goes; the first one stays.
        while self.points.len() > MOST_POINTS
            || self.points.len() > 4 && bytes(&self.points) > MOST_POINT_BYTES
        {
            let half = self.points.len() / 2;
            let mut index = 0;
            self.points.retain(|_| {
                index += 1;
                index > half || index % 2 == 1
            });
        }
        Ok(())
    }

    /// Types text, from this position on.
    pub(crate) fn type_in(&mut self, text: &str) {
        let position = self.position();
        self.points.retain(|point| point.position <= position);
        self.typed.truncate(self.taken);
        let count = self.traps.count;
        self.traps.latest.retain(|noted| noted.index < count);
        self.typed.push((position, text.as_bytes().to_vec()));
        if self.ended.is_none() {
            self.loaded.machine.type_in(text.as_bytes());
            self.taken += 1;
        }
    }

    /// The passages of the latest steps, up to this position.
    pub(crate) fn passages(&mut self, count: u64) -> Result<Vec<Passage>, Failure> {
        if matches!(self.timing, Timing::None) {
            return Err(Failure::machine("there is no pipeline without a core: choose one"));
        }
        let (position, ended) = (self.position(), self.ended.clone());
        let from = position.saturating_sub(count);
        if self.recent.to != position || self.recent.from > from {
            self.go_to(from)?;
            self.make(true);
            self.recent = Recent { from, to: self.position(), passages: VecDeque::new() };
            self.reach(position)?;
            self.ended = ended;
        }
        Ok(self.recent.passages.iter().cloned().collect())
    }
}

/// The machine's name, as options have it.
pub(crate) fn kind_name(kind: MachineKind) -> &'static str {
    if kind == MachineKind::Virt { "virt" } else { "spike" }
}
