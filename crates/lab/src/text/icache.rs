//! What an instruction cache made of one program in several builds, side by side.

use super::words::{bar, grouped, line, per_cent, wrapped};
use crate::icache::{CacheReport, Count, Mix, Report, SweepPoint};

/// Builds beside each other in 80 columns.
const BESIDE: usize = 4;
const LABEL: usize = 28;
const COLUMN: usize = 13;

/// The reports of one program, and what follows from them.
#[must_use]
pub fn icache(reports: &[Report]) -> String {
    let mut out = String::new();
    for some in reports.chunks(BESIDE) {
        if !out.is_empty() {
            out.push('\n');
        }
        out.push_str(&table(some));
        out.push_str(&curves(some));
    }
    for report in reports {
        out.push_str(&heat(report));
    }
    out.push('\n');
    out.push_str(&conclusion(reports));
    out
}

fn table(reports: &[Report]) -> String {
    let mut out = String::new();
    let Some(first) = reports.first() else { return out };
    let mut row = |label: &str, cell: &dyn Fn(&Report) -> String| {
        let cells: String = reports.iter().map(|report| format!("{:>COLUMN$}", cell(report))).collect();
        line(&mut out, format_args!("{label:<LABEL$}{cells}"));
    };
    row("", &|r| clipped(&r.name));
    row("code, object, bytes", &|r| r.object_text.map_or_else(|| "-".into(), grouped));
    row("code, linked, bytes", &|r| grouped(r.text));
    row("  instructions", &|r| grouped(r.static_mix.instructions));
    row("    of 16 bits", &|r| share(r.static_mix.compressed, r.static_mix.instructions));
    row("instructions run", &|r| grouped(r.dynamic_mix.instructions));
    row("    of 16 bits", &|r| share(r.dynamic_mix.compressed, r.dynamic_mix.instructions));
    let mut part = |label: &str, part: fn(&Mix) -> u64| {
        row(label, &|r| share(part(&r.dynamic_mix), r.dynamic_mix.instructions));
    };
    part("    arithmetic", |mix| mix.arithmetic);
    part("    loads and stores", |mix| mix.memory);
    part("    branches and jumps", |mix| mix.control);
    part("    other", |mix| mix.other);
    row("bytes of instructions run", &|r| grouped(r.bytes));
    row(if first.count == Count::Fetch { "fetches" } else { "fetches, one a cycle" }, &|r| {
        grouped(r.accesses)
    });
    row("cycles, if no miss costs any", &|r| grouped(r.cycles));
    for (place, cache) in first.caches.iter().enumerate() {
        let of = |r: &Report, figure: fn(&CacheReport) -> String| {
            r.caches.get(place).map_or_else(|| "-".into(), figure)
        };
        let bytes = grouped(cache.geometry.bytes());
        row(&format!("{} ({bytes} bytes, {})", cache.geometry, cache.policy), &|_| String::new());
        row("  misses", &|r| of(r, |c| grouped(c.counts.misses())));
        row("    compulsory", &|r| of(r, |c| grouped(c.split.compulsory)));
        row("    capacity", &|r| of(r, |c| grouped(c.split.capacity)));
        row("    conflict", &|r| of(r, |c| grouped(c.split.conflict)));
        row("  hit rate per fetch", &|r| of(r, |c| rate(c.counts.hit_rate())));
        row("  line accesses", &|r| of(r, |c| grouped(c.line_counts.accesses())));
        row("  hit rate per line access", &|r| of(r, |c| rate(c.line_counts.hit_rate())));
        row("  cycles on five stages", &|r| {
            of(r, |c| c.timing.map_or_else(|| "-".into(), |it| grouped(it.cycles)))
        });
        row("    waiting for a line", &|r| {
            of(r, |c| c.timing.map_or_else(|| "-".into(), |it| share(it.waiting, it.cycles)))
        });
    }
    out
}

