//! seL4 with a root task of ours. A loader has to place both, map the kernel where it is linked, and enter it
//! (`src/arch/riscv/head.S` of seL4). The host does that, so that only three instructions of a loader run.

use tollgate_riscv::{BootError, Elf, Firmware, Insn, Isa, LoadError, Machine, MemoryError, Op, Operands};

use crate::boot::{self, BootJob, KernelError};

static PROBE: &[u8] = include_bytes!("../../guests/riscv/images/probe-sel4.elf");

const RAM: u64 = 0x8000_0000;
/// As much as seL4 is built for: `tools/dts/spike.dts` of seL4.
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
fn root() -> Result<(Elf, u64), KernelError> {
    let elf = parse(PROBE)?;
    let first = elf.segments.first().map_or(0, |segment| segment.address & !(PAGE - 1));
    Ok((elf, first))
}

fn parse(file: &[u8]) -> Result<Elf, KernelError> {
    Ok(Elf::parse(file).map_err(BootError::Kernel)?)
}

fn outside(MemoryError { address, len }: MemoryError) -> KernelError {
    let (ram_base, ram_end) = (RAM, RAM + RAM_BYTES);
    BootError::Kernel(LoadError::OutsideRam { address, size: len, ram_base, ram_end }).into()
}

/// A machine whose hart is about to enter the kernel.
pub(super) fn prepare(image: Vec<u8>, isa: Isa) -> Result<Machine, KernelError> {
    let kernel = parse(&image)?;
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
    let (root, first) = root()?;
    enter(&mut machine, &kernel, &root, first).map_err(outside)?;
    Ok(machine)
}

/// Places the root task, and has the hart enter the kernel.
fn enter(machine: &mut Machine, kernel: &Elf, root: &Elf, first: u64) -> Result<(), MemoryError> {
    let mut end = ROOT;
    for segment in &root.segments {
        let at = ROOT + segment.address - first;
        machine.write_memory(at, &segment.data)?;
        end = end.max((at + segment.memory_size).next_multiple_of(PAGE));
    }
    // The distance between the kernel's place and where it is linked is a multiple of a gigapage: KERNEL_ELF_BASE of
    // include/arch/riscv/arch/64/mode/hardware.h.
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
    // In t0 and t1.
    machine.set_x(5, SV39 | table >> 12);
    machine.set_x(6, kernel.entry);
    // The root task's range, its distance from where it is linked, its entry, and no device tree.
    for (register, value) in (10..).zip([ROOT, end, ROOT - first, root.entry, 0, 0]) {
        machine.set_x(register, value);
    }
    Ok(())
}

/// The line of the root task in which a call failed, and the kernel's error.
pub(super) fn failure(machine: &Machine) -> Result<Option<(u64, u64)>, KernelError> {
    let bytes = machine.read_memory(address("failed")?, 16).map_err(outside)?;
    let word =
        |at: usize| bytes[at..at + 8].iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte));
    Ok(Some((word(0), word(8))).filter(|failure| failure.0 != 0))
}

/// Says which crossings the root task is to make.
pub(super) fn ask(machine: &mut Machine, marks: impl Iterator<Item = u16>) -> Result<(), KernelError> {
    let bits = marks.fold(0_u64, |bits, mark| bits | 1 << mark);
    machine.write_memory(address("asked")?, &bits.to_le_bytes()).map_err(outside)
}

/// Where a variable of the root task is.
fn address(name: &str) -> Result<u64, KernelError> {
    let (elf, first) = root()?;
    Ok(ROOT + elf.symbol(name).unwrap_or(first) - first)
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
