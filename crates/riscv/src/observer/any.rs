//! An observer of any type, for code that exists once: what executes one instruction at a time would otherwise be compiled for
//! each type of observer, which is most of what compiling this crate's users would take.

use super::{Access, Observer, Retired, Walk};
use crate::exception::{Trap, TrapReturn};
use crate::hpm::EventCounts;

/// The methods of [`Observer`] that concern single instructions.
trait Single {
    fn run_ahead(&mut self, retired: u64) -> i64;
    fn happened(&mut self) -> EventCounts;
    fn retire(&mut self, retired: &Retired);
    fn walk(&mut self, walk: &Walk);
    fn address_space(&mut self, satp: u64);
    fn access(&mut self, access: &Access);
    fn csr(&mut self, number: u16, value: u64);
    fn trap(&mut self, trap: &Trap);
    fn trap_return(&mut self, ret: &TrapReturn);
}

impl<O: Observer> Single for O {
    fn run_ahead(&mut self, retired: u64) -> i64 {
        self.run_ahead(retired)
    }
    fn happened(&mut self) -> EventCounts {
        self.happened()
    }
    fn retire(&mut self, retired: &Retired) {
        self.retire(retired);
    }
    fn walk(&mut self, walk: &Walk) {
        self.walk(walk);
    }
    fn address_space(&mut self, satp: u64) {
        self.address_space(satp);
    }
    fn access(&mut self, access: &Access) {
        self.access(access);
    }
    fn csr(&mut self, number: u16, value: u64) {
        self.csr(number, value);
    }
    fn trap(&mut self, trap: &Trap) {
        self.trap(trap);
    }
    fn trap_return(&mut self, ret: &TrapReturn) {
        self.trap_return(ret);
    }
}

/// An observer of any type, and what it receives.
pub(crate) struct AnyObserver<'a> {
    /// [`Observer::RETIRE`] or [`Observer::BLOCKS`]: retired instructions that are in no block.
    pub(crate) retire: bool,
    /// [`Observer::WALK`].
    pub(crate) walk: bool,
    memory: bool,
    trap: bool,
    csr: bool,
    told: &'a mut dyn Single,
}

impl<'a> AnyObserver<'a> {
    pub(crate) fn new<O: Observer>(told: &'a mut O) -> Self {
        Self {
            retire: O::RETIRE || O::BLOCKS,
            walk: O::WALK,
            memory: O::MEMORY,
            trap: O::TRAP,
            csr: O::CSR,
            told,
        }
    }

    pub(crate) fn run_ahead(&mut self, retired: u64) -> i64 {
        self.told.run_ahead(retired)
    }

    pub(crate) fn happened(&mut self) -> EventCounts {
        self.told.happened()
    }

    /// The instruction is only described if somebody wants it.
    pub(crate) fn retire(&mut self, retired: impl FnOnce() -> Retired) {
        if self.retire {
            self.told.retire(&retired());
        }
    }

    pub(crate) fn walk(&mut self, walk: impl FnOnce() -> Option<Walk>) {
        if self.walk
            && let Some(walk) = walk()
        {
            self.told.walk(&walk);
        }
    }

    pub(crate) fn address_space(&mut self, satp: u64) {
        if self.walk {
            self.told.address_space(satp);
        }
    }

    pub(crate) fn access(&mut self, access: impl FnOnce() -> Access) {
        if self.memory {
            self.told.access(&access());
        }
    }

    /// `value` reads the register.
    pub(crate) fn csr(&mut self, number: u16, value: impl FnOnce() -> u64) {
        if self.csr {
            self.told.csr(number, value());
        }
    }

    pub(crate) fn trap(&mut self, trap: impl FnOnce() -> Trap) {
        if self.trap {
            self.told.trap(&trap());
        }
    }

    pub(crate) fn trap_return(&mut self, ret: impl FnOnce() -> TrapReturn) {
        if self.trap {
            self.told.trap_return(&ret());
        }
    }
}
