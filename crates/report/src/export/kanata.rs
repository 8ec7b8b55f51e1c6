//! A stage diagram as a Kanata log, version 0004, which Konata opens.
//!
//! Stages are in lane 0 and waits in lane 1, as the format defines. Cycles are given as the steps between them,
//! so the log begins at the first cycle that is drawn. The format: `docs/kanata-log-format.md` in the
//! repository of Konata.

use crate::stages::letter;
use std::fmt::Write;
use tollgate_record::text::printable;
use tollgate_record::{Measurement, StageRow};

/// What happens to one instruction in one cycle, in the order in which a log lists it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Act {
    EndWait,
    EndStage,
    Leave,
    Enter,
    Stage,
    Wait,
}

pub(super) fn log(_: &Measurement, rows: &[StageRow], first_fetch: u64) -> String {
    let events = events(rows, first_fetch);
    let mut now = events.first().map_or(0, |event| event.0);
    let mut out = format!("Kanata\t0004\nC=\t{now}\n");
    let mut retired = 0;
    for (cycle, act, id, line) in events {
        // Writing to a String cannot fail.
        if cycle > now {
            let _ = writeln!(out, "C\t{}", cycle - now);
            now = cycle;
        }
        out.push_str(&line);
        if act == Act::Leave {
            let kept = rows[id].squash.is_none();
            let _ = writeln!(out, "R\t{id}\t{retired}\t{}", u8::from(!kept));
            retired += u64::from(kept);
        }
    }
    out
}

/// What happens when to which row, in the order of the log, with its lines. That of leaving depends on the ones before.
fn events(rows: &[StageRow], first_fetch: u64) -> Vec<(u64, Act, usize, String)> {
    let mut events = Vec::new();
    for (id, row) in rows.iter().enumerate() {
        let fetch = first_fetch.saturating_add(id as u64);
        let (pc, text, detail) = (row.pc(), plain(&row.text), plain(&detail(row)));
        let enter = format!("I\t{id}\t{fetch}\t0\nL\t{id}\t0\t{pc:08x}: {text}\nL\t{id}\t1\t{detail}\n");
        events.push((row.start(), Act::Enter, id, enter));
        events.push((row.end().max(row.start()), Act::Leave, id, String::new()));
        let stages = row.stages.iter().map(|it| (it, 0, letter(&it.name).into(), Act::Stage, Act::EndStage));
        let waits = row.waits.iter().map(|it| (it, 1, plain(&it.name), Act::Wait, Act::EndWait));
        for (span, lane, name, begin, end) in stages.chain(waits) {
            let after = span.last.saturating_add(1).min(row.end());
            if span.first < after {
                events.push((span.first, begin, id, format!("S\t{id}\t{lane}\t{name}\n")));
                events.push((after, end, id, format!("E\t{id}\t{lane}\t{name}\n")));
            }
        }
    }
    // One instruction's end comes before another's beginning, and in the order of fetching among themselves.
    events.sort_by_key(|(cycle, act, id, _)| (*cycle, *act, *id));
    events
}

/// What a viewer shows under the mouse.
fn detail(row: &StageRow) -> String {
    let mut detail = format!("mode {}", row.mode);
    if !row.place.is_empty() {
        let _ = write!(detail, ", {}", row.place);
    }
    for (cause, cycles) in row.waits_by_cause() {
        let _ = write!(detail, ", waits {cycles} for {cause}");
    }
    if let Some(squash) = &row.squash {
        let _ = write!(detail, ", squashed by a {}", squash.by);
    }
    detail
}

/// A tab or a line's end would begin another field or command.
fn plain(text: &str) -> String {
    printable(text).replace('\t', " ")
}
