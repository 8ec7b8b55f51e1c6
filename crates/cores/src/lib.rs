//! How many cycles everything takes: an in-order core attached to the machine from outside.
//!
//! The machine executes; what retires, traps and is accessed goes through a [`Core`]'s pipe, caches, translation
//! buffers and predictors, and every cycle is charged to a phase and a [`Cause`]. The guest is not affected: its
//! `mcycle` and `mtime` stay what the functional machine makes them.
//!
//! [`Timed`] attaches a core, with phases and stage diagrams. [`CacheCounter`] counts what caches and translation buffers do,
//! without the pipe.
//!
//! ```
//! use tollgate_cores::{Cause, Core, Timed};
//! use tollgate_riscv::{Config, Machine};
//! let mut machine = Machine::new(Config::default()).unwrap();
//! // lw a0, 0(sp); addi a0, a0, 1
//! for (i, word) in [0x0001_2503u32, 0x0015_0513].iter().enumerate() {
//!     machine.write_memory(0x8000_0000 + 4 * i as u64, &word.to_le_bytes()).unwrap();
//! }
//! machine.set_x(2, 0x8000_1000);
//! let mut timed = Timed::new(&Core::preset("ripes-5stage").unwrap(), (), ()).unwrap();
//! machine.run(2, &mut timed);
//! // Two instructions, four cycles to fill the pipe, one to wait for the load.
//! assert_eq!(timed.cycles(), 7);
//! assert_eq!(timed.ledger().of_cause(Cause::LoadUse), 1);
//! assert_eq!(timed.ledger().total(), timed.cycles());
//! ```

mod access;
mod account;
mod core;
mod counted;
mod csr;
mod cv32e40x;
mod cva6;
mod designs;
#[cfg(test)]
mod example;
mod ibex;
mod keys;
mod ledger;
mod microarchitecture;
mod parts;
mod passage;
mod phases;
mod picorv32;
mod rocket;
mod slot;
mod textbook;
mod timed;
mod vexriscv;

pub use self::core::{Core, CoreError};
pub use account::TimingCounts;
pub use counted::CacheCounter;
pub use csr::CsrFlushes;
pub use keys::{
    Branches, CacheShape, Design, Front, Kind, Memory, Operation, Operations, Pipeline, Predictor,
    ScoreboardShape, StoreBuffer, System, TlbShape, Traps,
};
pub use ledger::{Cause, Causes, Ledger};
pub use parts::memory::{MemoryCounts, Translation, TranslationBuffer};
pub use passage::{Flush, Passage, Sink, Stage, Stall};
pub use phases::{ByPrivilege, Phases};
pub use timed::Timed;
