//! The words that every drawing and export of a stage diagram shares.

use crate::style::Style;
use crate::text::clean;
use tollgate_record::number::plural;
use tollgate_record::stages::StageRow;
use tollgate_record::text::printable;
use tollgate_record::{Measurement, Status, cause, counter};

/// The most rows that are drawn; the others of a record are left out.
pub(crate) const MOST: usize = 10_000;

/// The stages that are known, in the order of the pipe, with their letter.
pub(crate) const STAGES: [(&str, char); 5] =
    [("IF", 'F'), ("ID", 'D'), ("EX", 'X'), ("MEM", 'M'), ("WB", 'W')];

/// The modes by their letter.
const MODES: [(&str, &str); 3] = [("U", "user mode"), ("S", "supervisor mode"), ("M", "machine mode")];

/// The letter of a stage in a diagram; `?` for an unknown one.
pub(crate) fn letter(stage: &str) -> char {
    STAGES.iter().find(|(name, _)| *name == stage).map_or('?', |(_, letter)| *letter)
}

/// The modes that occur in some rows, as a key: `U user mode`.
pub(crate) fn modes(rows: &[StageRow]) -> Vec<String> {
    MODES
        .into_iter()
        .filter(|(letter, _)| rows.iter().any(|row| row.mode == *letter))
        .map(|(letter, name)| format!("{letter} {name}"))
        .collect()
}

/// Why an instruction does not retire, or what it waited for: `squashed: trap`, `load-use 1`.
pub(crate) fn note(row: &StageRow) -> String {
    match &row.squash {
        _ if row.traps => "traps".into(),
        Some(squash) => format!("squashed: {}", printable(&squash.by)),
        None => waits(row),
    }
}

/// The cycles of waiting by cause.
pub(crate) fn waits(row: &StageRow) -> String {
    let sums = row.waits_by_cause();
    let sums: Vec<String> =
        sums.iter().map(|(name, cycles)| format!("{} {cycles}", printable(name))).collect();
    sums.join(", ")
}

/// What a result's diagram is around: the part of the probe's name after the slash.
pub(crate) fn kind(result: &Measurement) -> &str {
    result.probe.split_once('/').map_or(result.probe.as_str(), |(_, kind)| kind)
}

/// What a diagram shows and what the hazard costs, in one or two sentences.
pub(crate) fn sentence(result: &Measurement) -> String {
    let Some(diagram) = result.stages.as_ref().filter(|_| result.status == Status::Measured) else {
        return String::new();
    };
    let style = Style { unicode: true, ..Style::default() };
    let rows = &diagram.rows[..diagram.rows.len().min(MOST)];
    if let Some(symbol) = result.asked.pipeline().and_then(|asked| asked.from.as_ref()) {
        return format!(
            "{} from {} on.",
            plural(rows.len(), "instruction", "instructions"),
            clean(symbol, &style)
        );
    }
    let event =
        diagram.event.and_then(|event| usize::try_from(event).ok()).filter(|event| *event < rows.len());
    let next = event.and_then(|event| rows[event + 1..].iter().find(|row| row.squash.is_none()));
    let (Some(event), Some(next), Some(cycles)) = (event.map(|event| &rows[event]), next, result.cycles)
    else {
        return "The next instruction to retire is beyond this diagram; --count shows more.".into();
    };
    let quoted = |row: &StageRow| match clean(&row.text, &style) {
        text if text.is_empty() => "the instruction".to_owned(),
        text => format!("'{text}'"),
    };
    let what = match kind(result) {
        "trap" => format!("The trap at {}", quoted(event)),
        "interrupt" => format!("The interrupt behind {}", quoted(event)),
        _ => format!("The jump at {}", quoted(event)),
    };
    let squashed = match result.counter(counter::SQUASHED).unwrap_or(0.0) as usize {
        0 => "no fetched instruction is thrown away".to_owned(),
        1 => "one fetched instruction is thrown away".to_owned(),
        n => format!("{n} fetched instructions are thrown away"),
    };
    let lost = cycles.estimate;
    let mut said = format!(
        "{what} costs {} in which nothing retires: {squashed}, and {} is the next to retire, in cycle {}.",
        plural(lost as usize, "cycle", "cycles"),
        quoted(next),
        next.end().saturating_sub(1)
    );
    let waits: Vec<String> = result
        .found
        .pipeline()
        .into_iter()
        .flat_map(|found| &found.waits)
        .filter(|wait| wait.cause != cause::BRANCH && wait.cause != cause::TRAP_FLUSH)
        .map(|wait| format!("{} for {}", wait.cycles, printable(&wait.cause)))
        .collect();
    if !waits.is_empty() {
        said.push_str(&format!(
            " Of these that instruction waits {} on its own account.",
            waits.join(" and ")
        ));
    }
    said
}

/// The title of a diagram's picture.
pub(crate) fn picture_title(result: &Measurement) -> String {
    let asked = result.asked.pipeline();
    let around = match kind(result) {
        "branch" => "mispredicted branch or jump",
        kind => asked.and_then(|asked| asked.from.as_deref()).unwrap_or(kind),
    };
    format!("{around} on {}", asked.map_or("-", |asked| &asked.core))
}
