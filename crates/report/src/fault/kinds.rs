//! The kinds of fault, and the bill of a major one.

use super::{number, time};
use crate::head::head;
use crate::notes::notes;
use crate::number::{figure, fit, per_crossing, percent};
use crate::style::{Paint, Style};
use crate::text::{clean, cut, left, lines, right, wrap};
use tollgate_record::{Evidence, Measurement, Run, Status};

/// Columns of the name.
const NAME: usize = 22;
/// Columns of a number.
const CELL: usize = 10;

/// The table of a `fault kinds` run, in the order of the list, with the bill of a major fault and the notes.
pub fn fault_kinds(run: &Run, style: &Style) -> String {
    let mut text: Vec<String> = head(run, style).iter().map(|line| style.paint(Paint::Dim, line)).collect();
    text.push(String::new());
    let title = "Page faults by kind. ns for each touch; p50 and p99 of single ones; pages that one maps.";
    text.extend(wrap(title, style.prose(), "").iter().map(|line| style.paint(Paint::Bold, line)));
    let heads = ["ns", "+-", "p50", "p99", "minor", "major", "maps"];
    let widths = [CELL, 7, CELL, CELL, 6, 6, 8];
    let shown = shown(&widths, style);
    let header: String =
        heads.iter().zip(widths).take(shown).map(|(head, width)| right(head, width)).collect();
    text.push(style.paint(Paint::Dim, &format!("{}{header}", left("", NAME))));
    for result in run.results.iter().filter(|result| result.status != Status::Skipped) {
        text.push(row(result, &widths, style));
    }
    text.push(String::new());
    text.extend(bill(run, style));
    text.extend(skipped(run, style));
    text.extend(notes(run, style));
    lines(text)
}

/// How many columns of numbers a line has room for.
fn shown(widths: &[usize], style: &Style) -> usize {
    let mut used = NAME;
    let fits = |width: &&usize| {
        used += **width;
        used <= style.columns()
    };
    widths.iter().take_while(fits).count()
}

fn row(result: &Measurement, widths: &[usize; 7], style: &Style) -> String {
    let name = clean(result.probe.strip_prefix("fault/").unwrap_or(&result.probe), style);
    let name = left(&cut(&name, NAME - 1, style), NAME);
    let Some(ns) = result.ns.filter(|_| result.status == Status::Measured) else {
        let why = clean(result.reason.as_deref().unwrap_or_default(), style);
        let why = if why.is_empty() { "it failed".into() } else { why };
        let room = style.columns().saturating_sub(NAME);
        return format!("{name}{}", style.paint(Paint::Bad, &cut(&why, room, style)));
    };
    let single = |of: fn(&tollgate_record::Single) -> f64| {
        result.single.as_ref().map_or_else(|| "-".into(), |single| fit(of(single), CELL - 1))
    };
    let count = |key: &str| number(result, key).map_or_else(|| "-".into(), |it| per_crossing(it, true));
    let cells = [
        fit(ns.estimate, CELL - 1),
        percent(ns.relative_half_width()),
        single(|single| single.p50),
        single(|single| single.p99),
        count("minor_per_touch"),
        count("major_per_touch"),
        count("mapped_per_touch"),
    ];
    let cells: String = cells
        .iter()
        .zip(widths)
        .take(shown(widths, style))
        .map(|(cell, width)| right(&cut(cell, *width, style), *width))
        .collect();
    format!("{name}{cells}")
}

/// The bills of a minor and of a major fault.
fn bill(run: &Run, style: &Style) -> Vec<String> {
    let find = |probe: &str| run.results.iter().find(|result| result.probe == probe);
    let mut text = Vec::new();
    if let Some(minor) = find("fault/anonymous").filter(|minor| !minor.phases.is_empty()) {
        text.push(style.paint(Paint::Bold, "The bill of a minor fault (anonymous)"));
        text.extend(parts(minor, style));
    }
    text.extend(major_bill(run, style));
    text
}

/// The lines of one bill.
fn parts(result: &Measurement, style: &Style) -> Vec<String> {
    let Some(total) = result.ns else { return Vec::new() };
    let mut text = Vec::new();
    for part in &result.phases {
        let Some(ns) = part.ns else { continue };
        let evidence = match (part.evidence, part.name.as_str()) {
            (Evidence::Measured, "device wait") => "measured: the thread was off the CPU",
            (Evidence::Measured, _) => "measured: populate-write",
            (Evidence::KernelTimestamp, _) => "the kernel's stamp of the fault",
            (_, "handling") => "between two stamps of the kernel's",
            (_, "return") => "the kernel's last stamp to user mode",
            (_, "entry and return") => "anonymous less populate-write",
            (_, "mapping") => "(around less cached-page) for each page more",
            _ => "what is left",
        };
        let line = format!(
            "  {}{}{}   {evidence}",
            left(&cut(&clean(&part.name, style), 20, style), 20),
            right(&figure(ns.estimate), CELL + 1),
            right(&percent(ns.estimate / total.estimate), 8),
        );
        text.push(cut(&line, style.columns(), style));
    }
    text.push(format!("  {}{}", left("in all", 20), right(&figure(total.estimate), CELL + 1)));
    text
}

/// The bill of a major fault, and what proves the device's share.
fn major_bill(run: &Run, style: &Style) -> Vec<String> {
    let find = |probe: &str| run.results.iter().find(|result| result.probe == probe);
    let Some(major) = find("fault/major").filter(|major| !major.phases.is_empty()) else { return Vec::new() };
    let mut text = vec![style.paint(Paint::Bold, "The bill of a major fault")];
    text.extend(parts(major, style));
    let p50 = |result: &Measurement| result.single.map(|single| single.p50);
    if let Some(floor) = find("fault/direct-read").filter(|floor| floor.status == Status::Measured)
        && let (Some(of_fault), Some(of_floor)) = (p50(major), p50(floor))
    {
        let share = |result: &Measurement| {
            Some(number(result, "off_cpu_ns_per_touch")? / number(result, "wall_ns_per_touch")?)
        };
        let off = share(floor).map_or_else(String::new, |share| {
            format!(", in which the thread is off the CPU for {} of the time", percent(share))
        });
        let above = (of_fault / of_floor - 1.0) * 100.0;
        let sentence = format!(
            "The device's share is proven by a read of the same device past the page cache, which has no fault in \
             it: {} at the median{off}. The fault takes {} at the median, {above:+.1} % beside it.",
            time(of_floor),
            time(of_fault),
        );
        text.extend(wrap(&sentence, style.prose(), "  "));
    }
    text.push(String::new());
    text
}

/// What was skipped, with what would make it measurable.
fn skipped(run: &Run, style: &Style) -> Vec<String> {
    let skipped = run.results.iter().filter(|result| result.status == Status::Skipped);
    skipped
        .flat_map(|result| {
            let text = |text: &Option<String>| clean(text.as_deref().unwrap_or("no reason given"), style);
            let line = format!(
                "{} skipped: {}; {}",
                clean(&result.probe, style),
                text(&result.reason),
                text(&result.enable)
            );
            wrap(&line, style.prose(), "  ")
        })
        .collect()
}
