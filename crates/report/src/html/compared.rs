//! Two runs: their sides, what changed, and how sure that is. The rows themselves follow.

use super::runs::Runs;
use crate::compare;
use crate::sheet::Page;
use crate::style::Style;
use maud::{Markup, html};
use tollgate_judge::{Comparison, Options};

pub(super) fn section(runs: &Runs) -> Markup {
    let found = found(runs);
    html! { @if let Some(found) = found { (compare::sheet(&found, false, &Style::MARKDOWN).elements(&Page::PLAIN)) } }
}

/// The comparison of two runs; nothing where they have no row in common.
fn found(runs: &Runs) -> Option<Comparison> {
    let [a, b] = runs.all.as_slice() else { return None };
    let [a, b] = [a, b].map(|one| std::slice::from_ref(one.run.as_ref()));
    tollgate_judge::compare(a, b, &Options::default()).ok()
}

/// The verdict and the largest change, which the page of two runs begins with.
pub(super) fn verdict(runs: &Runs) -> Option<String> {
    let [moved, largest, _] = compare::summary(&found(runs)?, &Style::MARKDOWN);
    Some(format!("{moved} {largest}"))
}
