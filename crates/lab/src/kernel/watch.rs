//! Watches the calls of a program under a kernel, and charges each instruction and its cycles to a function and a phase.

use std::collections::{BTreeMap, HashMap};

use tollgate_riscv::timing::{Cause, Causes, Core, CoreError};
use tollgate_riscv::{Access, Code, Observer, Privilege, Retired, Trap, Walk};

use super::rules::Rules;
use crate::cycles::Clock;
use crate::phase::Phase;
use crate::symbols::{Marks, NAMELESS};

/// What a function did in a phase.
#[derive(Clone, Copy, Default)]
pub(crate) struct Part {
    pub(crate) instructions: u64,
    pub(crate) causes: Causes,
}

/// One call: from the trap until the program goes on.
#[derive(Clone, Default)]
pub(crate) struct Bill {
    /// By function and phase.
    pub(crate) parts: BTreeMap<(usize, Phase), Part>,
    /// Another trap came in between.
    pub(crate) disturbed: bool,
    number: u64,
    /// Instructions that had retired before it.
    began: u64,
}

impl Bill {
    pub(crate) fn instructions(&self) -> u64 {
        self.parts.values().map(|part| part.instructions).sum()
    }

    pub(crate) fn cycles(&self) -> u64 {
        self.parts.values().flat_map(|part| part.causes).sum()
    }

    fn charge(&mut self, key: (usize, Phase), instructions: u64, causes: &Causes) {
        let part = self.parts.entry(key).or_default();
        part.instructions += instructions;
        part.causes.iter_mut().zip(causes).for_each(|(sum, cycles)| *sum += cycles);
    }
}

/// The observer.
pub(crate) struct Watch {
    names: Vec<String>,
    marks: Marks<usize>,
    rules: Rules,
    /// The phase of an instruction at an address.
    phases: HashMap<u64, Phase>,
    clock: Option<Clock>,
    open: Option<Bill>,
    /// What has emptied the pipe last pays for its refilling.
    emptied: Option<Phase>,
    /// The function of the last instruction.
    last: usize,
    /// Finished calls by their number, in order.
    pub(crate) crossings: BTreeMap<u64, Vec<Bill>>,
    /// A call whose parts are not what the counter says: both numbers.
    pub(crate) wrong: Option<(u64, u64)>,
}

impl Watch {
    /// For functions by address, in order.
    pub(crate) fn new(
        symbols: impl Iterator<Item = (String, u64)>,
        rules: Rules,
        core: Option<&Core>,
        code: &Code,
    ) -> Result<Self, CoreError> {
        let mut names = vec![NAMELESS.to_owned()];
        let mut marks = Vec::new();
        for (name, address) in symbols {
            // Of several names for one place the first one holds.
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
            clock,
            open: None,
            emptied: None,
            last: 0,
            crossings: BTreeMap::new(),
            wrong: None,
        })
    }

    /// The name of a function; that of 0 is of code without a symbol.
    pub(crate) fn name(&self, function: usize) -> &str {
        &self.names[function]
    }

    /// The function and phase of a kernel's instruction.
    fn key(&mut self, retired: &Retired) -> (usize, Phase) {
        let function = self.marks.at(retired.pc);
        let (rules, name) = (&self.rules, &self.names[function]);
        let phase = *self.phases.entry(retired.pc).or_insert_with(|| match function {
            0 => Phase::Other,
            _ => rules.phase(name, &retired.insn),
        });
        (function, phase)
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
        let Some(mut bill) = self.open.take() else { return };
        if let Some(phase) = self.emptied {
            let mut causes = [0; Cause::COUNT];
            causes[Cause::TrapFlush as usize] = std::mem::take(&mut spent[Cause::TrapFlush as usize]);
            // The function that begins the trap, or ended it.
            let is_over = retired.privilege == Privilege::User;
            let function = if is_over { self.last } else { self.marks.at(retired.pc) };
            bill.charge((function, phase), 0, &causes);
        }
        if retired.privilege == Privilege::User {
            // The program's own instruction, after the last of the call's.
            let (counted, retired) = (bill.instructions(), retired.instret - bill.began);
            if counted != retired {
                self.wrong = self.wrong.or(Some((counted, retired)));
            }
            self.crossings.entry(bill.number).or_default().push(bill);
            return;
        }
        let key = self.key(retired);
        bill.charge(key, 1, &spent);
        self.emptied = if key.1 == Phase::Return { Some(Phase::Return) } else { None };
        self.last = key.0;
        self.open = Some(bill);
    }

    fn trap(&mut self, trap: &Trap) {
        let spent = self.clock.as_mut().map_or([0; Cause::COUNT], |clock| {
            clock.model.trap(trap);
            clock.step()
        });
        if let Some(bill) = &mut self.open {
            bill.disturbed = true;
            let function = self.marks.at(trap.handler);
            bill.charge((function, Phase::HardwareTrap), 0, &spent);
        } else if trap.from == Privilege::User && trap.cause.code() == 8 && !trap.cause.is_interrupt() {
            let mut bill = Bill { number: trap.a7, began: trap.instret, ..Bill::default() };
            let function = self.marks.at(trap.handler);
            bill.charge((function, Phase::HardwareTrap), 0, &spent);
            self.open = Some(bill);
        }
        self.emptied = Some(Phase::HardwareTrap);
    }
}
