//! Running programs on a simulator.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use anyhow::{Context, Result, ensure};
use tollgate_lab::rtl::golden::{Golden, Retirement};
use tollgate_lab::rtl::{Part, Program};

use crate::command::output;

/// Cycles after which a program is given up: a whole one, and any other.
const LIMITS: [u64; 2] = [30_000_000, 1_000_000];
/// Bytes of a record that a harness writes.
const RECORD: usize = 24;

/// Runs all of them, two at a time.
pub(crate) fn run_all(simulator: &Path, programs: &[Program]) -> Result<Vec<Golden>> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(program) = programs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let golden = run(simulator, program);
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
    goldens.sort_by(|a, b| (&a.program, a.latency).cmp(&(&b.program, b.latency)));
    Ok(goldens)
}

fn run(simulator: &Path, program: &Program) -> Result<Golden> {
    let work = simulator.parent().unwrap_or(simulator);
    let [image, trace] =
        ["image", "trace"].map(|end| work.join(format!("{}-{}.{end}", program.name, program.latency)));
    fs::write(&image, &program.memory)?;
    let mut command = Command::new(simulator);
    // Some RTL writes a log of its own where it runs.
    command.current_dir(work).arg(&image).arg(&trace);
    let limit: u64 = LIMITS[usize::from(program.part != Part::Programs)];
    let mut numbers = vec![program.latency, limit, program.entry, program.end, program.times];
    if let Some(raise) = program.raise() {
        numbers.extend([raise.at, raise.every, raise.phases, raise.handler]);
    }
    command.args(numbers.iter().map(u64::to_string));
    let outcome = output(&mut command);
    fs::remove_file(&image)?;
    let bytes = fs::read(&trace)?;
    fs::remove_file(&trace)?;
    outcome?;
    Ok(golden(program, &bytes))
}

/// What the records of a harness say: cycle, address and bits of an instruction and whether it trapped, or the cycle in which
/// an interrupt was raised. Cycles are counted from the first instruction. The bits are the program's, and are not kept.
fn golden(program: &Program, bytes: &[u8]) -> Golden {
    let number = |at: &[u8]| at.iter().rev().fold(0u64, |sum, &byte| sum << 8 | u64::from(byte));
    let (mut retired, mut raised) = (Vec::new(), Vec::new());
    for record in bytes.chunks_exact(RECORD) {
        let cycle = number(&record[..8]);
        match record[20] {
            2 => raised.push(cycle),
            trapped => retired.push(Retirement { cycle, pc: number(&record[8..16]), trapped: trapped != 0 }),
        }
    }
    let first = retired.first().map_or(0, |first| first.cycle);
    retired.iter_mut().for_each(|each| each.cycle -= first);
    raised.iter_mut().for_each(|cycle| *cycle -= first);
    Golden { program: program.name.clone(), latency: program.latency, retired, raised }
}

#[cfg(test)]
mod tests {
    use tollgate_lab::rtl::Subject;

    use super::*;

    #[test]
    fn records_are_instructions_traps_and_interrupts() {
        let record = |cycle: u64, pc: u64, word: u32, kind: u8| {
            let mut bytes = [cycle.to_le_bytes(), pc.to_le_bytes(), u64::from(word).to_le_bytes()].concat();
            bytes[20] = kind;
            bytes
        };
        let bytes = [
            record(1_000, 0x8000_0000, 0x13, 0),
            record(1_003, 0x8000_0004, 0x73, 1),
            record(1_004, 0, 0, 2),
            record(0x1_0000_0000, 0xffff_ffc0_0000_0100, 0xffff_ffff, 0),
        ]
        .concat();
        let program = &Subject::find("ibex").unwrap().programs(Part::Random).unwrap()[0];
        let golden = golden(program, &bytes);
        let at = |cycle, pc, trapped| Retirement { cycle, pc, trapped };
        let retired = [
            at(0, 0x8000_0000, false),
            at(3, 0x8000_0004, true),
            at(0xffff_fc18, 0xffff_ffc0_0000_0100, false),
        ];
        assert_eq!((golden.retired, golden.raised), (retired.to_vec(), vec![4]));
        assert_eq!((golden.program, golden.latency), (program.name.clone(), program.latency));
    }
}
