//! The summary: the steps, what did not run and why, what failed, and the count of tests: how many passed, which failed, and
//! which binary crashed, from the output of `cargo test`.

use anyhow::{Context, Result, ensure};
use regex::Regex;
use std::fmt::Write;
use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use tempfile::TempDir;
use tollgate_testkit::{Missing, SKIPS, Skip, workspace};

/// The environment variable that names the file with the list of test programs, which one step writes and others read.
pub(super) const PROGRAMS: &str = "TOLLGATE_TEST_PROGRAMS";

/// What the steps of one `cargo xtask test` share. Each is a process of its own, and finds the files by its environment.
pub(super) struct Session {
    pub(super) root: PathBuf,
    pub(super) fast: bool,
    /// Whether tests that take minutes run as well.
    pub(super) all: bool,
    /// The list of skipped tests, to which each test adds its own.
    pub(super) skips: PathBuf,
    /// What cargo said when it built the test programs.
    pub(super) programs: PathBuf,
    /// The folder of files that the environment does not name.
    _folder: TempDir,
}

impl Session {
    pub(super) fn new(fast: bool, all: bool) -> Result<Self> {
        let folder = tempfile::tempdir().context("a folder for lists")?;
        let file = |variable: &str| {
            std::env::var_os(variable).map_or_else(|| folder.path().join(variable), PathBuf::from)
        };
        let (skips, programs) = (file(SKIPS), file(PROGRAMS));
        Ok(Self { root: workspace::root()?, fast, all, skips, programs, _folder: folder })
    }

    /// Prints a skip and adds it to the list.
    ///
    /// # Errors
    /// When the list cannot be written.
    pub(super) fn skip(&self, skip: &Skip) -> Result<()> {
        use std::io::Write;
        println!("{skip}");
        let list = OpenOptions::new().create(true).append(true).open(&self.skips);
        list.and_then(|mut list| writeln!(list, "{skip}")).context("the list of skipped tests")
    }
}

/// Each skip of a list once, sorted: a test may run twice.
///
/// # Errors
/// When the list cannot be read.
pub(super) fn skips(list: &Path) -> Result<Vec<Skip>> {
    if !list.exists() {
        return Ok(Vec::new());
    }
    let list = fs::read_to_string(list).context("the list of skipped tests")?;
    let mut skips: Vec<Skip> = list.lines().filter_map(Skip::parse).collect();
    skips.sort();
    skips.dedup();
    Ok(skips)
}

/// The results of all test binaries.
#[derive(Default)]
pub(super) struct Tally {
    passed: usize,
    failed: usize,
    ignored: usize,
    /// Each failed test with its binary, and each binary that ended without a result.
    pub(super) failures: Vec<String>,
    /// The binary that has started and not printed its result yet.
    running: Option<String>,
    /// Binaries that printed no result.
    silent: Vec<String>,
    /// What each failed test printed, by the name of the test.
    words: Vec<(String, Vec<String>)>,
    /// Whether what follows is the output of the last of these.
    reads_words: bool,
}

static STARTED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^\s+(?:Running|Doc-tests) (.+?)(?: \([^()]+\))?$").expect("a valid pattern")
});
static FAILED: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^test (.+) \.\.\. FAILED$").expect("a valid pattern"));
/// What the test harness prints above the output of a failed test.
static WORDS: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^---- (.+) stdout ----$").expect("a valid pattern"));
/// So many lines of it are in the summary.
const MOST_WORDS: usize = 15;
static RESULT: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^test result: .*?(\d+) passed; (\d+) failed; (\d+) ignored;").expect("a valid pattern")
});

/// The last line of pytest, and one of its failures.
static PYTEST: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(?:(\d+) failed)?(?:, )?(?:(\d+) passed)?(?:, (\d+) skipped)?(?:, .*)? in [\d.]+s")
        .expect("a valid pattern")
});
static PYTEST_FAILED: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^(?:FAILED|ERROR) tests/(\S+\.py\S*)").expect("a valid pattern"));

impl Tally {
    /// Reads one line of the output.
    pub(super) fn line(&mut self, line: &str) {
        if let Some(words) = WORDS.captures(line) {
            self.words.push((words[1].to_owned(), Vec::new()));
            self.reads_words = true;
            return;
        }
        self.reads_words &= line != "failures:" && !line.starts_with("note: run with");
        if self.reads_words
            && let Some((_, words)) = self.words.last_mut()
        {
            let is_said = !line.trim().is_empty() && !line.starts_with("skipped: ");
            words.extend((is_said && words.len() < MOST_WORDS).then(|| line.to_owned()));
            return;
        }
        if let Some(started) = STARTED.captures(line) {
            self.silent.extend(self.running.replace(started[1].to_owned()));
        } else if let Some(failed) = FAILED.captures(line) {
            let binary = self.running.as_deref().unwrap_or("unknown binary");
            self.failures.push(format!("{} ({binary})", &failed[1]));
        } else if let Some(result) = RESULT.captures(line) {
            let number = |group: usize| result[group].parse::<usize>().unwrap_or(0);
            self.passed += number(1);
            self.failed += number(2);
            self.ignored += number(3);
            self.running = None;
        } else if let Some(failed) = PYTEST_FAILED.captures(line) {
            self.failures.push(format!("{} (python)", &failed[1]));
        } else if let Some(result) = PYTEST.captures(line) {
            let number = |group: usize| {
                result.get(group).and_then(|it| it.as_str().parse::<usize>().ok()).unwrap_or(0)
            };
            // A skipped test is on the list of skips, and is taken off there as one that passed.
            self.passed += number(2) + number(3);
            self.failed += number(1);
        }
    }

