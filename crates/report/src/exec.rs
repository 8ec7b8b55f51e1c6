//! The toll of a program: where its time went, and what it crossed.

use crate::crossing::bills::evidence;
use crate::head::head;
use crate::notes::{absent, warnings};
use crate::sheet::{Cell, Column, Sheet, Table, painted, prose, title};
use crate::style::{Paint, Style};
use crate::text::clean;
use crate::words;
use tollgate_record::family::{
    CallSite, ExecFound, Frame, RefillFound, RepeatFound, TimingWindows, TollFound,
};
use tollgate_record::number::{bytes, count, figure, percent, time};
use tollgate_record::{Measurement, Phase, Run, counter, phase};

/// As many boundaries of one kind are shown; the others are summed up.
const SHOWN: usize = 12;

/// The headings of the kinds, in the order of the table.
const KINDS: [(&str, &str); 8] = [
    ("system call", "system calls: the program asks the kernel"),
    ("fault", "page faults: a page is used that was not ready"),
    ("signal", "signals received"),
    ("switch", "switches to another task (inside of calls)"),
    ("wake-up", "tasks woken (inside of calls)"),
    ("task", "tasks started (inside of calls)"),
    ("exec", "programs executed"),
    ("interrupt", "interrupts while it ran"),
];

/// The view of an `exec` run: the bill, the table by boundary, and the notes.
pub(crate) fn exec(run: &Run, style: &Style) -> Sheet {
    let mut text = head(run, style);
    for whole in run.results.iter().filter(|row| row.found.exec().is_some()) {
        text.extend(summary(whole, style));
        let rows: Vec<&Measurement> = run.results.iter().filter(|row| row.found.toll().is_some()).collect();
        text.extend(bill(whole, &rows, style));
        text.extend(crossings(whole, &rows, style));
        text.extend(savings(whole, style));
        text.extend(call_sites(whole, style));
    }
    let notes: Vec<String> = warnings(run, style).into_iter().chain(absent(&run.results, style)).collect();
    if !notes.is_empty() {
        text.blank();
        text.extend(notes.iter().flat_map(|note| prose(note, "  - ")));
    }
    text
}

/// What ran, how it ended, and what it used.
fn summary(whole: &Measurement, style: &Style) -> Sheet {
    let words = whole.asked.exec().map(|asked| asked.command.join(" ")).unwrap_or_default();
    let mut text = title(clean(&words, style));
    let Some(found) = whole.found.exec() else { return text };
    let mut parts = vec![ended(found)];
    let value = |counter| whole.counter(counter);
    if found.repeats.len() > 1 {
        parts.push(format!("median of {} runs", count(found.repeats.len())));
    }
    if let Some(wall) = value(counter::ELAPSED) {
        let range = range_of_times(found, |run| run.elapsed_seconds);
        parts.push(format!("{}{range} from start to end", time(wall * 1e9)));
    }
    if let (Some(cpu), Some(share)) = (value(counter::CPU_SECONDS), value(counter::CPU_SHARE)) {
        let without = if whole.phase(phase::COUNTING).is_some() { " without counting" } else { "" };
        let range = range_of_times(found, |run| run.cpu_seconds);
        let (cpu, share) = (time(cpu * 1e9), percent(share));
        parts.push(format!("{cpu}{range} of CPU time{without} ({share} of one CPU)"));
    }
    if let Some(kib) = value(counter::MAXIMUM_RESIDENT) {
        parts.push(format!("at most {} resident", bytes(kib * 1024.0)));
    }
    text.extend(with_units(&parts.join(", "), style, ""));
    text.extend(painted(Paint::Dim, counted(found)));
    text
}

/// ` (1.20 ms to 1.34 ms)` over the runs that were timed, if there are several.
fn range_of_times(found: &ExecFound, of: fn(&RepeatFound) -> f64) -> String {
    let timed: Vec<f64> = found.repeats.iter().filter(|run| !run.traced).map(of).collect();
    let (least, most) = timed.iter().fold((f64::MAX, f64::MIN), |(a, b), it| (a.min(*it), b.max(*it)));
    if timed.len() < 2 { String::new() } else { format!(" ({} to {})", time(least * 1e9), time(most * 1e9)) }
}

/// `31 to 34` where the runs differ.
fn range_of_counts(counts: &[u64]) -> String {
    match (counts.iter().min(), counts.iter().max()) {
        (Some(least), Some(most)) if least < most => format!("{} to {}", count(*least), count(*most)),
        _ => String::new(),
    }
}

