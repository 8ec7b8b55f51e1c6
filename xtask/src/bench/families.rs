//! The promised figures of `tollgate switch`, `crossing` and `fault`.

use super::figures::{Effort, Figure, at_most, median, ns, row, skipped};
use crate::tool::Tool;
use anyhow::{Context, Result};
use statrs::statistics::Statistics;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::time::Instant;
use tollgate_record::Run;
use tollgate_testkit::printed;

/// Pairs of measurements of Boost.Fiber: one pair shows changes of the core's frequency rather than the batches.
const FIBER_PAIRS: usize = 5;

/// The time of the default table, our own switch beside the other stackful ones, and Boost.Fiber in longer batches.
pub(super) fn switch(tool: &Tool) -> Result<Vec<Figure>> {
    // Builds the runtimes, so that the next call measures only.
    tool.run(&["switch", "--quick"])?;
    let (run, seconds) = tool.run(&["switch"])?;
    let mut figures = vec![at_most("tollgate switch, seconds once built", seconds, 90.0)];
    let others = run.results.iter().filter_map(|row| {
        let stackful = row.asked.runtime().is_some_and(|asked| asked.kind == "stackful");
        let name = row.probe.strip_prefix("switch/").filter(|name| stackful && !name.starts_with("own/"))?;
        Some((name, row.ns?.estimate))
    });
    figures.push(match others.min_by(|a, b| a.1.total_cmp(&b.1)) {
        Some((best, bound)) => {
            let what = format!("own/jmp, ns, beside {best} which is the fastest other stackful row");
            at_most(&what, ns(&run, "switch/own/jmp").map_or(f64::NAN, |it| it.estimate), bound)
        }
        None => skipped("own/jmp beside others", "no other stackful runtime can be built"),
    });
    figures.push(if ns(&run, "switch/boost-fiber/yield").is_some() {
        let pairs: Vec<[f64; 2]> = (0..FIBER_PAIRS).map(|_| pair(tool)).collect::<Result<_>>()?;
        println!("  boost-fiber/yield in batches of 0.3 and of 3 ms, ns, alternately: {pairs:.2?}");
        let middle = |which: usize| median(pairs.iter().map(|pair| pair[which]).collect());
        let apart = (middle(0) / middle(1) - 1.0).abs() * 100.0;
        at_most("boost-fiber/yield, medians, % from batches ten times as long", apart, 5.0)
    } else {
        skipped("boost-fiber/yield", "it cannot be built here (apt-get install libboost-fiber-dev)")
    });
    Ok(figures)
}

/// Nanoseconds per switch of Boost.Fiber's yield, in batches of the default length and ten times as long.
fn pair(tool: &Tool) -> Result<[f64; 2]> {
    let mut both = [f64::NAN; 2];
    for (figure, batch_us) in both.iter_mut().zip(["300", "3000"]) {
        let (run, _) = tool.run(&["switch", "boost-fiber/yield", "--batch-us", batch_us])?;
        *figure = ns(&run, "switch/boost-fiber/yield").map_or(f64::NAN, |it| it.estimate);
    }
    Ok(both)
}

/// Phases with the largest distance of a run from the mean of all runs, in percent.
const REPEAT: [(&str, &str, f64); 4] = [
    ("syscall/clock_gettime", "entry", 2.0),
    ("syscall/clock_gettime", "return", 2.0),
    ("fault/anonymous", "entry", 3.0),
    ("fault/protection", "entry", 3.0),
];
/// Bills whose phases must sum to the total.
const BILLS: [&str; 6] = [
    "syscall/clock_gettime",
    "fault/anonymous",
    "fault/zero-page",
    "fault/cached-file",
    "fault/protection",
    "signal/self",
];

