//! Exits from a guest to its hypervisor, and the return.

mod cpuid;

pub(crate) use cpuid::CPUID;
