//! Bills as entries of the run document.

use tollgate_record::{Evidence, Measurement, Per, Phase as RecordPhase, Status, Warning};

use crate::LabError;
use crate::bill::{Experiment, TrapBill};
use crate::phase::Phase;

/// The entry for a bill. Instructions are counters; there are no cycles without a timing model.
#[must_use]
pub fn measured(bill: &TrapBill) -> Measurement {
    let mut entry = empty(&bill.experiment, bill.engine, Status::Measured);
    let spread = bill.spread;
    entry.samples = spread.count;
    entry.crossings = spread.count;
    if let Some(result) = bill.result {
        entry.params.insert("result".into(), result.into());
    }
    let mut counter = |name: String, value: f64| entry.counters.insert(name, value);
    counter("instructions".into(), spread.mean());
    counter("instructions-single".into(), spread.single as f64);
    counter("instructions-min".into(), spread.min as f64);
    counter("instructions-max".into(), spread.max as f64);
    if let Some(phases) = &bill.phases {
        let all = &phases[1];
        let each = |n: u64| n as f64 / spread.count as f64;
        let total = all.total();
        counter("loads".into(), each(total.loads));
        counter("stores".into(), each(total.stores));
        counter("bytes-saved".into(), each(all.bytes_saved()));
        for (phase, cost) in all.iter() {
            let name = slug(phase);
            counter(format!("{name}/instructions"), each(cost.instructions));
            counter(format!("{name}/loads"), each(cost.loads));
            counter(format!("{name}/stores"), each(cost.stores));
            let instructions = Some(each(cost.instructions));
            entry.phases.push(RecordPhase { instructions, ..RecordPhase::new(name, Evidence::Simulated) });
        }
        entry.proof.insert("traps_per_crossing".into(), each(total.traps));
    }
    if spread.min != spread.max || spread.single != spread.min {
        let text = "the crossings are not all alike; the phases are means".to_owned();
        entry.warnings.push(Warning::new("crossings-differ", text));
    }
    entry
}

/// The entry for an experiment that gave no bill: skipped when nothing is wrong, failed otherwise.
#[must_use]
pub fn not_measured(experiment: &Experiment, engine: &str, why: &LabError) -> Measurement {
    let status = if why.is_skip() { Status::Skipped } else { Status::Failed };
    let mut entry = empty(experiment, engine, status);
    entry.reason = Some(why.to_string());
    if let LabError::EngineMissing { install, .. } = why {
        entry.enable = Some((*install).into());
    }
    entry
}

fn empty(experiment: &Experiment, engine: &str, status: Status) -> Measurement {
    let per = if experiment.crossing.is_switch() { Per::Switch } else { Per::Trap };
    let mut entry =
        Measurement::empty(&format!("riscv-trap/{}", experiment.crossing.slug()), engine, per, status);
    entry.params.insert("kernel".into(), experiment.design.name.into());
    entry.params.insert("isa".into(), experiment.design.isa.into());
    entry.params.insert("iterations".into(), experiment.iterations.into());
    entry
}

fn slug(phase: Phase) -> String {
    phase.name().replace(' ', "-")
}
