//! `cargo xtask vm`: tollgate on other machines and kernels, under QEMU's software emulation.
//!
//! Each case boots one of Debian's kernels with our static program in a file system in memory, runs a few scripts, reads
//! their output from the serial console, and checks it. No privilege is needed.

mod arch;
mod boot;
mod cases;
mod checks;
mod console;
mod debian;
mod expect;
mod output;
mod parts;
mod table;

use anyhow::{Context, Error, Result, bail, ensure};
use boot::{Booted, End, boot_once};
use cases::{CASES, Case, Ending};
use output::CaseOutput;
use parts::{Parts, Store};
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Duration;
use table::CaseResult;
use tollgate_testkit::workspace;

/// Boot Debian kernels under software emulation, run tollgate in them and check what they print
#[derive(clap::Args)]
pub struct Args {
    /// Cases by name; all when none is given
    #[arg(value_name = "CASE")]
    cases: Vec<String>,
    /// List the cases and end
    #[arg(long)]
    list: bool,
    /// Keep what each guest printed as NAME.txt in this folder
    #[arg(long, value_name = "DIR")]
    consoles: Option<PathBuf>,
    /// Guests that run at the same time
    #[arg(long, value_name = "N", default_value_t = JOBS)]
    jobs: usize,
    /// Seconds that one boot may take
    #[arg(long, value_name = "N", default_value_t = LIMIT)]
    limit: u64,
}

/// One more than the cores of a small machine, because guests also wait and are prepared while others run.
const JOBS: usize = 3;
const LIMIT: u64 = 60;

/// Lines of the console that are printed when a guest fails.
const LAST_LINES: usize = 20;

impl Args {
    /// All cases.
    #[must_use]
    pub fn all() -> Self {
        Self { cases: vec![], list: false, consoles: None, jobs: JOBS, limit: LIMIT }
    }

    /// Runs the cases and prints the table.
    ///
    /// # Errors
    /// When a case failed, or the page differs.
    pub fn run(&self) -> Result<()> {
        if self.list {
            CASES.iter().for_each(|case| println!("{:<20} {}", case.name, case.what));
            return Ok(());
        }
        self.rows().map(drop)
    }

    /// Runs the cases, prints the table, and returns the cases that were skipped, with the reasons.
    ///
    /// # Errors
    /// As [`Args::run`].
    pub fn rows(&self) -> Result<Vec<(&'static str, String)>> {
        let root = workspace::root()?;
        let chosen = chosen(&self.cases)?;
        if let Some(folder) = &self.consoles {
            std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
        }
        let mut store = Store::new(&root)?;
        let mut rows = self.run_cases(
            chosen.into_iter().map(|case| store.parts(case.arch, case.line).map(|parts| (case, parts))),
        )?;
        rows.sort_by_key(|row| CASES.iter().position(|case| case.name == row.case.name));
        print!("{}", table::terminal(&rows));
        for row in &rows {
            if let Some(why) = &row.skipped {
                println!("  skipped: {}: {why}", row.case.name);
            }
        }
        // Only cases that passed change the page.
        let page = table::check(&rows).map_err(Error::msg);
        let failed: Vec<&str> =
            rows.iter().filter(|row| !row.problems.is_empty()).map(|row| row.case.name).collect();
        ensure!(failed.is_empty(), "failed: {}", failed.join(", "));
        page?;
        Ok(rows.into_iter().filter_map(|row| Some((row.case.name, row.skipped?))).collect())
    }

