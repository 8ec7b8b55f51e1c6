//! What a program did to its caches.

use tollgate_riscv::Isa;

use super::code::Mix;
use super::seen::{CacheReport, SweepPoint};
use super::settings::Count;

/// What a program did to its caches.
#[derive(Clone, Debug)]
pub struct Report {
    /// The program.
    pub name: String,
    /// What it was built for.
    pub isa: Isa,
    /// What an access is.
    pub count: Count,
    /// Bytes of code in the object, where that is known.
    pub object_text: Option<u64>,
    /// Bytes of code in the program.
    pub text: u64,
    /// The instructions in the code.
    pub static_mix: Mix,
    /// The instructions that ran.
    pub dynamic_mix: Mix,
    /// Accesses to the instruction cache.
    pub accesses: u64,
    /// Bytes of the instructions that ran.
    pub bytes: u64,
    /// Cycles, without any miss: instructions, or those of the five-stage pipeline.
    pub cycles: u64,
    /// Whether the program ended; otherwise it was stopped after so many instructions as it was allowed.
    pub ended: bool,
    /// Each cache.
    pub caches: Vec<CacheReport>,
    /// Misses of the shapes of a sweep.
    pub sweep: Vec<SweepPoint>,
}
