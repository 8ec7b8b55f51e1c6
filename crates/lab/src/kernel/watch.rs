//! Watches the crossings of a program under a kernel, and charges each instruction and its cycles to a function and a phase.

use std::collections::{BTreeMap, HashMap};

use tollgate_cores::{Cause, Causes, Core, CoreError};
use tollgate_riscv::{Access, Code, Observer, Op, Privilege, Retired, Trap, TrapReturn, Walk};

use super::crossings::{CROSSINGS, DONE};
use super::rules::Rules;
use crate::calls::{Calls, Frame, Leave};
use crate::cycles::Clock;
use crate::phase::Phase;
use crate::symbols::{Marks, NAMELESS};

/// The cost of a function in a phase.
#[derive(Clone, Copy, Default)]
pub(crate) struct Part {
    pub(crate) instructions: u64,
    pub(crate) causes: Causes,
}

impl Part {
    fn add(&mut self, instructions: u64, causes: &Causes) {
        self.instructions += instructions;
        self.causes.iter_mut().zip(causes).for_each(|(sum, cycles)| *sum += cycles);
    }
}

/// The instructions of the program between two traps.
const PROGRAM: &str = "(the program)";
/// Its place among the functions; 0 is code without a symbol.
const IN_PROGRAM: usize = 1;
/// One crossing: from the first trap behind its mark to the return from the last one before its end.
#[derive(Clone, Default)]
pub(crate) struct Bill {
    /// By function and phase.
    pub(crate) parts: BTreeMap<(usize, Phase), Part>,
    /// An interrupt came in between.
    pub(crate) disturbed: bool,
    /// Traps from the program.
    pub(crate) traps: u64,
    mark: u16,
    /// Instructions that had retired before it, and at the last return to the program.
    began: u64,
    returned: u64,
    /// The program's own cost since that return; part of the crossing only if another trap follows.
    program: Part,
}

impl Bill {
    pub(crate) fn instructions(&self) -> u64 {
        self.parts.values().map(|part| part.instructions).sum()
    }

    pub(crate) fn cycles(&self) -> u64 {
        self.parts.values().flat_map(|part| part.causes).sum()
    }

    /// Another trap follows, so the program's own cost is part of the crossing.
    fn resume(&mut self) {
        let Part { instructions, causes } = std::mem::take(&mut self.program);
        if instructions > 0 {
            self.charge((IN_PROGRAM, Phase::UserStub), instructions, &causes);
        }
    }

    fn charge(&mut self, key: (usize, Phase), instructions: u64, causes: &Causes) {
        self.parts.entry(key).or_default().add(instructions, causes);
    }
}

/// The observer.
pub(crate) struct Watch {
    names: Vec<String>,
    marks: Marks<usize>,
    rules: Rules,
    /// The phase of the instruction at an address, by the rules.
    phases: HashMap<u64, Option<Phase>>,
    calls: Phases,
    clock: Option<Clock>,
    /// The crossing that the program marked, and the interrupt that it consists of.
    armed: u16,
    awaited: Option<u64>,
    /// The marks are a user's: none stands for an interrupt.
    is_own: bool,
    open: Option<Bill>,
    /// The phase that emptied the pipe last, to which the refill is charged.
    emptied: Option<Phase>,
    /// The function of the last instruction.
    last: usize,
    /// Finished crossings by their mark, in order.
    pub(crate) crossings: BTreeMap<u16, Vec<Bill>>,
    /// The program has made them all.
    pub(crate) done: bool,
    /// A crossing with another number of instructions than the counter's: both numbers.
    pub(crate) wrong: Option<(u64, u64)>,
}

