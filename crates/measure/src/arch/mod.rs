//! What differs between architectures: one file each, the same functions in all.
//!
//! | function | meaning |
//! |---|---|
//! | `counter()` | the counter of constant rate, fenced so that nothing timed leaks past it; `None` semantics by `HAS_COUNTER` |
//! | `invariant()` | whether that counter runs at one rate in every power state, if the processor says so |
//! | `nominal_hz()` | its frequency as the processor or hypervisor states it |
//! | `MULTIPLY_CYCLES` | latency of one dependent 64-bit multiply, where the makers document it |
//! | `multiply_chain(n)`, `add_chain(n)` | n dependent multiplies, n dependent additions of registers |
//! | `reset_float_control()` | puts the floating-point control registers into the state that the ABI starts a thread with |

#[cfg(target_arch = "x86_64")]
mod x86_64;
#[cfg(target_arch = "x86_64")]
pub use x86_64::*;

#[cfg(not(target_arch = "x86_64"))]
mod other;
#[cfg(not(target_arch = "x86_64"))]
pub use other::*;
