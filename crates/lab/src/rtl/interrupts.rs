//! Interrupts at every cycle of a loop.

use tollgate_riscv::Elf;

use super::error::RtlError;
use super::program::{Part, Program, RAM, Raise, Shape, address, choose, parse};
use super::subject::Subject;
use crate::deflated;

static RV32: &[u8] = deflated::image!("rtl-interrupts-rv32");
static CLIC: &[u8] = deflated::image!("rtl-interrupts-clic");
static RV64: &[u8] = deflated::image!("rtl-interrupts-rv64");

/// The cause of the machine external interrupt.
const EXTERNAL: u64 = 11;
/// Passes between two interrupts, in which predictors and caches become steady.
const EVERY: u64 = 6;
/// Cycles of a pass, or more.
const PHASES: u64 = 120;

/// The loops that a core can run.
pub(super) fn programs(subject: &Subject) -> Result<Vec<Program>, RtlError> {
    let image = match (subject.has_clic(), subject.isa().is_rv64()) {
        (true, _) => CLIC,
        (false, true) => RV64,
        (false, false) => RV32,
    };
    let elf = parse(image)?;
    if subject.has_clic() {
        // With the handler's address in a table, and without.
        let table = with_handler(subject, &elf, address(&elf, "handler")?, true, "-table")?;
        let mut programs = with_handler(subject, &elf, address(&elf, "vectors")?, false, "")?;
        programs.extend(table);
        return Ok(programs);
    }
    let vectored = !subject.without.contains(&"interrupt.vectored");
    let handler = address(&elf, "vectors")? + if vectored { 4 * EXTERNAL } else { 0 };
    with_handler(subject, &elf, handler, vectored, "")
}

/// The loops with a handler of that address, and whether it is the cause's own; their names end in `suffix`.
fn with_handler(
    subject: &Subject,
    elf: &Elf,
    handler: u64,
    vectored: bool,
    suffix: &str,
) -> Result<Vec<Program>, RtlError> {
    // Its address is in one word, and whether each cause has an entry in the next.
    let controller = (address(elf, "controller")? - RAM) as usize;
    let mut programs = Vec::new();
    for mut chosen in choose(elf, "interrupt.", subject.without)? {
        let raise = Raise {
            at: chosen.address(&format!("head.{}", chosen.name))?,
            every: EVERY,
            phases: PHASES,
            handler,
            controller: RAM + controller as u64,
        };
        chosen.memory[controller..controller + 4].copy_from_slice(&subject.controller.to_le_bytes());
        chosen.memory[controller + 4] = vectored.into();
        programs.push(Program {
            part: Part::Interrupts,
            name: format!("{}{suffix}", chosen.name),
            latency: subject.latency,
            entry: elf.entry,
            end: raise.handler,
            times: PHASES,
            shape: Shape::Interrupts(raise),
            memory: chosen.memory,
        });
    }
    Ok(programs)
}
