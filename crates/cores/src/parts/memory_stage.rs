//! The memory side of cores without a store buffer or a fetch queue.

use tollgate_riscv::{Class, Insn, Privilege};

use super::memory::Memory;
use crate::access::Data;

use super::delays::Delays;

/// Whether an instruction reads memory, and whether it writes it.
pub(crate) fn accesses(insn: &Insn) -> [bool; 2] {
    use Class::*;
    let class = insn.row().class;
    let reads = matches!(class, Load | FpLoad | LoadReserved | StoreConditional | Amo);
    [reads, matches!(class, Store | FpStore | Amo)]
}

/// Further cycles of an aligned access on a data port of `width` bytes (0 for any number) to a memory that answers `wait`
/// cycles late.
pub(crate) fn port_cycles(insn: &Insn, wait: u32, width: u32) -> i64 {
    if accesses(insn) == [false; 2] {
        return 0;
    }
    let size = insn.op.access().map_or(1, |(size, _)| size);
    i64::from(wait + (u32::from(size) - 1).checked_div(width).unwrap_or(0))
}

impl Delays {
    /// The waits of an instruction for its fetch and its accesses. Accesses wider than a data port of `width` bytes, or
    /// misaligned there, is accessed again; a port of 0 bytes takes everything at once.
    #[inline(always)]
    pub(crate) fn of(
        memory: &mut Memory,
        (pc, pa, len): (u64, u64, u8),
        privilege: Privilege,
        accesses: &[Data],
        width: u32,
    ) -> Self {
        let mut delays = Delays::default();
        if !memory.fetches_latest_line(pc, pa, len, privilege) {
            let waits = memory.fetch(pc, pa, len, privilege);
            (delays.fetch_walk, delays.fetch_miss) = (waits.walk.into(), waits.miss.into());
        }
        for access in accesses {
            if !memory.hits_latest_line(access, privilege) {
                let waits = memory.data(access, privilege);
                delays.data_walk += i64::from(waits.walk);
                delays.data_miss += i64::from(waits.miss);
            }
            if width > 0 {
                delays.port += i64::from(access.further(width));
            }
        }
        delays
    }
}