    /// Runs several cases at the same time, and obtains the parts of the next one meanwhile. Problems are printed
    /// immediately.
    ///
    /// # Errors
    /// The first error in obtaining parts.
    fn run_cases(
        &self,
        cases: impl Iterator<Item = Result<(&'static Case, Result<Parts, String>)>> + Send,
    ) -> Result<Vec<CaseResult>> {
        let queue = Mutex::new(cases);
        let next = || queue.lock().ok()?.next();
        let run = |next: Result<(&'static Case, Result<Parts, String>)>| {
            let (case, parts) = next?;
            let row = match parts {
                Ok(parts) => self.case(case, &parts),
                Err(why) => CaseResult { skipped: Some(why), ..CaseResult::of(case) },
            };
            row.problems.iter().for_each(|problem| println!("  {}: {problem}", case.name));
            Ok(row)
        };
        let work = || std::iter::from_fn(&next).map(&run).collect::<Result<Vec<_>>>();
        let rows = std::thread::scope(|scope| {
            let workers: Vec<_> = (0..self.jobs.max(1)).map(|_| scope.spawn(work)).collect();
            let ended = workers.into_iter().map(|worker| worker.join());
            ended.map(|rows| rows.unwrap_or_else(|_| bail!("a case panicked"))).collect::<Result<Vec<_>>>()
        })?;
        Ok(rows.into_iter().flatten().collect())
    }

    /// One case with all its boots.
    fn case(&self, case: &'static Case, parts: &Parts) -> CaseResult {
        let mut row = CaseResult::of(case);
        let mut boots = Vec::new();
        for _ in 0..case.boots {
            let limit = Duration::from_secs(case.limit.unwrap_or(self.limit));
            let booted = match boot_once(case, parts, limit) {
                Ok(booted) => booted,
                Err(error) => {
                    row.problems.push(format!("{error:#}"));
                    return row;
                }
            };
            row.seconds += booted.seconds;
            if let Some(folder) = &self.consoles {
                let _ = std::fs::write(folder.join(format!("{}.txt", case.name)), &booted.console);
            }
            if let Some(problem) = wrong_end(case.ends, &booted) {
                row.problems.push(problem);
                return row;
            }
            boots.push(console::sections(&booted.console));
        }
        if case.ends == Ending::Off {
            match CaseOutput::read(case.scripts, &boots) {
                Ok(output) => {
                    row.counts = (!output.runs.is_empty()).then(|| output.counts());
                    row.problems = output.problems();
                    row.problems.extend(expect::problems(case, &output));
                }
                Err(error) => row.problems.push(format!("{error:#}")),
            }
        }
        row
    }
}

/// What is wrong with the end of a guest, with the last lines of its console.
fn wrong_end(ends: Ending, booted: &Booted) -> Option<String> {
    let console = &booted.console;
    let (end, what) = match &booted.end {
        End::Off if console.contains("Kernel panic") => {
            (Some(Ending::Panics), "the guest's kernel panicked".into())
        }
        End::Off if console.contains(console::DONE) => (Some(Ending::Off), "the guest powered off".into()),
        End::Off => (None, "the guest ended before its scripts did".into()),
        End::Hung => (Some(Ending::Hangs), format!("no end within {:.0} s; it was ended", booted.seconds)),
        End::Emulator(why) => (None, format!("the emulator ended with {why}")),
    };
    if end == Some(ends) {
        return None;
    }
    let last = console::tail(console, LAST_LINES);
    Some(format!("{what}; the last {} lines of its console:\n    {}", last.len(), last.join("\n    ")))
}

/// The cases of these names, or all.
fn chosen(names: &[String]) -> Result<Vec<&'static Case>> {
    if names.is_empty() {
        return Ok(CASES.iter().collect());
    }
    let named = |name: &String| {
        let case = CASES.iter().find(|case| case.name == name);
        case.with_context(|| format!("there is no case {name}: cargo xtask vm --list names them"))
    };
    names.iter().map(named).collect()
}

#[cfg(test)]
mod tests {
    use super::{Booted, End, Ending, chosen, wrong_end};

    fn booted(end: End, console: &str) -> Booted {
        Booted { end, console: console.into(), seconds: 60.0 }
    }

    #[test]
    fn an_unexpected_end_is_reported_with_the_last_lines() {
        assert_eq!(wrong_end(Ending::Off, &booted(End::Off, "@@ done")), None);
        let lines: Vec<String> = (0..30).map(|line| format!("line {line}")).collect();
        let panic = booted(End::Off, &format!("{}\nKernel panic - not syncing\n", lines.join("\n")));
        assert_eq!(wrong_end(Ending::Panics, &panic), None);
        let problem = wrong_end(Ending::Off, &panic).unwrap();
        assert!(problem.starts_with("the guest's kernel panicked; the last 20 lines"), "{problem}");
        assert!(
            problem.contains("line 29") && problem.contains("line 11\n") && !problem.contains("line 10\n"),
            "{problem}"
        );
        let hung = wrong_end(Ending::Off, &booted(End::Hung, "deaf")).unwrap();
        assert!(hung.starts_with("no end within 60 s") && hung.ends_with("deaf"), "{hung}");
        // A guest that must hang and does not is wrong too.
        assert!(wrong_end(Ending::Hangs, &booted(End::Off, "@@ done")).is_some());
        let half = wrong_end(Ending::Off, &booted(End::Off, "@@ begin x")).unwrap();
        assert!(half.contains("before its scripts did"), "{half}");
    }

    #[test]
    fn an_unknown_case_is_named() {
        let error = chosen(&["no-such".to_owned()]).err().unwrap().to_string();
        assert!(error.contains("no-such") && error.contains("--list"));
    }
}
