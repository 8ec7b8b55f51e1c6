//! The diagram as a Kanata log, version 0004, which Konata opens.
//!
//! Stages are in lane 0 and waits in lane 1, as the format has it. Cycles are given as the steps between them,
//! so the log begins at the first cycle that is drawn. The format: `docs/kanata-log-format.md` in the
//! repository of Konata.

use std::fmt::Write;

use super::Lane;

/// What happens to one instruction in one cycle, in the order in which a log says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Act {
    EndWait,
    EndStage,
    Leave,
    Enter,
    Stage,
    Wait,
}

/// Writes the log.
#[must_use]
pub fn write(lanes: &[Lane]) -> String {
    // (cycle, act, instruction, index of the span)
    let mut acts: Vec<(u64, Act, usize, usize)> = Vec::new();
    for (id, lane) in lanes.iter().enumerate() {
        acts.push((lane.start(), Act::Enter, id, 0));
        acts.push((lane.end(), Act::Leave, id, 0));
        for (lane_spans, begin, end) in
            [(&lane.stages, Act::Stage, Act::EndStage), (&lane.stalls, Act::Wait, Act::EndWait)]
        {
            for (index, span) in lane_spans.iter().enumerate() {
                let last = span.end.min(lane.end());
                if span.start < last {
                    acts.push((span.start, begin, id, index));
                    acts.push((last, end, id, index));
                }
            }
        }
    }
    // One instruction's end comes before another's beginning, and in the order of fetching among themselves.
    acts.sort_by_key(|&(cycle, act, id, _)| (cycle, act, id));

    let mut out = "Kanata\t0004\n".to_owned();
    let mut now = acts.first().map_or(0, |act| act.0);
    let _ = writeln!(out, "C=\t{now}");
    let mut retired = 0;
    for (cycle, act, id, index) in acts {
        if cycle > now {
            let _ = writeln!(out, "C\t{}", cycle - now);
            now = cycle;
        }
        let lane = &lanes[id];
        // Writing to a String cannot fail.
        let _ = match act {
            Act::Enter => {
                let _ = writeln!(out, "I\t{id}\t{}\t0", lane.seq);
                let _ = writeln!(out, "L\t{id}\t0\t{:08x}: {}", lane.pc, plain(&lane.text));
                writeln!(out, "L\t{id}\t1\t{}", plain(&detail(lane)))
            }
            Act::Stage => writeln!(out, "S\t{id}\t0\t{}", Lane::letter(lane.stages[index].name)),
            Act::EndStage => writeln!(out, "E\t{id}\t0\t{}", Lane::letter(lane.stages[index].name)),
            Act::Wait => writeln!(out, "S\t{id}\t1\t{}", lane.stalls[index].name),
            Act::EndWait => writeln!(out, "E\t{id}\t1\t{}", lane.stalls[index].name),
            Act::Leave => {
                let flushed = u8::from(lane.squash.is_some());
                let number = retired;
                retired += u64::from(lane.squash.is_none());
                writeln!(out, "R\t{id}\t{number}\t{flushed}")
            }
        };
    }
    out
}

/// What a viewer shows under the mouse.
fn detail(lane: &Lane) -> String {
    let mut detail = format!("mode {}", lane.mode);
    if !lane.place.is_empty() {
        let _ = write!(detail, ", {}", lane.place);
    }
    for (cause, cycles) in lane.waits() {
        let _ = write!(detail, ", waits {cycles} for {cause}");
    }
    if let Some(squash) = lane.squash {
        let _ = write!(detail, ", squashed by a {}", squash.by);
    }
    detail
}

/// A tab or a line's end would begin another field or command.
fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}
