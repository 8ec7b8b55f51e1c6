//! RISC-V, 64 bits.

use std::arch::asm;

/// User programs may read `time`: Linux sets scounteren.TM. (A hart that does not have the register traps to the
/// firmware, which answers; the figures then hold that.) Never `cycle`: since Linux 6.6 it traps in user mode
/// unless a perf event of the process has opened it (`kernel.perf_user_access`).
pub const HAS_COUNTER: bool = true;

/// As the record names the counter.
pub const COUNTER: &str = "rdtime";

/// Makers seldom publish it, and it is not one number: 3 cycles on SiFive's U74, others on others. The additions
/// give the core clock here.
pub const MULTIPLY_CYCLES: Option<f64> = None;

/// The `time` register, fenced on both sides.
///
/// For a FENCE, a read of a counter is device input (RISC-V unprivileged specification, "CSR access ordering"), so
/// these two order it with the memory accesses before and after it. What only computes in registers, nothing orders
/// with it but the pipeline.
#[inline(always)]
pub fn counter() -> u64 {
    let count: u64;
    // SAFETY: reads a register that Linux leaves open to user mode. The default memory clobber keeps the compiler
    // from moving memory accesses across.
    unsafe {
        asm!("fence iorw, iorw", "rdtime {count}", "fence iorw, iorw", count = out(reg) count,
            options(nostack, preserves_flags));
    }
    count
}

/// "The real-time counters ... must be constant frequency" (RISC-V unprivileged specification, "Zicntr").
pub fn invariant() -> Option<bool> {
    Some(true)
}

/// The rate as the device tree states it; `None` on machines that have none.
pub fn nominal_hz() -> Option<f64> {
    stated(&std::fs::read("/proc/device-tree/cpus/timebase-frequency").ok()?)
}

/// One cell or two, big-endian (Devicetree specification, 2.2.4 and 3.8).
fn stated(cells: &[u8]) -> Option<f64> {
    let hz = match cells.len() {
        4 => u64::from(u32::from_be_bytes(cells.try_into().ok()?)),
        8 => u64::from_be_bytes(cells.try_into().ok()?),
        _ => return None,
    };
    (hz != 0).then_some(hz as f64)
}

/// `n` rounded down to a multiple of 100 dependent multiplies; returns how many were made.
pub fn multiply_chain(n: u64) -> u64 {
    chain!(n, "mul {v}, {v}, {o}")
}

/// `n` rounded down to a multiple of 100 dependent additions of two registers, one cycle each on every core that is
/// documented; returns how many were made. Not additions of an immediate: a core may fuse or fold those.
pub fn add_chain(n: u64) -> u64 {
    chain!(n, "add {v}, {v}, {o}")
}

/// `n` rounded down to a multiple of 96 additions of which eight are always independent; returns how many were made.
pub fn additions(n: u64) -> u64 {
    side_by_side!(
        n,
        "add {a}, {a}, {o}",
        "add {b}, {b}, {o}",
        "add {c}, {c}, {o}",
        "add {d}, {d}, {o}",
        "add {e}, {e}, {o}",
        "add {f}, {f}, {o}",
        "add {g}, {g}, {o}",
        "add {h}, {h}, {o}"
    )
}

/// fcsr to zero, as Linux starts a thread: round to nearest, no sticky flag.
pub fn reset_float_control() {
    // SAFETY: zero is a valid value.
    unsafe { asm!("fscsr zero", options(nomem, nostack)) };
}

#[cfg(test)]
mod tests {
    use super::stated;

    #[test]
    fn the_stated_rate_has_one_cell_or_two() {
        // 10,000,000 Hz, as QEMU's virt machine states it.
        assert_eq!(stated(&[0x00, 0x98, 0x96, 0x80]), Some(1e7));
        assert_eq!(stated(&[0, 0, 0, 0, 0x00, 0x98, 0x96, 0x80]), Some(1e7));
        assert_eq!(stated(&[0; 4]), None);
        assert_eq!(stated(&[1, 2]), None);
    }
}
