//! A core that issues in order, executes in units of different latency, and commits in order.
//!
//! Times are cycles. An instruction is fetched by the [`Frontend`], waits in issue for its operands, its unit and a
//! place in the scoreboard, leaves a result there, and commits when it is the oldest: the [`Backend`]. Its store goes to
//! memory behind that: [`Stores`].
//!
//! ```text
//! decode = max(word arrives + 2, issue')
//! issue  = max(decode + 1, operands, unit, the last writer of its register commits, commit of n before + 1)
//! result = issue + latency
//! commit = max(result + 1, commit')                  (some may commit beside the one before)
//! ```

use std::sync::Arc;

use super::access::Data;
use super::backend::{Backend, DECODE};
use super::core::Core;
use super::csr;
use super::frontend::{Frontend, Place};
use super::keys::System;
use super::ledger::Cause;
use super::memory::{Memory, Waits};
use super::passage::Flush;
use super::shape::Costs;
use super::slot::{Pass, Redirect};
use super::step::Step;
use super::stores::{Behind, Stores};
use super::work::{Unit, Work};
use tollgate_riscv::{Class, Insn, Op};

/// The core.
#[derive(Clone, Debug)]
pub(super) struct Scoreboard {
    core: Arc<Core>,
    system: System,
    /// More cycles behind a return.
    return_fault: i64,
    pub(super) front: Frontend,
    pub(super) back: Backend,
    pub(super) stores: Stores,
    /// The last instruction.
    pub(super) last: Option<Place>,
}

impl Scoreboard {
    pub(super) fn new(core: &Core) -> Self {
        Scoreboard {
            core: Arc::new(core.clone()),
            system: core.system,
            return_fault: if core.fault { core.trap.return_fault.into() } else { 0 },
            front: Frontend::new(&core.front, &core.branch),
            back: Backend::new(core),
            stores: Stores::new(core.stores),
            last: None,
        }
    }

    /// Forgets all predictions.
    pub(super) fn forget(&mut self) {
        self.front.forget();
    }

    /// When the last instruction committed.
    pub(super) fn commit(&self) -> i64 {
        self.back.commit
    }

    /// When the next instruction is decoded at the earliest, and sees an interrupt.
    pub(super) fn decode(&self) -> i64 {
        self.back.decode(self.front.arrival())
    }

    /// The data port is busy after the last commit.
    pub(super) fn occupy(&mut self, cycles: u32) {
        self.back.occupy(cycles);
        self.front.hold(self.back.commit + 1);
    }

    /// What was fetched behind the last instruction and is dropped, for diagrams: address, request, decode, issue.
    pub(super) fn dropped(&self) -> impl Iterator<Item = (u64, [i64; 3])> {
        let mut issue = self.back.issue;
        self.front.dropped.iter().map(move |&(pc, request)| {
            let decode = (request + DECODE).max(issue);
            issue = decode + 1;
            (pc, [request, decode, issue])
        })
    }

    /// The next fetch's redirection, for diagrams.
    pub(super) fn redirected(&self) -> Option<Redirect> {
        self.back.redirect
    }

    /// An instruction retires.
    pub(super) fn retire(
        &mut self,
        step: &Step,
        work: &Work,
        accesses: &[Data],
        memory: &mut Memory,
    ) -> (Pass, Costs) {
        let place = Place { pc: step.pc, pa: step.pa, len: step.insn.len, privilege: step.privilege };
        let fetched = self.front.fetch(&place, memory);
        let mut waits = Waits::default();
        let access = match work.unit {
            Unit::Load => accesses.first(),
            _ => accesses.last(),
        };
        let access = access.copied().unwrap_or_default();
        if work.unit.memory() {
            waits = memory.data(&access, step.privilege);
        }
        let execute = work.dependence.map_or(0, |dependence| dependence.more(step.operands));
        let mut behind = Behind {
            stores: &mut self.stores,
            access,
            number: 0,
            line: memory.data_line_bytes(),
            write_latency: memory.write_latency().into(),
            given: &[],
            record: None,
        };
        let (op, latency) = (step.insn.op, i64::from(memory.latency()));
        self.front.leave(self.back.decode(fetched.valid));
        let cycles = work.cycles + i64::from(execute);
        let pass = self.back.pass(work, cycles, &fetched, waits, &mut behind, |stores, at| match work.unit {
            Unit::Atomic => {
                let ready = stores.queue_empty(at);
                let empty = stores.empty(ready);
                // The cache first lets the write buffer run empty.
                latency + if empty > ready { empty + 3 } else { ready + 1 }
            }
            _ if matches!(op, Op::Fence | Op::FenceI | Op::SfenceVma) => stores.empty(at),
            _ => at,
        });
        if work.unit == Unit::Atomic
            && let Some(access) = accesses.first()
        {
            memory.forget_set(access.pa);
        }
        self.last = Some(place);
        // What is fetched next.
        match work.unit {
            Unit::Branch => {
                self.front.note(step.pa, step.insn);
                self.turn(&place, step, memory);
            }
            _ => self.flush(&place, step.insn, work.unit, memory),
        }
        let data_miss = if work.unit == Unit::Load { waits.miss } else { 0 };
        let costs = Costs {
            fetch_walk: fetched.walk,
            fetch_miss: fetched.miss,
            data_walk: waits.walk,
            data_miss,
            ..Costs::default()
        };
        (pass, costs)
    }

