//! A command of this program as a process of its own, beside other steps.

use super::steps::{outcome, watch};
use anyhow::{Context, Result};
use std::path::Path;
use std::process::Command;
use tollgate_testkit::{Missing, SKIPS};

/// The exit status of a command that cannot run here because something is missing, as of a skipped test of Automake.
pub(crate) const MISSING: u8 = 77;

/// What such a process leaves to the others.
#[derive(Clone, Copy)]
pub(super) enum Priority {
    /// An equal share of the processors.
    Equal,
    /// All that they can use. For builds, which have no time limit.
    Lowest,
}

/// Runs `cargo xtask` with these words, which adds skipped tests to the list `skips`. Returns how it ended and what it printed.
pub(super) fn run(words: &[&str], priority: Priority, skips: &Path) -> (Result<()>, Vec<u8>) {
    let mut output = Vec::new();
    let ended = std::env::current_exe().context("the path of this program").and_then(|program| {
        let mut command = command(&program, priority);
        watch(command.args(words).env(SKIPS, skips), &mut output, |_| {})
    });
    let ended = ended.and_then(|status| match status.code() {
        Some(code) if code == i32::from(MISSING) => Err(Missing(reason(&output)).into()),
        _ => outcome(status),
    });
    (ended, output)
}

fn command(program: &Path, priority: Priority) -> Command {
    match priority {
        Priority::Equal => Command::new(program),
        Priority::Lowest => {
            let mut nice = Command::new("nice");
            nice.args(["-n", "19"]).arg(program);
            nice
        }
    }
}

/// The last line, which says what is missing.
fn reason(output: &[u8]) -> String {
    let text = String::from_utf8_lossy(output);
    let last = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it gave no reason");
    last.trim_start_matches("error: ").to_owned()
}

#[cfg(test)]
mod tests {
    use super::{Priority, command, reason, run};
    use std::path::Path;

    /// The program that is called is this one: the tests.
    #[test]
    fn the_output_and_the_failure_of_the_program_are_returned() {
        let called = |words: &[&str]| run(words, Priority::Lowest, Path::new("unused"));
        let (ended, output) = called(&["--list", "what_is_missing"]);
        assert!(
            ended.is_ok() && String::from_utf8_lossy(&output).contains("what_is_missing_is"),
            "{ended:?}"
        );
        let (ended, output) = called(&["--no-such-option"]);
        assert!(ended.is_err() && String::from_utf8_lossy(&output).contains("no-such-option"), "{ended:?}");
    }

    #[test]
    fn what_is_missing_is_the_last_line() {
        assert_eq!(
            reason(b"  pip3 install\nerror: pip cannot reach its registry\n\n"),
            "pip cannot reach its registry"
        );
        assert_eq!(reason(b""), "it gave no reason");
    }

    #[test]
    fn the_lowest_priority_is_that_of_the_process() {
        // The 19th field (proc_pid_stat(5)), behind the name in parentheses.
        let mut command = command(Path::new("cat"), Priority::Lowest);
        let text = tollgate_testkit::printed(command.arg("/proc/self/stat")).expect("cat runs");
        let mut fields = text.rsplit_once(')').expect("a name").1.split_whitespace();
        assert_eq!(fields.nth(16), Some("19"));
    }
}
