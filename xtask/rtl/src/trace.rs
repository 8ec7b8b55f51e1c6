//! Running programs on a simulator.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use anyhow::{Context, Result, ensure};
use tollgate_lab::rtl::Program;
use tollgate_lab::rtl::golden::{Golden, Retirement};

use crate::command::output;

/// Cycles after which a program is given up.
const LIMIT: u64 = 1_000_000;
/// Bytes of a record that a harness writes.
const RECORD: usize = 24;

/// Runs all of them, two at a time.
pub(crate) fn run_all(
    simulator: &Path,
    programs: &[Program],
    latency: u64,
    work: &Path,
) -> Result<Vec<Golden>> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(program) = programs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let golden = run(simulator, program, latency, work);
                    let golden = golden.with_context(|| program.name.clone());
                    done.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push(golden);
                }
            });
        }
    });
    let all = done.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    let (good, bad): (Vec<_>, Vec<_>) = all.into_iter().partition(Result::is_ok);
    for error in bad.iter().filter_map(|result| result.as_ref().err()) {
        println!("  {error:#}");
    }
    ensure!(bad.is_empty(), "{} programs of {} cannot be run", bad.len(), programs.len());
    let mut goldens: Vec<Golden> = good.into_iter().flatten().collect();
    goldens.sort_by(|a, b| a.program.cmp(&b.program));
    Ok(goldens)
}

fn run(simulator: &Path, program: &Program, latency: u64, work: &Path) -> Result<Golden> {
    let [image, trace] = ["image", "trace"].map(|end| work.join(format!("{}.{end}", program.name)));
    fs::write(&image, &program.memory)?;
    let mut command = Command::new(simulator);
    // Some RTL writes a log of its own where it runs.
    command.current_dir(work).arg(&image).arg(&trace);
    command.args([program.entry, program.end, latency, LIMIT].map(|number| number.to_string()));
    let outcome = output(&mut command);
    fs::remove_file(&image)?;
    let bytes = fs::read(&trace)?;
    fs::remove_file(&trace)?;
    outcome?;
    let number = |at: &[u8]| at.iter().rev().fold(0u64, |sum, &byte| sum << 8 | u64::from(byte));
    let retired = bytes.chunks_exact(RECORD).map(|record| Retirement {
        cycle: number(&record[..8]),
        pc: number(&record[8..16]),
        word: number(&record[16..20]) as u32,
        trapped: record[20] != 0,
    });
    let mut retired: Vec<Retirement> = retired.collect();
    let first = retired.first().map_or(0, |first| first.cycle);
    retired.iter_mut().for_each(|each| each.cycle -= first);
    Ok(Golden { program: program.name.clone(), latency, retired })
}
