//! The scans of a file: what `/usr/bin/time -v` tells of each, side by side, and why.

use super::{explain, number};
use crate::head::head;
use crate::notes::notes;
use crate::sheet::{Column, Sheet, Table, painted, paragraph, prose, sketch};
use crate::style::{Paint, Style};
use crate::text::{clean, cut, left, marked};
use crate::words::reason;
use tollgate_record::number::{bytes, figure, percent, time, whole};
use tollgate_record::{Measurement, Run, Status};

/// Columns of what a row tells of.
const NAME: usize = 32;
const CELL: usize = 12;
const ACROSS: usize = 4;

type ScanFact = (&'static str, fn(&Measurement) -> Option<String>);

/// What `/usr/bin/time -v` tells of a process, in its words and its order.
const AS_TIME: [ScanFact; 10] = [
    ("Elapsed (wall clock) time, s", |it| seconds(it, "elapsed-s")),
    ("User time, s", |it| seconds(it, "user-s")),
    ("System time, s", |it| seconds(it, "system-s")),
    ("Percent of CPU", |it| number(it, "cpu-share").map(percent)),
    ("Major page faults", |it| number(it, "major-faults").map(whole)),
    ("Minor page faults", |it| number(it, "minor-faults").map(whole)),
    ("Voluntary context switches", |it| number(it, "voluntary-switches").map(whole)),
    ("Involuntary context switches", |it| number(it, "involuntary-switches").map(whole)),
    ("File system inputs (512 bytes)", |it| number(it, "file-system-inputs").map(whole)),
    ("Maximum resident set, KiB", |it| number(it, "maximum-resident-kib").map(whole)),
];

/// What the scan itself counted, without the start of its process.
const SCAN: [ScanFact; 13] = [
    ("Pages touched", |it| number(it, "pages-touched").map(whole)),
    ("Touches", |it| Some(whole(it.crossings as f64))),
    ("Scan, s", |it| seconds(it, "scan-s")),
    ("Touches in a second", |it| number(it, "pages-per-second").map(whole)),
    ("Read, MB in a second", |it| Some(figure(number(it, "bytes-read")? / 1e6 / number(it, "scan-s")?))),
    ("Minor faults of the scan", |it| number(it, "scan-minor").map(whole)),
    ("Major faults of the scan", |it| number(it, "scan-major").map(whole)),
    ("Minor faults for each touch", |it| number(it, "minor-per-touch").map(figure)),
    ("Major faults for each touch", |it| number(it, "major-per-touch").map(figure)),
    ("Bytes read for each touched", |it| number(it, "read-per-touched").map(figure)),
    ("One touch, p50", |it| Some(time(it.single?.p50))),
    ("One touch, p99", |it| Some(time(it.single?.p99))),
    ("One touch, longest", |it| Some(time(it.single?.max))),
];

/// The scans of a run in columns, where the time went, the timeline, and the explanation in numbers.
pub(crate) fn fault_scan(run: &Run, style: &Style) -> Sheet {
    let mut text = head(run, style);
    text.blank();
    if run.results.is_empty() {
        text.extend(prose("Nothing was scanned.", ""));
    }
    if let Some(first) = run.results.first() {
        text.extend(painted(Paint::Bold, title(first, style)));
        text.blank();
    }
    let most = (style.columns().saturating_sub(NAME) / CELL).clamp(1, ACROSS);
    for scans in run.results.chunks(most) {
        text.extend(table(scans, style));
    }
    for scan in run.results.iter().filter(|scan| scan.ns.is_some()) {
        text.extend(timeline(scan, style));
        text.extend(explain::explain(scan).iter().flat_map(|line| prose(clean(line, style), "  ")));
        text.blank();
    }
    for scan in run.results.iter().filter(|scan| scan.status == Status::Failed) {
        let line = format!("{} failed: {}", name(scan), reason(scan, style));
        text.extend(prose(&line, "  "));
    }
    text.extend(notes(run, style));
    text
}

fn name(scan: &Measurement) -> String {
    number(scan, "size").map_or_else(|| "-".into(), bytes)
}

/// What all scans have in common.
fn title(scan: &Measurement, style: &Style) -> String {
    let asked = scan.asked.scan().cloned().unwrap_or_default();
    let limited_by = scan.found.scan().and_then(|found| found.limited_by.as_deref());
    let file = match asked.file.map(|path| clean(&path, style)) {
        Some(path) => cut(&path, 40, style),
        None => "a file of its own".into(),
    };
    let file_bytes = number(scan, "file_bytes").map_or_else(|| "-".into(), bytes);
    let limit = match (asked.memory_limit, limited_by) {
        (Some(limit), Some(by)) => format!(", in {} of memory ({})", bytes(limit as f64), clean(by, style)),
        _ => String::new(),
    };
    let ahead = number(scan, "read_ahead_kib")
        .map_or_else(String::new, |kib| format!(", which reads {} ahead", bytes(kib * 1024.0)));
    format!(
        "Scan of {file} of {file_bytes} on a disk{ahead}; pattern {}, advice {}{limit}.",
        clean(&asked.pattern, style),
        clean(&asked.advice, style),
    )
}

fn table(scans: &[Measurement], style: &Style) -> Sheet {
    let columns = scans.iter().map(|_| Column::right("").most(CELL - 1));
    let mut table = Table::new(std::iter::once(Column::left("").least(20)).chain(columns));
    let mut add = |title: &str, of: &dyn Fn(&Measurement) -> Option<String>, paint: Paint| {
        let cells = scans.iter().map(|scan| of(scan).map_or_else(|| "-".into(), |cell| clean(&cell, style)));
        table.painted(std::iter::once(title.to_owned()).chain(cells), paint);
    };
    let known = |of: fn(&Measurement) -> Option<String>| scans.iter().any(|scan| of(scan).is_some());
    add("the whole process", &|scan| Some(name(scan)), Paint::Dim);
    for (title, of) in AS_TIME.iter().filter(|(_, of)| known(*of)) {
        add(title, of, Paint::Plain);
    }
    if scans.iter().any(|scan| scan.ns.is_some()) {
        add("the scan alone", &|_| Some(String::new()), Paint::Dim);
        for (title, of) in SCAN.iter().filter(|(_, of)| known(*of)) {
            add(title, of, Paint::Plain);
        }
        for (title, phase) in
            [("Time in the program", "user"), ("Time in the kernel", "system"), ("Time waiting", "waiting")]
        {
            let share = |scan: &Measurement| {
                let part = scan.phases.iter().find(|part| part.name == phase)?.ns?.estimate;
                Some(percent(part / scan.ns?.estimate))
            };
            add(title, &share, Paint::Plain);
        }
    }
    table.blank();
    table.into()
}

fn seconds(result: &Measurement, key: &str) -> Option<String> {
    number(result, key).map(|seconds| if seconds < 10.0 { format!("{seconds:.3}") } else { figure(seconds) })
}

/// Touches and major faults in equal parts of the scan's time, as bars of characters.
fn timeline(scan: &Measurement, style: &Style) -> Sheet {
    let find = |name: &str| scan.series.iter().find(|series| series.name == name);
    let title = paragraph(format!("{} over its time", name(scan)), "").paint(Paint::Bold);
    let mut bars = Vec::new();
    for (name, title) in
        [("touches", "touches"), ("bytes read", "read"), ("minor faults", "minor"), ("major faults", "major")]
    {
        let Some(series) = find(name) else { continue };
        let columns = (style.columns() - 24).min(50);
        let parts = parts(&series.points, columns);
        let most = parts.iter().copied().fold(0.0, f64::max);
        let shares = parts.iter().map(|part| if most > 0.0 { part / most } else { 0.0 });
        let bar = marked(shares, style.pick(" ▁▂▃▄▅▆▇█", " .:-=+*#@"), f64::ceil);
        let total = series.points.last().map_or(0.0, |point| point[1]);
        let total = if name == "bytes read" { bytes(total) } else { whole(total) };
        let total = cut(&total, 10, style);
        bars.push(format!("  {}|{}| {total}", left(title, 8), style.paint(Paint::Bar, &bar)));
    }
    sketch(Some(title), bars)
}

/// How much a cumulated curve grows in each of `columns` equal parts of its time.
fn parts(points: &[[f64; 2]], columns: usize) -> Vec<f64> {
    let end = points.last().map_or(0.0, |point| point[0]);
    let at = |x: f64| {
        let after = points.partition_point(|point| point[0] < x);
        match (after.checked_sub(1).map(|before| points[before]), points.get(after)) {
            (Some(before), Some(after)) if after[0] > before[0] => {
                before[1] + (after[1] - before[1]) * (x - before[0]) / (after[0] - before[0])
            }
            (_, Some(after)) => after[1],
            (Some(before), None) => before[1],
            (None, None) => 0.0,
        }
    };
    let edge = |part: usize| at(end * part as f64 / columns as f64);
    (0..columns).map(|part| (edge(part + 1) - edge(part)).max(0.0)).collect()
}

#[cfg(test)]
mod tests {
    use super::parts;

    #[test]
    fn a_curve_is_cut_into_equal_times() {
        // 10 in the first half, 30 in the second.
        let points = [[0.0, 0.0], [5.0, 10.0], [10.0, 40.0]];
        assert_eq!(parts(&points, 2), [10.0, 30.0]);
        assert_eq!(parts(&points, 4), [5.0, 5.0, 15.0, 15.0]);
        assert_eq!(parts(&[], 2), [0.0, 0.0]);
    }
}
