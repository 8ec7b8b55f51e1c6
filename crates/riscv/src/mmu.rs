//! Address translation: Sv32, Sv39 and Sv48 (privileged specification, chapters 4.3 to 4.5).
//!
//! A page without A, or a store to one without D, faults, and software sets the bit (Svade), unless ADUE of `menvcfg`
//! has the hardware set it (Svadu).

use crate::bus::Bus;
use crate::exception::{AccessType, Exception};
use crate::hart::{Hart, environment, status};
use crate::isa::Extension;
use crate::observer::Walk;
use crate::pmp::Verdict;
use crate::privilege::Privilege;

pub(crate) const PAGE: u64 = 4096;

const V: u64 = 1 << 0;
const R: u64 = 1 << 1;
const W: u64 = 1 << 2;
const X: u64 = 1 << 3;
const U: u64 = 1 << 4;
const A: u64 = 1 << 6;
const D: u64 = 1 << 7;
/// Svnapot's mark of a page of 64 KiB.
const N: u64 = 1 << 63;
/// Svpbmt's memory types.
const PBMT: u64 = 3 << 61;
const PPN: u64 = (1 << 44) - 1;

/// A translation scheme.
struct Scheme {
    levels: u32,
    vpn_bits: u32,
    pte_size: u64,
    va_bits: u32,
    root: u64,
}

/// The scheme that `satp` selects; `None` is Bare.
fn scheme(hart: &Hart) -> Option<Scheme> {
    let satp = hart.satp;
    if hart.isa.is_rv64() {
        let levels = match satp >> 60 {
            8 => 3,
            9 => 4,
            _ => return None,
        };
        let root = (satp & ((1 << 44) - 1)) * PAGE;
        return Some(Scheme { levels, vpn_bits: 9, pte_size: 8, va_bits: 12 + 9 * levels, root });
    }
    (satp >> 31 & 1 != 0).then(|| Scheme {
        levels: 2,
        vpn_bits: 10,
        pte_size: 4,
        va_bits: 32,
        root: (satp & 0x3f_ffff) * PAGE,
    })
}

/// Translates the address of one access that does not cross a page, checks that it may be done, and sets the accessed
/// and dirty bits if the hardware does that.
pub(crate) fn translate(
    hart: &Hart,
    bus: &mut Bus,
    va: u64,
    len: u64,
    access: AccessType,
    privilege: Privilege,
) -> Result<u64, Exception> {
    let page = find_page(hart, bus, va, access, privilege)?;
    match hart.pmp.check(page.pa, len, access, privilege) {
        Verdict::Allowed => Ok(page.mark(bus)),
        _ => Err(access.access_fault(va)),
    }
}

/// Translation without the check of the resulting address against PMP, which leaves the page tables as they are.
pub(crate) fn look_up(
    hart: &Hart,
    bus: &Bus,
    va: u64,
    access: AccessType,
    privilege: Privilege,
) -> Result<u64, Exception> {
    find_page(hart, bus, va, access, privilege).map(|page| page.pa)
}

/// Where an address is.
pub(crate) struct Found {
    pub(crate) pa: u64,
    /// The size of the page as a power of two; 0 without translation.
    pub(crate) shift: u32,
    /// Whether the page is of a shadow stack.
    pub(crate) shadow: bool,
    /// The address of the entry that an access has to change, its new value, and how many bytes it has.
    update: Option<(u64, u64, u64)>,
}

impl Found {
    /// Writes the entry's accessed and dirty bits, as an access does; yields the address.
    pub(crate) fn mark(self, bus: &mut Bus) -> u64 {
        if let Some((at, pte, size)) = self.update {
            bus.ram_write(at, size, pte);
        }
        self.pa
    }
}

/// The page of an address, for an access that is permitted by the page tables.
pub(crate) fn find_page(
    hart: &Hart,
    bus: &Bus,
    va: u64,
    access: AccessType,
    privilege: Privilege,
) -> Result<Found, Exception> {
    match scheme_of(hart, privilege) {
        // Zicfiss, 22.2.5: without translation there is no page that an access to a shadow stack could be to.
        None if access == AccessType::ShadowStack => Err(access.access_fault(va)),
        None => Ok(Found { pa: hart.outside(va), shift: 0, shadow: false, update: None }),
        Some(s) => walk(hart, bus, &s, va, access, privilege, |_| {}),
    }
}

/// The same, with the addresses of the page table entries.
pub(crate) fn walk_to_page(
    hart: &Hart,
    bus: &Bus,
    va: u64,
    access: AccessType,
    privilege: Privilege,
) -> Option<(Walk, Found)> {
    let (mut tables, mut levels) = ([0; 4], 0_u8);
    let note = |at: u64| {
        tables[usize::from(levels) & 3] = at;
        levels += 1;
    };
    let found = walk(hart, bus, &scheme_of(hart, privilege)?, va, access, privilege, note).ok()?;
    let walk = Walk { va: hart.outside(va), pa: found.pa, tables, levels, shift: found.shift };
    Some((walk, found))
}

