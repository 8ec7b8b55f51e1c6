//! What kind of core: its stages, latencies, caches and translation buffers, read from TOML.

use serde::Deserialize;

use crate::cache::{Cache, CacheError, Policy, WritePolicy};

/// The number of stages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// One cycle for each instruction, plus its penalties.
    SingleCycle,
    /// One stage fetches, the other does everything else; penalties add up.
    TwoStage,
    /// IF, ID, EX, MEM, WB; an instruction leaves a stage when the next stage is free.
    #[default]
    FiveStage,
}

/// How branches are predicted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Predictor {
    /// Never taken.
    #[default]
    NotTaken,
    /// Taken if the target is behind the branch.
    BackwardTaken,
    /// Two-bit counters, indexed by address.
    Bimodal,
}

/// An operation that takes more than a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Operation {
    /// Cycles from EX to the result; at least 1.
    pub cycles: u32,
    /// Whether the next instruction may enter EX in the meantime.
    #[serde(default)]
    pub pipelined: bool,
}

impl Default for Operation {
    fn default() -> Self {
        Operation { cycles: 1, pipelined: false }
    }
}

/// Latencies of operations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Operations {
    /// Integer multiplication.
    pub multiply: Operation,
    /// Integer division and remainder.
    pub divide: Operation,
    /// Floating-point addition, comparison, conversion, and moves between register files.
    pub float: Operation,
    /// Floating-point multiplication, fused or not.
    pub float_multiply: Operation,
    /// Floating-point division and square root.
    pub float_divide: Operation,
    /// Atomic read-modify-write, without its memory access.
    pub atomic: Operation,
}

/// The pipe itself. Penalties are bubbles: cycles without a retiring instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Pipeline {
    /// The number of stages.
    pub kind: Kind,
    /// Whether an instruction receives results before they are written back.
    pub forwarding: bool,
    /// Bubbles between a load and a directly following instruction that uses the value.
    pub load_use: u32,
    /// Extra cycles of each load and store that hits, in a core that waits for the memory.
    pub memory_wait: u32,
    /// Whether a store needs its value in MEM only, so that it may directly follow a load of that value.
    pub store_data_late: bool,
    /// Aligned bytes of one fetch; 0 fetches every instruction at once.
    pub fetch_width: u32,
}

impl Default for Pipeline {
    fn default() -> Self {
        Pipeline {
            kind: Kind::FiveStage,
            forwarding: true,
            load_use: 1,
            memory_wait: 0,
            store_data_late: false,
            fetch_width: 0,
        }
    }
}

/// Control and status registers, and instructions that synchronize.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct System {
    /// Bubbles between a CSR instruction and a directly following instruction that uses the value.
    pub csr_use: u32,
    /// Whether a CSR instruction waits before EX until all older instructions have left the pipe.
    pub csr_drain: bool,
    /// Bubbles after a CSR instruction that writes.
    pub csr_flush: u32,
    /// Bubbles after `fence.i`, which also empties the instruction cache.
    pub fence_i: u32,
    /// Bubbles after `sfence.vma`, which also empties the translation buffers.
    pub sfence_vma: u32,
}

/// Branches and jumps; penalties are bubbles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Branches {
    /// How the direction of a branch is predicted.
    pub predictor: Predictor,
    /// Counters of the bimodal predictor: a power of two.
    pub counters: u32,
    /// Entries of the branch target buffer: a power of two, or 0.
    pub btb: u32,
    /// Entries of the return stack, or 0.
    pub return_stack: u32,
    /// After a branch whose direction was mispredicted.
    pub mispredict: u32,
    /// After a branch that was correctly predicted taken, if its target is not in the target buffer.
    pub taken: u32,
    /// After `jal`, if its target is not in the target buffer.
    pub jump: u32,
    /// After `jalr`, if its target was not predicted.
    pub indirect: u32,
}

/// Traps and returns; penalties are bubbles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Traps {
    /// Between the instruction that traps and the first instruction of the handler.
    pub exception: u32,
    /// Between the last instruction that retires before an interrupt and the first instruction of the handler.
    pub interrupt: u32,
    /// After `mret` and `sret`.
    #[serde(rename = "return")]
    pub return_: u32,
    /// Additional bubbles after `mret` and `sret` due to a known fault of the core, which `+fault` after the core's
    /// name turns on.
    pub return_fault: u32,
    /// Whether `ecall` waits until `a7` is in the register file, without forwarding.
    pub ecall_reads: bool,
}

