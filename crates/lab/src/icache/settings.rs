//! The programs to run, and the accesses to count.

use tollgate_riscv::Isa;
use tollgate_riscv::cache::{Geometry, Policy};

/// What counts as an access to the instruction cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Count {
    /// One for each instruction, at its address, as Spike counts. An instruction that spans two lines counts for
    /// the first. A cycle is an instruction.
    #[default]
    Fetch,
    /// One for each cycle of a five-stage pipeline with forwarding, at the pc's word, as Ripes counts: while the
    /// pipeline stalls its fetch is repeated and hits, two instructions are fetched in vain behind each taken
    /// branch, and a miss costs no time.
    Cycle,
}

/// One program for one ISA.
#[derive(Clone, Debug)]
pub struct Build {
    /// Its name in tables: an ISA, or a file.
    pub name: String,
    /// The instruction set that it was built for.
    pub isa: Isa,
    /// Bytes of code in the object, before linking, where that is known.
    pub object_text: Option<u64>,
    /// The linked program's file.
    pub elf: Vec<u8>,
}

/// A measurement of programs and caches.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The caches, each of which sees every fetch.
    pub caches: Vec<Geometry>,
    /// The replacement policy.
    pub policy: Policy,
    /// The definition of an access.
    pub count: Count,
    /// Whether to count the misses of many shapes as well.
    pub sweep: bool,
    /// Cycles that the pipeline which is timed waits for a line.
    pub miss_latency: u32,
    /// When to stop a program that does not end; the proxy kernel's instructions count as well.
    pub max_instructions: u64,
    /// The proxy kernel's file, if the programs are static ones for Linux: then only what runs in user mode is counted.
    pub proxy_kernel: Option<Vec<u8>>,
    /// The arguments of the programs on the proxy kernel.
    pub arguments: Vec<String>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            caches: Vec::new(),
            policy: Policy::Lru,
            count: Count::Fetch,
            sweep: false,
            miss_latency: 20,
            max_instructions: 100_000_000,
            proxy_kernel: None,
            arguments: Vec::new(),
        }
    }
}
