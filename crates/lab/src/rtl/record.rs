//! Scores as entries of the run document: one for each program.

use tollgate_record::family::ValidationAsked;
use tollgate_record::{Asked, Measurement, Per, Status, counter};

use super::error::RtlError;
use super::score::Score;
use super::subject::{SUBJECTS, Subject};

/// An entry for each program of a core, or of all.
///
/// # Errors
/// No core of that name, or a damaged golden file.
pub fn validation(core: Option<&str>) -> Result<Vec<Measurement>, RtlError> {
    if let Some(name) = core.filter(|name| Subject::find(name).is_none()) {
        let names: Vec<&str> = SUBJECTS.iter().map(|subject| subject.name).collect();
        return Err(RtlError::Subject(name.to_owned(), names.join(", ")));
    }
    let mut entries = Vec::new();
    for subject in SUBJECTS.iter().filter(|subject| core.is_none_or(|name| name == subject.name)) {
        for compared in subject.validate()? {
            let mut entry = match compared.score {
                Ok(score) => measured(&score),
                Err(error) => {
                    let entry = Measurement::empty(PROBE, "embedded", Per::Pass, Status::Failed);
                    Measurement { reason: Some(error.to_string()), ..entry }
                }
            };
            entry.asked = Asked::Validation(ValidationAsked {
                core: subject.name.to_owned(),
                preset: subject.preset.to_owned(),
                program: compared.program,
                latency: compared.latency,
            });
            entries.push(entry);
        }
    }
    Ok(entries)
}

const PROBE: &str = "riscv-validation/loop";

fn measured(score: &Score) -> Measurement {
    let mut entry = Measurement::empty(PROBE, "embedded", Per::Pass, Status::Measured);
    entry.samples = score.passes;
    entry.crossings = score.passes;
    let each = |cycles: u64| cycles as f64 / score.passes as f64;
    entry.count(counter::STEADY_RTL, each(score.steady.rtl));
    entry.count(counter::STEADY_MODEL, each(score.steady.model));
    entry.count(counter::STEADY_APART, each(score.steady.absolute));
    entry.count(counter::COLD_RTL, score.cold.rtl as f64);
    entry.count(counter::COLD_MODEL, score.cold.model as f64);
    entry.count(counter::COLD_APART, score.cold.absolute as f64);
    entry
}
