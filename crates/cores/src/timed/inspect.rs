//! The contents of an attached core, and a new receiver for its passages while it runs.

use super::{Engine, Phases, Sink, Timed};
use crate::microarchitecture::Microarchitecture;
use crate::parts::memory::TranslationBuffer;
use tollgate_riscv::cache::Cache;

impl<P: Phases, S: Sink> Timed<P, S> {
    /// The caches, by name.
    pub fn caches(&self) -> Vec<(&'static str, &Cache)> {
        on!(&self.engine, driver => driver.core.memory().caches())
    }

    /// The translation buffers.
    pub fn translation_buffers(&self) -> Vec<TranslationBuffer> {
        on!(&self.engine, driver => driver.core.memory().translation_buffers())
    }

    /// The stages that its passages have, in the order of [`Stage::ALL`](crate::Stage::ALL).
    pub fn stages(&self) -> [bool; 5] {
        self.engine.stages()
    }

    /// The same core, whose further passages go to another sink. Instructions that were fetched before and are squashed later are
    /// not reported to it.
    #[must_use]
    pub fn with_sink<T: Sink>(self, sink: T) -> Timed<P, T> {
        let Self { core, mut engine, account, phases, accesses, stacked, sequence, privilege, .. } = self;
        on!(&mut engine, driver => driver.slot.traces = T::ACTIVE);
        Timed {
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
