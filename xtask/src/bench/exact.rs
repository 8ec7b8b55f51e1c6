//! The exact bill of a program and its kernel: how long it takes, whether it repeats, notices one call, and agrees with the host
//! on changes. The kernel is the user's: `TOLLGATE_LINUX`, Linux's Image, as Debian's linux-image for riscv64 has it.

use super::figures::{Figure, at_least, at_most, in_turns, median, sign, skipped};
use super::riscv::processor_time;
use crate::tool::Tool;
use anyhow::{Context, Result, ensure};
use std::env;
use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Instant;
use tempfile::TempDir;
use tollgate_record::{Measurement, Run, counter, document};
use tollgate_testkit::{printed, program};

const COMPILER: &str = "riscv64-linux-gnu-gcc";
/// Runs that must be the same, and layouts of memory.
const RUNS: usize = 100;
const LAYOUTS: usize = 20;
const EMPTY: &str = "int main(void) { return 0; }\n";
/// A loop of so many turns of ten instructions, and so many calls.
const WORK: &str = "#include <stdlib.h>\n#include <unistd.h>\n\
    int main(int n, char **words) {\n\
      for (long i = atol(words[1]); i > 0; i--)\n\
        __asm__ volatile(\"nop\\nnop\\nnop\\nnop\\nnop\\nnop\\nnop\\nnop\");\n\
      for (int i = atoi(words[2]); i > 0; i--) getpid();\n\
      return 0;\n\
    }\n";
/// The planted changes.
const CHANGES: &str = include_str!("planted.c");
/// Pairs of runs on the host for each of them.
const PAIRS: usize = 21;
/// How many of them the host must agree with.
const AGREE: f64 = 18.0;

/// The kernel and the programs.
struct Setup<'a> {
    tool: &'a Tool,
    folder: TempDir,
    kernel: String,
    empty: String,
    work: String,
}

impl<'a> Setup<'a> {
    /// `Err` is the figure that says what is missing.
    fn new(tool: &'a Tool) -> Result<Result<Self, Vec<Figure>>> {
        let what = "a program inside of Linux";
        let Some(kernel) = env::var_os("TOLLGATE_LINUX").and_then(|kernel| kernel.into_string().ok()) else {
            return Ok(Err(vec![skipped(what, "TOLLGATE_LINUX does not name Linux's Image for riscv64")]));
        };
        if program(COMPILER).is_none() {
            let why = "riscv64-linux-gnu-gcc is missing: apt-get install gcc-riscv64-linux-gnu";
            return Ok(Err(vec![skipped(what, why)]));
        }
        let folder = tempfile::tempdir()?;
        let [empty, work] = [("empty", EMPTY), ("work", WORK)].map(|(name, source)| {
            fs::write(folder.path().join("source.c"), source)?;
            compiled(COMPILER, folder.path(), name, "source.c", &[])
        });
        let (empty, work) = (empty?, work?);
        Ok(Ok(Self { tool, folder, kernel, empty, work }))
    }

    /// A Linux that waits for a program.
    fn snapshot(&self) -> Result<String> {
        let snapshot = self.path("ready.snap");
        self.run(&["--kernel", &self.kernel, "--save", &snapshot, "--", &self.empty])?;
        Ok(snapshot)
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).to_string_lossy().into_owned()
    }

    /// The bill, whose parts and functions must add up to it, and how many seconds it took.
    fn run(&self, words: &[&str]) -> Result<(Measurement, f64)> {
        let out = self.path("bill.json");
        let start = Instant::now();
        let mut command = self.tool.command(&["riscv", "exec", "--no-save", "--json", "--out", &out]);
        printed(command.args(words))?;
        let seconds = start.elapsed().as_secs_f64();
        let run: Run = document::from_json(&fs::read(&out)?)?;
        let entry = run.results.into_iter().next().context("no bill in the record")?;
        let parts: f64 = entry.phases.iter().filter_map(|part| part.instructions).sum();
        let functions = entry.found.program().map_or(&[][..], |found| &found.functions);
        let functions: u64 = functions.iter().map(|it| it.instructions).sum();
        let whole = total(&entry);
        ensure!(
            (parts, functions as f64) == (whole, whole),
            "{parts} and {functions} of {whole} instructions"
        );
        Ok((entry, seconds))
    }
}

