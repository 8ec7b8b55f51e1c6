//! The log is read back by a parser written from the format's description, which accepts nothing else.

use std::collections::BTreeMap;

use tollgate_record::stages::StageRow;

/// One instruction as a viewer sees it: its stages and waits with their cycles, and whether it was flushed.
#[derive(Debug, Default)]
struct Seen {
    label: String,
    /// (lane, name, first cycle, end)
    spans: Vec<(u64, String, u64, Option<u64>)>,
    left: Option<(u64, bool)>,
}

/// Reads a log; panics at whatever the description does not allow.
fn parse(log: &str) -> BTreeMap<u64, Seen> {
    let mut lines = log.lines();
    assert_eq!(lines.next(), Some("Kanata\t0004"), "the header");
    let start = lines.next().and_then(|line| line.strip_prefix("C=\t")).expect("the first cycle");
    let mut now: u64 = start.parse().expect("a cycle");
    let mut seen: BTreeMap<u64, Seen> = BTreeMap::new();
    let mut retired = 0;
    for line in lines {
        let fields: Vec<&str> = line.split('\t').collect();
        let number = |i: usize| fields[i].parse::<u64>().unwrap_or_else(|_| panic!("{line}"));
        let arguments = match fields[0] {
            "C" => 1,
            "I" | "L" | "S" | "E" | "R" => 3,
            _ => panic!("no such command: {line}"),
        };
        assert_eq!(fields.len(), arguments + 1, "{line}");
        if fields[0] == "C" {
            assert!(number(1) > 0, "time does not advance: {line}");
            now += number(1);
            continue;
        }
        if fields[0] == "I" {
            assert_eq!(number(1), seen.len() as u64, "ids are given in turn");
            seen.insert(number(1), Seen::default());
            continue;
        }
        let insn = seen.get_mut(&number(1)).unwrap_or_else(|| panic!("before its I: {line}"));
        assert_eq!(insn.left, None, "after its R: {line}");
        match fields[0] {
            "L" if number(2) == 0 => insn.label += fields[3],
            "L" => assert_eq!(number(2), 1, "{line}"),
            "S" => insn.spans.push((number(2), fields[3].to_owned(), now, None)),
            "E" => {
                let open = insn
                    .spans
                    .iter_mut()
                    .find(|span| span.0 == number(2) && span.1 == fields[3] && span.3.is_none())
                    .unwrap_or_else(|| panic!("ends what has not begun: {line}"));
                assert!(open.2 < now, "a stage of no cycle: {line}");
                open.3 = Some(now);
            }
            _ => {
                assert!(insn.spans.iter().all(|span| span.3.is_some()), "leaves with an open stage: {line}");
                let flushed = number(3) == 1;
                assert!(flushed || number(2) == retired, "retirement ids are given in turn: {line}");
                retired += u64::from(!flushed);
                insn.left = Some((now, flushed));
            }
        }
    }
    assert!(seen.values().all(|insn| insn.left.is_some()), "every instruction leaves");
    seen
}

/// What comes back is what was drawn, cycle by cycle.
fn agrees(rows: &[StageRow]) {
    let seen = parse(&super::exported(rows, "kanata").expect("a log"));
    assert_eq!(seen.len(), rows.len());
    let letters = [("IF", "F"), ("ID", "D"), ("EX", "X"), ("MEM", "M"), ("WB", "W")];
    for (insn, row) in seen.values().zip(rows) {
        assert_eq!(insn.left, Some((row.end(), row.squash.is_some())));
        assert!(insn.label.contains(&format!("{:08x}", row.pc())));
        let stages = row.stages.iter().map(|span| {
            let letter = letters.iter().find(|(name, _)| *name == span.name).expect("a stage").1;
            (0, letter.to_owned(), span)
        });
        let mut expected: Vec<_> = stages
            .chain(row.waits.iter().map(|span| (1, span.name.clone(), span)))
            .map(|(lane, name, span)| (lane, name, span.first, Some(span.last + 1)))
            .collect();
        let mut found = insn.spans.clone();
        expected.sort();
        found.sort();
        assert_eq!(found, expected);
    }
}

#[test]
fn the_log_says_what_was_drawn() {
    agrees(&super::load_use());
    agrees(&super::trap());
    agrees(&(0..50).map(|seq| super::row(seq, "nop", 7 + seq, &[1; 5])).collect::<Vec<_>>());
}

#[test]
fn the_log_of_a_trap_by_hand() {
    let log = super::exported(&super::trap()[..2], "kanata").expect("a log");
    let body: Vec<&str> = log.lines().filter(|line| !line.starts_with('L')).collect();
    #[rustfmt::skip]
    assert_eq!(body, [
        "Kanata\t0004", "C=\t100",
        "I\t0\t0\t0", "S\t0\t0\tF", "C\t1",
        "E\t0\t0\tF", "I\t1\t1\t0", "S\t0\t0\tD", "S\t1\t0\tF", "C\t1",
        "E\t0\t0\tD", "E\t1\t0\tF", "S\t0\t0\tX", "S\t1\t0\tD", "C\t1",
        "E\t0\t0\tX", "E\t1\t0\tD", "S\t0\t0\tM", "S\t1\t0\tX", "C\t1",
        "E\t0\t0\tM", "E\t1\t0\tX", "R\t1\t0\t1", "S\t0\t0\tW", "C\t1",
        "E\t0\t0\tW", "R\t0\t0\t0",
    ]);
}

#[test]
fn text_cannot_break_the_log() {
    let mut rows = super::load_use();
    rows[0].text = "ld\ta0\nR\t9".into();
    rows[0].place = "a\tb\r\nc".into();
    agrees(&rows);
}

#[test]
fn nothing_gives_no_log() {
    assert!(super::exported(&[], "kanata").is_err());
}

#[test]
fn instructions_are_numbered_from_the_start_of_the_simulation() {
    let mut run = super::run(super::load_use());
    run.results[0].stages.as_mut().expect("a diagram").first_fetch = 41;
    let log = super::Format::named("kanata").expect("a format").export(&run).expect("a log");
    let log = log.text();
    let numbers: Vec<&str> = log.lines().filter(|line| line.starts_with("I\t")).collect();
    assert_eq!(numbers, ["I\t0\t41\t0", "I\t1\t42\t0", "I\t2\t43\t0"]);
}
