//! The platform-level interrupt controller.
//!
//! RISC-V PLIC specification 1.0.0: chapters 3 (memory map) to 9 (completion). Two contexts a hart: machine, then
//! supervisor mode, as on QEMU's `virt`.

use serde::{Deserialize, Serialize};

use crate::arrays::long_array;
use crate::map::MOST_HARTS;

/// Sources 1 to 63; 0 does not exist. A word holds a bit for each.
pub(crate) const SOURCES: u32 = 63;
const CONTEXTS: usize = 2 * MOST_HARTS;
const MOST_PRIORITY: u32 = 7;

/// Its registers.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Plic {
    #[serde(with = "long_array")]
    priority: [u32; SOURCES as usize + 1],
    /// The lines from the devices.
    level: u64,
    pending: u64,
    /// Claimed and not completed: what is pending meanwhile waits.
    claimed: u64,
    enable: [u64; CONTEXTS],
    threshold: [u32; CONTEXTS],
}

const PENDING: u64 = 0x1000;
const ENABLE: u64 = 0x2000;
const ENABLE_STRIDE: u64 = 0x80;
const CONTEXT: u64 = 0x20_0000;
const CONTEXT_STRIDE: u64 = 0x1000;

/// A register.
enum Register {
    Priority(usize),
    Pending(u32),
    Enable(usize, u32),
    Threshold(usize),
    Claim(usize),
}

fn register(offset: u64) -> Option<Register> {
    // The position of a 32-bit word in a word of 64 sources.
    let half = |at: u64| if at < 8 { Some(8 * at as u32) } else { None };
    let context = |n: u64| Some(n as usize).filter(|&n| n < CONTEXTS);
    Some(match offset {
        0..PENDING => Register::Priority(Some(offset as usize / 4).filter(|&n| n <= SOURCES as usize)?),
        PENDING..ENABLE => Register::Pending(half(offset - PENDING)?),
        ENABLE..CONTEXT => {
            let at = offset - ENABLE;
            Register::Enable(context(at / ENABLE_STRIDE)?, half(at % ENABLE_STRIDE)?)
        }
        _ => {
            let at = offset - CONTEXT;
            let n = context(at / CONTEXT_STRIDE)?;
            match at % CONTEXT_STRIDE {
                0 => Register::Threshold(n),
                4 => Register::Claim(n),
                _ => return None,
            }
        }
    })
}

impl Plic {
    pub(crate) fn new() -> Self {
        Plic {
            priority: [0; SOURCES as usize + 1],
            level: 0,
            pending: 0,
            claimed: 0,
            enable: [0; CONTEXTS],
            threshold: [0; CONTEXTS],
        }
    }

    /// Sets the lines from the devices, a bit for each source. A line that is raised, or was raised `anew` while it was high, is
    /// pending; completion of a line that has stayed high is not. So does QEMU's `virt`, and drivers that never acknowledge
    /// their device (xv6's serial port) need it. (Specification, chapter 4: how a gateway makes requests is the platform's.)
    pub(crate) fn set_level(&mut self, level: u64, anew: u64) {
        self.pending |= level & (!self.level | anew);
        self.level = level;
    }

    /// Whether the context's interrupt line is high.
    pub(crate) fn raised(&self, context: usize) -> bool {
        let threshold = self.threshold.get(context).copied().unwrap_or(MOST_PRIORITY);
        self.best(context).is_some_and(|source| self.priority[source] > threshold)
    }

    /// The pending and enabled source of the highest priority; of equals the one with the lowest number.
    fn best(&self, context: usize) -> Option<usize> {
        let candidates = self.pending & !self.claimed & self.enable.get(context)?;
        if candidates == 0 {
            return None;
        }
        (1..=SOURCES as usize)
            .filter(|&source| candidates >> source & 1 != 0 && self.priority[source] != 0)
            .max_by_key(|&source| (self.priority[source], std::cmp::Reverse(source)))
    }

