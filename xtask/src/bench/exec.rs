//! The promised figures of `tollgate exec`: what counting adds, what it leaves unattributed, and whether it finds a change.

use super::figures::{Figure, at_least, at_most, median, row, skipped};
use crate::tool::Tool;
use anyhow::{Context, Result};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;
use tollgate_measure::bpf::CallCounter;
use tollgate_record::{Run, counter, document, phase};
use tollgate_testkit::{printed, program, program_in};

/// Turns of an uncounted run and counted ones.
const PAIRS: usize = 15;
/// Bills of each program, of whose figures the median counts.
const REPEATS: usize = 5;
/// Bills beside GNU time, which take milliseconds.
const TIMES: usize = 15;
/// Two calls for each byte.
const BYTES: &str = "1000000";

/// What is billed, and the words of it.
const PROGRAMS: &[(&str, &[&str])] = &[
    ("system calls", &["dd", "if=/dev/zero", "of=/dev/null", "bs=1", "count=500000", "status=none"]),
    ("faults", &["python3", "-c", "bytes(1 << 29)"]),
    (
        "pipe",
        &["sh", "-c", "dd if=/dev/zero bs=1 count=200000 status=none | dd bs=1 of=/dev/null status=none"],
    ),
    ("compiler", &["sh", "-c", "echo '#include <stdio.h>' | gcc -O2 -x c -c -o /dev/null -"]),
    ("python3", &["python3", "-c", "import json, argparse, unittest"]),
    (
        "database",
        &[
            "python3",
            "-c",
            "import sqlite3; d = sqlite3.connect(''); d.execute('create table t (a)')\nfor i in range(50000): d.execute('insert into t values (?)', (i,))",
        ],
    ),
];

/// Whether BPF counts here; otherwise the figure that says so.
fn refused(tool: &Tool, file: &Path) -> Result<Option<Figure>> {
    let first = bill(tool, file, &["--count", "bpf", "--price", "none"], &["true"])?;
    let source = row(&first, "exec/total").and_then(|row| row.found.exec()).map(|it| it.source.clone());
    let is_refused = source.as_deref() != Some("bpf");
    Ok(is_refused.then(|| skipped("exec --count bpf", "BPF is refused here")))
}

/// What no part of the bill explains.
pub(super) fn unattributed(tool: &Tool) -> Result<Vec<Figure>> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("bill.json");
    if let Some(figure) = refused(tool, &file)? {
        return Ok(vec![figure]);
    }
    let mut figures = Vec::new();
    for (name, words) in PROGRAMS {
        let what = format!("{name}: unattributed, % of the CPU time, median of {REPEATS}");
        if program(words[0]).is_none() || (*name == "compiler" && program("gcc").is_none()) {
            figures.push(skipped(&what, "the program is missing"));
            continue;
        }
        let share = |_| -> Result<f64> {
            let run = bill(tool, &file, &["--price", "now"], words)?;
            let whole = row(&run, "exec/total").context("a total")?;
            let rest = whole.phase(phase::UNATTRIBUTED).and_then(|part| part.ns).context("a rest")?;
            Ok(rest.estimate / whole.ns.context("CPU time")?.estimate * 100.0)
        };
        let shares = (0..REPEATS).map(share).collect::<Result<Vec<f64>>>()?;
        println!("  {name}: {}", list(&shares, 1));
        figures.push(at_most(&what, median(shares).abs(), 10.0));
    }
    Ok(figures)
}

fn list(values: &[f64], digits: usize) -> String {
    values.iter().map(|value| format!("{value:.digits$}")).collect::<Vec<_>>().join(", ")
}

