//! A comparison as text for a terminal.

use crate::sheet::{Cell, Column, Sheet, Table, paragraph, prose, title};
use crate::style::{Format, Paint, Style};
use crate::text::{clean, cut, left, list};
use crate::words;
use indexmap::IndexMap;
use tollgate_judge::{Adjustment, ComparedProbe, Comparison, SEQUENCE_MISSES, Side, Verdict, Weight, median};
use tollgate_record::number::{SHORT, change, figure, fit, frequency, percent, plural, time};

/// Phases and counts of a probe that are shown.
const SHOWN: usize = 6;

/// Rows whose phases are shown unless all are asked for.
const EXPLAINED: usize = 3;

/// The comparison as text: what is to be known first, then the sides, the rows and their remarks. What carries the largest
/// changes follows where the records have phases; `explain` adds it for all, and every fact that differs.
pub fn comparison(found: &Comparison, explain: bool, style: &Style) -> String {
    sheet(found, explain, style).text(style)
}

/// The same as a sheet.
pub(crate) fn sheet(found: &Comparison, explain: bool, style: &Style) -> Sheet {
    let mut text = Sheet::new();
    for line in summary(found, style) {
        text.extend(prose(&line, "").paint(Paint::Bold));
    }
    text.blank();
    for (name, side) in [("A", &found.a), ("B", &found.b)] {
        text.extend(prose(side_words(side, style), format!("{name}  ")));
    }
    text.extend(sentences(&how(found)));
    text.blank();
    text.extend(differences(found, explain, style));
    text.extend(rows(found, style));
    text.blank();
    text.extend(prose(tally(found), ""));
    text.extend(sentences(&hidden(found)));
    for (names, side) in [(&found.only_a, "A"), (&found.only_b, "B")] {
        if !names.is_empty() {
            let names: Vec<String> = names.iter().map(|name| cut(&clean(name, style), 60, style)).collect();
            let sentence = format!("Only {side} measured {}.", list(&names, 8));
            text.extend(prose(&sentence, ""));
        }
    }
    for sentence in other_ways(found) {
        text.extend(prose(clean(&sentence, style), ""));
    }
    text.extend(why(found, style));
    text.extend(explanations(found, explain, style));
    text.extend(sentences(&threshold(found, style)));
    text
}

/// Wrapped prose; no line for an empty text.
fn sentences(text: &str) -> Sheet {
    if text.is_empty() { Sheet::new() } else { prose(text, "") }
}

/// The three lines that a comparison begins with: how many rows moved, which most and why, what could have been seen.
pub(crate) fn summary(found: &Comparison, style: &Style) -> [String; 3] {
    [moved(found), largest(found, style), sees(found)].map(|line| clean(&line, style))
}

fn moved(found: &Comparison) -> String {
    let summary = &found.summary;
    let rows = rows_words(found, found.rows.len());
    let spoiled = found.rows.iter().find(|row| row.spoiled);
    if let Some(why) = spoiled.and_then(|row| row.why.as_deref())
        && found.rows.iter().all(|row| row.spoiled || row.exact)
    {
        return format!("No verdict on measured figures: {why}. Measure both alike.");
    }
    let moved = summary.worse + summary.better;
    let rest = format!("{} the same, {} cannot tell.", summary.same, summary.cannot_tell);
    match moved {
        0 => format!("None of {rows} moved for sure: {rest}"),
        _ => format!("{moved} of {rows} moved: {} worse, {} better; {rest}", summary.worse, summary.better),
    }
}

fn rows_words(found: &Comparison, count: usize) -> String {
    match found.rows.iter().any(|row| row.part.is_some()) {
        true => plural(count, "row", "rows"),
        false => plural(count, "probe", "probes"),
    }
}

