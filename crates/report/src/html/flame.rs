//! Flame graphs: the cycles of a program or kernel by who called whom. A function is as wide as its cycles with those of all
//! that it called, and what it called is below it.

use super::runs::Runs;
use crate::chart::mark::{self, Look};
use crate::export::stacks::cut;
use crate::figure::Figure;
use crate::markup::{clean, percent as across, px};
use crate::sheet::{Cell, Table};
use indexmap::{IndexMap, IndexSet};
use maud::{Markup, html};
use tollgate_record::family::{PathFound, ProgramFound};
use tollgate_record::number::{count, percent};
use tollgate_record::{Measurement, Status};

/// Height of a row in pixels.
const ROW: f64 = 18.0;
/// Narrower calls cannot be seen.
const NARROWEST: f64 = 0.001;
/// Deeper calls make the picture too high.
const DEEPEST: usize = 60;
/// Below this share a name has no room.
const NAMED: f64 = 0.02;
/// More profiles make the page heavy.
const FIGURES: usize = 12;
const HOW: &str = "A function is as wide as its cycles with those of all that it called, which is below it; the width below which \
                   nothing is are its own. The order from left to right has no meaning, and a function has one color.";

pub(super) fn section(runs: &Runs) -> Markup {
    let rows = runs.rows(|result| {
        let found = result.found.program();
        result.status == Status::Measured && found.is_some_and(|found| !found.paths.is_empty())
    });
    let all: Vec<(usize, &Measurement)> = rows.iter().flat_map(|row| row.results.iter().copied()).collect();
    let mut figures: Vec<Figure> = all
        .iter()
        .take(FIGURES)
        .filter_map(|&(n, result)| {
            Some(figure(&format!("{}{}", runs.before(n), title(result)), result.found.program()?))
        })
        .collect();
    if let Some(last) = figures.last_mut().filter(|_| all.len() > FIGURES) {
        last.notes.push(format!("{} more profiles are in the records.", all.len() - FIGURES));
    }
    if let Some(first) = figures.first_mut() {
        first.lead = HOW.into();
    }
    html! { @for figure in &figures { (figure.element()) } }
}

fn title(result: &Measurement) -> String {
    let asked = result.asked.program();
    let core = asked.and_then(|asked| asked.core.as_ref()).map(|core| format!(", on {core}"));
    clean(&format!("calls of {}{}", asked.map_or("", |asked| &asked.program), core.unwrap_or_default()))
}

/// A call in the picture.
struct Frame<'a> {
    function: &'a str,
    depth: usize,
    /// Where it begins and what it contains, in cycles.
    from: u64,
    total: u64,
    own: u64,
}

/// Every path of calls, in the order of the record. A caller that does not come before what it calls is not one.
fn frames(paths: &[PathFound]) -> Vec<Frame<'_>> {
    let caller = |at: usize| paths[at].caller.and_then(|of| usize::try_from(of).ok()).filter(|&of| of < at);
    let mut totals: Vec<u64> = paths.iter().map(|path| path.cycles).collect();
    for at in (0..paths.len()).rev() {
        if let Some(of) = caller(at) {
            totals[of] = totals[of].saturating_add(totals[at]);
        }
    }
    let mut frames: Vec<Frame<'_>> = Vec::with_capacity(paths.len());
    // Where the next call of each path begins, and the next path without a caller.
    let (mut next, mut free) = (Vec::with_capacity(paths.len()), 0_u64);
    for (at, path) in paths.iter().enumerate() {
        let (cursor, depth) = match caller(at) {
            Some(of) => (&mut next[of], frames[of].depth + 1),
            None => (&mut free, 0),
        };
        let from = *cursor;
        *cursor = from.saturating_add(totals[at]);
        next.push(from);
        frames.push(Frame { function: &path.function, depth, from, total: totals[at], own: path.cycles });
    }
    frames
}

