//! The outputs that pages show: `$ tollgate ...` in a `console` block, and what it prints.
//!
//! What the simulator prints is compared byte for byte, without the line that describes the host. What this host
//! measures is compared in its shape: the command succeeds, and each shown line without a digit (a heading) is
//! printed. `...` stands for lines that are left out.

use crate::pages::{self, Block, Page};
use crate::{root, shell};
use std::path::Path;
use tollgate_testkit::Recorded;

fn shown(page: &Page) -> Vec<Block> {
    let is_call = |block: &Block| block.lines.first().is_some_and(|line| line.starts_with("$ tollgate"));
    page.blocks().into_iter().filter(|block| block.mark == "console" && is_call(block)).collect()
}

fn is_simulated(call: &str) -> bool {
    call.starts_with("tollgate riscv ")
}

/// What a simulation prints, without the line of the host and the seed.
fn printed(call: &str, home: &Path) -> Vec<String> {
    let output = shell(&format!("{call} --no-save"), home);
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

#[test]
fn measured_outputs_have_the_headings_that_pages_show() {
    let root = root();
    let home = tempfile::tempdir().unwrap();
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
            let headings = block.lines[1..].iter().map(|line| line.trim()).filter(|line| {
                !line.is_empty() && *line != "..." && !line.contains(|c: char| c.is_ascii_digit())
            });
            for heading in headings {
                let printed = text.lines().any(|line| line.trim() == heading);
                assert!(printed, "{}:{}: {call} does not print {heading:?}:\n{text}", page.name, block.line);
            }
        }
    }
    assert!(count >= 2, "{count} outputs");
}
