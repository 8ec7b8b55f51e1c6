//! A program inside of a kernel: its bill, what it crossed, where its instructions went.

use super::words::{CAUSES, percent, share, warnings};
use crate::sheet::{Column, Sheet, Table, prose, title};
use crate::style::Style;
use crate::text::clean;
use tollgate_record::family::{FunctionFound, GuestCrossing, GuestExec, ProgramFound};
use tollgate_record::number::count;
use tollgate_record::{CauseName, Measurement, Run, counter, warning};

/// Functions that have a line of their own, unless the run says how many.
const SHOWN: usize = 20;
/// Crossings and places that have a line.
const CROSSINGS: usize = 15;
const SITES: usize = 10;

pub(super) fn view(run: &Run, style: &Style) -> Sheet {
    let mut text = Sheet::new();
    for result in &run.results {
        let Some((found, exec)) =
            result.found.program().and_then(|found| Some((found, found.exec.as_ref()?)))
        else {
            continue;
        };
        text.extend(summary(result, exec, style));
        text.extend(bill(result, style));
        text.extend(harts(result, style));
        text.extend(layouts(result, style));
        text.extend(crossings(result, exec, style));
        text.extend(functions(result, found, style));
        text.extend(sites(result, exec, style));
    }
    text.extend(warnings(run, style, &[warning::STOPPED]));
    text
}

/// Whether the figures are cycles.
fn timed(result: &Measurement) -> bool {
    result.cycles.is_some()
}

/// The unit of the figures.
fn unit(result: &Measurement) -> &'static str {
    if timed(result) { "cycles" } else { "instructions" }
}

/// How a program ended, in a few words.
pub(crate) fn ended(exec: &GuestExec) -> String {
    match (exec.status, exec.signal, &exec.stopped) {
        (Some(status), ..) => format!("exit status {status}"),
        (_, Some(signal), _) => format!("killed by signal {signal}"),
        (.., Some(why)) => why.clone(),
        _ => "no end".into(),
    }
}

fn summary(result: &Measurement, exec: &GuestExec, style: &Style) -> Sheet {
    let asked = result.asked.program();
    let words = asked.map(|asked| asked.command.join(" ")).unwrap_or_default();
    let mut text = title(clean(&words, style));
    let place = match &exec.kernel {
        Some(kernel) => format!("inside of {kernel}"),
        None => "without a kernel: the host answered its system calls".into(),
    };
    let mut parts = vec![ended(exec), place];
    parts.extend(asked.map(|asked| format!("on {}", asked.machine)).filter(|it| it.ends_with("harts")));
    let instructions = result.counter(counter::INSTRUCTIONS).unwrap_or_default();
    parts.push(format!("{} instructions", count(instructions as u64)));
    if let (Some(core), Some(cycles)) =
        (asked.and_then(|asked| asked.core.as_deref()), result.counter(counter::CYCLES))
    {
        let cpi = share(cycles, instructions);
        parts.push(format!("{} cycles on {core} ({cpi:.2} for each)", count(cycles as u64)));
    }
    text.extend(prose(clean(&format!("{}; simulated and exact.", parts.join(", ")), style), ""));
    text
}

/// What the parts of the bill are.
pub(super) fn part(name: &str) -> &str {
    match name {
        "program-start" => "start (execve)",
        "loader" => "loader",
        "own-code" => "own code",
        "entry-code" => "entry and saving",
        "dispatch" => "dispatch",
        "kernel-work" => "work for system calls",
        "fault-work" => "work for page faults",
        "switches" => "switches of tasks",
        "exit-code" => "restoring and return",
        "program-end" => "end (exit)",
        other => other,
    }
}

