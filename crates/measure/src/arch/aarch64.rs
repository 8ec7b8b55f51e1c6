//! AArch64.

use std::arch::asm;

/// User programs may read the virtual counter: Linux sets CNTKCTL_EL1.EL0VCTEN. (Where a processor's erratum makes
/// it trap, the kernel reads it in the program's place.)
pub const HAS_COUNTER: bool = true;

/// As the record names the counter.
pub const COUNTER: &str = "cntvct";

/// Not one number: 64-bit MUL takes 5 cycles on Cortex-A72, 4 on Neoverse N1, 2 on Neoverse V1 (Arm's Software
/// Optimization Guides of these cores, "Multiply accumulate, X-form") and 3 on Apple's. The additions give the core
/// clock here.
pub const MULTIPLY_CYCLES: Option<f64> = None;

/// The virtual counter, CNTVCT_EL0, fenced on both sides.
///
/// Reads of the counter may be made early and out of order (Arm ARM, "Self-synchronized views of the system
/// counter"); ISB has all earlier instructions completed before it and has the later ones fetched after it.
#[inline(always)]
pub fn counter() -> u64 {
    let count: u64;
    // SAFETY: reads a register that Linux leaves open to user mode. The default memory clobber keeps the compiler
    // from moving memory accesses across.
    unsafe { asm!("isb", "mrs {count}, cntvct_el0", "isb", count = out(reg) count, options(nostack)) };
    count
}

/// The architecture has it count at one rate whatever the processor's clock does (Arm ARM, "The system counter").
pub fn invariant() -> Option<bool> {
    Some(true)
}

/// CNTFRQ_EL0: the rate as the firmware states it; zero where it forgot to.
pub fn nominal_hz() -> Option<f64> {
    let hz: u64;
    // SAFETY: reads a register that user mode may read whenever it may read the counter.
    unsafe { asm!("mrs {hz}, cntfrq_el0", hz = out(reg) hz, options(nomem, nostack, preserves_flags)) };
    (hz != 0).then_some(hz as f64)
}

/// `n` rounded down to a multiple of 100 dependent multiplies; returns how many were made.
pub fn multiply_chain(n: u64) -> u64 {
    chain!(n, "mul {v}, {v}, {o}")
}

/// `n` rounded down to a multiple of 100 dependent additions of two registers, one cycle each on every core whose
/// guide Arm publishes (ADD, basic form, latency 1); returns how many were made. No core is known to fold additions
/// of two registers; those of an immediate some fold at rename, as recent x86 cores do.
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

/// FPCR and FPSR to zero, as Linux starts a thread: round to nearest, no trap, no sticky flag.
pub fn reset_float_control() {
    // SAFETY: zero is a valid value of both.
    unsafe { asm!("msr fpcr, xzr", "msr fpsr, xzr", options(nomem, nostack, preserves_flags)) };
}
