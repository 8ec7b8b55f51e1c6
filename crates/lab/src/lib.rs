//! Experiments on RISC-V engines.
//!
//! The bill of a trap: which part of a crossing is the hardware, which is saving registers, dispatch, the
//! handler, restoring, returning. A [`Design`] is a kernel with what is asked of it, an [`Engine`] runs it, a
//! [`TrapBill`] says what it cost, and [`record`] makes it an entry of a run.
//!
//! ```
//! use tollgate_lab::{Crossing, Design, Embedded, Engine, Experiment, Phase};
//!
//! let design = Design::find("full").unwrap();
//! let crossing = Crossing::parse("getpid").unwrap();
//! let bill = Embedded.measure(&Experiment { design, crossing, iterations: 10 }).unwrap();
//! let each = bill.each().unwrap();
//! // x1 to x31, pc and status; and the total is what the phases add up to.
//! assert_eq!(each[Phase::Save].stores, 33);
//! assert_eq!(each.total().instructions, bill.spread.min);
//! ```

mod attribution;
mod bill;
mod call;
mod cycles;
mod design;
mod engine;
mod guest;
pub mod icache;
mod image;
pub mod latency;
mod phase;
pub mod pipeline;
mod profile;
pub mod program;
pub mod record;
mod symbols;
mod trace;
pub mod workload;

pub use bill::{Cost, Experiment, Phases, Spread, TrapBill};
pub use call::{Crossing, NAMED, USUAL};
pub use cycles::{After, Cycles, Lost, Table, WARMING};
pub use design::{DESIGNS, Design};
pub use engine::{CycleBill, ENGINES, Embedded, Engine, Qemu, Spike, find as find_engine};
pub use image::prepare;
pub use phase::Phase;
pub use profile::{CallProfile, Profile};
pub use trace::{Trace, Tracer};

/// Why an experiment could not be done.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LabError {
    /// No such call.
    #[error("`{call}` is no system call: give a number up to 4095 or one of {known}")]
    UnknownCall {
        /// What was asked for.
        call: String,
        /// The names there are.
        known: String,
    },
    /// A call that does not return to its caller, or not alone.
    #[error("call {0} does not simply return, so a round trip cannot be measured; take another, as getpid")]
    UnsuitableCall(String),
    /// The engine is not on this machine: skip.
    #[error("{engine} is not on PATH; {install}")]
    EngineMissing {
        /// Which.
        engine: &'static str,
        /// What would make it available.
        install: &'static str,
    },
    /// This engine cannot do this experiment: skip.
    #[error("{engine} cannot measure this: {reason}")]
    NotHere {
        /// Which engine.
        engine: &'static str,
        /// Why.
        reason: &'static str,
    },
    /// The engine ran and did not give a result.
    #[error("{engine} gave no result; its last words: {said}")]
    EngineFailed {
        /// Which.
        engine: &'static str,
        /// What it printed last.
        said: String,
    },
    /// A built image is not what its sources make.
    #[error("a guest image is damaged ({0}); rebuild with `cargo xtask guests`")]
    Image(String),
    /// The machine refused an image.
    #[error("the machine refused the guest: {0}")]
    Machine(String),
    /// The guest did not do what it was built for.
    #[error("the guest {0}")]
    Guest(String),
    /// The bill and the guest's own counters do not say the same; one of them is wrong, so neither is shown.
    #[error("the bill says {outside} and the counter {inside}: neither can be trusted")]
    Disagreement {
        /// Seen from outside.
        outside: u64,
        /// Seen from inside.
        inside: u64,
    },
    /// The core cannot be.
    #[error("{0}")]
    Core(#[from] tollgate_riscv::timing::CoreError),
    /// A file of our own could not be written or read.
    #[error("cannot use the temporary directory: {0}")]
    Scratch(std::io::Error),
}

impl LabError {
    /// Whether this means that there is nothing wrong, only nothing to measure with.
    #[must_use]
    pub fn is_skip(&self) -> bool {
        matches!(self, Self::EngineMissing { .. } | Self::NotHere { .. })
    }
}
