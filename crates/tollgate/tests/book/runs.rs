//! Every command that a page shows is run as a reader would type it: in the order of the page, in a directory that has what
//! the clone has, with a store of its own. Commands that measure are shortened.
//!
//! A mark `<!-- not run: REASON -->` exempts commands that need what a test does not have (a kernel's image, minutes, a
//! network), or that command alone if REASON begins with one in code marks; `<!-- needs: PROGRAM -->` runs them only where
//! that program is.

use crate::commands::{Call, calls, end_of_call};
use crate::pages::{self, Mark, Page};
use crate::{root, shell_in};
use std::collections::BTreeSet;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Output;

/// A word such as `PROGRAM`, for which the reader types something else.
fn is_placeholder(word: &str) -> bool {
    let word = word.strip_suffix(".json").unwrap_or(word);
    !word.is_empty() && word.bytes().all(|it| it.is_ascii_uppercase() || it.is_ascii_digit()) && {
        word.as_bytes()[0].is_ascii_uppercase()
    }
}

/// Whether it shows how calls look, and is not one.
fn is_synopsis(call: &str) -> bool {
    call.contains("...") || call.contains("[-") || call.split([' ', '/']).any(is_placeholder)
}

/// Whether it names a command within a sentence: `tollgate riscv run`. What the README's table shows is typed as it is.
fn is_name(page: &str, call: &Call) -> bool {
    page != "README.md"
        && call.is_inline
        && !call.text.contains(['-', '\'', '/', '.', '>'])
        && call.text.split(' ').count() <= 3
}

/// Commands that measure for as long as they are asked to.
const MEASURING: [&str; 6] = ["run", "ring", "crossing", "fault kinds", "switch", "lat_ctx"];

/// The call with the shortest measurement that the command makes.
fn shortened(call: &str) -> String {
    const SHORT: &str = " --quick --budget-ms 60";
    let Some(at) = call.find("tollgate").map(|at| at + "tollgate".len()) else { return call.to_owned() };
    if call.starts_with("tollgate riscv trap ") && call.contains("--kernel all") {
        return format!("{call} --iterations 20");
    }
    if call.starts_with("tollgate exec --against ") {
        return call.replacen(" --against", " --count none --at-most 1s --against", 1);
    }
    let words = call[at..].trim_start();
    let is_bare = words.is_empty() || words.starts_with(['-', '>', '#', '|']);
    let Some(name) = MEASURING.iter().find(|name| format!("{words} ").starts_with(&format!("{name} ")))
    else {
        return if is_bare && call.starts_with("tollgate") {
            call.replace(" --quick", "").replacen("tollgate", &format!("tollgate{SHORT}"), 1)
        } else {
            call.to_owned()
        };
    };
    let call = call.replace(" --quick", "").replace(" --thorough", "");
    // `lat_ctx` takes options before its numbers only.
    let end = if *name == "lat_ctx" { at + 1 + name.len() } else { end_of_call(&call) };
    format!("{}{SHORT}{}", call[..end].trim_end(), &call[end..])
}

/// Whether a mark is of this call: one that begins with a command in code marks is of that command only.
fn of_call(mark: &str, call: &str) -> bool {
    let command = mark.strip_prefix('`').and_then(|mark| mark.split_once('`'));
    command.is_none_or(|(command, _)| call.starts_with(command))
}

/// Whether it failed only because the shortened measurement has no time for a row on a busy machine.
fn is_too_short(output: &Output) -> bool {
    let said = String::from_utf8_lossy(&output.stderr);
    let mut failed = said.lines().filter(|line| line.starts_with("tollgate: ")).peekable();
    failed.peek().is_some()
        && failed.all(|line| line.ends_with(" failed: the run ended before it gave a sample"))
}

