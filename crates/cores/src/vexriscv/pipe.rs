//! Five stages that wait together: what holds a stage holds all stages before it, whether there is an instruction in them or
//! not. So no bubble is closed, and what waits for memory does so in WB. rtl: the random program seed-06

use super::store_port::StorePort;
use crate::ledger::Cause;
use crate::parts::delays::{Delays, Redirect};
use crate::parts::operation::{Operation, Result as OperationResult};
use crate::parts::predictor::Jump;
use crate::parts::system::Refetch;
use crate::passage::Flush;
use crate::slot::Slot;

/// Cycles from when the port takes a load that has missed to when the load is in EX again. rtl: cache.load_lines
const REFILL: i64 = 5;

/// An instruction as the core sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Op {
    pub(super) reads: [u8; 3],
    pub(super) writes: u8,
    pub(super) operation: Operation,
    /// Waits in EX until the pipe is empty.
    pub(super) drains: bool,
    pub(super) memory: Memory,
    /// Whether the addresses of loads are compared with that of its store.
    pub(super) compared: bool,
    pub(super) jump: Jump,
    pub(super) refetch: Option<Refetch>,
    /// Empties the pipe, so that what is behind it is a wrong path.
    pub(super) empties_pipe: bool,
    pub(super) fence_i: bool,
    pub(super) writes_satp: bool,
    /// Whether nothing behind it comes to ID before it is executed.
    pub(super) system: bool,
}

/// The effects of a wrong path up to its last cycle.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Behind {
    /// Whether an instruction of it has come to ID.
    pub(super) present: bool,
    /// Whether one is stalled there.
    pub(super) stalled: bool,
    /// From when the instruction cache can be read, if one has missed.
    pub(super) held: Option<i64>,
}

/// The use of the data port by an instruction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Memory {
    pub(super) reads: bool,
    pub(super) writes: bool,
    /// Whether accesses behind it wait until all stores are in memory.
    pub(super) fences: bool,
}

/// Cycles in which no instruction enters a stage before the one that is held: the first and the last, in order. Only those
/// of four instructions matter: the last one in EX, MEM and WB, the one before it, ...
#[derive(Clone, Copy, Debug)]
struct Holds {
    cycles: [(i64, i64); Holds::MOST],
    len: usize,
}

impl Holds {
    const MOST: usize = 12;
    const NONE: Holds = Holds { cycles: [(0, 0); Holds::MOST], len: 0 };

    /// The first cycle from `at` on in which an instruction can move.
    #[inline(always)]
    fn thaw(&self, mut at: i64) -> i64 {
        for &(first, last) in self.cycles.iter().take(self.len) {
            if (first..=last).contains(&at) {
                at = last + 1;
            }
        }
        at
    }

    /// No later instruction is fetched before `decode`.
    #[inline(always)]
    fn expire(&mut self, decode: i64) {
        if self.len > 0 {
            self.expire_some(decode);
        }
    }

    #[inline(never)]
    fn expire_some(&mut self, decode: i64) {
        let mut kept = 0;
        for at in 0..self.len {
            if self.cycles[at].1 >= decode {
                self.cycles[kept] = self.cycles[at];
                kept += 1;
            }
        }
        self.len = kept;
    }

    #[inline(always)]
    fn add(&mut self, first: i64, last: i64) {
        if first <= last {
            self.insert(first, last);
        }
    }

    #[inline(never)]
    fn insert(&mut self, first: i64, last: i64) {
        debug_assert!(self.len < Self::MOST);
        let mut at = self.len.min(Self::MOST - 1);
        while at > 0 && self.cycles[at - 1] > (first, last) {
            self.cycles[at] = self.cycles[at - 1];
            at -= 1;
        }
        self.cycles[at] = (first, last);
        self.len = (self.len + 1).min(Self::MOST);
    }
}

/// When the last instruction entered the stages, and left WB.
#[derive(Clone, Debug)]
pub(super) struct Pipe {
    pub(super) decode: i64,
    pub(super) execute: i64,
    pub(super) memory: i64,
    /// WB.
    pub(super) entered: i64,
    /// Its last cycle in WB.
    pub(super) write: i64,
    pub(super) redirect: Redirect,
    /// From when each register can be used in EX, and why not earlier.
    ready: [i64; 64],
    cause: [Cause; 64],
    holds: Holds,
}

