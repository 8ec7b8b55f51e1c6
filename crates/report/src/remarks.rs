//! Remarks on results: why a figure is missing, and warnings, each once with whatever it is of.

use indexmap::{IndexMap, IndexSet};
use std::hash::Hash;
use tollgate_record::{Measurement, Status, Warning};

/// One remark.
pub(crate) struct Remark<T> {
    /// What kind it is: `skipped`, `failed` or `warning`.
    pub(crate) class: &'static str,
    pub(crate) text: String,
    /// Whether others of the same key have other words; `text` is the first.
    pub(crate) varies: bool,
    pub(crate) of: IndexSet<T>,
}

/// The remarks on results, in their order. `key` says which warnings are the same; those without one are left out.
pub(crate) fn remarks<'a, T: Clone + Eq + Hash>(
    results: impl IntoIterator<Item = (T, &'a Measurement)>,
    key: impl Fn(&'a Warning) -> Option<&'a str>,
) -> Vec<Remark<T>> {
    let mut all: IndexMap<(&str, String), Remark<T>> = IndexMap::new();
    for (of, it) in results {
        let absent = unmeasured(it).map(|(class, text)| (class, text.clone(), text));
        let warned = |it| Some(("warning", key(it)?.to_owned(), sentence(it).to_owned()));
        for (class, key, text) in absent.into_iter().chain(it.warnings.iter().filter_map(warned)) {
            let new = || Remark { class, text: text.clone(), varies: false, of: IndexSet::new() };
            let remark = all.entry((class, key)).or_insert_with(new);
            remark.varies |= remark.text != text;
            remark.of.insert(of.clone());
        }
    }
    all.into_values().collect()
}

/// Why a result has no figure: the kind of the remark, and a clause.
fn unmeasured(it: &Measurement) -> Option<(&'static str, String)> {
    let class = match it.status {
        Status::Measured => return None,
        Status::Skipped => "skipped",
        Status::Failed => "failed",
    };
    let reason = it.reason.as_deref().unwrap_or("no reason given");
    let enable = it.enable.as_deref().map(|enable| format!(". To enable it: {enable}"));
    Some((class, format!("{class}: {reason}{}", enable.unwrap_or_default())))
}

/// A warning in words; one without words still has its code.
pub(crate) fn sentence(warning: &Warning) -> &str {
    if warning.text.trim().is_empty() { &warning.code } else { &warning.text }
}
