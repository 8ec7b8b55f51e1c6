//! Traps by phase: the lab's guest kernels on cores of 64 bits, small ones on those of 32.

use tollgate_riscv::Elf;

use super::error::RtlError;
use super::program::{Part, Program, Shape, address, choose, flat, next, parse};
use super::subject::Subject;
use crate::attribution::phases;
use crate::bill::Experiment;
use crate::call::Crossing;
use crate::deflated;
use crate::design::DESIGNS;
use crate::image;

static RV32: &[u8] = deflated::image!("rtl-traps-rv32");
/// For cores that have machine mode only.
static MACHINE: &[u8] = deflated::image!("rtl-machine-traps-rv32");
static CLIC: &[u8] = deflated::image!("rtl-clic-traps-rv32");

/// Latencies of memory.
const LATENCIES: [u64; 3] = [20, 60, 150];
/// Crossings behind the first one.
const CROSSINGS: u64 = 24;
/// The call that does least.
const GETPID: Crossing = Crossing::Call(172);

/// Those that a core can run.
pub(super) fn programs(subject: &Subject) -> Result<Vec<Program>, RtlError> {
    if subject.isa().is_rv64() { guests(subject) } else { small(subject) }
}

/// The small kernels that a core can run. Memory without a cache has one latency.
fn small(subject: &Subject) -> Result<Vec<Program>, RtlError> {
    let elf = parse(match (subject.without.contains(&"user"), subject.has_clic()) {
        (false, _) => RV32,
        (true, false) => MACHINE,
        (true, true) => CLIC,
    })?;
    let latencies = if subject.cached { &LATENCIES[..] } else { &[subject.latency] };
    let mut programs = Vec::new();
    for chosen in choose(&elf, "trap.", subject.without)? {
        for &latency in latencies {
            if subject.without.contains(&format!("{}-{latency}", chosen.name).as_str()) {
                continue;
            }
            programs.push(Program {
                part: Part::Traps,
                name: chosen.name.to_owned(),
                latency,
                entry: elf.entry,
                end: chosen.address(&format!("toll.end.{}", chosen.name))?,
                times: CROSSINGS + 1,
                memory: chosen.memory.clone(),
                shape: Shape::Traps {
                    begin: chosen.address(&format!("toll.begin.{}", chosen.name))?,
                    marks: phases(&elf),
                },
            });
        }
    }
    Ok(programs)
}

/// The guest kernels that a core can run, at each latency. The timer's kernels are not among them: when its
/// interrupt comes depends on cycles. Those of our own extensions cannot run on any core.
fn guests(subject: &Subject) -> Result<Vec<Program>, RtlError> {
    let mut programs = Vec::new();
    for design in DESIGNS {
        let crossing = design.crossing.unwrap_or(GETPID);
        let without =
            design.is_custom() || crossing == Crossing::Timer || subject.without.contains(&design.name);
        if without {
            continue;
        }
        let experiment = Experiment { design, crossing, iterations: CROSSINGS };
        let elf = Elf::parse(&image::prepare(&experiment)?)?;
        let from = address(
            &elf,
            match crossing {
                Crossing::SoftInterrupt => "toll_soft_interrupt",
                Crossing::Yield => "toll_yield",
                _ => "toll_system_call",
            },
        )?;
        for latency in LATENCIES {
            if subject.without.contains(&format!("{}-{latency}", design.name).as_str()) {
                continue;
            }
            programs.push(Program {
                part: Part::Traps,
                name: design.name.to_owned(),
                latency,
                entry: elf.entry,
                end: next(&elf, "toll.end.", from)?,
                times: CROSSINGS + 1,
                memory: flat(&elf),
                shape: Shape::Traps { begin: next(&elf, "toll.begin.", from)?, marks: phases(&elf) },
            });
        }
    }
    Ok(programs)
}