fn total(entry: &Measurement) -> f64 {
    entry.counter(counter::INSTRUCTIONS).unwrap_or(f64::NAN)
}

/// Returns early with what is missing.
macro_rules! setup {
    ($tool:expr) => {
        match Setup::new($tool)? {
            Ok(setup) => setup,
            Err(missing) => return Ok(missing),
        }
    };
}

/// How long a user waits.
pub(super) fn time(tool: &Tool) -> Result<Vec<Figure>> {
    let setup = setup!(tool);
    let (_, booted) = setup.run(&["--kernel", &setup.kernel, "--", &setup.empty])?;
    let mut figures = vec![at_most("the bill of an empty program, with the boot, s", booted, 4.0)];
    let snapshot = setup.snapshot()?;
    let (_, continued) = setup.run(&["--from", &snapshot, "--", &setup.empty])?;
    figures.push(format!("the same from a snapshot, s: {continued:.3}"));
    for (name, options, bound) in [("functional", &[][..], 4.0), ("on rocket", &["--core", "rocket"], 30.0)] {
        let words = [options, &["--from", &snapshot, "--", &setup.work, "100000000", "1"]].concat();
        let (entry, seconds) = setup.run(&words)?;
        println!("  {:.0} instructions in {seconds:.1} s", total(&entry));
        let all = seconds * 1e9 / total(&entry);
        figures.push(at_most(&format!("10^9 instructions, {name}, s"), all, bound));
    }
    Ok(figures)
}

/// Whether a bill is the same each time.
pub(super) fn repeat(tool: &Tool) -> Result<Vec<Figure>> {
    let setup = setup!(tool);
    let snapshot = setup.snapshot()?;
    let run =
        || Ok::<_, anyhow::Error>(setup.run(&["--from", &snapshot, "--", &setup.work, "1000", "10"])?.0);
    let first = run()?;
    let mut same = 0;
    for _ in 0..RUNS {
        same += usize::from(run()? == first);
    }
    let unnamed: u64 = first.found.program().map_or(0, |found| {
        let unnamed = found.functions.iter().filter(|it| it.name == "kernel:(no symbol)");
        unnamed.map(|it| it.instructions).sum()
    });
    Ok(vec![
        at_least(&format!("runs of {RUNS} that are the same"), same as f64, RUNS as f64),
        at_most("kernel's instructions without a name, %", 100.0 * unnamed as f64 / total(&first), 2.0),
    ])
}

/// Whether one call more is found.
pub(super) fn one_call(tool: &Tool) -> Result<Vec<Figure>> {
    let setup = setup!(tool);
    let snapshot = setup.snapshot()?;
    let run = |calls| setup.run(&["--from", &snapshot, "--", &setup.work, "10000000", calls]);
    let ((one, _), (two, _)) = (run("1")?, run("2")?);
    let calls = |entry: &Measurement| {
        let exec = entry.found.program().and_then(|found| found.exec.as_ref());
        let named =
            exec.map(|exec| exec.crossings.iter().filter(|it| it.name == "getpid").map(|it| it.count).sum());
        named.unwrap_or(0_u64)
    };
    println!("  one getpid in {:.0} instructions: {:.0} more", total(&one), total(&two) - total(&one));
    let more = calls(&two).saturating_sub(calls(&one));
    Ok(vec![at_least("one getpid more in 10^8 instructions, found and named", more as f64, 1.0)])
}

/// How much depends on the layout of memory.
pub(super) fn layouts(tool: &Tool) -> Result<Vec<Figure>> {
    let setup = setup!(tool);
    let seeds = LAYOUTS.to_string();
    let (entry, seconds) =
        setup.run(&["--kernel", &setup.kernel, "--seeds", &seeds, "--", &setup.work, "1000", "10"])?;
    let series = entry.series.iter().find(|series| series.name == "layouts").context("layouts")?;
    let mut totals: Vec<f64> = series.points.iter().map(|point| point[1]).collect();
    totals.sort_by(f64::total_cmp);
    let (least, most) = (totals[0], totals[totals.len() - 1]);
    Ok(vec![
        at_least("layouts", totals.len() as f64, LAYOUTS as f64),
        format!(
            "their totals: {least:.0} to {most:.0} instructions ({:.2} %), {seconds:.0} s",
            100.0 * (most - least) / least
        ),
    ])
}

