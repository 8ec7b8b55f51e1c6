//! The caches that receive every fetch, and the report of their counts.

use tollgate_riscv::cache::{Cache, CacheError, Causes, Geometry, Sweep, WritePolicy};

use super::code::{Code, Mix};
use super::settings::{Build, Count, Settings};
use super::timed::Timing;

/// One cache, and what is counted beside it.
#[derive(Clone, Debug)]
pub struct CacheReport {
    /// The cache: an access for each fetch.
    pub cache: Cache,
    /// Why it missed, and the miss-ratio curve for lines of its length, fully associative, LRU.
    pub causes: Causes,
    /// The same cache behind a buffer of one line: an access only when a fetch needs another line than the
    /// one before; an instruction in two lines needs both.
    pub buffered: Cache,
    last_line: Option<u64>,
    /// Misses of each set.
    pub set_misses: Vec<u64>,
    /// Accesses to each set.
    pub set_accesses: Vec<u64>,
    /// The cost of its misses on a pipeline, if that was timed.
    pub timing: Option<Timing>,
}

/// The accesses and misses of a program.
#[derive(Clone, Debug)]
pub struct Report {
    /// The program.
    pub build: Build,
    /// Its code.
    pub code: Code,
    /// The definition of an access.
    pub count: Count,
    /// The instructions that ran.
    pub dynamic_mix: Mix,
    /// Accesses to the instruction cache.
    pub accesses: u64,
    /// Cycles, without any miss: instructions, or those of the five-stage pipeline.
    pub cycles: u64,
    /// Whether the program ended; otherwise it was stopped at its limit of instructions.
    pub ended: bool,
    /// Each cache.
    pub caches: Vec<CacheReport>,
    /// Misses of the shapes of a sweep, with LRU.
    pub sweep: Vec<(Geometry, u64)>,
}

/// All caches.
pub(super) struct Seen {
    pub(super) caches: Vec<CacheReport>,
    sweep: Option<Sweep>,
}

/// The shapes of a sweep: lines of 4 to 128 bytes, 1 to 1,024 sets, 1 to 16 ways; 1,056 in all.
const SWEEP_LINES: [u32; 6] = [4, 8, 16, 32, 64, 128];
const SWEEP_SETS: u32 = 1024;
const SWEEP_WAYS: u32 = 16;

impl Seen {
    pub(super) fn new(plan: &Settings) -> Result<Self, CacheError> {
        let watched = |&geometry: &Geometry| -> Result<CacheReport, CacheError> {
            let cache = Cache::new(geometry, plan.policy, WritePolicy::default())?;
            let zeros = vec![0; geometry.sets() as usize];
            Ok(CacheReport {
                buffered: cache.clone(),
                cache,
                causes: Causes::new(geometry),
                last_line: None,
                set_misses: zeros.clone(),
                set_accesses: zeros,
                timing: None,
            })
        };
        let sweep = || Sweep::new(&SWEEP_LINES, SWEEP_SETS, SWEEP_WAYS);
        Ok(Self {
            caches: plan.caches.iter().map(watched).collect::<Result<_, _>>()?,
            sweep: plan.sweep.then(sweep).transpose()?,
        })
    }

    /// An access of a number of bytes at an address.
    pub(super) fn access(&mut self, address: u64, bytes: u64) {
        for watched in &mut self.caches {
            let geometry = watched.cache.geometry();
            let shift = geometry.line_shift();
            let first = address >> shift;
            let hit = watched.cache.access_line(first, false).hit;
            watched.causes.access(address, hit);
            let set = first as usize & (watched.set_misses.len() - 1);
            watched.set_accesses[set] += 1;
            watched.set_misses[set] += u64::from(!hit);
            for line in first..=(address + (bytes - 1)) >> shift {
                if watched.last_line != Some(line) {
                    watched.buffered.access_line(line, false);
                    watched.last_line = Some(line);
                }
            }
        }
        if let Some(sweep) = &mut self.sweep {
            sweep.access(address);
        }
    }

    /// Misses of the shapes of the sweep, with LRU.
    pub(super) fn swept(&self) -> Vec<(Geometry, u64)> {
        self.sweep.as_ref().map_or_else(Vec::new, |sweep| sweep.all().collect())
    }
}
