//! The bills: for each crossing the total, measured without events, and its parts.

use crate::sheet::{Cell, Column, Sheet, Table};
use crate::style::{Paint, Style};
use crate::text::clean;
use crate::words;
use tollgate_record::number::{change, figure, fit, half_share, half_width, percent};
use tollgate_record::{Evidence, Measurement, Status, warning};

/// What the crossing is called; a probe without a name of its own keeps its id.
fn name(probe: &str) -> Option<&'static str> {
    Some(match probe {
        "syscall/clock_gettime" => "system call clock_gettime",
        "syscall/clock_gettime-after-flush" => "the same after a TLB flush",
        "syscall/clock_gettime-after-sweep" => "the same, L1 and L2 swept",
        "fault/anonymous" => "page fault, anonymous first write",
        "fault/zero-page" => "page fault, first read: the zero page",
        "fault/cached-file" => "page fault, file in the page cache",
        "fault/protection" => "page fault, SIGSEGV handled and back",
        "fault/anonymous-tracepoint" => "anonymous write, entry by tracepoint",
        "fault/zero-page-tracepoint" => "the zero page, entry by tracepoint",
        "fault/cached-file-tracepoint" => "cached file, entry by tracepoint",
        "fault/protection-tracepoint" => "SIGSEGV, entry by tracepoint",
        "signal/self" => "signal to oneself",
        _ => return None,
    })
}

/// The largest part of a system call and of a page fault, in one sentence.
pub(super) fn learned(results: &[&Measurement], style: &Style) -> Option<String> {
    let largest = |(probe, what): &(&str, &str)| {
        let bill = results.iter().find(|it| it.probe == *probe && it.status == Status::Measured)?;
        let total = bill.ns?.estimate;
        let parts = bill.phases.iter().filter(|phase| phase.name != "unattributed");
        let known = parts.filter_map(|phase| Some((phase, phase.ns?.estimate)));
        let (phase, ns) = known.max_by(|a, b| a.1.total_cmp(&b.1)).filter(|_| total > 0.0)?;
        let name = part(probe, &phase.name).and_then(|it| it.split(':').next());
        let name = name.map_or_else(|| words::phase(&phase.name, style), str::to_owned);
        Some(format!("of {what} '{name}', {}", percent(ns / total)))
    };
    let parts = [("syscall/clock_gettime", "a system call"), ("fault/anonymous", "a page fault")];
    let parts: Vec<String> = parts.iter().filter_map(largest).collect();
    (!parts.is_empty()).then(|| format!("Largest part: {}.", parts.join("; ")))
}

/// What a part consists of.
fn part(probe: &str, phase: &str) -> Option<&'static str> {
    Some(match (probe.split('/').next()?, phase) {
        ("syscall", "entry") => "in: hardware, entry code, dispatch",
        ("syscall", "return") => "out: copy, exit code, hardware",
        ("fault", "entry") => "entry: hardware and entry code",
        ("fault", "handling") => match probe.trim_end_matches("-tracepoint") {
            "fault/anonymous" => "handling: allocate, clear, map",
            "fault/zero-page" => "handling: map the zero page",
            "fault/cached-file" => "handling: find, map with neighbors",
            _ => "handling",
        },
        ("fault", "return") => "return",
        ("fault", "delivery") => "refusal, delivery to the handler",
        ("fault", "sigreturn") => "sigreturn and the touch again",
        _ => return None,
    })
}

/// All bills, in one table so that their figures are below each other.
pub(crate) fn table(results: &[&Measurement], style: &Style) -> Sheet {
    let mut table = Table::new([
        Column::left("").least(16),
        Column::right(""),
        Column::right("").rank(1),
        Column::right("").rank(2),
        Column::left("").rank(3),
    ]);
    for result in results {
        bill(&mut table, result, style);
    }
    table.into()
}

fn bill(table: &mut Table, result: &Measurement, style: &Style) {
    let refused = result.warnings.iter().find(|warning| warning.code == warning::NOT_SPLIT);
    // Whole rows of the table above that have no parts but the rest.
    let whole = result.phases.iter().all(|phase| phase.name == "unattributed");
    if result.status != Status::Measured || (whole && refused.is_none()) {
        return;
    }
    let total = result.ns.map_or(f64::NAN, |ns| ns.estimate);
    let title = name(&result.probe).map_or_else(|| clean(&result.probe, style), str::to_owned);
    let half = result.ns.map(|ns| format!("{}{}", style.plus_minus(), half_share(&ns)));
    let cycles = result.cycles.map(|it| format!("{} cycles", figure(it.estimate)));
    let beside = [half, cycles].into_iter().flatten().collect::<Vec<_>>().join("  ");
    let bold = |text: String| Cell::from(text).paint(Paint::Bold);
    table.blank();
    table.prose([bold(title), bold(format!("{} ns", figure(total)))], beside, Paint::Bold);
    if let Some(why) = refused {
        table.text("  ", clean(&why.text, style), Paint::Plain);
        return;
    }
    for phase in &result.phases {
        let name =
            part(&result.probe, &phase.name).map_or_else(|| words::phase(&phase.name, style), str::to_owned);
        let ns = phase.ns.map_or(f64::NAN, |ns| ns.estimate);
        let half = phase.ns.map_or("-".into(), |ns| half_width(&ns, 8));
        table.row([
            format!("  {name}").into(),
            Cell::shown(format!("{} ns", fit(ns, 10)), ns),
            format!("{}{half}", style.plus_minus()).into(),
            Cell::share(ns / total),
            evidence(phase.evidence).into(),
        ]);
    }
    if let Some(text) = instrumented(result, total, style) {
        table.text("  ", text, Paint::Dim);
    }
}

/// What the events made of the total, and what that is of it.
fn instrumented(result: &Measurement, total: f64, style: &Style) -> Option<String> {
    let whole = |(by, ns): (&String, &f64)| {
        let event = by.strip_suffix("-event").unwrap_or(by);
        format!("{} ns with {} ({})", figure(*ns), clean(event, style), change((ns - total) / total))
    };
    let all: Vec<String> = result.instrumented_ns.iter().map(whole).collect();
    let way = if result.phases.iter().any(|phase| phase.name == "return") {
        "; the event's way to its stamp is in the entry and is missing in the return"
    } else {
        ""
    };
    (!all.is_empty()).then(|| format!("uninstrumented {} ns, {}{way}", figure(total), all.join(", ")))
}

/// How a part is known, in a word or two.
pub(crate) fn evidence(evidence: Evidence) -> &'static str {
    match evidence {
        Evidence::Measured => "measured",
        Evidence::Difference => "difference",
        Evidence::KernelTimestamp => "kernel stamp",
        Evidence::Guest => "guest",
        Evidence::Simulated => "simulated",
        Evidence::Accounted => "kernel accounts",
        Evidence::Priced => "count x price",
    }
}
