//! Physical memory protection (privileged specification, 3.7).

use serde::{Deserialize, Serialize};

use crate::exception::AccessType;
use crate::privilege::Privilege;

const R: u8 = 1;
const W: u8 = 2;
const X: u8 = 4;
const MODE: u8 = 3 << 3;
const TOR: u8 = 1 << 3;
const NA4: u8 = 2 << 3;
const NAPOT: u8 = 3 << 3;
const LOCK: u8 = 1 << 7;

/// How many entries there are.
pub(crate) const ENTRIES: usize = 16;

/// The entries, with their address ranges worked out.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Pmp {
    cfg: [u8; ENTRIES],
    addr: [u64; ENTRIES],
    /// First and last byte of each entry that is switched on, with its configuration.
    ranges: Vec<(u64, u64, u8)>,
    address_mask: u64,
}

/// Whether an access to an address range is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Allowed,
    Denied,
    /// The range crosses the edge of an entry.
    Split,
}

impl Pmp {
    /// As at reset: one entry that allows everything, so that software unaware of PMP can leave M-mode. Spike
    /// does the same.
    pub(crate) fn permissive(rv64: bool) -> Self {
        let address_mask = if rv64 { (1 << 54) - 1 } else { 0xffff_ffff };
        let mut pmp = Pmp { cfg: [0; ENTRIES], addr: [0; ENTRIES], ranges: Vec::new(), address_mask };
        pmp.cfg[0] = NAPOT | R | W | X;
        pmp.addr[0] = address_mask;
        pmp.update();
        pmp
    }

    pub(crate) fn cfg(&self, entry: usize) -> u8 {
        self.cfg[entry]
    }

    pub(crate) fn addr(&self, entry: usize) -> u64 {
        self.addr[entry]
    }

    pub(crate) fn set_cfg(&mut self, entry: usize, value: u8) {
        if self.cfg[entry] & LOCK != 0 {
            return;
        }
        let mut v = value & (R | W | X | MODE | LOCK);
        if v & (R | W) == W {
            // Write without read is reserved.
            v &= !W;
        }
        self.cfg[entry] = v;
        self.update();
    }

    /// Whether the address of an entry can no longer be written.
    pub(crate) fn is_addr_locked(&self, entry: usize) -> bool {
        let next_locks = self.cfg.get(entry + 1).is_some_and(|&c| c & LOCK != 0 && c & MODE == TOR);
        self.cfg[entry] & LOCK != 0 || next_locks
    }

    pub(crate) fn set_addr(&mut self, entry: usize, value: u64) {
        if self.is_addr_locked(entry) {
            return;
        }
        self.addr[entry] = value & self.address_mask;
        self.update();
    }

    fn update(&mut self) {
        self.ranges.clear();
        for i in 0..ENTRIES {
            let (cfg, addr) = (self.cfg[i], self.addr[i]);
            let range = match cfg & MODE {
                TOR => {
                    let low = if i == 0 { 0 } else { self.addr[i - 1] << 2 };
                    let high = addr << 2;
                    if low >= high {
                        continue;
                    }
                    (low, high - 1)
                }
                NA4 => (addr << 2, (addr << 2) + 3),
                NAPOT => {
                    let ones = addr.trailing_ones();
                    let size_mask = if ones >= 61 { u64::MAX } else { (8u64 << ones) - 1 };
                    let low = (addr << 2) & !size_mask;
                    (low, low | size_mask)
                }
                _ => continue,
            };
            self.ranges.push((range.0, range.1, cfg));
        }
    }

    /// Checks an access to `len` bytes.
    pub(crate) fn check(&self, pa: u64, len: u64, access: AccessType, privilege: Privilege) -> Verdict {
        let last = pa + (len - 1);
        for &(low, high, cfg) in &self.ranges {
            if last < low || pa > high {
                continue;
            }
            if pa < low || last > high {
                return Verdict::Split;
            }
            if privilege == Privilege::Machine && cfg & LOCK == 0 {
                return Verdict::Allowed;
            }
            let needs = match access {
                AccessType::Fetch => X,
                AccessType::Load => R,
                AccessType::Store | AccessType::ShadowStack => W,
            };
            return if cfg & needs != 0 { Verdict::Allowed } else { Verdict::Denied };
        }
        if privilege == Privilege::Machine { Verdict::Allowed } else { Verdict::Denied }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Privilege::{Machine, User};

    #[test]
    fn napot_and_tor_ranges() {
        let mut p = Pmp::permissive(true);
        p.set_cfg(0, 0);
        // 0x8000_0000, 4 KiB: NAPOT has log2(size) - 3 ones under the address bits.
        p.set_addr(0, 0x8000_0000 >> 2 | 0x1ff);
        p.set_cfg(0, NAPOT | R);
        assert_eq!(p.check(0x8000_0ff8, 8, AccessType::Load, User), Verdict::Allowed);
        assert_eq!(p.check(0x8000_0ff8, 8, AccessType::Store, User), Verdict::Denied);
        assert_eq!(p.check(0x8000_1000, 1, AccessType::Load, User), Verdict::Denied);
        assert_eq!(p.check(0x8000_0ffc, 8, AccessType::Load, User), Verdict::Split);
        assert_eq!(p.check(0x8000_0000, 8, AccessType::Store, Machine), Verdict::Allowed);
        p.set_addr(1, 0x9000_0000 >> 2);
        p.set_addr(2, 0x9000_0010 >> 2);
        p.set_cfg(2, TOR | X | R | W);
        assert_eq!(p.check(0x9000_000f, 1, AccessType::Fetch, User), Verdict::Allowed);
        assert_eq!(p.check(0x9000_0010, 1, AccessType::Fetch, User), Verdict::Denied);
    }

    #[test]
    fn a_locked_entry_binds_machine_mode_and_stays() {
        let mut p = Pmp::permissive(true);
        p.set_cfg(0, NAPOT | R | LOCK);
        assert_eq!(p.check(0x8000_0000, 4, AccessType::Store, Machine), Verdict::Denied);
        p.set_cfg(0, 0);
        p.set_addr(0, 0);
        assert_eq!(p.check(0x8000_0000, 4, AccessType::Store, Machine), Verdict::Denied);
        assert_eq!(p.check(0x8000_0000, 4, AccessType::Load, Machine), Verdict::Allowed);
    }
}
