//! Calls that user mode answers, by code that the kernel maps into each process.

mod clock_gettime;
mod user_mode;

pub(crate) use clock_gettime::CLOCK_GETTIME;