/// The times at which an instruction can enter the stages.
#[derive(Clone, Copy)]
struct Times {
    fetch: i64,
    /// Cycles in IF.
    fetch_cycles: i64,
    /// Cycles in ID, for a miss that is found there.
    refetch: i64,
    operands: i64,
    /// Cycles by which it is in EX later because it goes through the pipe again.
    replay: i64,
    execute_cycles: i64,
    memory_cycles: i64,
    /// Cycles in WB behind the first.
    waits: i64,
}

impl Pipe {
    pub(super) fn new() -> Self {
        Pipe {
            decode: 0,
            execute: 1,
            memory: 2,
            entered: 0,
            write: 3,
            redirect: Redirect::NONE,
            ready: [i64::MIN / 2; 64],
            cause: [Cause::Issue; 64],
            holds: Holds::NONE,
        }
    }

    /// When an instruction enters IF, ID, EX, MEM and WB.
    #[inline(always)]
    fn enters(&self, times: &Times) -> [i64; 5] {
        let holds = &self.holds;
        let fetch = holds.thaw(times.fetch);
        let decode = holds.thaw((fetch + times.fetch_cycles).max(self.execute));
        let decode = if times.refetch > 0 { holds.thaw(decode + times.refetch) } else { decode };
        let execute = holds.thaw((decode + 1).max(self.memory).max(times.operands) + times.replay);
        let memory = holds.thaw((execute + times.execute_cycles).max(self.entered));
        let entered = (memory + times.memory_cycles).max(self.write + 1);
        [fetch, decode, execute, memory, entered]
    }