fn scheme_of(hart: &Hart, privilege: Privilege) -> Option<Scheme> {
    match privilege {
        Privilege::Machine => None,
        _ => scheme(hart),
    }
}

/// The page of an address, for an access that is permitted; `note` receives the address of each entry.
/// (Recording them in every walk would slow a program that misses the machine's TLB by a fifth.)
fn walk(
    hart: &Hart,
    bus: &Bus,
    s: &Scheme,
    va: u64,
    access: AccessType,
    privilege: Privilege,
    mut note: impl FnMut(u64),
) -> Result<Found, Exception> {
    let fault = || access.page_fault(va);
    // The bits above the virtual address must all equal its top bit. (Sv32 uses every bit of a register.)
    let unused = 64 - s.va_bits;
    if ((va << unused) as i64 >> unused) as u64 != va {
        return Err(fault());
    }
    let mut table = s.root;
    for level in (0..s.levels).rev() {
        let shift = 12 + s.vpn_bits * level;
        let index = va >> shift & ((1 << s.vpn_bits) - 1);
        let at = table + index * s.pte_size;
        note(at);
        // The walk itself is an S-mode access, and one that memory or PMP refuses is an access fault (4.3.2).
        if hart.pmp.check(at, s.pte_size, AccessType::Load, Privilege::Supervisor) != Verdict::Allowed {
            return Err(access.access_fault(va));
        }
        let pte = bus.ram_read(at, s.pte_size).ok_or_else(|| access.access_fault(va))?;
        // Reserved bits must be zero, Svnapot's as well without it; Svpbmt's have one value that is reserved.
        let napot = if hart.isa.has(Extension::Svnapot) { pte & N } else { 0 };
        let types = if hart.menvcfg & environment::PBMTE != 0 && pte & PBMT != PBMT { PBMT } else { 0 };
        // Zicfiss, 22.2.5: what can be written and not read is a page of a shadow stack.
        let shadow = pte & (R | W | X) == W && hart.menvcfg & environment::SSE != 0;
        let is_reserved = pte & (R | W) == W && !shadow;
        if pte & V == 0 || is_reserved || s.pte_size == 8 && (pte & !types & !napot) >> 54 != 0 {
            return Err(fault());
        }
        let ppn = pte >> 10 & PPN;
        if pte & (R | W | X) == 0 {
            if pte & (A | D | U | PBMT) != 0 || napot != 0 {
                return Err(fault());
            }
            table = ppn * PAGE;
            continue;
        }
        if !is_reachable(hart, pte, access, privilege) {
            return Err(fault());
        }
        // Svnapot (5.1): 16 entries of the last level, which are all alike, map 64 KiB; other sizes are reserved.
        let (ppn, shift) = match napot {
            0 => (ppn, shift),
            _ if level == 0 && ppn & 0xf == 8 => (ppn & !0xf, 16),
            _ => return Err(fault()),
        };
        let offset_mask = (1u64 << shift) - 1;
        let base = ppn * PAGE;
        if base & offset_mask != 0 {
            // A superpage that is not aligned to its size.
            return Err(fault());
        }
        // Zicfiss, 22.2.5: only loads can be of both kinds of pages; others fault even where the page could be made writable.
        let is_foreign = match access {
            AccessType::ShadowStack => pte & (R | W) == R | W || pte & X != 0,
            AccessType::Load => false,
            _ => shadow,
        };
        if is_foreign {
            return Err(access.access_fault(va));
        }
        let is_write = matches!(access, AccessType::Store | AccessType::ShadowStack);
        let marked = pte | A | if is_write { D } else { 0 };
        let by_hardware = hart.menvcfg & environment::ADUE != 0;
        if !(permitted(hart, pte, access) || shadow) || marked != pte && !by_hardware {
            return Err(fault());
        }
        let update = (marked != pte).then_some((at, marked, s.pte_size));
        // Svadu, 2: the hardware's store to the entry needs permission, too.
        if update.is_some()
            && hart.pmp.check(at, s.pte_size, AccessType::Store, Privilege::Supervisor) != Verdict::Allowed
        {
            return Err(access.access_fault(va));
        }
        return Ok(Found { pa: base | va & offset_mask, shift, shadow, update });
    }
    Err(fault())
}

/// Whether a page is for a mode: step 5 of the translation algorithm (4.3.2), with SUM (3.1.6.3).
fn is_reachable(hart: &Hart, pte: u64, access: AccessType, privilege: Privilege) -> bool {
    let user_page = pte & U != 0;
    match privilege {
        Privilege::User => user_page,
        Privilege::Supervisor => !user_page || access != AccessType::Fetch && hart.mstatus & status::SUM != 0,
        Privilege::Machine => true,
    }
}

/// Whether a page is for a kind of access: the same step, with MXR (3.1.6.3).
fn permitted(hart: &Hart, pte: u64, access: AccessType) -> bool {
    match access {
        AccessType::Fetch => pte & X != 0,
        AccessType::Load => pte & R != 0 || hart.mstatus & status::MXR != 0 && pte & X != 0,
        AccessType::Store | AccessType::ShadowStack => pte & W != 0,
    }
}
