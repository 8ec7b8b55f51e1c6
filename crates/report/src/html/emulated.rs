//! What an emulator made: which rows, under which heading, with which warning.

use super::runs::{PageRow, family, is_rung};
use crate::markup::clean;
use crate::remarks::sentence;
use crate::words;
use indexmap::IndexMap;
use tollgate_record::Measurement;

/// Whether a figure is an emulator's own. What simulators count has sections of its own and pretends nothing.
pub(super) fn is(result: &Measurement) -> bool {
    is_rung(result) && words::is_emulated(result)
}

/// The heading above a result: its family, and what emulated it.
pub(super) fn title(result: &Measurement) -> String {
    let family = family(result.family());
    if is(result) { format!("emulated by {}: {family}", clean(&result.engine)) } else { family }
}

/// What is emulated, once for all rows below a heading; of sentences that differ in their figures the first.
pub(super) fn why<'a>(rows: &[PageRow<'a>]) -> Vec<&'a str> {
    let all = rows.iter().flat_map(|row| &row.results).flat_map(|(_, it)| &it.warnings);
    let mut kinds: IndexMap<Vec<&str>, &str> = IndexMap::new();
    for text in all.filter(|warning| warning.code == words::EMULATED).map(sentence) {
        kinds.entry(text.split(|c: char| !c.is_alphabetic()).collect()).or_insert(text);
    }
    kinds.into_values().collect()
}
