//! A core's stages, latencies, caches and translation buffers, read from TOML.

use serde::Deserialize;

use super::keys::*;
use tollgate_riscv::Config;
use tollgate_riscv::cache::{Cache, CacheError, Policy, WritePolicy};

/// A core. Each design reads some of the keys ([`Design::reads`]); what the others say is fixed by its code. A file may give only
/// what its design reads; of a core that is changed afterwards, the other fields have no effect.
///
/// ```
/// use tollgate_cores::{Core, Kind};
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
    /// A bundled core, whose keys apply wherever this file does not give them.
    pub base: Option<String>,
    /// Its microarchitecture; the other keys are its parameters.
    pub design: Design,
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
    /// The front end of a core with a scoreboard.
    pub front: Front,
    /// Issue, execution and commit of a core with a scoreboard.
    pub scoreboard: ScoreboardShape,
    /// Stores between commit and memory, of a core with a scoreboard.
    pub stores: StoreBuffer,
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
    #[error("'{design}' has no key '{key}': its code fixes that; {others}")]
    Unread { design: &'static str, key: String, others: String },
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
                    $($name => Some(include_str!(concat!("../presets/", $name, ".toml"))),)*
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
    "ibex",
    "picorv32",
    "vexriscv",
    "cv32e40x",
    "rocket",
    "cva6",
);

pub(super) fn nearest<'a>(typed: &str, names: impl Iterator<Item = &'a str>) -> String {
    let score = |name: &str| strsim::normalized_damerau_levenshtein(name, typed);
    names.max_by(|a, b| score(a).total_cmp(&score(b))).unwrap_or_default().to_string()
}

impl Core {
    /// Names that bundled cores had in earlier versions, and what they are called now. Both select the core.
    pub const ALIASES: &'static [(&'static str, &'static str)] =
        &[("ibex-like", "ibex"), ("rocket-like", "rocket"), ("cva6-like", "cva6"), ("cva6-2022", "cva6")];

    /// A bundled core, by its name or an [earlier one](Self::ALIASES).
    pub fn preset(name: &str) -> Result<Self, CoreError> {
        Self::from_toml(Self::preset_text(name)?)
    }