fn ended(found: &ExecFound) -> String {
    match (found.status, found.signal) {
        (Some(status), _) => format!("exit status {status}"),
        (_, Some(signal)) => format!("killed by signal {signal}"),
        _ if found.time_up => "its time was up".into(),
        _ => "watched while it ran".into(),
    }
}

/// A paragraph in which a number stays on the line of its unit.
fn with_units(text: &str, style: &Style, indent: &str) -> Sheet {
    const UNITS: [&str; 10] = ["ns", "µs", "us", "ms", "s", "%", "B", "KiB", "MiB", "GiB"];
    const NO_BREAK: char = '\u{a0}';
    let mut joined = String::new();
    for word in clean(text, style).split(' ') {
        let is_unit = UNITS.contains(&word.trim_end_matches([',', '.', ':', ';', ')']))
            && joined.ends_with(|last: char| last.is_ascii_digit());
        if !joined.is_empty() {
            joined.push(if is_unit { NO_BREAK } else { ' ' });
        }
        joined.push_str(word);
    }
    prose(joined, indent)
}

/// What the kinds of page faults are.
const FAULTS: [(&str, &str); 7] = [
    ("anonymous", "new memory"),
    ("zero page", "read before written"),
    ("file", "in memory"),
    ("minor", "no device"),
    ("major", "read from a device"),
    ("huge", "a huge page"),
    ("protection", "refused"),
];

/// `read`, or `file (in memory)`.
fn boundary(toll: &TollFound) -> String {
    let meaning = FAULTS.iter().find(|(name, _)| toll.kind == "fault" && *name == toll.name);
    meaning.map_or_else(|| toll.name.clone(), |(name, meaning)| format!("{name} ({meaning})"))
}

/// How the counts are known, in a sentence.
fn counted(found: &ExecFound) -> String {
    let mut text = match found.source.as_str() {
        "bpf" => "Counted in the kernel while it ran (BPF).".into(),
        "perf" => "Counted by the kernel's events while it ran (perf).".into(),
        "ptrace" => match found.counting_slowdown {
            Some(times) if times >= 1.0 => format!(
                "Counted in a run of its own (ptrace), which took {} times as long; timed without it.",
                figure(times)
            ),
            Some(_) => "Counted in a run of its own (ptrace); timed without it.".into(),
            None => {
                "Counted while it ran (ptrace), which stopped it at each call: its times are too long.".into()
            }
        },
        _ => "Nothing was counted: these are the kernel's accounts.".to_owned(),
    };
    if let Some(TimingWindows { windows, timed, unseen }) = found.windows {
        text.push_str(&format!(
            " It makes system calls too often to time each one: all are counted, and the times of {} are estimated from {} that \
             were timed in {} short windows.",
            count(unseen), count(timed), count(windows)
        ));
    }
    if let Some(left) = found.left_running {
        text.push_str(&format!(" It left {} running, not counted further.", count(left)));
    }
    text
}

/// What a part of the bill consists of.
fn part(name: &str) -> &str {
    match name {
        "user" => "the program's own code",
        "toll" => "tolls: into the kernel and back",
        "kernel-work" => "the kernel's work behind them",
        "system" => "in the kernel: tolls and work",
        "refill" => "refill of caches, at most",
        other => other,
    }
}

fn bill(whole: &Measurement, rows: &[&Measurement], style: &Style) -> Sheet {
    let mut text = title("Where the CPU time went");
    let total = whole.ns.map_or(f64::NAN, |ns| ns.estimate);
    let mut table = Table::new([
        Column::left("").least(20),
        Column::right("time"),
        Column::right(style.plus_minus()),
        Column::right("share"),
        Column::left("known by").rank(1),
    ])
    .indent(2);
    for part_of in whole.phases.iter().filter(|it| it.name != phase::WAITING && it.name != phase::COUNTING) {
        table.row(part_cells(part_of, total, style));
    }
    text.extend(Sheet::from(table));
    if let Some(ns) = whole.phase(phase::COUNTING).and_then(|counting| counting.ns) {
        let half = format!("{} {}", style.plus_minus(), time(ns.half_width()));
        text.extend(with_units(
            &format!("Counting itself took {} {half}, which is not in this.", time(ns.estimate)),
            style,
            "  ",
        ));
    }
    text.extend(priced(whole, rows).iter().flat_map(|line| with_units(line, style, "  ")));
    if let Some(waiting) = whole.phase(phase::WAITING) {
        text.extend(waited(waiting, style));
    }
    if let Some(refill) = whole.found.exec().and_then(|found| found.refill.as_ref()) {
        text.extend(with_units(&refilled(refill), style, "  "));
    }
    text
}