    /// Reads the end of the output. A binary without a result counts as a failed test, unless cargo succeeded: then it has its
    /// own harness.
    pub(super) fn end(&mut self, success: bool) {
        self.silent.extend(self.running.take());
        let silent = std::mem::take(&mut self.silent);
        if !success {
            self.failed += silent.len();
            self.failures
                .extend(silent.into_iter().map(|binary| format!("{binary}: ended without a result")));
        }
    }

    /// Adds the results of another step.
    pub(super) fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.ignored += other.ignored;
        self.failures.extend(other.failures);
        self.words.extend(other.words);
    }

    /// The counts. The test harness counts a skipped test as passed; a skipped case belongs to a test that did pass.
    pub(super) fn count(&self, skips: &[Skip]) -> String {
        let whole = skips.iter().filter(|skip| skip.case.is_none()).count();
        format!(
            "{} passed, {} failed, {} skipped",
            self.passed.saturating_sub(whole),
            self.failed,
            self.ignored + skips.len()
        )
    }
}

/// The result of a step. [`Missing`] is a reason to skip it; any other error is a failure.
pub(super) struct Report {
    pub(super) name: &'static str,
    pub(super) outcome: Result<()>,
    /// Wall-clock seconds.
    pub(super) seconds: f64,
    /// Processor seconds.
    pub(super) cpu: f64,
    pub(super) tally: Tally,
}

impl Report {
    fn failed(&self) -> bool {
        self.outcome.as_ref().is_err_and(|error| !error.is::<Missing>())
    }
}

/// Prints the summary. Its last line is the count of tests.
///
/// # Errors
/// When a step failed: the names of all that failed.
pub(super) fn print(reports: Vec<Report>, skips: &[Skip], seconds: f64) -> Result<()> {
    let failed = reports.iter().filter(|it| it.failed()).map(|it| it.name);
    let failed = failed.collect::<Vec<_>>().join(", ");
    print!("{}", text(reports, skips, seconds));
    ensure!(failed.is_empty(), "failed: {failed}");
    Ok(())
}

/// What was skipped, the steps, the longest first, and what failed: a reader who sees only the end sees why.
fn text(mut reports: Vec<Report>, skips: &[Skip], seconds: f64) -> String {
    let cpu: f64 = reports.iter().map(|it| it.cpu).sum();
    let mut out = String::from("\n");
    for skip in skips {
        let _ = writeln!(out, "{skip}");
    }
    let _ = writeln!(out, "\nsummary after {seconds:.1} s (CPU {cpu:.1} s)");
    let _ = writeln!(out, "  {:<8} {:>8} {:>8}", "step", "wall, s", "CPU, s");
    reports.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    let mut tally = Tally::default();
    for report in reports {
        let line = match &report.outcome {
            Ok(()) => "ok".to_owned(),
            Err(reason) if report.failed() => format!("FAILED: {reason:#}"),
            Err(reason) => format!("skipped: {reason:#}"),
        };
        let _ = writeln!(out, "  {:<8} {:8.1} {:8.1}  {line}", report.name, report.seconds, report.cpu);
        tally.add(report.tally);
    }
    for failure in &tally.failures {
        let _ = writeln!(out, "failed: {failure}");
        let test = failure.split(" (").next();
        for line in
            tally.words.iter().filter(|(name, _)| Some(name.as_str()) == test).flat_map(|(_, words)| words)
        {
            let _ = writeln!(out, "    {line}");
        }
    }
    let _ = writeln!(out, "{}", tally.count(skips));
    out
}

#[cfg(test)]
mod tests {
    use super::{Missing, Report, Session, Skip, Tally, skips, text};
    use anyhow::anyhow;

    const OUTPUT: &str = "   Compiling xtask v0.1.0
    Finished `test` profile [unoptimized + debuginfo] target(s) in 0.20s
     Running unittests src/lib.rs (target/debug/deps/tollgate_record-0a1b)

running 3 tests
test store::tests::round_trip ... ok
test schema::tests::agrees ... FAILED
test slow ... ignored

failures:

---- schema::tests::agrees stdout ----

thread 'schema::tests::agrees' (7) panicked at src/schema.rs:7:1:
one is not two
note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace


failures:
    schema::tests::agrees

test result: FAILED. 1 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s

