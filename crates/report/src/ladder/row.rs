//! One row of the ladder as text, before it is laid out.

use crate::namesakes::Namesakes;
use crate::sheet::Cell;
use crate::style::Style;
use crate::text::clean;
use crate::words;
use std::collections::BTreeSet;
use tollgate_record::{
    Estimate, Measurement, Per, PhaseName, Single, Status, WarningKind, counter, number, phase, warning,
};

/// Warnings that the proof column itself shows.
const PROOF: [WarningKind; 2] = [warning::PROOF_DISAGREES, warning::PER_COUNTED];

/// More than this of proof is abbreviated, however wide the terminal.
const MOST_PROOF: usize = 30;

/// What only some families have; a table has the columns of those that its rows have.
pub(super) static EXTRAS: [Extra; 6] = [
    Extra { title: "plain", rank: 0, of: |result, style| part(result, phase::PLAIN, style) },
    Extra { title: "tax", rank: 0, of: |result, style| part(result, phase::TAX, style) },
    Extra { title: "call", rank: 1, of: |result, style| short_part(result, phase::SENDERS_CALL, style) },
    Extra {
        title: "wake-up",
        rank: 1,
        of: |result, style| short_part(result, phase::WAKE_UP_TO_RUNNING, style),
    },
    Extra {
        title: "return",
        rank: 1,
        of: |result, style| short_part(result, phase::RECEIVERS_RETURN, style),
    },
    Extra {
        title: "CPU ns",
        rank: 0,
        of: |result, style| Some(number::fit(result.counter(counter::CPU_TIME)?, digits(style))),
    },
];

/// A column for what only some families have.
pub(super) struct Extra {
    pub(super) title: &'static str,
    /// Of the column: 0 stays in a narrow terminal.
    pub(super) rank: usize,
    pub(super) of: fn(&Measurement, &Style) -> Option<String>,
}

/// A part of the bill, with half of its interval in nanoseconds.
fn part(result: &Measurement, name: PhaseName, style: &Style) -> Option<String> {
    let ns = result.phase(name)?.ns?;
    let text = headline(Some(&ns), style);
    if ns.is_zero_within_error() {
        return Some(text);
    }
    Some(format!("{text} {}{}", style.plus_minus(), number::half_width(&ns, number::SHORT)))
}

/// The same without the interval.
fn short_part(result: &Measurement, name: PhaseName, style: &Style) -> Option<String> {
    Some(headline(Some(&result.phase(name)?.ns?), style))
}

pub(crate) struct Rung {
    /// What the rows are sorted by: the headline in nanoseconds, failed rows after all others.
    pub(crate) order: f64,
    pub(crate) name: String,
    /// Why there is no figure; the cells are empty then.
    pub(crate) failure: Option<String>,
    /// ns, cycles, half interval, p99.
    pub(crate) figures: [Cell; 4],
    /// Whether the figure cannot be told from zero, and whether there is no p99.
    pub(crate) marks: [bool; 2],
    /// Those of [`EXTRAS`], empty where it has none.
    pub(crate) extras: [String; 6],
    /// The figure as it is measured, and the probe.
    pub(crate) ns: Option<Estimate>,
    pub(crate) probe: String,
    pub(crate) proof: String,
    /// Whether the proof disagrees with the claim.
    pub(crate) disagrees: bool,
    /// Counts of the proof for which there was no room.
    pub(crate) more: usize,
    /// Whether there are warnings that no column shows.
    pub(crate) noted: bool,
}

impl Rung {
    /// The row of `result` among those of its family, whose figures stand for one `per` unless a row says otherwise.
    /// `common` warnings are not worth a mark, because most rows have them.
    pub(crate) fn new(
        result: &Measurement,
        family: &Namesakes,
        per: Per,
        common: &BTreeSet<&str>,
        style: &Style,
    ) -> Self {
        let failure = (result.status == Status::Failed).then(|| {
            let reason = result.reason.as_deref().map(|reason| clean(reason, style)).unwrap_or_default();
            if reason.is_empty() { "failed, and did not say why".into() } else { format!("failed: {reason}") }
        });
        let disagrees = PROOF.iter().any(|&kind| result.has_warning(kind));
        let mut codes = result.warnings.iter().map(|warning| warning.code.as_str());
        let noted = codes.any(|code| !is_proof(code) && !common.contains(code));
        let mut name = name(result, family, style);
        if result.per != per && failure.is_none() {
            name = format!("{name} /{}", result.per.word());
        }
        if noted {
            name.push('*');
        }
        let ns = valued(result.ns.as_ref(), headline(result.ns.as_ref(), style));
        let cycles = valued(result.cycles.as_ref(), headline(result.cycles.as_ref(), style));
        // A crossing shorter than the clock pair around it cannot be resolved one at a time.
        let resolved = |single: &Single| result.ns.is_some_and(|ns| ns.estimate >= single.pair_overhead_ns);
        let p99 = result.single.filter(resolved);
        let marks = [result.ns.is_some_and(|ns| ns.is_zero_within_error()), p99.is_none()];
        let p99 = p99.map_or_else(
            || "-".into(),
            |single| Cell::shown(number::fit(single.p99, digits(style)), single.p99),
        );
        let order = match &failure {
            // Two infinities: failed rows come after rows without a figure in nanoseconds.
            Some(_) => f64::NAN,
            None => result.ns.map_or(f64::INFINITY, |ns| ns.estimate).min(f64::INFINITY),
        };
        let figures = [ns, cycles, half_interval(result).into(), p99];
        let (proof, more) = proof(result, disagrees, style);
        let extras = EXTRAS.each_ref().map(|extra| (extra.of)(result, style).unwrap_or_default());
        let (ns, probe) = (result.ns, result.probe.clone());
        Self { order, name, failure, figures, marks, extras, ns, probe, proof, disagrees, more, noted }
    }
}

