//! A record from anywhere cannot do harm when its diagram is drawn.

use super::{ASCII, row, run, trap};
use tollgate_record::family::PipelineAsked;
use tollgate_record::{Asked, document};
use tollgate_report::export::FORMATS;
use tollgate_report::view;

#[test]
fn rows_come_back_from_a_file() {
    let mut rows = [super::load_use(), trap()].concat();
    rows[0].address = format!("{:#x}", u64::MAX);
    let run = run(rows.clone());
    let back = document::from_json(document::to_json(&run).expect("JSON").as_bytes()).expect("a run");
    let back = back.results[0].stages.as_ref().expect("a diagram");
    assert_eq!(back.rows, rows);
    assert_eq!(back.rows[0].pc(), u64::MAX, "an address of 64 bits is not rounded");
}

#[test]
fn a_hostile_diagram_is_drawn_and_does_no_harm() {
    let mut rows = trap();
    rows[0].stages[0].last = u64::MAX;
    rows[0].stages[1].first = u64::MAX;
    rows[0].stages[1].last = 0;
    rows[1].stages[0].name = "<b>\u{7}".into();
    rows[1].text = "\u{1b}]0;title\u{7}".repeat(50);
    rows[2].stages.clear();
    rows[2].mode = "\n".into();
    rows[3].address = "0xzz".into();
    rows.push(row(9, "nop", u64::MAX - 9, &[1, 1, 1]));
    let mut hostile = run(rows);
    let core = "\u{1b}[31mred".into();
    hostile.results[0].asked = Asked::Pipeline(PipelineAsked { core, ..PipelineAsked::default() });
    hostile.results[0].stages.as_mut().expect("a diagram").event = Some(u64::MAX);
    hostile.results[0].stages.as_mut().expect("a diagram").first_fetch = u64::MAX;
    let shown = view(&hostile, &ASCII);
    assert!(!shown.chars().any(|c| c.is_control() && c != '\n'), "{shown:?}");
    for format in FORMATS {
        let Ok(exported) = format.export(&hostile) else { continue };
        let plain = |c: char| !c.is_control() || matches!(c, '\n' | '\t');
        assert!(exported.text().chars().all(plain), "{}", format.name);
    }
    assert!(view(&run(Vec::new()), &ASCII).len() < 200);
}