     Running tests/e2e.rs (target/debug/deps/e2e-0a1b)

running 2 tests
error: test failed, to rerun pass `-p tollgate --test e2e`
   Doc-tests tollgate_record

test result: ok. 4 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s
";

    fn read(success: bool) -> Tally {
        let mut tally = Tally::default();
        OUTPUT.lines().for_each(|line| tally.line(line));
        tally.end(success);
        tally
    }

    #[test]
    fn sums_over_binaries_and_counts_one_that_crashed() {
        let tally = read(false);
        assert_eq!(tally.count(&[]), "5 passed, 2 failed, 1 skipped");
        assert_eq!(
            tally.failures,
            ["schema::tests::agrees (unittests src/lib.rs)", "tests/e2e.rs: ended without a result"]
        );
        let said = ["thread 'schema::tests::agrees' (7) panicked at src/schema.rs:7:1:", "one is not two"];
        assert_eq!(tally.words, [("schema::tests::agrees".to_owned(), said.map(str::to_owned).to_vec())]);
    }

    #[test]
    fn a_binary_without_a_result_is_not_a_failure_if_cargo_succeeds() {
        assert_eq!(read(true).count(&[]), "5 passed, 1 failed, 1 skipped");
    }

    #[test]
    fn tests_of_python_are_counted_too() {
        let mut tally = Tally::default();
        tally.line("FAILED tests/test_a.py::test_it[x] - AssertionError: no");
        tally.line("1 failed, 22 passed, 2 skipped, 1 warning in 3.21s");
        tally.line("7 passed in 61.00s (0:01:01)");
        let skip = Skip::parse("skipped: python::test_b: why").expect("a skip");
        assert_eq!(tally.count(&[skip.clone(), skip]), "29 passed, 1 failed, 2 skipped");
        assert_eq!(tally.failures, ["test_a.py::test_it[x] (python)"]);
    }

    #[test]
    fn a_skipped_test_is_not_counted_as_passed() {
        let skip = |line| Skip::parse(line).expect("a skip");
        let skips = [skip("skipped: a::whole: why"), skip("skipped: a::table [one case]: why")];
        assert_eq!(read(false).count(&skips), "4 passed, 2 failed, 3 skipped");
    }

    #[test]
    fn a_skip_counts_once() {
        let session = Session::new(false, false).expect("a session");
        let list = session._folder.path().join("skips");
        assert_eq!(skips(&list).expect("a list that is missing has no skips"), []);
        std::fs::write(&list, "skipped: b: y\nskipped: a: x\nnoise\nskipped: b: y\n").expect("written");
        let session = Session { skips: list.clone(), ..session };
        let skip = Skip { test: "a".into(), case: Some("one".into()), reason: "z".into() };
        session.skip(&skip).expect("it can be written");
        let skips: Vec<String> = skips(&list).expect("a list").iter().map(ToString::to_string).collect();
        assert_eq!(skips, ["skipped: a: x", "skipped: a [one]: z", "skipped: b: y"]);
    }

    #[test]
    fn steps_are_sorted_and_the_last_line_is_the_count() {
        let report = |name, seconds, outcome, lines: &[&str]| {
            let mut tally = Tally::default();
            lines.iter().for_each(|line| tally.line(line));
            Report { name, outcome, seconds, cpu: 2.0 * seconds, tally }
        };
        let reports = vec![
            report("fmt", 1.25, Ok(()), &[]),
            report(
                "test",
                20.0,
                Err(anyhow!("tests failed: a")),
                &[
                    "     Running a unit tests (target/debug/deps/a)",
                    "test one ... FAILED",
                    "---- one stdout ----",
                    "",
                    "one is not two",
                    "failures:",
                    "test result: FAILED. 2 passed; 1 failed; 0 ignored; 0 measured",
                ],
            ),
            report("deny", 0.0, Err(Missing("cargo-deny is missing".to_owned()).into()), &[]),
            report("python", 2.0, Ok(()), &["7 passed in 61.00s (0:01:01)"]),
        ];
        let skips = [tollgate_testkit::Skip::parse("skipped: a::two: no qemu").expect("a skip")];
        let text = text(reports, &skips, 30.0);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[1..],
            [
                "skipped: a::two: no qemu",
                "",
                "summary after 30.0 s (CPU 46.5 s)",
                "  step      wall, s   CPU, s",
                "  test         20.0     40.0  FAILED: tests failed: a",
                "  python        2.0      4.0  ok",
                "  fmt           1.2      2.5  ok",
                "  deny          0.0      0.0  skipped: cargo-deny is missing",
                "failed: one (a unit tests)",
                "    one is not two",
                "8 passed, 1 failed, 1 skipped",
            ]
        );
    }
}
