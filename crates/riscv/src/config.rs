//! The configuration of a machine.

use serde::{Deserialize, Serialize};

use crate::isa::{Extension, Isa};
use crate::map::{MOST_HARTS, RAM_BASE};

/// A memory map.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, strum::EnumString)]
#[strum(serialize_all = "lowercase", parse_err_ty = ConfigError, parse_err_fn = unknown_machine)]
pub enum MachineKind {
    /// Spike's: CLINT, PLIC, 16550 serial port and HTIF.
    #[default]
    Spike,
    /// QEMU's `virt`: CLINT, PLIC, 16550 serial port, power-off and reset, real-time clock, eight virtio slots.
    Virt,
}

impl MachineKind {
    /// The ISA with what this machine has without being asked: QEMU's sets accessed and dirty bits, unless `svade` says
    /// not to.
    pub(crate) fn completes(self, isa: Isa) -> Isa {
        match self {
            MachineKind::Virt if !isa.has(Extension::Svade) => isa.with(Extension::Svadu),
            _ => isa,
        }
    }
}

fn ram_base() -> u64 {
    RAM_BASE
}

fn unknown_machine(name: &str) -> ConfigError {
    ConfigError::Machine(name.to_string())
}

/// The configuration of a machine.
///
/// ```
/// use tollgate_riscv::{Config, Machine, MachineKind};
/// let config = Config { isa: "rv32imac".parse().unwrap(), machine: MachineKind::Virt, ..Config::default() };
/// let machine = Machine::new(config).unwrap();
/// assert_eq!(machine.pc(), 0x8000_0000);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Config {
    /// Instructions.
    pub isa: Isa,
    /// Memory map.
    pub machine: MachineKind,
    /// Size of RAM; a multiple of 4096, at most 64 GiB (1 GiB on RV32).
    pub ram_bytes: u64,
    /// Where RAM begins: 0x80000000, or on Spike's machine another multiple of 4096 below it, for programs that are linked
    /// there. RAM hides what else is at its addresses.
    #[serde(skip, default = "ram_base")]
    pub ram_base: u64,
    /// Whether misaligned loads and stores are done (as QEMU does) rather than trap (as Spike does by default); `zicclsm`
    /// in the ISA string says so as well.
    pub misaligned: bool,
    /// Bits of the address space identifier in `satp`, at most 16; RV32 has at most 9 of them.
    pub asid_bits: u32,
    /// How many bytes of guest output are kept before more is dropped.
    pub console_bytes: usize,
    /// The kernel command line that the device tree passes on.
    pub bootargs: String,
    /// How many harts there are, at most 8. They take turns of a fixed number of instructions, so two runs are the same.
    pub harts: usize,
    /// Whether a store to code is seen by the next fetch (as QEMU does) rather than after `fence.i`.
    pub coherent_code: bool,
}

impl Default for Config {
    /// `rv64gc` on Spike's memory map with 128 MiB, and as many identifiers as there can be.
    fn default() -> Self {
        Config {
            isa: Isa::default(),
            machine: MachineKind::Spike,
            ram_bytes: 128 << 20,
            ram_base: RAM_BASE,
            misaligned: false,
            asid_bits: 16,
            console_bytes: 16 << 20,
            bootargs: String::new(),
            harts: 1,
            coherent_code: false,
        }
    }
}

/// Why a machine cannot be built.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages describe the variants")]
pub enum ConfigError {
    #[error("unknown machine \"{0}\": spike or virt")]
    Machine(String),
    #[error("{0} bytes of RAM: must be a multiple of 4096, from 4096 to 64 GiB (1 GiB on RV32)")]
    RamSize(u64),
    #[error(
        "RAM at {0:#x}: must begin at a multiple of 4096 below 0x80000000 on Spike's machine, at 0x80000000 elsewhere"
    )]
    RamBase(u64),
    #[error("this computer does not have {0} bytes to spare for the machine's RAM; give it less")]
    NoMemory(u64),
    #[error("{0} bits of satp's address space identifier: must be 0 to 16")]
    AsidBits(u32),
    #[error("{0} harts: must be 1 to 8")]
    Harts(usize),
    #[error("{0} harts: Spike's machine has one here; use the machine virt")]
    HartsOfSpike(usize),
    #[error("a CLIC on the machine {0:?} with {1} harts: smclic needs Spike's machine with one hart")]
    Clic(MachineKind, usize),
    #[error("the device tree takes {0} bytes, and there is room for {1}: shorten the boot arguments")]
    DeviceTree(usize, usize),
    #[error("the device tree cannot be written: {0}")]
    DeviceTreeContent(String),
}

const MORE_THAN_MOST: usize = MOST_HARTS + 1;

impl Config {
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        if self.asid_bits > 16 {
            return Err(ConfigError::AsidBits(self.asid_bits));
        }
        match (self.harts, self.machine) {
            (0 | MORE_THAN_MOST.., _) => return Err(ConfigError::Harts(self.harts)),
            (2.., MachineKind::Spike) => return Err(ConfigError::HartsOfSpike(self.harts)),
            _ => {}
        }
        if self.isa.has(Extension::Smclic) && (self.harts, self.machine) != (1, MachineKind::Spike) {
            return Err(ConfigError::Clic(self.machine, self.harts));
        }
        let movable = self.machine == MachineKind::Spike && !self.coherent_code;
        let placed = movable && self.ram_base < RAM_BASE && self.ram_base.is_multiple_of(4096);
        if !placed && self.ram_base != RAM_BASE {
            return Err(ConfigError::RamBase(self.ram_base));
        }
        let most = if self.isa.is_rv64() { 64 << 30 } else { 1 << 30 };
        let fits = self.ram_bytes.is_multiple_of(4096) && (4096..=most).contains(&self.ram_bytes);
        if fits { Ok(()) } else { Err(ConfigError::RamSize(self.ram_bytes)) }
    }

    /// The size of RAM as this computer counts, if it has that to spare: an allocation without this check would end the process.
    pub(crate) fn room(&self) -> Result<usize, ConfigError> {
        let bytes = in_host(self.ram_bytes)?;
        match Vec::<u8>::new().try_reserve_exact(bytes) {
            Ok(()) => Ok(bytes),
            Err(_) => Err(ConfigError::NoMemory(self.ram_bytes)),
        }
    }
}

/// A size in the host's integer, which may have 32 bits.
fn in_host<T: TryFrom<u64>>(bytes: u64) -> Result<T, ConfigError> {
    T::try_from(bytes).map_err(|_| ConfigError::NoMemory(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ram_that_a_host_cannot_address_is_refused() {
        // On a host of 32 bits these would be 128 MiB and nothing.
        for bytes in [4224 << 20, 4096 << 20] {
            assert_eq!(in_host::<u32>(bytes), Err(ConfigError::NoMemory(bytes)));
        }
        assert_eq!(in_host::<u32>(2 << 30), Ok(2 << 30));
    }
}
