//! What an instruction cache makes of one program in several builds, side by side.

use super::words::{bar, or_dash, part, share, warnings};
use crate::notes::absent;
use crate::sheet::{Cell, Column, Sheet, Table, paragraph, prose, sketch};
use crate::style::{Paint, Style};
use crate::text::clean;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use tollgate_record::family::{Accesses, IcacheAsked};
use tollgate_record::number::whole;
use tollgate_record::{Counter, Measurement, Run, Series, Status, counter, warning};

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
    fn counter(&self, counter: Counter) -> f64 {
        count(self.caches[0], counter)
    }

    /// Instructions of one kind: of the code, or of those that ran.
    fn mix(&self, of: Counter, kind: &str) -> f64 {
        part(self.caches[0], of, kind).unwrap_or(f64::NAN)
    }
}

fn count(result: &Measurement, counter: Counter) -> f64 {
    result.counter(counter).unwrap_or(f64::NAN)
}

fn asked(result: &Measurement) -> Cow<'_, IcacheAsked> {
    result.asked.icache().map_or_else(|| Cow::Owned(IcacheAsked::default()), Cow::Borrowed)
}

/// The programs of a run, and what follows from them.
pub(super) fn view(run: &Run, style: &Style) -> Sheet {
    let programs = programs(run, style);
    let beside = ((style.columns() - LABEL) / COLUMN).min((style.columns() - SIZE) / CURVE).clamp(1, BESIDE);
    let mut text = Sheet::new();
    for some in programs.chunks(beside) {
        if !text.is_empty() {
            text.blank();
        }
        text.extend(table(some, style));
        text.extend(curves(some));
    }
    for program in &programs {
        text.extend(heat(program, style));
    }
    if !programs.is_empty() {
        text.blank();
        text.extend(prose(conclusion(&programs), ""));
    }
    text.extend(warnings(run, style, &[warning::STOPPED]));
    text.extend(absent(&run.results, style).iter().flat_map(|why| prose(why, "")));
    text
}

/// The entries of one program follow each other, one for each cache.
fn programs<'a>(run: &'a Run, style: &Style) -> Vec<Program<'a>> {
    let mut programs: Vec<Program> = Vec::new();
    for result in run.results.iter().filter(|result| result.status == Status::Measured) {
        let own = asked(result);
        let same = |program: &&mut Program| {
            let first = asked(program.caches[0]);
            first.program == own.program
                && first.isa == own.isa
                && !program.caches.iter().any(|cache| asked(cache).icache == own.icache)
        };
        match programs.last_mut().filter(same) {
            Some(program) => program.caches.push(result),
            None => {
                let name = clipped(&clean(&own.program, style));
                programs.push(Program { name, caches: vec![result] });
            }
        }
    }
    programs
}

fn table(programs: &[Program], style: &Style) -> Sheet {
    let Some(first) = programs.first() else { return Sheet::new() };
    let label = LABEL.min(style.columns() - COLUMN);
    let own = programs.iter().map(|program| Column::right(program.name.as_str()).reserved(COLUMN));
    let columns = std::iter::once(Column::left("").most(label).reserved(label)).chain(own);
    let mut table = Table::new(columns).gap(0);
    let mut row = |name: &str, cell: &dyn Fn(&Program) -> String| {
        table.row(std::iter::once(name.to_owned()).chain(programs.iter().map(cell)));
    };
    let of = |counter| move |program: &Program| whole(program.counter(counter));
    let mix = |of, kind: &'static str| {
        move |program: &Program| tenths(program.mix(of, kind), program.mix(of, "instructions"))
    };
    row("code, object, bytes", &of(counter::OBJECT_TEXT_BYTES));
    row("code, linked, bytes", &of(counter::TEXT_BYTES));
    row("  instructions", &|p| whole(p.mix(counter::STATIC, "instructions")));
    row("    of 16 bits", &mix(counter::STATIC, "compressed"));
    row("instructions run", &|p| whole(p.mix(counter::DYNAMIC, "instructions")));
    row("    of 16 bits", &mix(counter::DYNAMIC, "compressed"));
    row("    arithmetic", &mix(counter::DYNAMIC, "arithmetic"));
    row("    loads and stores", &mix(counter::DYNAMIC, "memory"));
    row("    branches and jumps", &mix(counter::DYNAMIC, "control"));
    row("    other", &mix(counter::DYNAMIC, "other"));
    row("bytes of instructions run", &of(counter::FETCHED_BYTES));
    let fetches = if is_by_cycle(first.caches[0]) { "fetches, one a cycle" } else { "fetches" };
    row(fetches, &of(counter::ACCESSES));
    row("cycles, if no miss costs any", &of(counter::CYCLES));
    for (place, cache) in first.caches.iter().enumerate() {
        let of = |program: &Program, figure: &dyn Fn(&Measurement) -> String| {
            program.caches.get(place).map_or_else(|| "-".into(), |cache| figure(cache))
        };
        let number = |counter| move |cache: &Measurement| whole(count(cache, counter));
        let rate = |counter| move |cache: &Measurement| rate(count(cache, counter));
        let asked = asked(cache);
        let (size, policy) = (whole(asked.icache.bytes() as f64), clean(&asked.policy, style));
        row(&format!("{} ({size} bytes, {policy})", asked.icache), &|_| String::new());
        row("  misses", &|p| of(p, &number(counter::MISSES)));
        row("    compulsory", &|p| of(p, &number(counter::MISSES_COMPULSORY)));
        row("    capacity", &|p| of(p, &number(counter::MISSES_CAPACITY)));
        row("    conflict", &|p| of(p, &number(counter::MISSES_CONFLICT)));
        row("  hit rate per fetch", &|p| of(p, &rate(counter::HIT_RATE)));
        row("  line accesses", &|p| of(p, &number(counter::LINE_ACCESSES)));
        row("  hit rate per line access", &|p| of(p, &rate(counter::LINE_HIT_RATE)));
        row("  cycles on five stages", &|p| of(p, &number(counter::TIMED_CYCLES)));
        row("    waiting for a line", &|p| {
            of(p, &|cache| {
                tenths(count(cache, counter::FETCH_WAIT_CYCLES), count(cache, counter::TIMED_CYCLES))
            })
        });
    }
    table.into()
}

