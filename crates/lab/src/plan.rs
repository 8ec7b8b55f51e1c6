//! Plans of the commands: what to measure, from the words of a command line. A request is a command's options, whose
//! comments are its help. A plan that exists can be run; what cannot be measured is a [`PlanError`] that names the option.

mod bill;
mod boot;
mod icache;
mod options;
mod pipeline;
mod program;
mod trap;
mod workload;

pub use bill::{BillPlan, BillRequest};
pub use boot::{BootRequest, Saving, input};
pub use icache::{IcachePlan, IcacheRequest};
pub use options::{PlanError, one_of};
pub use pipeline::{PipelinePlan, PipelineRequest};
pub use program::{ProgramPlan, ProgramRequest, WatchRequest};
pub use trap::{TrapPlan, TrapRequest, WorkloadRequest};
pub use workload::WorkloadPlan;