#[expect(clippy::type_complexity, reason = "a line sums one of several figures over one phase or all")]
fn bill(result: &Measurement, style: &Style) -> Sheet {
    let timed = timed(result);
    let mut columns = vec![Column::left("").least(20), Column::right("instructions")];
    if timed {
        columns.extend([Column::right("cycles"), Column::right("CPI").rank(1)]);
    }
    let causes: Vec<(CauseName, &str)> = CAUSES
        .into_iter()
        .filter(|(cause, _)| timed && result.phases.iter().any(|phase| phase.causes.contains_key(cause.name)))
        .collect();
    columns.push(Column::right("share"));
    let phases = result.phases.iter();
    columns
        .extend(cause_columns(&causes, |cause| phases.clone().filter_map(|it| it.causes.get(cause)).sum()));
    let mut table = Table::new(columns).indent(2);
    let whole = |of: &dyn Fn(&tollgate_record::Phase) -> f64| result.phases.iter().map(of).sum::<f64>();
    let instructions = |phase: &tollgate_record::Phase| phase.instructions.unwrap_or(0.0);
    let cycles = |phase: &tollgate_record::Phase| phase.cycles.map_or(0.0, |cycles| cycles.estimate);
    let size = |phase: &tollgate_record::Phase| if timed { cycles(phase) } else { instructions(phase) };
    let total = whole(&size);
    let mut line = |name: String, of: &dyn Fn(&dyn Fn(&tollgate_record::Phase) -> f64) -> f64| {
        let mut cells = vec![name, count(of(&instructions) as u64)];
        if timed {
            let (cycles, instructions) = (of(&cycles), of(&instructions));
            let cpi = if instructions > 0.0 { format!("{:.2}", cycles / instructions) } else { "-".into() };
            cells.extend([count(cycles as u64), cpi]);
        }
        cells.push(percent(share(of(&size), total)));
        cells.extend(causes.iter().map(|(cause, _)| {
            count(of(&|phase: &tollgate_record::Phase| phase.causes.get(cause.name).copied().unwrap_or(0.0))
                as u64)
        }));
        table.row(cells);
    };
    for phase in &result.phases {
        line(part(&phase.name).to_owned(), &|of| of(phase));
    }
    line("total".into(), &|of| whole(of));
    let mut text = title("The bill");
    text.extend(Sheet::from(table));
    let apart = apart(result);
    if !apart.is_empty() {
        text.extend(prose(clean(&apart, style), "  "));
    }
    text
}

/// The columns of causes; in a narrow terminal the largest ones stay.
fn cause_columns<'a>(
    causes: &'a [(CauseName, &str)],
    size: impl Fn(&str) -> f64,
) -> impl Iterator<Item = Column> + 'a {
    let sizes: Vec<f64> = causes.iter().map(|(cause, _)| size(cause.name)).collect();
    causes.iter().enumerate().map(move |(at, (_, head))| {
        let larger = |&(other, size): &(usize, &f64)| (*size, at) > (sizes[at], other);
        Column::right(*head).rank(2 + sizes.iter().enumerate().filter(larger).count())
    })
}

/// What is not in the bill.
fn apart(result: &Measurement) -> String {
    let of = |name: &str| result.counters.get(&counter::APART.part(name)).copied().unwrap_or(0.0) as u64;
    let unit = unit(result);
    let interrupts = of("interrupts/count");
    let (ticks, others) = (of(&format!("interrupts/{unit}")), of(&format!("other-tasks/{unit}")));
    if interrupts == 0 && others == 0 {
        return String::new();
    }
    let plural = if interrupts == 1 { "" } else { "s" };
    format!(
        "Apart: {} interrupt{plural} took {} {unit}; other tasks {}.",
        count(interrupts),
        count(ticks),
        count(others)
    )
}

