//! The plain scoreboard: when each instruction is in each stage, one instruction at a time. It is the reference
//! for everything faster.
//!
//! Times are cycles. With a dash for the instruction before, the five stages are
//!
//! ```text
//! IF  = max(ID', redirect)                              ID' leaves IF free
//! ID  = max(IF + 1 + walk + i-miss + second fetch, EX')
//! EX  = max(ID + 1, MEM', operands ready)
//! MEM = max(EX + cycles of the operation, WB')
//! WB  = max(MEM + 1 + walk + d-miss + wait, WB' + 1)
//! ```
//!
//! An instruction is charged `WB - WB'` cycles. One is its own; the others are found by letting its delays in one
//! after the other, in the order of the pipe, each charged with what it adds. (With no delay at all `WB` is
//! `WB' + 1`, whatever the state: each stage of the one before begins later than its own stage before.)

use super::float::FloatUnit;
use super::line_port::Ahead;
use super::passage::Flush;
use super::port::Port;
use super::replay::Waiting;
use super::rigid::Rigid;
use super::shape::{Costs, Ready, Shape, ZERO};
use super::slot::{Pass, Redirect};
use super::words::{Fill, Queue};
use super::{Cause, Core, Kind};

/// The scoreboard.
#[derive(Clone, Debug)]
pub(super) struct Pipe {
    pub(super) kind: Kind,
    pub(super) forwarding: bool,
    pub(super) ecall_reads: bool,
    /// Between IF and ID, in a core whose fetch runs ahead.
    pub(super) queue: Option<Queue>,
    /// A line that the instruction cache takes, after a fetch that is not waited for missed it.
    pub(super) fill: Option<Fill>,
    /// Cycles at its end in which the cache cannot be read.
    pub(super) takes: i64,
    /// Cycles after which the front end asks again for a line, or 0.
    pub(super) line_step: i64,
    pub(super) late_miss: bool,
    pub(super) every_writer: bool,
    /// What holds all stages, in a core where they wait together.
    pub(super) rigid: Option<Rigid>,
    /// When the last instruction entered these; it leaves each when it enters the next.
    pub(super) decode: i64,
    pub(super) execute: i64,
    pub(super) memory: i64,
    pub(super) write: i64,
    /// When the last register was written.
    pub(super) last_write: i64,
    pub(super) redirect: Option<Redirect>,
    /// Whether the next fetch is not in sequence.
    pub(super) fresh: bool,
    /// The next line, if the front end missed it before an access. Only a fetch in sequence comes to it.
    pub(super) line_ahead: Option<Ahead>,
    /// From when each register can be used by an instruction in EX, and why not before.
    pub(super) ready: [(i64, Cause); REGISTERS],
    /// When the iterative unit writes its result, and which register.
    pub(super) unit: Option<(i64, u8)>,
    /// Further cycles of a replay, in a core that has them.
    pub(super) replay: Option<i64>,
    pub(super) waiting: Waiting,
    /// Cycles between two accesses with a fence, when the last access was in EX, and whether there was a fence since.
    pub(super) fence: i64,
    pub(super) accessed: i64,
    pub(super) fenced: bool,
    /// The load-use delay of a device that is not waited for, and from when it can be accessed again.
    pub(super) posted: Option<u32>,
    pub(super) device: i64,
    /// When the last store was in EX that made a clean line dirty.
    pub(super) soiled: i64,
    /// When the last floating-point store was in EX.
    pub(super) float_store: i64,
    pub(super) float: FloatUnit,
    /// Stores behind the pipe, in a core that has a port for them.
    pub(super) port: Option<Port>,
}

