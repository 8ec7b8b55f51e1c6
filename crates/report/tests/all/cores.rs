//! What views, the page and exports say of programs on timed cores, held to sums that are made here by hand.

use tollgate_record::{Asked, Found, Run, counter, document};
use tollgate_report::export::{ExportError, Format};
use tollgate_report::{Style, view};

use crate::fixture::cores::{guest, ledger, validation};

const WIDE: Style = Style { width: 160, color: false, unicode: false, ..Style::PLAIN };

/// The cells of the first line that begins with `name`.
fn row(text: &str, name: &str) -> Vec<String> {
    let line =
        text.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_else(|| panic!("{name}\n{text}"));
    line.split_whitespace().map(str::to_owned).collect()
}

#[test]
fn a_ledger_has_each_functions_cycles_and_those_with_its_calls() {
    let text = view(&ledger(), &WIDE);
    assert_eq!(
        row(&text, "function"),
        ["cycles", "total", "CPI", "issue", "load", "branch", "flush", "D-miss"]
    );
    assert_eq!(row(&text, "sort"), ["9,000", "9,250", "1.50", "6,000", "0", "1,000", "0", "2,000"]);
    assert_eq!(row(&text, "main"), ["750", "10,000", "1.50", "500", "250", "0", "0", "0"]);
    // Two functions were asked for.
    assert_eq!(row(&text, "1 more"), ["250", "250", "2.50", "100", "0", "0", "150", "0"]);
    assert_eq!(row(&text, "total"), ["10,000", "1.52", "6,600", "250", "1,000", "150", "2,000"]);
    assert!(!text.lines().any(|line| line.starts_with("handler")), "{text}");
    assert!(
        text.contains("rocket against its RTL: exact on 58 of 60 kernels; traps within 1.0 %."),
        "{text}"
    );
}

#[test]
fn a_bill_of_a_program_and_its_kernel_adds_up() {
    let text = view(&guest(3), &WIDE);
    assert_eq!(row(&text, "  total"), ["51,960", "100", "%"]);
    // Each call: 250 instructions of toll, 50 of work.
    assert_eq!(row(&text, "  getppid "), ["3", "250", "50", "900", "2", "%"]);
    assert!(text.contains("Apart: 2 interrupts took 900 instructions; other tasks 7,000."), "{text}");
    assert!(text.contains("getppid < main"), "{text}");
}

#[test]
fn each_harts_share_of_a_bill_has_a_line() {
    let mut two = guest(3);
    let entry = &mut two.results[0];
    for (hart, instructions) in [("0", 38_970.0), ("1", 12_990.0)] {
        entry.counters.insert(counter::HART.part(&format!("{hart}/instructions")), instructions);
    }
    let text = view(&two, &WIDE);
    assert_eq!(row(&text, "  0 "), ["38,970", "75", "%"]);
    assert_eq!(row(&text, "  1 "), ["12,990", "25", "%"]);
    assert!(!view(&guest(3), &WIDE).contains("Its harts"));
    if let Asked::Program(asked) = &mut two.results[0].asked {
        asked.machine = "virt with 2 harts".into();
    }
    let found = tollgate_judge::guest(&guest(3), &two).unwrap();
    assert_eq!(found.differs, ["the machines are virt and virt with 2 harts"]);
}

#[test]
fn one_more_call_of_a_program_is_all_that_a_comparison_shows() {
    let found = tollgate_judge::guest(&guest(3), &guest(4)).unwrap();
    assert_eq!((found.total.cost, found.total.difference()), ([51_960, 52_280], 320));
    assert!(found.exceeds(0.006) && !found.exceeds(0.0062));
    let text = tollgate_report::guest_comparison(&found, &WIDE);
    assert!(text.starts_with("B costs 320 instructions more (+0.616 %)"), "{text}");
    assert_eq!(row(&text, "  main "), ["1,060", "1,080", "+20"]);
    assert_eq!(row(&text, "  getppid "), ["3", "4", "900", "1,200", "+300"]);
    assert_eq!(row(&text, "  kernel:handle_exception "), ["750", "1,000", "+250"]);
    // The parts have the names that the bill has.
    assert_eq!(row(&text, "  entry and saving "), ["180", "240", "+60"]);
    // What is the same is not there, and neither are interrupts.
    assert!(!text.contains("execve") && !text.contains("timer"), "{text}");
    assert!(found.parts.iter().all(|part| part.name != "program-start"));
    let none = tollgate_judge::guest(&guest(3), &guest(3)).unwrap();
    let text = tollgate_report::guest_comparison(&none, &WIDE);
    assert!(text.starts_with("No difference: 51,960 instructions each."), "{text}");
    assert!(tollgate_judge::guest(&guest(3), &ledger()).is_none());
}

