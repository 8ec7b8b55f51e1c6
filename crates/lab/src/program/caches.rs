//! Caches beside a program, counted as Spike's `--ic`, `--dc` and `--l2` count them.

use std::fmt::Write;

use tollgate_riscv::cache::{Cache, CacheError, Geometry, Outcome, Policy, WritePolicy};
use tollgate_riscv::tier::{Counter, Kind, Passed, Quiet, Reported, Sight, View};
use tollgate_riscv::{Access, AccessKind, Observer, Privilege, Retired, Trap};

/// The shapes of the caches that are counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shapes {
    /// Of the instruction cache.
    pub ic: Option<Geometry>,
    /// Of the data cache.
    pub dc: Option<Geometry>,
    /// Of the cache behind both.
    pub l2: Option<Geometry>,
}

/// One cache, and how much was read and written.
struct Level {
    name: &'static str,
    cache: Cache,
    read: u64,
    written: u64,
}

impl Level {
    /// Any line leaves a full set, as in Spike, by our own choices.
    fn new(name: &'static str, geometry: Geometry) -> Result<Self, CacheError> {
        let cache = Cache::new(geometry, Policy::Random { seed: 1 }, WritePolicy::default())?;
        Ok(Self { name, cache, read: 0, written: 0 })
    }

    /// An access.
    fn access(&mut self, address: u64, bytes: u64, store: bool) -> [Option<(u64, bool)>; 2] {
        *if store { &mut self.written } else { &mut self.read } += bytes;
        let outcome = self.cache.access(address, store);
        self.needs(address, outcome)
    }

    /// What an access needs of the next cache: the line written back, and the line brought in.
    fn needs(&self, address: u64, outcome: Outcome) -> [Option<(u64, bool)>; 2] {
        let dirty = outcome.evicted.filter(|line| line.dirty).map(|line| (line.address, true));
        let line = u64::from(self.cache.geometry().line());
        [dirty, (!outcome.hit).then_some((address & !(line - 1), false))]
    }

    /// Counts accesses that hit, and change nothing else.
    fn count(&mut self, (loads, stores): (u64, u64), (loaded, stored): (u64, u64)) {
        self.cache.count_hits(loads, stores);
        self.read += loaded;
        self.written += stored;
    }

    /// The lines that Spike prints.
    fn tell(&self, text: &mut String) {
        let counts = self.cache.counts();
        let Some(hit_rate) = counts.hit_rate() else { return };
        for (what, count) in [
            ("Bytes Read:", self.read),
            ("Bytes Written:", self.written),
            ("Read Accesses:", counts.reads),
            ("Write Accesses:", counts.writes),
            ("Read Misses:", counts.read_misses),
            ("Write Misses:", counts.write_misses),
            ("Writebacks:", counts.writebacks),
        ] {
            let _ = writeln!(text, "{} {what:<23}{count}", self.name);
        }
        let _ = writeln!(text, "{} {:<23}{:.3}%", self.name, "Miss Rate:", 100.0 * (1.0 - hit_rate));
    }
}

/// Counts every fetch, load and store of a run.
pub(super) struct Caches {
    ic: Option<Level>,
    dc: Option<Level>,
    l2: Option<Level>,
    /// Those of the instruction that is being executed: its fetch comes first.
    accesses: Vec<Access>,
}

impl Caches {
    pub(super) fn new(shapes: &Shapes) -> Result<Self, CacheError> {
        let level = |name, shape: Option<Geometry>| shape.map(|shape| Level::new(name, shape)).transpose();
        let [ic, dc, l2] = [level("I$", shapes.ic)?, level("D$", shapes.dc)?, level("L2$", shapes.l2)?];
        Ok(Self { ic, dc, l2, accesses: Vec::new() })
    }

    /// What was counted, one cache after the other.
    pub(super) fn tell(&self) -> String {
        let mut text = String::new();
        for level in [&self.ic, &self.dc, &self.l2].into_iter().flatten() {
            level.tell(&mut text);
        }
        text
    }

    fn access(first: &mut Option<Level>, l2: &mut Option<Level>, address: u64, bytes: u64, store: bool) {
        let Some(first) = first else { return };
        let needed = first.access(address, bytes, store);
        Self::next(l2, needed, first.cache.geometry().line());
    }

    fn next(l2: &mut Option<Level>, needed: [Option<(u64, bool)>; 2], line: u32) {
        let Some(l2) = l2 else { return };
        for (address, store) in needed.into_iter().flatten() {
            l2.access(address, line.into(), store);
        }
    }
}

impl Caches {
    fn data(&mut self, access: &Access) {
        Self::access(&mut self.dc, &mut self.l2, access.pa, u64::from(access.size), access.store);
    }

    /// What the instruction accessed that has ended.
    fn end(&mut self) {
        for access in std::mem::take(&mut self.accesses) {
            self.data(&access);
        }
    }
}

impl Observer for Caches {
    const RETIRE: bool = true;
    const MEMORY: bool = true;
    const TRAP: bool = true;

    fn counter(&mut self) -> Option<&mut dyn Counter> {
        Some(self)
    }

    fn retire(&mut self, retired: &Retired) {
        Self::access(&mut self.ic, &mut self.l2, retired.pa, u64::from(retired.insn.len), false);
        self.end();
    }

    fn access(&mut self, access: &Access) {
        if access.kind == AccessKind::Stacking {
            self.data(access);
        } else {
            self.accesses.push(*access);
        }
    }

    fn trap(&mut self, _: &Trap) {
        self.end();
    }
}

impl Counter for Caches {
    fn sight(&self) -> Sight {
        let view = |level: &Option<Level>| View {
            lines: level.as_ref().map(|level| level.cache.line_view()),
            pages: false,
        };
        Sight { fetches: view(&self.ic), data: view(&self.dc), bytes: true }
    }

    fn quiet_fetches(&mut self, _: Privilege) -> Quiet<'_> {
        Quiet { lines: self.ic.as_mut().map_or(&[], |level| level.cache.quiet()), ..Quiet::default() }
    }

    fn quiet_data(&mut self, _: Privilege) -> Quiet<'_> {
        Quiet { lines: self.dc.as_mut().map_or(&[], |level| level.cache.quiet()), ..Quiet::default() }
    }

    fn report_noted(&mut self, noted: &[u64]) {
        let Some(first) = &mut self.dc else { return };
        for &noted in noted {
            let address = noted >> 2 << first.cache.geometry().line_shift();
            let outcome = first.cache.access_noted(noted);
            Self::next(&mut self.l2, first.needs(address, outcome), first.cache.geometry().line());
        }
    }

    fn report(&mut self, access: &Reported) {
        let store = access.kind == Kind::Store;
        let first = if access.kind == Kind::Fetch { &mut self.ic } else { &mut self.dc };
        // (All bytes are counted later.)
        Self::access(first, &mut self.l2, access.pa, 0, store);
        if let Some(first) = first {
            first.cache.count_again(store);
        }
    }

    fn count(&mut self, passed: &Passed) {
        if let Some(ic) = &mut self.ic {
            ic.count((passed.instructions, 0), (passed.fetched_bytes, 0));
        }
        if let Some(dc) = &mut self.dc {
            dc.count((passed.loads, passed.stores), (passed.loaded_bytes, passed.stored_bytes));
        }
    }
}