/// How well the phases of `tollgate crossing` repeat, how large the unattributed rest is, how long it takes.
pub(super) fn crossing(tool: &Tool, effort: &Effort) -> Result<Vec<Figure>> {
    let runs = effort.repeat(tool, &["crossing"])?;
    let longest = runs.iter().map(|(_, seconds)| *seconds).fold(0.0, f64::max);
    let mut figures = vec![at_most("tollgate crossing, longest, seconds", longest, 30.0)];
    for (probe, part, bound) in REPEAT {
        let values: Vec<f64> = runs.iter().filter_map(|(run, _)| phase(run, probe, part)).collect();
        let what = format!("{probe}, {part}: farthest run from the mean, %");
        if values.len() < runs.len() {
            figures.push(skipped(&what, "not every run has this phase"));
            continue;
        }
        println!("  {probe}, {part}: {values:.1?} ns");
        figures.push(at_most(&what, farthest(&values), bound));
    }
    for probe in BILLS {
        let share = |run| Some(phase(run, probe, "unattributed")? / ns(run, probe)?.estimate);
        let rest: Vec<f64> = runs.iter().filter_map(|(run, _)| share(run)).collect();
        figures.push(if rest.is_empty() {
            skipped(&format!("{probe}: unattributed"), "no run has phases")
        } else {
            at_most(&format!("{probe}: unattributed, mean, % of the total"), (100.0 * rest.mean()).abs(), 2.0)
        });
    }
    Ok(figures)
}

/// A phase in nanoseconds. It is the sum of two where a bare guest has measured the share of the hardware.
fn phase(run: &Run, probe: &str, part: &str) -> Option<f64> {
    let names: [&str; 3] = match part {
        "entry" => ["entry", "hardware-entry", "entry-code"],
        "return" => ["return", "hardware-return", "exit-code"],
        other => [other; 3],
    };
    let found = row(run, probe)?.phases.iter().filter(|phase| names.contains(&phase.name.as_str()));
    let parts = found.map(|phase| Some(phase.ns?.estimate)).collect::<Option<Vec<f64>>>()?;
    (!parts.is_empty()).then(|| parts.iter().sum())
}

fn farthest(values: &[f64]) -> f64 {
    let mean = values.mean();
    values.iter().map(|value| 100.0 * (value / mean - 1.0).abs()).fold(0.0, f64::max)
}

/// The plain loop that a scan is compared with: it maps a file and reads one byte of each page in order.
const LOOP: &str = r#"
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
int main(int argc, char **argv) {
    int fd = open(argv[1], O_RDONLY);
    struct stat st;
    if (argc != 2 || fd < 0 || fstat(fd, &st)) return 1;
    fsync(fd);
    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    volatile char *p = mmap(0, st.st_size, PROT_READ, MAP_SHARED, fd, 0);
    if (p == MAP_FAILED) return 1;
    struct timespec a, b;
    clock_gettime(CLOCK_MONOTONIC, &a);
    for (off_t at = 0; at < st.st_size; at += 4096) (void)p[at];
    clock_gettime(CLOCK_MONOTONIC, &b);
    printf("%.9f\n", (b.tv_sec - a.tv_sec) + (b.tv_nsec - a.tv_nsec) / 1e9);
    return 0;
}
"#;

/// Runs of the scan and of the loop.
const SCAN_PAIRS: usize = 7;

pub(super) fn fault(tool: &Tool) -> Result<Vec<Figure>> {
    let (kinds, seconds) = tool.run(&["fault", "kinds"])?;
    let p50 = |probe: &str| Some(row(&kinds, probe)?.single?.p50);
    let major = match (p50("fault/major"), p50("fault/direct-read")) {
        (Some(major), Some(floor)) => at_most(
            "random major fault, % of its median from that of an O_DIRECT read",
            (major / floor - 1.0).abs() * 100.0,
            15.0,
        ),
        _ => skipped("random major fault beside an O_DIRECT read", "one of them was not measured"),
    };
    let time = at_most("tollgate fault kinds, seconds", seconds, 60.0);
    Ok(vec![time, major, missed(tool)?, beside_c(tool)?])
}

