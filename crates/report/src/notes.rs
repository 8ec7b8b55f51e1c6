//! The lines below a table: how many, and what spoiled the run.

use crate::remarks::{remarks, sentence};
use crate::style::{Paint, Style};
use crate::text::{clean, list, painted, wrap};
use tollgate_record::number::count;
use tollgate_record::number::plural;
use tollgate_record::{Run, Status};

/// As many probes are named in one note.
const NAMED: usize = 3;

/// The closing lines: the counts, then one note for each warning of the run and for each kind of
/// warning of the measurements.
pub(crate) fn notes(run: &Run, style: &Style) -> Vec<String> {
    let of = |status| run.results.iter().filter(|result| result.status == status).count();
    let (measured, skipped, failed) = (of(Status::Measured), of(Status::Skipped), of(Status::Failed));
    let warnings = warnings(run, style);
    let mut counts = vec![format!("{} measured", count(measured))];
    if skipped > 0 {
        counts.push(format!("{} skipped (tollgate list --why)", count(skipped)));
    }
    if failed > 0 {
        counts.push(format!("{} failed", count(failed)));
    }
    if !warnings.is_empty() {
        counts.push(plural(warnings.len(), "warning", "warnings"));
    }
    let mut lines = Vec::new();
    if !run.complete {
        let unfinished = "This run did not reach its end: interrupted, or still going on.";
        lines.extend(painted(Paint::Warn, unfinished, style));
    }
    for line in wrap(&counts.join(", "), style.prose(), "") {
        // Colored once it is known where the line breaks.
        let is_bad = |count: &str| count.ends_with(" failed");
        let noticed = counts.iter().filter(|count| is_bad(count) || count.contains(" warning"));
        lines.push(noticed.fold(line, |line, count| {
            let paint = if is_bad(count) { Paint::Bad } else { Paint::Warn };
            line.replace(count, &style.paint(paint, count))
        }));
    }
    for warning in warnings {
        lines.extend(wrap(&warning, style.prose(), "  - "));
    }
    lines
}

/// One sentence for each warning of the run, and for each kind of warning of its rows.
pub(crate) fn warnings(run: &Run, style: &Style) -> Vec<String> {
    let clean_sentence = |text: &str| clean(text, style).trim_end_matches('.').to_owned();
    let whole = run.warnings.iter().map(|warning| clean_sentence(sentence(warning)));
    let all = remarks(run.results.iter().map(|it| (it.probe.as_str(), it)), |it| Some(&it.code));
    let grouped = all.iter().filter(|it| it.class == "warning").map(|it| {
        let probes: Vec<String> = it.of.iter().map(|probe| clean(probe, style)).collect();
        let text = clean_sentence(&it.text);
        match probes.as_slice() {
            [first, others @ ..] if it.varies && !others.is_empty() => {
                format!("{first}: {text}; also, with other figures, {}", list(others, NAMED - 1))
            }
            // A bill is about one program: what concerns all of it needs no name.
            [whole] if whole == "exec/total" => text,
            probes => format!("{}: {text}", list(probes, NAMED)),
        }
    });
    whole.chain(grouped).collect()
}
