//! When each instruction is in each stage.
//!
//! Nothing waits behind EX: an instruction whose data are not there goes through the pipe again, and is in EX once more `REPLAY`
//! cycles later. So MEM and WB follow EX one cycle after the other, and EX is the time by which all others are known. With a dash
//! for the instruction before:
//!
//! ```text
//! IF = max(IF' + 1, redirect)                 if it needs a further word and the queue has a place for it
//! ID = max(IF + 1 + walk + i-miss, EX')
//! EX = max(ID + 1, EX' + 1, operands) + replays
//! ```
//!
//! An instruction is charged `EX - EX'` cycles. One is its own; its delays are added in the order of the pipe, each charged with
//! what it adds.

use super::float_unit::FloatUnit;
use super::front_end::{Arrival, FrontEnd, LONG_AGO, LineState, REPLAY};
use super::line_port::Ahead;
use super::op::Op;
use super::waiting_stores::{Behind, WaitingStores};
use crate::ledger::Cause;
use crate::parts::delays::Redirect;
use crate::passage::Flush;
use crate::slot::Slot;

/// Cycles behind EX of a store that makes a clean line dirty in which no other access sees the tags. rtl: switch-space.
const TAG_UPDATE: i64 = 2;

/// Cycles from EX of a floating-point store to that of an access to the flags, which waits until it is behind WB. rtl: float.flags.
const FLAGS_BEHIND_STORES: i64 = 4;

/// Cycles from EX of an access to EX of the next one, if a fence is between them. rtl: fence.between_loads.
const FENCE: i64 = 4;

/// From EX to WB.
const WRITE: i64 = 2;

/// The pipe.
#[derive(Clone, Debug)]
pub(super) struct Pipe {
    pub(super) front: FrontEnd,
    /// Whether an instruction may have to wait for more than its operands and the place of its word in the queue: then it takes
    /// [`pass`](Self::pass).
    pub(super) unusual: bool,
    /// When the last instruction was in EX.
    pub(super) execute: i64,
    /// From when each register can be used in EX, and why not earlier.
    pub(super) ready: [i64; 64],
    cause: [Cause; 64],
    /// When the iterative unit writes its result, and which register.
    unit: (i64, u8),
    /// When the last store was in EX that made a clean line dirty.
    pub(super) soiled: i64,
    pub(super) stores: WaitingStores,
    /// When the last access was in EX, and whether there was a fence since.
    accessed: i64,
    fenced: bool,
    /// The next line, if the front end missed it before an access. Only a fetch in sequence comes to it.
    pub(super) line_ahead: Option<Ahead>,
    /// Bubbles between a load of a device and an instruction that uses its value, if devices are not waited for; from when they can
    /// be accessed again.
    posted: Option<i64>,
    device: i64,
    /// When the last floating-point store was in EX.
    float_store: i64,
    float: FloatUnit,
    /// Cycles after which the front end asks again for a line, or 0.
    line_step: i64,
    /// Cycles of words behind the last instruction that hardware stacks.
    stacked: i64,
}

/// The waits and accesses of one instruction in the pipe.
#[derive(Clone, Copy, Debug)]
pub(super) struct Costs {
    pub(super) arrival: Arrival,
    /// Cycles of walks and misses of its fetch.
    pub(super) fetch_walk: i64,
    pub(super) fetch_miss: i64,
    /// When the front end missed its line, if that was long before.
    pub(super) line_missed: Option<i64>,
    /// Begins in the word before its last.
    pub(super) crosses: bool,
    /// Cycles that its operands add, or remove.
    pub(super) operands: i64,
    /// Cycles of walks and misses of its data.
    pub(super) data_walk: i64,
    pub(super) data_miss: i64,
    /// Cycles until it is back because the data cache did not take it.
    pub(super) refused: i64,
    /// Is the first store to a clean line.
    pub(super) soils: bool,
    /// With which of the latest stores a load overlaps: the lowest bit is for the latest.
    pub(super) overlap: u8,
    /// The instructions behind a load that overlaps.
    pub(super) behind: Behind,
    /// Accesses a device.
    pub(super) device: bool,
}

