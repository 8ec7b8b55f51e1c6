//! Plans of the commands: what to measure, from the words of a command line. A plan that exists can be run; what
//! cannot be measured is a [`PlanError`] that names the option.

mod boot;
mod icache;
mod options;
mod pipeline;
mod program;
mod trap;
mod workload;

pub use boot::{BOOT_ISA, BootRequest, input};
pub use icache::{IcachePlan, IcacheRequest};
pub use options::PlanError;
pub use pipeline::{PipelinePlan, PipelineRequest};
pub use program::{ProgramPlan, ProgramRequest, watch};
pub use trap::{TrapPlan, TrapRequest};
pub use workload::{WorkloadPlan, WorkloadRequest};
