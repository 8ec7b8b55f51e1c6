//! The plot: a switch and its refill over the footprint, with the caches marked.

use super::cell::RingCell;
use crate::style::{Paint, Style};
use crate::text::wrap;
use tollgate_record::host::Cache;
use tollgate_record::number::{fit, size};

/// Rows of the plot's field.
const ROWS: usize = 12;
/// Columns of the scale at its left.
const SCALE: usize = 9;
/// What stands for each number of tasks, in the order of their first cells.
const SIGNS: [char; 8] = ['o', 'x', '+', '*', '#', '@', '%', '&'];

struct Dot {
    x: f64,
    y: f64,
    sign: char,
}

/// Both scales are logarithmic. Nothing is drawn for fewer than three footprints.
pub(crate) fn plot(cells: &[RingCell], caches: &[Cache], style: &Style) -> Vec<String> {
    let mut procs: Vec<f64> = Vec::new();
    let mut dots: Vec<Dot> = Vec::new();
    for cell in cells {
        let Some(y) = cell.switch().filter(|ns| ns.is_finite() && *ns > 0.0) else { continue };
        let x = cell.footprint();
        if !x.is_finite() || x < 1.0 {
            continue;
        }
        let at = procs.iter().position(|there| *there == cell.procs).unwrap_or_else(|| {
            procs.push(cell.procs);
            procs.len() - 1
        });
        dots.push(Dot { x: x.ln(), y: y.ln(), sign: SIGNS[at % SIGNS.len()] });
    }
    let (Some([left, right]), Some([low, high])) =
        (range(dots.iter().map(|dot| dot.x)), range(dots.iter().map(|dot| dot.y)))
    else {
        return Vec::new();
    };
    if dots.len() < 3 || right - left < 0.5 {
        return Vec::new();
    }
    // A flat line is drawn as one, not blown up to the height of the field.
    let (low, high) =
        if high - low < 0.7 { ((low + high) / 2.0 - 0.35, (low + high) / 2.0 + 0.35) } else { (low, high) };
    let width = style.columns().min(100) - SCALE - 3;
    let column = |x: f64| ((x - left) / (right - left) * (width - 1) as f64).round() as usize;
    let row = |y: f64| ROWS - 1 - ((y - low) / (high - low) * (ROWS - 1) as f64).round() as usize;
    let mut field = vec![vec![' '; width]; ROWS];
    let mut names = vec![' '; width];
    let line = style.pick("┊", ":").chars().next().unwrap_or(':');
    for cache in caches.iter().filter(|cache| cache.kind != "Instruction") {
        let x = (cache.bytes as f64).ln();
        if !(left..=right).contains(&x) {
            continue;
        }
        field.iter_mut().for_each(|cells| cells[column(x)] = line);
        for (at, letter) in format!("L{}", cache.level.min(9)).chars().enumerate() {
            if let Some(place) = names.get_mut(column(x) + at) {
                *place = letter;
            }
        }
    }
    for dot in &dots {
        field[row(dot.y)][column(dot.x)] = dot.sign;
    }
    let legend: Vec<String> = procs
        .iter()
        .zip(SIGNS.iter().cycle())
        .take(SIGNS.len())
        .map(|(procs, sign)| format!("{sign} {}", size(*procs)))
        .collect();
    let mut lines = vec![
        String::new(),
        format!("{:SCALE$}   {}", "", names.into_iter().collect::<String>()).trim_end().to_owned(),
    ];
    let title = "Switch and refill (total less hot work), ns, over the footprint N x S";
    for (at, title) in wrap(title, style.columns(), "").iter().enumerate() {
        lines.insert(1 + at, style.paint(Paint::Bold, title));
    }
    let bar = style.pick("│", "|");
    for (at, cells) in field.into_iter().enumerate() {
        let label = match at {
            0 => fit(high.exp(), SCALE - 1),
            at if at == ROWS - 1 => fit(low.exp(), SCALE - 1),
            at if at == ROWS / 2 => {
                fit(((high - low) * (ROWS - 1 - at) as f64 / (ROWS - 1) as f64 + low).exp(), SCALE - 1)
            }
            _ => String::new(),
        };
        let text: String = cells.into_iter().collect();
        lines.push(format!("{label:>SCALE$} {bar} {text}").trim_end().to_owned());
    }
    let corner = style.pick("└", "+");
    lines.push(format!("{:SCALE$} {corner}{}", "", style.pick("─", "-").repeat(width + 1)));
    let (first, last) = (size(left.exp().round()), size(right.exp().round()));
    let gap = width.saturating_sub(first.len() + last.len());
    lines.push(format!("{:SCALE$}   {first}{}{last}", "", " ".repeat(gap)));
    lines.extend(wrap(&legend.join("  "), style.columns(), &format!("{:SCALE$}   tasks: ", "")));
    lines
}

/// Smallest and largest.
fn range(values: impl Iterator<Item = f64>) -> Option<[f64; 2]> {
    values.fold(None, |range, value| {
        let [low, high] = range.unwrap_or([value, value]);
        Some([low.min(value), high.max(value)])
    })
}