impl Costs {
    /// Nothing but its fetch.
    pub(super) const fn of(arrival: Arrival) -> Self {
        Costs {
            arrival,
            fetch_walk: 0,
            fetch_miss: 0,
            line_missed: None,
            crosses: false,
            operands: 0,
            data_walk: 0,
            data_miss: 0,
            refused: 0,
            soils: false,
            overlap: 0,
            behind: Behind { reads: [false; 2], stores: false, again: false },
            device: false,
        }
    }
}

/// When an instruction is in EX, while its delays are added.
struct Adding {
    /// When the instruction before was there.
    before: i64,
    /// The first cycle in which this one could have been there.
    base: i64,
    /// Fetches behind the first: what crosses two words waits for the second in ID, however far the fetch is ahead.
    second: i64,
    /// When it can be in ID.
    fetched: i64,
    /// When its operands are there.
    operands: i64,
    replays: i64,
    /// The charges so far.
    now: i64,
}

impl Adding {
    fn decode(&self) -> i64 {
        self.fetched.max(self.before + self.second)
    }

    fn execute(&self) -> i64 {
        (self.decode() + 1).max(self.operands) + self.replays
    }

    /// The cycles added since the last time.
    fn added(&mut self) -> u64 {
        let execute = self.execute().max(self.base);
        (execute - std::mem::replace(&mut self.now, execute)).cast_unsigned()
    }

    fn charge(&mut self, cause: Cause, slot: &mut Slot) {
        slot.charges[cause as usize] += self.added();
    }

    /// It waits for something that is there in a cycle.
    fn wait(&mut self, until: i64, cause: Cause, slot: &mut Slot) {
        if until > self.operands {
            self.operands = until;
            self.charge(cause, slot);
        }
    }

    /// It is that many cycles later, if it goes through the pipe again.
    fn replay(&mut self, cycles: i64, cause: Cause, slot: &mut Slot) {
        if cycles > 0 {
            self.replays += cycles;
            self.charge(cause, slot);
        }
    }
}

impl Pipe {
    pub(super) fn new(posted: Option<u32>, line_step: u32) -> Self {
        Pipe {
            front: FrontEnd::new(),
            unusual: true,
            execute: 1,
            ready: [LONG_AGO; 64],
            cause: [Cause::Issue; 64],
            unit: (LONG_AGO, 0),
            soiled: LONG_AGO,
            stores: WaitingStores::NONE,
            accessed: LONG_AGO,
            fenced: false,
            line_ahead: None,
            posted: posted.map(i64::from),
            device: LONG_AGO,
            float_store: LONG_AGO,
            float: FloatUnit::IDLE,
            line_step: line_step.into(),
            stacked: 0,
        }
    }

    /// Cycles until the last instruction is gone.
    pub(super) fn cycles(&self) -> u64 {
        (self.execute + WRITE + self.stacked + 1).cast_unsigned()
    }

    /// The data port is busy for this many cycles after the last write-back, and the fetches after that are as much later.
    pub(super) fn occupy(&mut self, cycles: i64) {
        self.stacked += cycles;
        self.unusual = true;
        self.front.redirect.delay(cycles);
    }

    /// The next instruction is fetched `bubbles` late, counted from the last one's EX.
    pub(super) fn redirect_from_execute(&mut self, bubbles: i64, cause: Cause, flush: Flush) {
        self.redirect(self.execute - 1 + bubbles, cause, flush);
    }

    /// The same counted from its WB.
    pub(super) fn redirect_from_write(&mut self, bubbles: i64, cause: Cause, flush: Flush) {
        self.redirect_behind(self.execute + WRITE + self.stacked, bubbles, cause, flush);
    }

    /// The same counted as if it had been in WB then.
    pub(super) fn redirect_behind(&mut self, write: i64, bubbles: i64, cause: Cause, flush: Flush) {
        self.redirect(write - 3 + bubbles, cause, flush);
    }

    /// The same counted from when an interrupt takes the place of the instruction in ID, which may have waited for a redirect.
    pub(super) fn redirect_from_decode(&mut self, bubbles: i64, cause: Cause, flush: Flush) {
        let decode = self.execute.max(self.front.redirect.at + 1);
        self.redirect(decode - 1 + bubbles, cause, flush);
    }

