//! Which keys each design reads.

use strum::VariantArray;

use super::core::{CoreError, nearest};
use super::keys::Design;

/// The keys of every core: a name, caches, translation buffers and memory.
const COMMON: &[&str] = &[
    "name",
    "about",
    "base",
    "design",
    "l1i",
    "l1d",
    "l2",
    "itlb",
    "dtlb",
    "system.asid-bits",
    "memory.latency",
    "memory.device",
    "memory.device-on-bus",
    "memory.miss",
    "memory.fetch-miss",
    "memory.write-back",
    "memory.walk-write-back",
    "memory.write-back-compare",
    "memory.fault-walks",
    "memory.walk",
    "memory.fetch-walk",
    "memory.fetch-walk-step",
    "memory.walk-level",
    "memory.walk-cache",
];

/// A predictor of plain tables.
const TABLES: &[&str] = &["branch.predictor", "branch.counters", "branch.btb", "branch.return-stack"];

/// Operations of which one begins when the one before has ended.
const SERIAL: &[&str] =
    &["operation.*.cycles", "operation.divide.by-zero", "operation.divide.digits", "operation.shift.step"];

impl Design {
    /// The keys that it reads besides [`COMMON`] ones, a part that is `*` for any. A table stands for all that it contains.
    fn own_keys(self) -> &'static [&'static [&'static str]] {
        match self {
            Design::Textbook => &[
                TABLES,
                SERIAL,
                &["operation.*.pipelined", "operation.*.late", "operation.*.use"],
                &["branch", "trap.exception", "trap.interrupt", "trap.interrupt-delay", "trap.return"],
                &["pipeline", "trap.ecall-reads", "system", "memory.stores-wait"],
            ],
            Design::Ibex | Design::Picorv32 => &[TABLES, SERIAL, &["memory.stores-wait"]],
            Design::Vexriscv => &[
                TABLES,
                SERIAL,
                &["operation.*.pipelined", "operation.*.late", "operation.*.use"],
                &["memory.store-slots", "memory.stores-wait", "system.satp-empties"],
            ],
            Design::Cv32e40x => &[&["operation.*.cycles", "memory.stores-wait"]],
            Design::Rocket => &[
                &["operation.iterative", "operation.float.cycles", "operation.float-multiply.cycles"],
                &["operation.double.cycles", "operation.float-to-integer.cycles"],
                &["operation.float-divide.cycles", "operation.float-divide.digits"],
                &["operation.float-divide-single.cycles"],
                &["branch.counters", "branch.btb", "branch.return-stack"],
                &["memory.fetch-miss-step", "memory.fetch-fill", "memory.line-words", "memory.request"],
                &["memory.fetch-request", "memory.tag-update", "memory.device-posted", "memory.stores-wait"],
            ],
            Design::Cva6 => &[
                &["front", "scoreboard", "stores", "trap.return-fault", "memory.write-latency"],
                &["branch.counters", "branch.btb", "branch.return-stack"],
                &["operation.multiply.cycles", "operation.multiply-high.cycles"],
                &["operation.divide.cycles", "operation.divide.by-zero", "operation.divide.digits"],
                &["operation.float.cycles", "operation.float-multiply.cycles", "operation.double.cycles"],
                &["operation.float-move.cycles", "operation.float-convert.cycles"],
                &["operation.float-to-integer.cycles", "operation.float-divide-single.cycles"],
                &["operation.float-divide.cycles", "operation.float-divide.digits"],
            ],
        }
    }

    fn keys(self) -> impl Iterator<Item = &'static str> {
        self.own_keys().iter().chain(&[COMMON]).flat_map(|keys| keys.iter().copied())
    }

    /// All designs.
    pub const ALL: &'static [Design] = Self::VARIANTS;

    /// Its name in a file.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// True if its code reads a key, such as `memory.latency`. A `*` in the list matches any name.
    pub fn reads(self, key: &str) -> bool {
        self.keys().any(|read| covers(read, key))
    }

    /// Refuses a table with a key that the design does not read.
    pub(super) fn check_keys(self, table: &toml::Table) -> Result<(), CoreError> {
        let mut keys = Vec::new();
        flatten("", table, &mut keys);
        let Some(key) = keys.into_iter().find(|key| !self.reads(key)) else { return Ok(()) };
        let parts: Vec<&str> = key.split('.').collect();
        // A `*` matches the name that was given.
        let named = |read: &str| match parts[..] {
            [_, name, _] => Some(read.replace('*', name)),
            _ => Some(read.to_owned()).filter(|read| !read.contains('*')),
        };
        let table: Vec<String> = self
            .keys()
            .filter(|read| read.split('.').next() == parts.first().copied())
            .filter_map(named)
            .collect();
        let others = match nearest(&key, table.iter().map(String::as_str)) {
            none if none.is_empty() => format!("it reads no key of '{}'", parts[0]),
            nearest => format!("the nearest that it reads is '{nearest}'"),
        };
        Err(CoreError::Unread { design: self.name(), key, others })
    }
}

/// True for a key that is read, and for every key of a table that is read whole.
fn covers(read: &str, key: &str) -> bool {
    // (A number, such as `operation.iterative`, is not a table.)
    let any = key.contains('*') && read.split('.').count() == key.split('.').count();
    let mut parts = key.split('.');
    let same = |read: &str, part: &str| read == "*" || read == part || any && part == "*";
    read.split('.').all(|read| parts.next().is_some_and(|part| same(read, part)))
}

/// The keys of a table, those of the tables in it included.
fn flatten(before: &str, table: &toml::Table, keys: &mut Vec<String>) {
    for (key, value) in table {
        let key = format!("{before}{key}");
        match value {
            toml::Value::Table(inner) if !inner.is_empty() => flatten(&format!("{key}."), inner, keys),
            _ => keys.push(key),
        }
    }
}