/// Each hart's share, if there are several.
fn harts(result: &Measurement, style: &Style) -> Sheet {
    let of = |hart: usize, unit: &str| {
        result.counters.get(&counter::HART.part(&format!("{hart}/{unit}"))).copied()
    };
    let shares: Vec<(f64, Option<f64>)> =
        (0..).map_while(|hart| Some((of(hart, "instructions")?, of(hart, "cycles")))).collect();
    if shares.is_empty() {
        return Sheet::new();
    }
    let timed = timed(result);
    let mut columns = vec![Column::left("hart"), Column::right("instructions"), Column::right("share")];
    if timed {
        columns.extend([Column::right("cycles"), Column::right("CPI")]);
    }
    let mut table = Table::new(columns).indent(2);
    let total: f64 = shares.iter().map(|share| share.0).sum();
    for (hart, (instructions, cycles)) in shares.into_iter().enumerate() {
        let mut cells =
            vec![hart.to_string(), count(instructions as u64), percent(share(instructions, total))];
        if let Some(cycles) = cycles {
            let cpi = if instructions > 0.0 { format!("{:.2}", cycles / instructions) } else { "-".into() };
            cells.extend([count(cycles as u64), cpi]);
        }
        table.row(cells);
    }
    let mut text = title("Its harts");
    text.extend(Sheet::from(table));
    if timed {
        let note = "Each hart is a core with caches of its own; a line that another hart has written costs nothing more.";
        text.extend(prose(clean(note, style), "  "));
    }
    text
}

/// How much of the total depends on the layout of memory.
fn layouts(result: &Measurement, style: &Style) -> Sheet {
    let Some(series) = result.series.iter().find(|series| series.name == "layouts") else {
        return Sheet::new();
    };
    let mut all: Vec<f64> = series.points.iter().map(|point| point[1]).collect();
    all.sort_by(f64::total_cmp);
    let (Some(least), Some(most), Some(median)) = (all.first(), all.last(), all.get(all.len() / 2)) else {
        return Sheet::new();
    };
    let text = format!(
        "Over {} layouts: median {}, from {} to {} {} ({:.3} %). Smaller differences may be layout.",
        all.len(),
        count(*median as u64),
        count(*least as u64),
        count(*most as u64),
        series.y_unit,
        100.0 * share(most - least, *median)
    );
    prose(clean(&text, style), "  ")
}

/// The figures of a column: all with a decimal if one of them needs it.
fn alike(figures: impl Iterator<Item = f64> + Clone) -> Vec<String> {
    let decimals = usize::from(figures.clone().any(|figure| figure.fract() != 0.0));
    figures.map(|figure| count(format!("{figure:.decimals$}"))).collect()
}

/// The steps of a crossing that are toll.
const TOLL: [&str; 3] = ["entry", "dispatch", "exit"];

/// Instructions or cycles of some steps.
pub(crate) fn steps(crossing: &GuestCrossing, timed: bool, fits: impl Fn(&str) -> bool) -> u64 {
    let of = if timed { &crossing.cycles } else { &crossing.instructions };
    of.iter().filter(|(step, _)| fits(step)).map(|(_, n)| n).sum()
}

fn crossings(result: &Measurement, exec: &GuestExec, style: &Style) -> Sheet {
    let timed = timed(result);
    let all = |crossing: &GuestCrossing| steps(crossing, timed, |_| true);
    let mut own: Vec<&GuestCrossing> = exec.crossings.iter().filter(|it| it.stage == "program").collect();
    if own.is_empty() {
        return Sheet::new();
    }
    own.sort_by_key(|crossing| (std::cmp::Reverse(all(crossing)), crossing.name.clone()));
    let alone = exec.kernel.is_none();
    let mut columns = vec![Column::left("").least(18), Column::right("count")];
    if !alone {
        columns.extend([
            Column::right("toll\neach").rank(1),
            Column::right("work\neach").rank(2),
            Column::right(if timed { "cycles" } else { "instructions" }),
            Column::right("share"),
        ]);
    }
    let mut table = Table::new(columns).indent(2);
    let total = result.counters.get(unit(result)).copied().unwrap_or_default();
    let shown = &own[..own.len().min(CROSSINGS)];
    let toll = |crossing: &GuestCrossing| steps(crossing, timed, |step| TOLL.contains(&step));
    let each = |crossing: &GuestCrossing, n: u64| n as f64 / crossing.count.max(1) as f64;
    let tolls = alike(shown.iter().map(|it| each(it, toll(it))));
    let works = alike(shown.iter().map(|it| each(it, all(it) - toll(it))));
    for ((crossing, toll), work) in shown.iter().zip(tolls).zip(works) {
        let mut cells = vec![clean(&crossing.name, style), count(crossing.count)];
        if !alone {
            // Interrupts are not part of the whole.
            let part = match crossing.kind.as_str() {
                "interrupt" => "apart".into(),
                _ => percent(share(all(crossing) as f64, total)),
            };
            cells.extend([toll, work, count(all(crossing)), part]);
        }
        table.row(cells);
    }
    let mut text = title("What it crossed");
    text.extend(Sheet::from(table));
    let more = own.len().saturating_sub(CROSSINGS);
    if more > 0 {
        text.extend(prose(format!("{more} more are in the record."), "  "));
    }
    let loaded: u64 = exec.crossings.iter().filter(|it| it.stage == "loader").map(|it| it.count).sum();
    if loaded > 0 {
        let plural = if loaded == 1 { "" } else { "s" };
        text.extend(prose(format!("The loader made {} crossing{plural} before.", count(loaded)), "  "));
    }
    text
}