fn largest(found: &Comparison, style: &Style) -> String {
    let largest = found.summary.largest.as_ref();
    let Some((largest, row)) = largest.and_then(|it| Some((it, found.rows.get(it.row)?))) else {
        return "No row has a change to name.".into();
    };
    let name = cut(&(clean(&row.name(), style) + &told_apart(row, found, style)), 40, style);
    let (a, b) = (value(row, row.a, style), value(row, row.b, style));
    let unit = if row.unit == "ns" && !is_time(row) { " ns" } else { "" };
    let interval = match (row.exact, row.interval) {
        (false, Some([low, high])) => format!(" ({} to {})", signed(low - 1.0), change(high - 1.0)),
        _ => String::new(),
    };
    let by = row.change().map_or_else(|| "-".into(), change);
    let figures = format!("{name} {by}{interval}, {a} to {b}{unit}");
    let cause = match (&largest.cause, row.parts.is_empty()) {
        (Some(part), _) => {
            let share = part.share.map_or_else(String::new, |share| format!(" is {} of it", percent(share)));
            format!("; {}{share}", cut(&words::phase(&part.name, style), 30, style))
        }
        (None, false) => "; no phase carries half of it".to_owned(),
        (None, true) => String::new(),
    };
    match largest.certain {
        true => format!("Largest: {figures}{cause}."),
        false => format!("The largest may be chance: {name} {by}{interval}."),
    }
}

fn sees(found: &Comparison) -> String {
    match found.summary.sees {
        Some(sees) => format!(
            "A change of {} would be seen in half of the rows, of {} in nine of ten.",
            percent(sees.half),
            percent(sees.most)
        ),
        None if found.rows.iter().all(|row| row.exact) => "Counts are exact: any change is seen.".into(),
        None => "These records could not show any change: no row has an interval.".into(),
    }
}

/// How far the rows are from the figures as measured, and which rows the other way of comparing contradicts.
pub(super) fn other_ways(found: &Comparison) -> Vec<String> {
    let mut sentences = Vec::new();
    let far = |row: &&ComparedProbe| (row.b / row.b_measured).ln().abs();
    let is_adjusted = |row: &&ComparedProbe| !row.adjusted.is_empty() && far(row) > 0.0;
    let adjusted: Vec<&ComparedProbe> = found.rows.iter().filter(is_adjusted).collect();
    if let Some(farthest) = adjusted.iter().copied().max_by(|a, b| far(a).total_cmp(&far(b))) {
        sentences.push(format!(
            "~ {}: the change is of this figure. Farthest from what was measured: {}, {} in B ({}), {} here.",
            adjusted_words(&adjusted),
            farthest.name(),
            fit(farthest.b_measured, SHORT),
            change(farthest.b_measured / farthest.a - 1.0),
            fit(farthest.b, SHORT),
        ));
    }
    let contradicted: Vec<&ComparedProbe> = found.rows.iter().filter(|row| row.is_contradicted()).collect();
    let Some(first) = contradicted.first() else { return sentences };
    let words = |row: &&ComparedProbe| {
        let other = row.other_way.as_ref();
        let ratio = other.and_then(|it| it.ratio).map_or_else(|| "-".into(), |ratio| change(ratio - 1.0));
        let verdict = other.map_or("", |it| it.verdict.word());
        format!("{} ({} {ratio})", row.name(), verdict)
    };
    let names = list(&contradicted.iter().map(words).collect::<Vec<_>>(), 3);
    let by_time = first.other_way.as_ref().is_some_and(|it| it.by_time);
    sentences.push(match by_time {
        true => format!(
            "By time (--by-time) the verdict is another on {names}: the machine itself had another speed in B. Believe the table for              what the code costs, and --by-time for how long it took that day."
        ),
        false => format!(
            "Without --by-time the verdict is another on {names}: the machine itself had another speed in B. Believe this table for              how long it took that day, and the other for what the code costs."
        ),
    });
    sentences
}

/// What was taken out of the figures with a mark.
fn adjusted_words(rows: &[&ComparedProbe]) -> String {
    let any = |adjustment: Adjustment| rows.iter().any(|row| row.adjusted.contains(&adjustment));
    let words = [
        (Adjustment::Frequency, "at A's core frequency"),
        (Adjustment::Yardsticks, "without what the machine did to the yardsticks"),
        (Adjustment::Pairs, "as A's times the ratio of neighbors"),
    ];
    let words: Vec<String> =
        words.into_iter().filter(|(it, _)| any(*it)).map(|(_, words)| words.to_owned()).collect();
    format!("B {}", list(&words, 3))
}

