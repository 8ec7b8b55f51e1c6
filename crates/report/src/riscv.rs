//! What the RISC-V machine found: instructions and cycles of traps, the bill by phase and cause, what the program
//! pays after the return, and the sweep of a workload.

use std::collections::BTreeMap;

use crate::head::head;
use crate::notes::notes;
use crate::style::{Paint, Style};
use crate::text::{clean, cut, lines, wrap};
use tollgate_record::{Measurement, Run, Status};

/// The families that this view shows.
pub(crate) const FAMILIES: [&str; 2] = ["riscv-trap", "riscv-workload"];

/// The causes of cycles in the order of the pipe, with the heads of their columns.
const CAUSES: [(&str, &str); 10] = [
    ("issue", "issue"),
    ("load-use", "load"),
    ("csr", "csr"),
    ("branch", "branch"),
    ("trap-flush", "flush"),
    ("i-miss", "I-miss"),
    ("d-miss", "D-miss"),
    ("tlb-walk", "walk"),
    ("long-operation", "long"),
    ("structural", "struct"),
];

/// Widest label of a row.
const LABEL: usize = 19;

/// A run of the RISC-V commands: a line for each trap, the bill of the first one in cycles, what follows its
/// return, and the sweep of a workload.
pub fn riscv(run: &Run, style: &Style) -> String {
    let mut text: Vec<String> = head(run, style).iter().map(|line| style.paint(Paint::Dim, line)).collect();
    text.push(String::new());
    let measured = |family: &str| -> Vec<&Measurement> {
        run.results.iter().filter(|r| r.status == Status::Measured && r.family() == family).collect()
    };
    let traps = measured(FAMILIES[0]);
    text.extend(summary(&traps, style));
    // The bills of what was asked for, unless it is a whole design space.
    let kernels: std::collections::BTreeSet<_> = traps.iter().map(|r| param(r, "kernel", style)).collect();
    if kernels.len() == 1 {
        for result in traps.iter().filter(|r| r.phases.iter().any(|phase| !phase.causes.is_empty())) {
            text.push(String::new());
            text.extend(bill(result, style));
        }
        if let Some(result) = traps.iter().find(|r| r.counters.contains_key("after/cycles")) {
            text.push(String::new());
            text.extend(after(result, style));
        }
    }
    let sweep = measured(FAMILIES[1]);
    if !sweep.is_empty() {
        text.extend(workload(&sweep, style));
    }
    text.push(String::new());
    text.extend(notes(run, style));
    lines(text)
}

fn param(result: &Measurement, key: &str, style: &Style) -> String {
    let fields = result.asked.fields();
    let value = fields.get(key);
    let text = value.map(|v| v.as_str().map_or_else(|| v.to_string(), str::to_owned)).unwrap_or_default();
    clean(&text, style)
}

/// A whole number without decimals, a mean with two.
fn figure(x: f64) -> String {
    if !x.is_finite() {
        return "-".into();
    }
    if (x - x.round()).abs() < 1e-9 { grouped(x) } else { format!("{x:.2}") }
}

fn grouped(x: f64) -> String {
    let digits = format!("{:.0}", x.abs());
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    if x < 0.0 && digits != "0" { format!("-{out}") } else { out }
}

fn or_dash(x: Option<f64>) -> String {
    x.map_or_else(|| "-".into(), figure)
}

fn crossing(result: &Measurement) -> &str {
    result.probe.split_once('/').map_or(result.probe.as_str(), |(_, name)| name)
}

