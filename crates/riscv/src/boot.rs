//! Starting a kernel: where firmware, kernel, initial RAM disk and device tree go, as QEMU's `virt` places them.

use crate::config::{ConfigError, MachineKind};
use crate::devices::virtio::block::{Block, SECTOR, Storage};
use crate::devices::virtio::entropy::Entropy;
use crate::devices::virtio::{Device, Slot};
use crate::dtb::{self, Equipment};
use crate::elf::{Elf, LoadError, Segment};
use crate::isa::Xlen;
use crate::machine::{CONSOLE_SLOT, DRIVE_SLOT, ENTROPY_SLOT, Machine, NETWORK_SLOT};
use crate::map::{RAM_BASE, from_le};

/// The firmware in machine mode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Firmware {
    /// The kernel itself.
    Nothing,
    /// The machine: SBI 2.0.
    BuiltIn,
    /// A file: ELF, or code that runs at the beginning of RAM.
    File(Vec<u8>),
}

/// A kernel to start, and its devices.
pub struct Boot<'a> {
    /// Linux's `Image`, or an ELF.
    pub kernel: &'a [u8],
    /// Its firmware; if `None`, what the kernel needs: nothing if it is at the beginning of RAM, where firmware would be,
    /// otherwise the built-in one.
    pub firmware: Option<Firmware>,
    /// The initial RAM disk.
    pub initrd: Option<&'a [u8]>,
    /// A drive; what the guest writes to it stays in memory.
    pub drive: Option<Box<dyn Storage>>,
    /// Whether there is a virtio console, to which everything is typed then.
    pub console: bool,
    /// Whether there is a virtio network device. Nothing else is in its network.
    pub network: bool,
    /// The seed of the entropy device.
    pub seed: u64,
}

/// Why a kernel cannot be started.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages describe the variants")]
pub enum BootError {
    #[error("kernels are started on the machine virt")]
    Machine,
    #[error("as the kernel: {0}")]
    Kernel(LoadError),
    #[error(
        "as the kernel: neither an ELF file nor a RISC-V Linux image; decompress a vmlinuz with gunzip or unzstd first"
    )]
    NotAKernel,
    #[error("as the kernel: an image for {found}, the machine is {expected}")]
    KernelWidth { found: Xlen, expected: Xlen },
    #[error("as firmware: {0}")]
    Firmware(LoadError),
    #[error("as the initial RAM disk: {len} bytes do not fit between the kernel's end {end:#x} and {top:#x}")]
    Initrd { len: u64, end: u64, top: u64 },
    #[error("as the drive: {0} bytes; a drive has sectors of 512 bytes")]
    Drive(u64),
    #[error("{0}")]
    Config(#[from] ConfigError),
}

/// Where a kernel goes that firmware starts.
const PAYLOAD: u64 = RAM_BASE + 0x20_0000;
/// Room for the device tree, at the end of RAM; firmware adds to it.
const TREE_ROOM: u64 = 0x1_0000;
const TREE_ALIGNMENT: u64 = 0x20_0000;
const PAGE: u64 = 4096;

