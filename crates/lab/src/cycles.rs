//! The bill in cycles: by phase and by cause, with caches warm and cold, and what the program pays afterwards.
//!
//! The cost of a trap after its return is measured with a twin: a copy of the core from just before the trap that continues
//! as if this trap had not occurred. Both receive the program's instructions from the return on; the trap alone causes the
//! extra cycles of an instruction on the real one. The two run until the next trap, and the last
//! instruction that took longer shows when the program was back at its steady pace.

use std::collections::BTreeMap;

use tollgate_cores::{Cause, Causes, Core, CoreError, Ledger, Timed};
use tollgate_riscv::{Access, Code, Observer, Privilege, Retired, Trap, TrapReturn, Walk};

use crate::attribution::Attribution;
use crate::phase::Phase;

/// The timing model without a diagram.
pub(crate) type Model = Timed<(), ()>;

/// The model of a core, and its cycles when they were last read.
#[derive(Clone)]
pub(crate) struct Clock {
    pub(crate) model: Model,
    at: Causes,
}

impl Clock {
    /// A core that is as after power-on, beside code that was loaded.
    pub(crate) fn new(core: &Core, code: &Code) -> Result<Self, CoreError> {
        let model = Timed::new(core, (), ())?.with_code(code);
        Ok(Self { at: causes(&model), model })
    }

    /// The cycles since the last time, by cause.
    pub(crate) fn step(&mut self) -> Causes {
        let now = causes(&self.model);
        let spent = since(&now, &self.at);
        self.at = now;
        spent
    }

    /// How often the core had to fetch: lines and translations.
    pub(crate) fn fetched(&self) -> [u64; 5] {
        let counts = self.model.counts().memory;
        [counts.l1i_misses, counts.l1d_misses, counts.l2_misses, counts.itlb_misses, counts.dtlb_misses]
    }
}

/// Crossings of the loop that are run before the caches count as warm.
const WARMING: u64 = 8;
/// Crossings that are followed beyond their return: each needs a copy of the core.
const FOLLOWED: u64 = 32;

/// The extra cycles of the program after its returns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct After {
    /// How many returns were followed.
    pub returns: u64,
    /// Cycles more than without the trap, of all together, by cause; signed, because a trap can also help.
    pub more: [i64; Cause::COUNT],
    /// Instructions from the return to the last one that took longer or shorter, the most of all returns.
    pub recovery: u64,
    /// Instructions that were followed in all.
    pub instructions: u64,
    /// Cycles that they take without a trap.
    pub steady: u64,
    /// Lines and translations that the trap evicted and the program fetched again.
    pub lost: Lost,
}

/// Misses of the program that its twin does not have. Signed, because the kernel may also fetch lines that the program
/// uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lost {
    /// Lines of the first-level instruction cache.
    pub l1i: i64,
    /// Lines of the first-level data cache, page table entries among them.
    pub l1d: i64,
    /// Lines of the second level.
    pub l2: i64,
    /// Translations of instruction addresses.
    pub itlb: i64,
    /// Translations of data addresses.
    pub dtlb: i64,
}

impl Lost {
    /// Adds what the real core fetched beyond the twin, from their counts before and now.
    pub(crate) fn add(&mut self, before: [[u64; 5]; 2], now: [[u64; 5]; 2]) {
        let own = [&mut self.l1i, &mut self.l1d, &mut self.l2, &mut self.itlb, &mut self.dtlb];
        for (i, sum) in own.into_iter().enumerate() {
            let [real, twin] = [0, 1].map(|core| (now[core][i] - before[core][i]) as i64);
            *sum += real - twin;
        }
    }

    /// With the names that a record uses.
    pub fn named(&self) -> [(&'static str, i64); 5] {
        [
            ("l1i-lines", self.l1i),
            ("l1d-lines", self.l1d),
            ("l2-lines", self.l2),
            ("itlb-entries", self.itlb),
            ("dtlb-entries", self.dtlb),
        ]
    }
}

impl After {
    /// Cycles more in all.
    pub fn total(&self) -> i64 {
        self.more.iter().sum()
    }
}

/// The cost of crossings in cycles.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cycles {
    /// The first crossing, on a core on which nothing is cached, translated or predicted, by [`Phase`].
    pub cold: Ledger,
    /// The crossings of the loop behind the warming ones, together.
    pub warm: Ledger,
    /// How many those are.
    pub crossings: u64,
    /// Cycles of each of them: how often each number occurred.
    pub each: BTreeMap<u64, u64>,
    /// The extra cycles of the program afterwards; `None` if another program continues.
    pub after: Option<After>,
}

