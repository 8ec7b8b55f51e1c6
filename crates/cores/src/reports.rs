//! What translated code has to see of the fast path, and reports to it.

use super::fast::Fast;
use tollgate_riscv::Privilege;
use tollgate_riscv::tier::{Counter, Passed, Quiet, Reported, Sight};

impl<const PIPE: bool> Counter for Fast<PIPE> {
    fn sight(&self) -> Sight {
        self.model.memory.sight().unwrap_or_default()
    }

    fn quiet_fetches(&mut self, privilege: Privilege) -> Quiet<'_> {
        self.model.memory.quiet_fetches(privilege)
    }

    fn quiet_data(&mut self, _: Privilege) -> Quiet<'_> {
        self.model.memory.quiet_data()
    }

    fn report_noted(&mut self, noted: &[u64]) {
        self.model.memory.report_noted(noted);
    }

    fn report(&mut self, access: &Reported) {
        self.model.memory.report(access);
    }

    fn count(&mut self, passed: &Passed) {
        self.model.instructions += passed.instructions;
        self.model.memory.count_hits(passed.loads, passed.stores);
    }
}