impl Watch {
    /// For functions by address, in order.
    pub(crate) fn new(
        symbols: Vec<(String, u64)>,
        rules: Rules,
        core: Option<&Core>,
        code: &Code,
        is_own: bool,
    ) -> Result<Self, CoreError> {
        let mut names = vec![NAMELESS.to_owned(), PROGRAM.to_owned()];
        let mut marks = Vec::new();
        let mut symbols = symbols;
        // Of several names for one place the first one holds, or the one that the rules have for the entry.
        symbols.sort_by_key(|(name, address)| (*address, *name != rules.entry));
        for (name, address) in symbols {
            if marks.last().is_none_or(|&(last, _)| last != address) {
                marks.push((address, names.len()));
                names.push(name);
            }
        }
        let clock = core.map(|core| Clock::new(core, code)).transpose()?;
        Ok(Self {
            names,
            marks: Marks::new(0, marks),
            rules,
            phases: HashMap::new(),
            calls: Phases { phase: Phase::Handler, open: Calls(Vec::new()) },
            clock,
            armed: 0,
            awaited: None,
            is_own,
            open: None,
            emptied: None,
            last: 0,
            crossings: BTreeMap::new(),
            done: false,
            wrong: None,
        })
    }

    /// The name of a function; that of 0 is of code without a symbol.
    pub(crate) fn name(&self, function: usize) -> &str {
        &self.names[function]
    }

    /// The program marks where a crossing begins, or 0 where it has ended.
    fn mark(&mut self, mark: u16) {
        self.done |= mark == DONE;
        self.armed = mark;
        let kind = CROSSINGS.iter().find(|kind| kind.mark() == mark && !self.is_own);
        self.awaited = kind.and_then(|kind| kind.interrupt);
        if let Some(bill) = self.open.take().filter(|_| mark == 0) {
            self.close(bill);
        }
    }

    fn close(&mut self, bill: Bill) {
        let (counted, retired) = (bill.instructions(), bill.returned - bill.began);
        if counted != retired {
            self.wrong = self.wrong.or(Some((counted, retired)));
        }
        self.crossings.entry(bill.mark).or_default().push(bill);
    }

    /// The function and phase of a kernel's instruction. A function without a rule has the phase of its caller.
    fn key(&mut self, retired: &Retired) -> (usize, Phase) {
        let function = self.marks.at(retired.pc);
        let (rules, name) = (&self.rules, &self.names[function]);
        let own = *self.phases.entry(retired.pc).or_insert_with(|| match function {
            0 => Some(Phase::Other),
            _ => rules.phase(name, &retired.insn),
        });
        let phase = own.unwrap_or(self.calls.phase);
        self.calls.follow(retired, phase);
        (function, phase)
    }
}

/// The calls that are open in the kernel, and in the code of it that traps interrupted.
struct Phases {
    /// The phase of a function that no rule names.
    phase: Phase,
    /// Each with the phase that holds again when it returns.
    open: Calls<Phase>,
}

impl Phases {
    /// An instruction of a phase retired.
    fn follow(&mut self, retired: &Retired, phase: Phase) {
        match Leave::of(&retired.insn, retired.pc) {
            Leave::Call { back } => self.enter(back, false, phase),
            // Another task's calls were not seen.
            Leave::Return => self.pop_to(self.open.returned(retired.next_pc), self.open.first()),
            _ => {}
        }
    }

    fn enter(&mut self, back: u64, trap: bool, phase: Phase) {
        self.open.0.push(Frame { back, trap, of: std::mem::replace(&mut self.phase, phase) });
    }

    /// Ends the calls from this one on, or all from `first` on.
    fn pop_to(&mut self, found: Option<usize>, first: usize) {
        self.phase = found.map_or(Phase::Handler, |at| self.open.0[at].of);
        self.open.0.truncate(found.unwrap_or(first));
    }
}

impl Observer for Watch {
    const RETIRE: bool = true;
    const MEMORY: bool = true;
    const TRAP: bool = true;
    const WALK: bool = true;

    fn walk(&mut self, walk: &Walk) {
        if let Some(clock) = &mut self.clock {
            clock.model.walk(walk);
        }
    }

    fn address_space(&mut self, satp: u64) {
        if let Some(clock) = &mut self.clock {
            clock.model.address_space(satp);
        }
    }

    fn access(&mut self, access: &Access) {
        if let Some(clock) = &mut self.clock {
            clock.model.access(access);
        }
    }

