//! x86-64.

use std::arch::asm;
use std::arch::x86_64::__cpuid;

/// There is a counter that user programs may read.
pub const HAS_COUNTER: bool = true;

/// As the record names the counter.
pub const COUNTER: &str = "tsc";

/// Latency of `imul r64, r64` in cycles: 3 on every Intel core since Nehalem and every AMD core since
/// Zen (Intel Optimization Reference Manual, instruction latencies; AMD Software Optimization Guide
/// for family 17h and later, integer multiply).
pub const MULTIPLY_CYCLES: Option<f64> = Some(3.0);

/// The time-stamp counter, fenced on both sides.
///
/// The first `lfence` waits until all earlier instructions have completed, so the work timed is inside;
/// the second keeps later ones from starting before the read (Intel SDM vol. 2, RDTSC; AMD APM vol. 3,
/// where LFENCE is dispatch serializing, as Linux sets it). A bare `rdtsc` reads 4 ticks for 46.
#[inline(always)]
pub fn counter() -> u64 {
    let (low, high): (u32, u32);
    // SAFETY: reads a register pair; Linux leaves RDTSC open to user mode (CR4.TSD = 0) unless a
    // process asks otherwise by prctl, which this program never does. The default memory clobber
    // keeps the compiler from moving memory accesses across.
    unsafe {
        asm!("lfence", "rdtsc", "lfence", out("eax") low, out("edx") high, options(nostack, preserves_flags));
    }
    u64::from(high) << 32 | u64::from(low)
}

/// CPUID.80000007H, bit 8 of EDX: "invariant TSC".
pub fn invariant() -> Option<bool> {
    let highest = __cpuid(0x8000_0000).eax;
    (highest >= 0x8000_0007).then(|| __cpuid(0x8000_0007).edx & (1 << 8) != 0)
}

/// Frequency of the time-stamp counter as stated: CPUID leaf 15H (crystal clock times ratio, Intel SDM
/// vol. 3, 20.7.3), else the hypervisor's leaf 4000_0010H (kHz, the convention of VMware that KVM
/// follows).
pub fn nominal_hz() -> Option<f64> {
    if __cpuid(0).eax >= 0x15 {
        let leaf = __cpuid(0x15);
        if leaf.eax != 0 && leaf.ebx != 0 && leaf.ecx != 0 {
            return Some(f64::from(leaf.ecx) * f64::from(leaf.ebx) / f64::from(leaf.eax));
        }
    }
    let hypervisor = __cpuid(1).ecx & (1 << 31) != 0;
    if hypervisor && (0x4000_0010..0x4001_0000).contains(&__cpuid(0x4000_0000).eax) {
        let khz = __cpuid(0x4000_0010).eax;
        return (khz != 0).then(|| f64::from(khz) * 1000.0);
    }
    None
}

/// `n` rounded down to a multiple of 100 dependent multiplies; returns how many were made.
pub fn multiply_chain(n: u64) -> u64 {
    chain!(n, "imul {v}, {o}")
}

/// `n` rounded down to a multiple of 100 dependent additions of two registers, one cycle each; returns
/// how many were made. (Additions of an immediate are folded at rename by recent cores and would not do.)
pub fn add_chain(n: u64) -> u64 {
    chain!(n, "add {v}, {o}")
}

/// `n` rounded down to a multiple of 96 additions of which eight are always independent; returns how many were made.
pub fn additions(n: u64) -> u64 {
    side_by_side!(
        n,
        "add {a}, {o}",
        "add {b}, {o}",
        "add {c}, {o}",
        "add {d}, {o}",
        "add {e}, {o}",
        "add {f}, {o}",
        "add {g}, {o}",
        "add {h}, {o}"
    )
}

/// MXCSR to 0x1f80, as the ABI starts a thread with. A float operation of the harness leaves a sticky
/// flag there, and a fiber switch whose two sides differ in MXCSR costs 40 to 70 ns instead of 5.
pub fn reset_float_control() {
    let value: u32 = 0x1f80;
    // SAFETY: loads a valid MXCSR value (all exceptions masked, no reserved bit).
    unsafe { asm!("ldmxcsr [{}]", in(reg) &value, options(nostack, readonly, preserves_flags)) };
}