/// What a crossing costs, and how that is known.
fn priced(whole: &Measurement, rows: &[&Measurement]) -> Option<String> {
    let found = whole.found.exec()?;
    let price = |kind: &str| {
        let of_kind = |row: &&&Measurement| {
            // By another way into the kernel.
            row.found.toll().is_some_and(|toll| toll.kind == kind && !toll.name.ends_with(')'))
        };
        let [ns, ..] = rows.iter().find(of_kind)?.found.toll()?.price_ns?;
        Some(time(ns))
    };
    let prices: Vec<String> = [("system call", "a system call"), ("fault", "a page fault")]
        .into_iter()
        .filter_map(|(kind, what)| Some(format!("{} for {what}", price(kind)?)))
        .collect();
    let source = match (found.price_source.as_deref()?, found.priced_by.as_slice()) {
        ("saved", [run]) => format!("from the saved run {run}"),
        ("saved", runs) => format!("from the saved runs {}", runs.join(", ")),
        (when, _) => format!("measured {when}"),
    };
    (!prices.is_empty())
        .then(|| format!("Into the kernel and back: {}, uncounted, {source}.", prices.join(", ")))
}

/// What filling caches again costs, as a range with its arithmetic.
fn refilled(refill: &RefillFound) -> String {
    let [low, high] = refill.each_ns;
    let sum = |ns: f64| time(ns * refill.switches as f64);
    let low = if low > 0.0 { sum(low) } else { "none".into() };
    let limit = match (refill.narrowed_by.as_deref(), refill.misses) {
        (Some("misses"), Some(misses)) => format!("as {} loads missed the first cache", count(misses)),
        (Some(limit), _) => format!("by its {limit}"),
        (None, _) => format!("for {} in use", bytes(refill.working_set_bytes as f64)),
    };
    let unknown = match refill.misses {
        Some(_) => "",
        None => "; the processor's counters of misses, which would narrow it, cannot be read",
    };
    format!(
        "Contained in this: refill of caches after {} switches, {low} to {} (at most {} each, {limit}, by ring {}{unknown}).",
        count(refill.switches),
        sum(high),
        time(high),
        refill.run
    )
}

fn part_cells(it: &Phase, total: f64, style: &Style) -> [Cell; 5] {
    let ns = it.ns.map_or(f64::NAN, |ns| ns.estimate);
    let half = it.ns.map(|ns| ns.half_width()).filter(|half| *half > 0.0 && half.is_finite());
    [
        words::phase(part(&it.name), style).into(),
        Cell::shown(clean(&time(ns), style), ns),
        half.map_or_else(String::new, |half| clean(&time(half), style)).into(),
        Cell::share(ns / total),
        Cell::from(evidence(it.evidence)).paint(Paint::Dim),
    ]
}

/// Time off the CPU, by what was waited for.
fn waited(waiting: &Phase, style: &Style) -> Sheet {
    let total = waiting.ns.map_or(f64::NAN, |ns| ns.estimate);
    let mut causes: Vec<(&String, &f64)> = waiting.causes.iter().collect();
    causes.sort_by(|a, b| b.1.total_cmp(a.1));
    let causes: Vec<String> =
        causes.iter().take(5).map(|(name, ns)| format!("{name} {}", time(**ns))).collect();
    let by = if causes.is_empty() { String::new() } else { format!(": {}", causes.join(", ")) };
    with_units(&format!("Off the CPU, over all tasks, {}{by}.", time(total)), style, "  ")
}