/// What a counted call takes longer, counted and uncounted alternately, as a share of a program with so many calls a second.
pub(super) fn overhead(tool: &Tool) -> Result<Vec<Figure>> {
    let folder = tempfile::tempdir()?;
    let (file, timeline) = (folder.path().join("bill.json"), folder.path().join("timeline.json"));
    if let Some(figure) = refused(tool, &file)? {
        return Ok(vec![figure]);
    }
    let calls = ["dd", "if=/dev/zero", "of=/dev/null", "bs=1", &format!("count={BYTES}"), "status=none"];
    let number = 2.0 * BYTES.parse::<f64>()?;
    // The timeline turns windows off, as a program does that calls less often.
    let timeline = timeline.to_string_lossy();
    let ways: [&[&str]; 3] =
        [&["--count", "none"], &["--count", "bpf"], &["--count", "bpf", "--timeline", &timeline]];
    let cpu = |options: &&[&str]| -> Result<f64> {
        let run = bill(tool, &file, &[*options, &["--price", "none"]].concat(), &calls)?;
        row(&run, "exec/total").and_then(|row| row.counter(counter::CPU_SECONDS)).context("CPU time")
    };
    // What the kernel itself takes for a program at the exits of calls, whatever the program does: no call has this result.
    let mut least = CallCounter::of_results(i32::MAX)?;
    let mut turn = |turn: usize| -> Result<[f64; 4]> {
        let mut seconds = [0.0; 4];
        for at in 0..seconds.len() {
            let at = (at + turn) % seconds.len();
            if let Some(way) = ways.get(at) {
                seconds[at] = cpu(way)?;
            } else {
                least.attach()?;
                seconds[at] = cpu(&ways[0])?;
                least.detach();
            }
        }
        Ok(seconds)
    };
    let turns: Vec<[f64; 4]> = (0..PAIRS).map(&mut turn).collect::<Result<_>>()?;
    let rate = number / median(turns.iter().map(|[bare, ..]| *bare).collect());
    println!("  of a program with {rate:.0} calls a second of CPU time, ns added to a call:");
    let added = |way: usize, name: &str| {
        let all: Vec<f64> = turns.iter().map(|it| (it[way] - it[0]) / number * 1e9).collect();
        println!("  {name}: {}", list(&all, 0));
        median(all)
    };
    let (windows, entries) = (added(1, "in windows"), added(2, "all entries seen"));
    let least = added(3, "a BPF program at their exits that does nothing");
    let percent = |ns: f64, rate: f64| ns * rate / 1e9 * 100.0;
    let mut figures = vec![
        at_most("exec by bpf, % slower at 100,000 calls a second", percent(entries, 1e5), 2.0),
        at_most("exec by bpf, % slower at 1,000,000 calls a second", percent(windows, 1e6), 10.0),
        format!("a BPF program at the exits that does nothing: {:.1} % slower", percent(least, 1e6)),
    ];
    for (name, words) in [
        ("strace", &["strace", "-c", "-f", "-o", "/dev/null"][..]),
        ("perf", &["perf", "trace", "-s", "-o", "/dev/null"]),
    ] {
        figures.push(match program(name) {
            Some(_) => beside(words)?,
            None => skipped(&format!("{name} beside it"), "the program is missing"),
        });
    }
    Ok(figures)
}

/// Programs that call so often that their calls are timed in windows: what they cross changes all the time, or is rare.
const CHANGING: &[(&str, &str)] = &[
    (
        "alternates",
        "for r in range(100):\n for i in range(9000): getppid()\n for i in range(4500): pread(z, 4096, 0)",
    ),
    ("grows", "for i in range(900000): pread(z, 1 + i // 110, 0)"),
    ("is rare", "for r in range(40):\n for i in range(30000): getppid()\n pread(z, 1 << 22, 0)"),
    (
        "comes once",
        "for r in range(900000): getppid()\nfor r in range(40): pread(z, 1 << 20, 0)\nfor r in range(900000): getppid()",
    ),
];

