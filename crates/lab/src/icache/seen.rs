//! The caches that receive every fetch, and their counts.

use tollgate_riscv::cache::{Cache, CacheError, Causes, Counts, Geometry, Policy, Split, Sweep, WritePolicy};

use super::settings::Settings;
use super::timed::Timing;

/// The counts of one cache.
#[derive(Clone, Debug)]
pub struct CacheReport {
    /// Its shape.
    pub geometry: Geometry,
    /// The replacement policy.
    pub policy: Policy,
    /// An access for each fetch.
    pub counts: Counts,
    /// Why it missed.
    pub split: Split,
    /// The same cache behind a buffer of one line: an access only when a fetch needs another line than the
    /// one before; an instruction in two lines needs both.
    pub line_counts: Counts,
    /// Misses of each set.
    pub set_misses: Vec<u64>,
    /// Accesses to each set.
    pub set_accesses: Vec<u64>,
    /// The miss-ratio curve for lines of this length, fully associative, LRU: lines, and misses with so many.
    pub curve: Vec<(u64, u64)>,
    /// What its misses cost a pipeline, where that was timed.
    pub timing: Option<Timing>,
}

/// The misses of one shape of a sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SweepPoint {
    /// Which.
    pub geometry: Geometry,
    /// Its misses, with LRU.
    pub misses: u64,
}

/// One cache and what is counted beside it.
struct Watched {
    cache: Cache,
    causes: Causes,
    lines: Cache,
    last_line: Option<u64>,
    set_misses: Vec<u64>,
    set_accesses: Vec<u64>,
}

/// All of them.
pub(super) struct Seen {
    caches: Vec<Watched>,
    sweep: Option<Sweep>,
}

/// The shapes of a sweep: lines of 4 to 128 bytes, 1 to 1,024 sets, 1 to 16 ways; 1,056 in all.
const SWEEP_LINES: [u32; 6] = [4, 8, 16, 32, 64, 128];
const SWEEP_SETS: u32 = 1024;
const SWEEP_WAYS: u32 = 16;

impl Seen {
    pub(super) fn new(plan: &Settings) -> Result<Self, CacheError> {
        let watched = |&geometry: &Geometry| -> Result<Watched, CacheError> {
            let cache = Cache::new(geometry, plan.policy, WritePolicy::default())?;
            let zeros = vec![0; geometry.sets() as usize];
            Ok(Watched {
                lines: cache.clone(),
                cache,
                causes: Causes::new(geometry),
                last_line: None,
                set_misses: zeros.clone(),
                set_accesses: zeros,
            })
        };
        let sweep = || Sweep::new(&SWEEP_LINES, SWEEP_SETS, SWEEP_WAYS);
        Ok(Self {
            caches: plan.caches.iter().map(watched).collect::<Result<_, _>>()?,
            sweep: plan.sweep.then(sweep).transpose()?,
        })
    }

    /// An access at an address that needs so many bytes.
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
                    watched.lines.access_line(line, false);
                    watched.last_line = Some(line);
                }
            }
        }
        if let Some(sweep) = &mut self.sweep {
            sweep.access(address);
        }
    }

    pub(super) fn reports(self) -> (Vec<CacheReport>, Vec<SweepPoint>) {
        let caches = self.caches.into_iter().map(|watched| CacheReport {
            geometry: watched.cache.geometry(),
            policy: watched.cache.policy(),
            counts: *watched.cache.counts(),
            split: watched.causes.split(),
            line_counts: *watched.lines.counts(),
            curve: watched.causes.distances().curve(),
            set_misses: watched.set_misses,
            set_accesses: watched.set_accesses,
            timing: None,
        });
        let points = |sweep: &Sweep| -> Vec<SweepPoint> {
            sweep.all().map(|(geometry, misses)| SweepPoint { geometry, misses }).collect()
        };
        (caches.collect(), self.sweep.as_ref().map_or_else(Vec::new, points))
    }
}
