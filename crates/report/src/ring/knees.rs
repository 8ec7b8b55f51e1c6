//! What the fit found of each cache, and how well it predicts.

use crate::style::{Paint, Style};
use crate::text::{clean, cut, wrap};
use tollgate_record::number::{fit, percent, size};
use tollgate_record::{Measurement, Status};

pub(crate) fn list(rows: &[&Measurement], style: &Style) -> Vec<String> {
    if rows.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![String::new(), style.paint(Paint::Bold, "Knees: footprints at which refill begins")];
    for row in rows {
        let text = row
            .params
            .get("cache")
            .and_then(|name| name.as_str())
            .map_or("?".into(), |it| cut(&clean(it, style), 4, style));
        lines.extend(wrap(&found(row, style), style.prose(), &format!("  {text:<3} ")));
    }
    let number = |key: &str| rows[0].params.get(key).and_then(|value| value.as_f64());
    if let (Some(cells), Some(median), Some(worst)) =
        (number("left_out_cells"), number("left_out_median_error"), number("left_out_worst_error"))
    {
        let text = format!(
            "Each of {cells} cells predicted from the others: off by {} of its total in the median, {} at worst.",
            percent(median),
            percent(worst)
        );
        lines.extend(wrap(&text, style.prose(), "  "));
    }
    lines
}

fn found(row: &Measurement, style: &Style) -> String {
    let number = |key: &str| row.params.get(key).and_then(|value| value.as_f64()).unwrap_or(f64::NAN);
    let expected = size(number("expected_bytes"));
    if row.status != Status::Measured {
        let why = row.reason.as_deref().map_or("no reason given".into(), |why| clean(why, style));
        let known = row.params.contains_key("expected_bytes");
        return if known { format!("expected at {expected}; {why}") } else { why };
    }
    let bound = |at: usize| {
        let bounds = row.params.get("knee_interval").and_then(|value| value.as_array());
        size(bounds.and_then(|bounds| bounds.get(at)?.as_f64()).unwrap_or(f64::NAN))
    };
    let ns = row.ns.map_or("?".into(), |ns| {
        let half = (ns.ci[1] - ns.ci[0]) / 2.0;
        format!("{} {} {}", fit(ns.estimate, 8), style.plus_minus(), fit(half, 8))
    });
    format!(
        "expected at {expected}, found at {} ({} to {}); beyond it {ns} ns more for each KiB",
        size(number("knee_bytes")),
        bound(0),
        bound(1)
    )
}
