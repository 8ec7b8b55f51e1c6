//! The lines below a table: how many, and what spoiled the run.

use crate::remarks::{remarks, sentence};
use crate::sheet::{Sheet, painted, paragraph, prose};
use crate::style::{Paint, Style};
use crate::text::{clean, list};
use crate::words::reason;
use indexmap::IndexMap;
use tollgate_record::number::{count, plural};
use tollgate_record::{Measurement, Run, Status, Warning, WarningKind, warning};

/// As many probes are named in one note.
const NAMED: usize = 3;

/// Warnings of a whole run that come first: something is missing.
const GRAVE: [WarningKind; 2] = [warning::WORKER_LOST, warning::NOT_IMPORTED];
/// As many lines end a view.
const LAST: usize = 3;

/// The last lines of a view: the counts and the gravest warning; with `--warnings` every one.
pub(crate) fn notes(run: &Run, style: &Style) -> Sheet {
    ending(run, None, style)
}

/// The same after what the figures say in one sentence.
pub(crate) fn ending(run: &Run, learned: Option<String>, style: &Style) -> Sheet {
    let of = |status| run.results.iter().filter(|result| result.status == status).count();
    let (measured, skipped, failed) = (of(Status::Measured), of(Status::Skipped), of(Status::Failed));
    let (warnings, absent) = (self::warnings(run, style), absent(&run.results, style));
    let mut counts = vec![format!("{} measured", count(measured))];
    if skipped > 0 {
        counts.push(format!("{} skipped", count(skipped)));
    }
    if failed > 0 {
        counts.push(format!("{} failed", count(failed)));
    }
    if !warnings.is_empty() {
        counts.push(plural(warnings.len(), "warning", "warnings"));
    }
    let mut text = Sheet::new();
    if !run.complete {
        let unfinished = "This run did not reach its end: interrupted, or still going on.";
        text.extend(painted(Paint::Warn, unfinished));
    }
    text.extend(learned.into_iter().flat_map(|sentence| prose(sentence, "")));
    let mut counted = counts.join(", ");
    if !style.warnings && (warnings.len() > 1 || !absent.is_empty()) {
        counted.push_str(" (--warnings says which, and why)");
    }
    let paint = |count: &String| match count {
        it if it.ends_with(" failed") => Some(Paint::Bad),
        it if it.contains(" warning") => Some(Paint::Warn),
        _ => None,
    };
    let noticed = counts.iter().filter_map(|count| Some((count, paint(count)?)));
    let counted = noticed.fold(paragraph(counted, ""), |text, (count, paint)| text.mark(count, paint));
    text.extend(Sheet::from(counted));
    if style.warnings {
        text.extend(warnings.iter().chain(&absent).flat_map(|it| prose(it, "  - ")));
    } else if let Some(gravest) = warnings.first() {
        // Those of the whole run come first, and concern every row.
        let room = LAST.saturating_sub(text.lines(style).len()).max(1);
        text.extend(Sheet::from(paragraph(gravest, "  - ").most(room)));
    }
    text
}

/// Why rows are missing, and what would enable them. One reason stands for all rows that share it.
pub(crate) fn absent(results: &[Measurement], style: &Style) -> Vec<String> {
    let mut reasons: IndexMap<Option<&str>, Vec<&Measurement>> = IndexMap::new();
    for result in results.iter().filter(|result| result.status != Status::Measured) {
        reasons.entry(result.reason.as_deref()).or_default().push(result);
    }
    let line = |same: Vec<&Measurement>| {
        let first = same[0];
        let names: Vec<String> = same.iter().map(|it| name(it, style)).collect();
        let what = if first.status == Status::Skipped { "skipped" } else { "failed" };
        let enable = first.enable.as_deref().map_or_else(String::new, |it| format!("; {}", clean(it, style)));
        format!("{what}: {}: {}{enable}", list(&names, NAMED), reason(first, style))
    };
    reasons.into_values().map(line).collect()
}

/// The probe, and what ran it where that was not the host.
fn name(result: &Measurement, style: &Style) -> String {
    let probe = clean(&result.probe, style);
    if result.engine == "host" { probe } else { format!("{probe} ({})", clean(&result.engine, style)) }
}

/// One sentence for each warning of the run, and for each kind of warning of its rows.
pub(crate) fn warnings(run: &Run, style: &Style) -> Vec<String> {
    let clean_sentence = |text: &str| clean(text, style).trim_end_matches('.').to_owned();
    let mut whole: Vec<&Warning> = run.warnings.iter().collect();
    whole.sort_by_key(|warning| !GRAVE.iter().any(|kind| kind.name == warning.code));
    let whole = whole.into_iter().map(|warning| clean_sentence(sentence(warning)));
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
