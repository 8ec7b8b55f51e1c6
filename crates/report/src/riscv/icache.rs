//! What an instruction cache makes of one program in several builds, side by side.

use super::grid::{bar, share};
use super::words::{or_dash, param, warnings, whole};
use crate::style::{Paint, Style};
use crate::sweep::sweep;
use crate::text::{clean, left, right, wrap};
use std::collections::BTreeMap;
use tollgate_record::{Measurement, Run, Series, Status};

/// Builds beside each other, where there is room.
const BESIDE: usize = 4;
const LABEL: usize = 28;
const COLUMN: usize = 13;
/// Columns of the sizes beside a curve, and of one curve.
const SIZE: usize = 8;
const CURVE: usize = 18;

/// A program and its caches, an entry for each.
struct Program<'a> {
    name: String,
    caches: Vec<&'a Measurement>,
}

impl Program<'_> {
    fn counter(&self, name: &str) -> f64 {
        counter(self.caches[0], name)
    }
}

fn counter(result: &Measurement, name: &str) -> f64 {
    result.counters.get(name).copied().unwrap_or(f64::NAN)
}

/// The programs of a run, and what follows from them.
pub(super) fn view(run: &Run, style: &Style) -> Vec<String> {
    let programs = programs(run, style);
    let beside = ((style.columns() - LABEL) / COLUMN).min((style.columns() - SIZE) / CURVE).clamp(1, BESIDE);
    let mut text = Vec::new();
    for some in programs.chunks(beside) {
        if !text.is_empty() {
            text.push(String::new());
        }
        text.extend(table(some, style));
        text.extend(curves(some));
    }
    for program in &programs {
        text.extend(heat(program, style));
    }
    if !programs.is_empty() {
        text.push(String::new());
        text.extend(wrap(&conclusion(&programs), style.prose(), ""));
    }
    text.extend(warnings(run, style, &[STOPPED]));
    text
}

/// The warning that the conclusion repeats in its own words.
const STOPPED: &str = "stopped";

/// The entries of one program follow each other, one for each cache.
fn programs<'a>(run: &'a Run, style: &Style) -> Vec<Program<'a>> {
    let mut programs: Vec<Program> = Vec::new();
    for result in run.results.iter().filter(|result| result.status == Status::Measured) {
        let is = |one: &Measurement, key: &str| param(one, key) == param(result, key);
        let same = |program: &&mut Program| {
            is(program.caches[0], "program")
                && is(program.caches[0], "isa")
                && !program.caches.iter().any(|cache| is(cache, "icache"))
        };
        match programs.last_mut().filter(same) {
            Some(program) => program.caches.push(result),
            None => {
                let name = clipped(&clean(param(result, "program"), style));
                programs.push(Program { name, caches: vec![result] });
            }
        }
    }
    programs
}

fn table(programs: &[Program], style: &Style) -> Vec<String> {
    let mut out = Vec::new();
    let Some(first) = programs.first() else { return out };
    let label = LABEL.min(style.columns() - COLUMN);
    let mut row = |name: &str, cell: &dyn Fn(&Program) -> String| {
        let cells: String = programs.iter().map(|program| right(&cell(program), COLUMN)).collect();
        out.push(
            format!("{}{cells}", left(&crate::text::cut(name, label, style), label)).trim_end().to_owned(),
        );
    };
    let of = |name: &'static str| move |program: &Program| whole(program.counter(name));
    let part = |name: &'static str, all: &'static str| {
        move |program: &Program| tenths(program.counter(name), program.counter(all))
    };
    row("", &|program| program.name.clone());
    row("code, object, bytes", &of("object-text-bytes"));
    row("code, linked, bytes", &of("text-bytes"));
    row("  instructions", &of("static/instructions"));
    row("    of 16 bits", &part("static/compressed", "static/instructions"));
    row("instructions run", &of("dynamic/instructions"));
    row("    of 16 bits", &part("dynamic/compressed", "dynamic/instructions"));
    row("    arithmetic", &part("dynamic/arithmetic", "dynamic/instructions"));
    row("    loads and stores", &part("dynamic/memory", "dynamic/instructions"));
    row("    branches and jumps", &part("dynamic/control", "dynamic/instructions"));
    row("    other", &part("dynamic/other", "dynamic/instructions"));
    row("bytes of instructions run", &of("fetched-bytes"));
    let fetches = if is_by_cycle(first.caches[0]) { "fetches, one a cycle" } else { "fetches" };
    row(fetches, &of("accesses"));
    row("cycles, if no miss costs any", &of("cycles"));
    for (place, cache) in first.caches.iter().enumerate() {
        let of = |program: &Program, figure: &dyn Fn(&Measurement) -> String| {
            program.caches.get(place).map_or_else(|| "-".into(), |cache| figure(cache))
        };
        let number = |name: &'static str| move |cache: &Measurement| whole(counter(cache, name));
        let rate = |name: &'static str| {
            move |cache: &Measurement| match counter(cache, name) {
                rate if rate.is_finite() => format!("{rate:.4}"),
                _ => "-".into(),
            }
        };
        let size = shape(cache).map_or_else(
            || "-".into(),
            |(sets, ways, line)| whole(f64::from(sets) * f64::from(ways) * f64::from(line)),
        );
        let name = [param(cache, "icache"), param(cache, "policy")].map(|text| clean(text, style));
        row(&format!("{} ({size} bytes, {})", name[0], name[1]), &|_| String::new());
        row("  misses", &|p| of(p, &number("misses")));
        row("    compulsory", &|p| of(p, &number("misses-compulsory")));
        row("    capacity", &|p| of(p, &number("misses-capacity")));
        row("    conflict", &|p| of(p, &number("misses-conflict")));
        row("  hit rate per fetch", &|p| of(p, &rate("hit-rate")));
        row("  line accesses", &|p| of(p, &number("line-accesses")));
        row("  hit rate per line access", &|p| of(p, &rate("line-hit-rate")));
        row("  cycles on five stages", &|p| of(p, &number("timed-cycles")));
        row("    waiting for a line", &|p| {
            of(p, &|cache| tenths(counter(cache, "fetch-wait-cycles"), counter(cache, "timed-cycles")))
        });
    }
    out
}

