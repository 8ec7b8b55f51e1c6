//! The code that depends on the architecture: one file for each, with the same functions.
//!
//! | function | meaning |
//! |---|---|
//! | `counter()` | the counter of constant rate, fenced so that nothing timed leaks past it; meaningless without `HAS_COUNTER` |
//! | `invariant()` | whether that counter runs at one rate in every power state, if the processor says so |
//! | `nominal_hz()` | its frequency as the processor or hypervisor states it |
//! | `COUNTER` | what the record calls that counter |
//! | `MULTIPLY_CYCLES` | latency of one dependent 64-bit multiply, where it is one number for all cores and documented |
//! | `multiply_chain(n)`, `add_chain(n)` | n dependent multiplies, n dependent additions of registers (one cycle each) |
//! | `additions(n)` | n additions on eight registers that do not wait for each other |
//! | `reset_float_control()` | puts the floating-point control registers into the state that the ABI starts a thread with |

/// `n` rounded down to a multiple of 100 times one instruction whose result `{v}` is an operand of the next; the other
/// operand is `{o}`. Returns how many were made.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64"))]
macro_rules! chain {
    ($n:expr, $instruction:literal) => {{
        let turns = $n / 100;
        let (mut value, other) = (3u64, 5u64);
        for _ in 0..turns {
            // SAFETY: arithmetic on two registers.
            unsafe {
                std::arch::asm!(".rept 100", $instruction, ".endr",
                    v = inout(reg) value, o = in(reg) other, options(nomem, nostack));
            }
        }
        std::hint::black_box(value);
        turns * 100
    }};
}

/// `n` rounded down to a multiple of 96 times one instruction on eight registers in turn, so that eight are always
/// independent. Returns how many were made.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64"))]
macro_rules! side_by_side {
    ($n:expr, $($instruction:literal),*) => {{
        let turns = $n / 96;
        let ([mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h], other) = ([1u64; 8], 5u64);
        for _ in 0..turns {
            // SAFETY: arithmetic on registers.
            unsafe {
                std::arch::asm!(".rept 12", $($instruction,)* ".endr",
                    a = inout(reg) a, b = inout(reg) b, c = inout(reg) c, d = inout(reg) d, e = inout(reg) e,
                    f = inout(reg) f, g = inout(reg) g, h = inout(reg) h, o = in(reg) other,
                    options(nomem, nostack));
            }
        }
        std::hint::black_box([a, b, c, d, e, f, g, h]);
        turns * 96
    }};
}

#[cfg(target_arch = "x86_64")]
mod x86_64;
#[cfg(target_arch = "x86_64")]
pub use x86_64::*;

#[cfg(target_arch = "aarch64")]
mod aarch64;
#[cfg(target_arch = "aarch64")]
pub use aarch64::*;

#[cfg(target_arch = "riscv64")]
mod riscv64;
#[cfg(target_arch = "riscv64")]
pub use riscv64::*;

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")))]
mod other;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")))]
pub use other::*;
