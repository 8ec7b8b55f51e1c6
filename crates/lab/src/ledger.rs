//! Where a program's cycles go on a core: by function and cause.

use tollgate_riscv::timing::{Cause, Causes, Core, CoreError};
use tollgate_riscv::{Access, Code, Observer, Retired, Trap, TrapReturn, Walk};

use crate::cycles::Clock;
use crate::profile::Profile;
use crate::rtl::proof;
use crate::stacks::{Path, Stacks};

/// The cycles of a program on a core, beside its profile.
pub struct ProgramLedger {
    pub(crate) profile: Profile,
    clock: Clock,
    by_function: Vec<Causes>,
    stacks: Stacks,
    /// The core.
    pub core: String,
    /// How well it is proven against its RTL, if it was compared.
    pub proof: Option<String>,
}

impl ProgramLedger {
    /// For a program on a core.
    ///
    /// # Errors
    /// An invalid core.
    pub(crate) fn new(profile: Profile, core: &Core, code: &Code) -> Result<Self, CoreError> {
        Ok(Self {
            clock: Clock::new(core, code)?,
            by_function: vec![[0; Cause::COUNT]; profile.len()],
            stacks: Stacks::new(profile.len()),
            profile,
            core: core.name.clone(),
            proof: proof(core),
        })
    }

    /// Cycles so far.
    #[must_use]
    pub fn cycles(&self) -> u64 {
        self.clock.model.cycles()
    }

    /// Functions: the name, the function's own cycles by cause, and its cycles with all that it called.
    pub fn functions(&self) -> impl Iterator<Item = (&str, &Causes, u64)> {
        let used = self.by_function.iter().enumerate().filter(|(_, causes)| causes.iter().any(|&n| n > 0));
        used.map(|(at, causes)| (self.profile.name(at), causes, self.stacks.total(at)))
    }

    /// The cycles of functions by who called them, callers first; and the cycles of calls beyond the limits, which the
    /// paths of their callers contain.
    #[must_use]
    pub fn paths(&self) -> (&[Path], u64) {
        self.stacks.paths()
    }

    fn charge(&mut self, function: usize) {
        let spent = self.clock.step();
        self.stacks.charge(spent.iter().sum());
        for (sum, cycles) in self.by_function[function].iter_mut().zip(spent) {
            *sum += cycles;
        }
    }
}

impl Observer for ProgramLedger {
    const RETIRE: bool = true;
    const MEMORY: bool = true;
    const TRAP: bool = true;
    const WALK: bool = true;

    fn walk(&mut self, walk: &Walk) {
        self.clock.model.walk(walk);
    }

    fn address_space(&mut self, satp: u64) {
        self.clock.model.address_space(satp);
    }

    fn access(&mut self, access: &Access) {
        self.clock.model.access(access);
    }

    fn retire(&mut self, retired: &Retired) {
        self.profile.retire(retired);
        self.clock.model.retire(retired);
        let function = self.profile.function(retired.pc);
        self.stacks.retire(retired, function);
        self.charge(function);
    }

    fn trap(&mut self, trap: &Trap) {
        self.profile.trap(trap);
        self.clock.model.trap(trap);
        let function = self.profile.function(trap.epc);
        self.stacks.trap(trap.epc, function);
        self.charge(function);
    }

    fn trap_return(&mut self, ret: &TrapReturn) {
        self.clock.model.trap_return(ret);
    }
}
