//! The programs whose cycles are compared.

use super::error::RtlError;
use super::program::{Part, Program};
use super::subject::Subject;
use super::{interrupts, kernels, random, traps, whole};

impl Subject {
    /// The programs that it can run, by name and latency.
    ///
    /// # Errors
    /// A damaged image.
    pub fn programs(&self, part: Part) -> Result<Vec<Program>, RtlError> {
        if self.without.contains(&part.name()) {
            return Ok(Vec::new());
        }
        let mut programs = match part {
            Part::Kernels => kernels::programs(self)?,
            Part::Traps => traps::programs(self)?,
            Part::Programs => whole::programs(self)?,
            Part::Random => random::programs(self),
            Part::Interrupts => interrupts::programs(self)?,
        };
        programs.sort_by(|a, b| (&a.name, a.latency).cmp(&(&b.name, b.latency)));
        Ok(programs)
    }
}
