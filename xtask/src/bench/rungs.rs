//! Language borders, wake-ups and interposition beside what other tools measure of the same, in turns.

use super::figures::{Effort, Figure, in_turns, median, ns, number_after, ratio, row, skipped};
use super::neighbor::chosen_cpus;
use crate::tool::Tool;
use anyhow::{Context, Result, ensure};
use statrs::statistics::Statistics;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tollgate_record::{Run, phase};
use tollgate_testkit::{printed, program, workspace};

/// How far the ratio of ours to theirs may be from 1.
const CLOSE: f64 = 0.1;

/// What the ratio of ours to theirs must be.
#[derive(Clone, Copy)]
enum Promise {
    /// Both measure the same.
    Alike,
    /// Theirs is a part of ours, with the reason.
    Part(&'static str),
    /// Theirs contains ours, with the reason.
    Whole(&'static str),
}

/// A figure that both have.
struct Same {
    what: &'static str,
    promise: Promise,
    /// Nanoseconds in a record of tollgate.
    ours: fn(&Run) -> Option<f64>,
}

/// A figure that both measure in the same way.
fn alike(what: &'static str, ours: fn(&Run) -> Option<f64>) -> Same {
    Same { what, promise: Promise::Alike, ours }
}

/// A program beside tollgate.
struct Rival<'a> {
    /// The rows that tollgate measures.
    rows: &'a [&'a str],
    figures: &'a [Same],
    /// The same figures by the other program, in nanoseconds.
    theirs: &'a dyn Fn() -> Result<Vec<f64>>,
}

impl Rival<'_> {
    /// Measures in turns.
    fn compare(&self, tool: &Tool, cpu: &str, effort: &Effort) -> Result<Vec<Figure>> {
        let args = [&["run"], self.rows, &["--cpu", cpu]].concat();
        let ours = || {
            let (run, _) = tool.run(&args)?;
            let found = self.figures.iter().map(|figure| (figure.ours)(&run));
            found.collect::<Option<Vec<f64>>>().with_context(|| format!("no figure: {}", reasons(&run)))
        };
        let rounds = (0..effort.runs).map(|_| in_turns(ours, self.theirs)).collect::<Result<Vec<_>>>()?;
        let figure = |(at, same): (usize, &Same)| {
            let pairs: Vec<[f64; 2]> = rounds.iter().map(|(ours, theirs)| [ours[at], theirs[at]]).collect();
            judged(same.what, same.promise, &pairs)
        };
        Ok(self.figures.iter().enumerate().map(figure).collect())
    }
}

/// Why rows have no figure.
fn reasons(run: &Run) -> String {
    let why = run.results.iter().filter_map(|row| Some(format!("{}: {}", row.probe, row.reason.as_ref()?)));
    why.collect::<Vec<_>>().join("; ")
}

/// The ratio of ours to theirs over the rounds, each one's median, and how much each varies.
fn judged(what: &str, promise: Promise, pairs: &[[f64; 2]]) -> Figure {
    let logs: Vec<f64> = pairs.iter().map(|[ours, theirs]| (ours / theirs).ln()).collect();
    let [low, _, high] = ratio(&logs);
    // One round that others disturbed does not decide.
    let middle = median(logs).exp();
    let [ours, theirs] = [0, 1].map(|side| {
        let values: Vec<f64> = pairs.iter().map(|pair| pair[side]).collect();
        let variation = 100.0 * (&values).std_dev() / (&values).mean();
        format!("{:.4} ({variation:.1} %)", median(values))
    });
    let (is_met, bound) = match promise {
        Promise::Alike => ((middle - 1.0).abs() <= CLOSE, "within 10 %".to_owned()),
        Promise::Part(why) => (middle >= 1.0, format!("above 1: {why}")),
        Promise::Whole(why) => (middle <= 1.0, format!("below 1: {why}")),
    };
    let verdict = if is_met { "met" } else { "FALLS SHORT" };
    format!(
        "{what}, {} rounds, medians {ours} and {theirs}, ours / theirs {middle:.3} ({low:.3} to {high:.3}; {bound}) \
         {verdict}",
        pairs.len()
    )
}

/// The nanoseconds of a row.
fn estimate(run: &Run, probe: &str) -> Option<f64> {
    Some(ns(run, probe)?.estimate)
}

/// A foreign source of this folder, written into `place`.
fn source(place: &Path, name: &str) -> Result<PathBuf> {
    let from = workspace::root()?.join("xtask/foreign").join(name);
    let to = place.join(name);
    fs::copy(&from, &to).with_context(|| format!("cannot copy {}", from.display()))?;
    Ok(to)
}

