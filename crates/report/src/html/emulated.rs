//! What an emulator made: which rows, under which heading, with which warning.

use super::runs::{PageRow, family, is_rung};
use crate::markup::{Element, clean, el};
use crate::words;
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
pub(super) fn why(rows: &[PageRow]) -> Vec<Element> {
    let all = rows.iter().flat_map(|row| &row.results).flat_map(|(_, it)| &it.warnings);
    let texts = all
        .filter(|warning| warning.code == words::EMULATED)
        .map(|warning| if warning.text.trim().is_empty() { &warning.code } else { &warning.text });
    let words_of =
        |text: &str| text.split(|c: char| !c.is_alphabetic()).map(str::to_owned).collect::<Vec<_>>();
    let mut kinds: Vec<(Vec<String>, &str)> = Vec::new();
    for text in texts {
        if kinds.iter().all(|(kind, _)| *kind != words_of(text)) {
            kinds.push((words_of(text), text));
        }
    }
    kinds.into_iter().map(|(_, text)| el("li").class("warning").text(text)).collect()
}