fn crossings(whole: &Measurement, rows: &[&Measurement], style: &Style) -> Sheet {
    if rows.is_empty() {
        return Sheet::new();
    }
    let mut text = title("What it crossed");
    let mut table = Table::new([
        Column::left("").least(12),
        Column::right("count"),
        Column::right("in all runs"),
        Column::right("a second").rank(3),
        Column::right("toll\neach").rank(2),
        Column::right("kernel\neach").rank(1),
        Column::right("sum"),
        Column::right("share"),
    ])
    .indent(2);
    let wall = whole.counter(counter::ELAPSED).filter(|wall| *wall > 0.0);
    let total = whole.ns.map_or(f64::NAN, |ns| ns.estimate);
    for (kind, heading) in KINDS {
        let mut of_kind: Vec<&&Measurement> =
            rows.iter().filter(|row| row.found.toll().is_some_and(|toll| toll.kind == kind)).collect();
        if of_kind.is_empty() {
            continue;
        }
        table.heading(heading, Paint::Bold);
        // Whatever it costs, what is crossed most has a line.
        let most = of_kind.iter().enumerate().skip(SHOWN).max_by_key(|(_, row)| row.crossings);
        if let Some((at, row)) = most
            && of_kind[..SHOWN].iter().all(|shown| shown.crossings < row.crossings)
        {
            of_kind[SHOWN - 1..=at].rotate_right(1);
        }
        for row in of_kind.iter().take(SHOWN) {
            table.row(cells(row, wall, total, style));
        }
        if let Some(others) = of_kind.get(SHOWN..).filter(|others| !others.is_empty()) {
            let crossings: u64 = others.iter().map(|row| row.crossings).sum();
            let sum = others.iter().filter_map(|row| row.ns).map(|ns| ns.estimate).sum::<f64>();
            let sum = if others.iter().any(|row| row.ns.is_some()) {
                clean(&time(sum), style)
            } else {
                String::new()
            };
            let name = format!("{} others", others.len());
            table.painted(
                [name, count(crossings), String::new(), String::new(), String::new(), String::new(), sum],
                Paint::Dim,
            );
        }
    }
    text.extend(Sheet::from(table));
    text
}

fn cells(row: &Measurement, wall: Option<f64>, total: f64, style: &Style) -> [Cell; 8] {
    let toll = row.found.toll().cloned().unwrap_or_default();
    let unit = |ns: Option<f64>| ns.map_or("".into(), |ns| Cell::shown(clean(&time(ns), style), ns));
    let each = |name| Some(row.phase(name)?.ns?.estimate / row.crossings.max(1) as f64);
    let ns = row.ns.map(|ns| ns.estimate);
    [
        clean(&boundary(&toll), style).into(),
        Cell::count(row.crossings),
        range_of_counts(&toll.counts).into(),
        Cell::maybe(wall.map(|wall| row.crossings as f64 / wall)),
        unit(toll.price_ns.map(|[ns, ..]| ns)),
        unit(each(phase::KERNEL_WORK)),
        unit(ns),
        ns.map_or("".into(), |ns| Cell::share(ns / total)),
    ]
}

/// What would save, each line with its arithmetic.
fn savings(whole: &Measurement, style: &Style) -> Sheet {
    let Some(found) = whole.found.exec().filter(|found| !found.savings.is_empty()) else {
        return Sheet::new();
    };
    let mut text = title("What would save");
    for saving in &found.savings {
        let [low, high] = saving.each_ns.map(|each| (each - saving.instead_ns) * saving.crossings as f64);
        let each = match saving.each_ns {
            [low, high] if time(low) == time(high) => time(low),
            [low, high] => format!("{} to {}", time(low), time(high)),
        };
        let saved =
            if time(low) == time(high) { time(low) } else { format!("{} to {}", time(low), time(high)) };
        let instead = if saving.instead_ns > 0.0 {
            format!(", {} instead", time(saving.instead_ns))
        } else {
            String::new()
        };
        let line = format!("{saved}: {} ({} x {each}{instead})", saving.change, count(saving.crossings));
        text.extend(with_units(&line, style, "  "));
    }
    text
}

/// The places that pay most, each with the functions that led there.
fn call_sites(whole: &Measurement, style: &Style) -> Sheet {
    let Some(found) = whole.found.exec().filter(|found| !found.sites.is_empty()) else { return Sheet::new() };
    let mut text = title("The call sites that pay most");
    let total = whole.ns.map_or(f64::NAN, |ns| ns.estimate);
    for site in &found.sites {
        let cost =
            site.ns.map_or_else(String::new, |[ns, ..]| format!("{}, {}: ", time(ns), percent(ns / total)));
        let kind = if site.kind == "fault" { "page fault " } else { "" };
        let line = format!("{cost}{kind}{} x {}", site.name, count(site.crossings));
        text.extend(with_units(&line, style, "  "));
        text.extend(with_units(&callers(site, SHOWN), style, "    ").paint(Paint::Dim));
    }
    text
}

/// The functions of a call site, the innermost first, and whether they are all.
pub(crate) fn callers(site: &CallSite, most: usize) -> String {
    let mut shown: Vec<String> = site.frames.iter().take(most).map(function).collect();
    if site.frames.len() > most {
        shown.push("...".into());
    } else if !site.complete {
        shown.push("callers unknown".into());
    }
    shown.join(" < ")
}