/// A command on one CPU.
fn pinned(cpu: &str, program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::new("taskset");
    command.args(["-c", cpu]).arg(program);
    command
}

fn measured_cpu(tool: &Tool) -> Result<String> {
    Ok(chosen_cpus(tool)?.measured.context("the run names no CPU")?.to_string())
}

const PERF: &str = "perf is not installed: apt-get install linux-perf";

/// `wake/*` beside `perf bench`.
pub(super) fn wake(tool: &Tool, effort: &Effort) -> Result<Vec<Figure>> {
    if program("perf").is_none() {
        return Ok(vec![skipped("wake-ups beside perf bench", PERF)]);
    }
    let cpu = measured_cpu(tool)?;
    let perf = |words: &str, unit: &str| {
        let text = printed(pinned(&cpu, "perf").arg("bench").args(words.split(' ')))?;
        // The last is the mean.
        let figure = text.lines().rev().find_map(|line| number_before(line, unit));
        figure.with_context(|| format!("perf bench {words} printed: {text}"))
    };
    let theirs = || {
        Ok(vec![
            // Of a round trip.
            lowest_of_short(&cpu)? * 1e3 / 2.0,
            // In which 20 senders send 1,000 messages to each of 20 receivers.
            perf("sched messaging -t -p -g 1 -l 1000", "[sec]")? * 1e9 / 4e5,
            perf("futex wake -t 64 -w 1", "ms")? * 1e6 / 64.0,
            1e9 / perf("epoll wait -n -t 1 -f 64 -r 1", "operations/sec")?,
        ])
    };
    let figures = [
        alike("wake/pipe and perf bench sched pipe, ns a message", |run| estimate(run, "wake/pipe")),
        Same {
            what: "wake/pipe and perf bench sched messaging, ns a message",
            promise: Promise::Part("20 messages wait in each pipe, so most of them wake nobody"),
            ours: |run| estimate(run, "wake/pipe"),
        },
        Same {
            what: "wake/futex and perf bench futex wake, ns a wake-up",
            promise: Promise::Whole("the woken threads run at once and end, too"),
            ours: |run| estimate(run, "wake/futex"),
        },
        Same {
            what: "wake/epoll and perf bench epoll wait, ns an event",
            promise: Promise::Part("the worker takes some of the 64 events without a sleep before"),
            ours: |run| estimate(run, "wake/epoll"),
        },
    ];
    let rows = &["wake/pipe", "wake/futex", "wake/epoll"];
    Rival { rows, figures: &figures, theirs: &theirs }.compare(tool, &cpu, effort)
}

/// Microseconds of a round trip in the lowest tenth of short runs of `perf bench sched pipe`, as of our batches.
fn lowest_of_short(cpu: &str) -> Result<f64> {
    let run = |_| {
        let text = printed(pinned(cpu, "perf").args(["bench", "sched", "pipe", "-T", "-l", "2000"]))?;
        text.lines().find_map(|line| number_before(line, "usecs/op")).with_context(|| text.clone())
    };
    let mut times = (0..20).map(run).collect::<Result<Vec<f64>>>()?;
    times.sort_by(f64::total_cmp);
    Ok(times[2])
}

/// `interpose/uprobe` beside a uprobe that perf makes and counts.
pub(super) fn interpose(tool: &Tool, effort: &Effort) -> Result<Vec<Figure>> {
    const WHAT: &str = "interpose/uprobe and perf's uprobe, ns of tax";
    if program("perf").is_none() {
        return Ok(vec![skipped(WHAT, PERF)]);
    }
    let place = tempfile::tempdir()?;
    let binary = place.path().join("uprobe");
    let file = source(place.path(), "uprobe.c")?;
    let built = Command::new("cc").arg("-O2").arg(file).arg("-o").arg(&binary).status();
    if !built.is_ok_and(|status| status.success()) {
        return Ok(vec![skipped(WHAT, "no C compiler: apt-get install gcc")]);
    }
    let Ok(point) = Point::new(&binary) else {
        return Ok(vec![skipped(WHAT, "perf may not make a uprobe: run as root, with tracefs mounted")]);
    };
    let cpu = measured_cpu(tool)?;
    let theirs = || {
        let (with, without) = in_turns(
            || nanoseconds(point.counted().args(["taskset", "-c", &cpu]).arg(&binary)),
            || nanoseconds(&mut pinned(&cpu, &binary)),
        )?;
        Ok(vec![with - without])
    };
    let tax = |run: &Run| {
        let tax = row(run, "interpose/uprobe")?.phases.iter().find(|phase| phase.name == phase::TAX)?;
        Some(tax.ns?.estimate)
    };
    let figures = [alike(WHAT, tax)];
    Rival { rows: &["interpose/uprobe"], figures: &figures, theirs: &theirs }.compare(tool, &cpu, effort)
}

