//! The crossings that a first process of the user's marks.

use std::collections::BTreeSet;

use tollgate_record::family::Caches;
use tollgate_record::{Measurement, Per};
use tollgate_riscv::{Elf, Machine, Xlen};

use super::watch::Watch;
use super::{BOOT, BillError, FirstCall, KernelJob, What, entry_of, last_lines, run};
use crate::boot;

/// The header that marks crossings, as sources include it: its name and its text.
pub const HEADER: (&str, &str) = ("crossing.h", include_str!("../../guests/riscv/include/crossing.h"));

/// A first process of Linux, which marks its crossings.
#[derive(Clone)]
pub struct Probe {
    /// What its crossings are called, before their numbers.
    pub name: String,
    /// A static program for Linux.
    pub program: Vec<u8>,
}

impl Probe {
    /// Whether the kernel can start it.
    pub(super) fn check(&self) -> Result<(), BillError> {
        let elf = Elf::parse(&self.program).map_err(|error| BillError::Probe(error.to_string()))?;
        if elf.xlen != Xlen::Rv64 {
            return Err(BillError::Probe("a program of 32 bits, and Linux here has 64".into()));
        }
        Ok(())
    }
}

/// Runs until the process begins, and says on which hart and where the kernel takes its traps: its first page is mapped when
/// its first instruction traps.
pub(super) fn begun(machine: &mut Machine, interrupted: &dyn Fn() -> bool) -> Result<FirstCall, BillError> {
    let (mut first, mut console) = (FirstCall::of_any_trap(), Vec::new());
    let ends = |first: &FirstCall, console: &[u8]| {
        first.handler.is_some() || boot::gave_up(console) || interrupted()
    };
    // In short pieces: its first crossing may come soon.
    run(machine, BOOT, 1 << 10, &mut first, &mut console, &[], ends);
    match first.handler {
        Some(_) => Ok(first),
        None if interrupted() => Err(BillError::Interrupted),
        None => Err(BillError::NoProcess(last_lines(&console))),
    }
}

/// The bills of all crossings that were marked, in the order of their numbers.
pub(super) fn bills(
    job: &KernelJob,
    of: (&str, &str, &str),
    watch: &Watch,
    console: &[u8],
) -> Result<Vec<Measurement>, BillError> {
    let (name, kernel, isa) = of;
    if let Some(code) = exit_code(console).filter(|&code| code != 0) {
        let how = match code & 0x7f {
            0 => format!("with the status {}", code >> 8),
            signal => format!("by the signal {signal}"),
        };
        return Err(BillError::ProbeEnded(how, last_lines(console)));
    }
    let marks: BTreeSet<u16> = watch.crossings.keys().copied().collect();
    if marks.is_empty() {
        return Err(BillError::NoMarks);
    }
    let result = |mark: u16| {
        let found = &watch.crossings[&mark];
        // The first half warms the caches.
        let warm = &found[found.len() / 2..];
        let name = if marks.len() == 1 { name.to_owned() } else { format!("{name}-{mark}") };
        let about = format!("marked by {name}; warm, the median one");
        let what = What { name: &name, per: Per::Trap, call: None };
        entry_of(job, kernel, isa, &what, (Caches::Warm, about), warm, watch)
    };
    Ok(marks.iter().filter_map(|&mark| result(mark)).collect())
}

/// How the first process ended, as the kernel's panic says it (`kernel/exit.c` of Linux): as wait(2) has it.
fn exit_code(console: &[u8]) -> Option<u32> {
    let text = String::from_utf8_lossy(console);
    let (_, rest) = text.split_once("Attempted to kill init! exitcode=0x")?;
    u32::from_str_radix(rest.get(..8)?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_the_first_process_is_read_from_the_panic() {
        let code = |text: &str| exit_code(text.as_bytes());
        let panic = "Kernel panic - not syncing: Attempted to kill init! exitcode=";
        assert_eq!(code(&format!("{panic}0x0000000b\n")), Some(11));
        assert_eq!(code(&format!("{panic}0x00000300")), Some(0x300));
        assert_eq!(code(&format!("{panic}0x00")), None);
        assert_eq!(code("Kernel panic - not syncing: VFS"), None);
    }

    #[test]
    fn what_linux_cannot_start_is_refused() {
        let probe = |program: &[u8]| Probe { name: "mine".into(), program: program.into() };
        assert!(matches!(probe(b"int main;").check(), Err(BillError::Probe(_))));
        assert!(probe(super::super::PROBE).check().is_ok());
    }
}
