//! QEMU's full-system emulator, with its instruction counter as the clock.

use super::external::Program;
use crate::bill::{Engine, Experiment, TrapBill};
use crate::error::LabError;

/// QEMU, when it is on PATH.
pub struct Qemu;

static PROGRAM: Program = Program {
    engine: "qemu",
    executable: "qemu-system-riscv64",
    // Without -icount its counters are the host's time.
    arguments: &[
        "-M", "virt", "-bios", "none", "-display", "none", "-monitor", "none", "-serial", "stdio", "-icount",
        "shift=0", "-kernel",
    ],
    install: "apt-get install qemu-system-misc",
    late_interrupts: None,
};

impl Engine for Qemu {
    fn name(&self) -> &'static str {
        PROGRAM.engine
    }

    fn measure(&self, experiment: &Experiment) -> Result<TrapBill, LabError> {
        PROGRAM.measure(experiment)
    }
}