    pub(crate) fn read(&mut self, offset: u64) -> u32 {
        match register(offset) {
            Some(Register::Priority(n)) => self.priority[n],
            Some(Register::Pending(shift)) => (self.pending >> shift) as u32,
            Some(Register::Enable(n, shift)) => (self.enable[n] >> shift) as u32,
            Some(Register::Threshold(n)) => self.threshold[n],
            Some(Register::Claim(n)) => match self.best(n) {
                Some(source) => {
                    self.pending &= !(1 << source);
                    self.claimed |= 1 << source;
                    source as u32
                }
                None => 0,
            },
            None => 0,
        }
    }

    pub(crate) fn write(&mut self, offset: u64, value: u32) {
        match register(offset) {
            Some(Register::Priority(n)) if n > 0 => self.priority[n] = value & MOST_PRIORITY,
            Some(Register::Enable(n, shift)) => {
                let bits = self.enable[n] & !(0xffff_ffff << shift) | u64::from(value) << shift;
                self.enable[n] = bits & !1;
            }
            Some(Register::Threshold(n)) => self.threshold[n] = value & MOST_PRIORITY,
            // Completion counts only for a source that the context may have claimed.
            Some(Register::Claim(n)) if value <= SOURCES && self.enable[n] >> value & 1 != 0 => {
                self.claimed &= !(1 << value);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sources 5 and 10 with priorities, both enabled for context 1.
    fn plic(five: u32, ten: u32) -> Plic {
        let mut plic = Plic::new();
        plic.write(4 * 5, five);
        plic.write(4 * 10, ten);
        plic.write(ENABLE + ENABLE_STRIDE, 1 << 5 | 1 << 10);
        plic
    }

    const CLAIM: u64 = CONTEXT + CONTEXT_STRIDE + 4;

    #[test]
    fn the_highest_priority_is_claimed_first_and_of_equals_the_lowest_number() {
        for (five, ten, order) in
            [(1, 2, [10, 5, 0]), (2, 1, [5, 10, 0]), (3, 3, [5, 10, 0]), (0, 1, [10, 0, 0])]
        {
            let mut plic = plic(five, ten);
            plic.set_level(1 << 5 | 1 << 10, 0);
            assert!(plic.raised(1) && !plic.raised(0));
            assert_eq!([(); 3].map(|()| plic.read(CLAIM)), order, "{five} {ten}");
            assert!(!plic.raised(1));
        }
    }

    #[test]
    fn a_claimed_source_stays_quiet_until_it_is_completed() {
        let mut plic = plic(1, 1);
        plic.set_level(1 << 5, 0);
        assert_eq!(plic.read(CLAIM), 5);
        plic.set_level(1 << 5, 1 << 5);
        assert_eq!((plic.raised(1), plic.read(CLAIM)), (false, 0));
        // Of another source: nothing.
        plic.write(CLAIM, 10);
        assert!(!plic.raised(1));
        // It was raised anew meanwhile.
        plic.write(CLAIM, 5);
        assert!(plic.raised(1));
        assert_eq!(plic.read(CLAIM), 5);
        // The line has stayed high since, which is not a new interrupt, as on QEMU's machine.
        plic.set_level(1 << 5, 0);
        plic.write(CLAIM, 5);
        assert!(!plic.raised(1));
        plic.set_level(0, 0);
        plic.set_level(1 << 5, 0);
        assert!(plic.raised(1));
    }

    #[test]
    fn the_threshold_masks_but_does_not_hide_from_a_claim() {
        let mut plic = plic(2, 0);
        plic.write(CONTEXT + CONTEXT_STRIDE, 2);
        plic.set_level(1 << 5, 0);
        assert!(!plic.raised(1));
        assert_eq!(plic.read(CLAIM), 5);
    }

    #[test]
    fn registers_that_do_not_exist_read_as_zero_and_ignore_writes() {
        let mut plic = Plic::new();
        for offset in (0..0x60_0000).step_by(0x7c) {
            plic.write(offset, u32::MAX);
            plic.read(offset);
        }
        assert_eq!(plic.read(0), 0);
        assert_eq!(plic.read(0x5f_fffc), 0);
    }
}
