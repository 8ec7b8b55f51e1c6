//! Observes one run of a source: what it does, what it must not do, and what each crossing costs.

use std::collections::{BTreeSet, HashMap};

use tollgate_cores::{Cause, Causes, Ledger};
use tollgate_riscv::cache::Cache;
use tollgate_riscv::{Access, Observer, Op, Privilege, Retired, Trap, TrapReturn, Walk};

use super::build::Built;
use crate::bill::{Cost, Phases};
use crate::cycles::Clock;
use crate::phase::Phase;

/// The cost of one crossing, from a trap in U-mode to the next instruction there.
#[derive(Clone, Debug, Default)]
pub(super) struct CrossingCost {
    pub(super) phases: Phases,
    /// What the source's own instructions cost.
    pub(super) own: Cost,
    pub(super) ledger: Ledger,
}

/// The last event that emptied the pipe: refilling is charged to it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Emptied {
    Nothing,
    Trap,
    Return,
}

/// What a run did.
#[derive(Default)]
pub(super) struct Counts {
    /// Instructions of the source.
    pub(super) own: u64,
    /// Traps: all, from U-mode, and those of a handler itself.
    pub(super) traps: [u64; 3],
    pub(super) crossings: u64,
    /// Executed instructions of the source by the number of their [`Op`].
    pub(super) executed: Vec<u64>,
    /// How often each address of the harness was executed.
    pub(super) passes: HashMap<u64, u64>,
    pub(super) first: Option<CrossingCost>,
    pub(super) last: Option<CrossingCost>,
}

pub(super) struct Watch<'a> {
    built: &'a mut Built,
    pub(super) counts: Counts,
    clock: Option<Clock>,
    pub(super) icache: Option<Cache>,
    emptied: Emptied,
    open: Option<CrossingCost>,
    /// Accesses of the instruction that has not retired yet.
    data: Cost,
    /// The address of the current instruction.
    pc: u64,
    is_own: bool,
    /// Where the harness expects the source to return to.
    returns: BTreeSet<u64>,
    /// The traps from which nothing has returned yet.
    pub(super) pending: Vec<Trap>,
    /// Of the last step: whether it trapped from U-mode, and the trap from which it returned.
    pub(super) entered: bool,
    pub(super) left: Option<(Trap, TrapReturn)>,
    /// What the source did that it must not do.
    pub(super) violation: Option<String>,
}

impl<'a> Watch<'a> {
    pub(super) fn new(built: &'a mut Built, clock: Option<Clock>, icache: Option<Cache>) -> Self {
        Self {
            built,
            counts: Counts::default(),
            clock,
            icache,
            emptied: Emptied::Nothing,
            open: None,
            data: Cost::default(),
            pc: 0,
            is_own: false,
            returns: BTreeSet::new(),
            pending: Vec::new(),
            entered: false,
            left: None,
            violation: None,
        }
    }

    /// Before each step.
    pub(super) fn at(&mut self, pc: u64) {
        self.pc = pc;
        self.is_own = self.built.is_own(pc);
        (self.entered, self.left) = (false, None);
    }

    pub(super) fn built(&self) -> &Built {
        self.built
    }

    fn violates(&mut self, sentence: impl FnOnce(&Built, u64) -> String) {
        if self.violation.is_none() {
            self.violation = Some(sentence(self.built, self.pc));
        }
    }

    fn charge(&mut self, phase: Phase, spent: &Causes) {
        let Some(open) = &mut self.open else { return };
        for &cause in Cause::ALL {
            // As in the bill of a trap: refilling the pipe belongs to the trap and to the return.
            let to = match (cause, self.emptied) {
                (Cause::TrapFlush, Emptied::Trap) => Phase::HardwareTrap,
                (Cause::TrapFlush, Emptied::Return) => Phase::Return,
                _ => phase,
            };
            open.ledger.charge(to as u8, cause, spent[cause as usize]);
        }
    }

    fn close(&mut self) {
        let Some(cost) = self.open.take() else { return };
        self.counts.crossings += 1;
        if self.counts.first.is_none() {
            self.counts.first = Some(cost.clone());
        }
        self.counts.last = Some(cost);
    }