fn is_by_cycle(result: &Measurement) -> bool {
    asked(result).count == Accesses::Cycle
}

fn rate(rate: f64) -> String {
    if rate.is_finite() { format!("{rate:.4}") } else { or_dash(None) }
}

/// The miss-ratio curves, at sizes of powers of two, until nothing changes any more.
fn curves(programs: &[Program]) -> Sheet {
    let mut out = Sheet::new();
    let mut shown = BTreeSet::new();
    let caches = programs.first().map_or(&[][..], |program| &program.caches);
    for (place, cache) in caches.iter().enumerate() {
        let line = asked(cache).icache.line;
        if line == 0 || !shown.insert(line) {
            continue;
        }
        let curves: Vec<&Series> = programs
            .iter()
            .filter_map(|p| p.caches.get(place)?.series.iter().find(|series| series.name == "miss-ratio"))
            .collect();
        let last = curves.iter().filter_map(|curve| curve.points.last()).map(|point| point[0]);
        let last = last.fold(0.0, f64::max);
        out.blank();
        let title = format!("misses by size, fully associative, lines of {line} bytes, %");
        out.extend(prose(&title, ""));
        let own = programs.iter().map(|p| Column::left(p.name.as_str()).reserved(CURVE - 2));
        let mut table = Table::new([Column::right("bytes").reserved(SIZE)].into_iter().chain(own));
        let mut size = f64::from(line);
        // A cache of more than a terabyte is not one.
        while last > 0.0 && size < 1e12 {
            let cells = curves.iter().map(|curve| {
                let share = at(curve, size);
                Cell::shown(format!("{:6.2} {}", share * 100.0, thirds(share)), share)
            });
            table.row([Cell::shown(whole(size), size)].into_iter().chain(cells));
            if size >= last {
                break;
            }
            size *= 2.0;
        }
        out.extend(Sheet::from(table));
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
fn heat(program: &Program, style: &Style) -> Sheet {
    let sweep: BTreeMap<(u32, u32), BTreeMap<u32, u64>> = program.caches[0]
        .found
        .icache()
        .into_iter()
        .flat_map(|found| &found.sweep)
        .map(|curve| ((curve.line, curve.ways), curve.misses.iter().copied().collect()))
        .collect();
    let lines: BTreeSet<u32> = sweep.keys().map(|(line, _)| *line).collect();
    let lines = Vec::from_iter(lines);
    let sets: BTreeSet<u32> = sweep.values().flat_map(BTreeMap::keys).copied().collect();
    let accesses = program.counter(counter::ACCESSES);
    let mut out = Sheet::new();
    // A block for as many lines as fit side by side.
    for lines in lines.chunks(((style.columns() - 7) / 12).max(1)) {
        out.blank();
        let title = format!("{}: misses in % of fetches, LRU; . is under 0.5", program.name);
        let heads: String = lines.iter().map(|bytes| format!(" {:<11}", format!("{bytes}-byte"))).collect();
        let mut rows = vec![style.paint(Paint::Dim, format!("  line {heads}").trim_end())];
        let ways: String = WAYS.iter().map(|ways| format!("{ways:>3}")).collect();
        rows.push(style.paint(Paint::Dim, &format!("  ways {}", ways.repeat(lines.len()))));
        for sets in &sets {
            let cells: Vec<String> = lines
                .iter()
                .flat_map(|&bytes| WAYS.iter().map(move |&ways| (bytes, ways)))
                .map(|shape| match sweep.get(&shape).and_then(|points| points.get(sets)) {
                    Some(n) if share(*n as f64, accesses) < 0.005 => "  .".into(),
                    // A miss at every fetch has no room for a third digit.
                    Some(n) => format!("{:>3.0}", (share(*n as f64, accesses) * 100.0).min(99.0)),
                    None => "   ".into(),
                })
                .collect();
            rows.push(format!("{sets:>5}  {}", cells.concat()).trim_end().to_owned());
            if cells.iter().all(|cell| cell == "  .") {
                break;
            }
        }
        out.extend(sketch(Some(paragraph(title, "")), rows));
    }
    out
}

/// What the second build has over the first.
fn conclusion(programs: &[Program]) -> String {
    let mut text = String::new();
    if let [first, second, ..] = programs
        && first.counter(counter::TEXT_BYTES) > 0.0
        && first.counter(counter::FETCHED_BYTES) > 0.0
    {
        let part = |counter| share(second.counter(counter), first.counter(counter)) * 100.0;
        text.push_str(&format!(
            "{} has {:.0} % of the code of {} and fetches {:.0} % of the bytes. ",
            second.name,
            part(counter::TEXT_BYTES),
            first.name,
            part(counter::FETCHED_BYTES)
        ));
        for (one, other) in first.caches.iter().zip(&second.caches) {
            let rate = |cache| rate(count(cache, counter::HIT_RATE));
            text.push_str(&format!(
                "In {} the hit rate goes from {} to {}. ",
                asked(one).icache,
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
    for program in programs.iter().filter(|program| program.caches[0].has_warning(warning::STOPPED)) {
        text.push_str(&format!(
            " {} was stopped after {} instructions; --max-instructions gives it more.",
            program.name,
            whole(program.mix(counter::DYNAMIC, "instructions"))
        ));
    }
    text
}

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