/// The cycles so far by cause.
fn causes(model: &Model) -> Causes {
    let mut causes = [0; Cause::COUNT];
    for row in model.ledger().rows() {
        for (sum, cycles) in causes.iter_mut().zip(row) {
            *sum += cycles;
        }
    }
    causes
}

fn since(now: &Causes, before: &Causes) -> Causes {
    std::array::from_fn(|i| now[i] - before[i])
}

/// The last event that emptied the pipe: the refill is charged to it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Emptied {
    Nothing,
    Trap,
    Return,
}

/// A copy of the core as if this trap had not occurred.
struct Twin {
    clock: Clock,
    /// Whether the program continues.
    resumed: bool,
    instructions: u64,
    steady: u64,
    recovery: u64,
    more: [i64; Cause::COUNT],
    /// The fetches of both when the program continued.
    fetched: [[u64; 5]; 2],
}

/// Watches a guest, charges its instructions and the cycles that they take.
pub(crate) struct CycleAttribution {
    pub(crate) bill: Attribution,
    clock: Clock,
    emptied: Emptied,
    open: Ledger,
    cycles: Cycles,
    warming: u64,
    twin: Option<Twin>,
    /// Whether the same program continues after a crossing.
    follows: bool,
}

impl CycleAttribution {
    pub(crate) fn new(
        bill: Attribution,
        core: &Core,
        code: &Code,
        iterations: u64,
        follows: bool,
    ) -> Result<Self, CoreError> {
        Ok(Self {
            bill,
            clock: Clock::new(core, code)?,
            emptied: Emptied::Nothing,
            open: Ledger::default(),
            cycles: Cycles { after: follows.then(After::default), ..Cycles::default() },
            warming: WARMING.min(iterations.saturating_sub(1)),
            twin: None,
            follows,
        })
    }

    /// The instructions' side, and the cycles.
    pub(crate) fn finish(mut self) -> (Attribution, Cycles) {
        self.settle();
        (self.bill, self.cycles)
    }

    fn charge(&mut self, phase: Phase, spent: &Causes) {
        for &cause in Cause::ALL {
            let cycles = spent[cause as usize];
            // Refilling the pipe is what the trap and the return do, wherever the refilled instruction belongs.
            let to = match (cause, self.emptied) {
                (Cause::TrapFlush, Emptied::Trap) => Phase::HardwareTrap,
                (Cause::TrapFlush, Emptied::Return) => Phase::Return,
                _ => phase,
            };
            self.open.charge(to as u8, cause, cycles);
        }
    }

    /// A crossing has ended.
    fn close(&mut self) {
        let table = std::mem::take(&mut self.open);
        match self.bill.closed() {
            0 => {}
            1 => self.cycles.cold = table,
            n if n <= 1 + self.warming => {}
            _ => {
                self.cycles.crossings += 1;
                *self.cycles.each.entry(table.total()).or_default() += 1;
                self.cycles.warm.add(&table);
            }
        }
    }

    /// Ends the comparison with the twin.
    fn settle(&mut self) {
        let (Some(twin), Some(after)) = (self.twin.take(), &mut self.cycles.after) else { return };
        if twin.instructions == 0 {
            return;
        }
        after.returns += 1;
        after.instructions += twin.instructions;
        after.recovery = after.recovery.max(twin.recovery);
        for (sum, more) in after.more.iter_mut().zip(twin.more) {
            *sum += more;
        }
        after.steady += twin.steady;
        after.lost.add(twin.fetched, [self.clock.fetched(), twin.clock.fetched()]);
    }

