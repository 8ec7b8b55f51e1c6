//! The kinds of fault, and the bill of a major one.

use super::number;
use crate::head::head;
use crate::notes::notes;
use crate::sheet::{Column, Sheet, Table, painted, prose};
use crate::style::{Paint, Style};
use crate::text::clean;
use crate::words::{self, reason};
use tollgate_record::number::{SHORT, change, figure, fit, half_share, per_crossing, percent, time};
use tollgate_record::{Evidence, Measurement, Run, Single, Status};

/// The table of a `fault kinds` run, in the order of the list, with the bill of a major fault and the notes.
pub(crate) fn fault_kinds(run: &Run, style: &Style) -> Sheet {
    let mut text = head(run, style);
    text.blank();
    let title = "Page faults by kind. ns for each touch; p50 and p99 of single ones; pages that one maps.";
    text.extend(painted(Paint::Bold, title));
    text.extend(table(run, style));
    text.blank();
    text.extend(bills(run, style));
    text.extend(skipped(run, style));
    text.extend(notes(run, style));
    text
}

/// A row for each kind that was not skipped.
fn table(run: &Run, style: &Style) -> Sheet {
    let mut table = Table::new([
        Column::left("").most(40).least(21),
        Column::right("ns").quoted(),
        Column::right(style.plus_minus()).rank(1),
        Column::right("p50").rank(2),
        Column::right("p99").rank(3),
        Column::right("minor").rank(4),
        Column::right("major").rank(5),
        Column::right("maps").rank(6),
    ]);
    for result in run.results.iter().filter(|result| result.status != Status::Skipped) {
        let name = clean(result.probe.strip_prefix("fault/").unwrap_or(&result.probe), style);
        let Some(ns) = result.ns.filter(|_| result.status == Status::Measured) else {
            let why = clean(result.reason.as_deref().unwrap_or_default(), style);
            table.prose([name], if why.is_empty() { "it failed" } else { &why }, Paint::Bad);
            continue;
        };
        let single =
            |of: fn(&Single) -> f64| result.single.as_ref().map_or("-".into(), |it| fit(of(it), SHORT + 1));
        let count = |key: &str| number(result, key).map_or("-".into(), |it| per_crossing(it, true));
        table.row([
            name,
            fit(ns.estimate, SHORT + 1),
            half_share(&ns),
            single(|single| single.p50),
            single(|single| single.p99),
            count("minor-per-touch"),
            count("major-per-touch"),
            count("mapped-per-touch"),
        ]);
    }
    table.into()
}

/// A title and the lines of the bill.
fn parts(title: &str, result: &Measurement, style: &Style) -> Sheet {
    let mut text = painted(Paint::Bold, title);
    let Some(total) = result.ns else { return text };
    let mut table = Table::new([
        Column::left("").most(24),
        Column::right(""),
        Column::right(""),
        Column::left("").least(20).rank(1),
    ])
    .indent(2);
    for part in &result.phases {
        let Some(ns) = part.ns else { continue };
        let evidence = match (part.evidence, part.name.as_str()) {
            (Evidence::Measured, "device-wait") => "measured: the thread was off the CPU",
            (Evidence::Measured, _) => "measured: populate-write",
            (Evidence::KernelTimestamp, _) => "the kernel's stamp of the fault",
            (_, "handling") => "between two stamps of the kernel's",
            (_, "return") => "the kernel's last stamp to user mode",
            (_, "entry-and-return") => "anonymous less populate-write",
            (_, "mapping") => "(around less cached-page) per further page",
            _ => "what is left",
        };
        let share = percent(ns.estimate / total.estimate);
        table.row([words::phase(&part.name, style), figure(ns.estimate), share, evidence.into()]);
    }
    table.row(["in all".into(), figure(total.estimate)]);
    text.extend(Sheet::from(table));
    text
}

/// The bills of a minor and of a major fault, and what proves the device's share.
fn bills(run: &Run, style: &Style) -> Sheet {
    let find = |probe: &str| run.results.iter().find(|result| result.probe == probe);
    let with_bill = |probe: &str| find(probe).filter(|result| !result.phases.is_empty());
    let mut text = Sheet::new();
    if let Some(minor) = with_bill("fault/anonymous") {
        text.extend(parts("The bill of a minor fault (anonymous)", minor, style));
    }
    let Some(major) = with_bill("fault/major") else { return text };
    text.extend(parts("The bill of a major fault", major, style));
    let p50 = |result: &Measurement| result.single.map(|single| single.p50);
    if let Some(floor) = find("fault/direct-read").filter(|floor| floor.status == Status::Measured)
        && let (Some(of_fault), Some(of_floor)) = (p50(major), p50(floor))
    {
        let off = number(floor, "off-cpu-ns-per-touch").zip(number(floor, "wall-ns-per-touch"));
        let off = off.map_or_else(String::new, |(off, wall)| {
            format!(", in which the thread is off the CPU for {} of the time", percent(off / wall))
        });
        let above = change(of_fault / of_floor - 1.0);
        let sentence = format!(
            "The device's share is proven by a read of the same device past the page cache, which has no fault in \
             it: {} at the median{off}. The fault takes {} at the median, {above} beside it.",
            time(of_floor),
            time(of_fault),
        );
        text.extend(prose(clean(&sentence, style), "  "));
    }
    text.blank();
    text
}

/// What was skipped, with what would make it measurable.
fn skipped(run: &Run, style: &Style) -> Sheet {
    let line = |result: &Measurement| {
        let (probe, why) = (clean(&result.probe, style), reason(result, style));
        let enable = clean(result.enable.as_deref().unwrap_or("no reason given"), style);
        prose(format!("{probe} skipped: {why}; {enable}"), "  ")
    };
    run.results.iter().filter(|result| result.status == Status::Skipped).flat_map(line).collect()
}
