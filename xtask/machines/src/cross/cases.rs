//! What the program must do on every architecture, one row each.

use crate::rows::{host_rows, missing_proof, must_be_measured, problem};
use anyhow::{Context, Result, ensure};
use tollgate_record::Measurement;

/// One call of the program and the check of its output.
pub(super) struct Case {
    pub(super) name: &'static str,
    args: &'static [&'static str],
    pub(super) check: Check,
}

/// What the output must be.
pub(super) enum Check {
    /// A text with this property.
    Text(fn(&str) -> bool),
    /// Byte for byte the output of the program for this machine's own architecture: it must not depend on the host.
    AsHere,
    /// A record in which each row is measured or skipped with a reason, proofs hold, and these rows are measured.
    Rows(&'static [&'static str]),
}

/// Stands for a file, whose text is judged instead of standard output.
const OUT: &str = "{out}";

/// Makes 130,000 instructions of system calls, so that a bill has each kind of figure.
const GUEST: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../guests/riscv/images/enhanced_ctx_switch-linux.elf");

/// Every case. Those with rows are in the table of `docs/reference/architectures.md`.
pub(super) static CASES: &[Case] = &[
    Case { name: "version", args: &["--version"], check: Check::Text(|text| text.starts_with("tollgate ")) },
    Case { name: "riscv trap", args: &["riscv", "trap"], check: Check::AsHere },
    Case {
        name: "riscv trap, in cycles",
        args: &["riscv", "trap", "--kernel", "full", "--core", "cva6"],
        check: Check::AsHere,
    },
    Case {
        name: "riscv exec",
        args: &[
            "riscv",
            "exec",
            "--no-save",
            "--user-only",
            "--core",
            "cva6",
            "--json",
            "--out",
            OUT,
            "--",
            GUEST,
        ],
        check: Check::AsHere,
    },
    Case { name: "doctor", args: &["doctor"], check: Check::Text(|text| !text.is_empty()) },
    Case {
        name: "run",
        args: &["run", "--quick", "--seed", "1", "--json", "*"],
        check: Check::Rows(&[
            "null",
            "call/direct",
            "call/indirect",
            "vdso/clock_gettime",
            "fiber/own",
            "fiber/own-fp",
            "fiber/corosensei",
            "syscall/getppid",
            "syscall/clock_gettime",
            "signal/self",
            "fault/anonymous",
            "fault/protection",
            "thread/pipe",
            "process/pipe",
        ]),
    },
    Case {
        name: "fault kinds",
        args: &["fault", "kinds", "--quick", "--seed", "1", "--json"],
        check: Check::Rows(&["fault/anonymous", "fault/protection", "fault/zero-page"]),
    },
    Case {
        name: "crossing",
        args: &["crossing", "--quick", "--seed", "1", "--json"],
        check: Check::Rows(&["syscall/getppid", "syscall/invalid", "fault/protection"]),
    },
    Case {
        name: "ring",
        args: &["ring", "--quick", "--seed", "1", "--json", "--procs", "2,3", "--size", "0,16K"],
        check: Check::Rows(&["ring/pipe"]),
    },
    Case {
        name: "ring of threads",
        args: &[
            "ring", "--quick", "--seed", "1", "--json", "--procs", "2", "--size", "0", "--tasks", "thread",
            "--medium", "futex",
        ],
        check: Check::Rows(&["ring/futex"]),
    },
];

impl Case {
    /// The arguments; commands that measure save their runs in `store`, and those that have [`OUT`] write to `out`.
    pub(super) fn args(&self, store: &str, out: &str) -> Vec<String> {
        let mut args: Vec<String> =
            self.args.iter().map(|&arg| if arg == OUT { out } else { arg }.to_owned()).collect();
        if matches!(self.check, Check::Rows(_)) {
            args.extend(["--store".to_owned(), store.to_owned()]);
        }
        args
    }