/// What windows say of the kernel's work, beside what runs say of which all entries are seen.
pub(super) fn windows(tool: &Tool) -> Result<Vec<Figure>> {
    let folder = tempfile::tempdir()?;
    let (file, timeline) = (folder.path().join("bill.json"), folder.path().join("timeline.json"));
    if let Some(figure) = refused(tool, &file)? {
        return Ok(vec![figure]);
    }
    if program("python3").is_none() {
        return Ok(vec![skipped("exec in windows", "python3 is missing")]);
    }
    let timeline = timeline.to_string_lossy();
    // The share of the kernel's work in the CPU time, and half of its interval; and whether there were windows.
    let share = |options: &[&str], script: &str| -> Result<(f64, f64, bool)> {
        let script = format!("from os import *; z = open('/dev/zero', O_RDONLY)\n{script}");
        let words = ["python3", "-I", "-B", "-c", &script];
        let run = bill(tool, &file, &[&["--count", "bpf", "--price", "none"], options].concat(), &words)?;
        let whole = row(&run, "exec/total").context("a total")?;
        let work = whole.phase(phase::KERNEL_WORK).and_then(|part| part.ns).context("work")?;
        let cpu = whole.ns.context("CPU time")?.estimate;
        let in_windows = whole.found.exec().is_some_and(|found| found.windows.is_some());
        Ok((work.estimate / cpu * 100.0, work.half_width() / cpu * 100.0, in_windows))
    };
    let (mut apart, mut beyond) = (Vec::new(), 0);
    for (name, script) in CHANGING {
        for _ in 0..REPEATS {
            let (all, all_error, _) = share(&["--timeline", &timeline], script)?;
            let (some, error, in_windows) = share(&[], script)?;
            println!("  what {name}: {all:.1} ± {all_error:.1} %, in windows {some:.1} ± {error:.1} %");
            if in_windows {
                apart.push((some - all).abs());
                beyond += usize::from((some - all).abs() > all_error.hypot(error) + 2.0);
            }
        }
    }
    let farthest = apart.iter().copied().fold(0.0, f64::max);
    let what = "% of the CPU time between the kernel's work in windows and with all entries seen";
    Ok(vec![
        at_least("programs that were timed in windows", apart.len() as f64, 1.0),
        at_most(&format!("{what}, median"), median(apart.clone()), 3.0),
        at_most(&format!("{what}, farthest"), farthest, 10.0),
        at_most(
            &format!("of {} of these, more than 2 % beyond the interval", apart.len()),
            beyond as f64,
            1.0,
        ),
    ])
}

/// What another counter adds to a call, by elapsed time.
fn beside(words: &[&str]) -> Result<Figure> {
    // Fewer, because these slow a call by a thousand times as much.
    let few = ["dd", "if=/dev/zero", "of=/dev/null", "bs=1", "count=20000", "status=none"];
    let seconds = |before: &[&str]| -> Result<Option<f64>> {
        let all = [before, &few].concat();
        let started = Instant::now();
        let status = Command::new(all[0])
            .args(&all[1..])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()?;
        Ok(status.success().then(|| started.elapsed().as_secs_f64()))
    };
    let mut added = Vec::new();
    for _ in 0..REPEATS {
        let (Some(bare), Some(slow)) = (seconds(&[])?, seconds(words)?) else {
            return Ok(skipped(&words.join(" "), "it fails here"));
        };
        added.push((slow - bare) / 40_000.0 * 1e9);
    }
    println!("  {}: {}", words[0], list(&added, 0));
    Ok(format!("{} beside it: {:.0} ns added to a call", words.join(" "), median(added)))
}

/// Changes that are known are found and named.
pub(super) fn planted(tool: &Tool) -> Result<Vec<Figure>> {
    let folder = tempfile::tempdir()?;
    Ok(vec![more_calls(tool, &folder.path().join("bill.json"))?, more_faults(tool, folder.path())?])
}

/// 1,000 calls more in 100,000 are found and named, with their tolls.
fn more_calls(tool: &Tool, file: &Path) -> Result<Figure> {
    let with = |count: &str| format!("dd if=/dev/zero of=/dev/null bs=1 status=none count={count}");
    let (fewer, more) = (with("100000"), with("101000"));
    let rows = against(tool, file, &[], &fewer.split(' ').collect::<Vec<_>>(), &more)?;
    let names = ["exec/system-call/read", "exec/system-call/write"];
    let is_named = |row: &&Row| names.contains(&&*row.probe) && ["", "toll"].contains(&&*row.part);
    let named = rows.iter().filter(is_named).filter(|row| row.verdict == "worse").count();
    Ok(at_least("of 2 counts and their tolls that are 1 % higher, found by --against", named as f64, 4.0))
}

/// Pages that are touched, each by a read before the write or not.
const PAGES: u64 = 20_000;