impl Pipe {
    pub(super) fn new(core: &Core) -> Self {
        let write = match core.pipeline.kind {
            Kind::SingleCycle | Kind::MultiCycle => -1,
            Kind::TwoStage | Kind::Scoreboard => 0,
            Kind::FiveStage => 3,
        };
        Pipe {
            kind: core.pipeline.kind,
            forwarding: core.pipeline.forwarding,
            ecall_reads: core.trap.ecall_reads,
            queue: Queue::new(core.branch.fetch_queue),
            fill: None,
            takes: core.memory.fetch_fill.into(),
            line_step: core.memory.fetch_miss_step.into(),
            late_miss: core.pipeline.late_miss,
            every_writer: core.pipeline.every_writer,
            rigid: core.pipeline.rigid.then(Rigid::default),
            decode: 0,
            execute: 1,
            memory: 2,
            write,
            last_write: i64::MIN / 2,
            redirect: None,
            fresh: true,
            line_ahead: None,
            ready: [(i64::MIN / 2, Cause::Issue); REGISTERS],
            unit: None,
            replay: (core.pipeline.replay > 0).then_some(core.pipeline.replay.into()),
            waiting: Waiting::default(),
            fence: core.system.fence.into(),
            accessed: i64::MIN / 2,
            fenced: false,
            posted: core.memory.device_posted.then_some(core.memory.device),
            device: i64::MIN / 2,
            soiled: i64::MIN / 2,
            float_store: i64::MIN / 2,
            float: FloatUnit::IDLE,
            port: Port::new(core),
        }
    }

    /// Cycles until the last instruction is gone; the cycles of filling alone before the first.
    pub(super) fn cycles(&self) -> u64 {
        (self.write + 1) as u64
    }

    /// Passes one instruction through the pipe.
    pub(super) fn pass(&mut self, shape: &Shape, costs: &Costs) -> Pass {
        let before = self.write;
        let pass = self.advance(shape, costs, Cause::Issue);
        self.fresh = false;
        if shape.gives != 0 {
            let (execute, write) = (pass.starts[2], self.write);
            let serial = self.kind != Kind::FiveStage;
            let ready = match shape.result {
                // What is not pipelined has its results when the next one begins, unless they take longer.
                Ready::Memory(n, cause) if serial => (write + 1 + i64::from(n), cause),
                Ready::Execute if serial => (write + 1, Cause::LongOperation),
                // Ripes finds this hazard as if values were forwarded, and no other one with x0.
                Ready::Memory(n, cause) if shape.gives == ZERO => (write - 1 + i64::from(n), cause),
                _ if shape.gives == ZERO => (execute, Cause::LoadUse),
                _ if !self.forwarding => (write + 1, Cause::LoadUse),
                Ready::Execute => {
                    let cycles = i64::from(shape.cycles + shape.after) + i64::from(costs.execute);
                    (execute + cycles, Cause::LongOperation)
                }
                Ready::Later(n) => (execute + i64::from(n) + i64::from(costs.execute), Cause::LongOperation),
                Ready::LaterThanMemory(n) => {
                    let [.., memory, write] = pass.starts;
                    let entered = self.rigid.as_ref().map_or(write, Rigid::entered);
                    let there = if n < 2 { memory + i64::from(n) } else { entered + i64::from(n) - 1 };
                    (there, Cause::LongOperation)
                }
                Ready::Unit => (execute + 2 + i64::from(costs.execute), Cause::LongOperation),
                Ready::Memory(n, cause) => {
                    let device = self.posted.filter(|_| costs.device);
                    (write - 1 + i64::from(device.unwrap_or(n)), cause)
                }
            };
            let slot = &mut self.ready[usize::from(shape.gives)];
            if !self.every_writer || slot.0 < ready.0 {
                *slot = ready;
            }
            self.last_write = write;
        }
        self.unit_writes(shape, costs);
        debug_assert_eq!(pass.total() as i64, self.write - before);
        pass
    }

