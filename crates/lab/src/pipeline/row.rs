//! A passage through the pipe as a row of a stage diagram.

use tollgate_cores::{Passage, Stage};
use tollgate_record::stages::{StageRow, StageSpan, StageSquash};
use tollgate_riscv::{Class, Op};

/// Facts of an instruction beside its passage.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// In assembly; empty where its bits are not known.
    pub text: String,
    /// Where it is; empty without a symbol.
    pub place: String,
    /// What it is, where that is known.
    pub op: Option<Op>,
    /// Whether it raised an exception.
    pub traps: bool,
}

/// A stretch of cycles; `end` is the first cycle that no longer belongs to it.
struct Stretch {
    name: &'static str,
    start: u64,
    end: u64,
}

/// The row of an instruction. Where the cause of a wait is known but not its place within a stage, it is put at the
/// stage's end: an instruction that waits for the one before it as well does so first.
pub fn row(passage: &Passage, known: Known) -> StageRow {
    let reached: Vec<(Stage, u64)> = Stage::ALL
        .into_iter()
        .zip(passage.starts)
        .filter_map(|(stage, start)| Some((stage, start?)))
        .collect();
    let end_of = |i: usize| reached.get(i + 1).map_or(passage.end, |next| next.1);
    let stages: Vec<Stretch> = reached
        .iter()
        .enumerate()
        .map(|(i, &(stage, start))| Stretch { name: stage.name(), start, end: end_of(i) })
        .collect();
    let mut waits = Vec::new();
    let mut ends: Vec<u64> = stages.iter().map(|span| span.end).collect();
    for stall in passage.stalls.iter().rev() {
        let named = stages.iter().position(|span| span.name == stall.stage.name());
        // In a core of two stages the wait is before the second.
        let Some(i) = named.map(|i| if stages.len() == 2 { 0 } else { i }) else { continue };
        let end = if stages.len() == 1 { ends[i] - 1 } else { ends[i] };
        let start = end.saturating_sub(stall.cycles).max(stages[i].start);
        if start < end {
            waits.push(Stretch { name: stall.cause.name(), start, end });
            ends[i] = if stages.len() == 1 { start + 1 } else { start };
        }
    }
    waits.sort_by_key(|wait| wait.start);
    let squash = passage.squashed.map(|flush| StageSquash { at: passage.end, by: flush.name().into() });
    let end = squash.as_ref().map_or(stages.last().map_or(0, |last| last.end), |squash| squash.at);
    StageRow {
        address: format!("{:#x}", passage.pc),
        mode: passage.privilege.letter().to_string(),
        text: known.text,
        place: known.place,
        stages: spans(stages, end),
        waits: spans(waits, end),
        squash,
        traps: known.traps,
        stores: known.op.is_some_and(|op| op.row().class == Class::Store),
    }
}

/// The parts of the stretches before the instruction is gone.
fn spans(stretches: Vec<Stretch>, gone: u64) -> Vec<StageSpan> {
    let within = |stretch: Stretch| {
        let end = stretch.end.min(gone);
        let last = end.checked_sub(1)?;
        (stretch.start <= last).then(|| StageSpan { name: stretch.name.into(), first: stretch.start, last })
    };
    stretches.into_iter().filter_map(within).collect()
}