/// One fault more for each page is found and named by `compare`.
fn more_faults(tool: &Tool, folder: &Path) -> Result<Figure> {
    let what = "of 2 kinds of faults with one more for each page, found by compare";
    if program("python3").is_none() {
        return Ok(skipped(what, "python3 is missing"));
    }
    let bills = ["", "m[i]; "].map(|read| {
        let file = folder.join(format!("faults-{}.json", read.len()));
        let script = format!(
            "import mmap; m = mmap.mmap(-1, {bytes}, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS); \
             m.madvise(mmap.MADV_NOHUGEPAGE)\nfor i in range(0, {bytes}, 4096): {read}m[i] = 1",
            bytes = PAGES * 4096
        );
        bill(tool, &file, &["--price", "none"], &["python3", "-c", &script]).map(|_| file)
    });
    let [a, b] = bills;
    let rows = compared(tool, &a?, &b?)?;
    let named = ["zero page", "copy on write"].iter().filter(|kind| {
        rows.iter().any(|row| row.probe == format!("exec/fault/{kind}") && row.verdict == "worse")
    });
    Ok(at_least(what, named.count() as f64, 2.0))
}

/// A row of a comparison.
#[derive(Debug)]
struct Row {
    probe: String,
    /// `toll` or `kernel work`; empty for the count.
    part: String,
    verdict: String,
}

/// The rows of a comparison of two records.
fn compared(tool: &Tool, a: &Path, b: &Path) -> Result<Vec<Row>> {
    rows(&tool.command(&["compare", "--json"]).args([a, b]).output()?.stdout)
}

/// The rows of a comparison of two commands in turns.
fn against(tool: &Tool, file: &Path, options: &[&str], words: &[&str], other: &str) -> Result<Vec<Row>> {
    let mut command = tool.command(&["exec", "--no-save", "--json", "--at-most", "5s", "--against", other]);
    command.args(options).arg("--out").arg(file).env(STORE, file.parent().context("a folder")?);
    printed(command.arg("--").args(words))?;
    rows(&fs::read(file)?)
}

fn rows(json: &[u8]) -> Result<Vec<Row>> {
    let found: serde_json::Value = serde_json::from_slice(json)?;
    let rows = found["rows"].as_array().context("rows")?;
    let row = |row: &serde_json::Value| {
        let [probe, part, verdict] =
            ["probe", "part", "verdict"].map(|key| row[key].as_str().unwrap_or_default().to_owned());
        Row { probe, part, verdict }
    };
    Ok(rows.iter().map(row).collect())
}

/// Pairs of two bills of one program, of which none may be found to differ.
const ALIKE: usize = 200;
/// Comparisons of one program with itself in turns.
const ALIKE_IN_TURNS: usize = 50;
/// The program.
const LISTING: [&str; 3] = ["ls", "-l", "/usr/bin"];

pub(super) fn false_alarms(tool: &Tool) -> Result<Vec<Figure>> {
    let folder = tempfile::tempdir()?;
    let [a, b] = ["a.json", "b.json"].map(|name| folder.path().join(name));
    // The prices of all.
    printed(tool.command(&["crossing", "--quick", "--no-guest"]).env(STORE, folder.path()))?;
    let options = ["--price", "saved"];
    let alarms = |rows: Vec<Row>| {
        let wrong: Vec<Row> =
            rows.into_iter().filter(|row| ["worse", "better"].contains(&&*row.verdict)).collect();
        if !wrong.is_empty() {
            println!("  a false alarm: {wrong:?}");
        }
        f64::from(u8::from(!wrong.is_empty()))
    };
    let (mut apart, mut in_turns) = (0.0, 0.0);
    for _ in 0..ALIKE {
        bill(tool, &a, &options, &LISTING)?;
        bill(tool, &b, &options, &LISTING)?;
        apart += alarms(compared(tool, &a, &b)?);
    }
    for _ in 0..ALIKE_IN_TURNS {
        in_turns += alarms(against(tool, &a, &options, &LISTING, &LISTING.join(" "))?);
    }
    let what = "comparisons of a program with itself";
    Ok(vec![
        at_most(&format!("of {ALIKE} {what}, % with a false alarm"), apart / ALIKE as f64 * 100.0, 0.5),
        at_most(&format!("of {ALIKE_IN_TURNS} {what} in turns, with a false alarm"), in_turns, 1.0),
    ])
}

