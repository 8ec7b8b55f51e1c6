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
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Act {
    EndWait,
    EndStage,
    Leave,
    Enter,
    Stage,
    Wait,
}

/// One line or more of the log: what happens when to which row, with the index of its stage or wait.
struct Event {
    cycle: u64,
    act: Act,
    row: usize,
    span: usize,
}

pub(super) fn log(_: &Measurement, rows: &[StageRow], first_fetch: u64) -> String {
    let events = events(rows);
    let mut out = "Kanata\t0004\n".to_owned();
    let mut now = events.first().map_or(0, |event| event.cycle);
    let _ = writeln!(out, "C=\t{now}");
    let mut retired = 0;
    for Event { cycle, act, row: id, span } in events {
        if cycle > now {
            let _ = writeln!(out, "C\t{}", cycle - now);
            now = cycle;
        }
        let row = &rows[id];
        let stage = || letter(&row.stages[span].name);
        let wait = || plain(&row.waits[span].name);
        // Writing to a String cannot fail.
        let _ = match act {
            Act::Enter => {
                let _ = writeln!(out, "I\t{id}\t{}\t0", first_fetch.saturating_add(id as u64));
                let _ = writeln!(out, "L\t{id}\t0\t{:08x}: {}", row.pc(), plain(&row.text));
                writeln!(out, "L\t{id}\t1\t{}", plain(&detail(row)))
            }
            Act::Stage => writeln!(out, "S\t{id}\t0\t{}", stage()),
            Act::EndStage => writeln!(out, "E\t{id}\t0\t{}", stage()),
            Act::Wait => writeln!(out, "S\t{id}\t1\t{}", wait()),
            Act::EndWait => writeln!(out, "E\t{id}\t1\t{}", wait()),
            Act::Leave => {
                let flushed = u8::from(row.squash.is_some());
                let number = retired;
                retired += u64::from(row.squash.is_none());
                writeln!(out, "R\t{id}\t{number}\t{flushed}")
            }
        };
    }
    out
}

/// What happens, in the order of the log.
fn events(rows: &[StageRow]) -> Vec<Event> {
    let mut events = Vec::new();
    for (row, it) in rows.iter().enumerate() {
        events.push(Event { cycle: it.start(), act: Act::Enter, row, span: 0 });
        events.push(Event { cycle: it.end().max(it.start()), act: Act::Leave, row, span: 0 });
        for (spans, begin, end) in
            [(&it.stages, Act::Stage, Act::EndStage), (&it.waits, Act::Wait, Act::EndWait)]
        {
            for (span, stretch) in spans.iter().enumerate() {
                let after = stretch.last.saturating_add(1).min(it.end());
                if stretch.first < after {
                    events.push(Event { cycle: stretch.first, act: begin, row, span });
                    events.push(Event { cycle: after, act: end, row, span });
                }
            }
        }
    }
    // One instruction's end comes before another's beginning, and in the order of fetching among themselves.
    events.sort_by_key(|event| (event.cycle, event.act, event.row));
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
