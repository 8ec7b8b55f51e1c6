//! The rows: what the terminal prints of each run, those of one view beside each other.

use super::runs::Runs;
use crate::crossing::bills;
use crate::sheet::{Page, Sheet, overlay, title};
use crate::style::Style;
use crate::view::{self, VIEWS};
use maud::{Markup, html};
use std::collections::BTreeSet;
use tollgate_record::{Measurement, Run, Status};

/// The last view is the ladder.
const LADDER: usize = VIEWS.len() - 1;

/// How to read it.
const HOW: &str = "The bold figure is the one to quote: the cost of one crossing in a quiet moment, in nanoseconds. ± is half of \
                   its 95 % interval, which is drawn where it is wider than the mark. Each step of the scale is ten times \
                   the one before.";

/// The sections of the views, in the order of their first runs; `anchor` is the place that explains a probe.
pub(super) fn sections(
    runs: &Runs,
    anchor: fn(&str) -> Option<String>,
) -> Vec<(&'static str, &'static str, Markup)> {
    let letters: Vec<&str> = runs.all.iter().map(|one| one.letter.as_str()).collect();
    let results = runs.all.iter().flat_map(|one| &one.run.results);
    let measured: BTreeSet<&str> =
        results.filter(|it| it.status == Status::Measured).map(|it| it.probe.as_str()).collect();
    let anchor = |probe: &str| measured.contains(probe).then(|| anchor(probe)).flatten();
    let page = Page { letters: if runs.are_several() { &letters } else { &[] }, anchor: &anchor };
    let of: Vec<usize> = runs.all.iter().map(|one| view::of(&one.run)).collect();
    let mut seen = BTreeSet::new();
    let first = of.iter().copied().filter(|view| seen.insert(*view));
    let section = |view: usize| {
        let shown = runs.all.iter().enumerate().filter(|(n, _)| of[*n] == view);
        let sheets = shown.map(|(n, one)| (n, sheet(view, &one.run))).collect();
        let (id, title) = VIEWS[view].page;
        let rows = overlay(sheets, &letters).plots_first().elements(&page);
        (id, title, html! { @if view == LADDER { p.lead { (HOW) } } (rows) })
    };
    first.map(section).collect()
}

fn sheet(view: usize, run: &Run) -> Sheet {
    let mut sheet = (VIEWS[view].show)(run, &Style::PAGE);
    // The ladder has one line for each crossing; a page has room for their parts.
    if view == LADDER {
        let all: Vec<&Measurement> = run.results.iter().collect();
        let parts = bills::table(&all, &Style::PAGE);
        if !parts.is_empty() {
            sheet.extend(title("What crossings consist of"));
            sheet.extend(parts);
        }
    }
    sheet
}