#[test]
fn the_page_says_how_well_a_core_is_proven() {
    let of_trap = |proof: Option<&str>| -> Run {
        let text = include_str!("../runs/riscv-trap.json");
        let mut run = document::from_json(text.as_bytes()).unwrap();
        for result in &mut run.results {
            if let Found::Trap(found) = &mut result.found {
                found.proof = proof.map(Into::into);
            }
        }
        run
    };
    let sentence = "cva6-like against its RTL: exact on 2 of 3 kernels.";
    let page = tollgate_report::html(&[of_trap(Some("exact on 2 of 3 kernels"))]);
    assert_eq!(page.matches(sentence).count(), 1, "once for all rows");
    let page = tollgate_report::html(&[of_trap(None)]);
    assert!(!page.contains("against its RTL"));
    let page = tollgate_report::html(&[ledger()]);
    assert!(page.contains("rocket against its RTL: exact on 58 of 60 kernels; traps within 1.0 %."));
}

#[test]
fn a_comparison_adds_up_what_was_compared() {
    let text = view(&validation(), &WIDE);
    assert!(text.contains("\na, timed core b\n"), "{text}");
    // One of two; the mean of 0 and 3 %; 5 of 200 cycles.
    let kernels = ["1", "2", "1.5", "%", "-3.0", "%", "divide", "2.5", "%", "200"];
    assert_eq!(row(&text, "kernels, warm"), kernels);
    // 2 of 200 and 0 of 110; 6 of 310.
    assert_eq!(row(&text, "traps, warm")[..7], ["1", "2", "0.5", "%", "+1.0", "%", "full"]);
    assert_eq!(row(&text, "traps, cold")[..7], ["1", "2", "5.0", "%", "+10", "%", "full"]);
    // Each latency counts; the program that was not compared is in no line.
    assert_eq!(row(&text, "interrupts")[..2], ["3", "4"]);
    assert!(!text.lines().any(|line| line.starts_with("programs")), "{text}");
    assert!(text.contains("hash: another instruction"), "{text}");
}

#[test]
fn the_phases_of_all_traps_are_summed() {
    let text = view(&validation(), &WIDE);
    // 290 and 292 cycles, 6 apart; 590 and 630, 60 apart.
    let save = ["290", "292", "+0.7", "%", "2.1", "%", "590", "630", "+6.8", "%", "10", "%"];
    assert_eq!(row(&text, "register save"), save);
    assert_eq!(row(&text, "return")[..3], ["20", "20", "+0.0"]);
    // Of several cores only the table of each is printed.
    let mut two = validation();
    if let tollgate_record::Asked::Validation(asked) = &mut two.results[0].asked {
        asked.core = "c".into();
    }
    let text = view(&two, &WIDE);
    assert!(!text.contains("register save") && !text.contains("hash:"), "{text}");
}

/// Go's own reader sees the paths of the record, the innermost function first.
#[test]
fn pprof_reads_each_path() {
    let Some(go) = tollgate_testkit::program("go") else {
        return tollgate_testkit::skip!("go is missing: apt-get install golang-go");
    };
    let format = Format::named("pprof").unwrap();
    let exported = format.export(&ledger()).unwrap();
    assert!(exported.left_out[0].1.starts_with("1,500 cycles of calls"), "{:?}", exported.left_out);
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("profile.pb.gz");
    std::fs::write(&path, exported.bytes).unwrap();
    let out = std::process::Command::new(go).args(["tool", "pprof", "-raw"]).arg(&path).output().unwrap();
    let text = String::from_utf8_lossy(&out.stdout);
    let part = |from: &str, to: &str| -> Vec<String> {
        let part = text.split_once(from).unwrap().1.split_once(to).unwrap().0;
        part.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
    };
    let samples = ["cycles/count", "750: 1", "4000: 2 1", "5000: 2 2 1", "250: 3 2 2 1"];
    assert_eq!(part("Samples:\n", "Locations"), samples);
    let names: Vec<String> = part("Locations\n", "Mappings")
        .iter()
        .map(|line| line.split(' ').nth(3).unwrap().to_owned())
        .collect();
    assert_eq!(names, ["main", "sort", "handler;1"]);
    let nothing = format.export(&validation()).unwrap_err();
    assert!(matches!(nothing, ExportError::Nothing("pprof", _)), "{nothing}");
}

#[test]
fn folded_stacks_have_a_line_for_each_path() {
    let format = Format::named("folded").unwrap();
    let folded = format.export(&ledger()).unwrap();
    let lines = ["main 750", "main;sort 4000", "main;sort;sort 5000", "main;sort;sort;handler:1 250"];
    assert_eq!(folded.text().lines().collect::<Vec<_>>(), lines);
    let [(row, why)] = &folded.left_out[..] else { panic!("{:?}", folded.left_out) };
    assert!(
        row.starts_with("riscv-program/profile") && why.starts_with("1,500 cycles of calls"),
        "{row}: {why}"
    );
    let nothing = format.export(&validation()).unwrap_err();
    assert!(matches!(nothing, ExportError::Nothing("folded", _)), "{nothing}");
    // A caller that is not there, as in a damaged record.
    let mut damaged = ledger();
    if let Found::Program(found) = &mut damaged.results[0].found {
        found.paths[0].caller = Some(9);
    }
    assert_eq!(format.export(&damaged).unwrap().text().lines().next(), Some("main 750"));
}
