//! The programs whose cycles are compared, and the cores that they run on.

use std::ops::Range;

use tollgate_riscv::{Config, Elf, Isa, Machine};

use super::error::RtlError;

/// Where RAM begins.
const RAM: u64 = 0x8000_0000;
const RAM_BYTES: u64 = 4 << 20;

static KERNELS_RV32: &[u8] = include_bytes!("../../../../guests/riscv/images/rtl-kernels-rv32.elf");
static KERNELS_RV64: &[u8] = include_bytes!("../../../../guests/riscv/images/rtl-kernels-rv64.elf");

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
    /// Kernels that it cannot run: groups, or single ones.
    pub without: &'static [&'static str],
    /// The latency of memory that kernels are run with.
    pub latency: u64,
    /// What its RTL did.
    pub golden: &'static [u8],
}

macro_rules! golden {
    ($core:literal) => {
        include_bytes!(concat!("../../../../guests/riscv/golden/", $core, ".golden"))
    };
}

/// All cores.
pub static SUBJECTS: &[Subject] = &[
    Subject {
        name: "ibex",
        preset: "ibex",
        isa: "rv32imc",
        misaligned: true,
        without: &["amo", "supervisor", "translated", "cache"],
        latency: 1,
        golden: golden!("ibex"),
    },
    Subject {
        name: "picorv32",
        preset: "picorv32",
        isa: "rv32im",
        misaligned: false,
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
            "trap",
            "user",
            "wait",
        ],
        latency: 0,
        golden: golden!("picorv32"),
    },
    Subject {
        name: "vexriscv",
        preset: "ripes-5stage",
        isa: "rv32ima",
        misaligned: false,
        // It ignores errors of its bus, has no machine counters, does not let mcause and mtval be written, and an
        // interrupt comes some instructions after the store that raises it.
        without: &[
            "access.load",
            "access.load_then_work",
            "access.store",
            "compressed",
            "counter",
            "csr.write_cause",
            "csr.write_value",
            "wait.software_interrupt",
        ],
        latency: 4,
        golden: golden!("vexriscv"),
    },
    Subject {
        name: "rocket",
        preset: "rocket",
        isa: "rv64gc",
        misaligned: false,
        // The interrupt comes some instructions after the store that raises it.
        without: &["wait.software_interrupt"],
        latency: 20,
        golden: golden!("rocket"),
    },
    Subject {
        name: "cva6",
        preset: "cva6-2022",
        isa: "rv64gc",
        misaligned: false,
        // It ignores errors of its bus, does not delegate illegal instructions, and the package has no floating-point
        // divider.
        without: &[
            "access.load",
            "access.load_then_work",
            "access.store",
            "divide",
            "supervisor.illegal",
            "wait.software_interrupt",
        ],
        latency: 20,
        golden: golden!("cva6"),
    },
];

/// A program and the point from which it is compared.
#[derive(Clone, Debug)]
pub struct Program {
    /// Its name.
    pub name: String,
    /// Where it starts.
    pub entry: u64,
    /// Its set-up, which ends where the loop begins.
    pub setup: Range<u64>,
    /// An instruction that each pass of the loop retires.
    pub pass: u64,
    /// Where it ends.
    pub end: u64,
    /// What memory contains from the start of RAM.
    pub memory: Vec<u8>,
}

impl Subject {
    /// The core of that name.
    #[must_use]
    pub fn find(name: &str) -> Option<&'static Self> {
        SUBJECTS.iter().find(|subject| subject.name == name)
    }

    fn isa(&self) -> Isa {
        self.isa.parse().unwrap_or_default()
    }

    /// The kernels that it can run.
    ///
    /// # Errors
    /// A damaged image.
    pub fn kernels(&self) -> Result<Vec<Program>, RtlError> {
        let image = if self.isa().is_rv64() { KERNELS_RV64 } else { KERNELS_RV32 };
        let elf = Elf::parse(image)?;
        let address = |name: &str| elf.symbol(name).ok_or_else(|| RtlError::Symbol(name.to_owned()));
        let (end, selected) = (address("done")?, address("selected")?);
        let word = if self.isa().is_rv64() { 8 } else { 4 };
        let mut kernels = Vec::new();
        for symbol in &elf.symbols {
            let Some(name) = symbol.name.strip_prefix("kernel.") else { continue };
            let group = name.split('.').next().unwrap_or(name);
            if self.without.iter().any(|&other| other == group || other == name) {
                continue;
            }
            let mut memory = flat(&elf);
            let at = (selected - RAM) as usize + word;
            memory[at..at + 4].copy_from_slice(&((symbol.address - elf.entry) as u32).to_le_bytes());
            let setup = symbol.address..address(&format!("head.{name}"))?;
            let pass = address(&format!("pass.{name}"))?;
            kernels.push(Program { name: name.to_owned(), entry: elf.entry, setup, pass, end, memory });
        }
        kernels.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(kernels)
    }

    /// A machine with the program loaded.
    pub(super) fn machine(&self, program: &Program) -> Result<Machine, RtlError> {
        let mut machine = Machine::new(Config {
            isa: self.isa(),
            ram_bytes: RAM_BYTES,
            misaligned: self.misaligned,
            ..Config::default()
        })?;
        machine.write_memory(RAM, &program.memory)?;
        machine.set_pc(program.entry);
        Ok(machine)
    }
}

/// The segments of a program, from the start of RAM.
fn flat(elf: &Elf) -> Vec<u8> {
    let mut memory = Vec::new();
    for segment in &elf.segments {
        let start = segment.address.saturating_sub(RAM) as usize;
        let end = start + segment.data.len();
        memory.resize(memory.len().max(end), 0);
        memory[start..end].copy_from_slice(&segment.data);
    }
    memory
}
