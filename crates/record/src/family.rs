//! `asked` and `found`, typed for each family of measurements.
//!
//! `asked` is what the user or the plan chose: two results with equal `asked` are the same experiment, and
//! comparison pairs by it. `found` is what the run learned on the way: it may differ between two runs of one
//! experiment. Figures, proofs, phases and counters have fields of their own in [`crate::Measurement`].

mod boundary;
mod exec;
mod imported;
mod ring;
mod riscv;
mod runtime;
mod scan;

pub use boundary::{GuestFound, ProbeAsked, ProbeFound};
pub use exec::{
    CallSite, ExecAsked, ExecFound, Frame, RefillFound, RepeatFound, Saving, TimingWindows, TollFound,
};
pub use imported::{ImportedAsked, ImportedFound};
pub use ring::{KneeAsked, KneeFound, LeftOut, RingAsked, RingFound};
pub use riscv::{
    Accesses, CacheShape, Caches, CallFound, CyclesCompared, FeatureAsked, FunctionFound, GuestCrossing,
    GuestExec, GuestSite, IcacheAsked, IcacheFound, LatencyAsked, PathFound, PhaseCompared, PipelineAsked,
    PipelineFound, Policy, ProgramAsked, ProgramFound, SweepCurve, TrapAsked, TrapFound, ValidationAsked,
    ValidationFound, Wait, WorkloadAsked,
};
pub use runtime::{RuntimeAsked, RuntimeFound};
pub use scan::{ScanAsked, ScanFound};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Declares an enum over families, with one accessor for each variant.
macro_rules! families {
    ($(#[$doc:meta])* $name:ident, $nothing:literal: $($(#[$of:meta])* $variant:ident($kind:ty) = $get:ident,)+) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(tag = "family", rename_all = "kebab-case")]
        pub enum $name {
            #[doc = $nothing]
            #[default]
            Nothing,
            $($(#[$of])* $variant($kind),)+
        }

        impl $name {
            $(
                #[doc = concat!("The fields of [`", stringify!($name), "::", stringify!($variant), "`], for a result of that family.")]
                pub fn $get(&self) -> Option<&$kind> {
                    match self {
                        Self::$variant(of) => Some(of),
                        _ => None,
                    }
                }
            )+

            /// Whether there is nothing in it; the record leaves it out then.
            pub fn is_nothing(&self) -> bool {
                *self == Self::Nothing
            }

            /// Every field that has a value, by its name in the record and sorted by it: for views that print
            /// any family alike.
            pub fn fields(&self) -> Map<String, Value> {
                match serde_json::to_value(self) {
                    Ok(Value::Object(mut fields)) => {
                        fields.remove("family");
                        fields
                    }
                    _ => Map::new(),
                }
            }
        }
    };
}

families! {
    /// What the user or the plan chose.
    Asked, "The probe's id says everything.":
    /// A mechanism of this host.
    Probe(ProbeAsked) = probe,
    /// One cell of a ring of tasks.
    Ring(RingAsked) = ring,
    /// What the cells of a ring tell about one cache.
    Knee(KneeAsked) = knee,
    /// A scan of a mapped file.
    Scan(ScanAsked) = scan,
    /// The toll of a program.
    Exec(ExecAsked) = exec,
    /// A switch in a runtime or language.
    Runtime(RuntimeAsked) = runtime,
    /// The bill of a trap on a RISC-V engine.
    Trap(TrapAsked) = trap,
    /// A workload that traps on a RISC-V core.
    Workload(WorkloadAsked) = workload,
    /// A stage diagram of a RISC-V pipeline.
    Pipeline(PipelineAsked) = pipeline,
    /// Interrupt latency over the phases of a loop.
    Latency(LatencyAsked) = latency,
    /// A program on a timed core and on the RTL of a real one.
    Validation(ValidationAsked) = validation,
    /// A program's fetches through an instruction cache.
    Icache(IcacheAsked) = icache,
    /// A program run on the RISC-V machine.
    Program(ProgramAsked) = program,
    /// A result of another tool.
    Imported(ImportedAsked) = imported,
}

families! {
    /// What the run learned beside its figures.
    Found, "Nothing beside the figures.":
    /// A mechanism of this host.
    Probe(ProbeFound) = probe,
    /// One cell of a ring of tasks.
    Ring(RingFound) = ring,
    /// What the cells of a ring tell about one cache.
    Knee(KneeFound) = knee,
    /// A scan of a mapped file.
    Scan(ScanFound) = scan,
    /// The toll of a program.
    Exec(ExecFound) = exec,
    /// The toll at one boundary.
    Toll(TollFound) = toll,
    /// A switch in a runtime or language.
    Runtime(RuntimeFound) = runtime,
    /// A crossing timed inside a bare guest.
    Guest(GuestFound) = guest,
    /// The bill of a trap on a RISC-V engine.
    Trap(TrapFound) = trap,
    /// A stage diagram of a RISC-V pipeline.
    Pipeline(PipelineFound) = pipeline,
    /// A program's fetches through an instruction cache.
    Icache(IcacheFound) = icache,
    /// A program run on the RISC-V machine.
    Program(ProgramFound) = program,
    /// A program on a timed core and on the RTL of a real one.
    Validation(ValidationFound) = validation,
    /// A result of another tool.
    Imported(ImportedFound) = imported,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_that_a_family_does_not_have_is_refused() {
        let good = r#"{"family":"ring","procs":2,"size":0}"#;
        let asked: Asked = serde_json::from_str(good).unwrap();
        assert_eq!(asked.ring().map(|ring| ring.procs), Some(2));
        let bad = r#"{"family":"ring","procs":2,"size":0,"prcs":3}"#;
        let error = serde_json::from_str::<Asked>(bad).unwrap_err();
        assert!(error.to_string().contains("prcs"), "{error}");
        assert!(serde_json::from_str::<Asked>(r#"{"family":"rong","procs":2,"size":0}"#).is_err());
    }

    #[test]
    fn fields_have_the_names_of_the_record_and_leave_out_what_is_absent() {
        let asked = Asked::Ring(RingAsked {
            procs: 2,
            size: 4096,
            pages: Some("huge".into()),
            ..RingAsked::default()
        });
        let fields: Vec<_> =
            asked.fields().into_iter().map(|(key, value)| format!("{key}={value}")).collect();
        assert_eq!(fields, ["pages=\"huge\"", "procs=2", "size=4096"]);
        assert!(Asked::Nothing.fields().is_empty());
    }
}
