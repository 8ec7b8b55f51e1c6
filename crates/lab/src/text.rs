//! Bills as text, in 80 columns. Pure functions from figures to strings.

use std::fmt::Write;

use crate::LabError;
use crate::bill::{Experiment, TrapBill};
use crate::call::Crossing;
use crate::design::DESIGNS;
use crate::phase::Phase;
use crate::profile::Profile;

/// A `#` of a bar stands for this many per cent.
const PER_CENT_PER_MARK: f64 = 4.0;

/// The designs there are, one line each.
#[must_use]
pub fn list() -> String {
    DESIGNS.iter().map(|design| format!("{:<15}{}\n", design.name, design.about)).collect()
}

/// Bills of one kernel: the spread of each, the phases of all, the first one in full, and the answer.
#[must_use]
pub fn bills(bills: &[TrapBill]) -> String {
    let Some((first, others)) = bills.split_first() else { return String::new() };
    let mut out = spreads(bills);
    out.push('\n');
    if first.phases.is_none() {
        return out;
    }
    if !others.is_empty() {
        out.push_str(&matrix(bills));
        out.push('\n');
    }
    out.push_str(&bill(first));
    out.push('\n');
    out.push_str(&answer(first));
    out
}

/// The whole design space, and what it says.
#[must_use]
pub fn comparison(bills: &[TrapBill]) -> String {
    if bills.is_empty() {
        return String::new();
    }
    format!("{}\n{}", designs(bills), conclusion(bills))
}

/// What could not be measured, and why; one reason for several experiments is said once.
#[must_use]
pub fn missing(missing: &[(Experiment, LabError)]) -> String {
    let mut reasons: Vec<(String, Vec<&str>)> = Vec::new();
    for (experiment, why) in missing {
        let name = experiment.design.name;
        let sentence = match why.is_skip() {
            true => why.to_string(),
            false => format!("{}: {why}", experiment.crossing.name()),
        };
        // An engine that is not there can do none of them; that needs no list.
        let listed = !matches!(why, LabError::EngineMissing { .. });
        match reasons.iter_mut().find(|(known, _)| *known == sentence) {
            Some((_, names)) if names.contains(&name) || !listed => {}
            Some((_, names)) => names.push(name),
            None => reasons.push((sentence, if listed { vec![name] } else { Vec::new() })),
        }
    }
    let word = if missing.iter().all(|(_, why)| why.is_skip()) { "skipped" } else { "not measured" };
    let line = |(why, names): &(String, Vec<&str>)| match &names[..] {
        [] => wrapped(&format!("{word}: {why}")),
        names => wrapped(&format!("{word}: {}: {why}", names.join(", "))),
    };
    reasons.iter().map(line).collect()
}

/// The totals of several engines side by side: a row for each experiment, a column for each engine.
#[must_use]
pub fn engines(names: &[&str], bills: &[TrapBill], experiments: &[Experiment]) -> String {
    let mut out = format!("{:<16}{:<22}", "instructions", "");
    names.iter().for_each(|name| {
        let _ = write!(out, "{name:>12}");
    });
    out.push('\n');
    for experiment in experiments {
        let crossing = experiment.crossing;
        let _ = write!(out, "{:<16}{:<22}", experiment.design.name, crossing.name());
        for name in names {
            let bill = bills.iter().find(|bill| {
                let of = bill.experiment;
                bill.engine == *name && of.design == experiment.design && of.crossing == crossing
            });
            let cell = bill.map_or_else(|| "-".to_owned(), |bill| mean(bill.spread.sum, bill.spread.count));
            let _ = write!(out, "{cell:>12}");
        }
        out.push('\n');
    }
    out
}

/// The first crossing against the loop, one line for each bill.
fn spreads(bills: &[TrapBill]) -> String {
    let count = bills.first().map_or(0, |bill| bill.spread.count);
    let title = format!("instructions; {} in a loop", grouped(count));
    let mut out = format!("{title:<34}{:>6}{:>10}{:>10}{:>10}{:>9}\n", "result", "single", "min", "mean", "max");
    for bill in bills {
        let spread = bill.spread;
        let result = bill.result.map(|r| r.to_string()).unwrap_or_default();
        line(
            &mut out,
            format_args!(
                "{:<32}{:>8}{:>10}{:>10}{:>10}{:>9}",
                bill.experiment.crossing.name(),
                result,
                grouped(spread.single),
                grouped(spread.min),
                mean(spread.sum, spread.count),
                grouped(spread.max)
            ),
        );
    }
    out
}

