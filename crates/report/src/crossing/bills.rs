//! One bill: the total that nothing recorded, and its parts.

use super::{line, title};
use crate::number::{figure, fit, percent};
use crate::style::{Paint, Style};
use crate::text::{clean, cut, left, right, wrap};
use tollgate_record::{Evidence, Measurement, Phase, Status, warning};

const NAME: usize = 38;

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

/// What a part consists of.
fn part(probe: &str, phase: &str) -> Option<&'static str> {
    Some(match (probe.split('/').next()?, phase) {
        ("syscall", "entry") => "in: hardware, entry code, dispatch",
        ("syscall", "return") => "out: copy, exit code, hardware",
        ("fault", "entry") => "entry: hardware and entry code",
        ("fault", "handling") => match probe.trim_end_matches("-tracepoint") {
            "fault/anonymous" => "handling: allocate, clear, map",
            "fault/zero-page" => "handling: map the zero page",
            "fault/cached-file" => "handling: find, map with neighbours",
            _ => "handling",
        },
        ("fault", "return") => "return",
        ("fault", "delivery") => "refusal, delivery to the handler",
        ("fault", "sigreturn") => "sigreturn and the touch again",
        _ => return None,
    })
}

pub(super) fn bill(result: &Measurement, style: &Style) -> Vec<String> {
    let refused = result.warnings.iter().find(|warning| warning.code == warning::NOT_SPLIT);
    if result.status != Status::Measured || (result.phases.is_empty() && refused.is_none()) {
        return Vec::new();
    }
    let total = result.ns.map_or(f64::NAN, |ns| ns.estimate);
    let probe = clean(&result.probe, style);
    // Whole rows of the table above that have no parts but the rest.
    if result.phases.iter().all(|phase| phase.name == "unattributed") && refused.is_none() {
        return Vec::new();
    }
    let cycles = result.cycles.map_or(String::new(), |it| format!("{} cycles", figure(it.estimate)));
    let head = format!(
        "{}{} ns{}{}",
        left(&cut(name(&result.probe).unwrap_or(&probe), NAME - 1, style), NAME),
        right(&figure(total), 10),
        right(&cycles, 16),
        right(&result.ns.map_or(String::new(), |ns| format!("+-{}", percent(ns.relative_half_width()))), 9),
    );
    let mut text = title(&line(&head, style), style);
    if let Some(why) = refused {
        text.extend(wrap(&clean(&why.text, style), style.prose(), "  "));
        return text;
    }
    text.extend(result.phases.iter().map(|phase| row(&result.probe, phase, total, style)));
    text.extend(instrumented(result, total, style));
    text
}

fn row(probe: &str, phase: &Phase, total: f64, style: &Style) -> String {
    let shown = part(probe, &phase.name).map_or_else(|| clean(&phase.name, style), str::to_owned);
    let ns = phase.ns.map_or(f64::NAN, |ns| ns.estimate);
    let half = phase.ns.map_or(f64::NAN, |ns| (ns.ci[1] - ns.ci[0]) / 2.0);
    let share = format!("{:.0} %", 100.0 * ns / total);
    let text = format!(
        "  {}{} ns{}{}  {}",
        left(&cut(&shown, NAME - 3, style), NAME - 2),
        right(&fit(ns, 10), 10),
        right(&format!("+-{}", fit(half, 8)), 8),
        right(&cut(&share, 7, style), 7),
        evidence(phase.evidence),
    );
    line(&text, style)
}

/// What the events made of the total, and what that is of it.
fn instrumented(result: &Measurement, total: f64, style: &Style) -> Vec<String> {
    let whole = |(by, ns): (&String, &f64)| {
        let event = by.strip_suffix("_event").unwrap_or(by).replace('_', "-");
        let share = 100.0 * (ns - total) / total;
        format!("{} ns with {} ({share:+.0} %)", figure(*ns), clean(&event, style))
    };
    let all: Vec<String> = result.instrumented_ns.iter().map(whole).collect();
    if all.is_empty() {
        return Vec::new();
    }
    let way = if result.phases.iter().any(|phase| phase.name == "return") {
        "; the event's way to its stamp is in the entry and is missing in the return"
    } else {
        ""
    };
    let text = format!("uninstrumented {} ns, {}{way}", figure(total), all.join(", "));
    wrap(&text, style.prose(), "  ").iter().map(|line| style.paint(Paint::Dim, line)).collect()
}

fn evidence(evidence: Evidence) -> &'static str {
    match evidence {
        Evidence::Measured => "measured",
        Evidence::Difference => "difference",
        Evidence::KernelTimestamp => "kernel stamp",
        Evidence::Guest => "guest",
        Evidence::Simulated => "simulated",
    }
}
