//! Scores as entries of the run document: one for each program.

use tollgate_record::family::{CyclesCompared, PhaseCompared, ValidationAsked, ValidationFound};
use tollgate_record::{Asked, Found, Measurement, Per, Status, counter};

use super::error::RtlError;
use super::program::Part;
use super::replay::Cycles;
use super::score::{Compared, Score};
use super::subject::{SUBJECTS, Subject};

/// An entry for each program of a core, or of all; `next` receives the core and the part that comes, and says whether to go on.
///
/// # Errors
/// No core of that name, or a damaged golden file.
pub fn validation(
    core: Option<&str>,
    mut next: impl FnMut(f64, String) -> bool,
) -> Result<Vec<Measurement>, RtlError> {
    if let Some(name) = core.filter(|name| Subject::find(name).is_none()) {
        let names: Vec<&str> = SUBJECTS.iter().map(|subject| subject.name).collect();
        return Err(RtlError::Subject(name.to_owned(), names.join(", ")));
    }
    let subjects = SUBJECTS.iter().filter(|subject| core.is_none_or(|name| name == subject.name));
    let work: Vec<(&Subject, Part)> =
        subjects.flat_map(|subject| subject.golden.iter().map(move |(part, _)| (subject, *part))).collect();
    let mut entries = Vec::new();
    for (at, (subject, part)) in work.iter().enumerate() {
        if !next(at as f64 / work.len() as f64, format!("{}, {}", subject.name, part.name())) {
            break;
        }
        entries.extend(subject.validate_part(*part)?.into_iter().map(|compared| entry(subject, compared)));
    }
    Ok(entries)
}

fn entry(subject: &Subject, compared: Compared) -> Measurement {
    let probe = format!("riscv-validation/{}", compared.part.name());
    let mut entry = Measurement::empty(&probe, "embedded", Per::Pass, Status::Measured);
    match compared.score {
        Ok(score) => measured(&mut entry, &score),
        Err(error) => {
            entry.status = Status::Failed;
            entry.reason = Some(error.to_string());
        }
    }
    entry.asked = Asked::Validation(ValidationAsked {
        core: subject.name.to_owned(),
        preset: subject.preset.to_owned(),
        part: compared.part.name().to_owned(),
        program: compared.program,
        latency: compared.latency,
    });
    entry
}

fn measured(entry: &mut Measurement, score: &Score) {
    entry.samples = score.passes;
    entry.crossings = score.passes;
    let each = |cycles: u64| cycles as f64 / score.passes as f64;
    entry.count(counter::STEADY_RTL, each(score.steady.rtl));
    entry.count(counter::STEADY_MODEL, each(score.steady.model));
    entry.count(counter::STEADY_APART, each(score.steady.absolute));
    entry.count(counter::COLD_RTL, score.cold.rtl as f64);
    entry.count(counter::COLD_MODEL, score.cold.model as f64);
    entry.count(counter::COLD_APART, score.cold.absolute as f64);
    let cycles = |of: Cycles| CyclesCompared { rtl: of.rtl, model: of.model, apart: of.absolute };
    let phases = score.phases.iter().map(|it| PhaseCompared {
        name: it.phase.name().to_owned(),
        cold: cycles(it.cold),
        steady: cycles(it.steady),
    });
    let found = ValidationFound {
        phases: phases.collect(),
        latencies: score.latencies.iter().map(|it| [it.rtl, it.model]).collect(),
    };
    if found != ValidationFound::default() {
        entry.found = Found::Validation(found);
    }
}
