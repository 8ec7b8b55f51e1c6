//! The promised figures of `tollgate exec`: what counting adds, what it leaves unattributed, and whether it finds a change.

use super::figures::{Figure, at_least, at_most, median, row, skipped};
use crate::tool::Tool;
use anyhow::{Context, Result};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;
use tollgate_record::{Run, counter, document, phase};
use tollgate_testkit::{printed, program};

/// Pairs of a counted and an uncounted run.
const PAIRS: usize = 15;
/// Two calls for each byte.
const BYTES: &str = "500000";

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

pub(super) fn exec(tool: &Tool) -> Result<Vec<Figure>> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("bill.json");
    let calls = ["dd", "if=/dev/zero", "of=/dev/null", "bs=1", &format!("count={BYTES}"), "status=none"];
    let first = bill(tool, &file, &["--count", "bpf", "--price", "none"], &calls)?;
    let Some(source) = row(&first, "exec/total").and_then(|row| row.found.exec()).map(|it| &it.source) else {
        return Ok(vec![skipped("exec", "no bill")]);
    };
    if source != "bpf" {
        return Ok(vec![skipped("exec --count bpf", "BPF is refused here")]);
    }
    let mut figures = overhead(tool, &file, &calls)?;
    for (name, words) in PROGRAMS {
        let what = format!("{name}: unattributed, % of the CPU time");
        if program(words[0]).is_none() || (*name == "compiler" && program("gcc").is_none()) {
            figures.push(skipped(&what, "the program is missing"));
            continue;
        }
        let run = bill(tool, &file, &["--price", "now"], words)?;
        let whole = row(&run, "exec/total").context("a total")?;
        let rest = whole.phase(phase::UNATTRIBUTED).and_then(|part| part.ns).context("a rest")?;
        let share = rest.estimate.abs() / whole.ns.context("CPU time")?.estimate * 100.0;
        figures.push(at_most(&what, share, 10.0));
    }
    figures.push(planted(tool, &file)?);
    figures.push(more_faults(tool, folder.path())?);
    figures.push(false_alarms(tool, folder.path())?);
    figures.extend(beside_time(tool, &file)?);
    Ok(figures)
}

/// What a counted call takes longer, counted and uncounted alternately, as a share of a program with so many calls a second.
fn overhead(tool: &Tool, file: &Path, calls: &[&str]) -> Result<Vec<Figure>> {
    let number = 2.0 * BYTES.parse::<f64>()?;
    let cpu = |source: &str| -> Result<f64> {
        let run = bill(tool, file, &["--count", source, "--price", "none"], calls)?;
        row(&run, "exec/total").and_then(|row| row.counter(counter::CPU_SECONDS)).context("CPU time")
    };
    let pairs: Vec<[f64; 2]> = (0..PAIRS).map(|_| Ok([cpu("none")?, cpu("bpf")?])).collect::<Result<_>>()?;
    let added = median(pairs.iter().map(|[bare, counted]| (counted - bare) / number * 1e9).collect());
    let rate = number / median(pairs.iter().map(|[bare, _]| *bare).collect());
    println!("  {added:.0} ns added to a call, in a program with {rate:.0} calls a second of CPU time");
    let mut figures = vec![
        at_most("exec by bpf, % slower at 100,000 calls a second", added * 1e5 / 1e9 * 100.0, 2.0),
        at_most("exec by bpf, % slower at 1,000,000 calls a second", added * 1e6 / 1e9 * 100.0, 10.0),
    ];
    for (name, words) in [
        ("strace", &["strace", "-c", "-f", "-o", "/dev/null"][..]),
        ("perf", &["perf", "trace", "-s", "-o", "/dev/null"]),
    ] {
        if program(name).is_none() {
            figures.push(skipped(&format!("{name} beside it"), "the program is missing"));
            continue;
        }
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
        figures.push(match (seconds(&[])?, seconds(words)?) {
            (Some(bare), Some(slow)) => {
                format!(
                    "{} beside it: {:.0} ns added to a call",
                    words.join(" "),
                    (slow - bare) / 40_000.0 * 1e9
                )
            }
            _ => skipped(&words.join(" "), "it fails here"),
        });
    }
    Ok(figures)
}

