//! Spike, the reference simulator.

use super::external::Program;
use crate::bill::{Engine, Experiment, TrapBill};
use crate::error::LabError;

/// Spike, when it is on PATH.
pub struct Spike;

static PROGRAM: Program = Program {
    engine: "spike",
    executable: "spike",
    // The counters are an extension of their own there.
    arguments: &["--isa=rv64gc_zicntr"],
    install: "build riscv-isa-sim from source (no distribution packages it) and put spike on PATH",
    late_interrupts: Some("it looks for interrupts once in 5,000 instructions"),
};

impl Engine for Spike {
    fn name(&self) -> &'static str {
        PROGRAM.engine
    }

    fn measure(&self, experiment: &Experiment) -> Result<TrapBill, LabError> {
        PROGRAM.measure(experiment)
    }
}