/// One line for each trap; its warm and its cold entry are one.
fn summary(traps: &[&Measurement], style: &Style) -> Vec<String> {
    if traps.is_empty() {
        return Vec::new();
    }
    let timed = traps.iter().any(|r| r.cycles.is_some());
    let mut text = Vec::new();
    if let Some(first) = traps.iter().find(|r| r.asked.trap().is_some_and(|trap| trap.core.is_some())) {
        let core = param(first, "core", style);
        let title = format!("Cycles on {core}, simulated and exact; the mean of each loop.");
        text.extend(wrap(&title, style.prose(), "").iter().map(|line| style.paint(Paint::Bold, line)));
    }
    let header = if timed {
        format!(
            "{:<15}{:<14}{:>8}{:>9}{:>6}{:>9}{:>9}{:>10}",
            "kernel", "crossing", "instr", "cycles", "CPI", "cold", "after", "in all"
        )
    } else {
        format!(
            "{:<15}{:<14}{:>12}{:>10}{:>10}{:>9}",
            "kernel", "crossing", "instructions", "single", "min", "max"
        )
    };
    text.push(style.paint(Paint::Dim, header.trim_end()));
    let mut cold: BTreeMap<(String, String, String), f64> = BTreeMap::new();
    let key = |r: &Measurement| (r.probe.clone(), param(r, "kernel", style), param(r, "engine", style));
    for result in traps.iter().filter(|r| param(r, "caches", style) == "cold") {
        cold.extend(result.cycles.map(|c| (key(result), c.estimate)));
    }
    for result in traps.iter().filter(|r| param(r, "caches", style) != "cold") {
        let counter = |name: &str| result.counters.get(name).copied();
        let label = format!(
            "{:<15}{:<14}",
            cut(&param(result, "kernel", style), 14, style),
            cut(&clean(crossing(result), style), 13, style)
        );
        let instructions = counter("instructions");
        let row = if timed {
            let cycles = result.cycles.map(|c| c.estimate);
            let cpi = cycles.zip(instructions).map(|(c, i)| format!("{:.2}", c / i));
            let more = counter("after/cycles");
            let all = cycles.map(|c| c + more.unwrap_or(0.0));
            format!(
                "{label}{:>8}{:>9}{:>6}{:>9}{:>9}{:>10}",
                or_dash(instructions),
                or_dash(cycles),
                cpi.unwrap_or_else(|| "-".into()),
                or_dash(cold.get(&key(result)).copied()),
                or_dash(more),
                or_dash(all)
            )
        } else {
            format!(
                "{label}{:>12}{:>10}{:>10}{:>9}",
                or_dash(instructions),
                or_dash(counter("instructions-single")),
                or_dash(counter("instructions-min")),
                or_dash(counter("instructions-max"))
            )
        };
        let engine = clean(&result.engine, style);
        let engine =
            if matches!(engine.as_str(), "embedded" | "") { String::new() } else { format!("  {engine}") };
        text.push(format!("{row}{engine}").trim_end().to_owned());
    }
    text
}

/// The columns that have something in them.
fn columns(phases: &[tollgate_record::Phase]) -> Vec<(&'static str, &'static str)> {
    let used = |cause: &str| phases.iter().any(|phase| phase.causes.get(cause).is_some_and(|n| *n != 0.0));
    CAUSES.into_iter().filter(|(cause, _)| used(cause)).collect()
}

/// Phases by causes.
fn bill(result: &Measurement, style: &Style) -> Vec<String> {
    let columns = columns(&result.phases);
    let total = result.cycles.map_or(0.0, |c| c.estimate);
    let caches = match param(result, "caches", style).as_str() {
        "" => String::new(),
        which => format!(", caches {which}"),
    };
    let title = format!(
        "{}, kernel {}, {}{caches}: {} cycles",
        clean(crossing(result), style),
        param(result, "kernel", style),
        param(result, "core", style),
        figure(total)
    );
    let mut text: Vec<String> =
        wrap(&title, style.prose(), "").iter().map(|line| style.paint(Paint::Bold, line)).collect();
    // What remains of the line is shared. With many causes the instructions, which the first one nearly repeats,
    // give way.
    let counted = columns.len() <= 7;
    let rest = 80 - LABEL - 8 - if counted { 7 } else { 0 };
    let width = (rest / columns.len().max(1)).clamp(5, 8);
    let label = |name: &str, instructions: &str, cycles: &str| {
        let instructions = if counted { format!("{instructions:>7}") } else { String::new() };
        format!("  {name:<w$}{instructions}{cycles:>8}", w = LABEL - 2)
    };
    let mut header = label("", "instr", "cycles");
    for (_, name) in &columns {
        header.push_str(&format!("{:>width$}", name.get(..width - 1).unwrap_or(name)));
    }
    text.push(style.paint(Paint::Dim, header.trim_end()));
    let short = |x: f64| {
        let full = figure(x);
        if full.len() < width { full } else { format!("{x:.0}") }
    };
    let mut sums = vec![0.0; columns.len()];
    let (mut instructions, mut cycles) = (0.0, 0.0);
    for phase in &result.phases {
        let mut row = label(
            &cut(&clean(&phase.name.replace('-', " "), style), LABEL - 2, style),
            &or_dash(phase.instructions),
            &or_dash(phase.cycles.map(|c| c.estimate)),
        );
        instructions += phase.instructions.unwrap_or(0.0);
        cycles += phase.cycles.map_or(0.0, |c| c.estimate);
        for ((cause, _), sum) in columns.iter().zip(&mut sums) {
            let n = phase.causes.get(*cause).copied().unwrap_or(0.0);
            *sum += n;
            let cell = if n == 0.0 { String::new() } else { short(n) };
            row.push_str(&format!("{cell:>width$}"));
        }
        text.push(row.trim_end().to_owned());
    }
    let mut row = label("total", &figure(instructions), &figure(cycles));
    for sum in sums {
        row.push_str(&format!("{:>width$}", short(sum)));
    }
    text.push(row);
    text
}