fn is_by_cycle(result: &Measurement) -> bool {
    param(result, "count") == "cycle"
}

/// Sets, ways and bytes of a line.
fn shape(result: &Measurement) -> Option<(u32, u32, u32)> {
    let numbers: Vec<u32> =
        param(result, "icache").split(':').map(str::parse).collect::<Result<_, _>>().ok()?;
    <[u32; 3]>::try_from(numbers).ok().map(|[sets, ways, line]| (sets, ways, line))
}

/// The miss-ratio curves, at sizes of powers of two, until nothing changes any more.
fn curves(programs: &[Program]) -> Vec<String> {
    let mut out = Vec::new();
    let mut shown = Vec::new();
    let caches = programs.first().map_or(&[][..], |program| &program.caches);
    for (place, cache) in caches.iter().enumerate() {
        let Some((_, _, line)) = shape(cache).filter(|shape| !shown.contains(&shape.2)) else { continue };
        shown.push(line);
        let curves: Vec<&Series> = programs
            .iter()
            .filter_map(|p| p.caches.get(place)?.series.iter().find(|series| series.name == "miss-ratio"))
            .collect();
        let last = curves.iter().filter_map(|curve| curve.points.last()).map(|point| point[0]);
        let last = last.fold(0.0, f64::max);
        out.push(String::new());
        out.push(format!("misses by size, fully associative, lines of {line} bytes, %"));
        let names: String =
            programs.iter().map(|p| format!("  {:<width$}", p.name, width = CURVE - 2)).collect();
        out.push(format!("{:>SIZE$}{names}", "bytes").trim_end().to_owned());
        let mut size = f64::from(line);
        // A cache of more than a terabyte is not one.
        while last > 0.0 && size < 1e12 {
            let cells: String = curves
                .iter()
                .map(|curve| {
                    let share = at(curve, size);
                    let cell = format!("{:6.2} {}", share * 100.0, thirds(share));
                    format!("  {cell:<width$}", width = CURVE - 2)
                })
                .collect();
            out.push(format!("{:>SIZE$}{cells}", whole(size)).trim_end().to_owned());
            if size >= last {
                break;
            }
            size *= 2.0;
        }
    }
    out
}

/// A bar of 25 marks, in 9.
fn thirds(share: f64) -> String {
    "#".repeat(bar(share).len().div_ceil(3).min(9))
}

/// The share of misses in so many bytes.
fn at(curve: &Series, bytes: f64) -> f64 {
    curve.points.iter().rfind(|point| point[0] <= bytes).map_or(1.0, |point| point[1])
}

/// Ways that have a column in the heat map.
const WAYS: [u32; 4] = [1, 2, 4, 8];

