//! The outputs that pages show: `$ tollgate ...` in a `console` block, and what it prints.
//!
//! What the simulator prints is compared byte for byte, without the line that describes the host. What this host
//! measures is compared in its shape: the command succeeds, each shown heading is printed, and each shown row has the columns
//! of the row that is printed. `...` stands for lines that are left out.

use crate::commands::end_of_call;
use crate::pages::{self, Block, Page};
use crate::{root, shell};
use std::path::Path;
use tollgate_testkit::Recorded;

fn shown(page: &Page) -> Vec<Block> {
    let is_call = |block: &Block| block.lines.first().is_some_and(|line| line.starts_with("$ tollgate"));
    page.blocks().into_iter().filter(|block| block.mark == "console" && is_call(block)).collect()
}

pub(crate) fn is_simulated(call: &str) -> bool {
    call.starts_with("tollgate riscv ")
}

/// What a simulation prints, without the line of the host and the seed.
pub(crate) fn printed(call: &str, home: &Path) -> Vec<String> {
    let (own, rest) = call.split_at(end_of_call(call));
    let output = shell(&format!("{own} --no-save{rest}"), home);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{call}: {said}");
    let text = String::from_utf8(output.stdout).unwrap();
    let of_the_host = |line: &str| line.contains("   Linux ") && line.contains("seed ");
    let lines: Vec<&str> = text.trim_end().lines().filter(|line| !of_the_host(line)).collect();
    let first = lines.iter().position(|line| !line.is_empty()).unwrap_or(0);
    lines[first..].iter().map(|line| line.trim_end().to_owned()).collect()
}

#[test]
fn simulated_outputs_are_those_of_the_program() {
    let root = root();
    let home = tempfile::tempdir().unwrap();
    let mut count = 0;
    for page in pages::book(&root) {
        let mut lines: Vec<String> = page.text.lines().map(str::to_owned).collect();
        // From the end, so that line numbers before a replaced block stay right.
        for block in shown(&page).iter().rev() {
            let call = block.lines[0].trim_start_matches("$ ");
            if !is_simulated(call) {
                continue;
            }
            count += 1;
            let from = block.line;
            lines.splice(from..from + block.lines.len() - 1, printed(call, home.path()));
        }
        Recorded::file("book", &page.name).assert(&(lines.join("\n") + "\n"));
    }
    assert!(count >= 6, "{count} outputs");
}

/// Not the host, what is left out, or a warning.
fn is_of_the_table(line: &str) -> bool {
    let line = line.trim();
    !line.is_empty()
        && line != "..."
        && !line.starts_with("- ")
        && !line.contains("Linux ")
        && !line.contains("seed ")
}

/// The words of a line, with `N` for each figure and `U` for its unit, without bars and marks. An interval that was not
/// measured is `-`, so that no percent sign is kept.
fn shape(line: &str) -> Vec<String> {
    let is_figure = |word: &str| {
        let digits =
            word.trim_start_matches(['±', '+', '-', '<', '>', '(']).trim_end_matches(['M', 'G', 'T']);
        word == "-"
            || digits.starts_with(|c: char| c.is_ascii_digit()) && !digits.ends_with(char::is_alphabetic)
    };
    let word = |word: &str| match word {
        "ns" | "µs" | "us" | "ms" | "s" => "U".to_owned(),
        word if word.starts_with('±') && word.len() > 2 => "±N".to_owned(),
        word if is_figure(word) => "N".to_owned(),
        word => word.trim_end_matches('*').to_owned(),
    };
    let words =
        line.split_whitespace().filter(|word| !word.contains(['━', '╸']) && !matches!(*word, "(!)" | "%"));
    words.map(word).collect()
}

/// The words before the first figure.
fn label(shape: &[String]) -> &[String] {
    let end = shape.iter().position(|word| word.ends_with('N')).unwrap_or(shape.len());
    &shape[..end]
}

#[test]
fn shapes_have_columns_and_no_figures() {
    let words = |line| shape(line).join(" ");
    assert_eq!(
        words("  condvar*   2,132   7,874 4.3 %  5,077  ━━━╸  1.92 switches (!)"),
        "condvar N N N N N switches"
    );
    assert_eq!(
        words("  condvar*   5,388  13,440     -  1.851M  ━━━━━━  1.00 switches"),
        "condvar N N N N N switches"
    );
    assert_eq!(words("  null   1.5   6.3  10 %    -  ━"), "null N N N N");
    assert_eq!(
        words("  unattributed   -1e-13 ns    ±0   0.0 %  difference"),
        "unattributed N U ±N N difference"
    );
    assert_ne!(
        shape("clock_gettime  233 ns  ±3.5 %  861 cycles"),
        shape("clock_gettime  233 ns  861 cycles  ±3.5 %")
    );
    assert_eq!(label(&shape("system call getppid  233 ns")), ["system", "call", "getppid"]);
    assert_eq!(words("ns  cycles     ±     p99  1n  1µ  1m proof"), "U cycles ± p99 1n 1µ 1m proof");
}

#[test]
fn measured_outputs_have_the_headings_and_columns_that_pages_show() {
    let root = root();
    let home = tempfile::tempdir().unwrap();
    let mut wrong = Vec::new();
    let mut count = 0;
    for page in pages::book(&root) {
        for block in shown(&page) {
            let call = block.lines[0].trim_start_matches("$ ");
            if is_simulated(call) {
                continue;
            }
            count += 1;
            let call = call.replace(" --quick", "");
            let output = shell(&format!("{call} --quick --budget-ms 60 --no-save"), home.path());
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(output.status.success(), "{}:{}: {call}: {said}", page.name, block.line);
            let text = String::from_utf8(output.stdout).unwrap();
            for line in block.lines[1..].iter().filter(|line| is_of_the_table(line)) {
                let shape = shape(line);
                let label = label(&shape);
                // A row that this host skips is not printed.
                let mut same = text.lines().map(self::shape).filter(|it| self::label(it) == label).peekable();
                let is_there = same.peek().is_some() || label.len() < shape.len();
                if !is_there || same.peek().is_some() && !same.any(|it| it == shape) {
                    wrong.push(format!("{}:{}: {call} prints no line {shape:?}", page.name, block.line));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count >= 2, "{count} outputs");
}
