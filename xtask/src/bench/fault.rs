//! The promised figures of `tollgate fault`.

use super::figures::{Figure, at_most, median, row, skipped};
use crate::tool::Tool;
use anyhow::{Context, Result};
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::time::Instant;
use tollgate_testkit::printed;

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
const PAIRS: usize = 7;

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
    let all = result.proof.get("major_per_touch").context("no count of major faults")?;
    let steady = result.counters.get("steady_major_per_touch").context("memory was never full")?;
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
    for _ in 0..PAIRS {
        let (scan, _) = tool.run(&["fault", "scan", "--size", "1G", "--file", name])?;
        let seconds = scan.results.first().and_then(|result| result.counters.get("scan_s"));
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
