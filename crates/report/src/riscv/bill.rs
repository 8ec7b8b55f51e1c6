//! The bills of one kernel in instructions: the spread of each, the phases of all, and the first one in full.

use super::words::{
    PHASES, bar, crossing, instructions, kernel, names_functions, of_phase, or_dash, percent, share, trap,
};
use crate::sheet::{Column, Sheet, Table, painted, prose};
use crate::style::{Paint, Style};
use crate::text::clean;
use crate::words;
use tollgate_record::number::{count, mean};
use tollgate_record::{Measurement, counter, phase};

/// The spread of each, the phases of all, the first one in full (of a real kernel every one), and the answer.
pub(super) fn view(bills: &[&Measurement], style: &Style) -> Sheet {
    let Some(first) = bills.first() else { return Sheet::new() };
    let mut text = spreads(bills, style);
    text.blank();
    if first.phases.is_empty() {
        return text;
    }
    if bills.len() > 1 {
        text.extend(matrix(bills, style));
        text.blank();
    }
    // Those of a real kernel have phases of their own.
    let shown = if bills.iter().any(|it| names_functions(it)) { bills } else { &bills[..1] };
    for (n, it) in shown.iter().enumerate() {
        if n > 0 {
            text.blank();
        }
        text.extend(bill(it, style));
        text.blank();
        text.extend(prose(answer(it, style), ""));
    }
    text
}

/// The first crossing against the loop, one line for each bill.
fn spreads(bills: &[&Measurement], style: &Style) -> Sheet {
    let crossings = bills.first().map_or(0, |bill| bill.crossings);
    let mut table = Table::new([
        Column::left(format!("instructions; {} in a loop", count(crossings))).least(20),
        Column::right("result").rank(1),
        Column::right("single").rank(2),
        Column::right("min").rank(4),
        Column::right("mean"),
        Column::right("max").rank(3),
    ]);
    for bill in bills {
        let counter = |name| or_dash(bill.counter(name));
        let result = bill.found.trap().and_then(|found| found.result);
        table.row([
            crossing(bill, style),
            result.map(|result| result.to_string()).unwrap_or_default(),
            counter(counter::INSTRUCTIONS_SINGLE),
            counter(counter::INSTRUCTIONS_MIN),
            counter(counter::INSTRUCTIONS),
            counter(counter::INSTRUCTIONS_MAX),
        ]);
    }
    table.into()
}

/// The phases of several bills side by side, in instructions.
fn matrix(bills: &[&Measurement], style: &Style) -> Sheet {
    let figures = PHASES.iter().map(|(head, rank, _)| Column::right(*head).rank(*rank));
    // The phases of a real kernel that few crossings have.
    let more = |bill: &Measurement| {
        total(bill) - PHASES.iter().map(|(_, _, phase)| instructions(bill, *phase)).sum::<f64>()
    };
    let has_more = bills.iter().any(|bill| more(bill) > 0.0);
    let rest = has_more.then(|| Column::right("more").rank(2));
    let mut table = Table::new([Column::left("phases").least(16)].into_iter().chain(figures).chain(rest));
    for bill in bills.iter().filter(|bill| !bill.phases.is_empty()) {
        let figures = PHASES.iter().map(|(_, _, phase)| mean(instructions(bill, *phase)));
        let rest = has_more.then(|| mean(more(bill)));
        table.row([crossing(bill, style)].into_iter().chain(figures).chain(rest));
    }
    table.into()
}

/// One bill by phase, with a bar for each share.
fn bill(bill: &Measurement, style: &Style) -> Sheet {
    let total = total(bill);
    let crossing = crossing(bill, style);
    // The ISA string of a whole machine is longer than a line.
    let isa =
        if names_functions(bill) { String::new() } else { format!("{}, ", clean(&trap(bill).isa, style)) };
    let noun = if total == 1.0 { "instruction" } else { "instructions" };
    let kernel = clean(kernel(bill), style);
    let title = format!("{crossing}, {isa}kernel {kernel}: {} {noun}", mean(total));
    let mut text = painted(Paint::Bold, &title);
    // Those that the record has for a phase: of a real kernel none.
    let counted = [("loads", "loads", 2), ("stores", "stores", 3), ("bytes", "bytes-stored", 4)]
        .into_iter()
        .filter(|(_, what, _)| bill.phases.iter().any(|it| of_phase(bill, &it.name, what).is_some()));
    let (heads, counted): (Vec<_>, Vec<_>) =
        counted.map(|(head, what, rank)| (Column::right(head).rank(rank), what)).unzip();
    let first = [Column::left("").least(18), Column::right("instr"), Column::right("share")];
    let last = [Column::left("").least(8).rank(1)];
    let mut table = Table::new(first.into_iter().chain(heads).chain(last));
    let mut sums = vec![0.0; counted.len()];
    for it in &bill.phases {
        let instructions = it.instructions.unwrap_or(0.0);
        let share = share(instructions, total);
        let counts = counted.iter().map(|what| of_phase(bill, &it.name, what));
        sums.iter_mut().zip(counts.clone()).for_each(|(sum, count)| *sum += count.unwrap_or(f64::NAN));
        // The hardware's part takes no instruction; what there is to report is how often it was done.
        let remark = match of_phase(bill, &it.name, "traps").unwrap_or(0.0) {
            0.0 => bar(share),
            1.0 => "1 trap".into(),
            n => format!("{} traps", mean(n)),
        };
        let name = format!("  {}", words::phase(&it.name, style));
        table.row(
            [name, mean(instructions), percent(share)].into_iter().chain(counts.map(or_dash)).chain([remark]),
        );
    }
    table.row(["  total".into(), mean(total), percent(1.0)].into_iter().chain(sums.into_iter().map(mean)));
    text.extend(Sheet::from(table));
    text
}

