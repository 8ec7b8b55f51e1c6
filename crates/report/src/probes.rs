//! The view of `tollgate list`: every probe, and whether it can run here.

use crate::sheet::{Column, Sheet, Table, painted, prose};
use crate::style::{Paint, Style};
use crate::text::clean;
use crate::words;
use indexmap::IndexMap;
use serde::Serialize;
use tollgate_record::Per;
use tollgate_record::number::count;
use tollgate_record::number::plural;

/// One probe of the list, also as `tollgate list --json` shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ProbeRow {
    /// `family/mechanism`.
    pub id: String,
    /// What one crossing does.
    pub what: String,
    /// What one figure stands for.
    pub per: Per,
    /// The command that measures it, if it is not in the ladder.
    pub command: String,
    /// Whether it is measured when no probe is named.
    pub in_ladder: bool,
    /// Why it cannot run here, a clause without a full stop; `None` when it can.
    pub reason: Option<String>,
    /// What would make it measurable.
    pub enable: Option<String>,
}

impl ProbeRow {
    fn family(&self) -> &str {
        self.id.split('/').next().unwrap_or_default()
    }
}

/// The list by family, with one line for each probe; with `why`, each reason that keeps probes from running here, with what enables it and the probes.
pub fn probes(rows: &[ProbeRow], why: bool, style: &Style) -> String {
    let mut text = if why { reasons(rows, style) } else { table(rows, style) };
    if !text.is_empty() {
        text.blank();
    }
    text.extend(prose(summary(rows, why), ""));
    text.text(style)
}

fn reasons(rows: &[ProbeRow], style: &Style) -> Sheet {
    let mut reasons: IndexMap<(&str, &str), Vec<String>> = IndexMap::new();
    for row in rows {
        let Some(reason) = &row.reason else { continue };
        let enable = row.enable.as_deref().unwrap_or_default();
        reasons.entry((reason, enable)).or_default().push(clean(&row.id, style));
    }
    let mut text = Sheet::new();
    for ((reason, enable), probes) in reasons {
        let reason = Some(clean(reason, style)).filter(|reason| !reason.is_empty());
        text.extend(painted(Paint::Warn, reason.unwrap_or("no reason given".into())));
        if !enable.is_empty() {
            text.extend(prose(clean(enable, style), "  enable: "));
        }
        text.extend(prose(probes.join(", "), "  rows:   "));
    }
    text
}

fn table(rows: &[ProbeRow], style: &Style) -> Sheet {
    let mut table = Table::new([
        Column::left("probe").most(28).least(13),
        Column::left("per"),
        Column::left("here"),
        Column::left("what").least(16),
    ]);
    for (at, row) in rows.iter().enumerate() {
        if at == 0 || heading(&rows[at - 1], style) != heading(row, style) {
            table.heading(heading(row, style), Paint::Bold);
        }
        let here = if row.reason.is_none() { "yes" } else { "no" };
        let or = |text: String, other: &str| if text.is_empty() { other.into() } else { text };
        let what = or(clean(&row.what, style), "-");
        let paint = if row.reason.is_none() { Paint::Plain } else { Paint::Dim };
        table.painted([clean(&row.id, style), row.per.word().into(), here.into(), what], paint);
    }
    table.into()
}

/// What a family crosses, and how it is measured if the ladder does not contain it.
fn heading(row: &ProbeRow, style: &Style) -> String {
    let name = clean(row.family(), style);
    let title = words::family(row.family()).map_or_else(|| name.clone(), |(title, _)| title.to_owned());
    if row.in_ladder { title } else { format!("{title} ({})", clean(&row.command, style)) }
}

fn summary(rows: &[ProbeRow], why: bool) -> String {
    let cannot = rows.iter().filter(|row| row.reason.is_some()).count();
    let probes = plural(rows.len(), "probe", "probes");
    match (rows.len(), cannot) {
        (0, _) => "No probe.".into(),
        (_, 0) => format!("{probes}, and every one can run here."),
        _ if why => format!("{probes}, {} cannot run here.", count(cannot)),
        _ => format!("{probes}, {} cannot run here (tollgate list --why).", count(cannot)),
    }
}