    /// The next instruction is fetched in this cycle, or later.
    fn redirect(&mut self, at: i64, cause: Cause, flush: Flush) {
        self.leave_sequence();
        self.front.redirect(at, cause, flush);
    }

    /// The front end found out in IF where the next instruction is.
    pub(super) fn redirect_from_fetch(&mut self, bubbles: i64) {
        self.leave_sequence();
        self.front.redirect_from_fetch(bubbles);
    }

    /// The next fetch is not in sequence.
    #[inline(always)]
    pub(super) fn leave_sequence(&mut self) {
        self.front.fresh = true;
        self.line_ahead = None;
    }

    /// Whether the next access may find the tags taken.
    pub(super) fn is_soiled(&self) -> bool {
        self.finds_tags_taken(self.execute + 1)
    }

    /// Whether instructions behind the last one may go through the pipe again, although they find their data.
    pub(super) fn may_replay(&self) -> bool {
        self.is_soiled() || self.float.is_busy(self.execute + 1)
    }

    /// Whether an access in EX then finds the tags taken.
    #[inline(always)]
    pub(super) fn finds_tags_taken(&self, execute: i64) -> bool {
        execute <= self.soiled + TAG_UPDATE
    }

    /// An instruction that waits only for its operands and its fetch, which has a `second` part, is in EX then.
    #[inline(always)]
    pub(super) fn next_execute(&self, op: &Op, fetch: i64, second: i64) -> i64 {
        // (The compiler does not inline the arrays' `map`.)
        let [a, b, c, d] = op.waits;
        let ready = |register: u8| self.ready[usize::from(register % 64)];
        let fetched = (self.execute + 1).max(fetch + 2) + second;
        fetched.max(ready(a).max(ready(b))).max(ready(c).max(ready(d)))
    }

    /// Such an instruction passes; a load or store that is in the data cache, too.
    #[inline(always)]
    pub(super) fn advance(&mut self, op: &Op, words: u32, fetch: [i64; 2], execute: i64, slot: &mut Slot) {
        if execute > self.execute + 1 {
            self.charge_waits(op, fetch, i64::from(words.saturating_sub(1)), slot);
        }
        self.execute = execute;
        self.front.advance(words, fetch, execute);
        if op.latency > 1 {
            self.set_ready(op, execute + op.latency);
        }
        if execute + WRITE == self.unit.0 {
            self.unit_waits(op);
        }
    }

    /// Whether the iterative unit is free when an instruction is in EX.
    #[inline(always)]
    pub(super) fn unit_is_free(&self, execute: i64) -> bool {
        execute > self.unit.0
    }

    /// The unit begins with the last instruction's operands, which add to its cycles.
    #[inline(always)]
    pub(super) fn iterate(&mut self, op: &Op, operands: i64) {
        self.set_ready(op, self.execute + WRITE + operands);
        self.unit = (self.execute + 1 + operands, op.writes);
        if self.execute + WRITE == self.unit.0 {
            self.unit_waits(op);
        }
    }

    /// A load or store is in EX.
    #[inline(always)]
    pub(super) fn note_access(&mut self, execute: i64) {
        self.accessed = execute;
    }

    #[inline(never)]
    fn charge_waits(&self, op: &Op, [next, fetch]: [i64; 2], second: i64, slot: &mut Slot) {
        slot.begin(Cause::Issue);
        let mut now = self.execute + 1;
        let mut wait = |until: i64| {
            let before = now;
            now = now.max(until);
            (now - before).cast_unsigned()
        };
        slot.charges[Cause::Structural as usize] += wait((next + 2).max(self.execute + 1 + second));
        if fetch > next {
            slot.refill = Some((self.front.redirect.cause, wait(fetch + 2)));
        }
        slot.charges[Cause::Structural as usize] += wait(fetch + 2 + second);
        for &register in &op.waits {
            let register = usize::from(register % 64);
            slot.charges[self.cause[register] as usize] += wait(self.ready[register]);
        }
    }

