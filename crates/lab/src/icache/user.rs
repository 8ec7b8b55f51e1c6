//! A program on the proxy kernel, seen without the kernel.

use tollgate_riscv::{Access, Observer, Privilege, Retired, Trap, TrapReturn};

/// Passes on what happens in user mode.
pub(super) struct UserMode<'a, O> {
    observer: &'a mut O,
    is_user: bool,
}

impl<'a, O> UserMode<'a, O> {
    /// For a machine that has not run yet, or whose kernel is running.
    pub(super) fn new(observer: &'a mut O) -> Self {
        Self { observer, is_user: false }
    }
}

impl<O: Observer> Observer for UserMode<'_, O> {
    const RETIRE: bool = true;
    const MEMORY: bool = O::MEMORY;
    const TRAP: bool = true;

    fn operands(&self) -> bool {
        self.observer.operands()
    }

    fn retire(&mut self, retired: &Retired) {
        if retired.privilege == Privilege::User {
            self.observer.retire(retired);
        }
    }

    fn access(&mut self, access: &Access) {
        if self.is_user {
            self.observer.access(access);
        }
    }

    fn trap(&mut self, _: &Trap) {
        self.is_user = false;
    }

    fn trap_return(&mut self, ret: &TrapReturn) {
        self.is_user = ret.to == Privilege::User;
    }
}
