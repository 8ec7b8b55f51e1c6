//! Every record of the tests beside a copy in which all has changed: a reader who divides the printed figures finds the printed change.

use std::fs;
use std::path::Path;
use tollgate_judge::{Options, compare};
use tollgate_record::{Estimate, Run, store};
use tollgate_report::{Style, comparison};

/// What the copy takes in place of one.
const TIMES: f64 = 1.25;

fn records() -> Vec<Run> {
    let folders =
        ["runs", "records"].map(|name| Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(name));
    let paths =
        folders.iter().flat_map(|folder| fs::read_dir(folder).unwrap()).map(|entry| entry.unwrap().path());
    paths
        .filter(|path| path.extension().is_some_and(|it| it == "json"))
        .map(|path| store::read(&path).unwrap())
        .collect()
}

/// The same run with longer times on a core that is a tenth slower.
fn changed(run: &Run) -> Run {
    let mut run = Run { id: format!("{}-changed", run.id), ..run.clone() };
    let scale = |it: &mut Option<Estimate>| *it = it.map(|it| it.scaled(TIMES));
    for row in &mut run.results {
        scale(&mut row.ns);
        scale(&mut row.cycles);
        row.crossings *= 2;
        row.counters.values_mut().for_each(|count| *count *= 2.0);
        row.phases.iter_mut().for_each(|phase| scale(&mut phase.ns));
        for epoch in &mut row.epochs {
            epoch.ns *= TIMES;
            epoch.core_hz = epoch.core_hz.map(|hz| 0.9 * hz);
        }
    }
    run
}

/// A printed figure: its value, and by how much it may be wrong.
fn read(text: &str) -> Option<[f64; 2]> {
    let text = text.trim_end_matches(['~', 'c', 'i']).replace(',', "");
    let (digits, times) = match text.strip_suffix(['M', 'G', 'T']) {
        Some(digits) => (digits.to_owned(), if text.ends_with('M') { 1e6 } else { 1e9 }),
        None => (text, 1.0),
    };
    let value: f64 = digits.parse().ok()?;
    let decimals = digits.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    // Beyond four digits the others are zeros.
    let least =
        if decimals == 0 && value >= 1e4 { value / 2_000.0 } else { 0.5 * 10_f64.powi(-(decimals as i32)) };
    Some([value * times, least * times])
}

#[test]
fn the_printed_change_is_that_of_the_printed_figures() {
    let style = Style { width: 80, ..Style::default() };
    let (mut rows, mut records_with_rows) = (0, 0);
    for run in records() {
        let Ok(found) = compare(std::slice::from_ref(&run), &[changed(&run)], &Options::default()) else {
            continue;
        };
        records_with_rows += 1;
        for row in found.rows.iter().filter(|row| row.ratio.is_some()) {
            let ratio = row.ratio.unwrap();
            assert!((row.b / row.a / ratio - 1.0).abs() < 1e-6, "{row:#?}");
            let as_measured = (row.b / row.b_measured - 1.0).abs() < 6e-4;
            assert!(as_measured || !row.adjusted.is_empty(), "{row:#?}");
        }
        let text = comparison(&found, true, &style);
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        for line in text.lines() {
            // A, B, the change and a sign of per cent, one after the other.
            let words: Vec<&str> = line.split_whitespace().collect();
            let Some(at) = words.iter().position(|word| *word == "%").filter(|at| *at >= 3) else { continue };
            let Ok(change) = words[at - 1].replace(['+', ','], "").parse::<f64>() else { continue };
            let Some(([a, of_a], [b, of_b])) = read(words[at - 3]).zip(read(words[at - 2])) else { continue };
            let printed = if words[at - 1].contains('.') { 0.05 } else { 0.5 };
            let doubt = 100.0 * (of_b / a + b * of_a / (a * a)) + printed;
            assert!((100.0 * (b / a - 1.0) - change).abs() <= 1.01 * doubt, "{line}: {a} {b}");
            rows += 1;
        }
        let markdown = comparison(&found, false, &Style::MARKDOWN);
        assert!(markdown.contains("| change |"), "{markdown}");
    }
    assert!(rows >= 100 && records_with_rows >= 15, "{rows} rows of {records_with_rows} records");
}