/// A cache, in Spike's notation.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct CacheShape {
    /// `sets:ways:line`, the line in bytes.
    pub geometry: String,
    /// Which line of a full set is evicted.
    #[serde(default)]
    pub replacement: Policy,
    /// Whether every store also goes to the next level at once.
    #[serde(default)]
    pub write_through: bool,
    /// Whether a store that misses leaves the cache unchanged.
    #[serde(default)]
    pub no_write_allocate: bool,
    /// Seed of random replacement.
    #[serde(default)]
    pub seed: u64,
    /// Cycles that a miss of the first level waits for a hit in the second; used for `l2` only.
    #[serde(default)]
    pub hit: u32,
}

/// A fully associative translation buffer that evicts the least recently used entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TlbShape {
    /// Entries, from 1 to 1024.
    pub entries: u32,
}

/// Main memory and devices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Memory {
    /// Cycles that an access waits if it misses all caches.
    pub latency: u32,
    /// Cycles of an access to a device.
    pub device: u32,
    /// Whether a store that misses stalls the pipe, as without a store buffer.
    pub stores_wait: bool,
    /// Cycles of a page-table walk in addition to its loads.
    pub walk: u32,
}

/// A core.
///
/// ```
/// use tollgate_riscv::timing::{Core, Kind};
/// let core = Core::preset("ripes-5stage").unwrap();
/// assert_eq!(core.branch.mispredict, 2);
/// let core = Core::from_toml("name = 'mine'\n[pipeline]\nkind = 'single-cycle'").unwrap();
/// assert_eq!(core.pipeline.kind, Kind::SingleCycle);
/// let error = Core::from_toml("[pipeline]\nforwardin = true").unwrap_err().to_string();
/// assert!(error.contains("forwarding"), "{error}");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Core {
    /// The core's name.
    pub name: String,
    /// A sentence about the core.
    pub about: String,
    /// The pipe.
    pub pipeline: Pipeline,
    /// Long operations.
    pub operation: Operations,
    /// System registers and fences.
    pub system: System,
    /// Branches.
    pub branch: Branches,
    /// Traps.
    pub trap: Traps,
    /// Instruction cache; without one, every fetch hits.
    pub l1i: Option<CacheShape>,
    /// Data cache; without one, every access hits.
    pub l1d: Option<CacheShape>,
    /// Unified second level.
    pub l2: Option<CacheShape>,
    /// Translation buffer for instructions; without one, translation is free.
    pub itlb: Option<TlbShape>,
    /// Translation buffer for data.
    pub dtlb: Option<TlbShape>,
    /// Main memory and devices.
    pub memory: Memory,
    /// Whether the known fault is on.
    #[serde(skip)]
    pub fault: bool,
}

/// Why a core is invalid. Each message says what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages describe the variants")]
pub enum CoreError {
    #[error("no core is called '{name}'; the nearest is '{nearest}' (there are: {})", Core::PRESETS.join(", "))]
    Preset { name: String, nearest: String },
    #[error("the core has an unknown key '{key}'; the nearest is '{nearest}'")]
    Key { key: String, nearest: String },
    #[error("the core cannot be read: {0}")]
    Toml(String),
    #[error("{key} is {value}: must be {must}")]
    Number { key: String, value: u64, must: &'static str },
    #[error("{key}: {error}")]
    Cache { key: &'static str, error: CacheError },
    #[error("{0}")]
    Contradiction(&'static str),
}

/// The limit of every number of cycles.
const ABSURD: u32 = 10_000;

macro_rules! presets {
    ($($name:literal),* $(,)?) => {
        impl Core {
            /// The bundled cores.
            pub const PRESETS: &'static [&'static str] = &[$($name),*];

            /// The TOML of a bundled core, with its sources.
            pub fn preset_toml(name: &str) -> Option<&'static str> {
                match name {
                    $($name => Some(include_str!(concat!("cores/", $name, ".toml"))),)*
                    _ => None,
                }
            }
        }
    };
}
presets!(
    "ideal",
    "single-cycle",
    "ripes-5stage",
    "ripes-5stage-noforward",
    "spike",
    "ibex-like",
    "rocket-like",
    "cva6-like",
);

fn nearest<'a>(typed: &str, names: impl Iterator<Item = &'a str>) -> String {
    let score = |name: &str| strsim::normalized_damerau_levenshtein(name, typed);
    names.max_by(|a, b| score(a).total_cmp(&score(b))).unwrap_or_default().to_string()
}

impl Core {
    /// A bundled core.
    pub fn preset(name: &str) -> Result<Self, CoreError> {
        match Self::preset_toml(name) {
            Some(text) => Self::from_toml(text),
            None => {
                let nearest = nearest(name, Self::PRESETS.iter().copied());
                Err(CoreError::Preset { name: name.to_string(), nearest })
            }
        }
    }

    /// Reads a core from TOML.
    pub fn from_toml(text: &str) -> Result<Self, CoreError> {
        let core: Core = toml::from_str(text).map_err(|e| describe(e.message()))?;
        core.check()?;
        Ok(core)
    }