    /// The result of the iterative unit waits for a cycle in which no instruction writes an integer register.
    fn unit_writes(&mut self, shape: &Shape, costs: &Costs) {
        if matches!(shape.result, Ready::Unit) {
            self.unit = Some((self.execute + 1 + i64::from(costs.execute), shape.gives));
        }
        if let Some((at, register)) = &mut self.unit
            && *at == self.write
            && (1..32).contains(&shape.gives)
        {
            *at += 1;
            self.ready[usize::from(*register)].0 = *at + 1;
        }
    }

    /// An instruction that traps takes its slot; the handler is fetched behind it.
    pub(super) fn trap(&mut self, ecall: bool, drain: bool, penalty: u32, costs: &Costs) -> Pass {
        let needs = [if ecall && self.ecall_reads { ECALL } else { 0 }, 0, 0, 0];
        let shape = Shape { needs, drain, ..Shape::PLAIN };
        let pass = self.advance(&shape, costs, Cause::TrapFlush);
        self.redirect_from_write(penalty, Cause::TrapFlush, Flush::Trap);
        pass
    }

    /// The next instruction is fetched `penalty` bubbles late, counted from the last one's EX.
    pub(super) fn redirect_from_execute(&mut self, penalty: u32, cause: Cause, flush: Flush) {
        let at = match self.kind {
            Kind::FiveStage => self.execute - 1,
            _ => self.write + 1,
        };
        self.set_redirect(at + i64::from(penalty), cause, flush);
    }

    /// The same, counted from its MEM.
    pub(super) fn redirect_from_memory(&mut self, penalty: u32, cause: Cause, flush: Flush) {
        let at = match self.kind {
            Kind::FiveStage => self.memory - 2,
            _ => self.write + 1,
        };
        self.set_redirect(at + i64::from(penalty), cause, flush);
    }

    /// Whether the next access may find the tags taken.
    pub(super) fn is_soiled(&self) -> bool {
        self.soiled + TAG_UPDATE > self.execute
    }

    /// When the last instruction entered EX and MEM.
    pub(super) fn entered(&self) -> [i64; 2] {
        [self.execute, self.memory]
    }

    /// Whether a load that enters MEM then goes through the pipe again.
    pub(super) fn redoes(&self, memory: i64, overlap: u8) -> bool {
        self.port.as_ref().is_some_and(|port| port.redo(memory - 1, overlap) > 0)
    }

    /// The redirected fetch waits until this cycle.
    pub(super) fn hold(&mut self, until: Option<i64>) {
        if let (Some(redirect), Some(until)) = (&mut self.redirect, until) {
            redirect.at = redirect.at.max(until);
        }
    }

    /// An interrupt takes the place of the instruction in ID, which may have waited for a redirect.
    pub(super) fn interrupt(&mut self, penalty: u32) {
        let decode = self.redirect.map_or(self.execute, |r| self.execute.max(r.at + 1));
        self.set_redirect(decode - 1 + i64::from(penalty), Cause::TrapFlush, Flush::Interrupt);
    }

    /// The same, counted from its fetch.
    pub(super) fn redirect_from_fetch(&mut self, penalty: u32, cause: Cause, flush: Flush) {
        let fetch = self.queue.as_ref().map_or(self.decode, Queue::fetch);
        self.set_redirect(fetch + 1 + i64::from(penalty), cause, flush);
    }

    /// The same, counted from its WB.
    pub(super) fn redirect_from_write(&mut self, penalty: u32, cause: Cause, flush: Flush) {
        self.redirect_behind(self.write, penalty, cause, flush);
    }

    /// The same, counted as if it had been in WB then.
    pub(super) fn redirect_behind(&mut self, write: i64, penalty: u32, cause: Cause, flush: Flush) {
        let at = match self.kind {
            Kind::FiveStage => write - 3,
            _ => write + 1,
        };
        self.set_redirect(at + i64::from(penalty), cause, flush);
    }

    /// The next instruction is fetched in this cycle or later.
    pub(super) fn redirect_at(&mut self, at: i64, cause: Cause, flush: Flush) {
        self.set_redirect(at, cause, flush);
    }

