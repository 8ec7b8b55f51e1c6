//! The hardware alone, as a bare guest saw it: a block for each engine, and in it the rows with their parts.

use super::title;
use crate::number::{fit, percent};
use crate::style::{Paint, Style};
use crate::text::{clean, cut, left, right, width, wrap};
use tollgate_record::{Measurement, Phase, Status};

/// The warning of figures that software made.
const EMULATED: &str = "emulated";
/// The warning of figures in which the hypervisor took part.
const INTERCEPTED: &str = "intercepted";
const NAME: usize = 16;
/// Where the parts begin.
const PARTS: usize = 2 + NAME + 17 + 8 + 2;

pub(super) fn table(results: &[&Measurement], style: &Style) -> Vec<String> {
    let measured: Vec<&Measurement> =
        results.iter().copied().filter(|it| it.status == Status::Measured).collect();
    let mut text = title("The hardware alone, in a bare guest (docs/hardware.md)", style);
    if measured.is_empty() {
        let why = results.first().and_then(|it| it.reason.as_deref());
        let why = why.map_or("No bare guest was run.".into(), |why| clean(why, style));
        text.extend(wrap(&why, style.prose(), "  "));
        return text;
    }
    let mut engines: Vec<&str> = Vec::new();
    for result in &measured {
        if !engines.contains(&result.engine.as_str()) {
            engines.push(&result.engine);
        }
    }
    for engine in engines {
        let rows: Vec<&Measurement> = measured.iter().copied().filter(|it| it.engine == engine).collect();
        text.extend(heading(engine, &rows, style));
        for row in rows {
            let paint = if row.has_warning(EMULATED) { Paint::Dim } else { Paint::Plain };
            text.extend(row_lines(row, style).iter().map(|line| style.paint(paint, line)));
        }
    }
    text
}

/// The engine's name, and why its figures are not the hardware's where they are not.
fn heading(engine: &str, rows: &[&Measurement], style: &Style) -> Vec<String> {
    let counts = rows.iter().all(|row| row.ns.is_none());
    let columns = if counts { "instructions" } else { "ns   cycles" };
    let why = rows.iter().flat_map(|row| &row.warnings).find(|warning| warning.code == EMULATED);
    let mut text =
        vec![format!("  {}{}", left(&cut(&clean(engine, style), 18, style), 18), right(columns, 15))];
    if let Some(why) = why {
        text.extend(wrap(&format!("emulated: {}", clean(&why.text, style)), style.prose(), "  "));
    }
    text
}

fn row_lines(row: &Measurement, style: &Style) -> Vec<String> {
    let name = row.probe.strip_prefix("hardware/").unwrap_or(&row.probe);
    let name = left(&cut(&clean(name, style), NAME, style), NAME);
    let head = match (&row.ns, row.counters.get("instructions")) {
        (None, Some(&count)) => right(&instructions(count), 17),
        (ns, _) => {
            let ns = ns.map_or("-".into(), |it| fit(it.estimate, 8));
            let cycles = row.cycles.map_or("-".into(), |it| fit(it.estimate, 8));
            format!("{} {}", right(&ns, 8), right(&cycles, 8))
        }
    };
    let half = row.ns.map_or(String::new(), |it| percent(it.relative_half_width()));
    let mark = row.has_warning(INTERCEPTED).then(|| "intercepted".to_owned());
    let pieces = mark.into_iter().chain(parts(row, style)).collect();
    let mut text = Vec::new();
    for (number, told) in packed(pieces, style.columns().saturating_sub(PARTS)).into_iter().enumerate() {
        let before =
            if number == 0 { format!("  {name}{head}{}  ", right(&half, 8)) } else { " ".repeat(PARTS) };
        text.push(
            format!("{before}{}", cut(&told, style.columns().saturating_sub(PARTS), style))
                .trim_end()
                .to_owned(),
        );
    }
    text
}

/// Pieces in lines of at most `columns`, where they fit; at least one line.
fn packed(pieces: Vec<String>, columns: usize) -> Vec<String> {
    let mut all = vec![String::new()];
    for piece in pieces {
        if let Some(last) = all.last_mut() {
            let sign = if last.is_empty() { "" } else { ", " };
            if last.is_empty() || width(last) + 2 + width(&piece) < columns {
                last.push_str(sign);
                last.push_str(&piece);
                continue;
            }
            last.push(',');
        }
        all.push(piece);
    }
    all
}

