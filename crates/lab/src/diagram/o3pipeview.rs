//! The diagram as gem5's O3PipeView trace, which `util/o3-pipeview.py` of gem5 and Konata draw.
//!
//! The format knows the stages of an out-of-order core. `fetch` is IF, `decode` and `rename` ID, `dispatch` and
//! `issue` EX, `complete` MEM, `retire` WB. A cycle is 1,000 ticks, gem5's usual clock, and the first one drawn
//! begins at tick 1,000, because 0 means that a stage was not reached: so an instruction that was thrown away
//! has `retire` 0.

use std::fmt::Write;

use super::Lane;

/// Ticks of a cycle.
pub const TICKS: u64 = 1000;

/// Which of our stages each of the format's stages is.
const STAGES: [(&str, &str); 6] = [
    ("fetch", "IF"),
    ("decode", "ID"),
    ("rename", "ID"),
    ("dispatch", "EX"),
    ("issue", "EX"),
    ("complete", "MEM"),
];

/// Writes the trace, seven lines for each instruction.
#[must_use]
pub fn write(lanes: &[Lane]) -> String {
    let first = lanes.iter().map(Lane::start).min().unwrap_or(0);
    let tick = |cycle: Option<u64>| cycle.map_or(0, |cycle| (cycle - first + 1) * TICKS);
    let mut out = String::new();
    for lane in lanes {
        for (theirs, ours) in STAGES {
            // A core with fewer stages does there what comes last before.
            let at = tick(stage(lane, ours));
            let _ = write!(out, "O3PipeView:{theirs}:{at}");
            if theirs == "fetch" {
                // A colon would begin another field.
                let text = lane.text.replace(':', " ");
                let _ = write!(out, ":0x{:08x}:0:{}:{text}", lane.pc, lane.seq);
            }
            out.push('\n');
        }
        let kept = lane.squash.is_none();
        let retire = if kept { tick(stage(lane, "WB")) } else { 0 };
        let stored = if kept && lane.store { tick(stage(lane, "MEM")) } else { 0 };
        let _ = writeln!(out, "O3PipeView:retire:{retire}:store:{stored}");
    }
    out
}

/// When a lane reaches a stage. Where the core does not have it: when it reaches the last of those before it.
fn stage(lane: &Lane, name: &str) -> Option<u64> {
    const ORDER: [&str; 5] = ["IF", "ID", "EX", "MEM", "WB"];
    let has = |name: &str| lane.stages.iter().any(|span| span.name == name);
    let at = ORDER.iter().position(|stage| *stage == name)?;
    if lane.squash.is_some() || ORDER.iter().all(|stage| has(stage)) {
        return lane.stage(name).map(|span| span.start);
    }
    ORDER[..=at]
        .iter()
        .rev()
        .find_map(|stage| lane.stage(stage))
        .or(lane.stages.first().copied())
        .map(|s| s.start)
}