impl Machine {
    /// Places a kernel with what it needs, and resets the harts to start it.
    ///
    /// # Errors
    /// A file that is not a kernel for this machine, or does not fit.
    pub fn boot(&mut self, boot: Boot) -> Result<(), BootError> {
        if self.config.machine != MachineKind::Virt {
            return Err(BootError::Machine);
        }
        let kernel = self.read_kernel(boot.kernel)?;
        let first = kernel.segments.first().map_or(0, |s| s.address);
        let firmware =
            boot.firmware.unwrap_or(if first == RAM_BASE { Firmware::Nothing } else { Firmware::BuiltIn });

        let ram_end = RAM_BASE + self.config.ram_bytes;
        // Some firmware addresses only the first 3 GiB.
        let tree_end = ram_end.min(3 << 30);
        let aligned = (tree_end - TREE_ROOM) & !(TREE_ALIGNMENT - 1);
        let tree_at =
            if aligned > RAM_BASE { aligned } else { (tree_end.saturating_sub(TREE_ROOM)).max(RAM_BASE) };
        let kernel_end = kernel.segments.iter().map(|s| s.address + s.memory_size).max().unwrap_or(RAM_BASE);
        if kernel_end > tree_at {
            let (address, size) = (first, kernel_end - first);
            let outside = LoadError::OutsideRam { address, size, ram_base: RAM_BASE, ram_end: tree_at };
            return Err(BootError::Kernel(outside));
        }
        let initrd = boot.initrd.map(|bytes| place_initrd(bytes, kernel_end, tree_at)).transpose()?;

        self.place(&kernel).map_err(BootError::Kernel)?;
        let mut entry = kernel.entry;
        let mut dynamic = None;
        if let Firmware::File(bytes) = &firmware {
            let (firmware, after) = self.read_firmware(bytes)?;
            if after > first && first >= RAM_BASE {
                let (earlier, later) = (RAM_BASE, first);
                return Err(BootError::Firmware(LoadError::Overlap(earlier, later)));
            }
            self.place(&firmware).map_err(BootError::Firmware)?;
            entry = firmware.entry;
            dynamic = Some(kernel.entry);
        }
        if let (Some((start, _)), Some(bytes)) = (initrd, boot.initrd)
            && let Some(place) = self.bus.ram_slice_mut(start, bytes.len() as u64)
        {
            place.copy_from_slice(bytes);
        }

        let mut entropy = Entropy(boot.seed);
        let seed = (0..4).flat_map(|_| entropy.next().to_le_bytes()).collect();
        let drive = boot.drive.map(drive).transpose()?;
        let mut slots = Vec::new();
        if let Some(virt) = &mut self.bus.virt {
            virt.slots[DRIVE_SLOT] = Slot::new(drive);
            virt.slots[ENTROPY_SLOT] = Slot::new(Some(Device::Entropy(entropy)));
            virt.slots[CONSOLE_SLOT] = Slot::new(boot.console.then_some(Device::Console));
            virt.slots[NETWORK_SLOT] = Slot::new(boot.network.then_some(Device::Network));
            slots = (0..virt.slots.len()).filter(|&n| virt.slots[n].device.is_some()).collect();
        }
        let tree = dtb::build(&self.config, &Equipment { slots, initrd, seed }, TREE_ROOM as usize)?;
        if let Some(place) = self.bus.ram_slice_mut(tree_at, tree.len() as u64) {
            place.copy_from_slice(&tree);
        }

        self.reset_harts(entry, tree_at);
        self.sbi = firmware == Firmware::BuiltIn;
        if self.sbi {
            self.enter_supervisor(0, entry, tree_at);
            self.turns.parked.iter_mut().skip(1).for_each(|core| core.started = false);
        }
        if let Some(next) = dynamic {
            self.tell_firmware(next, tree_at + TREE_ROOM - PAGE);
        }
        Ok(())
    }

    /// OpenSBI's `fw_dynamic` finds in `a2` where the next stage is (include/sbi/fw_dynamic.h).
    fn tell_firmware(&mut self, next: u64, at: u64) {
        const MAGIC: u64 = 0x4942_534f;
        const VERSION: u64 = 2;
        const SUPERVISOR: u64 = 1;
        let word = if self.config.isa.is_rv64() { 8 } else { 4 };
        for (n, value) in (0..).zip([MAGIC, VERSION, next, SUPERVISOR, 0, 0]) {
            self.bus.ram_write(at + n * word, word, value);
        }
        for n in 0..self.harts() {
            let hart = self.hart_mut(n);
            hart.set_x(12, hart.canonical(at));
        }
    }