/// `fill (input.c:12)`, or `libc.so.6+0x1234` for code without a name.
fn function(frame: &Frame) -> String {
    let file = frame.file.rsplit('/').next().unwrap_or_default();
    let name = match (&frame.function, file) {
        (Some(name), _) => name.clone(),
        (None, "") => format!("{:#x}", frame.offset),
        (None, file) => format!("{file}+{:#x}", frame.offset),
    };
    match &frame.source {
        Some(source) => format!("{name} ({source})"),
        None => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate_record::family::Found;
    use tollgate_record::{Estimate, Per, Status};

    #[test]
    fn a_bill_says_which_times_are_estimated() {
        let found = ExecFound { source: "bpf".into(), ..ExecFound::default() };
        assert_eq!(counted(&found), "Counted in the kernel while it ran (BPF).");
        let windows = Some(TimingWindows { windows: 12, timed: 34_000, unseen: 1_966_000 });
        let text = counted(&ExecFound { windows, ..found });
        assert!(
            text.contains(
                "all are counted, and the times of 1,966,000 are estimated from 34,000 that were timed in 12"
            ),
            "{text}"
        );
    }

    #[test]
    fn a_number_stays_with_its_unit() {
        let style = Style { width: 40, ..Style::default() };
        for words in 1..20 {
            let text = format!("{}11.5 µs, 3 ms: 12 %.", "in read ".repeat(words));
            for line in with_units(&text, &style, "  ").lines(&style) {
                let last = line.trim_end_matches([',', ':', '.']).chars().last();
                assert!(!last.is_some_and(|last| last.is_ascii_digit()), "{line:?}");
            }
        }
    }

    #[test]
    fn refill_says_what_limits_it() {
        let mut refill = RefillFound {
            switches: 100,
            working_set_bytes: 1 << 20,
            each_ns: [0.0, 2_000.0],
            run: "R".into(),
            ..RefillFound::default()
        };
        let text = refilled(&refill);
        assert!(text.contains("none to 200 µs (at most 2.00 µs each, for 1 MiB in use"), "{text}");
        assert!(text.contains("counters of misses, which would narrow it, cannot be read"), "{text}");
        (refill.narrowed_by, refill.misses) = (Some("misses".into()), Some(5_000));
        let text = refilled(&refill);
        assert!(text.contains("each, as 5,000 loads missed the first cache, by ring R)"), "{text}");
    }

    #[test]
    fn what_is_crossed_most_has_a_line_whatever_it_costs() {
        let row = |name: &str, crossings, ns| {
            let mut row = Measurement::empty(name, "host", Per::Run, Status::Measured);
            let toll = TollFound { kind: "system call".into(), name: name.into(), ..TollFound::default() };
            (row.crossings, row.ns, row.found) = (crossings, Some(Estimate::point(ns)), Found::Toll(toll));
            row
        };
        let mut rows: Vec<Measurement> =
            (0..17).map(|at| row(&format!("call {at}"), 2, 100.0 - f64::from(at))).collect();
        rows.push(row("getppid", 1_000, -4_780.0));
        let all: Vec<&Measurement> = rows.iter().collect();
        let whole = Measurement::empty("exec/total", "host", Per::Run, Status::Measured);
        let text = crossings(&whole, &all, &Style::PLAIN).text(&Style::PLAIN);
        assert!(text.contains("getppid") && text.contains("call 10") && text.contains("6 others"), "{text}");
        assert!(!text.contains("call 11"), "{text}");
    }

    #[test]
    fn one_price_and_its_source_are_on_the_screen() {
        let mut call = Measurement::empty("exec/system-call/read", "host", Per::Run, Status::Measured);
        let price_ns = Some([129.0, 128.0, 130.0]);
        let toll =
            TollFound { kind: "system call".into(), name: "read".into(), price_ns, ..TollFound::default() };
        call.found = Found::Toll(toll);
        let mut whole = Measurement::empty("exec/total", "host", Per::Run, Status::Measured);
        let mut found = ExecFound {
            price_source: Some("saved".into()),
            priced_by: vec!["R".into()],
            ..ExecFound::default()
        };
        whole.found = Found::Exec(found.clone());
        let text = priced(&whole, &[&call]).unwrap();
        assert_eq!(
            text,
            "Into the kernel and back: 129 ns for a system call, uncounted, from the saved run R."
        );
        found.price_source = Some("before and after".into());
        whole.found = Found::Exec(found);
        assert!(priced(&whole, &[&call]).unwrap().ends_with("measured before and after."));
        assert_eq!(priced(&whole, &[]), None);
    }
}