    /// Compares one of the program's instructions with the twin's.
    fn compare(&mut self, retired: &Retired, spent: &Causes) {
        let Some(twin) = self.twin.as_mut().filter(|twin| twin.resumed) else { return };
        if retired.privilege != Privilege::User {
            // The returning instruction is the kernel's.
            twin.fetched = [self.clock.fetched(), twin.clock.fetched()];
            return;
        }
        twin.clock.model.retire(retired);
        let steady = twin.clock.step();
        twin.instructions += 1;
        twin.steady += steady.iter().sum::<u64>();
        let mut differs = false;
        for &cause in Cause::ALL {
            let i = cause as usize;
            // The return itself is in the bill.
            let more = if cause == Cause::TrapFlush { 0 } else { spent[i] as i64 - steady[i] as i64 };
            twin.more[i] += more;
            differs |= more != 0;
        }
        if differs {
            twin.recovery = twin.instructions;
        }
    }
}

impl Observer for CycleAttribution {
    const RETIRE: bool = true;
    const MEMORY: bool = true;
    const TRAP: bool = true;
    const WALK: bool = true;

    fn walk(&mut self, walk: &Walk) {
        self.clock.model.walk(walk);
        if let Some(twin) = &mut self.twin {
            twin.clock.model.walk(walk);
        }
    }

    fn address_space(&mut self, satp: u64) {
        self.clock.model.address_space(satp);
    }

    fn access(&mut self, access: &Access) {
        self.bill.access(access);
        self.clock.model.access(access);
        // Between the trap and the return the twin sees nothing.
        if let Some(twin) = self.twin.as_mut().filter(|twin| twin.resumed) {
            twin.clock.model.access(access);
        }
    }

    fn retire(&mut self, retired: &Retired) {
        let (was_open, closed, begun) = (self.bill.is_open(), self.bill.closed(), self.bill.begun());
        self.bill.retire(retired);
        let ended = was_open && (!self.bill.is_open() || self.bill.closed() != closed);
        let begins = self.bill.begun() != begun;
        let before = *self.clock.model.stacking();
        self.clock.model.retire(retired);
        let mut spent = self.clock.step();
        // The hardware's stacking on a return belongs to the hardware, not to the returning instruction.
        let stacking = since(self.clock.model.stacking(), &before);
        spent = since(&spent, &stacking);
        if self.bill.is_open() {
            self.charge(Phase::HardwareTrap, &stacking);
        }
        self.compare(retired, &spent);
        if ended {
            // The instruction that ends it belongs to the program, but not the refilling behind the return.
            let mut refill = [0; Cause::COUNT];
            if self.emptied != Emptied::Nothing {
                refill[Cause::TrapFlush as usize] = spent[Cause::TrapFlush as usize];
            }
            self.charge(Phase::Return, &refill);
            if self.bill.closed() != closed {
                self.close();
            }
            self.open = Ledger::default();
        } else if was_open {
            let phase = self.bill.phase(retired.pc);
            self.charge(phase, &spent);
        }
        if retired.privilege == Privilege::User || self.emptied == Emptied::Trap {
            self.emptied = Emptied::Nothing;
        }
        if begins {
            self.open = Ledger::default();
            if self.bill.closed() == 0 {
                // The first crossing is the cold one.
                self.clock.model.make_cold();
            }
        }
    }

    fn trap(&mut self, trap: &Trap) {
        let warm = self.bill.closed() > self.warming;
        let followed = self.cycles.after.as_ref().is_some_and(|after| after.returns < FOLLOWED);
        if trap.from == Privilege::User {
            self.settle();
            if warm && followed && self.follows {
                self.twin = Some(Twin {
                    clock: Clock { model: self.clock.model.untrapped(), at: self.clock.at },
                    resumed: false,
                    instructions: 0,
                    steady: 0,
                    recovery: 0,
                    more: [0; Cause::COUNT],
                    fetched: [[0; 5]; 2],
                });
            }
        }
        self.bill.trap(trap);
        self.clock.model.trap(trap);
        self.emptied = Emptied::Trap;
        let spent = self.clock.step();
        if self.bill.is_open() {
            self.charge(Phase::HardwareTrap, &spent);
        }
    }

    fn trap_return(&mut self, ret: &TrapReturn) {
        self.clock.model.trap_return(ret);
        if ret.to == Privilege::User
            && let Some(twin) = &mut self.twin
        {
            twin.resumed = true;
        }
        self.emptied = Emptied::Return;
    }
}