    /// Where the source may go from its own code.
    fn jumps(&mut self, retired: &Retired) {
        let target = retired.next_pc;
        let to_own = self.built.is_own(target);
        if !self.is_own {
            if to_own {
                self.returns.insert(retired.pc + u64::from(retired.insn.len));
            }
            return;
        }
        let is_return = matches!(retired.insn.op, Op::Mret | Op::Sret);
        let may =
            to_own || is_return || self.built.services.contains(&target) || self.returns.contains(&target);
        if !may {
            self.violates(|built, pc| {
                format!("{} jumps to {}, which is not yours to call", built.place(pc), built.place(target))
            });
        }
    }
}

impl Observer for Watch<'_> {
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
        match access.store {
            false => self.data.loads += 1,
            true => {
                self.data.stores += 1;
                self.data.bytes_stored += u64::from(access.size);
                if self.is_own && !self.built.may_write(access.pa, access.size.into()) {
                    let pa = access.pa;
                    self.violates(|built, pc| {
                        format!(
                            "{} writes to {}, which is not yours to write",
                            built.place(pc),
                            built.place(pa)
                        )
                    });
                }
            }
        }
    }

    fn retire(&mut self, retired: &Retired) {
        let data = std::mem::take(&mut self.data);
        let spent = self.clock.as_mut().map(|clock| {
            clock.model.retire(retired);
            clock.step()
        });
        let is_user = retired.privilege == Privilege::User;
        if self.open.is_some() {
            let phase = self.built.phases.at(retired.pc);
            if !is_user && let Some(open) = &mut self.open {
                let cost = Cost { instructions: 1, ..data };
                open.phases[phase] += cost;
                open.own += if self.is_own { cost } else { Cost::default() };
            }
            match spent {
                Some(spent) if is_user => {
                    // The instruction that ends it is the program's, but not the refilling behind the return.
                    let mut refill = [0; Cause::COUNT];
                    if self.emptied != Emptied::Nothing {
                        refill[Cause::TrapFlush as usize] = spent[Cause::TrapFlush as usize];
                    }
                    self.charge(Phase::Return, &refill);
                }
                Some(spent) => self.charge(phase, &spent),
                None => {}
            }
            if is_user {
                self.close();
            }
        }
        if is_user || self.emptied == Emptied::Trap {
            self.emptied = Emptied::Nothing;
        }
        self.jumps(retired);
        match self.is_own {
            true => {
                self.counts.own += 1;
                let op = retired.insn.op as usize;
                if self.counts.executed.len() <= op {
                    self.counts.executed.resize(op + 1, 0);
                }
                self.counts.executed[op] += 1;
                if let Some(cache) = &mut self.icache {
                    cache.access(retired.pa, false);
                }
            }
            false => *self.counts.passes.entry(retired.pc).or_default() += 1,
        }
    }

    fn trap(&mut self, trap: &Trap) {
        self.data = Cost::default();
        let from_user = trap.from == Privilege::User;
        self.counts.traps[0] += 1;
        self.counts.traps[1] += u64::from(from_user);
        self.counts.traps[2] += u64::from(self.open.is_some());
        self.pending.push(*trap);
        if from_user {
            // A trap of the first instruction behind a return ends the crossing before.
            self.close();
            self.open = Some(CrossingCost::default());
            self.entered = true;
        }
        self.emptied = Emptied::Trap;
        let spent = self.clock.as_mut().map(|clock| {
            clock.model.trap(trap);
            clock.step()
        });
        if let Some(open) = &mut self.open {
            open.phases[Phase::HardwareTrap] += Cost { traps: 1, ..Cost::default() };
        }
        if let Some(spent) = spent {
            self.charge(Phase::HardwareTrap, &spent);
        }
    }

    fn trap_return(&mut self, back: &TrapReturn) {
        if let Some(clock) = &mut self.clock {
            clock.model.trap_return(back);
        }
        self.emptied = Emptied::Return;
        match self.pending.pop() {
            Some(trap) if back.to == Privilege::User || trap.from != Privilege::User => {
                self.left = Some((trap, *back));
            }
            Some(_) => self.violates(|built, pc| {
                format!("{} returns to the program in another mode than U-mode", built.place(pc))
            }),
            // The harness enters U-mode in this way.
            None if self.is_own => {
                self.violates(|built, pc| {
                    format!("{} returns from a trap that did not happen", built.place(pc))
                });
            }
            None => {}
        }
    }
}
