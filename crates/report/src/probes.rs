//! The view of `tollgate list`: every probe, and whether it can run here.

use crate::number::count;
use crate::style::{Paint, Style};
use crate::text::{clean, cut, left, lines, width, wrap};
use crate::words;
use serde::Serialize;
use tollgate_record::Per;

/// One probe of the list, also as `tollgate list --json` shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ProbeRow {
    /// `family/mechanism`.
    pub id: String,
    /// What one crossing does.
    pub what: String,
    /// What one figure stands for.
    pub per: Per,
    /// Why it cannot run here, a clause without a full stop; `None` when it can.
    pub reason: Option<String>,
    /// What would make it measurable.
    pub enable: Option<String>,
}

/// The widest column of ids; a longer id is cut.
const ID: usize = 28;

/// The list; with `why`, below each probe that cannot run here, the reason and what enables it.
pub fn probes(rows: &[ProbeRow], why: bool, style: &Style) -> String {
    let ids = rows
        .iter()
        .map(|row| width(&clean(&row.id, style)))
        .max()
        .unwrap_or(0)
        .clamp(5, ID.min(style.columns() / 3));
    let pers = rows.iter().map(|row| words::per(row.per).len()).max().unwrap_or(0).max(3);
    let mut text = Vec::new();
    if !rows.is_empty() {
        let header = format!("{}  {}  {}  what", left("probe", ids), left("per", pers), "here");
        text.push(style.paint(Paint::Dim, &header));
    }
    for row in rows {
        let here = if row.reason.is_none() { "yes " } else { "no  " };
        let id = left(&cut(&clean(&row.id, style), ids, style), ids);
        let first = format!("{id}  {}  {here}  ", left(words::per(row.per), pers));
        let what = match clean(&row.what, style) {
            what if what.is_empty() => "-".into(),
            what => what,
        };
        let paint = if row.reason.is_none() { Paint::Plain } else { Paint::Dim };
        text.extend(
            wrap(&what, style.columns().min(120), &first).iter().map(|line| style.paint(paint, line)),
        );
        if let Some(reason) = row.reason.as_ref().filter(|_| why) {
            // Far to the left, so that a command stays in one line.
            let indent = " ".repeat(4);
            let reason = match clean(reason, style) {
                reason if reason.is_empty() => "no reason given".into(),
                reason => reason,
            };
            let reason = wrap(&reason, style.columns().min(120), &format!("{indent}why:    "));
            text.extend(reason.iter().map(|line| style.paint(Paint::Warn, line)));
            let enable = clean(row.enable.as_deref().unwrap_or_default(), style);
            if !enable.is_empty() {
                text.extend(wrap(&enable, style.columns().min(120), &format!("{indent}enable: ")));
            }
        }
    }
    if !rows.is_empty() {
        text.push(String::new());
    }
    text.extend(wrap(&summary(rows, why), style.columns(), ""));
    lines(text)
}

fn summary(rows: &[ProbeRow], why: bool) -> String {
    let cannot = rows.iter().filter(|row| row.reason.is_some()).count();
    let probes = words::plural(rows.len(), "probe", "probes");
    match (rows.len(), cannot) {
        (0, _) => "No probe.".into(),
        (_, 0) => format!("{probes}, and every one can run here."),
        _ if why => format!("{probes}, {} cannot run here.", count(cannot)),
        _ => format!("{probes}, {} cannot run here (tollgate list --why).", count(cannot)),
    }
}
