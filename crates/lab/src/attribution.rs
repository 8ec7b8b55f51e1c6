//! Charges a machine's instructions to the phases of a crossing, from outside: the guest does not notice.

use tollgate_riscv::{Access, AccessKind, Elf, Observer, Privilege, Retired, Trap};

use crate::bill::{Cost, Phases, Spread};
use crate::call::Crossing;
use crate::phase::Phase;
use crate::symbols::Marks;

/// Which phase each address belongs to, by the marks in a program's symbols. Of two marks at one address, the later
/// symbol holds, which is the phase that has code.
pub(crate) fn phases(elf: &Elf) -> Marks<Phase> {
    let marks = elf.symbols.iter().filter_map(|it| Some((it.address, Phase::of_symbol(&it.name)?)));
    Marks::new(Phase::Other, marks)
}

/// Where a crossing begins and ends.
#[derive(Clone, Debug)]
enum Window {
    /// Between the retirement of one of the first addresses and of one of the second.
    Between { begin: Vec<u64>, end: Vec<u64> },
    /// From an interrupt in user mode to the next instruction there.
    Interrupt,
}

/// Watches a guest and writes one bill for each crossing.
pub(crate) struct Attribution {
    map: Marks<Phase>,
    window: Window,
    /// The open crossing.
    open: Option<Phases>,
    /// Accesses of the instruction that has not retired yet, and of the trap hardware.
    data: Cost,
    stacking: Cost,
    /// The finished crossings: the first one, and those of the loop together.
    finished: Option<(Spread, [Phases; 2])>,
    /// How many crossings the loop should have; more are not counted.
    wanted: u64,
    /// How often a crossing began; one that begins within another replaces it.
    begun: u64,
}

impl Attribution {
    pub(crate) fn new(elf: &Elf, crossing: Crossing, wanted: u64) -> Self {
        let marks = |prefix: &str| {
            elf.symbols.iter().filter(|s| s.name.starts_with(prefix)).map(|s| s.address).collect::<Vec<_>>()
        };
        let window = match crossing {
            Crossing::Timer => Window::Interrupt,
            _ => Window::Between { begin: marks("toll.begin."), end: marks("toll.end.") },
        };
        Self {
            map: phases(elf),
            window,
            open: None,
            data: Cost::default(),
            stacking: Cost::default(),
            finished: None,
            wanted,
            begun: 0,
        }
    }

    /// The crossings, if as many were seen as were wanted; otherwise how many were.
    pub(crate) fn finish(self) -> Result<(Spread, [Phases; 2]), u64> {
        match self.finished {
            Some((spread, phases)) if spread.count == self.wanted => Ok((spread, phases)),
            seen => Err(seen.map_or(0, |(spread, _)| spread.count + 1)),
        }
    }

    /// Whether a crossing is open.
    pub(crate) fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// How many crossings have begun, finished or not.
    pub(crate) fn begun(&self) -> u64 {
        self.begun
    }

    /// How many crossings are finished, the single one among them.
    pub(crate) fn closed(&self) -> u64 {
        self.finished.as_ref().map_or(0, |(spread, _)| spread.count + 1)
    }

    /// The phase of the instruction at `pc`.
    pub(crate) fn phase(&mut self, pc: u64) -> Phase {
        self.map.at(pc)
    }

    fn close(&mut self) {
        let Some(phases) = self.open.take() else { return };
        let total = phases.total().instructions;
        match &mut self.finished {
            None => self.finished = Some((Spread::new(total), [phases, Phases::default()])),
            Some((spread, [_, all])) if spread.count < self.wanted => {
                spread.record(total);
                all.add(&phases);
            }
            Some(_) => {}
        }
    }
}

impl Observer for Attribution {
    const RETIRE: bool = true;
    const MEMORY: bool = true;
    const TRAP: bool = true;

    fn access(&mut self, access: &Access) {
        let cost = if access.kind == AccessKind::Stacking { &mut self.stacking } else { &mut self.data };
        if access.store {
            cost.stores += 1;
            cost.bytes_stored += u64::from(access.size);
        } else {
            cost.loads += 1;
        }
    }

    fn retire(&mut self, retired: &Retired) {
        let data = std::mem::take(&mut self.data);
        let stacking = std::mem::take(&mut self.stacking);
        let ends = match &self.window {
            Window::Between { end, .. } => end.contains(&retired.pc),
            Window::Interrupt => retired.privilege == Privilege::User,
        };
        if ends {
            // The second counter read, or the first instruction afterwards, does not belong to the crossing.
            self.close();
        }
        if let Some(phases) = &mut self.open {
            let phase = self.map.at(retired.pc);
            phases[phase] += Cost { instructions: 1, ..data };
            // The hardware's stacking on a return belongs to the hardware, not to the returning instruction.
            phases[Phase::HardwareTrap] += stacking;
        }
        if let Window::Between { begin, .. } = &self.window
            && begin.contains(&retired.pc)
        {
            self.open = Some(Phases::default());
            self.begun += 1;
        }
    }

    fn trap(&mut self, trap: &Trap) {
        // An instruction that traps does not retire, and its unfinished work is not charged.
        self.data = Cost::default();
        let stacking = std::mem::take(&mut self.stacking);
        if matches!(self.window, Window::Interrupt)
            && self.open.is_none()
            && trap.cause.is_interrupt()
            && trap.from == Privilege::User
        {
            self.open = Some(Phases::default());
            self.begun += 1;
        }
        if let Some(phases) = &mut self.open {
            phases[Phase::HardwareTrap] += Cost { traps: 1, ..stacking };
        }
    }
}
