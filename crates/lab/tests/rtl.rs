//! The timed model against what the RTL of cores did: facts on one side, so that each change of the model shows here. A
//! program of its own: who changes a core builds and runs it alone.

use std::path::Path;
use std::thread;

use strum::VariantArray;
use tollgate_lab::Phase;
use tollgate_lab::rtl::{Compared, Cycles, Part, SUBJECTS, Subject, Summary};
use tollgate_testkit::Recorded;

#[test]
fn the_model_is_as_near_to_the_rtl_as_recorded() {
    // The cores one beside the other: all together take half a minute.
    let parts = thread::scope(|scope| {
        let cores: Vec<_> = SUBJECTS.iter().map(|subject| scope.spawn(|| compared(subject))).collect();
        cores.into_iter().map(|core| core.join().unwrap()).collect::<Vec<_>>()
    });
    let text: String = parts.iter().map(|part| part.0.as_str()).collect();
    let rows: String = parts.iter().map(|part| part.1.as_str()).collect();
    let phases: String = parts.iter().map(|part| part.2.as_str()).collect();
    let beyond: String = parts.iter().map(|part| part.3.as_str()).collect();
    let head = "| core | part | exact | mean error | worst | at | apart |\n|---|---|---|---|---|---|---|";
    let bill = interrupt_bill();
    let page = format!("\n{head}\n{rows}\n{PHASES}\n{phases}\n{BEYOND}\n{beyond}\n{BILL}\n{bill}");
    // Both are written before one of them is compared.
    let page = Recorded::in_page("rtl", "docs/reference/validation.md").check(&format!("{page}\n"));
    Recorded::file("rtl", "crates/lab/tests/rtl.txt").assert(&text);
    page.unwrap_or_else(|error| panic!("{error}"));
}

/// What comes before the table of phases.
const PHASES: &str = "\
### By phase of a trap

The same traps, all programs of a core together. The time behind a trap belongs to the hardware trap until the handler's first
instruction retires, and behind a return to the return.

| core | phase | warm RTL | error | apart | cold RTL | error | apart |
|---|---|---|---|---|---|---|---|";

/// What comes before the table of phases that differ.
const BEYOND: &str = "\
### Phases of warm traps that differ

Each phase of each program and memory latency that differs by more than 1 % and by more than a cycle for each crossing.

| core | phases | differ | at (cycles for each crossing) |
|---|---|---|---|";

/// What comes before the table of interrupts.
const BILL: &str = "\
### The bill of an interrupt, with and without a CLIC

Cycles in the RTL of CV32E40X; the model has the same. *To the handler* is from the line's rise to the retirement of the handler's first
instruction, over four loops that it interrupts; *one* is from a store that raises the software interrupt to the program's next
instruction behind the handler, with all registers that a C function may overwrite saved; *two* is that of two interrupts that are
pending at once.

| interrupts | entry | to the handler | one | two |
|---|---|---|---|---|";

/// A row for each way to enter a handler of CV32E40X, in cycles of its RTL.
fn interrupt_bill() -> String {
    let mut rows = String::new();
    for (core, interrupts, name, entry) in [
        ("cv32e40x", "CLINT", "direct", "one, by `mcause`"),
        ("cv32e40x", "CLINT", "vectored", "one for each cause"),
        ("cv32e40x-clic", "CLIC", "direct", "one, by `mcause`"),
        ("cv32e40x-clic", "CLIC", "next", "one, by `mnxti` until nothing is pending"),
        ("cv32e40x-clic", "CLIC", "vectored", "one for each cause, by the table"),
    ] {
        let subject = Subject::find(core).unwrap();
        let all = subject.validate_part(Part::Interrupts).unwrap();
        let by_table = core != "cv32e40x" && name == "vectored";
        let loops = all.iter().filter(|it| it.program.ends_with("-table") == by_table);
        let latencies: Vec<_> =
            loops.flat_map(|it| &it.score.as_ref().unwrap().latencies).map(|it| it.rtl).collect();
        let [least, most] = [latencies.iter().min(), latencies.iter().max()].map(|it| *it.unwrap());
        let traps = subject.validate_part(Part::Traps).unwrap();
        let [one, two] = ["interrupt", "pair"].map(|kind| {
            let it = traps.iter().find(|it| it.program == format!("{kind}.{name}")).unwrap();
            let score = it.score.as_ref().unwrap();
            assert!(score.steady.exact() && score.steady.rtl.is_multiple_of(score.passes), "{}", it.program);
            score.steady.rtl / score.passes
        });
        rows += &format!("| {interrupts} | {entry} | {least} to {most} | {one} | {two} |\n");
    }
    rows
}

