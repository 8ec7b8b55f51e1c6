//! The cores whose RTL was run.

use tollgate_cores::Core;
use tollgate_riscv::{Code, Config, Extension, Isa, Machine};

use super::error::RtlError;
use super::program::{Part, Program, RAM, RAM_BYTES};

/// A core whose RTL was run.
#[derive(Debug)]
pub struct Subject {
    /// Its name.
    pub name: &'static str,
    /// The preset that models it.
    pub preset: &'static str,
    /// Its instructions.
    pub isa: &'static str,
    /// Whether it does misaligned accesses itself.
    pub misaligned: bool,
    /// Whether it has caches, so that not each access waits for memory.
    pub cached: bool,
    /// The address of its interrupt controller, or 0.
    pub controller: u32,
    /// Programs that it cannot run: parts, groups, or single ones.
    pub without: &'static [&'static str],
    /// The latency of memory that programs are run with.
    pub latency: u64,
    /// The recorded runs of its RTL.
    pub golden: &'static [(Part, &'static [u8])],
}

macro_rules! golden {
    ($($part:ident $file:literal),+) => {
        &[$((Part::$part, include_bytes!(concat!("../../guests/riscv/golden/", $file, ".golden")))),+]
    };
}

/// All cores.
pub static SUBJECTS: &[Subject] = &[
    Subject {
        name: "ibex",
        preset: "ibex",
        isa: "rv32imc",
        misaligned: true,
        cached: false,
        controller: 0,
        // Its interrupts always have an entry for each cause.
        without: &["amo", "cache", "interrupt.direct", "supervisor", "translated"],
        latency: 1,
        golden: golden![
            Kernels "ibex-kernels",
            Traps "ibex-traps",
            Programs "ibex-programs",
            Random "ibex-random",
            Interrupts "ibex-interrupts"
        ],
    },
    Subject {
        name: "picorv32",
        preset: "picorv32",
        isa: "rv32im",
        misaligned: false,
        cached: false,
        controller: 0,
        without: &[
            "access",
            "amo",
            "cache",
            "compressed",
            "counter",
            "csr",
            "fence.code",
            "fence.code_after_stores",
            "misaligned",
            "supervisor",
            "translated",
            "interrupts",
            "trap",
            "traps",
            "user",
            "wait",
        ],
        latency: 0,
        golden: golden![Kernels "picorv32-kernels", Programs "picorv32-programs", Random "picorv32-random"],
    },
    Subject {
        name: "vexriscv",
        preset: "vexriscv",
        isa: "rv32ima",
        misaligned: false,
        cached: true,
        controller: 0,
        // It ignores errors of its bus, has no machine counters and no vectors, and does not let mcause and mtval be
        // written. Where memory is slow, the store that takes the software interrupt back arrives after the return: the
        // interrupt comes twice.
        without: &[
            "access.load",
            "access.load_then_work",
            "access.store",
            "compressed",
            "counter",
            "csr.write_cause",
            "csr.write_value",
            "interrupt.direct-150",
            "interrupt.direct-60",
            "interrupt.vectored",
            "wait.software_interrupt",
        ],
        latency: 4,
        golden: golden![
            Kernels "vexriscv-kernels",
            Traps "vexriscv-traps",
            Programs "vexriscv-programs",
            Random "vexriscv-random",
            Interrupts "vexriscv-interrupts"
        ],
    },
    Subject {
        name: "cv32e40x",
        preset: "cv32e40x",
        isa: "rv32imc",
        misaligned: true,
        cached: false,
        controller: 0,
        // It has machine mode only, and errors of its data bus are interrupts that cannot be masked.
        without: &[
            "access.load",
            "access.load_then_work",
            "access.store",
            "amo",
            "cache",
            "supervisor",
            "translated",
            "user",
        ],
        latency: 1,
        golden: golden![
            Kernels "cv32e40x-kernels",
            Traps "cv32e40x-traps",
            Programs "cv32e40x-programs",
            Random "cv32e40x-random",
            Interrupts "cv32e40x-interrupts"
        ],
    },
    Subject {
        name: "cv32e40x-clic",
        preset: "cv32e40x",
        isa: "rv32imc_smclic",
        misaligned: true,
        cached: false,
        controller: 0,
        // As without its CLIC.
        without: &["kernels", "programs", "random", "user"],
        latency: 1,
        golden: golden![Traps "cv32e40x-clic-traps", Interrupts "cv32e40x-clic-interrupts"],
    },
    Subject {
        name: "rocket",
        preset: "rocket",
        isa: "rv64gc",
        misaligned: false,
        cached: true,
        controller: 0x0c00_0000,
        // It has no clean floating-point state: fp-lazy does there what fp-lazy-dirty does. A handler finds its software
        // interrupt taken back too late.
        without: &["fp-lazy", "wait.software_interrupt"],
        latency: 20,
        golden: golden![
            Kernels "rocket-kernels",
            Traps "rocket-traps",
            Programs "rocket-programs",
            Random "rocket-random",
            Interrupts "rocket-interrupts"
        ],
    },
    Subject {
        name: "cva6",
        preset: "cva6",
        isa: "rv64gc",
        misaligned: false,
        cached: true,
        controller: 0,
        // It ignores errors of its bus, does not delegate illegal instructions, and the package has no floating-point
        // divider. Where memory is slow, the store that takes the software interrupt back arrives after the return: the
        // interrupt comes twice.
        without: &[
            "access.load",
            "access.load_then_work",
            "access.store",
            "direct-150",
            "direct-60",
            "divide",
            "supervisor.illegal",
            "vectored-150",
            "vectored-60",
        ],
        latency: 20,
        golden: golden![
            Kernels "cva6-kernels",
            Traps "cva6-traps",
            Programs "cva6-programs",
            Random "cva6-random",
            Interrupts "cva6-interrupts"
        ],
    },
];

impl Subject {
    /// The core of that name.
    #[must_use]
    pub fn find(name: &str) -> Option<&'static Self> {
        SUBJECTS.iter().find(|subject| subject.name == name)
    }

    pub(super) fn isa(&self) -> Isa {
        self.isa.parse().unwrap_or_default()
    }

    /// Whether it has a CLIC.
    pub(super) fn has_clic(&self) -> bool {
        self.isa().has(Extension::Smclic)
    }

    /// A machine with the program loaded.
    pub(super) fn machine(&self, program: &Program) -> Result<Machine, RtlError> {
        let mut machine = Machine::new(Config {
            isa: self.isa(),
            ram_bytes: RAM_BYTES,
            misaligned: self.misaligned,
            ..Core::preset(self.preset)?.config()
        })?;
        machine.write_memory(RAM, &program.memory)?;
        machine.set_pc(program.entry);
        // No device tree, as in the RTL.
        machine.set_x(11, 0);
        Ok(machine)
    }

    /// The program's code.
    pub(super) fn code(&self, program: &Program) -> Code {
        Code::new(self.isa(), vec![(RAM, program.memory.clone())])
    }
}
