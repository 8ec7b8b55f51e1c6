//! Lanes as rows of a record, and back.
//!
//! A record may come from anywhere: names that no core of ours has become `?`, text becomes printable, and a
//! stretch of cycles beyond belief is cut.

use tollgate_record::stages::{StageRow, StageSpan, StageSquash};
use tollgate_record::text::printable;
use tollgate_riscv::timing::{Cause, Stage};

use super::{Lane, Span, Squash};

/// No instruction is drawn for longer: drawing goes cycle by cycle.
const LONGEST: u64 = 1 << 20;

/// What empties a pipeline.
const FLUSHES: [&str; 5] = ["branch", "trap", "interrupt", "return", "csr or fence"];

impl From<&Lane> for StageRow {
    fn from(lane: &Lane) -> Self {
        let spans = |spans: &[Span]| -> Vec<StageSpan> {
            let within = |span: &Span| {
                let end = span.end.min(lane.end());
                (span.start < end).then(|| StageSpan {
                    name: span.name.into(),
                    first: span.start,
                    last: end - 1,
                })
            };
            spans.iter().filter_map(within).collect()
        };
        Self {
            address: format!("{:#x}", lane.pc),
            mode: lane.mode.to_string(),
            text: lane.text.clone(),
            place: lane.place.clone(),
            stages: spans(&lane.stages),
            waits: spans(&lane.stalls),
            squash: lane.squash.map(|squash| StageSquash { at: squash.at, by: squash.by.into() }),
            traps: lane.traps,
        }
    }
}

impl Lane {
    /// The lane of a record's row; `seq` is the row's number.
    #[must_use]
    pub fn of(row: &StageRow, seq: u64) -> Self {
        let spans = |spans: &[StageSpan]| -> Vec<Span> {
            spans
                .iter()
                .map(|span| Span {
                    name: known(&span.name),
                    start: span.first,
                    end: span.last.saturating_add(1).clamp(span.first, span.first.saturating_add(LONGEST)),
                })
                .collect()
        };
        Self {
            seq,
            pc: u64::from_str_radix(row.address.trim_start_matches("0x"), 16).unwrap_or(0),
            mode: row.mode.chars().next().filter(char::is_ascii_alphabetic).unwrap_or('?'),
            text: printable(&row.text).into(),
            place: printable(&row.place).into(),
            stages: spans(&row.stages),
            stalls: spans(&row.waits),
            store: false,
            squash: row.squash.as_ref().map(|squash| Squash { at: squash.at, by: known(&squash.by) }),
            traps: row.traps,
        }
    }
}

/// The name as the model has it.
fn known(name: &str) -> &'static str {
    let stages = Stage::ALL.into_iter().map(Stage::name);
    let causes = Cause::ALL.into_iter().map(Cause::name);
    stages.chain(causes).chain(FLUSHES).find(|known| *known == name).unwrap_or("?")
}