    /// The same core with its known fault on (`cva6-like`: `sret` while a fetch that missed is never resolved).
    pub fn with_fault(mut self) -> Self {
        self.fault = true;
        self.name.push_str("+fault");
        self
    }

    /// Bubbles behind a return.
    pub(super) fn return_penalty(&self) -> u32 {
        self.trap.return_ + if self.fault { self.trap.return_fault } else { 0 }
    }

    /// Checks for invalid numbers. Every function that takes a core does this first.
    pub fn check(&self) -> Result<(), CoreError> {
        let (o, p, s, b, t, m) =
            (&self.operation, &self.pipeline, &self.system, &self.branch, &self.trap, &self.memory);
        for (key, operation) in [
            ("operation.multiply", o.multiply),
            ("operation.divide", o.divide),
            ("operation.float", o.float),
            ("operation.float-multiply", o.float_multiply),
            ("operation.float-divide", o.float_divide),
            ("operation.atomic", o.atomic),
        ] {
            if operation.cycles == 0 || operation.cycles > ABSURD {
                return Err(number(&format!("{key}.cycles"), operation.cycles, "from 1 to 10000 cycles"));
            }
        }
        for (key, value) in [
            ("pipeline.load-use", p.load_use),
            ("pipeline.memory-wait", p.memory_wait),
            ("system.csr-use", s.csr_use),
            ("system.csr-flush", s.csr_flush),
            ("system.fence-i", s.fence_i),
            ("system.sfence-vma", s.sfence_vma),
            ("branch.mispredict", b.mispredict),
            ("branch.taken", b.taken),
            ("branch.jump", b.jump),
            ("branch.indirect", b.indirect),
            ("trap.exception", t.exception),
            ("trap.interrupt", t.interrupt),
            ("trap.return", t.return_),
            ("trap.return-fault", t.return_fault),
            ("memory.latency", m.latency),
            ("memory.device", m.device),
            ("memory.walk", m.walk),
            ("l2.hit", self.l2.as_ref().map_or(0, |c| c.hit)),
        ] {
            if value > ABSURD {
                return Err(number(key, value, "at most 10000 cycles"));
            }
        }
        for (key, value, least) in [
            ("pipeline.fetch-width", p.fetch_width, 2),
            ("branch.counters", b.counters, 1),
            ("branch.btb", b.btb, 1),
        ] {
            if value != 0 && (!value.is_power_of_two() || value < least || value > 1 << 20) {
                return Err(number(key, value, "a power of two, or 0 for none"));
            }
        }
        if b.return_stack > 1024 {
            return Err(number("branch.return-stack", b.return_stack, "at most 1024"));
        }
        if b.predictor == Predictor::Bimodal && b.counters == 0 {
            return Err(CoreError::Contradiction(
                "branch.predictor is 'bimodal' and branch.counters is 0: give it counters, as in counters = 128",
            ));
        }
        for (key, tlb) in [("itlb.entries", self.itlb), ("dtlb.entries", self.dtlb)] {
            if let Some(TlbShape { entries }) = tlb
                && !(1..=1024).contains(&entries)
            {
                return Err(number(key, entries, "from 1 to 1024"));
            }
        }
        for (key, cache) in [("l1i", &self.l1i), ("l1d", &self.l1d), ("l2", &self.l2)] {
            if let Some(shape) = cache {
                shape.cache(key)?;
            }
        }
        if self.l2.is_some() && self.l1i.is_none() && self.l1d.is_none() {
            return Err(CoreError::Contradiction(
                "there is an l2 and neither l1i nor l1d: name a single cache l1d, and another l1i",
            ));
        }
        Ok(())
    }
}

impl CacheShape {
    /// The cache, empty; `key` is what an error calls it.
    pub fn cache(&self, key: &'static str) -> Result<Cache, CoreError> {
        let wrong = |e: CacheError| CoreError::Cache { key, error: e };
        let policy = match self.replacement {
            Policy::Random { .. } => Policy::Random { seed: self.seed },
            policy => policy,
        };
        let write = WritePolicy { back: !self.write_through, allocate: !self.no_write_allocate };
        Cache::new(self.geometry.parse().map_err(wrong)?, policy, write).map_err(wrong)
    }
}

fn number(key: &str, value: u32, must: &'static str) -> CoreError {
    CoreError::Number { key: key.to_string(), value: value.into(), must }
}

/// Converts the parser's error; for an unknown key it lists the keys that exist.
fn describe(message: &str) -> CoreError {
    let mut quoted = message.split('`').skip(1).step_by(2);
    match quoted.next() {
        Some(key) if message.starts_with("unknown field") => {
            CoreError::Key { key: key.to_string(), nearest: nearest(key, quoted) }
        }
        _ => CoreError::Toml(message.trim().to_string()),
    }
}