    /// The data port is busy for this many cycles after the last write-back, and the fetches after that are as much
    /// later.
    pub(super) fn occupy(&mut self, cycles: u32) {
        self.write += i64::from(cycles);
        if let Some(redirect) = &mut self.redirect {
            redirect.at += i64::from(cycles);
        }
    }

    /// The next fetch is not in sequence.
    pub(super) fn leave_sequence(&mut self) {
        self.fresh = true;
        self.line_ahead = None;
    }

    fn set_redirect(&mut self, at: i64, cause: Cause, flush: Flush) {
        self.leave_sequence();
        // Of two redirects (an interrupt after a branch, for example) the later one applies.
        if self.redirect.is_none_or(|r| r.at < at) {
            self.redirect = Some(Redirect { at, cause, flush });
        }
    }

    fn advance(&mut self, shape: &Shape, costs: &Costs, own: Cause) -> Pass {
        let redirect = self.redirect.take();
        let mut pass = Pass::default();
        pass.charges[own as usize] = 1;
        if self.kind == Kind::FiveStage {
            self.advance_five(shape, costs, &mut pass, redirect);
        } else {
            self.advance_serial(shape, costs, &mut pass, redirect);
        }
        pass
    }

    fn advance_five(&mut self, shape: &Shape, costs: &Costs, pass: &mut Pass, redirect: Option<Redirect>) {
        let (decode1, execute1, memory1, write1) = (self.decode, self.execute, self.memory, self.write);
        let words = if costs.at_hand { 0 } else { 1 + costs.second };
        let mut fetch = self.queue.as_ref().map_or(decode1, |queue| queue.next(words));
        let mut fetched = fetch + 1;
        // What is ready before the last one has left EX is not waited for.
        let mut operands = memory1;
        let mut cycles = 1;
        let mut memory_cycles = 1;
        let mut waits = 0;
        let mut replays = 0;
        // What crosses two words waits for the second in ID, however far the fetch is ahead.
        let halves = if self.queue.is_some() { i64::from(costs.second) } else { 0 };
        let mut refetch = 0;
        let times = |fetch: i64,
                     fetched: i64,
                     operands: i64,
                     cycles: i64,
                     memory_cycles: i64,
                     waits: i64,
                     replays: i64,
                     refetch: i64| {
            let Some(rigid) = &self.rigid else {
                let decode = fetched.max(execute1 + halves) + refetch;
                let execute = (decode + 1).max(memory1).max(operands) + replays;
                let memory = (execute + cycles).max(write1);
                let write = (memory + memory_cycles + waits).max(write1 + 1);
                return [fetch, decode, execute, memory, write, write];
            };
            // What waits for memory does so in WB.
            let start = rigid.thaw(fetch);
            let decode = rigid.thaw(rigid.thaw((start + fetched - fetch).max(execute1)) + refetch);
            let execute = rigid.thaw((decode + 1).max(memory1).max(operands) + replays);
            let memory = rigid.thaw((execute + cycles).max(rigid.entered()));
            let entered = (memory + memory_cycles).max(write1 + 1);
            [start, decode, execute, memory, entered + waits, entered]
        };
        let mut now = write1 + 1;
        macro_rules! let_in {
            ($cause:expr) => {
                let write =
                    times(fetch, fetched, operands, cycles, memory_cycles, waits, replays, refetch)[4];
                pass.charges[$cause as usize] += (write - now) as u64;
                now = write;
            };
        }
        if self.queue.is_some() {
            // A queue of few words does not bring one in each cycle.
            let_in!(Cause::Structural);
        }
        let mut early = self.queue.as_ref().filter(|_| words > 0).and_then(Queue::before_replay);
        if let Some(r) = redirect
            && r.at > fetch
        {
            early = None;
            if let Some(queue) = &mut self.queue {
                queue.forget();
            }
            fetch = r.at;
            fetched = fetch + 1;
            let write = times(fetch, fetched, operands, cycles, memory_cycles, waits, replays, refetch)[4];
            pass.refill = Some((r.cause, (write - now) as u64));
            now = write;
        }
        if let Some(fill) = self.fill.filter(|_| words > 0) {
            let there = fill.delays(fetch, words, costs);
            if there > fetched {
                fetched = there;
                let_in!(Cause::IMiss);
            }
        }
        for (cost, cause) in [
            (costs.fetch_walk, Cause::TlbWalk),
            (costs.fetch_miss, Cause::IMiss),
            (costs.second, Cause::Structural),
        ] {
            if cost > 0 && cause == Cause::IMiss && self.late_miss {
                // Found in ID: no stall of an earlier instruction hides it.
                refetch += i64::from(cost);
                let_in!(cause);
            } else if cost > 0 && cause == Cause::IMiss && self.queue.is_some() {
                let found = costs.line_missed.or(early.map(|at| at + 1)).unwrap_or(fetched);
                fetched = self.finds_line(fetched, found, found + i64::from(cost));
                let_in!(cause);
            } else if cost > 0 {
                fetched += i64::from(cost);
                let_in!(cause);
            }
        }
        if shape.drain && self.rigid.is_none() {
            // The one before has left WB.
            operands = write1 + 1;
            let_in!(Cause::Csr);
        }
        for register in shape.needs {
            let (at, cause) = self.ready_at(register);
            if at > operands {
                operands = at;
                let_in!(cause);
            }
        }
        if shape.late != 0 {
            let (at, cause) = self.ready_at(shape.late);
            // Needed in MEM, a cycle later.
            if at - 1 > operands {
                operands = at - 1;
                let_in!(cause);
            }
        }
        if shape.drain && self.rigid.is_some() {
            // It waits in EX.
            let execute = times(fetch, fetched, operands, cycles, memory_cycles, waits, replays, refetch)[2];
            cycles = cycles.max(write1 + 2 - execute);
            let_in!(Cause::Csr);
        }
        if shape.flags && self.float_store + FLAGS_BEHIND_STORES > operands {
            operands = self.float_store + FLAGS_BEHIND_STORES;
            let_in!(Cause::LongOperation);
        }
        if shape.flags {
            for register in 32..64 {
                let (at, cause) = self.ready_at(register);
                if at > operands {
                    operands = at;
                    let_in!(cause);
                }
            }
        }
        if let (Ready::Unit, Some((at, _))) = (shape.result, self.unit)
            && at + 1 > operands
        {
            operands = at + 1;
            let_in!(Cause::LongOperation);
        }
        if self.fence > 0 {
            let accesses = shape.memory != [false; 2];
            if (shape.ordered[0] || accesses && self.fenced) && self.accessed + self.fence > operands {
                operands = self.accessed + self.fence;
                let_in!(Cause::Structural);
            }
            self.fenced = shape.ordered[1] || self.fenced && !accesses;
        }
        if let Some(replay) = self.replay {
            if shape.memory != [false; 2] {
                let execute =
                    times(fetch, fetched, operands, cycles, memory_cycles, waits, replays, refetch)[2];
                if execute <= self.soiled + TAG_UPDATE {
                    replays += replay;
                    let_in!(Cause::Structural);
                }
            }
            let refused = (costs.refused, Cause::Structural);
            for (cost, cause) in [(costs.data_walk, Cause::TlbWalk), (costs.data_miss, Cause::DMiss), refused]
            {
                if cost > 0 {
                    replays += i64::from(cost);
                    let_in!(cause);
                }
            }
            if shape.memory != [false; 2] || shape.floating.is_some() || costs.device {
                let execute =
                    times(fetch, fetched, operands, cycles, memory_cycles, waits, replays, refetch)[2];
                if costs.device
                    && let Some(posted) = self.posted
                {
                    let mut again = execute;
                    while again < self.device {
                        again += replay;
                    }
                    if again > execute {
                        replays += again - execute;
                        let_in!(Cause::DMiss);
                    }
                    self.device = again + i64::from(posted) - 1;
                }
                if let Some(floating) = shape.floating {
                    let execute =
                        times(fetch, fetched, operands, cycles, memory_cycles, waits, replays, refetch)[2];
                    let again = self.float.pass(floating, execute, replay, costs.execute);
                    if again > execute {
                        replays += again - execute;
                        let_in!(Cause::LongOperation);
                    }
                }
                let [reads, writes] = shape.memory;
                if reads && let Some(more) = self.waiting.load(execute, costs.overlap, costs.behind) {
                    replays += replay + more;
                    let_in!(Cause::LoadUse);
                }
                if replays > 0 && costs.crosses {
                    // Its first half is there, and the second comes a cycle later.
                    replays += 1;
                    let_in!(Cause::Structural);
                }
                if writes && !costs.device {
                    let execute =
                        times(fetch, fetched, operands, cycles, memory_cycles, waits, replays, refetch)[2];
                    self.waiting.store(execute, reads);
                    if costs.soils {
                        self.soiled = execute;
                    }
                }
            }
        }
        for (cost, cause) in shape.execution(costs) {
            if cost > 0 {
                cycles += i64::from(cost);
                let_in!(cause);
            }
        }
        let (mut walk, mut miss) = (costs.data_walk, costs.data_miss);
        if self.replay.is_some() {
            (walk, miss) = (0, 0);
        } else if self.rigid.is_some() && walk > 0 {
            // It goes through the pipe again when the translation is there.
            replays += i64::from(walk);
            let_in!(Cause::TlbWalk);
            walk = 0;
        }
        let again = self.rigid.is_some() && self.port.is_some();
        let missed = if again { std::mem::take(&mut miss) } else { 0 };
        let accesses = shape.memory != [false; 2];
        if shape.late(costs) > 0 {
            *(if accesses { &mut waits } else { &mut memory_cycles }) += i64::from(shape.late(costs));
            let_in!(shape.cause);
        }
        for (cost, cause) in
            [(walk, Cause::TlbWalk), (miss, Cause::DMiss), (shape.wait + costs.again, Cause::Structural)]
        {
            if cost > 0 {
                waits += i64::from(cost);
                let_in!(cause);
            }
        }
        if let Some(port) = &mut self.port {
            let [reads, writes] = shape.memory;
            if reads {
                let memory =
                    times(fetch, fetched, operands, cycles, memory_cycles, waits, replays, refetch)[3];
                let redo = port.redo(memory - 1, costs.overlap);
                if redo > 0 {
                    // What an atomic operation waited comes again, too.
                    if self.rigid.is_some() {
                        // From its first cycle in WB on; what it waits there holds ID up.
                        let [_, _, execute, _, _, entered] =
                            times(fetch, fetched, operands, cycles, memory_cycles, waits, replays, refetch);
                        let late = costs.stuck || shape.late_cycles > 0;
                        replays += entered - 2 + redo + i64::from(late) - execute;
                    } else {
                        waits += redo + i64::from(shape.late_cycles);
                    }
                    let_in!(Cause::LoadUse);
                }
            }
            if missed > 0 {
                // The load waits in WB until the port takes it, goes through the pipe again, and waits in EX for the line.
                let [_, _, execute, _, _, entered] =
                    times(fetch, fetched, operands, cycles, memory_cycles, waits, replays, refetch);
                let at = port.access(entered, true);
                let again = (at + REFILL).max(costs.held.map_or(at, |held| held + 2));
                let there = (at + 1).max(port.free()) + i64::from(missed) - 1;
                replays += again - execute;
                cycles = cycles.max(there - 1 - again);
                let_in!(Cause::DMiss);
            }
            if reads || writes {
                let at = port.access(now, writes);
                waits += at - now;
                let_in!(Cause::Structural);
            }
            if writes {
                port.store(now);
            }
            if shape.fence {
                port.fence();
            }
        }

        let all = times(fetch, fetched, operands, cycles, memory_cycles, waits, replays, refetch);
        pass.starts.copy_from_slice(&all[..5]);
        let entered = all[5];
        if let Some(queue) = &mut self.queue {
            queue.pass(words, fetched - 1, all[2], all[2] - replays);
            self.fill = self.fill.filter(|fill| fill.there >= fetched);
        }
        debug_assert_eq!(pass.starts[4], now);
        [_, self.decode, self.execute, self.memory, self.write] = pass.starts;
        if let Some(rigid) = &mut self.rigid {
            rigid.pass([self.decode, self.execute, self.memory, entered, self.write]);
        }
        if shape.memory != [false; 2] {
            self.accessed = self.execute;
        }
        if shape.float_store {
            self.float_store = self.execute;
        }
        if self.replay.is_some() {
            // What comes next is in EX a cycle later at least.
            self.waiting.settle(self.execute + 1);
        }
    }

