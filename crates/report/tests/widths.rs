//! Every view of a run in every style: columns from 40 to 160, with and without colors, with and without
//! characters beyond ASCII. The records are fixed; what is looked at is the text.
//!
//! To accept a new picture, look at it, then `cargo xtask bless screens`.

mod fixture;

use insta::assert_snapshot;
use tollgate_record::{Run, document};
use tollgate_report::{Style, view};
use unicode_width::UnicodeWidthStr;

const STYLES: [(&str, Style); 5] = [
    ("40_ascii", Style { width: 40, color: false, unicode: false }),
    ("60_unicode", Style { width: 60, color: false, unicode: true }),
    ("80_ascii", Style { width: 80, color: false, unicode: false }),
    ("80_color", Style { width: 80, color: true, unicode: true }),
    ("160_unicode", Style { width: 160, color: false, unicode: true }),
];

/// A run for each view.
fn runs() -> [(&'static str, Run); 17] {
    let read = |text: &str| document::from_json(text.as_bytes()).unwrap();
    [
        ("ladder", fixture::ladder()),
        ("crossing", fixture::crossing()),
        ("ring", fixture::ring()),
        ("switch", read(include_str!("records/switch.json"))),
        ("icache", read(include_str!("records/icache.json"))),
        ("riscv", read(include_str!("records/riscv.json"))),
        ("trap", read(include_str!("records/riscv-trap.json"))),
        ("designs", read(include_str!("records/riscv-designs.json"))),
        ("engines", read(include_str!("records/riscv-engines.json"))),
        ("workload", read(include_str!("records/riscv-workload.json"))),
        ("profile", read(include_str!("records/riscv-profile.json"))),
        ("ledger", fixture::cores::ledger()),
        ("validation", fixture::cores::validation()),
        ("pipeline", read(include_str!("runs/riscv-pipeline.json"))),
        ("latency", read(include_str!("runs/riscv-interrupt.json"))),
        ("fault_scan", read(include_str!("records/fault-scan.json"))),
        ("fault_kinds", read(include_str!("records/fault-kinds.json"))),
    ]
}

#[test]
fn every_view_in_every_style() {
    let mut spoilt = Vec::new();
    for (name, run) in runs() {
        for (how, style) in STYLES {
            let text = view(&run, &style);
            if !style.unicode && !text.is_ascii() {
                let line = text.lines().find(|line| !line.is_ascii()).unwrap();
                spoilt.push(format!("{name} {how} is not ASCII: {line}"));
            }
            assert!(style.color || !text.contains('\u{1b}'), "{name} {how}: colors although not requested");
            let plain = without_colors(&text);
            for line in plain.lines() {
                if line.width() > style.width {
                    spoilt.push(format!("{name} {how}: {} columns: {line}", line.width()));
                }
                if line.ends_with(' ') {
                    spoilt.push(format!("{name} {how}: a blank at the end: {line:?}"));
                }
            }
            // Colors as text, so that the snapshots can be read.
            assert_snapshot!(format!("{name}_{how}"), text.replace("\x1b[0m", "</>").replace("\x1b[", "<"));
        }
    }
    assert!(spoilt.is_empty(), "{}", spoilt.join("\n"));
}

#[test]
fn colors_change_nothing_but_the_color() {
    for (name, run) in runs() {
        for (_, style) in STYLES {
            let plain = view(&run, &Style { color: false, ..style });
            assert_eq!(without_colors(&view(&run, &Style { color: true, ..style })), plain, "{name}");
        }
    }
}

/// The text without the sequences that colors are made of.
fn without_colors(text: &str) -> String {
    let mut parts = text.split("\x1b[");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        plain.push_str(part.split_once('m').map_or(part, |(_, rest)| rest));
    }
    plain
}