/// The parts with their figures in the unit of the row: `entry 120`; without the rest that is in none.
fn parts(row: &Measurement, style: &Style) -> Vec<String> {
    let figure = |part: &Phase| match (part.ns, part.instructions) {
        (Some(ns), _) => Some(fit(ns.estimate, 8)),
        (None, count) => count.map(instructions),
    };
    row.phases
        .iter()
        .filter(|part| part.name != "unattributed")
        .filter_map(|part| Some(format!("{} {}", clean(&part.name, style), figure(part)?)))
        .collect()
}

/// A whole number as one.
fn instructions(count: f64) -> String {
    if count.fract() == 0.0 && count.abs() < 1e6 { format!("{count:.0}") } else { fit(count, 8) }
}

#[cfg(test)]
mod tests {
    use super::table;
    use crate::Style;
    use tollgate_record::{Estimate, Evidence, Measurement, Per, Phase, Status, Warning};

    const PLAIN: Style = Style { width: 80, color: false, unicode: false };

    fn estimate(value: f64) -> Estimate {
        let ci = [value * 0.99, value * 1.01];
        Estimate {
            estimate: value,
            ci,
            min: value,
            p10: value,
            p50: value,
            p90: value,
            p99: value,
            mean: value,
        }
    }

    fn row(engine: &str, emulated: bool) -> Measurement {
        let mut row = Measurement::empty("hardware/page-fault", engine, Per::Trap, Status::Measured);
        row.ns = Some(estimate(420.0));
        row.cycles = Some(estimate(1260.0));
        for (name, ns) in [("entry", 300.0), ("handler", 1.0), ("return", 110.0), ("unattributed", 9.0)] {
            let mut part = Phase::new(name, Evidence::Guest);
            part.ns = Some(estimate(ns));
            row.phases.push(part);
        }
        if emulated {
            row.warnings.push(Warning::new("emulated", "ring 0 of the guest is emulated"));
        }
        row
    }

    #[test]
    fn each_engine_is_a_block_and_says_when_it_is_emulated() {
        let (real, soft) = (row("kvm-intel", false), row("qemu-tcg", true));
        let text = table(&[&real, &soft], &PLAIN);
        let at = |part: &str| text.iter().position(|line| line.contains(part)).unwrap_or(usize::MAX);
        assert!(at("kvm-intel") < at("qemu-tcg") && at("qemu-tcg") < at("emulated: ring 0"), "{text:#?}");
        assert_eq!(text.iter().filter(|line| line.contains("emulated")).count(), 1, "{text:#?}");
        let line = &text[at("page-fault")];
        assert!(line.contains("420") && line.contains("1,260") && line.contains("1.0 %"), "{line}");
        assert!(line.contains("entry 300, handler 1.0, return 110"), "{line}");
        assert!(text.iter().all(|line| line.len() <= 80), "{text:#?}");
    }

    #[test]
    fn a_count_of_instructions_is_no_time() {
        let mut counted = row("qemu-tcg-icount", true);
        (counted.ns, counted.cycles) = (None, None);
        counted.counters.insert("instructions".into(), 4.0);
        for (part, count) in counted.phases.iter_mut().zip([0.0, 2.0, 2.0, 0.0]) {
            (part.ns, part.instructions) = (None, Some(count));
        }
        let text = table(&[&counted], &PLAIN).join("\n");
        assert!(text.contains("instructions") && !text.contains(" ns"), "{text}");
        assert!(text.contains("handler 2, return 2"), "{text}");
    }

    #[test]
    fn what_the_hypervisor_intercepted_is_marked() {
        let mut intercepted = row("kvm-amd", false);
        intercepted.warnings.push(Warning::new("intercepted", "the hypervisor intercepts it"));
        assert!(table(&[&intercepted], &PLAIN).join("\n").contains("intercepted, entry"));
        assert!(table(&[], &PLAIN).join("\n").contains("No bare guest was run."));
    }
}