    #[inline(always)]
    fn set_ready(&mut self, op: &Op, ready: i64) {
        let register = usize::from(op.writes % 64);
        if register != 0 {
            (self.ready[register], self.cause[register]) = (ready, op.cause);
        }
    }

    /// The result of the iterative unit waits for a cycle in which no instruction writes an integer register.
    #[inline(never)]
    fn unit_waits(&mut self, op: &Op) {
        if (1..32).contains(&op.writes) {
            self.unit.0 += 1;
            let register = usize::from(self.unit.1 % 64);
            if register != 0 {
                self.ready[register] = self.unit.0 + 1;
            }
        }
    }

    /// Passes one instruction through the pipe, whatever it waits for; it has a cycle of its own cause.
    pub(super) fn pass(&mut self, op: &Op, costs: &Costs, own: Cause, slot: &mut Slot) {
        let arrival = &costs.arrival;
        slot.begin(own);
        (slot.fetch_walk, slot.second) = (costs.fetch_walk as u32, arrival.second() as u32);
        let mut at = Adding {
            before: self.execute,
            base: self.execute + 1 + self.stacked,
            second: arrival.second(),
            fetched: self.execute,
            operands: self.execute + 1,
            replays: 0,
            now: self.execute + 1 + self.stacked,
        };
        let start = self.wait_for_fetch(costs, &mut at, slot);
        self.wait_for_operands(op, &mut at, slot);
        self.wait_for_order(op, &mut at, slot);
        self.replay(op, costs, &mut at, slot);
        let execute = at.execute();
        slot.starts = [start, at.decode(), execute, execute + 1, execute + WRITE];
        slot.end = execute + WRITE + 1;
        self.front.bring(arrival.words, at.fetched, execute, execute - at.replays);
        (self.execute, self.stacked) = (execute, 0);
        if op.reads || op.stores {
            self.accessed = execute;
        }
        if op.float_store {
            self.float_store = execute;
        }
        self.note_unusual();
    }

    /// Yields when it is in IF.
    fn wait_for_fetch(&mut self, costs: &Costs, at: &mut Adding, slot: &mut Slot) -> i64 {
        let redirected = self.front.redirect.cause;
        let fetch = self.front.fetch(&costs.arrival);
        at.fetched = fetch.next + 1;
        // The queue has few places, and does not bring a word in each cycle.
        at.charge(Cause::Structural, slot);
        if fetch.at > fetch.next {
            at.fetched = fetch.at + 1;
            slot.refill = Some((redirected, at.added()));
        }
        at.fetched = fetch.decode;
        at.charge(Cause::IMiss, slot);
        at.fetched += costs.fetch_walk;
        at.charge(Cause::TlbWalk, slot);
        if costs.fetch_miss > 0 {
            let early = fetch.before_replay.map(|at| at + 1);
            let missed = costs.line_missed.or(early).unwrap_or(at.fetched);
            at.fetched = self.finds_line(at.fetched, missed, missed + costs.fetch_miss);
            at.charge(Cause::IMiss, slot);
        }
        at.fetched += at.second;
        at.charge(Cause::Structural, slot);
        fetch.at
    }

    /// The last instruction's result is there.
    pub(super) fn write(&mut self, op: &Op, costs: &Costs) {
        match self.posted {
            _ if op.iterates => self.iterate(op, costs.operands),
            Some(bubbles) if costs.device && op.reads => self.set_ready(op, self.execute + 1 + bubbles),
            _ => self.set_ready(op, self.execute + op.latency + costs.operands),
        }
        if self.execute + WRITE == self.unit.0 {
            self.unit_waits(op);
        }
    }

    /// When the next four words in sequence, each an instruction that does not wait, would enter the stages.
    pub(super) fn next_starts(&self) -> [[i64; 5]; 4] {
        let mut front = self.front.clone();
        front.redirect = Redirect::NONE;
        let arrival = Arrival { words: 1, line: LineState::There };
        let mut before = [self.execute, self.execute + 1, self.execute + WRITE + self.stacked];
        std::array::from_fn(|_| {
            let fetch = front.fetch(&arrival);
            let decode = fetch.decode.max(before[0]);
            let execute = (decode + 1).max(before[1]);
            let memory = (execute + 1).max(before[2]);
            let write = (memory + 1).max(before[2] + 1);
            front.bring(1, fetch.decode, execute, execute);
            before = [execute, memory, write];
            [fetch.at, decode, execute, memory, write]
        })
    }