/// Misses in per cent over sets, ways and line; nothing without a sweep.
fn heat(program: &Program, style: &Style) -> Vec<String> {
    let sweep: BTreeMap<(u32, u32), BTreeMap<u32, f64>> = sweep(program.caches[0])
        .into_iter()
        .map(|(shape, points)| (shape, points.into_iter().collect()))
        .collect();
    let mut lines: Vec<u32> = sweep.keys().map(|(line, _)| *line).collect();
    lines.dedup();
    let mut sets: Vec<u32> = sweep.values().flat_map(BTreeMap::keys).copied().collect();
    sets.sort_unstable();
    sets.dedup();
    let accesses = program.counter("accesses");
    let mut out = Vec::new();
    // A block for as many lines as fit side by side.
    for lines in lines.chunks(((style.columns() - 7) / 12).max(1)) {
        out.push(String::new());
        out.push(format!("{}: misses in % of fetches, LRU; . is under 0.5", program.name));
        let heads: String = lines.iter().map(|bytes| format!(" {:<11}", format!("{bytes}-byte"))).collect();
        out.push(style.paint(Paint::Dim, format!("  line {heads}").trim_end()));
        let ways: String = WAYS.iter().map(|ways| format!("{ways:>3}")).collect();
        out.push(style.paint(Paint::Dim, &format!("  ways {}", ways.repeat(lines.len()))));
        for sets in &sets {
            let cells: Vec<String> = lines
                .iter()
                .flat_map(|&bytes| WAYS.iter().map(move |&ways| (bytes, ways)))
                .map(|shape| match sweep.get(&shape).and_then(|points| points.get(sets)) {
                    Some(n) if share(*n, accesses) < 0.005 => "  .".into(),
                    // A miss at every fetch has no room for a third digit.
                    Some(n) => format!("{:>3.0}", (share(*n, accesses) * 100.0).min(99.0)),
                    None => "   ".into(),
                })
                .collect();
            out.push(format!("{sets:>5}  {}", cells.concat()).trim_end().to_owned());
            if cells.iter().all(|cell| cell == "  .") {
                break;
            }
        }
    }
    out
}

/// What the second build has over the first.
fn conclusion(programs: &[Program]) -> String {
    let mut text = String::new();
    if let [first, second, ..] = programs
        && first.counter("text-bytes") > 0.0
        && first.counter("fetched-bytes") > 0.0
    {
        let part = |name: &str| share(second.counter(name), first.counter(name)) * 100.0;
        text.push_str(&format!(
            "{} has {:.0} % of the code of {} and fetches {:.0} % of the bytes. ",
            second.name,
            part("text-bytes"),
            first.name,
            part("fetched-bytes")
        ));
        for (one, other) in first.caches.iter().zip(&second.caches) {
            let rate = |cache: &Measurement| match counter(cache, "hit-rate") {
                rate if rate.is_finite() => format!("{rate:.4}"),
                _ => "-".into(),
            };
            text.push_str(&format!(
                "In {} the hit rate goes from {} to {}. ",
                param(one, "icache"),
                rate(one),
                rate(other)
            ));
        }
    }
    text.push_str(match programs.first().is_some_and(|program| is_by_cycle(program.caches[0])) {
        true => {
            "Accesses are counted once a cycle, as in Ripes: repeated while the pipeline stalls, and two in vain \
             behind each taken branch."
        }
        false => {
            "Accesses are counted once an instruction, as in Spike; --count cycle counts them as Ripes does."
        }
    });
    for program in programs.iter().filter(|program| program.caches[0].has_warning(STOPPED)) {
        text.push_str(&format!(
            " {} was stopped after {} instructions; --max-instructions gives it more.",
            program.name,
            whole(program.counter("dynamic/instructions"))
        ));
    }
    text
}

/// A name in a column.
fn clipped(name: &str) -> String {
    let length = name.chars().count();
    if length < COLUMN {
        name.to_owned()
    } else {
        format!("~{}", name.chars().skip(length - (COLUMN - 2)).collect::<String>())
    }
}

/// A share in per cent with one decimal.
fn tenths(part: f64, whole: f64) -> String {
    match share(part, whole) {
        share if share.is_finite() => format!("{:.1} %", share * 100.0),
        _ => or_dash(None),
    }
}

#[cfg(test)]
mod tests {
    use super::{at, clipped};
    use tollgate_record::Series;

    #[test]
    fn a_curve_is_read_between_its_points() {
        let curve = Series {
            name: "miss-ratio".into(),
            x_unit: String::new(),
            y_unit: String::new(),
            points: vec![[1.0, 0.9], [4.0, 0.2], [9.0, 0.03]],
        };
        let read = [0.5, 1.0, 2.0, 3.0, 4.0, 8.0, 16.0].map(|bytes| at(&curve, bytes));
        assert_eq!(read, [1.0, 0.9, 0.9, 0.9, 0.2, 0.2, 0.03]);
    }

    #[test]
    fn long_names_keep_their_end() {
        assert_eq!(clipped("rv32imc"), "rv32imc");
        assert_eq!(clipped("a/very/long/path/program.elf"), "~program.elf");
    }
}