fn figure(title: &str, found: &ProgramFound) -> Figure {
    let frames = frames(&found.paths);
    let whole =
        frames.iter().filter(|frame| frame.depth == 0).fold(0_u64, |sum, it| sum.saturating_add(it.total));
    let share = |cycles: u64| if whole > 0 { cycles as f64 / whole as f64 } else { 0.0 };
    let (drawn, hidden): (Vec<_>, Vec<_>) =
        frames.iter().partition(|frame| frame.depth < DEEPEST && share(frame.total) >= NARROWEST);
    let names: IndexSet<&str> = drawn.iter().map(|frame| frame.function).collect();
    let rows = drawn.iter().map(|frame| frame.depth + 1).max().unwrap_or(0);
    let draw = |frame: &Frame<'_>| {
        let ends = [share(frame.from), share(frame.from.saturating_add(frame.total))];
        let (top, width) = (frame.depth as f64 * ROW, ends[1] - ends[0]);
        let look = Look::nth(names.get_index_of(frame.function).unwrap_or_default());
        let words = format!(
            "{}: {} cycles, {}; {} its own",
            frame.function,
            count(frame.total),
            percent(width),
            count(frame.own)
        );
        mark::mark(
            &look.class(),
            &words,
            html! {
                (mark::rect("frame", ends, top, ROW - 1.0))
                @if width >= NAMED {
                    // What has no room is cut off.
                    svg x=(across(ends[0])) y=(px(top)) width=(across(width)) height=(px(ROW - 1.0)) {
                        text.called x="4" y="13" { (clean(frame.function)) }
                    }
                }
            },
        )
    };
    let mut figure = Figure::new(title, "", table(title, &frames));
    figure.picture.push(mark::track(rows as f64 * ROW, html! { @for &frame in &drawn { (draw(frame)) } }));
    let unseen = hidden.iter().filter(|frame| frame.total > 0).count();
    if unseen > 0 {
        let calls = tollgate_record::number::plural(unseen, "call is", "calls are");
        figure.notes.push(format!(
            "{calls} narrower than {} or deeper than {DEEPEST}, and not drawn.",
            percent(NARROWEST)
        ));
    }
    figure.notes.extend(cut(found).map(|why| why + "."));
    figure
}

/// The functions on all paths together, with their own cycles.
fn table(title: &str, frames: &[Frame<'_>]) -> Table {
    let mut functions: IndexMap<&str, u64> = IndexMap::new();
    for frame in frames {
        let own = functions.entry(frame.function).or_default();
        *own = own.saturating_add(frame.own);
    }
    functions.sort_by(|_, a, _, b| b.cmp(a));
    let mut table =
        Table::data(format!("{title}: cycles of each function"), &[("function", false), ("cycles", true)]);
    for (function, own) in functions {
        table.row([Cell::text(function), Cell::count(own)]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::markup::finish;

    fn path(caller: Option<u64>, function: &str, cycles: u64) -> PathFound {
        PathFound { caller, function: function.into(), cycles }
    }

    #[test]
    fn what_is_called_is_below_its_caller_and_as_wide_as_its_cycles() {
        let paths = vec![
            path(None, "main", 20),
            path(Some(0), "sort", 10),
            path(Some(1), "swap", 40),
            path(Some(0), "read", 30),
        ];
        let found = ProgramFound { paths, ..ProgramFound::default() };
        let out = finish(figure("f", &found).element());
        let rect = |x: &str, y: &str, width: &str| {
            format!("class=\"frame\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"17\"")
        };
        for (x, y, width) in
            [("0%", "0", "100%"), ("0%", "18", "50%"), ("0%", "36", "40%"), ("50%", "18", "30%")]
        {
            assert!(out.contains(&rect(x, y, width)), "{x} {y} {width}: {out}");
        }
        assert!(out.contains("sort: 50 cycles, 50 %; 10 its own"), "{out}");
    }

    #[test]
    fn a_damaged_record_stays_in_the_picture() {
        let paths = vec![
            path(Some(0), "self", u64::MAX),
            path(Some(9), "gone", 5),
            path(Some(1), "<b>", u64::MAX),
            path(None, "nothing", 0),
        ];
        let out = finish(figure("f", &ProgramFound { paths, ..ProgramFound::default() }).element());
        assert!(!out.contains("NaN") && !out.contains("=\"-") && !out.contains("<b>"), "{out}");
        let empty = ProgramFound { paths: vec![path(None, "nothing", 0)], ..ProgramFound::default() };
        assert!(!finish(figure("f", &empty).element()).contains("NaN"));
    }

    #[test]
    fn what_cannot_be_seen_is_counted() {
        let paths = vec![path(None, "main", 10_000), path(Some(0), "small", 1)];
        let out = finish(figure("f", &ProgramFound { paths, ..ProgramFound::default() }).element());
        assert_eq!(out.matches("class=\"frame\"").count(), 1);
        assert!(out.contains("1 call is narrower than 0.1 %"), "{out}");
    }
}