fn is_explained(row: &&ComparedProbe) -> bool {
    row.moved() && !(row.parts.is_empty() && row.counters.is_empty())
}

/// What carries the changes; that nothing is known of it, if somebody asks.
fn explanations(found: &Comparison, all: bool, style: &Style) -> Sheet {
    let mut rows: Vec<&ComparedProbe> = found.rows.iter().filter(is_explained).collect();
    let phases = found.rows.iter().any(|row| !row.parts.is_empty());
    if !all {
        let distance = |row: &ComparedProbe| row.ratio.map_or(0.0, |ratio| ratio.ln().abs());
        rows.retain(|row| !row.parts.is_empty());
        rows.sort_by(|a, b| distance(b).total_cmp(&distance(a)));
        rows.truncate(EXPLAINED);
    }
    let mut text: Sheet = rows.iter().flat_map(|row| explanation(row, found, style)).collect();
    if all && !phases {
        let sentence = "There is no phase to explain a change by: the records have none. `tollgate crossing`, `fault` and \
                        `riscv bill` take crossings apart; compare two of their records.";
        text.extend(prose(sentence, ""));
    } else if all && rows.is_empty() {
        text.extend(prose("No row moved for sure, so there is nothing to explain.", ""));
    }
    text
}

pub(super) fn side_words(side: &Side, style: &Style) -> String {
    let ids: Vec<String> = side.runs.iter().map(|id| cut(&clean(id, style), 40, style)).collect();
    let mut facts = match &side.command {
        _ if !side.name.is_empty() => {
            let name = cut(&clean(&side.name, style), 60, style);
            // A path is the record; of another name it is not known which it means.
            match ids.as_slice() {
                [id] if id.starts_with(&name) => vec![id.clone()],
                [_] if name.ends_with(".json") => vec![name],
                [id] => vec![name, id.clone()],
                runs => vec![name, plural(runs.len(), "run", "runs")],
            }
        }
        Some(command) if ids.len() > 2 => {
            vec![cut(&clean(command, style), 100, style), plural(ids.len(), "run", "runs")]
        }
        Some(command) => vec![cut(&clean(command, style), 100, style), list(&ids, 2)],
        None => vec![list(&ids, 2)],
    };
    if side.command.is_none() {
        facts.push(clean(&side.effort, style));
    }
    if side.processes > 0 && side.command.is_none() {
        facts.push(plural(side.processes, "process", "processes"));
    }
    if let Some(hz) = side.core_hz {
        facts.push(format!("core at {}", hz_words(hz)));
    }
    if !side.host.is_empty() {
        facts.push(format!("host {}", cut(&clean(&side.host, style), 30, style)));
    }
    facts.join(", ")
}

/// Two decimals: the change of a few per cent must show.
fn hz_words(hz: f64) -> String {
    if (0.95e9..1e12).contains(&hz) { format!("{:.2} GHz", hz / 1e9) } else { frequency(hz) }
}

