//! The clock: the time-stamp counter between fences on x86-64, the system's monotonic clock elsewhere.

#[cfg(target_arch = "x86_64")]
mod source {
    use std::arch::x86_64::{__cpuid, _mm_lfence, _rdtsc};

    /// Everything before it in program order has completed, nothing after it has begun.
    #[inline(always)]
    pub fn now() -> u64 {
        // SAFETY: both instructions are part of every x86-64 processor.
        unsafe {
            _mm_lfence();
            let ticks = _rdtsc();
            _mm_lfence();
            ticks
        }
    }

    pub const NAME: &str = "time-stamp counter, lfence;rdtsc;lfence";

    /// Whether the counter's rate is stated to be constant (CPUID 8000_0007h, EDX bit 8).
    pub fn constant() -> bool {
        __cpuid(0x8000_0000).eax >= 0x8000_0007 && __cpuid(0x8000_0007).edx & 0x100 != 0
    }

    /// MXCSR as a process begins with it: the last rounded result set flags in it, and loading an MXCSR that
    /// differs is a slow path.
    #[inline(always)]
    pub fn reset_float_control() {
        let value = 0x1f80u32;
        // SAFETY: the default of the ABI, with all exceptions masked.
        unsafe { std::arch::asm!("ldmxcsr [{}]", in(reg) &raw const value, options(nostack, readonly)) };
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod source {
    use std::sync::OnceLock;
    use std::time::Instant;

    static START: OnceLock<Instant> = OnceLock::new();

    pub fn now() -> u64 {
        START.get_or_init(Instant::now).elapsed().as_nanos() as u64
    }

    pub const NAME: &str = "std::time::Instant";

    pub fn constant() -> bool {
        true
    }

    pub fn reset_float_control() {}
}

pub use source::{NAME, constant, now, reset_float_control};