/// The miss-ratio curves, at sizes of powers of two, until nothing changes any more.
fn curves(reports: &[Report]) -> String {
    let mut out = String::new();
    let mut shown = Vec::new();
    let caches = reports.first().map_or(&[][..], |report| &report.caches);
    for (place, cache) in caches.iter().enumerate() {
        let bytes = cache.geometry.line();
        if shown.contains(&bytes) {
            continue;
        }
        shown.push(bytes);
        line(&mut out, format_args!(""));
        line(&mut out, format_args!("misses by size, fully associative, lines of {bytes} bytes, %"));
        let curves: Vec<(&CacheReport, u64)> =
            reports.iter().filter_map(|r| Some((r.caches.get(place)?, r.accesses))).collect();
        let last = curves.iter().filter_map(|(c, _)| c.curve.last()).map(|&(lines, _)| lines).max();
        let names: String =
            reports.iter().map(|r| format!("  {:<width$}", clipped(&r.name), width = BAR)).collect();
        line(&mut out, format_args!("{:>8}{names}", "bytes"));
        let mut size = 1;
        while let Some(last) = last {
            let cells: String = curves
                .iter()
                .map(|(cache, accesses)| {
                    let share = per_cent(at(&cache.curve, size, *accesses), *accesses);
                    let cell = format!("{share:6.2} {}", scaled(&bar(share)));
                    format!("  {cell:<width$}", width = BAR)
                })
                .collect();
            line(&mut out, format_args!("{:>8}{cells}", grouped(size * u64::from(bytes))));
            if size >= last {
                break;
            }
            size *= 2;
        }
    }
    out
}

/// Width of a column of the curve.
const BAR: usize = 16;

/// A bar of 25 marks, in 9.
fn scaled(bar: &str) -> String {
    "#".repeat(bar.len().div_ceil(3).min(9))
}

/// Misses with so many lines.
fn at(curve: &[(u64, u64)], lines: u64, accesses: u64) -> u64 {
    curve.iter().rfind(|&&(size, _)| size <= lines).map_or(accesses, |&(_, misses)| misses)
}

/// Ways that have a column in the heat map.
const WAYS: [u32; 4] = [1, 2, 4, 8];

/// Misses in per cent over sets, ways and line; nothing without a sweep.
fn heat(report: &Report) -> String {
    let mut out = String::new();
    if report.sweep.is_empty() {
        return out;
    }
    let mut lines: Vec<u32> = report.sweep.iter().map(|point| point.geometry.line()).collect();
    lines.sort_unstable();
    lines.dedup();
    let mut sets: Vec<u32> = report.sweep.iter().map(|point| point.geometry.sets()).collect();
    sets.sort_unstable();
    sets.dedup();
    line(&mut out, format_args!(""));
    line(&mut out, format_args!("{}: misses in % of fetches, LRU; . is under 0.5", clipped(&report.name)));
    let heads: String = lines.iter().map(|bytes| format!(" {:<11}", format!("{bytes}-byte"))).collect();
    line(&mut out, format_args!("  line {heads}"));
    let ways: String = WAYS.iter().map(|ways| format!("{ways:>3}")).collect();
    line(&mut out, format_args!("  ways {}", ways.repeat(lines.len())));
    let misses = |sets: u32, ways: u32, bytes: u32| -> Option<u64> {
        let same = |p: &&SweepPoint| {
            (p.geometry.sets(), p.geometry.ways(), p.geometry.line()) == (sets, ways, bytes)
        };
        report.sweep.iter().find(same).map(|point| point.misses)
    };
    for &sets in &sets {
        let cells: Vec<String> = lines
            .iter()
            .flat_map(|&bytes| WAYS.iter().map(move |&ways| (bytes, ways)))
            .map(|(bytes, ways)| match misses(sets, ways, bytes) {
                Some(n) if per_cent(n, report.accesses) < 0.5 => "  .".into(),
                // A miss at every fetch has no room for a third digit.
                Some(n) => format!("{:>3.0}", per_cent(n, report.accesses).min(99.0)),
                None => "   ".into(),
            })
            .collect();
        line(&mut out, format_args!("{sets:>5}  {}", cells.concat()));
        if cells.iter().all(|cell| cell == "  .") {
            break;
        }
    }
    out
}

