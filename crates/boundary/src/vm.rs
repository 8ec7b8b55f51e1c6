//! Leaving a guest for its hypervisor and coming back.

mod cpuid;

pub(crate) use cpuid::Cpuid;
