//! The speed of the RISC-V machine in processor time: interpreted and translated, counting, and timing, in turns with QEMU and Spike
//! where they are found.

use super::figures::{Figure, at_least, at_most, median, number_after, skipped};
use crate::tool::Tool;
use anyhow::{Context, Result, ensure};
use std::env;
use std::ffi::OsStr;
use std::process::{Command, Stdio};
use tollgate_supervise::Tree;
use tollgate_testkit::workspace;

/// Rounds of everything that takes turns.
const ROUNDS: usize = 5;

/// QEMU with as many instructions as the guest executes, and without; it runs the programs of the bench by their HTIF.
const QEMU: &[&str] = &["qemu-system-riscv64", "-M", "spike", "-m", "2G", "-nographic", "-bios"];
const COUNTS: &[&str] = &["-icount", "shift=0"];

/// How this machine runs a program, as the example `tiers` prints it, and the bound of its translated speed in MIPS, if there is one.
const DESIGNS: [(&str, Option<f64>); 3] = [
    ("alone:", None),
    ("caches and TLBs counted:", Some(600.0)),
    ("five stages, caches, TLBs and ledger:", Some(400.0)),
];

pub(super) fn speed(tool: &Tool) -> Result<Vec<Figure>> {
    let mut figures = turns()?;
    figures.extend(narrow()?);
    figures.extend(boots(tool)?);
    figures.extend(alone()?);
    Ok(figures)
}

/// An example, which prints what it measures.
fn example(package: &str, name: &str, arguments: &[&OsStr]) -> Result<String> {
    let mut cargo = workspace::cargo(&workspace::root()?);
    cargo.args(["run", "--release", "--quiet", "--package", package, "--example", name, "--"]);
    let output = cargo.args(arguments).stderr(Stdio::inherit()).output()?;
    ensure!(output.status.success(), "the example {name} failed: {}", output.status);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    for line in text.lines() {
        println!("  {line}");
    }
    Ok(text)
}

/// Seconds of processor time of a command; `None` if there is no such program.
pub(super) fn processor_time(words: &[&OsStr]) -> Result<Option<f64>> {
    let (program, arguments) = words.split_first().context("no program")?;
    let found =
        env::var_os("PATH").is_some_and(|path| env::split_paths(&path).any(|at| at.join(program).is_file()));
    if !found {
        return Ok(None);
    }
    let command = || {
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    };
    let usage = Tree::start(command, None)?.wait().usage;
    let times = [usage.ru_utime, usage.ru_stime];
    Ok(Some(times.iter().map(|time| time.tv_sec as f64 + time.tv_usec as f64 / 1e6).sum()))
}

/// One program in each design and on the other machines, in turns.
fn turns() -> Result<Vec<Figure>> {
    let root = workspace::root()?;
    let mut figures = Vec::new();
    for (program, goals) in [
        ("mix", [("QEMU that counts", 1.3), ("Spike", 5.0)]),
        ("float", [("QEMU that does not count", 1.0), ("Spike", 0.0)]),
    ] {
        let elf = root.join(format!("guests/riscv/bench/{program}.elf"));
        let qemu: Vec<&OsStr> = QEMU.iter().map(OsStr::new).chain([elf.as_os_str()]).collect();
        let counting: Vec<&OsStr> = qemu.iter().copied().chain(COUNTS.iter().map(OsStr::new)).collect();
        let spike: Vec<&OsStr> = vec!["spike".as_ref(), elf.as_os_str()];
        let others = [("QEMU that counts", counting), ("QEMU that does not count", qemu), ("Spike", spike)];
        let mut ours = vec![[Vec::new(), Vec::new()]; DESIGNS.len()];
        let mut theirs = vec![Vec::new(); others.len()];
        for _ in 0..ROUNDS {
            let text = example(
                "tollgate-translate",
                "tiers",
                &["1".as_ref(), u64::MAX.to_string().as_ref(), elf.as_ref()],
            )?;
            let number = |words: &[&str]| number_after(&text, words).unwrap_or(f64::NAN);
            for ((design, _), speeds) in DESIGNS.iter().zip(&mut ours) {
                let words: Vec<&str> = design.split(' ').collect();
                for (speeds, tier) in speeds.iter_mut().zip(["interpreted", "translated"]) {
                    speeds.push(number(&[&words[..], &[tier]].concat()));
                }
            }
            let instructions = number(&["instructions:"]);
            for ((name, command), speeds) in others.iter().zip(&mut theirs) {
                if let Some(seconds) = processor_time(command)? {
                    println!("  {name}: {:.0} MIPS", instructions / 1e6 / seconds);
                    speeds.push(instructions / 1e6 / seconds);
                }
            }
        }
        let interpreted = median(ours[0][0].clone());
        if program == "mix" {
            figures.push(at_least("mix interpreted, MIPS", interpreted, 556.0));
        }
        let translated = median(ours[0][1].clone());
        for ((name, _), speeds) in others.iter().zip(theirs) {
            let bound = goals.iter().find(|(other, _)| other == name).map_or(0.0, |(_, bound)| *bound);
            let what = format!("{program} translated ({translated:.0} MIPS), times {name}");
            figures.push(if speeds.is_empty() {
                skipped(&what, "there is no such program")
            } else {
                at_least(&what, translated / median(speeds), bound)
            });
        }
        for ((design, bound), speeds) in DESIGNS.iter().zip(ours) {
            if let Some(bound) = bound.filter(|_| program == "mix") {
                let what = format!("{program}, {} MIPS", design.replace(':', ","));
                figures.push(at_least(&what, median(speeds[1].clone()), bound));
            }
        }
    }
    Ok(figures)
}