/// Whether the proof column itself shows a warning.
pub(super) fn is_proof(code: &str) -> bool {
    PROOF.iter().any(|kind| kind.name == code)
}

/// The columns of a figure: short in a narrow table, so that the bar keeps its place.
fn digits(style: &Style) -> usize {
    if is_narrow(style) { number::SHORT } else { number::FIGURE }
}

/// Whether there is no room for wide gaps and long figures.
pub(crate) fn is_narrow(style: &Style) -> bool {
    style.columns() < 100
}

/// The mechanism, with what tells it from its neighbors: parameters, another engine than this host.
fn name(result: &Measurement, family: &Namesakes, style: &Style) -> String {
    let mechanism = result.probe.split_once('/').map_or(result.probe.as_str(), |(_, mechanism)| mechanism);
    let mut name = clean(mechanism, style);
    if name.is_empty() {
        name = "(no name)".into();
    }
    for (key, value) in family.telling(result) {
        // A string without its quotes.
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        name = format!("{name} {}={}", clean(&key, style), clean(&value, style));
    }
    if !matches!(result.engine.as_str(), "host" | "") {
        name = format!("{name} [{}]", clean(&result.engine, style));
    }
    name
}

/// The figure, or its upper bound when it cannot be told from zero.
fn headline(figure: Option<&Estimate>, style: &Style) -> String {
    match figure {
        None => "-".into(),
        Some(figure) if figure.is_zero_within_error() => {
            format!("{} {}", style.at_most(), number::bound(figure.ci[1], digits(style)))
        }
        Some(figure) => number::fit(figure.estimate, digits(style)),
    }
}

fn valued(figure: Option<&Estimate>, text: String) -> Cell {
    figure.map_or_else(|| text.clone().into(), |figure| Cell::shown(text.clone(), figure.estimate))
}

/// Half the interval in per cent of the headline; a bound has none. It is as wide in a run whose intervals were not measured.
fn half_interval(result: &Measurement) -> String {
    let half = match (&result.ns, &result.cycles) {
        (Some(figure), _) if !figure.is_zero_within_error() => number::half_share(figure),
        // Simulated cycles are exact.
        (None, Some(figure)) if !figure.is_zero_within_error() => {
            number::percent(figure.relative_half_width())
        }
        _ => "-".into(),
    };
    format!("{half:>5}")
}

/// The counts in words. A narrow table has room for one: that of the switches, or, where the proof
/// disagrees, the one that is farthest from the usual claim, which is one per crossing. The second value is the number
/// of counts that are left out.
fn proof(result: &Measurement, disagrees: bool, style: &Style) -> (String, usize) {
    let mut counts: Vec<(&String, f64)> = result.proof.iter().map(|(key, value)| (key, *value)).collect();
    let off = |value: f64| if value.is_nan() { f64::INFINITY } else { (value - 1.0).abs() };
    if disagrees {
        counts.sort_by(|a, b| off(b.1).total_cmp(&off(a.1)));
    } else {
        // A count of nothing says something only when it is the only one.
        if counts.iter().any(|(_, value)| *value != 0.0) {
            counts.retain(|(_, value)| *value != 0.0);
        }
        counts.sort_by_key(|(key, _)| !key.starts_with("switches"));
    }
    let word = |(key, value): &(&String, f64)| {
        let count = number::per_crossing(*value, disagrees);
        format!("{count} {}", clean(&words::counted(key), style)).trim_end().to_owned()
    };
    let all = counts.iter().map(word).collect::<Vec<_>>().join(", ");
    match counts.as_slice() {
        [first, _, ..] if is_narrow(style) || all.len() > MOST_PROOF => {
            (word(first), if disagrees { 0 } else { counts.len() - 1 })
        }
        _ => (all, 0),
    }
}
