//! The core-local interruptor: `msip` and `mtimecmp` of each hart, and `mtime`.
//!
//! RISC-V ACLINT specification, version 1.0-rc4: sections 2 (MTIMER) and 3 (MSWI), at the offsets that
//! section 1.1 gives for compatibility with SiFive's CLINT.

use serde::{Deserialize, Serialize};

use crate::map::MOST_HARTS;

/// Its registers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Clint {
    pub(crate) msip: [bool; MOST_HARTS],
    pub(crate) mtimecmp: [u64; MOST_HARTS],
    /// The offset of `mtime` from the clock, which software may set.
    pub(crate) time_offset: u64,
}

const MTIMECMP: u64 = 0x4000;
const MTIME: u64 = 0xbff8;

impl Clint {
    pub(crate) fn new() -> Self {
        // Far away, so that no timer interrupt is pending before software asks for one.
        Clint { msip: [false; MOST_HARTS], mtimecmp: [u64::MAX; MOST_HARTS], time_offset: 0 }
    }

    pub(crate) fn read(&self, offset: u64, size: u64, time: u64) -> Option<u64> {
        let part = |v: u64| {
            let v = v >> (8 * (offset & 7));
            if size == 8 { v } else { v & ((1 << (8 * size)) - 1) }
        };
        Some(match offset & !7 {
            MTIME => part(time),
            at if at < MTIMECMP => match self.msip.get((offset / 4) as usize) {
                Some(&raised) if offset & 3 == 0 => u64::from(raised),
                _ => 0,
            },
            at => self.mtimecmp.get(((at - MTIMECMP) / 8) as usize).map_or(0, |&v| part(v)),
        })
    }

    pub(crate) fn write(&mut self, offset: u64, size: u64, value: u64, time: u64) -> Option<()> {
        // A narrower write keeps the rest of the register.
        let merge = |old: u64| {
            let shift = 8 * (offset & 7);
            let mask = if size == 8 { u64::MAX } else { ((1 << (8 * size)) - 1) << shift };
            old & !mask | value << shift & mask
        };
        match offset & !7 {
            MTIME => self.time_offset = self.time_offset.wrapping_add(merge(time).wrapping_sub(time)),
            at if at < MTIMECMP => {
                if let Some(raised) = self.msip.get_mut((offset / 4) as usize)
                    && offset & 3 == 0
                {
                    *raised = value & 1 != 0;
                }
            }
            at => {
                if let Some(compare) = self.mtimecmp.get_mut(((at - MTIMECMP) / 8) as usize) {
                    *compare = merge(*compare);
                }
            }
        }
        Some(())
    }
}
