//! The instructions in the pipeline, each cycle of waiting named after its cause.

use serde_json::{Value, json};
use tollgate_cores::Stage;
use tollgate_lab::pipeline::{Known, is_trapping, row};

use crate::assemble::text_at;
use crate::failure::{Answer, Failure};
use crate::running::Running;
use crate::state;

const USUAL: u64 = 32;
const MOST: u64 = 2000;

/// The latest instructions, up to where the machine is.
pub(crate) fn pipeline(running: &mut Running, count: Option<u64>) -> Answer {
    let passages = running.passages(count.unwrap_or(USUAL).clamp(1, MOST))?;
    let core = running.core().ok_or_else(|| Failure::machine("there is no core"))?;
    let rows = passages.iter().enumerate().map(|(i, passage)| {
        let decoded = match passage.word {
            Some(word) => running.machine().decoder().decode(word),
            None => running.instruction(passage.pc).map(|(insn, _)| insn),
        };
        let line = running.loaded.executable.line(passage.pc);
        let known = Known {
            text: decoded.as_ref().map(|it| text_at(it, passage.pc, &running.loaded.places)).unwrap_or_default(),
            place: running.loaded.places.name(passage.pc),
            op: decoded.map(|insn| insn.op),
            traps: is_trapping(passage, i.checked_sub(1).and_then(|i| passages.get(i))),
        };
        let row = row(passage, known);
        let waits = row.waits.iter().map(|wait| {
            json!({ "name": wait.name, "first": wait.first, "last": wait.last, "about": state::about(&wait.name) })
        });
        let stages = row.stages.iter().map(|it| json!({ "name": it.name, "first": it.first, "last": it.last }));
        json!({
            "address": row.address, "mode": row.mode, "text": row.text, "place": row.place,
            "stages": stages.collect::<Value>(), "waits": waits.collect::<Value>(),
            "squash": row.squash.as_ref().map(|it| json!({ "at": it.at, "by": it.by })),
            "traps": row.traps, "stores": row.stores, "file": line.as_ref().map(|line| &line.file),
            "line": line.as_ref().map(|line| line.line),
        })
    });
    let names =
        Stage::ALL.into_iter().zip(core.stages()).filter(|(_, has)| *has).map(|(stage, _)| stage.name());
    Ok(json!({
        "core": core.core().name, "stages": names.collect::<Vec<_>>(), "rows": rows.collect::<Value>(),
        "cycle": passages.iter().map(|passage| passage.end).max().unwrap_or_default(),
    }))
}
