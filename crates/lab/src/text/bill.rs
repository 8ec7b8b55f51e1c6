//! The bills of one kernel.

use std::fmt::Write;

use super::words::{bar, fraction, grouped, line, mean, per_cent, wrapped};
use crate::bill::TrapBill;
use crate::call::Crossing;
use crate::phase::Phase;

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

/// The first crossing against the loop, one line for each bill.
fn spreads(bills: &[TrapBill]) -> String {
    let count = bills.first().map_or(0, |bill| bill.spread.count);
    let title = format!("instructions; {} in a loop", grouped(count));
    let mut out =
        format!("{title:<34}{:>6}{:>10}{:>10}{:>10}{:>9}\n", "result", "single", "min", "mean", "max");
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
    let title = format!(
        "{}, {}, kernel {}",
        experiment.crossing.name(),
        experiment.design.isa,
        experiment.design.name
    );
    let total = format!("{} instructions", mean(all.total().instructions, count));
    let mut out = format!("{title:<50}{total:>29}\n");
    let _ =
        writeln!(out, "  {:<17}{:>8}{:>7}{:>8}{:>8}{:>9}", "", "instr", "share", "loads", "stores", "bytes");
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
    let mut text = match registers {
        0 => format!("None of the kernel's {} instructions save or restore registers", each(kernel)),
        _ => format!(
            "{} of the kernel's {} instructions save and restore registers ({})",
            fraction(registers, kernel),
            each(kernel),
            each(registers)
        ),
    };
    let stacked = all[Phase::HardwareTrap].bytes_stored;
    if stacked > 0 {
        let _ = write!(text, ", the hardware stores {} bytes of them and loads them again", each(stacked));
    }
    text.push_str("; ");
    match bill.experiment.crossing {
        Crossing::Yield | Crossing::Timer => {
            let _ = write!(text, "dispatch takes {}", each(dispatch));
            for (what, phase) in [
                ("choosing the task", Phase::Schedule),
                ("changing the address space", Phase::Space),
                ("firmware for the timer", Phase::Firmware),
            ] {
                let n = all[phase].instructions;
                if n > 0 {
                    let _ = write!(text, ", {what} {}", each(n));
                }
            }
            text.push('.');
        }
        crossing => {
            let call = matches!(crossing, Crossing::Call(_));
            let what = if call { "the system call itself" } else { "the handler itself" };
            let _ = write!(text, "dispatch takes {} and {what} {}.", each(dispatch), each(handler));
            let verdict = match (registers, dispatch, handler) {
                (r, d, h) if r > d + h => Some("moving registers, not system-call logic"),
                (r, d, h) if h > r + d => Some("the call's own work, not the crossing"),
                (r, d, h) if d > r + h => Some("dispatch"),
                _ => None,
            };
            if let Some(verdict) = verdict {
                let _ = write!(text, " The overhead is mostly {verdict}.");
            }
        }
    }
    wrapped(&text)
}