/// What the second build has over the first.
fn conclusion(reports: &[Report]) -> String {
    let mut text = String::new();
    if let [first, second, ..] = reports
        && first.text > 0
        && first.bytes > 0
    {
        text.push_str(&format!(
            "{} has {:.0} % of the code of {} and fetches {:.0} % of the bytes.",
            clipped(&second.name),
            per_cent(second.text, first.text),
            clipped(&first.name),
            per_cent(second.bytes, first.bytes)
        ));
        for (one, other) in first.caches.iter().zip(&second.caches) {
            text.push_str(&format!(
                " In {} the hit rate goes from {} to {}.",
                one.geometry,
                rate(one.counts.hit_rate()),
                rate(other.counts.hit_rate())
            ));
        }
    }
    text.push_str(match reports.first().map(|report| report.count) {
        Some(Count::Cycle) => {
            " Accesses are counted once a cycle, as in Ripes: repeated while the pipeline stalls, and two in vain \
             behind each taken branch."
        }
        _ => " Accesses are counted once an instruction, as in Spike; --count cycle counts them as Ripes does.",
    });
    for report in reports.iter().filter(|report| !report.ended) {
        text.push_str(&format!(
            " {} was stopped after {} instructions; --max-instructions gives it more.",
            clipped(&report.name),
            grouped(report.dynamic_mix.instructions)
        ));
    }
    wrapped(&text)
}

/// A name in a column.
fn clipped(name: &str) -> String {
    let name: String = name.chars().map(|c| if c.is_control() { '?' } else { c }).collect();
    let length = name.chars().count();
    if length < COLUMN {
        name
    } else {
        format!("~{}", name.chars().skip(length - (COLUMN - 2)).collect::<String>())
    }
}

fn share(part: u64, whole: u64) -> String {
    format!("{:.1} %", per_cent(part, whole))
}

fn rate(rate: Option<f64>) -> String {
    rate.map_or_else(|| "-".into(), |rate| format!("{rate:.4}"))
}

#[cfg(test)]
mod tests {
    use super::{at, clipped, icache};
    use crate::icache::{BUNDLED, Count, Plan, run};

    fn shown(count: Count, sweep: bool) -> String {
        let caches = ["8:1:8", "4:1:8"].map(|text| text.parse().unwrap());
        let plan = Plan { caches: caches.to_vec(), count, sweep, ..Plan::default() };
        let reports: Vec<_> = BUNDLED.iter().map(|b| run(&b.build(), &plan).unwrap()).collect();
        icache(&reports)
    }

    #[test]
    fn everything_fits_in_80_columns() {
        for (count, sweep) in [(Count::Fetch, true), (Count::Cycle, false)] {
            let text = shown(count, sweep);
            assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
            assert!(text.lines().all(|line| !line.ends_with(' ')), "{text}");
        }
    }

    #[test]
    fn the_notes_rates_are_shown() {
        let text = shown(Count::Cycle, false);
        assert!(text.contains("0.4999       0.7498"), "{text}");
        // Wherever the paragraph is broken.
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains("from 0.4999 to 0.7498"), "{text}");
    }

    #[test]
    fn a_curve_is_read_between_its_points() {
        let curve = [(1, 90), (4, 20), (9, 3)];
        let read: Vec<u64> = [1, 2, 3, 4, 8, 16].iter().map(|&n| at(&curve, n, 100)).collect();
        assert_eq!(read, [90, 90, 90, 20, 20, 3]);
    }

    #[test]
    fn long_names_keep_their_end() {
        assert_eq!(clipped("rv32imc"), "rv32imc");
        assert_eq!(clipped("a/very/long/path/program.elf"), "~program.elf");
        assert_eq!(clipped("a\u{1b}[31m"), "a?[31m");
    }
}