fn nanoseconds(command: &mut Command) -> Result<f64> {
    let text = printed(command)?;
    text.trim().parse().with_context(|| format!("no number: {text}"))
}

/// A uprobe that perf made.
struct Point;

const POINT: &str = "tollgate_bench:probed";

impl Point {
    fn new(binary: &Path) -> Result<Self> {
        // One that a bench left behind which was killed.
        drop(Self);
        printed(Command::new("perf").args(["probe", "-q", "-x"]).arg(binary).arg(format!("{POINT}=probed")))?;
        Ok(Self)
    }

    /// perf, which counts hits of what follows.
    fn counted(&self) -> Command {
        let mut command = Command::new("perf");
        command.args(["stat", "-o", "/dev/null", "-e", POINT]);
        command
    }
}

impl Drop for Point {
    fn drop(&mut self) {
        let _ = Command::new("perf").args(["probe", "-q", "-d", POINT]).output();
    }
}

/// `ffi/*` beside benchmarks in Go and Java and wasmtime's own.
pub(super) fn ffi(tool: &Tool, effort: &Effort) -> Result<Vec<Figure>> {
    let cpu = measured_cpu(tool)?;
    Ok([go(tool, &cpu, effort)?, java(tool, &cpu, effort)?, wasmtime(tool, &cpu, effort)?].concat())
}

fn go(tool: &Tool, cpu: &str, effort: &Effort) -> Result<Vec<Figure>> {
    const WHAT: &str = "ffi/cgo/down and a Go benchmark of an empty function, ns";
    let place = tempfile::tempdir()?;
    for name in ["empty.go", "empty_test.go"] {
        source(place.path(), name)?;
    }
    fs::write(place.path().join("go.mod"), "module empty\n\ngo 1.17\n")?;
    let built =
        Command::new("go").args(["test", "-c", "-o", "empty.test"]).current_dir(place.path()).output();
    if !built.is_ok_and(|built| built.status.success()) {
        return Ok(vec![skipped(WHAT, "cgo does not build: apt-get install golang-go gcc")]);
    }
    let theirs = || {
        let mut command = pinned(cpu, place.path().join("empty.test"));
        command.args("-test.cpu 1 -test.bench . -test.benchtime 5000x -test.count 300".split(' '));
        let text = printed(&mut command)?;
        // The lowest tenth, as of our batches.
        let mut times: Vec<f64> = text.lines().filter_map(|line| number_before(line, "ns/op")).collect();
        ensure!(times.len() == 300, "{} of 300 figures", times.len());
        times.sort_by(f64::total_cmp);
        Ok(vec![times[times.len() / 10]])
    };
    let figures = [alike(WHAT, |run| estimate(run, "ffi/cgo/down"))];
    Rival { rows: &["ffi/cgo/down"], figures: &figures, theirs: &theirs }.compare(tool, cpu, effort)
}

fn java(tool: &Tool, cpu: &str, effort: &Effort) -> Result<Vec<Figure>> {
    const WHAT: &str = "ffi/jni beside a loop in the manner of JMH";
    let place = tempfile::tempdir()?;
    let [class, library] = [source(place.path(), "Loop.java")?, source(place.path(), "loop.c")?];
    let found = printed(Command::new("sh").arg(workspace::root()?.join("runtimes/java/jdk.sh")))?;
    let home = Path::new(found.trim());
    let compiled = Command::new(home.join("bin/javac")).arg("-d").arg(place.path()).arg(class).status();
    let include = home.join("include");
    let built = Command::new("gcc")
        .args(["-O2", "-fPIC", "-shared", "-I"])
        .arg(&include)
        .arg("-I")
        .arg(include.join("linux"))
        .arg(library)
        .arg("-o")
        .arg(place.path().join("loop.so"))
        .status();
    if ![compiled, built].into_iter().all(|status| status.is_ok_and(|status| status.success())) {
        return Ok(vec![skipped(WHAT, "it does not build: apt-get install default-jdk-headless gcc")]);
    }
    let theirs = || {
        let mut command = pinned(cpu, home.join("bin/java"));
        command.args(["-Xbatch", "-XX:+UseSerialGC", "-cp"]).arg(place.path()).arg("Loop");
        let text = printed(command.arg(place.path().join("loop.so")))?;
        named(&text, ["down", "up"])
    };
    let figures = [
        alike("ffi/jni/down and a loop in the manner of JMH, ns", |run| estimate(run, "ffi/jni/down")),
        alike("ffi/jni/up and a loop in the manner of JMH, ns", |run| estimate(run, "ffi/jni/up")),
    ];
    Rival { rows: &["ffi/jni/down", "ffi/jni/up"], figures: &figures, theirs: &theirs }
        .compare(tool, cpu, effort)
}