    /// Checks the output; `here` is the output of the program for this machine's own architecture. Returns the rows, if
    /// the output is a record.
    ///
    /// # Errors
    /// A sentence that says what is wrong.
    pub(super) fn judge(&self, stdout: &str, here: Option<&str>) -> Result<Option<Vec<Measurement>>> {
        match self.check {
            Check::Text(good) => ensure!(good(stdout), "it printed: {}", first_line(stdout)),
            Check::AsHere => {
                ensure!(!stdout.is_empty(), "it printed nothing");
                // Without a program for this machine the output is compared with itself.
                let (stdout, here) = (simulated(stdout), simulated(here.unwrap_or(stdout)));
                let differing = stdout.lines().zip(here.lines()).find(|(there, here)| there != here);
                if let Some((there, here)) = differing {
                    anyhow::bail!(
                        "it printed `{}` where this machine prints `{}`",
                        there.trim(),
                        here.trim()
                    );
                }
                ensure!(stdout == here, "it printed {} bytes and this machine {}", stdout.len(), here.len());
            }
            Check::Rows(musts) => {
                let rows = host_rows(stdout).context("its output is not a record")?;
                let problems = rows.iter().filter_map(|row| problem(row).or_else(|| missing_proof(row)));
                let problems: Vec<String> = problems.collect();
                ensure!(problems.is_empty(), "{}", problems.join("; "));
                for must in musts {
                    must_be_measured(&rows, must)?;
                }
                return Ok(Some(rows));
            }
        }
        Ok(None)
    }
}

/// The simulated part. Of a record: the bytes behind `host` and before `checksum`; in front are `id`, `started`, `tool` and `command`.
/// Of a text: all but the head, which names the machine, and the last line, which names the saved run.
fn simulated(text: &str) -> &str {
    let is_record = text.starts_with('{');
    let end = if is_record { "\n  \"checksum\": " } else { "\nsaved as " };
    let body = match text.split_once(if is_record { "\n  \"warnings\": " } else { "\n\n" }) {
        Some((head, body)) if is_record || head.contains("seed ") => body,
        _ => text,
    };
    body.rsplit_once(end).map_or(body, |(body, _)| body)
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or("nothing")
}

#[cfg(test)]
mod tests {
    use super::{CASES, Case, Check};
    use tollgate_record::{Estimate, Host, Measurement, Per, Run, Status, Tool, document};

    #[test]
    fn each_case_is_listed_once() {
        for (index, case) in CASES.iter().enumerate() {
            assert!(!CASES[..index].iter().any(|other| other.name == case.name), "{}", case.name);
        }
    }

    #[test]
    fn one_different_byte_is_an_error() {
        let case = Case { name: "x", args: &[], check: Check::AsHere };
        assert!(case.judge("a\nb\n", Some("a\nb\n")).is_ok());
        let error = case.judge("a\nc\n", Some("a\nb\n")).err().unwrap().to_string();
        assert_eq!(error, "it printed `c` where this machine prints `b`");
        assert!(case.judge("a\n", Some("a\nb\n")).is_err());
        assert!(case.judge("", None).is_err());
        let run = |host: &str, id: &str| format!("{host}   seed 0\n\n7 cycles\n\nsaved as {id}\n");
        assert!(case.judge(&run("one", "a"), Some(&run("other", "b"))).is_ok());
    }

    #[test]
    fn of_a_record_only_the_host_and_the_name_may_differ() {
        let case = Case { name: "x", args: &[], check: Check::AsHere };
        let record = |id: &str, arch: &str, cycles: u32| {
            let host = Host { arch: arch.to_owned(), ..Host::default() };
            let tool = Tool { version: String::new(), commit: String::new() };
            let mut run = Run::begin(id.to_owned(), String::new(), tool, Vec::new(), host, 0);
            let mut row = Measurement::empty("a/b", "embedded", Per::Run, Status::Measured);
            row.cycles = Some(Estimate::within(f64::from(cycles), [0.0, 9.0]));
            run.results.push(row);
            document::to_json(&run).unwrap()
        };
        let one = record("one", "x86_64", 7);
        assert!(case.judge(&record("other", "aarch64", 7), Some(&one)).is_ok());
        let error = case.judge(&record("other", "aarch64", 8), Some(&one)).err().unwrap().to_string();
        assert_eq!(error, "it printed `\"estimate\": 8.0,` where this machine prints `\"estimate\": 7.0,`");
    }
}
