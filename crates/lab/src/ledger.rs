//! Where a program's cycles go on a core: by function and cause.

use tollgate_riscv::timing::{Cause, Causes, Core, CoreError};
use tollgate_riscv::{Access, Observer, Retired, Trap, TrapReturn, Walk};

use crate::cycles::Clock;
use crate::profile::Profile;
use crate::rtl::proof;

/// The cycles of a program on a core, beside its profile.
pub struct ProgramLedger {
    pub(crate) profile: Profile,
    clock: Clock,
    by_function: Vec<Causes>,
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
    pub(crate) fn new(profile: Profile, core: &Core) -> Result<Self, CoreError> {
        let by_function = vec![[0; Cause::COUNT]; profile.len()];
        Ok(Self {
            clock: Clock::new(core)?,
            by_function,
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

    /// Functions with their cycles by cause.
    pub fn functions(&self) -> impl Iterator<Item = (&str, &Causes)> {
        let used = self.by_function.iter().enumerate().filter(|(_, causes)| causes.iter().any(|&n| n > 0));
        used.map(|(function, causes)| (self.profile.name(function), causes))
    }

    fn charge(&mut self, pc: u64) {
        let spent = self.clock.step();
        let function = self.profile.function(pc);
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
        self.charge(retired.pc);
    }

    fn trap(&mut self, trap: &Trap) {
        self.profile.trap(trap);
        self.clock.model.trap(trap);
        self.charge(trap.epc);
    }

    fn trap_return(&mut self, ret: &TrapReturn) {
        self.clock.model.trap_return(ret);
    }
}
