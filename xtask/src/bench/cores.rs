//! The speed of timed cores in processor time, for kinds of programs and a boot. With `--against`, in turns with another tollgate.

use super::figures::{Figure, at_least, at_most, median, skipped};
use super::riscv::processor_time;
use crate::tool::Tool;
use anyhow::{Context, Result, ensure};
use std::env;
use std::ffi::OsStr;
use std::path::Path;
use tollgate_testkit::workspace;

/// Runs of each program on each core.
const ROUNDS: usize = 5;

const CORES: [&str; 2] = ["rocket", "cva6"];

/// Programs in `guests/riscv/bench`, and how many times as fast as the other tollgate each must be.
const PROGRAMS: [(&str, f64); 5] =
    [("compute", 1.5), ("branches", 1.5), ("memory", 1.0), ("traps", 3.0), ("mix", 0.5)];

/// Instructions of a program at most: the mix has 1.6 billion.
const MOST: &str = "300000000";

pub(super) fn speed(tool: &Tool, against: Option<&Path>) -> Result<Vec<Figure>> {
    let other = against.map(Tool::at);
    let tools: Vec<&Tool> = [tool].into_iter().chain(&other).collect();
    let bench = workspace::root()?.join("guests/riscv/bench");
    let mut figures = Vec::new();
    for core in CORES {
        for (program, bound) in PROGRAMS {
            let elf = bench.join(format!("{program}.elf"));
            let elf = elf.to_str().context("the path of the repository is not UTF-8")?;
            let words = ["riscv", "run", "--core", core, "--no-save", "--max-instructions", MOST, elf];
            let instructions: Vec<f64> =
                tools.iter().map(|tool| counted(tool, &words)).collect::<Result<_>>()?;
            ensure!(
                instructions.iter().all(|it| *it == instructions[0]),
                "{program} retires {instructions:?} instructions"
            );
            let millions = instructions[0] / 1e6;
            let times = in_turns(&tools, &words.map(OsStr::new))?;
            let speeds: Vec<f64> = times[0].iter().map(|seconds| millions / seconds).collect();
            let what = format!("{core}, {program}: {} MIPS", spread(&speeds));
            figures.push(match &times[..] {
                [ours, theirs] => at_least(&format!("{what}, times as fast"), ratio(theirs, ours), bound),
                _ => what,
            });
        }
    }
    figures.extend(boots(&tools)?);
    Ok(figures)
}

/// Linux to its prompt.
fn boots(tools: &[&Tool]) -> Result<Vec<Figure>> {
    let (Some(kernel), Some(initrd)) = (env::var_os("TOLLGATE_LINUX"), env::var_os("TOLLGATE_INITRD")) else {
        let why = "TOLLGATE_LINUX and TOLLGATE_INITRD do not name a kernel and its disk";
        return Ok(vec![skipped("Linux to its prompt on cores", why)]);
    };
    let folder = tempfile::tempdir()?;
    let snapshot = folder.path().join("snapshot");
    let mut figures = Vec::new();
    for core in CORES {
        let words =
            ["riscv", "boot", "--no-save", "--append", "console=ttyS0", "--core", core, "--save-at", "# "];
        let mut words = words.map(OsStr::new).to_vec();
        words.extend([snapshot.as_os_str(), "--kernel".as_ref(), &kernel, "--initrd".as_ref(), &initrd]);
        let times = in_turns(tools, &words)?;
        let what = format!("{core}, Linux to its prompt: {} s", spread(&times[0]));
        figures.push(match &times[..] {
            [ours, theirs] => at_most(&format!("{what}, times as long"), ratio(ours, theirs), 1.5),
            _ => what,
        });
    }
    Ok(figures)
}

/// The instructions of a run.
fn counted(tool: &Tool, words: &[&str]) -> Result<f64> {
    let (document, _) = tool.json(words)?;
    document["results"][0]["counters"]["instructions"].as_f64().context("the record counts no instructions")
}

/// Seconds of processor time of each tollgate in each round.
fn in_turns(tools: &[&Tool], words: &[&OsStr]) -> Result<Vec<Vec<f64>>> {
    let mut times = vec![Vec::new(); tools.len()];
    for _ in 0..ROUNDS {
        for (tool, times) in tools.iter().zip(&mut times) {
            let program = tool.command(&[]).get_program().to_owned();
            let seconds = processor_time(&[&[program.as_os_str()], words].concat())?;
            times.push(seconds.with_context(|| format!("there is no {}", program.display()))?);
        }
    }
    Ok(times)
}

/// The median, the least and the most.
fn spread(values: &[f64]) -> String {
    let [least, most] = [f64::min, f64::max].map(|of| values.iter().copied().reduce(of).unwrap_or(f64::NAN));
    format!("{:.1} ({least:.1} to {most:.1})", median(values.to_vec()))
}

/// The median of the quotients of rounds.
fn ratio(over: &[f64], under: &[f64]) -> f64 {
    median(over.iter().zip(under).map(|(over, under)| over / under).collect())
}
