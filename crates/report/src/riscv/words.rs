//! What the views of the RISC-V families have in common.

use crate::number::count;
use crate::style::Style;
use crate::text::{clean, wrap};
use std::borrow::Cow;
use tollgate_record::family::TrapAsked;
use tollgate_record::{Counter, Measurement, PhaseName, Run, Status, WarningKind, counter};

pub(super) fn measured(run: &Run) -> Vec<&Measurement> {
    run.results.iter().filter(|result| result.status == Status::Measured).collect()
}

/// The warnings, each a paragraph and each sentence once; without those of codes that the view has words for.
pub(super) fn warnings(run: &Run, style: &Style, but: &[WarningKind]) -> Vec<String> {
    let all = run.warnings.iter().chain(run.results.iter().flat_map(|result| &result.warnings));
    let mut sentences: Vec<String> = Vec::new();
    for warning in all.filter(|warning| !but.iter().any(|kind| warning.code == *kind)) {
        let sentence = clean(&warning.text, style);
        if !sentences.contains(&sentence) {
            sentences.push(sentence);
        }
    }
    sentences.iter().flat_map(|sentence| wrap(sentence, style.prose(), "")).collect()
}

/// What was asked of a trap; nothing known for a result of another family.
pub(super) fn trap(result: &Measurement) -> Cow<'_, TrapAsked> {
    result.asked.trap().map_or_else(|| Cow::Owned(TrapAsked::default()), Cow::Borrowed)
}

/// The kernel of a bill.
pub(super) fn kernel(result: &Measurement) -> &str {
    result.asked.trap().map_or("", |asked| &asked.kernel)
}

/// What is crossed, with the number of a call: `getpid (172)`, `software interrupt`.
pub(super) fn crossing(result: &Measurement, style: &Style) -> String {
    let name = crossing_name(result);
    match (name, result.asked.trap().and_then(|asked| asked.call)) {
        (_, Some(NESTED)) => "nested interrupt".into(),
        ("interrupt", _) => "software interrupt".into(),
        (name, Some(number)) if !name.starts_with("call-") => format!("{} ({number})", clean(name, style)),
        (name, _) => clean(&name.replace('-', " "), style),
    }
}

/// The call in which the kernel `nested-taken` takes an interrupt.
const NESTED: u16 = 244;

/// What is crossed, as the probe is called.
pub(super) fn crossing_name(result: &Measurement) -> &str {
    result.probe.split_once('/').map_or(result.probe.as_str(), |(_, name)| name)
}

/// A phase's name in words.
pub(super) fn phase_name(name: &str, style: &Style) -> String {
    clean(&name.replace('-', " "), style)
}

/// A counter of one phase: its `loads`, `stores`, `bytes-stored` or `traps`.
pub(super) fn of_phase(result: &Measurement, phase: &str, what: &str) -> Option<f64> {
    part(result, counter::PHASE, &format!("{phase}/{what}"))
}

/// One of the counters that a definition ending in `*` stands for.
pub(super) fn part(result: &Measurement, counter: Counter, rest: &str) -> Option<f64> {
    result.counters.get(&counter.part(rest)).copied()
}

/// The instructions of one phase.
pub(super) fn instructions(result: &Measurement, phase: PhaseName) -> f64 {
    result.phase(phase).and_then(|it| it.instructions).unwrap_or(0.0)
}

/// A mean of exact counts: a whole number without decimals, any other with two; `-` when it is not finite.
pub(super) fn mean(x: f64) -> String {
    if !x.is_finite() {
        return "-".into();
    }
    if (x - x.round()).abs() < 1e-9 { whole(x) } else { format!("{x:.2}") }
}

/// The nearest whole number with its thousands apart; `-` when it is not finite.
pub(super) fn whole(x: f64) -> String {
    match x.round() {
        n if !n.is_finite() => "-".into(),
        n if n < 0.0 => format!("-{}", count(-n as usize)),
        n => count(n as usize),
    }
}

/// [`mean`], and `-` where nothing was counted.
pub(super) fn or_dash(x: Option<f64>) -> String {
    x.map_or_else(|| "-".into(), mean)
}

/// A share as a whole number of per cent.
pub(super) fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

#[cfg(test)]
mod tests {
    use super::{mean, or_dash, whole};
    use crate::text::wrap;

    #[test]
    fn exact_figures_look_exact() {
        assert_eq!(mean(98.0), "98");
        assert_eq!(mean(1.5), "1.50");
        assert_eq!(or_dash(None), "-");
        assert_eq!(mean(1_234_567.0), "1,234,567");
        assert_eq!([999.0, 0.0, -0.0, -1234.0, f64::NAN].map(whole), ["999", "0", "0", "-1,234", "-"]);
    }

    #[test]
    fn paragraphs_break_before_column_81() {
        let lines = wrap(&"word ".repeat(40), 80, "");
        assert!(lines.iter().all(|line| line.len() <= 80));
        assert_eq!(lines[0].len(), 79);
        assert_eq!(lines.join(" ").split_whitespace().count(), 40);
    }
}
