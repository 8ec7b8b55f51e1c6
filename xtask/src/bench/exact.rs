//! The exact bill of a program and its kernel: whether it repeats, sees one call, and how long it takes. The kernel is the
//! user's: `TOLLGATE_LINUX`, Linux's Image, as Debian's linux-image for riscv64 has it.

use super::figures::{Figure, at_least, at_most, skipped};
use crate::tool::Tool;
use anyhow::{Context, Result, ensure};
use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Instant;
use tollgate_record::{Measurement, Run, counter, document};
use tollgate_testkit::program;

const COMPILER: &str = "riscv64-linux-gnu-gcc";
/// Runs that must be the same.
const RUNS: usize = 100;
const EMPTY: &str = "int main(void) { return 0; }\n";
/// A loop of so many turns of ten instructions, and so many calls.
const WORK: &str = "#include <stdlib.h>\n#include <unistd.h>\n\
    int main(int n, char **words) {\n\
      for (long i = atol(words[1]); i > 0; i--)\n\
        __asm__ volatile(\"nop\\nnop\\nnop\\nnop\\nnop\\nnop\\nnop\\nnop\");\n\
      for (int i = atoi(words[2]); i > 0; i--) getpid();\n\
      return 0;\n\
    }\n";

pub(super) fn exact(tool: &Tool) -> Result<Vec<Figure>> {
    let what = "a program inside of Linux";
    let Some(kernel) = env::var_os("TOLLGATE_LINUX").and_then(|kernel| kernel.into_string().ok()) else {
        return Ok(vec![skipped(what, "TOLLGATE_LINUX does not name Linux's Image for riscv64")]);
    };
    if program(COMPILER).is_none() {
        return Ok(vec![skipped(
            what,
            "riscv64-linux-gnu-gcc is missing: apt-get install gcc-riscv64-linux-gnu",
        )]);
    }
    let folder = tempfile::tempdir()?;
    let [empty, work] = [("empty", EMPTY), ("work", WORK)].map(|it| compiled(folder.path(), it));
    let (empty, work) = (empty?, work?);
    let snapshot = folder.path().join("ready.snap").to_string_lossy().into_owned();
    let (_, booted) = run(tool, folder.path(), &["--kernel", &kernel, "--", &empty])?;
    let mut figures = vec![at_most("the bill of an empty program, with the boot, s", booted, 4.0)];
    run(tool, folder.path(), &["--kernel", &kernel, "--save", &snapshot, "--", &empty])?;
    let from = |more: &[&str]| {
        let words: Vec<&str> =
            ["--from", snapshot.as_str()].into_iter().chain(more.iter().copied()).collect();
        run(tool, folder.path(), &words)
    };
    let (first, _) = from(&["--", &work, "1000", "10"])?;
    let mut same = 0;
    for _ in 0..RUNS {
        same += usize::from(from(&["--", &work, "1000", "10"])?.0 == first);
    }
    figures.push(at_least(&format!("runs of {RUNS} that are the same"), same as f64, RUNS as f64));
    let total = |entry: &Measurement| entry.counter(counter::INSTRUCTIONS).unwrap_or(f64::NAN);
    let (one, _) = from(&["--", &work, "10000000", "1"])?;
    let (two, _) = from(&["--", &work, "10000000", "2"])?;
    let calls = |entry: &Measurement| {
        let exec = entry.found.program().and_then(|found| found.exec.as_ref());
        let named =
            exec.map(|exec| exec.crossings.iter().filter(|it| it.name == "getpid").map(|it| it.count).sum());
        named.unwrap_or(0_u64)
    };
    println!("  one getpid in {:.0} instructions: {:.0} more", total(&one), total(&two) - total(&one));
    figures.push(at_least(
        "one getpid more in 10^8 instructions, seen and named",
        (calls(&two) - calls(&one)) as f64,
        1.0,
    ));
    let no_symbol: u64 = first.found.program().map_or(0, |found| {
        let unnamed = found.functions.iter().filter(|it| it.name == "kernel:(no symbol)");
        unnamed.map(|it| it.instructions).sum()
    });
    figures.push(at_most(
        "kernel's instructions without a name, %",
        100.0 * no_symbol as f64 / total(&first),
        2.0,
    ));
    let (entry, seconds) = from(&["--", &work, "100000000", "1"])?;
    println!("  {:.0} instructions in {seconds:.1} s", total(&entry));
    figures.push(at_most("10^9 instructions, functional, s", seconds * 1e9 / total(&entry), 4.0));
    let (entry, seconds) = from(&["--core", "rocket", "--", &work, "100000000", "1"])?;
    figures.push(at_most("10^9 instructions on rocket, s", seconds * 1e9 / total(&entry), 30.0));
    Ok(figures)
}

/// Compiles a static program.
fn compiled(folder: &Path, (name, source): (&str, &str)) -> Result<String> {
    let (file, out) = (folder.join(format!("{name}.c")), folder.join(name));
    fs::write(&file, source)?;
    let status = Command::new(COMPILER).args(["-O1", "-static", "-o"]).args([&out, &file]).status()?;
    ensure!(status.success(), "{COMPILER} failed");
    Ok(out.to_string_lossy().into_owned())
}

/// The bill, and how many seconds it took.
fn run(tool: &Tool, folder: &Path, words: &[&str]) -> Result<(Measurement, f64)> {
    let out = folder.join("bill.json");
    let start = Instant::now();
    let mut command = tool.command(&["riscv", "exec", "--no-save", "--json", "--out"]);
    let status = command.arg(&out).args(words).status()?;
    let seconds = start.elapsed().as_secs_f64();
    ensure!(status.success(), "tollgate riscv exec {} failed", words.join(" "));
    let run: Run = document::from_json(&fs::read(&out)?)?;
    Ok((run.results.into_iter().next().context("no bill in the record")?, seconds))
}
