//! What the fit found of each cache, and how well it predicts.

use crate::style::{Paint, Style};
use crate::text::{clean, cut, wrap};
use crate::words::reason;
use tollgate_record::number::{fit, percent, size};
use tollgate_record::{Measurement, Status};

pub(super) fn list(rows: &[&Measurement], style: &Style) -> Vec<String> {
    if rows.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![String::new(), style.paint(Paint::Bold, "Knees: footprints at which refill begins")];
    for row in rows {
        let cache = row.asked.knee().and_then(|knee| knee.cache.as_deref());
        let text = cache.map_or("?".into(), |it| cut(&clean(it, style), 4, style));
        lines.extend(wrap(&found(row, style), style.prose(), &format!("  {text:<3} ")));
    }
    if let Some(left_out) = rows[0].found.knee().and_then(|knee| knee.left_out.as_ref()) {
        let text = format!(
            "Each of {} cells predicted from the others: off by {} of its total in the median, {} at worst.",
            left_out.cells,
            percent(left_out.median_error),
            percent(left_out.worst_error)
        );
        lines.extend(wrap(&text, style.prose(), "  "));
    }
    lines
}

fn found(row: &Measurement, style: &Style) -> String {
    let knee = row.found.knee();
    let bytes = |bytes: Option<u64>| size(bytes.map_or(f64::NAN, |bytes| bytes as f64));
    let expected = bytes(knee.map(|knee| knee.expected_bytes));
    if row.status != Status::Measured {
        let why = reason(row, style);
        return if knee.is_some() { format!("expected at {expected}; {why}") } else { why };
    }
    let bound = |at: usize| bytes(knee.and_then(|knee| knee.knee_interval).map(|bounds| bounds[at]));
    let ns = row.ns.map_or("?".into(), |ns| {
        format!("{} {} {}", fit(ns.estimate, 8), style.plus_minus(), fit(ns.half_width(), 8))
    });
    format!(
        "expected at {expected}, found at {} ({} to {}); beyond it {ns} ns more for each KiB",
        bytes(knee.and_then(|knee| knee.knee_bytes)),
        bound(0),
        bound(1)
    )
}