fn wasmtime(tool: &Tool, cpu: &str, effort: &Effort) -> Result<Vec<Figure>> {
    const WHAT: &str = "ffi/wasmtime beside the calls of its own benches/call.rs";
    let Some(programs) = with_wasmtime()? else {
        return Ok(vec![skipped(WHAT, "wasmtime does not build: the output above says why")]);
    };
    let theirs = || {
        let text = printed(&mut pinned(cpu, programs.join("call")))?;
        let nop = named(&text, ["into-nop", "out-of-nop"])?;
        let count = named(&text, ["into-count", "out-of-count"])?;
        Ok([nop, vec![count[0] / count[1]]].concat())
    };
    let figures = [
        alike("ffi/wasmtime/down and wasmtime's call into WebAssembly, ns", |run| {
            estimate(run, "ffi/wasmtime/down")
        }),
        alike("ffi/wasmtime/up and wasmtime's call to the host, ns", |run| estimate(run, "ffi/wasmtime/up")),
        alike("the ratio of the two, with callees that count as ours do", |run| {
            Some(estimate(run, "ffi/wasmtime/down")? / estimate(run, "ffi/wasmtime/up")?)
        }),
    ];
    let rows = &["ffi/wasmtime/down", "ffi/wasmtime/up"];
    Rival { rows, figures: &figures, theirs: &theirs }.compare(&tool.finding_in(&programs)?, cpu, effort)
}

/// The folder with the runtimes in Rust, built with wasmtime, and the foreign program; `None` if they do not build.
fn with_wasmtime() -> Result<Option<PathBuf>> {
    let root = workspace::root()?;
    let (runtimes, place) = (root.join("runtimes/rust"), root.join("target/wasmtime"));
    fs::create_dir_all(&place)?;
    // The foreign program is a package like that of the runtimes, so that both have one wasmtime and one profile.
    for name in ["Cargo.toml", "Cargo.lock"] {
        let text = fs::read_to_string(runtimes.join(name))?.replace("\"tollgate-rust-runtimes\"", "\"call\"");
        fs::write(place.join(name), text)?;
    }
    fs::create_dir_all(place.join("src/bin"))?;
    fs::copy(root.join("xtask/foreign/call.rs"), place.join("src/bin/call.rs"))?;
    for folder in [&runtimes, &place] {
        let built = workspace::cargo(folder)
            .args(["build", "--quiet", "--features", "wasmtime", "--profile", "wasmtime", "--target-dir"])
            .arg(&place)
            .status()?;
        if !built.success() {
            return Ok(None);
        }
    }
    Ok(Some(place.join("wasmtime")))
}

/// The numbers behind these words, each of which begins a line.
fn named(text: &str, words: [&str; 2]) -> Result<Vec<f64>> {
    let found = words.iter().map(|word| number_after(text, &[word])).collect::<Option<_>>();
    found.with_context(|| format!("no numbers: {text}"))
}

/// The word before `unit`, if it is a number.
fn number_before(line: &str, unit: &str) -> Option<f64> {
    let mut words = line.split_whitespace();
    let mut last = words.next()?;
    words.find_map(|word| {
        if word == unit {
            last.parse().ok()
        } else {
            last = word;
            None
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_found_by_the_unit_behind_it() {
        assert_eq!(number_before("      16.010800 usecs/op", "usecs/op"), Some(16.0108));
        assert_eq!(number_before("Wokeup 64 of 64 threads in 0.5837 ms (+-17.20%)", "ms"), Some(0.5837));
        assert_eq!(number_before("BenchmarkEmpty  5000  25.43 ns/op", "ns/op"), Some(25.43));
        assert_eq!(number_before("Total time: 0.374 [sec]", "ms"), None);
    }

    #[test]
    fn what_is_alike_is_within_a_tenth_and_a_part_is_less() {
        let pairs = |ours: f64| [[ours, 1.0], [ours * 1.01, 1.0], [ours * 0.99, 1.0]];
        assert!(judged("", Promise::Alike, &pairs(1.09)).ends_with(" met"));
        assert!(judged("", Promise::Alike, &pairs(0.89)).ends_with("SHORT"));
        assert!(judged("", Promise::Part("it wakes nobody"), &pairs(1.5)).ends_with(" met"));
        assert!(judged("", Promise::Part("it wakes nobody"), &pairs(0.5)).ends_with("SHORT"));
    }
}
