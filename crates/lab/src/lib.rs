//! Experiments on RISC-V engines.
//!
//! The bill of a trap splits a crossing into phases: the hardware, saving registers, dispatch, the
//! handler, restoring, returning. A [`Design`] is a kernel entry, an [`Engine`] runs it, a
//! [`TrapBill`] is its cost, and [`record`] makes it an entry of a run.
//!
//! ```
//! use tollgate_lab::{Crossing, Design, Embedded, Engine, Experiment, Phase};
//!
//! let design = Design::find("full").unwrap();
//! let crossing = Crossing::parse("getpid").unwrap();
//! let bill = Embedded.measure(&Experiment { design, crossing, iterations: 10 }).unwrap();
//! let each = bill.each().unwrap();
//! // x1 to x31, pc and status; and the total is the sum of the phases.
//! assert_eq!(each[Phase::Save].stores, 33);
//! assert_eq!(each.total().instructions, bill.spread.min);
//! ```

mod attribution;
mod bill;
pub mod boot;
mod call;
mod calls;
mod cycles;
mod deflated;
mod design;
mod engine;
mod error;
#[cfg(unix)]
pub mod exec;
pub mod exercise;
mod fault;
mod guest;
pub mod icache;
mod image;
pub mod initramfs;
pub mod kernel;
pub mod latency;
mod ledger;
pub mod own;
mod parts;
mod phase;
pub mod pipeline;
mod profile;
pub mod program;
pub mod record;
pub mod rtl;
mod sections;
pub mod source;
mod stacks;
pub mod status;
mod symbols;
pub mod system;
mod tier;
mod trace;
pub mod workload;

pub use bill::{Cost, Engine, Experiment, Phases, Spread, TrapBill};
pub use call::{Crossing, USUAL};
pub use cycles::{After, Cycles, Lost};
pub use design::{DESIGNS, Design, FEATURES, Feature};
pub use engine::{CycleBill, ENGINES, Embedded, External, QEMU, SPIKE};
pub use error::LabError;
pub use image::prepare;
pub use ledger::ProgramLedger;
pub use phase::Phase;
pub use profile::{CallProfile, Profile};
pub use stacks::Path;
pub use tier::{Tier, TierError};
pub use trace::{Filter, Trace, Tracer};
