//! Saved instruction-cache runs: one line for each program and cache.

use crate::{Style, text};
use tollgate_record::{Measurement, Run};

/// The table of a run of `tollgate riscv icache`, in 80 columns.
#[must_use]
pub(crate) fn icache(run: &Run, style: &Style) -> String {
    let mut out = format!(
        "{:<13}{:<15}{:>7}{:>14}{:>12}{:>9}\n",
        "program", "cache", "code", "fetches", "misses", "hit rate"
    );
    for result in &run.results {
        out.push_str(&line(result));
    }
    for warning in run.warnings.iter().chain(run.results.iter().flat_map(|result| &result.warnings)) {
        out.push_str(&text::lines(text::wrap(&text::clean(&warning.text, style), 80, "")));
    }
    out
}

fn line(result: &Measurement) -> String {
    let param = |name: &str, most: usize| -> String {
        let fields = result.asked.fields();
        let text = fields.get(name).and_then(|value| value.as_str()).unwrap_or("-");
        text.chars().map(|c| if c.is_control() { '?' } else { c }).take(most).collect()
    };
    let counter = |name: &str| result.counters.get(name).copied();
    let whole = |name: &str| counter(name).map_or_else(|| "-".into(), |n| format!("{n:.0}"));
    let rate = counter("hit-rate").map_or_else(|| "-".into(), |rate| format!("{rate:.4}"));
    format!(
        "{:<13}{:<15}{:>7}{:>14}{:>12}{rate:>9}\n",
        param("program", 12),
        param("icache", 14),
        whole("text-bytes"),
        whole("accesses"),
        whole("misses")
    )
}

#[cfg(test)]
mod tests {
    use super::line;
    use tollgate_record::family::IcacheAsked;
    use tollgate_record::{Asked, Measurement, Per, Status, counter};

    #[test]
    fn a_line_has_its_figures_and_says_what_is_missing() {
        let mut entry = Measurement::empty("riscv-icache/program", "embedded", Per::Pass, Status::Measured);
        entry.asked = Asked::Icache(IcacheAsked { program: "rv32imc".into(), ..IcacheAsked::default() });
        entry.count(counter::MISSES, 4101.0);
        entry.count(counter::HIT_RATE, 0.7498);
        let shown = line(&entry);
        assert!(shown.starts_with("rv32imc       "), "{shown}");
        assert!(shown.ends_with("-        4101   0.7498\n"), "{shown}");
        assert!(shown.chars().count() <= 81);
    }
}
