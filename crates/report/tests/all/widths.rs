//! Every view of a run in every style: columns from 40 to 160, with and without colors, with and without
//! characters beyond ASCII. The records are fixed; what is looked at is the text. Two styles are kept as pictures.
//!
//! To accept a new picture, look at it, then `cargo xtask bless screens`.

use crate::fixture;
use insta::assert_snapshot;
use tollgate_record::{Run, Warning, document, warning};
use tollgate_report::{Style, view};
use unicode_width::UnicodeWidthStr;

const STYLES: [(&str, Style); 5] = [
    ("40_ascii", Style { width: 40, color: false, unicode: false, ..Style::PLAIN }),
    ("60_unicode", Style { width: 60, color: false, unicode: true, ..Style::PLAIN }),
    ("80_ascii", Style { width: 80, color: false, unicode: false, ..Style::PLAIN }),
    ("80_color", Style { width: 80, color: true, unicode: true, ..Style::PLAIN }),
    ("160_unicode", Style { width: 160, color: false, unicode: true, ..Style::PLAIN }),
];

/// A run for each view.
fn runs() -> [(&'static str, Run); 18] {
    let read = |text: &str| document::from_json(text.as_bytes()).unwrap();
    [
        ("ladder", fixture::ladder()),
        ("crossing", fixture::crossing()),
        ("ring", fixture::ring()),
        ("switch", read(include_str!("../records/switch.json"))),
        ("icache", read(include_str!("../records/icache.json"))),
        ("riscv", read(include_str!("../records/riscv.json"))),
        ("trap", read(include_str!("../records/riscv-trap.json"))),
        ("designs", read(include_str!("../records/riscv-designs.json"))),
        ("engines", read(include_str!("../records/riscv-engines.json"))),
        ("workload", read(include_str!("../records/riscv-workload.json"))),
        ("profile", read(include_str!("../records/riscv-profile.json"))),
        ("ledger", fixture::cores::ledger()),
        ("validation", fixture::cores::validation()),
        ("guest", fixture::cores::guest(3)),
        ("pipeline", read(include_str!("../runs/riscv-pipeline.json"))),
        ("latency", read(include_str!("../runs/riscv-interrupt.json"))),
        ("fault_scan", read(include_str!("../records/fault-scan.json"))),
        ("fault_kinds", read(include_str!("../records/fault-kinds.json"))),
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
        }
        assert_snapshot!(format!("{name}_80_ascii"), view(&run, &Style::PLAIN));
        assert_snapshot!(format!("{name}_markdown"), view(&run, &Style::MARKDOWN));
    }
    assert!(spoilt.is_empty(), "{}", spoilt.join("\n"));
}

const DETAILED: Style = Style { all: true, warnings: true, ..Style::PLAIN };

#[test]
fn a_long_screen_ends_in_three_lines_and_the_rest_is_shown_on_request() {
    for (name, run) in [("ladder", fixture::ladder()), ("crossing", fixture::crossing())] {
        let (short, long) = (view(&run, &Style::PLAIN), view(&run, &DETAILED));
        let ending =
            short.trim_end().lines().rev().take_while(|line| !line.is_empty() && !line.starts_with("Folded"));
        assert!(ending.count() <= 3, "{name}:\n{short}");
        assert!(short.contains("(--warnings says which, and why)") && !long.contains("--warnings"), "{name}");
        let warnings = run.warnings.iter().chain(run.results.iter().flat_map(|result| &result.warnings));
        let long = long.split_whitespace().collect::<Vec<_>>().join(" ");
        for warning in warnings {
            let start: String = warning.text.split_whitespace().take(4).collect::<Vec<_>>().join(" ");
            assert!(long.contains(&start), "{name}: {start}");
        }
    }
}

#[test]
fn an_emulator_and_what_others_found_are_folded() {
    let run = fixture::crossing();
    let (short, all) = (view(&run, &Style::PLAIN), view(&run, &Style { all: true, ..Style::PLAIN }));
    for folded in ["What others found", "qemu-tcg"] {
        assert!(!short.contains(folded) && all.contains(folded), "{folded}");
    }
    let says = "Folded (--all): 1 row of an emulator, what others found";
    assert!(short.replace('\n', " ").contains(says), "{short}");
}

#[test]
fn each_mark_that_occurs_in_the_ladder_has_a_line_and_no_other_has() {
    let text = view(&fixture::ladder(), &Style::PLAIN);
    for mark in ["\n  *    a", "\n  (!)  the", "\n  +N   N more", "\n  <=   no", "\n  -    not measured"] {
        assert!(text.contains(mark), "{mark:?}\n{text}");
    }
    let mut run = fixture::ladder();
    run.results.retain(|result| result.probe == "syscall/getppid");
    let text = view(&run, &Style::PLAIN);
    assert!(!text.contains("\n  *") && !text.contains("(!)") && !text.contains("not measured"), "{text}");
}

#[test]
fn at_most_half_of_the_rows_have_a_mark() {
    let mut run = fixture::ladder();
    for (number, result) in run.results.iter_mut().enumerate() {
        // Each row has a warning, of one of three kinds.
        let kind = [warning::OTHER_TASK, warning::STEAL, warning::TWO_LEVELS][number % 3];
        result.warnings = vec![Warning::new(kind, "so it is")];
    }
    let text = view(&run, &Style::PLAIN);
    let marked = text
        .lines()
        .filter(|line| line.split_whitespace().next().is_some_and(|name| name.ends_with('*')))
        .count();
    assert!((1..=run.results.len() / 2).contains(&marked), "{marked} of {}\n{text}", run.results.len());
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