/// Whether the sign of each planted change is that of the host.
pub(super) fn changes(tool: &Tool) -> Result<Vec<Figure>> {
    let setup = setup!(tool);
    if program("gcc").is_none() {
        return Ok(vec![skipped("planted changes", "gcc is missing")]);
    }
    let snapshot = setup.snapshot()?;
    let folder = setup.folder.path();
    fs::write(folder.join("planted.c"), CHANGES)?;
    let (mut all, mut by_instructions, mut by_cycles) = (0, 0, 0);
    for line in CHANGES.lines().filter_map(|line| line.strip_prefix("// change ")) {
        let (name, turns) =
            line.split_once(':').and_then(|(head, _)| head.split_once(' ')).context("a change")?;
        let build = |compiler, after: bool| {
            let options = [format!("-DCHANGE_{name}"), format!("-DAFTER={}", u8::from(after))];
            compiled(compiler, folder, &format!("{compiler}-{name}-{after}"), "planted.c", &options)
        };
        let out = setup.path("against.json");
        let guests = [build(COMPILER, false)?, build(COMPILER, true)?];
        let guest = |core: &[&str]| -> Result<f64> {
            let options = ["riscv", "exec", "--no-save", "--json", "--out", &out, "--from", &snapshot];
            let against = [core, &["--against", &guests[0], "--", &guests[1], turns]].concat();
            printed(&mut tool.command(&[&options, &against[..]].concat()))?;
            let found: serde_json::Value = serde_json::from_slice(&fs::read(&out)?)?;
            let cost = |side: usize| found["total"]["cost"][side].as_f64().context("a cost");
            Ok(cost(1)? / cost(0)? - 1.0)
        };
        let (instructions, cycles) = (guest(&[])?, guest(&["--core", "rocket"])?);
        let (before, after) = (build("gcc", false)?, build("gcc", true)?);
        let seconds = |program: &str| {
            processor_time(&[program, turns].map(OsStr::new))?
                .with_context(|| format!("there is no {program}"))
        };
        let change =
            |_| in_turns(|| seconds(&before), || seconds(&after)).map(|(before, after)| after / before - 1.0);
        let host: Vec<f64> = (0..PAIRS).map(change).collect::<Result<_>>()?;
        let costs_more = sign(&host);
        let agrees = |guest: f64| guest != 0.0 && costs_more == Some(guest > 0.0);
        let verdict = if costs_more.is_some() { "" } else { " (cannot tell)" };
        let [a, b] = [instructions, cycles].map(|guest| if agrees(guest) { "" } else { " (disagrees)" });
        println!(
            "  {name}: instructions {:+.1} %{a}, cycles on rocket {:+.1} %{b}, the host {:+.1} %{verdict}",
            100.0 * instructions,
            100.0 * cycles,
            100.0 * median(host)
        );
        all += 1;
        by_instructions += usize::from(agrees(instructions));
        by_cycles += usize::from(agrees(cycles));
    }
    Ok(vec![
        at_least(&format!("of {all} changes, signs of cycles on rocket that agree"), by_cycles as f64, AGREE),
        at_least(
            &format!("of {all} changes, signs of instructions that agree"),
            by_instructions as f64,
            AGREE,
        ),
    ])
}

/// Compiles a static program.
fn compiled(compiler: &str, folder: &Path, name: &str, source: &str, options: &[String]) -> Result<String> {
    let out = folder.join(name);
    printed(
        Command::new(compiler)
            .args(["-O1", "-static", "-w", "-o"])
            .args([&out, &folder.join(source)])
            .args(options),
    )?;
    Ok(out.to_string_lossy().into_owned())
}