/// Programs whose faults and switches are compared with those of GNU time.
const TIMED: &[&[&str]] = &[
    &["git", "status"],
    &["tar", "-cf", "/dev/null", "docs"],
    &["python3", "-I", "-B", "-c", "import json, argparse, unittest"],
    &["gcc", "-xc", "-S", "/dev/null", "-o", "/dev/null"],
    &["sqlite3", ":memory:", "create table t(a); insert into t values(1)"],
];

/// Faults and switches beside those of GNU time. Between its fork and its exec GNU time itself has some 25 faults, which the
/// kernel adds to those of the command: what is compared is by how much a command has more than `true`.
pub(super) fn beside_time(tool: &Tool) -> Result<Vec<Figure>> {
    let file = tempfile::tempdir()?;
    let file = file.path().join("bill.json");
    let mut figures = Vec::new();
    for words in TIMED {
        let name = words[0];
        // The system's own: a program that only chooses among versions does not repeat itself.
        let (Some(_), Some(path)) = (program("time"), program_in("/usr/bin:/bin".as_ref(), name)) else {
            figures.push(skipped(&format!("{name} beside /usr/bin/time -v"), "one of them is missing"));
            continue;
        };
        let path = path.to_string_lossy();
        let words = [&[&*path], &words[1..]].concat();
        let (mut faults_apart, mut switches_apart) = (Vec::new(), Vec::new());
        for _ in 0..TIMES {
            let [faults, switches] = by_time(&words)?;
            let [ours, our_switches] = by_us(tool, &file, &words)?;
            let [least, _] = by_time(&["true"])?;
            let [our_least, _] = by_us(tool, &file, &["true"])?;
            faults_apart.push(((ours - our_least) / (faults - least) - 1.0) * 100.0);
            switches_apart.push(our_switches - switches);
        }
        println!("  {name}: minor faults apart, %: {}", list(&faults_apart, 1));
        println!("  {name}: voluntary switches apart: {}", list(&switches_apart, 0));
        let what = "apart from /usr/bin/time -v";
        figures.push(at_most(
            &format!("minor faults of {name} beyond those of true, {what}, %"),
            median(faults_apart).abs(),
            3.0,
        ));
        figures.push(at_most(
            &format!("voluntary switches of {name}, {what}"),
            median(switches_apart).abs(),
            1.0,
        ));
    }
    Ok(figures)
}

/// Minor faults and voluntary switches, as the bill has them.
fn by_us(tool: &Tool, file: &Path, words: &[&str]) -> Result<[f64; 2]> {
    let run = bill(tool, file, &["--count", "none", "--price", "none"], words)?;
    let whole = row(&run, "exec/total").context("a total")?;
    let count = |key| whole.counter(key).context("a count");
    Ok([count(counter::MINOR_FAULTS)?, count(counter::VOLUNTARY_SWITCHES)?])
}

/// Minor faults and voluntary switches, by GNU time.
fn by_time(words: &[&str]) -> Result<[f64; 2]> {
    // As for ours: fewer locales, fewer faults.
    let output =
        Command::new("time").arg("-v").args(words).env("LC_ALL", "C").stdin(Stdio::null()).output()?;
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let number = |key: &str| {
        let mut values = text.lines().filter_map(|line| line.trim().strip_prefix(key)?.parse().ok());
        values.next().context(key.to_owned())
    };
    Ok([number("Minor (reclaiming a frame) page faults: ")?, number("Voluntary context switches: ")?])
}

/// Where saved runs are, and prices with them: none of the user's.
const STORE: &str = "XDG_DATA_HOME";

/// The record of a command under `exec` with these options.
fn bill(tool: &Tool, file: &Path, options: &[&str], words: &[&str]) -> Result<Run> {
    let mut command = tool.command(&["exec", "--no-save", "--json", "--out"]);
    command.arg(file).args(options).env(STORE, file.parent().context("a folder")?);
    printed(command.arg("--").args(words))?;
    Ok(document::from_json(&fs::read(file)?)?)
}
