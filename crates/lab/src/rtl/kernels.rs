//! Loops of one hazard or latency each.

use super::error::RtlError;
use super::program::{Part, Program, Shape, choose, parse};
use super::subject::Subject;
use crate::deflated;

static RV32: &[u8] = deflated::image!("rtl-kernels-rv32");
static RV64: &[u8] = deflated::image!("rtl-kernels-rv64");

/// Those that a core can run.
pub(super) fn programs(subject: &Subject) -> Result<Vec<Program>, RtlError> {
    let elf = parse(if subject.isa().is_rv64() { RV64 } else { RV32 })?;
    let mut kernels = Vec::new();
    for chosen in choose(&elf, "kernel.", subject.without)? {
        let name = chosen.name.to_owned();
        let setup = chosen.symbol.address..chosen.address(&format!("head.{name}"))?;
        kernels.push(Program {
            part: Part::Kernels,
            latency: subject.latency,
            entry: elf.entry,
            end: chosen.address("done")?,
            times: 1,
            shape: Shape::Loop { setup, pass: chosen.address(&format!("pass.{name}"))? },
            memory: chosen.memory,
            name,
        });
    }
    Ok(kernels)
}
