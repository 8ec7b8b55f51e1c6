//! The instruction at fault, and the registers that it reads.

use tollgate_riscv::{Format, Insn, Machine, RegClass, X_NAMES, text};

/// The instruction at an address of the current mode.
pub(crate) fn instruction(machine: &Machine, pc: u64) -> Option<Insn> {
    let half = |address: u64| {
        let address = machine.translate(address).unwrap_or(address);
        let bytes = machine.read_memory(address, 2).ok()?;
        Some(u32::from(bytes[0]) | u32::from(bytes[1]) << 8)
    };
    let low = half(pc)?;
    let word = if low & 3 == 3 { low | half(pc.wrapping_add(2))? << 16 } else { low };
    machine.decoder().decode(word)
}

/// The integer registers that an instruction reads, with their values: each once, and without `x0`.
fn registers(machine: &Machine, insn: &Insn) -> Vec<(&'static str, u64)> {
    let format = insn.row().format;
    let first = (format.rs1() == RegClass::X && format != Format::CsrImm).then_some(insn.rs1);
    let second = (format.rs2() == RegClass::X && insn.rs2 != insn.rs1).then_some(insn.rs2);
    let read = first.into_iter().chain(second).filter(|&register| register != 0);
    read.map(|register| (X_NAMES[usize::from(register)], machine.x(register))).collect()
}

/// An instruction and the registers that it reads, as `` `lw a0,4(t1)` with t1 = 0x10 ``.
pub(crate) fn quoted(machine: &Machine, pc: u64) -> Option<String> {
    let insn = instruction(machine, pc)?;
    Some(format!("`{}`{}", text(&insn), with(machine, &insn)))
}

/// The registers that an instruction reads, as ` with t1 = 0x10`.
pub(crate) fn with(machine: &Machine, insn: &Insn) -> String {
    let values = registers(machine, insn);
    let values: Vec<_> = values.iter().map(|(name, value)| format!("{name} = {value:#x}")).collect();
    if values.is_empty() { String::new() } else { format!(" with {}", values.join(", ")) }
}