/// Runs what a page shows, and lists what failed.
fn run(page: &Page, root: &Path, seen: &mut BTreeSet<String>, failed: &mut Vec<String>) -> usize {
    let mut steps: Vec<(usize, String)> = Vec::new();
    for mark in page.marks().into_iter().filter(|mark| mark.key == "first") {
        steps.push((mark.line, mark.text));
    }
    let marks = page.marks();
    for call in calls(page) {
        let holds = |mark: &&Mark| mark.lines.contains(&call.line) && of_call(&mark.text, &call.text);
        let exempt = marks.iter().filter(|mark| mark.key == "not run").any(|mark| holds(&mark));
        if exempt || is_synopsis(&call.text) || is_name(&page.name, &call) {
            continue;
        }
        if call.is_inline && !seen.insert(call.text.clone()) {
            continue;
        }
        let mut needs = marks.iter().filter(|mark| mark.key == "needs").filter(holds).map(|mark| &mark.text);
        if let Some(program) = needs.find(|program| tollgate_testkit::program(program).is_none()) {
            tollgate_testkit::skip_case!(&call.text, "{program} is missing");
            continue;
        }
        steps.push((call.line, call.text));
    }
    if steps.is_empty() {
        return 0;
    }
    // A mark above a block has a smaller number than the lines of the block.
    steps.sort_by_key(|(line, _)| *line);
    let place = tempfile::tempdir().unwrap();
    let (clone, home) = (place.path().join("clone"), place.path().join("home"));
    std::fs::create_dir(&clone).unwrap();
    std::fs::create_dir(&home).unwrap();
    for room in ["crates", "docs", "guests", "runtimes"] {
        symlink(root.canonicalize().unwrap().join(room), clone.join(room)).unwrap();
    }
    for (line, text) in &steps {
        let output = shell_in(&clone, &shortened(text), &home);
        if !output.status.success() && !is_too_short(&output) {
            let said = String::from_utf8_lossy(&output.stderr).trim_end().to_owned();
            failed.push(format!("{}:{line}: {text}\n  {}\n{said}", page.name, output.status));
        }
    }
    steps.len()
}

#[test]
fn every_command_of_every_page_runs() {
    let root = root();
    let chosen = std::env::var("TOLLGATE_CASE").unwrap_or_default();
    let (mut seen, mut failed, mut count) = (BTreeSet::new(), Vec::new(), 0);
    for page in pages::all(&root).iter().filter(|page| page.name != "CHANGELOG.md") {
        // The examples of a page that is made from docstrings are run with these.
        if page.name.contains(&chosen) && page.name != "docs/reference/python.md" {
            count += run(page, &root, &mut seen, &mut failed);
        }
    }
    assert!(failed.is_empty(), "{} of {count} commands failed:\n{}", failed.len(), failed.join("\n\n"));
    assert!(!chosen.is_empty() || count > 80, "{count} commands");
}

#[test]
fn calls_that_measure_are_shortened() {
    for (call, short) in [
        ("tollgate", "tollgate --quick --budget-ms 60"),
        ("tollgate --quick", "tollgate --quick --budget-ms 60"),
        ("tollgate run x > y", "tollgate run x --quick --budget-ms 60 > y"),
        ("tollgate crossing   # 20 seconds", "tollgate crossing --quick --budget-ms 60   # 20 seconds"),
        ("tollgate lat_ctx -s 64 2", "tollgate lat_ctx --quick --budget-ms 60 -s 64 2"),
        ("tollgate show latest", "tollgate show latest"),
        ("tollgate show", "tollgate show"),
        ("mkdir before", "mkdir before"),
    ] {
        assert_eq!(shortened(call), short);
    }
}

#[test]
fn names_and_synopses_are_not_calls() {
    for (text, run) in [
        ("tollgate compare OLD NEW", false),
        ("tollgate run PATTERN --against PROGRAM", false),
        ("tollgate compare fleet-records/A.json b.json", false),
        ("tollgate riscv run", false),
        ("tollgate run 'wake/*'", true),
        ("tollgate run --against-with 'env LD_BIND_NOW=1'", true),
        ("tollgate fault scan --size 64M,1G", true),
    ] {
        let call = Call { line: 1, text: text.to_owned(), is_inline: true };
        assert_eq!(!is_synopsis(text) && !is_name("page", &call), run, "{text}");
    }
}