/// The lines of a core, and its rows in the book's tables.
fn compared(subject: &Subject) -> (String, String, String, String) {
    let (mut text, mut page) = (String::new(), String::new());
    let (mut by_phase, mut beyond) = (String::new(), String::new());
    for &part in Part::VARIANTS {
        let scores = subject.validate_part(part).unwrap();
        let golden: Vec<_> = scores.iter().map(|it| (it.program.as_str(), it.latency)).collect();
        let programs = subject.programs(part).unwrap();
        let corpus: Vec<_> = programs.iter().map(|it| (it.name.as_str(), it.latency)).collect();
        assert_eq!(golden, corpus, "{} {}: run `cargo xtask rtl --core {0}`", subject.name, part.name());
        // Only of traps the first is told from the others.
        let temperatures: &[&str] = if part == Part::Traps { &[" warm", " cold"] } else { &[""] };
        for temperature in temperatures.iter().filter(|_| !scores.is_empty()) {
            let cold = *temperature == " cold";
            text += &format!("{} {}{temperature}: {}\n", subject.name, part.name(), line(&scores, cold));
            page += &row(&format!("`{}` | {}{temperature}", subject.name, part.name()), &scores, cold);
        }
        by_phase += &phases(subject.name, &scores);
        if part == Part::Traps && !scores.is_empty() {
            beyond += &differing(subject.name, &scores);
        }
    }
    (text, page, by_phase, beyond)
}

/// The phases of warm traps that differ, in a row.
fn differing(core: &str, scores: &[Compared]) -> String {
    let (mut all, mut differ) = (0, Vec::new());
    for it in scores {
        let Ok(score) = &it.score else { continue };
        for phase in score.phases.iter().filter(|phase| phase.steady.rtl > 0) {
            all += 1;
            let cycles = phase.steady.model as f64 - phase.steady.rtl as f64;
            let crossing = cycles / score.passes as f64;
            if crossing.abs() > 1.0 && cycles.abs() > 0.01 * phase.steady.rtl as f64 {
                let name = phase.phase.name().replace('-', " ");
                differ.push(format!("`{}` with {}: {name} {crossing:+.1}", it.program, it.latency));
            }
        }
    }
    format!("| `{core}` | {all} | {} | {} |\n", differ.len(), differ.join("; "))
}

/// A row for each phase of all traps together.
fn phases(core: &str, scores: &[Compared]) -> String {
    let all: Vec<_> =
        scores.iter().filter_map(|it| it.score.as_ref().ok()).flat_map(|it| &it.phases).collect();
    let mut rows = String::new();
    for &phase in Phase::ALL {
        let mut sums = [Cycles::default(); 2];
        for it in all.iter().filter(|it| it.phase == phase) {
            sums[0] += it.steady;
            sums[1] += it.cold;
        }
        if sums.iter().any(|sum| sum.rtl > 0) {
            let cells = sums.map(|sum| {
                if sum.rtl == 0 {
                    return "0 | | ".to_owned();
                }
                let apart = 100.0 * sum.absolute as f64 / sum.rtl as f64;
                format!("{} | {:+.1} % | {apart:.1} % ", sum.rtl, 100.0 * sum.error())
            });
            rows += &format!("| `{core}` | {} | {}|\n", phase.name().replace('-', " "), cells.join("| "));
        }
    }
    rows
}

/// The same in the book's table; of interrupts, each latency counts.
fn row(name: &str, scores: &[Compared], cold: bool) -> String {
    let summary = Summary::of(scores, cold);
    let (worst, program) = summary.worst.clone().unwrap_or_default();
    let latencies = scores.iter().filter_map(|it| it.score.as_ref().ok()).flat_map(|score| &score.latencies);
    let latencies: Vec<bool> = latencies.map(|it| it.exact()).collect();
    let [exact, of] = match latencies.len() {
        0 => [summary.exact, summary.programs],
        all => [latencies.iter().filter(|exact| **exact).count(), all],
    };
    let at = if worst == 0.0 { String::new() } else { program };
    let apart = summary.cycles.absolute as f64 / summary.cycles.rtl as f64;
    let [mean, worst, apart] = [summary.mean, worst, apart].map(|part| 100.0 * part);
    format!("| {name} | {exact} of {of} | {mean:.2} % | {worst:+.1} % | {at} | {apart:.2} % |\n")
}

/// One part of one core.
fn line(scores: &[Compared], cold: bool) -> String {
    let summary = Summary::of(scores, cold);
    let Summary { programs, exact, mean, cycles, others, .. } = &summary;
    let (worst, program) = summary.worst.clone().unwrap_or_default();
    format!(
        "{exact} of {programs} exact, mean {:.2} %, worst {:+.1} % ({program}), cycles {} here {} apart {}, {others} not \
         comparable",
        100.0 * mean,
        100.0 * worst,
        cycles.rtl,
        cycles.model,
        cycles.absolute,
    )
}

#[test]
fn the_golden_files_are_small() {
    let folder = tollgate_testkit::workspace::root().unwrap().join("guests/riscv/golden");
    let bytes: u64 = files(&folder).sum();
    assert!(bytes < 8 << 20, "{bytes}");
}

fn files(folder: &Path) -> impl Iterator<Item = u64> {
    folder.read_dir().unwrap().map(|entry| entry.unwrap().metadata().unwrap().len())
}