/// Programs of RV32, interpreted and translated in turns.
fn narrow() -> Result<Vec<Figure>> {
    let root = workspace::root()?;
    let figure = |(program, bound): (&str, f64)| -> Result<Figure> {
        let elf = root.join(format!("guests/riscv/bench/{program}32.elf"));
        let mut speeds: [Vec<f64>; 2] = Default::default();
        for _ in 0..ROUNDS {
            let steps = u64::MAX.to_string();
            let arguments: [&OsStr; 4] = ["1".as_ref(), steps.as_ref(), elf.as_ref(), "alone".as_ref()];
            let text = example("tollgate-translate", "tiers", &arguments)?;
            for (speeds, tier) in speeds.iter_mut().zip(["interpreted", "translated"]) {
                speeds.push(number_after(&text, &["alone:", tier]).unwrap_or(f64::NAN));
            }
        }
        let [interpreted, translated] = speeds.map(median);
        let what = format!("{program} of RV32 translated ({translated:.0} MIPS), times interpreted");
        Ok(at_least(&what, translated / interpreted, bound))
    };
    [("compute", 1.5), ("branches", 1.5), ("memory", 1.2), ("traps", 0.9)].into_iter().map(figure).collect()
}

/// Types a command until the system is down.
const TYPES: &str = "(while sleep 1; do echo 'poweroff -f' || exit; done) | exec timeout 600 \"$@\"";

/// Linux to its shell and off, in turns with QEMU.
fn boots(tool: &Tool) -> Result<Vec<Figure>> {
    let what = "Linux boots and switches off, times QEMU";
    let (Some(kernel), Some(initrd)) = (env::var_os("TOLLGATE_LINUX"), env::var_os("TOLLGATE_INITRD")) else {
        return Ok(vec![skipped(
            what,
            "TOLLGATE_LINUX and TOLLGATE_INITRD do not name a kernel and its disk",
        )]);
    };
    let path = tool.command(&[]).get_program().to_owned();
    let append: [&OsStr; 2] = [OsStr::new("-append"), OsStr::new("console=ttyS0")];
    let mut ratios = Vec::new();
    for _ in 0..3 {
        let sh: [&OsStr; 4] = ["sh", "-c", TYPES, "sh"].map(OsStr::new);
        let qemu: Vec<&OsStr> = ["qemu-system-riscv64", "-M", "virt", "-m", "512M", "-nographic", "-kernel"]
            .iter()
            .map(OsStr::new)
            .chain([kernel.as_os_str(), "-initrd".as_ref(), initrd.as_os_str()])
            .chain(append)
            .collect();
        let ours: Vec<&OsStr> = [path.as_os_str()]
            .into_iter()
            .chain(["riscv", "boot", "--memory", "512", "--kernel"].map(OsStr::new))
            .chain([
                kernel.as_os_str(),
                "--initrd".as_ref(),
                initrd.as_os_str(),
                "--append".as_ref(),
                append[1],
            ])
            .collect();
        let time = |command: &[&OsStr]| processor_time(&[&sh[..], command].concat());
        if let (Some(theirs), Some(ours)) = (time(&qemu)?, time(&ours)?) {
            println!("  Linux: QEMU {theirs:.2} s, translated {ours:.2} s of processor time");
            ratios.push(theirs / ours);
        }
    }
    Ok(vec![at_least(what, median(ratios), 1.2)])
}

/// What the example `speed` measures of the interpreter.
fn alone() -> Result<Vec<Figure>> {
    let text = example("tollgate-cores", "speed", &[])?;
    let number = |words: &[&str]| number_after(&text, words).unwrap_or(f64::NAN);
    let speed = |what, words: &[&str], bound| at_least(what, number(words), bound);
    Ok(vec![
        speed("functional, integer mix under Sv39, MIPS", &["functional"], 600.0),
        speed("instruction cache counted, MIPS", &["fetches", "64:4:64", "lru"], 250.0),
        speed("caches and TLBs counted, MIPS", &["caches", "and", "TLBs", "counted"], 250.0),
        speed("five stages, caches, TLBs and ledger, MIPS", &["five", "stages"], 150.0),
        at_most("start to first instructions, ms", number(&["start", "instructions:"]) / 1e3, 5.0),
        at_most("sweep of 1,056 geometries over 1 M fetches, s", number(&["sweep", "fetches:"]), 10.0),
    ])
}