/// One bill by phase, with a bar for each share. Nothing when the engine gave totals only.
fn bill(bill: &TrapBill) -> String {
    let Some(phases) = &bill.phases else { return String::new() };
    let [_, all] = &**phases;
    let count = bill.spread.count;
    let experiment = bill.experiment;
    let title =
        format!("{}, {}, kernel {}", experiment.crossing.name(), experiment.design.isa, experiment.design.name);
    let total = format!("{} instructions", mean(all.total().instructions, count));
    let mut out = format!("{title:<50}{total:>29}\n");
    let _ = writeln!(out, "  {:<17}{:>8}{:>7}{:>8}{:>8}{:>9}", "", "instr", "share", "loads", "stores", "bytes");
    for (phase, cost) in all.iter() {
        let share = per_cent(cost.instructions, all.total().instructions);
        // The hardware's part takes no instruction; what there is to say is how often it was done.
        let remark = match cost.traps {
            0 => bar(share),
            n if n == count => "1 trap".into(),
            n => format!("{} traps", mean(n, count)),
        };
        line(
            &mut out,
            format_args!(
                "  {:<17}{:>8}{:>5.0} %{:>8}{:>8}{:>9}  {}",
                phase.name(),
                mean(cost.instructions, count),
                share,
                mean(cost.loads, count),
                mean(cost.stores, count),
                mean(cost.bytes_stored, count),
                remark
            ),
        );
    }
    let total = all.total();
    line(
        &mut out,
        format_args!(
            "  {:<17}{:>8}{:>5} %{:>8}{:>8}{:>9}",
            "total",
            mean(total.instructions, count),
            100,
            mean(total.loads, count),
            mean(total.stores, count),
            mean(total.bytes_stored, count)
        ),
    );
    out
}

/// The phases of several bills side by side, in instructions.
fn matrix(bills: &[TrapBill]) -> String {
    const COLUMNS: [(&str, usize, Phase); 7] = [
        ("user", 7, Phase::UserStub),
        ("stack", 8, Phase::StackSwitch),
        ("save", 7, Phase::Save),
        ("dispatch", 10, Phase::Dispatch),
        ("handler", 9, Phase::Handler),
        ("restore", 9, Phase::Restore),
        ("return", 8, Phase::Return),
    ];
    let mut out = format!("{:<21}", "phases");
    for (name, width, _) in COLUMNS {
        let _ = write!(out, "{name:>width$}");
    }
    out.push('\n');
    for bill in bills {
        let Some(phases) = &bill.phases else { continue };
        let _ = write!(out, "{:<21}", bill.experiment.crossing.name());
        for (_, width, phase) in COLUMNS {
            let _ = write!(out, "{:>width$}", mean(phases[1][phase].instructions, bill.spread.count));
        }
        out.push('\n');
    }
    out
}

/// The answer to the question: is it the registers, the dispatch or the call itself?
fn answer(bill: &TrapBill) -> String {
    let Some(phases) = &bill.phases else { return String::new() };
    let all = &phases[1];
    let each = |n: u64| mean(n, bill.spread.count);
    let kernel = all.total().instructions - all[Phase::UserStub].instructions;
    let registers = all[Phase::Save].instructions + all[Phase::Restore].instructions;
    let handler = all[Phase::Handler].instructions;
    let dispatch = all[Phase::Dispatch].instructions;
    let mut text = format!(
        "{} of the kernel's {} instructions save and restore registers ({}); ",
        fraction(registers, kernel),
        each(kernel),
        each(registers)
    );
    match bill.experiment.crossing {
        Crossing::Yield | Crossing::Timer => {
            let space = all[Phase::Space].instructions;
            let _ = write!(text, "dispatch takes {}, choosing the task {}", each(dispatch), each(all[Phase::Schedule].instructions));
            let _ = match (space, all[Phase::Firmware].instructions) {
                (0, 0) => write!(text, "."),
                (0, firmware) => write!(text, ", firmware for the timer {}.", each(firmware)),
                (space, 0) => write!(text, ", changing the address space {}.", each(space)),
                (space, firmware) => write!(
                    text,
                    ", changing the address space {}, firmware for the timer {}.",
                    each(space),
                    each(firmware)
                ),
            };
        }
        crossing => {
            let what = if matches!(crossing, Crossing::Call(_)) { "the system call itself" } else { "the handler itself" };
            let verdict = if registers > dispatch + handler {
                "moving registers, not system-call logic"
            } else if handler > registers + dispatch {
                "the call's own work, not the crossing"
            } else if dispatch > registers + handler {
                "dispatch"
            } else {
                "no single part"
            };
            let _ = write!(
                text,
                "dispatch takes {} and {what} {}. The overhead is mostly {verdict}.",
                each(dispatch),
                each(handler)
            );
        }
    }
    if text.ends_with("The overhead is mostly no single part.") {
        text.truncate(text.len() - " The overhead is mostly no single part.".len());
    }
    wrapped(&text)
}