/// By what it was compared.
pub(super) fn how(found: &Comparison) -> String {
    let mut sentences = Vec::new();
    if found.rows.iter().any(|row| row.at_one_frequency)
        && let Some(ratio) = found.frequency_ratio
    {
        let words = if (ratio - 1.0).abs() < 0.0005 {
            "The core ran equally fast in both".to_owned()
        } else {
            let word = if ratio > 1.0 { "faster" } else { "slower" };
            format!("The core ran {} {word} in B", percent((ratio - 1.0).abs()))
        };
        sentences.push(format!(
            "{words}; changes are at one frequency, in core cycles (core/* and --by-time: in ns)."
        ));
    }
    if let Some(ratio) = found.machine_ratio {
        sentences.push(format!(
            "Probes that never enter the kernel (call/*, fiber/*) moved by {} beyond that: the machine itself had \
             another speed, so what moved as far is not called a change; measure again, or with --against.",
            change(ratio - 1.0)
        ));
    }
    if let Some(ratio) = found.entry_ratio {
        sentences.push(format!(
            "The way into the kernel and back (the yardstick getppid) moved by {} with the same kernel, so what moved as far and \
             follows no yardstick is not called a change; measure again, or with --against.",
            change(ratio - 1.0)
        ));
    }
    let relative = found.rows.iter().filter(|row| row.relative.is_some()).count();
    if relative > 0 {
        sentences.push(format!(
            "{relative} of {} rows are without what the yardsticks explain: work that is the same in both and was slowed down with \
             them (`relative` in --json).",
            found.rows.len()
        ));
    }
    let spreads: Vec<f64> = found.rows.iter().filter_map(|row| row.pair_spread).collect();
    if !spreads.is_empty() {
        let where_too = if found.same_addresses { ", in processes with the same addresses" } else { "" };
        sentences.push(format!(
            "The batches of A and B took turns within milliseconds{where_too}, so that what both met cancels; what is left \
             of two neighboring batches varies by {} (median of the probes).",
            percent(median(&spreads))
        ));
    } else if found.interleaved && found.by_runs {
        sentences.push("The runs of A and B took turns, and each is compared with its neighbor.".into());
    } else if found.interleaved {
        sentences.push("The processes of A and B took turns.".into());
    }
    if found.rows.iter().any(|row| row.unit == "instructions") {
        sentences.push("Figures with an i are instructions: no core counted cycles (--core).".into());
    }
    if let Some(margin) = found.until {
        sentences.push(format!(
            "Each probe was measured until its change was known to be above, below or within {}; its interval misses the \
             change in {} of all cases however often one looks.",
            percent(margin),
            percent(SEQUENCE_MISSES)
        ));
    }
    sentences.join(" ")
}

fn differences(found: &Comparison, explain: bool, style: &Style) -> Sheet {
    let mut text = Sheet::new();
    let shown = found.differences.iter().filter(|difference| explain || difference.weight != Weight::Fact);
    for difference in shown {
        let (paint, word) = match difference.weight {
            Weight::Spoils => (Paint::Bad, "spoils it"),
            Weight::Matters => (Paint::Warn, "matters"),
            Weight::Fact => (Paint::Dim, "fact"),
        };
        let value = |value: &str| cut(&clean(value, style), 100, style);
        let line = format!(
            "{}: {} in A, {} in B",
            clean(&difference.what, style),
            value(&difference.a),
            value(&difference.b)
        );
        text.extend(Sheet::from(paragraph(line, format!("{}  ", left(word, 9))).mark(word, paint)));
    }
    if found.is_spoiled() {
        let spoiled = found.rows.iter().filter(|row| row.spoiled).count();
        let sentence = format!(
            "The sides were not measured alike, so that {} no verdict: measure both with the same options, or with tollgate run \
             --against.",
            if spoiled == 1 {
                "1 probe has".to_owned()
            } else {
                format!("{} have", rows_words(found, spoiled))
            }
        );
        text.extend(prose(&sentence, ""));
    }
    if !text.is_empty() {
        text.blank();
    }
    text
}

/// Which intervals the rows have.
pub(super) fn interval_words(found: &Comparison) -> &'static str {
    if found.until.is_some() { "interval" } else { "99 % interval" }
}

/// A part of what a program pays at a boundary has a line of its own if it moved, or if it is at least this share of the
/// program's CPU time.
const SHOWN_SHARE: f64 = 0.01;

pub(super) fn is_shown(row: &ComparedProbe, found: &Comparison) -> bool {
    let whole = found.rows.iter().find(|it| it.probe == "exec/total" && it.part.is_none());
    let least = whole.map_or(0.0, |whole| SHOWN_SHARE * whole.a.max(whole.b));
    let moved = matches!(row.verdict, Verdict::Better | Verdict::Worse);
    row.part.is_none() || moved || row.a.max(row.b) >= least
}

/// How many parts have no line.
pub(super) fn hidden(found: &Comparison) -> String {
    match found.rows.iter().filter(|row| !is_shown(row, found)).count() {
        0 => String::new(),
        count => format!(
            "Not shown: {} of tolls and kernel work, of less than {} of the CPU time and without a change (--json has them).",
            plural(count, "row", "rows"),
            percent(SHOWN_SHARE)
        ),
    }
}

