//! Two runs: their sides, what changed, and how sure that is. The rows themselves follow.

use super::runs::Runs;
use crate::compare;
use crate::sheet::Page;
use crate::style::Style;
use maud::{Markup, html};
use tollgate_judge::Options;

pub(super) fn section(runs: &Runs) -> Markup {
    let [a, b] = runs.all.as_slice() else { return html! {} };
    let [a, b] = [a, b].map(|one| std::slice::from_ref(one.run.as_ref()));
    match tollgate_judge::compare(a, b, &Options::default()) {
        Ok(found) => compare::sheet(&found, false, &Style::MARKDOWN).elements(&Page::PLAIN),
        Err(_) => html! {},
    }
}
