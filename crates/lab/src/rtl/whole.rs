//! Whole programs: those of the corpus.

use super::error::RtlError;
use super::program::{Part, Program, Shape, choose, parse};
use super::subject::Subject;
use crate::deflated;

static RV32: &[u8] = deflated::image!("rtl-programs-rv32");
static RV64: &[u8] = deflated::image!("rtl-programs-rv64");

/// Those that a core can run: all.
pub(super) fn programs(subject: &Subject) -> Result<Vec<Program>, RtlError> {
    let elf = parse(if subject.isa().is_rv64() { RV64 } else { RV32 })?;
    let mut programs = Vec::new();
    for chosen in choose(&elf, "program.", subject.without)? {
        programs.push(Program {
            part: Part::Programs,
            name: chosen.name.to_owned(),
            latency: subject.latency,
            entry: elf.entry,
            end: chosen.address("done")?,
            times: 1,
            shape: Shape::Whole { begin: chosen.symbol.address },
            memory: chosen.memory,
        });
    }
    Ok(programs)
}