/// What the columns of A and B are called: by letter, and by the names that the user gave if these tell them apart.
pub(super) fn headings(found: &Comparison, style: &Style) -> [String; 2] {
    let short = |side: &Side| {
        let name = side.name.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
        let name = name.split_whitespace().next().unwrap_or_default();
        cut(&clean(name.strip_suffix(".json").unwrap_or(name), style), 8, style)
    };
    let [a, b] = [short(&found.a), short(&found.b)];
    let alike = a == b;
    [("A", a), ("B", b)].map(|(letter, name)| match name.is_empty() || alike {
        true => letter.to_owned(),
        false => format!("{letter} {name}"),
    })
}

fn rows(found: &Comparison, style: &Style) -> Sheet {
    let [a, b] = headings(found, style);
    let mut table = Table::new([
        Column::left("").most(40).least(20),
        Column::right(a).rank(1),
        Column::right(b).rank(2),
        // Empty in a terminal, and so left out: the change says the same in fewer columns.
        Column::right("ratio"),
        Column::right("change"),
        Column::right(interval_words(found)).rank(3),
        Column::right("sees").rank(4),
        Column::left(""),
    ])
    .caption("What changed from A to B");
    let mut family = "";
    for row in found.rows.iter().filter(|row| is_shown(row, found)) {
        if row.family() != family {
            family = row.family();
            if row.probe.contains('/') {
                table.heading(clean(family, style), Paint::Plain);
            }
        }
        table.row(cells(row, found, style));
    }
    table.into()
}

/// What follows the name of a probe of which there are several rows: what was asked for.
fn told_apart(row: &ComparedProbe, found: &Comparison, style: &Style) -> String {
    let is_twin = |other: &&ComparedProbe| {
        other.probe == row.probe && other.engine == row.engine && other.part == row.part
    };
    if found.rows.iter().filter(is_twin).count() < 2 {
        return String::new();
    }
    row.params.values().map(|value| format!(" {}", clean(value, style))).collect()
}

fn cells(row: &ComparedProbe, found: &Comparison, style: &Style) -> [Cell; 8] {
    let mut name = match (&row.part, row.probe.split_once('/')) {
        (Some(part), _) => format!("    {}", words::phase(part_words(part), style)),
        (None, Some((_, name))) => format!("  {}", clean(name, style)),
        (None, None) => clean(&row.probe, style),
    };
    if row.engine != "host" {
        name = format!("{name} ({})", clean(&row.engine, style));
    }
    name += &told_apart(row, found, style);
    let interval = match (row.exact, row.interval) {
        (true, _) => "exact".into(),
        (false, Some([low, high])) => format!("{} {}", signed(low - 1.0), signed(high - 1.0)),
        (false, None) => "-".into(),
    };
    let seen = row.smallest_seen.filter(|_| !row.exact).map_or_else(String::new, percent);
    let (paint, word) = match row.verdict {
        Verdict::Better => (Paint::Good, "better"),
        Verdict::Worse => (Paint::Bad, "worse"),
        Verdict::Same => (Paint::Plain, "same"),
        Verdict::CannotTell => (Paint::Dim, "?"),
    };
    let ratio = row.ratio.filter(|_| style.format == Format::Markdown);
    let ratio = ratio.map_or("".into(), |ratio| Cell::shown(format!("{ratio:.3}"), ratio));
    let measured = value(row, row.b_measured, style);
    let mark = |text: String| if text == measured { text } else { format!("{text}~") };
    [
        name.into(),
        value(row, row.a, style).into(),
        mark(value(row, row.b, style)).into(),
        ratio,
        row.change().map_or_else(|| "-".to_owned(), change).into(),
        interval.into(),
        seen.into(),
        Cell::from(word).paint(paint),
    ]
}

/// Beside counts a time needs its unit.
fn is_time(row: &ComparedProbe) -> bool {
    row.family() == "exec" && row.unit == "ns"
}