    fn preset_text(name: &str) -> Result<&'static str, CoreError> {
        let alias = Self::ALIASES.iter().find(|(earlier, _)| *earlier == name);
        Self::preset_toml(alias.map_or(name, |(_, now)| now)).ok_or_else(|| {
            let nearest = nearest(name, Self::PRESETS.iter().copied());
            CoreError::Preset { name: name.to_string(), nearest }
        })
    }

    /// Reads a core from TOML.
    pub fn from_toml(text: &str) -> Result<Self, CoreError> {
        let mut core: Core = toml::from_str(text).map_err(wrong)?;
        if core.base.is_some() {
            core = toml::Value::Table(with_base(text)?).try_into().map_err(wrong)?;
        }
        core.design.check_keys(&toml::from_str(text).map_err(wrong)?)?;
        core.check()?;
        Ok(core)
    }

    /// The same core with its known fault on (`cva6`: `sret` while a fetch that missed is never resolved).
    pub fn with_fault(mut self) -> Self {
        self.fault = true;
        self.name.push_str("+fault");
        self
    }

    /// How a machine that executes for this core differs from the usual one.
    pub fn config(&self) -> Config {
        let usual = Config::default();
        Config { asid_bits: self.system.asid_bits.unwrap_or(usual.asid_bits), ..usual }
    }

    /// Checks for invalid numbers. Every function that takes a core does this first.
    pub fn check(&self) -> Result<(), CoreError> {
        let (o, p, s, b, t, m) =
            (&self.operation, &self.pipeline, &self.system, &self.branch, &self.trap, &self.memory);
        for (key, operation) in [
            ("operation.arithmetic", o.arithmetic),
            ("operation.shift", o.shift.unwrap_or_default()),
            ("operation.load", o.load.unwrap_or_default()),
            ("operation.store", o.store.unwrap_or_default()),
            ("operation.branch", o.branch.unwrap_or_default()),
            ("operation.jump", o.jump.unwrap_or_default()),
            ("operation.indirect", o.indirect.unwrap_or_default()),
            ("operation.fence-i", o.fence_i.unwrap_or_default()),
            ("operation.multiply", o.multiply),
            ("operation.multiply-high", o.multiply_high.unwrap_or_default()),
            ("operation.divide", o.divide),
            ("operation.float", o.float),
            ("operation.float-multiply", o.float_multiply),
            ("operation.float-divide", o.float_divide),
            ("operation.float-move", o.float_move.unwrap_or_default()),
            ("operation.float-convert", o.float_convert.unwrap_or_default()),
            ("operation.atomic", o.atomic),
        ] {
            if operation.cycles == 0 || operation.cycles > ABSURD {
                return Err(number(&format!("{key}.cycles"), operation.cycles, "from 1 to 10000 cycles"));
            }
            if operation.by_zero > ABSURD || operation.by_zero > 0 && key != "operation.divide" {
                let must = "at most 10000 cycles, and only 'divide' has it";
                return Err(number(&format!("{key}.by-zero"), operation.by_zero, must));
            }
            if operation.use_ > ABSURD {
                return Err(number(&format!("{key}.use"), operation.use_, "at most 10000 cycles"));
            }
            if operation.step > 64 || operation.step > 0 && key != "operation.shift" {
                let must = "at most 64 places, and only 'shift' has it";
                return Err(number(&format!("{key}.step"), operation.step, must));
            }
        }
        for (key, value) in [
            ("pipeline.load-use", p.load_use),
            ("pipeline.memory-wait", p.memory_wait),
            ("system.csr-use", s.csr_use),
            ("system.csr-flush", s.csr_flush),
            ("system.fence-i", s.fence_i),
            ("system.sfence-vma", s.sfence_vma),
            ("branch.settle", b.settle),
            ("branch.mispredict", b.mispredict),
            ("branch.taken", b.taken),
            ("branch.jump", b.jump),
            ("branch.indirect", b.indirect),
            ("trap.exception", t.exception),
            ("trap.interrupt", t.interrupt),
            ("trap.interrupt-delay", t.interrupt_delay),
            ("trap.return", t.return_),
            ("trap.return-fault", t.return_fault),
            ("memory.latency", m.latency),
            ("memory.miss", m.miss),
            ("memory.fetch-miss", m.fetch_miss),
            ("memory.fetch-miss-step", m.fetch_miss_step),
            ("memory.fetch-fill", m.fetch_fill),
            ("memory.line-words", m.line_words),
            ("memory.request", m.request),
            ("memory.fetch-request", m.fetch_request),
            ("memory.write-back-compare", m.write_back_compare),
            ("memory.write-back", m.write_back),
            ("memory.walk-write-back", m.walk_write_back.unwrap_or(0)),
            ("memory.device", m.device),
            ("memory.walk", m.walk),
            ("memory.fetch-walk", m.fetch_walk.unwrap_or(0)),
            ("memory.fetch-walk-step", m.fetch_walk_step),
            ("memory.write-latency", m.write_latency.unwrap_or(0)),
            ("memory.walk-level", m.walk_level.unwrap_or(1)),
            ("scoreboard.load", self.scoreboard.load),
            ("scoreboard.walk", self.scoreboard.walk),
            ("scoreboard.atomic", self.scoreboard.atomic),
            ("stores.answer", self.stores.answer),
            ("l2.hit", self.l2.as_ref().map_or(0, |c| c.hit)),
        ] {
            if value > ABSURD {
                return Err(number(key, value, "at most 10000 cycles"));
            }
        }
        for (kind, value) in s.csr_flush_of.all() {
            if let Some(value) = value.filter(|&value| value > ABSURD) {
                return Err(number(&format!("system.csr-flush-of.{kind}"), value, "at most 10000 cycles"));
            }
        }
        if let Some(bits) = s.asid_bits.filter(|&bits| bits > 16) {
            return Err(number("system.asid-bits", bits, "at most 16"));
        }
        self.memory.tables()?;
        for (key, value, least) in [
            ("operation.iterative", o.iterative, 1),
            ("pipeline.fetch-width", p.fetch_width, 2),
            ("pipeline.data-width", p.data_width, 1),
            ("branch.counters", b.counters, 1),
            ("branch.btb", if self.design == Design::Rocket { b.btb.next_power_of_two() } else { b.btb }, 1),
        ] {
            if value != 0 && (!value.is_power_of_two() || value < least || value > 1 << 20) {
                return Err(number(key, value, "a power of two, or 0 for none"));
            }
        }
        if m.store_slots > 64 {
            return Err(number("memory.store-slots", m.store_slots, "at most 64"));
        }
        if self.design == Design::Cva6 {
            let (f, s, w) = (&self.front, &self.scoreboard, &self.stores);
            for (key, value) in [
                ("front.queue", f.queue),
                ("scoreboard.entries", s.entries),
                ("scoreboard.commits", s.commits),
                ("stores.queue", w.queue),
                ("stores.words", w.words),
                ("stores.writes", w.writes),
            ] {
                if !(1..=256).contains(&value) {
                    return Err(number(key, value, "from 1 to 256"));
                }
            }
        }
        if b.return_stack > 1024 {
            return Err(number("branch.return-stack", b.return_stack, "at most 1024"));
        }
        if self.design == Design::Rocket {
            for (key, value, least, must) in [
                ("branch.counters", b.counters, 8, "at least 8"),
                ("operation.iterative", o.iterative, 1, "a power of two, at least 1"),
            ] {
                if value < least {
                    return Err(number(key, value, must));
                }
            }
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
            Policy::Lfsr16 { .. } => Policy::Lfsr16 { moves: self.seed },
            policy => policy,
        };
        let write = WritePolicy { back: !self.write_through, allocate: !self.no_write_allocate };
        Cache::new(self.geometry.parse().map_err(wrong)?, policy, write).map_err(wrong)
    }
}

impl super::keys::Memory {
    /// The empty cache of a page-table walker.
    pub(super) fn tables(&self) -> Result<Option<Cache>, CoreError> {
        let wrong = |error| CoreError::Cache { key: "memory.walk-cache", error };
        let geometry = |entries| format!("1:{entries}:8").parse().map_err(wrong);
        let cache =
            |entries| Cache::new(geometry(entries)?, Policy::Plru, WritePolicy::default()).map_err(wrong);
        (self.walk_cache > 0).then(|| cache(self.walk_cache)).transpose()
    }
}

/// The keys of a core, and those of its base that it does not give.
fn with_base(text: &str) -> Result<toml::Table, CoreError> {
    let keys: toml::Table = toml::from_str(text).map_err(wrong)?;
    let Some(toml::Value::String(base)) = keys.get("base") else { return Ok(keys) };
    let mut all = with_base(Core::preset_text(base)?)?;
    overlay(&mut all, keys);
    Ok(all)
}

/// Puts keys over others, table by table.
fn overlay(under: &mut toml::Table, over: toml::Table) {
    for (key, value) in over {
        match (under.get_mut(&key), value) {
            (Some(toml::Value::Table(under)), toml::Value::Table(over)) => overlay(under, over),
            (_, value) => drop(under.insert(key, value)),
        }
    }
}

fn wrong(error: toml::de::Error) -> CoreError {
    describe(error.message())
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