fn functions(result: &Measurement, found: &ProgramFound, style: &Style) -> Sheet {
    let timed = timed(result);
    let top = result.asked.program().and_then(|asked| asked.top).map_or(SHOWN, |top| top as usize);
    let size = |function: &FunctionFound| match timed {
        true => function.causes.values().sum::<u64>(),
        false => function.instructions,
    };
    let total: u64 = found.functions.iter().map(size).sum();
    let causes: Vec<(CauseName, &str)> = CAUSES
        .into_iter()
        .filter(|(cause, _)| found.functions.iter().any(|it| it.causes.contains_key(cause.name)))
        .collect();
    let mut columns = vec![Column::left("function").most(44).least(30), Column::right("instructions")];
    if timed {
        columns.push(Column::right("cycles"));
    }
    columns.push(Column::right("share"));
    let functions = found.functions.iter();
    columns.extend(cause_columns(&causes, |cause| {
        functions.clone().filter_map(|it| it.causes.get(cause)).sum::<u64>() as f64
    }));
    let mut table = Table::new(columns).indent(2);
    let mut line = |name: String, of: &[FunctionFound]| {
        let mut cells = vec![name, count(of.iter().map(|it| it.instructions).sum::<u64>())];
        let sum: u64 = of.iter().map(size).sum();
        if timed {
            cells.push(count(sum));
        }
        cells.push(percent(share(sum as f64, total as f64)));
        let cause = |cause: &str| of.iter().filter_map(|it| it.causes.get(cause)).sum::<u64>();
        cells.extend(causes.iter().map(|(name, _)| count(cause(name.name))));
        table.row(cells);
    };
    let (shown, more) = found.functions.split_at(top.min(found.functions.len()));
    for function in shown {
        line(clean(&function.name, style), std::slice::from_ref(function));
    }
    if !more.is_empty() {
        line(format!("{} more", count(more.len())), more);
    }
    let mut text = title("Functions of the program, its libraries and the kernel");
    text.extend(Sheet::from(table));
    text
}

fn sites(result: &Measurement, exec: &GuestExec, style: &Style) -> Sheet {
    if exec.sites.is_empty() || exec.kernel.is_none() {
        return Sheet::new();
    }
    let mut table = Table::new([
        Column::left(""),
        Column::right("count"),
        Column::right(unit(result)),
        Column::left("in").most(40).least(20),
    ])
    .indent(2);
    // Those inside of other crossings belong to them.
    let own = exec.sites.iter().filter(|site| {
        site.callers.iter().all(|caller| !caller.starts_with("kernel:") && !caller.starts_with("init:"))
    });
    for site in own.take(SITES) {
        let callers = site.callers.join(" < ");
        table.row([
            clean(&site.crossing, style),
            count(site.count),
            count(site.cost),
            clean(&callers, style),
        ]);
    }
    let mut text = title("Where it crosses");
    text.extend(Sheet::from(table));
    text
}