/// A figure of a row, with a letter for its unit where it is not nanoseconds.
fn value(row: &ComparedProbe, value: f64, style: &Style) -> String {
    let unit = match row.unit {
        "cycles" => "c",
        "instructions" => "i",
        _ => "",
    };
    match is_time(row) {
        true => clean(&time(value), style),
        false => format!("{}{unit}", fit(value, SHORT)),
    }
}

/// The part of a row's time, in the words of a bill.
fn part_words(part: &str) -> &str {
    match part {
        "user" => "own code",
        "toll" => "tolls",
        "system" => "in the kernel",
        other => other,
    }
}

/// A change as a percentage without the sign of per cent, for a column of two.
fn signed(share: f64) -> String {
    change(share).trim_end_matches(" %").to_owned()
}

pub(super) fn tally(found: &Comparison) -> String {
    format!(
        "'same' is within {} either way; '?' cannot tell; 'sees' is the smallest change that would have been found 4 times in 5.",
        percent(found.margin)
    )
}

/// Reasons why verdicts are missing, each with its probes.
fn why(found: &Comparison, style: &Style) -> Sheet {
    let mut reasons: IndexMap<&str, Vec<String>> = IndexMap::new();
    for row in found.rows.iter().filter(|row| is_shown(row, found)) {
        let Some(why) = row.why.as_deref() else { continue };
        reasons.entry(why).or_default().push(cut(&clean(&row.name(), style), 40, style));
    }
    let line = |(why, names): (&str, Vec<String>)| {
        prose(format!("{}: {}", list(&names, 3), clean(why, style)), "  ? ")
    };
    let mut text: Sheet = reasons.into_iter().flat_map(line).collect();
    if found
        .rows
        .iter()
        .any(|row| row.verdict == Verdict::CannotTell && row.interval.is_some() && !row.spoiled)
    {
        let advice = "More processes (--thorough), more runs, or both sides in one session (tollgate run --against) make intervals \
                      narrower.";
        text.extend(prose(advice, ""));
    }
    text
}

/// The parts and counts of one probe that moved.
fn explanation(row: &ComparedProbe, found: &Comparison, style: &Style) -> Sheet {
    let name = cut(&(clean(&row.probe, style) + &told_apart(row, found, style)), 60, style);
    let whole = if row.adjusted.is_empty() { "" } else { ", B's times as in the table" };
    let mut text = title(format!("{name}{whole}"));
    text.extend(parts(row, style));
    for counter in row.counters.iter().take(SHOWN) {
        let value = |value: Option<f64>| value.map_or_else(|| "none".into(), figure);
        let name = cut(&clean(&counter.name, style), 40, style);
        let line = format!("{name}: {} in A, {} in B", value(counter.a), value(counter.b));
        text.extend(prose(&line, "  "));
    }
    text
}

fn parts(row: &ComparedProbe, style: &Style) -> Sheet {
    let mut table = Table::new([
        Column::left("").most(30).least(16),
        Column::right(""),
        Column::left(""),
        Column::left("").rank(1),
        Column::right(""),
    ])
    .indent(2);
    for part in row.parts.iter().take(SHOWN) {
        let interval = part.interval.map_or_else(
            || "exact".to_owned(),
            |[low, high]| format!("{} to {}", fit(low, SHORT), fit(high, SHORT)),
        );
        let share = part.share.map_or_else(String::new, |share| format!("{} of it", change(share)));
        let name = words::phase(&part.name, style);
        table.row([name, fit(part.delta, SHORT), part.unit.into(), interval, share]);
    }
    table.into()
}

pub(super) fn threshold(found: &Comparison, style: &Style) -> String {
    let Some(most) = found.fail_above else { return String::new() };
    let most = percent(most);
    if found.exceeded.is_empty() {
        return format!("No probe is slower by more than {most} for sure.");
    }
    let names: Vec<String> = found.exceeded.iter().map(|name| cut(&clean(name, style), 40, style)).collect();
    format!("Slower by more than {most}, even at the lower end of the interval: {}.", list(&names, 10))
}