/// The design space: one line for each kernel, in groups of the same crossing.
fn designs(bills: &[TrapBill]) -> String {
    let mut out =
        format!("{:<14}{:>6}{:>7}{:>8}{:>7}\n", "kernel", "instr", "loads", "stores", "saved");
    let mut group = None;
    for bill in bills {
        let crossing = bill.experiment.crossing;
        if group != Some(crossing) {
            line(&mut out, format_args!("{}", crossing.name()));
            group = Some(crossing);
        }
        let total = bill.phases.as_ref().map(|phases| phases[1].total());
        let count = bill.spread.count;
        let cell = |n: Option<u64>| n.map_or_else(|| "-".to_owned(), |n| mean(n, count));
        line(
            &mut out,
            format_args!(
                "  {:<14}{:>4}{:>7}{:>8}{:>7}  {}",
                bill.experiment.design.name,
                mean(bill.spread.sum, count),
                cell(total.map(|t| t.loads)),
                cell(total.map(|t| t.stores)),
                cell(bill.phases.as_ref().map(|p| p[1].bytes_saved())),
                bill.experiment.design.about
            ),
        );
    }
    out
}

/// What the table of designs says about how the overhead could be reduced.
fn conclusion(bills: &[TrapBill]) -> String {
    let of = |name: &str| bills.iter().find(|bill| bill.experiment.design.name == name).map(|bill| bill.spread.min);
    let Some(full) = of("full") else { return String::new() };
    let against = |name: &str, words: &str| {
        let n = of(name)?;
        let change = (n as f64 - full as f64) / full as f64 * 100.0;
        Some(format!("{words} {n} ({change:+.0} %)"))
    };
    let parts: Vec<String> = [
        against("caller", "saving only what C may overwrite"),
        against("bank", "a second register bank"),
        against("stack", "stacking in hardware"),
        against("fp-eager", "saving floating point every time"),
    ]
    .into_iter()
    .flatten()
    .collect();
    let mut text = format!("Against the {full} instructions of a full save: {}.", parts.join(", "));
    if let (Some(same), Some(space), Some(asid), Some(timer)) =
        (of("switch-same"), of("switch-space"), of("switch-asid"), of("timer-same"))
    {
        let _ = write!(
            text,
            " A switch to another task takes {same}; the address space adds {} with a TLB flush and {} with \
             ASIDs, before any refill; by timer it takes {timer}, because machine mode passes the interrupt on.",
            space.saturating_sub(same),
            asid.saturating_sub(same)
        );
    }
    wrapped(&text)
}