    fn retire(&mut self, retired: &Retired) {
        let mut spent = self.clock.as_mut().map_or([0; Cause::COUNT], |clock| {
            clock.model.retire(retired);
            clock.step()
        });
        let in_program = retired.privilege == Privilege::User;
        if let Some(mut bill) = self.open.take() {
            if let Some(phase) = self.emptied.take() {
                let mut causes = [0; Cause::COUNT];
                causes[Cause::TrapFlush as usize] = std::mem::take(&mut spent[Cause::TrapFlush as usize]);
                // The function that begins the trap, or ended it.
                let function = if in_program { self.last } else { self.marks.at(retired.pc) };
                bill.charge((function, phase), 0, &causes);
            }
            if in_program {
                if bill.program.instructions == 0 {
                    bill.returned = retired.instret;
                }
                bill.program.add(1, &spent);
            } else {
                let key = self.key(retired);
                bill.charge(key, 1, &spent);
                self.emptied = (key.1 == Phase::Return).then_some(Phase::Return);
                self.last = key.0;
            }
            if in_program && self.awaited.is_some() {
                self.close(bill);
            } else {
                self.open = Some(bill);
            }
        }
        // A hint for custom use: an instruction without effect.
        if in_program && retired.insn.op == Op::Slti && retired.insn.rd == 0 && retired.insn.rs1 == 0 {
            self.mark(retired.insn.imm as u16);
        }
    }

    fn trap(&mut self, trap: &Trap) {
        let spent = self.clock.as_mut().map_or([0; Cause::COUNT], |clock| {
            clock.model.trap(trap);
            clock.step()
        });
        let from_program = trap.from == Privilege::User;
        let begins = self.awaited.is_none_or(|code| trap.cause.is_interrupt() && trap.cause.code() == code);
        if self.open.is_none() && self.armed != 0 && from_program && begins {
            self.open = Some(Bill { mark: self.armed, began: trap.instret, ..Bill::default() });
        }
        if let Some(bill) = &mut self.open {
            bill.resume();
            bill.disturbed |= trap.cause.is_interrupt() && self.awaited.is_none();
            bill.traps += u64::from(from_program);
            let function = self.marks.at(trap.handler);
            bill.charge((function, Phase::HardwareTrap), 0, &spent);
        }
        self.emptied = Some(Phase::HardwareTrap);
        if from_program {
            self.calls.pop_to(None, 0);
        } else {
            self.calls.enter(trap.epc, true, Phase::Handler);
        }
    }

    fn trap_return(&mut self, ret: &TrapReturn) {
        if ret.to != Privilege::User {
            self.calls.pop_to(self.calls.open.handler(), 0);
        }
    }
}

/// The events of one of several harts, for an observer of one.
pub(crate) struct OnHart<O> {
    pub(crate) watch: O,
    hart: usize,
    now: usize,
}

impl<O> OnHart<O> {
    pub(crate) fn new(hart: usize, watch: O) -> Self {
        Self { watch, hart, now: hart }
    }

    fn watching(&mut self) -> Option<&mut O> {
        (self.now == self.hart).then_some(&mut self.watch)
    }
}

impl<O: Observer> Observer for OnHart<O> {
    const RETIRE: bool = O::RETIRE;
    const MEMORY: bool = O::MEMORY;
    const TRAP: bool = O::TRAP;
    const WALK: bool = O::WALK;

    fn hart(&mut self, hart: usize) {
        self.now = hart;
    }

    fn walk(&mut self, walk: &Walk) {
        if let Some(watch) = self.watching() {
            watch.walk(walk);
        }
    }

    fn address_space(&mut self, satp: u64) {
        if let Some(watch) = self.watching() {
            watch.address_space(satp);
        }
    }

    fn access(&mut self, access: &Access) {
        if let Some(watch) = self.watching() {
            watch.access(access);
        }
    }

    fn retire(&mut self, retired: &Retired) {
        if let Some(watch) = self.watching() {
            watch.retire(retired);
        }
    }

    fn trap(&mut self, trap: &Trap) {
        if let Some(watch) = self.watching() {
            watch.trap(trap);
        }
    }

    fn trap_return(&mut self, ret: &TrapReturn) {
        if let Some(watch) = self.watching() {
            watch.trap_return(ret);
        }
    }
}