    fn advance_serial(&mut self, shape: &Shape, costs: &Costs, pass: &mut Pass, redirect: Option<Redirect>) {
        let mut now = self.write + 1;
        // Fetching begins when the one before is in the other stage; a single-cycle core does not have that stage.
        let mut fetch = self.decode;
        if let Some(r) = redirect
            && r.at > now
        {
            pass.refill = Some((r.cause, (r.at - now) as u64));
            now = r.at;
            fetch = now - 1;
        }
        let mut begin = now;
        for (cost, cause) in [
            (costs.fetch_walk, Cause::TlbWalk),
            (costs.fetch_miss, Cause::IMiss),
            (costs.second, Cause::Structural),
        ] {
            now += i64::from(cost);
            pass.charges[cause as usize] += u64::from(cost);
        }
        if self.kind == Kind::TwoStage {
            begin = now;
        }
        for register in shape.needs.into_iter().chain([shape.late]) {
            let (at, cause) = self.ready_at(register);
            if at > now {
                pass.charges[cause as usize] += (at - now) as u64;
                now = at;
            }
        }
        let memory = [
            (shape.late(costs), shape.cause),
            (costs.data_walk, Cause::TlbWalk),
            (costs.data_miss, Cause::DMiss),
            (shape.wait + costs.again, Cause::Structural),
        ];
        for (cost, cause) in shape.execution(costs).into_iter().chain(memory) {
            now += i64::from(cost);
            pass.charges[cause as usize] += u64::from(cost);
        }
        pass.starts = [fetch, begin, begin, begin, begin];
        (self.decode, self.execute, self.memory, self.write) = (begin, now, now, now);
    }

    /// From when a register can be used in EX, and why not before.
    fn ready_at(&self, register: u8) -> (i64, Cause) {
        match register {
            0 => (i64::MIN / 2, Cause::Issue),
            // From the register file: behind the write-back.
            ECALL => (self.last_write + 1, Cause::LoadUse),
            r => self.ready[usize::from(r)],
        }
    }

    pub(super) fn write(&self) -> i64 {
        self.write
    }

    /// The last instruction left in this cycle, in a core that is modeled elsewhere.
    pub(super) fn set_write(&mut self, write: i64, redirect: Option<Redirect>) {
        self.write = write;
        self.redirect = redirect;
    }
}

pub(super) const REGISTERS: usize = 65;

/// Cycles from when the port takes a load that has missed to when the load is in EX again.
const REFILL: i64 = 5;

/// Cycles behind EX of a store that makes a clean line dirty in which no other access is.
pub(super) const TAG_UPDATE: i64 = 2;

/// Cycles from EX of a floating-point store to that of an access to the flags, which waits until it is behind WB.
pub(super) const FLAGS_BEHIND_STORES: i64 = 4;

/// Marks the operands that `ecall` reads.
const ECALL: u8 = 255;