    /// An instruction passes, as far as later ones are concerned.
    pub(super) fn look_ahead(&mut self, op: &Op, costs: &Costs) {
        self.pass(op, costs, Cause::Issue, &mut Slot::default());
        self.write(op, costs);
    }

    fn note_unusual(&mut self) {
        self.unusual = self.front.fill.is_some() || self.line_ahead.is_some() || self.fenced;
    }

    /// When an instruction can be in ID that would be there in a cycle if its line were not missed, which was found out in
    /// another one, before the line is there. The front end asks again and again; from the start if the fetch goes on there
    /// behind a jump, otherwise from when the instruction before is in MEM and nothing is behind it.
    fn finds_line(&self, decode: i64, missed: i64, there: i64) -> i64 {
        let from = if self.front.fresh { missed } else { self.execute + 1 };
        let asks = if there > decode.max(from) { self.line_step } else { 0 };
        decode.max(there + if asks > 0 { (from - there).rem_euclid(asks) } else { 0 })
    }

    /// Registers, the flags, and the iterative unit.
    fn wait_for_operands(&self, op: &Op, at: &mut Adding, slot: &mut Slot) {
        for &register in &op.waits {
            let register = usize::from(register % 64);
            at.wait(self.ready[register], self.cause[register], slot);
        }
        if op.flags {
            at.wait(self.float_store + FLAGS_BEHIND_STORES, Cause::LongOperation, slot);
            for register in 32..64 {
                at.wait(self.ready[register], self.cause[register], slot);
            }
        }
        if op.iterates {
            at.wait(self.unit.0 + 1, Cause::LongOperation, slot);
        }
    }

    /// Accesses with a fence between them.
    fn wait_for_order(&mut self, op: &Op, at: &mut Adding, slot: &mut Slot) {
        let accesses = op.reads || op.stores;
        let [waits, holds] = op.ordered;
        if waits || accesses && self.fenced {
            at.wait(self.accessed + FENCE, Cause::Structural, slot);
        }
        self.fenced = holds || self.fenced && !accesses;
    }

    /// The reason for which an instruction goes through the pipe again.
    fn replay(&mut self, op: &Op, costs: &Costs, at: &mut Adding, slot: &mut Slot) {
        let accesses = op.reads || op.stores;
        if accesses && self.finds_tags_taken(at.execute()) {
            at.replay(REPLAY, Cause::Structural, slot);
        }
        at.replay(costs.data_walk, Cause::TlbWalk, slot);
        at.replay(costs.data_miss, Cause::DMiss, slot);
        at.replay(costs.refused, Cause::Structural, slot);
        if !accesses && op.floating.is_none() && !costs.device {
            return;
        }
        let execute = at.execute();
        if let Some(posted) = self.posted.filter(|_| costs.device) {
            let times = (self.device - execute + REPLAY - 1).max(0) / REPLAY;
            at.replay(times * REPLAY, Cause::DMiss, slot);
            self.device = at.execute() + posted - 1;
        }
        if let Some(floating) = op.floating {
            let first = at.execute();
            let again = self.float.pass(floating, first, REPLAY, costs.operands as i32);
            at.replay(again - first, Cause::LongOperation, slot);
        }
        if op.reads && self.stores.load(execute, costs.overlap) {
            at.replay(REPLAY + self.stores.replay(execute, costs.behind), Cause::LoadUse, slot);
        }
        if costs.crosses && at.replays > 0 {
            // Its first half is there, and the second comes a cycle later.
            at.replay(1, Cause::Structural, slot);
        }
        if op.stores && !costs.device {
            let execute = at.execute();
            self.stores.store(execute, op.reads);
            if costs.soils {
                self.soiled = execute;
            }
        }
    }
}
