//! A stage diagram as gem5's O3PipeView trace, which `util/o3-pipeview.py` of gem5 and Konata draw.
//!
//! The format has the stages of an out-of-order core. `fetch` is IF, `decode` and `rename` are ID, `dispatch` and
//! `issue` EX, `complete` MEM, `retire` WB. A cycle is 1,000 ticks, gem5's usual clock, and the first one drawn
//! begins at tick 1,000, because 0 means that a stage was not reached: so an instruction that was thrown away
//! has `retire` 0.

use std::fmt::Write;
use tollgate_record::text::printable;
use tollgate_record::{Measurement, StageRow};

const TICKS: u64 = 1000;

/// Which of our stages each of the format's stages is.
const STAGES: [(&str, &str); 6] = [
    ("fetch", "IF"),
    ("decode", "ID"),
    ("rename", "ID"),
    ("dispatch", "EX"),
    ("issue", "EX"),
    ("complete", "MEM"),
];

/// The trace, seven lines for each instruction.
pub(super) fn trace(_: &Measurement, rows: &[StageRow], first_fetch: u64) -> String {
    let first = rows.iter().map(StageRow::start).min().unwrap_or(0);
    let tick = |cycle: Option<u64>| {
        cycle.map_or(0, |cycle| cycle.saturating_sub(first).saturating_add(1).saturating_mul(TICKS))
    };
    let mut out = String::new();
    for (id, row) in (0..).zip(rows) {
        for (theirs, ours) in STAGES {
            let at = tick(reached(row, ours));
            let _ = write!(out, "O3PipeView:{theirs}:{at}");
            if theirs == "fetch" {
                // A colon would begin another field.
                let text = printable(&row.text).replace(':', " ");
                let _ = write!(out, ":0x{:08x}:0:{}:{text}", row.pc(), first_fetch.saturating_add(id));
            }
            out.push('\n');
        }
        let kept = row.squash.is_none();
        let retire = if kept { tick(reached(row, "WB")) } else { 0 };
        let stored = if kept && row.stores { tick(reached(row, "MEM")) } else { 0 };
        let _ = writeln!(out, "O3PipeView:retire:{retire}:store:{stored}");
    }
    out
}

/// When an instruction reaches a stage. Where the core does not have it: when it reaches the last of those before it.
fn reached(row: &StageRow, name: &str) -> Option<u64> {
    const ORDER: [&str; 5] = ["IF", "ID", "EX", "MEM", "WB"];
    let at = ORDER.iter().position(|stage| *stage == name)?;
    if row.squash.is_some() || ORDER.iter().all(|stage| row.stage(stage).is_some()) {
        return row.stage(name).map(|span| span.first);
    }
    let before = ORDER[..=at].iter().rev().find_map(|stage| row.stage(stage));
    before.or(row.stages.first()).map(|span| span.first)
}