    /// An instruction passes. With the port goes the overlap of a load with the latest stores, and what is behind it.
    #[inline(always)]
    pub(super) fn pass(
        &mut self,
        op: &Op,
        delays: &Delays,
        port: Option<(&mut StorePort, u8, Behind)>,
        own: Cause,
        slot: &mut Slot,
    ) {
        let mut times = Times {
            fetch: self.decode,
            fetch_cycles: 1,
            refetch: 0,
            operands: self.memory,
            replay: 0,
            execute_cycles: 1,
            memory_cycles: 1,
            waits: 0,
        };
        let mut now = self.write + 1;
        slot.lost = false;
        if own != Cause::Issue {
            slot.charged(own, delays);
        }
        // Lets a delay in, in the order of the pipe, and charges what it adds.
        macro_rules! let_in {
            ($cause:expr) => {
                let write = self.enters(&times)[4] + times.waits;
                if write != now {
                    if !slot.lost {
                        slot.charged(own, delays);
                    }
                    slot.charges[$cause as usize] += (write - now) as u64;
                    now = write;
                }
            };
        }
        let Redirect { at, cause, .. } = self.redirect;
        self.redirect.at = Redirect::NONE.at;
        if at > times.fetch {
            times.fetch = at;
            let write = self.enters(&times)[4];
            if write != now {
                if !slot.lost {
                    slot.charged(own, delays);
                }
                slot.refill = Some((cause, (write - now) as u64));
                now = write;
            }
        }
        if delays.fetch_walk > 0 {
            times.fetch_cycles += delays.fetch_walk;
            let_in!(Cause::TlbWalk);
        }
        if delays.fetch_miss > 0 {
            // Found in ID: no stall of an earlier instruction hides it. rtl: div.by_one, its first pass
            times.refetch = delays.fetch_miss;
            let_in!(Cause::IMiss);
        }
        for register in op.reads {
            let at = self.ready[usize::from(register) % 64];
            if at > times.operands {
                times.operands = at;
                let_in!(self.cause[usize::from(register) % 64]);
            }
        }
        if op.drains {
            // It waits in EX. rtl: csr.read_scratch
            let execute = self.enters(&times)[2];
            times.execute_cycles = times.execute_cycles.max(self.write + 2 - execute);
            let_in!(Cause::Csr);
        }
        let [execute_cycles, late] = op.operation.further(delays.operands);
        if execute_cycles > 0 {
            times.execute_cycles += execute_cycles;
            let_in!(op.operation.cause);
        }
        if delays.data_walk > 0 {
            // It goes through the pipe again when the translation is there.
            times.replay += delays.data_walk;
            let_in!(Cause::TlbWalk);
        }
        if late > 0 {
            let atomic = op.memory.reads || op.memory.writes;
            *(if atomic { &mut times.waits } else { &mut times.memory_cycles }) += late;
            let_in!(op.operation.cause);
        }
        let mut enters = self.enters(&times);
        if let Some((port, overlap, behind)) = port
            && (op.memory.reads || op.memory.writes || op.memory.fences || delays.data_miss > 0)
        {
            if op.memory.reads {
                let redo = port.redo(enters[3] - 1, overlap);
                if redo > 0 {
                    // From its first cycle in WB on; what it waits there holds ID up, and what an atomic operation waited
                    // comes again, too.
                    let held = behind.stalled || op.operation.memory > 0;
                    times.replay += enters[4] - 2 + redo + i64::from(held) - enters[2];
                    let_in!(Cause::LoadUse);
                }
            }
            if delays.data_miss > 0 {
                // The load waits in WB until the port takes it, goes through the pipe again, and waits in EX for the line.
                let [_, _, execute, _, entered] = self.enters(&times);
                let at = port.access(entered, true);
                let again = (at + REFILL).max(behind.held.map_or(at, |held| held + 2));
                let there = (at + 1).max(port.free()) + delays.data_miss - 1;
                times.replay += again - execute;
                times.execute_cycles = times.execute_cycles.max(there - 1 - again);
                let_in!(Cause::DMiss);
            }
            if op.memory.reads || op.memory.writes {
                let at = port.access(now, op.memory.writes);
                if at > now {
                    times.waits += at - now;
                    let_in!(Cause::Structural);
                }
            }
            if op.memory.writes {
                port.store(now);
            }
            if op.memory.fences {
                port.fence();
            }
            enters = self.enters(&times);
        }
        let [fetch, decode, execute, memory, entered] = enters;
        let write = entered + times.waits;
        slot.starts = [fetch, decode, execute, memory, write];
        slot.end = write + 1;
        (self.decode, self.execute, self.memory) = (decode, execute, memory);
        (self.entered, self.write) = (entered, write);
        self.holds.expire(decode);
        self.holds.add(execute + 1, memory - 1);
        self.holds.add(memory + 1, entered - 1);
        self.holds.add(entered + 1, write);
        if op.writes != 0 {
            let (ready, cause) = match op.operation.result {
                OperationResult::Execute(n) => {
                    (execute + n + i64::from(delays.operands), op.operation.result_cause)
                }
                OperationResult::Memory(n) if n < 2 => (memory + n, op.operation.result_cause),
                OperationResult::Memory(n) => (entered + n - 1, op.operation.result_cause),
                OperationResult::Bubbles(n) => (write - 1 + n, op.operation.result_cause),
            };
            // Every earlier writer is waited for. rtl: the random program seed-02
            let register = usize::from(op.writes) % 64;
            if self.ready[register] < ready {
                (self.ready[register], self.cause[register]) = (ready, cause);
            }
        }
    }

    /// The next instruction is fetched `bubbles` behind the last one's WB.
    pub(super) fn redirect_from_write(&mut self, bubbles: i64, cause: Cause, flush: Flush) {
        self.redirect.set(self.write - 3 + bubbles, cause, flush);
    }

    /// A copy whose fetch goes on in sequence.
    pub(super) fn in_sequence(&self) -> Self {
        Pipe { redirect: Redirect::NONE, ..self.clone() }
    }

    /// The redirected fetch waits until this cycle.
    pub(super) fn hold_fetch(&mut self, until: Option<i64>) {
        if let (true, Some(until)) = (self.redirect.is_some(), until) {
            self.redirect.at = self.redirect.at.max(until);
        }
    }

    /// The data port is busy for this many cycles behind the last instruction.
    pub(super) fn occupy(&mut self, cycles: i64) {
        self.write += cycles;
        self.redirect.delay(cycles);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instruction_that_is_held_in_wb_holds_every_stage() {
        let mut holds = Holds::NONE;
        // In WB from 5 to 7.
        holds.add(6, 7);
        assert_eq!([5, 6, 7, 8].map(|at| holds.thaw(at)), [5, 8, 8, 8]);
        // The next one, which was in ID in 3, divides in MEM from 8 on, behind that.
        holds.expire(3);
        holds.add(9, 11);
        assert_eq!([8, 9, 11, 12].map(|at| holds.thaw(at)), [8, 12, 12, 12]);
        holds.expire(8);
        assert_eq!(holds.thaw(6), 6);
    }
}