    /// The kernel as a program at its physical addresses.
    fn read_kernel(&self, bytes: &[u8]) -> Result<Elf, BootError> {
        let xlen = self.config.isa.xlen();
        if let Some(image) = image(bytes, xlen)? {
            return Ok(image);
        }
        let mut elf = match Elf::parse(bytes) {
            Err(LoadError::NotElf) => return Err(BootError::NotAKernel),
            other => other.map_err(BootError::Kernel)?,
        };
        if elf.xlen != xlen {
            return Err(BootError::KernelWidth { found: elf.xlen, expected: xlen });
        }
        let first = elf.segments.first().map_or(0, |s| s.address);
        if first < RAM_BASE {
            // A vmlinux counts physical addresses from 0 and is entered at its first byte.
            elf.move_by(PAYLOAD - first);
            elf.entry = PAYLOAD;
        } else if !elf.segments.iter().any(|s| (s.address..s.address + s.memory_size).contains(&elf.entry)) {
            elf.entry = first;
        }
        Ok(elf)
    }

    /// Firmware as a program, and where it ends.
    fn read_firmware(&self, bytes: &[u8]) -> Result<(Elf, u64), BootError> {
        let xlen = self.config.isa.xlen();
        let mut elf = match Elf::parse_firmware(bytes) {
            // Code without a header.
            Err(LoadError::NotElf) => program(RAM_BASE, bytes, bytes.len() as u64, xlen),
            other => other.map_err(BootError::Firmware)?,
        };
        if elf.xlen != xlen {
            let wrong = LoadError::WrongWidth { found: elf.xlen, expected: xlen };
            return Err(BootError::Firmware(wrong));
        }
        if elf.segments.first().is_some_and(|s| s.address < RAM_BASE) {
            elf.move_by(RAM_BASE);
        }
        let end = elf.segments.iter().map(|s| s.address + s.memory_size).max().unwrap_or(RAM_BASE);
        Ok((elf, end))
    }
}

/// A program of one part, entered at its beginning.
fn program(address: u64, data: &[u8], memory_size: u64, xlen: Xlen) -> Elf {
    let segment = Segment { address, data: data.to_vec(), memory_size, executable: true };
    Elf { entry: address, xlen, segments: vec![segment], symbols: Vec::new() }
}

/// Linux's `Image` (Documentation/arch/riscv/boot-image-header.rst); `None` if it is not one.
fn image(bytes: &[u8], xlen: Xlen) -> Result<Option<Elf>, BootError> {
    let word = |range| bytes.get(range).map_or(0, from_le);
    const MAGIC_2: u64 = 0x0543_5352;
    if word(56..60) != MAGIC_2 {
        return Ok(None);
    }
    let (offset, size) = (word(8..16), word(16..24));
    // Bit 1 of the flags of newer kernels is not defined; the offset tells the width: 2 MiB on RV64, 4 MiB on RV32.
    let found = if offset == 0x40_0000 { Xlen::Rv32 } else { Xlen::Rv64 };
    if found != xlen {
        return Err(BootError::KernelWidth { found, expected: xlen });
    }
    let size = size.max(bytes.len() as u64);
    let address = RAM_BASE.checked_add(offset).filter(|a| a.checked_add(size).is_some());
    let damaged = || BootError::Kernel(LoadError::Damaged("the image's header has impossible sizes".into()));
    Ok(Some(program(address.ok_or_else(damaged)?, bytes, size, xlen)))
}

/// The range of the initial RAM disk: as high as it can be.
fn place_initrd(bytes: &[u8], kernel_end: u64, top: u64) -> Result<(u64, u64), BootError> {
    let len = bytes.len() as u64;
    let start = top.checked_sub(len).map(|start| start & !(PAGE - 1));
    match start.filter(|&start| start >= kernel_end) {
        Some(start) => Ok((start, start + len)),
        None => Err(BootError::Initrd { len, end: kernel_end, top }),
    }
}

fn drive(storage: Box<dyn Storage>) -> Result<Device, BootError> {
    match storage.len() {
        0 => Err(BootError::Drive(0)),
        len if len % SECTOR != 0 => Err(BootError::Drive(len)),
        _ => Ok(Device::Block(Block::new(storage))),
    }
}