fn total(bill: &Measurement) -> f64 {
    bill.phases.iter().filter_map(|phase| phase.instructions).sum()
}

/// The answer to the question: is it the registers, the dispatch or the call itself?
fn answer(bill: &Measurement, style: &Style) -> String {
    let of = |phase| instructions(bill, phase);
    let kernel = total(bill) - of(phase::USER_STUB);
    let registers = of(phase::REGISTER_SAVE) + of(phase::REGISTER_RESTORE);
    let (handler, dispatch) = (of(phase::HANDLER), of(phase::DISPATCH));
    let of_kernel = format!("of the kernel's {} instructions", mean(kernel));
    let mut text = if registers == 0.0 {
        format!("None {of_kernel} save or restore registers")
    } else {
        let fraction = fraction(registers, kernel);
        format!("{fraction} {of_kernel} save and restore registers ({})", mean(registers))
    };
    let stacked = of_phase(bill, phase::HARDWARE_TRAP.name, "bytes-stored").unwrap_or(0.0);
    if stacked > 0.0 {
        text += &format!(", the hardware stores {} bytes of them and loads them again", mean(stacked));
    }
    text += &format!("; dispatch takes {}", mean(dispatch));
    let crossing = crossing(bill, style);
    let parts = [
        ("finding the page", phase::PAGE),
        ("entering it", phase::PAGE_TABLE),
        ("the wake-up", phase::WAKE_UP),
        ("choosing the task", phase::SCHEDULE),
        ("changing to it", phase::TASK_SWITCH),
        ("changing the address space", phase::ADDRESS_SPACE),
        ("firmware for the timer", phase::FIRMWARE),
        ("the signal's frame", phase::SIGNAL_FRAME),
    ];
    for (what, n) in parts.map(|(what, phase)| (what, of(phase))).iter().filter(|(_, n)| *n > 0.0) {
        text += &format!(", {what} {}", mean(*n));
    }
    if matches!(crossing.as_str(), "yield" | "timer") {
        return text + ".";
    }
    let what = if trap(bill).call.is_some() { "system call" } else { "handler" };
    text += &format!(" and the {what} itself {}.", mean(handler));
    let verdict = match (registers, dispatch, handler) {
        _ if parts.iter().any(|(_, phase)| of(*phase) > 0.0) => return text,
        (r, d, h) if r > d + h => "moving registers, not system-call logic",
        (r, d, h) if h > r + d => "the call's own work, not the crossing",
        (r, d, h) if d > r + h => "dispatch",
        _ => return text,
    };
    text + &format!(" The overhead is mostly {verdict}.")
}

/// A share in words: the nearest fraction that people use.
fn fraction(part: f64, whole: f64) -> &'static str {
    const WORDS: [(f64, &str); 12] = [
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
    let share = share(part, whole);
    if share <= 0.0 || !share.is_finite() {
        return "None";
    }
    if share > 0.95 {
        return "Nearly all";
    }
    let nearest = WORDS.iter().min_by(|a, b| (a.0 - share).abs().total_cmp(&(b.0 - share).abs()));
    nearest.map_or("None", |(_, words)| words)
}

#[cfg(test)]
mod tests {
    use super::fraction;

    #[test]
    fn shares_are_named_by_the_nearest_fraction() {
        assert_eq!(fraction(2.0, 3.0), "Two thirds");
        assert_eq!(fraction(86.0, 134.0), "Two thirds");
        assert_eq!(fraction(72.0, 95.0), "Three quarters");
        assert_eq!(fraction(0.0, 7.0), "None");
        assert_eq!(fraction(7.0, 0.0), "None");
        assert_eq!(fraction(99.0, 100.0), "Nearly all");
    }
}