/// 1,000 calls more in 100,000 are found and named.
fn planted(tool: &Tool, file: &Path) -> Result<Figure> {
    let with = |count: &str| format!("dd if=/dev/zero of=/dev/null bs=1 status=none count={count}");
    let more = with("101000");
    let mut command =
        tool.command(&["exec", "--no-save", "--json", "--at-most", "5s", "--against", &more, "--out"]);
    printed(command.arg(file).arg("--").args(with("100000").split(' ')))?;
    let found: serde_json::Value = serde_json::from_slice(&fs::read(file)?)?;
    let rows = found["rows"].as_array().context("rows")?;
    let worse = |name: &str| {
        rows.iter().any(|row| row["probe"] == format!("exec/system-call/{name}") && row["verdict"] == "worse")
    };
    let named = ["read", "write"].into_iter().filter(|name| worse(name)).count();
    Ok(at_least("of 2 counts that are 1 % higher, found by --against", named as f64, 2.0))
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
        rows.iter().any(|(name, verdict)| *name == format!("exec/fault/{kind}") && verdict == "worse")
    });
    Ok(at_least(what, named.count() as f64, 2.0))
}

/// Each probe that a comparison of two records has, with its verdict.
fn compared(tool: &Tool, a: &Path, b: &Path) -> Result<Vec<(String, String)>> {
    let output = tool.command(&["compare", "--json"]).args([a, b]).output()?;
    let found: serde_json::Value = serde_json::from_slice(&output.stdout)?;
    let text = |row: &serde_json::Value, key: &str| row[key].as_str().unwrap_or_default().to_owned();
    let rows = found["rows"].as_array().context("rows")?;
    Ok(rows.iter().map(|row| (text(row, "probe"), text(row, "verdict"))).collect())
}

/// Pairs of two bills of one program, of which none may be found to differ.
const ALIKE: usize = 200;

fn false_alarms(tool: &Tool, folder: &Path) -> Result<Figure> {
    let (a, b) = (folder.join("a.json"), folder.join("b.json"));
    let mut alarms = 0;
    for _ in 0..ALIKE {
        for file in [&a, &b] {
            bill(tool, file, &["--price", "none"], &["ls", "-l", "/usr/bin"])?;
        }
        let rows = compared(tool, &a, &b)?;
        let wrong: Vec<_> =
            rows.iter().filter(|(_, verdict)| ["worse", "better"].contains(&&**verdict)).collect();
        if !wrong.is_empty() {
            println!("  a false alarm: {wrong:?}");
            alarms += 1;
        }
    }
    let share = f64::from(alarms) / ALIKE as f64 * 100.0;
    Ok(at_most("of 200 comparisons of a program with itself, % with a false alarm", share, 0.5))
}

/// Faults and switches beside those of GNU time.
fn beside_time(tool: &Tool, file: &Path) -> Result<Vec<Figure>> {
    let words = ["python3", "-I", "-c", "import json, argparse, unittest"];
    if program("time").is_none() || program(words[0]).is_none() {
        return Ok(vec![skipped("/usr/bin/time -v", "GNU time or python3 is missing")]);
    }
    let output = Command::new("time").arg("-v").args(words).stdin(Stdio::null()).output()?;
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let theirs = |key: &str| {
        text.lines()
            .find_map(|line| line.trim().strip_prefix(key)?.parse::<f64>().ok())
            .context(key.to_owned())
    };
    let run = bill(tool, file, &["--count", "none", "--price", "none"], &words)?;
    let whole = row(&run, "exec/total").context("a total")?;
    let ours = |key| whole.counter(key).context("a count");
    let faults = theirs("Minor (reclaiming a frame) page faults: ")?;
    let apart = (ours(counter::MINOR_FAULTS)? / faults - 1.0).abs() * 100.0;
    println!(
        "  voluntary switches: {} here, {} by time -v",
        ours(counter::VOLUNTARY_SWITCHES)?,
        theirs("Voluntary context switches: ")?
    );
    Ok(vec![at_most("minor faults of python3 apart from /usr/bin/time -v, %", apart, 3.0)])
}

/// The record of a command under `exec` with these options.
fn bill(tool: &Tool, file: &Path, options: &[&str], words: &[&str]) -> Result<Run> {
    let mut command = tool.command(&["exec", "--no-save", "--json", "--out"]);
    printed(command.arg(file).args(options).arg("--").args(words))?;
    Ok(document::from_json(&fs::read(file)?)?)
}