    /// A branch or jump has issued: the fetch goes on where it was predicted to go, or is redirected. Yields whether the
    /// prediction was right.
    pub(super) fn turn(&mut self, place: &Place, step: &Step, memory: &mut Memory) -> bool {
        let insn = step.insn;
        let predicted = self.front.predict(place, insn);
        let right = match insn.row().class {
            Class::Branch => predicted.is_some() == step.taken,
            _ => predicted == Some(step.next_pc),
        };
        let at = self.back.issue + 1;
        self.front.resolve(at, step, right);
        if !right {
            let mut behind = self.front.queue(self.back.issue, None);
            self.front.redirect(at, place, predicted, &mut behind, memory);
            self.back.set_redirect(at + 1, Cause::Branch, Flush::Branch);
        } else if predicted.is_some() {
            self.front.follow(place, memory);
        }
        right
    }

    /// What is not a jump, but empties the pipe, has committed.
    fn flush(&mut self, place: &Place, insn: &Insn, unit: Unit, memory: &mut Memory) {
        if unit != Unit::Atomic && !self.flushes(insn) {
            return;
        }
        let commit = self.back.commit;
        let (cause, flush) = match insn.op {
            Op::Mret | Op::Sret => (Cause::TrapFlush, Flush::Return),
            _ => (Cause::Csr, Flush::System),
        };
        let full = self.stray(commit, place, self.back.clone(), None, memory);
        match insn.op {
            Op::FenceI => {
                memory.flush_instructions();
                // A cache that is not being read begins a cycle earlier.
                self.front.hold(commit + i64::from(self.system.fence_i) - i64::from(full));
            }
            Op::SfenceVma | Op::SinvalVma => memory.flush_translations(),
            Op::Mret | Op::Sret if self.return_fault > 0 => {
                self.front.hold(commit + 1 + self.return_fault);
            }
            _ => {}
        }
        self.back.set_redirect(commit + 1, cause, flush);
    }

    /// An instruction traps instead of retiring (or an interrupt takes its place).
    pub(super) fn trap(
        &mut self,
        place: Option<&Place>,
        cause: &tollgate_riscv::Trap,
        memory: &mut Memory,
    ) -> (Pass, Costs) {
        let fetched = match place {
            Some(place) => self.front.fetch(place, memory),
            None => self.front.fetch_nothing(),
        };
        let walk = memory.fault_walk(cause.tval).into();
        let pass = self.back.trap(&fetched, cause.cause, walk);
        let commit = self.back.commit;
        if let Some(mut place) = place.copied().or(self.last) {
            let mut back = self.back.clone();
            back.enter(commit);
            // An interrupted jump was followed.
            place.len = if cause.cause.is_interrupt() { 0 } else { self.front.len(place.pa) as u8 };
            self.stray(commit, &place, back, Some(self.back.issue - 1), memory);
        } else {
            self.front.hold(commit + 1);
        }
        let flush = if cause.cause.is_interrupt() { Flush::Interrupt } else { Flush::Trap };
        self.back.set_redirect(commit + 1, Cause::TrapFlush, flush);
        let costs = Costs { fetch_walk: fetched.walk, fetch_miss: fetched.miss, ..Costs::default() };
        (pass, costs)
    }

    /// What is behind an instruction goes through the front end, and issues as far as it can, until it is dropped in a
    /// cycle. The instruction left the queue in an earlier one, if that is not known yet. Yields whether the queue was full.
    fn stray(
        &mut self,
        at: i64,
        place: &Place,
        mut back: Backend,
        left: Option<i64>,
        memory: &mut Memory,
    ) -> bool {
        let issue = back.issue;
        let core = &self.core;
        let mut issues = |insn: Option<&Insn>, decode: i64| {
            back.stray(insn.map(|insn| Work::new(insn, core)).as_ref(), decode)
        };
        let mut behind = self.front.queue(issue, Some(&mut issues));
        if let Some(left) = left {
            behind.leave(left);
        }
        self.front.redirect(at, place, None, &mut behind, memory)
    }

    /// Whether the pipe is emptied behind it.
    fn flushes(&self, insn: &Insn) -> bool {
        match insn.row().class {
            Class::Nop => true,
            Class::System => matches!(insn.op, Op::Mret | Op::Sret | Op::FenceI | Op::SfenceVma | Op::Fence),
            Class::Csr => {
                let system = &self.system;
                let bubbles = system.csr_flush_of.of(insn.imm as u16).unwrap_or(system.csr_flush);
                csr::writes(insn) && bubbles > 0
            }
            _ => false,
        }
    }
}