/// The share of random touches under a memory limit that are major faults.
fn missed(tool: &Tool) -> Result<Figure> {
    const WHAT: &str = "random major faults for each touch, 256 MiB over 1 GiB, % from 1 - limit/size";
    let args = "fault scan --size 1G --memory-limit 256M --pattern random --advice random";
    let Ok((scan, _)) = tool.run(&args.split(' ').collect::<Vec<_>>()) else {
        return Ok(skipped(WHAT, "no control group may be made here"));
    };
    let result = scan.results.first().context("no result")?;
    let all = result.proof.get("major-per-touch").context("no count of major faults")?;
    let steady = result.counters.get("steady-major-per-touch").context("memory was never full")?;
    println!("  major for each touch: {all:.4} from an empty memory on, {steady:.4} once it was full");
    Ok(at_most(WHAT, (steady / 0.75 - 1.0).abs() * 100.0, 5.0))
}

/// The scan and the plain loop, alternating on the same file.
fn beside_c(tool: &Tool) -> Result<Figure> {
    const WHAT: &str = "scan of 1 GiB, times a plain C loop";
    let place = tempfile::tempdir()?;
    let [source, program, file] = ["loop.c", "loop", "file"].map(|name| place.path().join(name));
    fs::write(&source, LOOP)?;
    let built = Command::new("cc").arg("-O2").arg(&source).arg("-o").arg(&program).status();
    if !built.is_ok_and(|status| status.success()) {
        return Ok(skipped(WHAT, "there is no C compiler"));
    }
    write(&file, 1 << 30)?;
    let name = file.to_str().context("a name in UTF-8")?;
    let (mut scans, mut loops) = (Vec::new(), Vec::new());
    for _ in 0..SCAN_PAIRS {
        let (scan, _) = tool.run(&["fault", "scan", "--size", "1G", "--file", name])?;
        let seconds = scan.results.first().and_then(|result| result.counters.get("scan-s"));
        scans.push(*seconds.context("no time")?);
        loops.push(printed(Command::new(&program).arg(&file))?.trim().parse()?);
    }
    println!("  seconds of the scan: {scans:.3?}\n  seconds of the loop: {loops:.3?}");
    Ok(at_most(WHAT, median(scans) / median(loops), 1.1))
}

/// Writes a file of data that does not compress.
fn write(path: &Path, bytes: u64) -> Result<()> {
    let start = Instant::now();
    let mut file = File::create(path)?;
    let words = (0..1_u64 << 17).map(|word| word.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let mut piece: Vec<u8> = words.flat_map(u64::to_ne_bytes).collect();
    for number in 0..bytes / piece.len() as u64 {
        // Different in each piece, because some devices store equal blocks once.
        piece[..8].copy_from_slice(&number.to_ne_bytes());
        file.write_all(&piece)?;
    }
    file.sync_all()?;
    println!("  a file of 1 GiB written in {:.1} s", start.elapsed().as_secs_f64());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate_record::{Estimate, Evidence, Host, Measurement, Per, Phase, Status, Tool};

    #[test]
    fn a_phase_is_found_also_when_it_is_split_in_two() {
        let tool = Tool { version: String::new(), commit: String::new() };
        let mut run = Run::begin(String::new(), String::new(), tool, Vec::new(), Host::default(), 0);
        for (engine, total) in [("kvm-intel", 1.0), ("host", 100.0)] {
            let mut row = Measurement::empty("fault/anonymous", engine, Per::Touch, Status::Measured);
            row.ns = Some(Estimate::point(total));
            run.results.push(row);
        }
        for (name, ns) in [("hardware-entry", 30.0), ("entry-code", 20.0), ("return", 49.0)] {
            let ns = Some(Estimate::point(ns));
            run.results[1].phases.push(Phase { ns, ..Phase::new(name, Evidence::Guest) });
        }
        assert_eq!(phase(&run, "fault/anonymous", "entry"), Some(50.0));
        assert_eq!(phase(&run, "fault/anonymous", "return"), Some(49.0));
        assert_eq!(phase(&run, "fault/anonymous", "unattributed"), None);
        assert_eq!(ns(&run, "fault/anonymous").map(|it| it.estimate), Some(100.0));
        assert_eq!(ns(&run, "signal/self"), None);
    }

    #[test]
    fn the_farthest_run_decides() {
        assert!((farthest(&[98.0, 100.0, 102.0]) - 2.0).abs() < 1e-9);
    }
}
