//! SiFive's test finisher, which is also the `syscon` of power-off and reboot.
//!
//! The values are those of QEMU's `sifive_test` (include/hw/misc/sifive_test.h); the device tree bindings are
//! Linux's `power/reset/syscon-poweroff` and `syscon-reboot`.

use serde::{Deserialize, Serialize};

/// The request of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Finish {
    /// The end, with this code.
    Exit(i32),
    /// A reset.
    Reboot,
}

pub(crate) const POWER_OFF: u32 = 0x5555;
pub(crate) const REBOOT: u32 = 0x7777;
const FAIL: u32 = 0x3333;

/// A write ends the run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Finisher {
    pub(crate) finish: Option<Finish>,
}

impl Finisher {
    pub(crate) fn write(&mut self, offset: u64, value: u32) {
        if offset != 0 {
            return;
        }
        match value & 0xffff {
            POWER_OFF => self.finish = Some(Finish::Exit(0)),
            FAIL => self.finish = Some(Finish::Exit((value >> 16) as i32)),
            REBOOT => self.finish = Some(Finish::Reboot),
            _ => {}
        }
    }
}
