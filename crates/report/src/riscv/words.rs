//! What the views of the RISC-V families have in common.

use crate::sheet::{Sheet, prose};
use crate::style::Style;
use crate::text::clean;
use indexmap::IndexSet;
use std::borrow::Cow;
use tollgate_record::family::TrapAsked;
use tollgate_record::number::mean;
use tollgate_record::{
    CauseName, Counter, Measurement, PhaseName, Run, Status, WarningKind, cause, counter, phase,
};

/// The causes of cycles in the order of the pipe, with the heads of their columns.
pub(super) const CAUSES: [(CauseName, &str); 10] = [
    (cause::ISSUE, "issue"),
    (cause::LOAD_USE, "load"),
    (cause::CSR, "csr"),
    (cause::BRANCH, "branch"),
    (cause::TRAP_FLUSH, "flush"),
    (cause::I_MISS, "I-miss"),
    (cause::D_MISS, "D-miss"),
    (cause::TLB_WALK, "walk"),
    (cause::LONG_OPERATION, "long"),
    (cause::STRUCTURAL, "struct"),
];

pub(super) fn measured(run: &Run) -> Vec<&Measurement> {
    run.results.iter().filter(|result| result.status == Status::Measured).collect()
}

/// The warnings, each a paragraph and each sentence once; without those of codes that the view has words for.
pub(super) fn warnings(run: &Run, style: &Style, but: &[WarningKind]) -> Sheet {
    let all = run.warnings.iter().chain(run.results.iter().flat_map(|result| &result.warnings));
    let shown = all.filter(|warning| !but.iter().any(|kind| warning.code == *kind));
    let sentences: IndexSet<String> = shown.map(|warning| clean(&warning.text, style)).collect();
    sentences.iter().flat_map(|sentence| prose(sentence, "")).collect()
}

/// The phases of a kernel's bill that have a column, with its head. In a narrow terminal the first to go are those in
/// which calls differ least.
pub(super) const PHASES: [(&str, usize, PhaseName); 7] = [
    ("user", 7, phase::USER_STUB),
    ("stack", 6, phase::STACK_SWITCH),
    ("save", 4, phase::REGISTER_SAVE),
    ("dispatch", 1, phase::DISPATCH),
    ("handler", 0, phase::HANDLER),
    ("restore", 3, phase::REGISTER_RESTORE),
    ("return", 5, phase::RETURN),
];

/// What was asked of a trap; empty for a result of another family.
pub(super) fn trap(result: &Measurement) -> Cow<'_, TrapAsked> {
    result.asked.trap().map_or_else(|| Cow::Owned(TrapAsked::default()), Cow::Borrowed)
}

pub(super) fn kernel(result: &Measurement) -> &str {
    result.asked.trap().map_or("", |asked| &asked.kernel)
}

/// Whether the functions of a real kernel are named.
pub(super) fn names_functions(result: &Measurement) -> bool {
    let prefix = counter::FUNCTION.part("");
    result.counters.keys().any(|name| name.starts_with(&prefix))
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

/// A counter of one phase: its `loads`, `stores`, `bytes-stored` or `traps`.
pub(super) fn of_phase(result: &Measurement, phase: &str, what: &str) -> Option<f64> {
    part(result, counter::PHASE, &format!("{phase}/{what}"))
}

/// One of the counters that a definition ending in `*` stands for.
pub(super) fn part(result: &Measurement, counter: Counter, rest: &str) -> Option<f64> {
    result.counters.get(&counter.part(rest)).copied()
}

pub(super) fn instructions(result: &Measurement, phase: PhaseName) -> f64 {
    result.phase(phase).and_then(|it| it.instructions).unwrap_or(0.0)
}

/// [`mean`], and `-` where nothing was counted.
pub(super) fn or_dash(x: Option<f64>) -> String {
    x.map_or_else(|| "-".into(), mean)
}

/// A bar: one `#` for every four per cent, and at least one for what is not zero.
pub(super) fn bar(share: f64) -> String {
    let marks = if share.is_finite() { (share.clamp(0.0, 1.0) * 25.0).round() as usize } else { 0 };
    "#".repeat(if share > 0.0 { marks.max(1) } else { 0 })
}

/// A part of a whole; 0 of nothing.
pub(super) fn share(part: f64, whole: f64) -> f64 {
    if whole == 0.0 { 0.0 } else { part / whole }
}

/// A share as a whole number of per cent.
pub(super) fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

#[cfg(test)]
mod tests {
    use super::{bar, or_dash, share};

    #[test]
    fn exact_figures_look_exact() {
        assert_eq!(
            [Some(98.0), Some(1.5), Some(1_234_567.0), None].map(or_dash),
            ["98", "1.50", "1,234,567", "-"]
        );
    }

    #[test]
    fn what_is_not_zero_has_a_mark() {
        assert_eq!(bar(0.0), "");
        assert_eq!(bar(0.001), "#");
        assert_eq!(bar(1.0).len(), 25);
        assert_eq!((bar(f64::NAN), share(1.0, 0.0)), (String::new(), 0.0));
    }

    #[test]
    fn paragraphs_break_before_column_81() {
        let lines = crate::text::wrap(&"word ".repeat(40), 80, "");
        assert!(lines.iter().all(|line| line.len() <= 80));
        assert_eq!(lines[0].len(), 79);
        assert_eq!(lines.join(" ").split_whitespace().count(), 40);
    }
}