/// The cost after the return.
fn after(result: &Measurement, style: &Style) -> Vec<String> {
    let counter = |name: &str| result.counters.get(&format!("after/{name}")).copied().unwrap_or(0.0);
    let causes: Vec<String> = CAUSES
        .into_iter()
        .filter(|(cause, _)| counter(cause) != 0.0)
        .map(|(cause, _)| format!("{cause} {}", figure(counter(cause))))
        .collect();
    let lost: Vec<String> = [
        ("l1i-lines", "L1I lines"),
        ("l1d-lines", "L1D lines"),
        ("l2-lines", "L2 lines"),
        ("itlb-entries", "ITLB entries"),
        ("dtlb-entries", "DTLB entries"),
    ]
    .into_iter()
    .filter(|(key, _)| counter(key) != 0.0)
    .map(|(key, name)| format!("{} {name}", figure(counter(key))))
    .collect();
    let text = if counter("cycles") == 0.0 && lost.is_empty() {
        format!(
            "After the return the program pays nothing: none of its lines and translations was lost, and it goes on \
             at its steady {:.2} cycles an instruction.",
            counter("steady-cpi")
        )
    } else {
        let causes = if causes.is_empty() { String::new() } else { format!(" ({})", causes.join(", ")) };
        let lost = match lost.is_empty() {
            true => "it has no line and no translation to fetch again".into(),
            false => format!("it fetches {} again", lost.join(", ")),
        };
        format!(
            "After the return the program pays {} cycles more{causes}: {lost}, and is back at its steady {:.2} \
             cycles an instruction after {} instructions.",
            figure(counter("cycles")),
            counter("steady-cpi"),
            figure(counter("recovery-instructions"))
        )
    };
    wrap(&text, style.prose(), "")
}

/// Bytes as people say them.
fn bytes(n: f64) -> String {
    match n {
        n if n >= 1_048_576.0 && n % 1_048_576.0 == 0.0 => format!("{} MiB", n / 1_048_576.0),
        n if n >= 1024.0 => format!("{} KiB", figure(n / 1024.0)),
        n => format!("{n} B"),
    }
}

fn percent(x: f64) -> String {
    if x.abs() < 100.0 { format!("{x:.1}") } else { grouped(x) }
}

/// The sweep: one line for each point.
fn workload(points: &[&Measurement], style: &Style) -> Vec<String> {
    let first = points[0];
    let title = format!(
        "Workload {} on {}, kernel {}. Cycles for each trap, simulated and exact.",
        clean(crossing(first), style),
        param(first, "core", style),
        param(first, "kernel", style)
    );
    let mut text: Vec<String> =
        wrap(&title, style.prose(), "").iter().map(|line| style.paint(Paint::Bold, line)).collect();
    let header = format!(
        "{:>9}{:>9}{:>10}{:>9}{:>9}{:>9}{:>8}   {}",
        "set", "touches", "every", "direct", "refill", "in all", "slower", "refetched"
    );
    text.push(style.paint(Paint::Dim, &header));
    for result in points {
        let asked = result.asked.workload().cloned().unwrap_or_default();
        let phase = |name: &str| {
            let found = result.phases.iter().find(|phase| phase.name == name)?;
            found.cycles.map(|c| c.estimate)
        };
        let counter = |name: &str| result.counters.get(name).copied().unwrap_or(0.0);
        let whole = |x: Option<f64>| x.map_or_else(|| "-".into(), grouped);
        let mut lost: Vec<String> = Vec::new();
        for (key, name) in
            [("l1i-lines", "I"), ("l1d-lines", "D"), ("l2-lines", "L2"), ("dtlb-entries", "TLB")]
        {
            let n = counter(&format!("refill/{key}"));
            if n.round() != 0.0 {
                lost.push(format!("{name} {}", grouped(n)));
            }
        }
        text.push(
            format!(
                "{:>9}{:>9}{:>10}{:>9}{:>9}{:>9}{:>6} %   {}",
                bytes(asked.set_bytes as f64),
                bytes(asked.touch_bytes as f64),
                grouped(counter("user-instructions")),
                whole(phase("direct")),
                whole(phase("refill")),
                whole(result.cycles.map(|c| c.estimate)),
                percent(counter("slow-down") * 100.0),
                lost.join(" ")
            )
            .trim_end()
            .to_owned(),
        );
    }
    let text_below = "set: the program's working set; touches: what the kernel reads in each trap; every: instructions \
                      of the program from trap to trap. Direct is everything outside the program, refill what the \
                      program's own instructions take longer than without traps; refetched counts its lines (I, D, \
                      L2) and translations (TLB).";
    text.extend(wrap(text_below, style.prose(), ""));
    text
}
