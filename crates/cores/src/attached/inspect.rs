//! What an attached core holds, and changing who receives the passages while it runs.

use super::{Engine, Phases, Sink, TimedCore};
use crate::microarchitecture::Microarchitecture;
use tollgate_riscv::cache::Cache;

/// A translation buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TranslationBuffer {
    /// `ITLB` or `DTLB`.
    pub name: &'static str,
    /// How many translations fit.
    pub capacity: usize,
    /// Those that are there, the most recent first.
    pub translations: Vec<Translation>,
}

/// A translation in a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Translation {
    /// The first virtual address of the page.
    pub page: u64,
    /// Its size as a power of two.
    pub shift: u32,
    /// The value of `satp` that it belongs to; 0 in a core without address space identifiers.
    pub space: u64,
}

impl<P: Phases, S: Sink> TimedCore<P, S> {
    /// The caches, by name.
    pub fn caches(&self) -> Vec<(&'static str, &Cache)> {
        on!(&self.engine, driver => driver.core.memory().caches().collect())
    }

    /// The translation buffers.
    pub fn translation_buffers(&self) -> Vec<TranslationBuffer> {
        on!(&self.engine, driver => driver.core.memory().buffers().map(|(name, tlb)| TranslationBuffer {
            name,
            capacity: tlb.capacity,
            translations: tlb
                .entries
                .iter()
                .map(|entry| Translation {
                    page: entry.page << entry.shift,
                    shift: entry.shift,
                    space: entry.space,
                })
                .collect(),
        }).collect())
    }

    /// The stages that its passages have, in the order of [`Stage::ALL`](crate::Stage::ALL).
    pub fn stages(&self) -> [bool; 5] {
        self.engine.stages()
    }

    /// The same core, whose further passages go to another sink. Instructions that were fetched before and are squashed later are
    /// not reported to it.
    #[must_use]
    pub fn with_sink<T: Sink>(self, sink: T) -> TimedCore<P, T> {
        let Self { core, mut engine, account, phases, accesses, stacked, sequence, privilege, .. } = self;
        on!(&mut engine, driver => driver.slot.traces = T::ACTIVE);
        TimedCore {
            core,
            engine,
            account,
            phases,
            sink,
            accesses,
            stacked,
            sequence,
            sequential: None,
            privilege,
        }
    }
}
