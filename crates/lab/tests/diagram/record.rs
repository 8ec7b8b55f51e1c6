//! A diagram comes back from a record as it was, and a record from anywhere cannot do harm.

use tollgate_lab::diagram::Lane;
use tollgate_lab::diagram::text::{Look, draw};
use tollgate_lab::text::{is_stages, stages};
use tollgate_record::Asked;
use tollgate_record::family::PipelineAsked;
use tollgate_record::stages::{StageDiagram, StageRow};
use tollgate_record::{Measurement, Per, Run, SCHEMA, Status};

fn back(lanes: &[Lane]) -> Vec<Lane> {
    (0..).zip(lanes).map(|(seq, lane)| Lane::of(&StageRow::from(lane), seq)).collect()
}

#[test]
fn lanes_come_back() {
    for mut lanes in [super::load_use(), super::trap()] {
        for lane in &mut lanes {
            // What only the logs for other viewers know.
            lane.store = false;
        }
        assert_eq!(back(&lanes), lanes);
    }
    let mut wide = super::load_use();
    wide[0].pc = u64::MAX;
    assert_eq!(back(&wide)[0].pc, u64::MAX, "an address of 64 bits is not rounded");
}

/// A stage that an instruction would have entered after it was thrown away is no stage of it.
#[test]
fn what_is_thrown_away_has_no_later_stage() {
    let mut lane = super::trap().remove(1);
    lane.stages.push(tollgate_lab::diagram::Span { name: "MEM", start: 105, end: 106 });
    let row = StageRow::from(&lane);
    assert!(row.stages.iter().all(|span| span.name != "MEM" && span.last < 104), "{row:?}");
}

fn run(diagram: StageDiagram) -> Run {
    let mut entry = Measurement::empty("riscv-pipeline/trap", "embedded", Per::Trap, Status::Measured);
    entry.asked = Asked::Pipeline(PipelineAsked { core: "\u{1b}[31mred".into(), ..PipelineAsked::default() });
    entry.stages = Some(diagram);
    Run {
        schema: SCHEMA.into(),
        checksum: None,
        id: "id".into(),
        started: String::new(),
        seed: 0,
        tool: tollgate_record::Tool { version: String::new(), commit: String::new() },
        command: Vec::new(),
        complete: true,
        interleaved_with: None,
        host: tollgate_record::Host::default(),
        warnings: Vec::new(),
        results: vec![entry],
    }
}

#[test]
fn a_hostile_diagram_is_drawn_and_does_no_harm() {
    let lanes = super::trap();
    let mut rows: Vec<StageRow> = lanes.iter().map(Into::into).collect();
    rows[0].stages[0].last = u64::MAX;
    rows[0].stages[1].first = u64::MAX;
    rows[0].stages[1].last = 0;
    rows[1].stages[0].name = "<b>\u{7}".into();
    rows[1].text = "\u{1b}]0;title\u{7}".repeat(50);
    rows[2].stages.clear();
    rows[2].mode = "\n".into();
    rows[3].address = "0xzz".into();
    let hostile = run(StageDiagram { rows, event: Some(u64::MAX), text: "\u{1b}[2J".repeat(99) });
    assert!(is_stages(&hostile));
    let shown = stages(&hostile, Look::default());
    assert!(!shown.chars().any(|c| c.is_control() && c != '\n'), "{shown:?}");
    let empty = run(StageDiagram::default());
    assert!(stages(&empty, Look::default()).len() < 100);
    assert_eq!(draw(&back(&lanes), Look::default()), draw(&lanes, Look::default()));
}
