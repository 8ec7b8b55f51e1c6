//! What the views of the RISC-V families have in common.

use crate::number::count;
use crate::style::Style;
use crate::text::{clean, wrap};
use tollgate_record::{Measurement, Run, Status};

pub(super) fn measured(run: &Run) -> Vec<&Measurement> {
    run.results.iter().filter(|result| result.status == Status::Measured).collect()
}

/// The warnings, each a paragraph and each sentence once; without those of codes that the view has words for.
pub(super) fn warnings(run: &Run, style: &Style, but: &[&str]) -> Vec<String> {
    let all = run.warnings.iter().chain(run.results.iter().flat_map(|result| &result.warnings));
    let mut sentences: Vec<String> = Vec::new();
    for warning in all.filter(|warning| !but.contains(&warning.code.as_str())) {
        let sentence = clean(&warning.text, style);
        if !sentences.contains(&sentence) {
            sentences.push(sentence);
        }
    }
    sentences.iter().flat_map(|sentence| wrap(sentence, style.prose(), "")).collect()
}

pub(super) fn param<'a>(result: &'a Measurement, key: &str) -> &'a str {
    result.params.get(key).and_then(|value| value.as_str()).unwrap_or_default()
}

/// What is crossed, with the number of a call: `getpid (172)`, `software interrupt`.
pub(super) fn crossing(result: &Measurement, style: &Style) -> String {
    let name = crossing_name(result);
    match (name, result.params.get("call").and_then(serde_json::Value::as_u64)) {
        ("call-244", _) => "nested interrupt".into(),
        ("interrupt", _) => "software interrupt".into(),
        (name, Some(number)) if !name.starts_with("call-") => format!("{} ({number})", clean(name, style)),
        (name, _) => clean(&name.replace('-', " "), style),
    }
}

/// What is crossed, as the probe is called.
pub(super) fn crossing_name(result: &Measurement) -> &str {
    result.probe.split_once('/').map_or(result.probe.as_str(), |(_, name)| name)
}

/// A phase's name in words.
pub(super) fn phase(name: &str, style: &Style) -> String {
    clean(&name.replace('-', " "), style)
}

/// A counter of one phase: its `loads`, `stores`, `bytes-stored` or `traps`.
pub(super) fn of_phase(result: &Measurement, phase: &str, what: &str) -> Option<f64> {
    result.counters.get(&format!("{phase}/{what}")).copied()
}

/// The instructions of one phase.
pub(super) fn instructions(result: &Measurement, phase: &str) -> f64 {
    let found = result.phases.iter().find(|it| it.name == phase);
    found.and_then(|it| it.instructions).unwrap_or(0.0)
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
