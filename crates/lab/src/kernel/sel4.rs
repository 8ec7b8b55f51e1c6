//! seL4 with a root task of ours. A loader has to place both, map the kernel where it is linked, and enter it
//! (`src/arch/riscv/head.S` of seL4). The host does that, so that only three instructions of a loader run.

use tollgate_riscv::{BootError, Elf, Firmware, Insn, Isa, Machine, Op, Operands};

use super::{BillError, FirstCall, QUICK, last_lines, run};
use crate::boot::{self, BootJob, KernelError};

static PROBE: &[u8] = include_bytes!("../../guests/riscv/images/probe-sel4.elf");

/// As much as seL4 believes to have: `tools/dts/spike.dts` of seL4.
const RAM_BYTES: u64 = 4 << 30;
/// Where the root task is: far behind the kernel.
const ROOT: u64 = 0x9000_0000;
const PAGE: u64 = 4096;
/// The largest page of Sv39, and the bits of its entry: valid, readable, writable, executable, accessed, dirty.
const GIGAPAGE: u64 = 1 << 30;
const LEAF: u64 = 0b1100_1111;
/// Sv39 in satp.
const SV39: u64 = 8 << 60;
const SATP: i64 = 0x180;

/// The root task's file, and the first page of its image.
fn root() -> Result<(Elf, u64), BillError> {
    let elf = Elf::parse(PROBE).map_err(|error| KernelError::Boot(BootError::Kernel(error)))?;
    let first = elf.segments.first().map_or(0, |segment| segment.address & !(PAGE - 1));
    Ok((elf, first))
}

/// Boots the kernel until the root task waits for the crossings to make.
pub(super) fn boot(image: Vec<u8>, isa: Isa, interrupted: &dyn Fn() -> bool) -> Result<Machine, BillError> {
    let kernel = Elf::parse(&image).map_err(|error| KernelError::Boot(BootError::Kernel(error)))?;
    let mut machine = boot::prepare(
        &BootJob {
            isa,
            harts: 1,
            ram_bytes: RAM_BYTES,
            kernel: image,
            firmware: Some(Firmware::BuiltIn),
            initrd: None,
            append: String::new(),
            network: false,
            max_instructions: 0,
        },
        None,
    )?;
    enter(&mut machine, &kernel)?;
    let mut first = FirstCall::new(super::System::Sel4.first_call());
    let mut console = Vec::new();
    let ends = |first: &FirstCall, _: &[u8]| first.handler.is_some() || interrupted();
    run(&mut machine, QUICK, 1 << 16, &mut first, &mut console, &[], ends);
    if interrupted() {
        return Err(BillError::Interrupted);
    }
    if first.handler.is_none() {
        return Err(BillError::NoProcess(last_lines(&console)));
    }
    match [read(&machine, "failed", 0)?, read(&machine, "failed", 8)?] {
        [0, _] => Ok(machine),
        [line, error] => Err(BillError::RootTask { line, error }),
    }
}

/// Places the root task, and has the hart enter the kernel.
fn enter(machine: &mut Machine, kernel: &Elf) -> Result<(), BillError> {
    let (root, first) = root()?;
    let mut end = ROOT;
    for segment in &root.segments {
        let at = ROOT + segment.address - first;
        machine.write_memory(at, &segment.data)?;
        end = end.max((at + segment.memory_size).next_multiple_of(PAGE));
    }
    // The kernel is linked as far above its place as a gigapage is: KERNEL_ELF_BASE of include/arch/riscv/arch/64/mode/hardware.h.
    let place = kernel.segments.first().map_or(0, |segment| segment.address) & !(GIGAPAGE - 1);
    let (table, loader) = (end, end + PAGE);
    for (at, to) in [(loader, loader & !(GIGAPAGE - 1)), (kernel.entry, place)] {
        let entry = table + (at >> 30 & 0x1ff) * 8;
        machine.write_memory(entry, &(to >> 2 | LEAF).to_le_bytes())?;
    }
    let satp = Operands { rs1: 5, imm: SATP, ..Operands::default() };
    let jump = Operands { rs1: 6, ..Operands::default() };
    let code = [(Op::Csrrw, satp), (Op::SfenceVma, Operands::default()), (Op::Jalr, jump)];
    let code: Vec<u8> = code.iter().flat_map(|&(op, of)| Insn::encode(op, of).to_le_bytes()).collect();
    machine.write_memory(loader, &code)?;
    machine.set_pc(loader);
    // t0 and t1, then the arguments: the root task's range, its distance from where it is linked, its entry, and no device tree.
    for (register, value) in [(5, SV39 | table >> 12), (6, kernel.entry)] {
        machine.set_x(register, value);
    }
    for (register, value) in (10..).zip([ROOT, end, ROOT - first, root.entry, 0, 0]) {
        machine.set_x(register, value);
    }
    Ok(())
}

/// Says which crossings the root task is to make.
pub(super) fn ask(machine: &mut Machine, marks: impl Iterator<Item = u16>) -> Result<(), BillError> {
    let bits = marks.fold(0_u64, |bits, mark| bits | 1 << mark);
    Ok(machine.write_memory(address("asked")?, &bits.to_le_bytes())?)
}

/// Where a variable of the root task is.
fn address(name: &str) -> Result<u64, BillError> {
    let (elf, first) = root()?;
    Ok(ROOT + elf.symbol(name).unwrap_or(first) - first)
}

fn read(machine: &Machine, name: &str, offset: u64) -> Result<u64, BillError> {
    let bytes = machine.read_memory(address(name)? + offset, 8)?;
    Ok(bytes.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The variables that the host reads and writes are in the image, and the image is where the kernel has nothing.
    #[test]
    fn the_root_task_has_what_the_host_looks_for() {
        let (elf, first) = root().unwrap();
        for name in ["asked", "failed"] {
            assert!(elf.symbol(name).unwrap() > first, "{name}");
        }
        assert!(elf.segments.iter().all(|segment| segment.address + segment.memory_size <= 0x1f_f000));
        assert!(elf.entry > first && elf.entry < first + PAGE);
    }
}