/// Where a program's instructions went.
#[must_use]
pub fn profile(profile: &Profile) -> String {
    const SHOWN: usize = 20;
    let functions = profile.functions();
    let total: u64 = functions.iter().map(|(_, n)| n).sum();
    let mut out = format!("{:<38}{:>16}{:>7}\n", "function", "instructions", "share");
    let mut row = |name: &str, n: u64| {
        let share = per_cent(n, total);
        let name: String = name.chars().take(38).collect();
        line(&mut out, format_args!("{name:<38}{:>16}{share:>5.0} %  {}", grouped(n), bar(share / 2.0)));
    };
    functions.iter().take(SHOWN).for_each(|(name, n)| row(name, *n));
    if functions.len() > SHOWN {
        let rest = functions[SHOWN..].iter().map(|(_, n)| n).sum();
        row(&format!("{} more", functions.len() - SHOWN), rest);
    }
    row("total", total);
    if profile.has_phases() {
        let _ = writeln!(out, "\n{:<38}{:>16}{:>7}", "phase", "instructions", "share");
        for (phase, cost) in profile.phases.iter() {
            let share = per_cent(cost.instructions, total);
            line(
                &mut out,
                format_args!("{:<38}{:>16}{share:>5.0} %  {}", phase.name(), grouped(cost.instructions), bar(share / 2.0)),
            );
        }
    }
    if !profile.calls.is_empty() {
        const COLUMNS: [(&str, usize, Phase); 6] = [
            ("stack", 6, Phase::StackSwitch),
            ("save", 5, Phase::Save),
            ("dispatch", 9, Phase::Dispatch),
            ("handler", 8, Phase::Handler),
            ("restore", 8, Phase::Restore),
            ("return", 7, Phase::Return),
        ];
        let _ = write!(out, "\n{:<20}{:>7}{:>9}", "kernel, per call", "calls", "instr");
        for (name, width, _) in COLUMNS {
            let _ = write!(out, "{name:>width$}");
        }
        out.push('\n');
        for (&number, call) in &profile.calls {
            // Names are those of calls that fit a u16; others have none.
            let name = u16::try_from(number).map_or_else(|_| "another".to_owned(), |n| Crossing::Call(n).name());
            let instructions = mean(call.phases.total().instructions, call.count);
            let _ = write!(out, "{name:<20}{:>7}{instructions:>9}", grouped(call.count));
            for (_, width, phase) in COLUMNS {
                let _ = write!(out, "{:>width$}", mean(call.phases[phase].instructions, call.count));
            }
            out.push('\n');
        }
    }
    out
}

fn line(out: &mut String, text: std::fmt::Arguments<'_>) {
    let text = text.to_string();
    out.push_str(text.trim_end());
    out.push('\n');
}

fn per_cent(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 * 100.0 }
}

/// At least one mark for what is not nothing.
fn bar(per_cent: f64) -> String {
    let marks = (per_cent / PER_CENT_PER_MARK).round() as usize;
    "#".repeat(if per_cent > 0.0 { marks.max(1) } else { 0 })
}

/// A mean without decimals where it is a whole number, so that an exact figure looks exact.
fn mean(sum: u64, count: u64) -> String {
    match count {
        0 => "-".to_owned(),
        _ if sum % count == 0 => grouped(sum / count),
        _ => format!("{:.2}", sum as f64 / count as f64),
    }
}

/// A number with its thousands set apart.
#[must_use]
pub fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A share in words: the nearest fraction that people say.
fn fraction(part: u64, whole: u64) -> &'static str {
    const WORDS: [(f64, &str); 13] = [
        (0.0, "None"),
        (0.05, "A twentieth"),
        (0.1, "A tenth"),
        (0.2, "A fifth"),
        (0.25, "A quarter"),
        (1.0 / 3.0, "A third"),
        (0.4, "Two fifths"),
        (0.5, "Half"),
        (0.6, "Three fifths"),
        (2.0 / 3.0, "Two thirds"),
        (0.75, "Three quarters"),
        (0.8, "Four fifths"),
        (0.9, "Nine tenths"),
    ];
    if whole == 0 || part == 0 {
        return "None";
    }
    let share = part as f64 / whole as f64;
    if share > 0.95 {
        return "Nearly all";
    }
    let nearest = WORDS[1..].iter().min_by(|a, b| (a.0 - share).abs().total_cmp(&(b.0 - share).abs()));
    nearest.map_or("None", |(_, words)| words)
}

/// Breaks a paragraph at 80 columns.
#[must_use]
pub fn wrapped(text: &str) -> String {
    let mut out = String::new();
    let mut column = 0;
    for word in text.split_whitespace() {
        let width = word.chars().count();
        if column > 0 && column + 1 + width > 80 {
            out.push('\n');
            column = 0;
        } else if column > 0 {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += width;
    }
    out.push('\n');
    out
}
