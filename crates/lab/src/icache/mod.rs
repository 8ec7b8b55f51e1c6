//! What an instruction cache makes of a program, with and without the C extension.
//!
//! A [`Build`] is one program for one ISA, [`run`] executes it on the embedded machine and hands every fetch, as
//! [`Count`] says, to the caches of a [`Plan`]; a [`Report`] is what they saw.
//!
//! ```
//! use tollgate_lab::icache::{BUNDLED, Count, Plan, run};
//! // The note's rates: four lines of two words, a five-stage pipeline, -O1.
//! let plan = Plan { caches: vec!["4:1:8".parse().unwrap()], count: Count::Cycle, ..Plan::default() };
//! let rates: Vec<f64> = BUNDLED[..2]
//!     .iter()
//!     .map(|bundled| run(&bundled.build(), &plan).unwrap().caches[0].counts.hit_rate().unwrap())
//!     .collect();
//! assert_eq!(format!("{:.2} {:.2}", rates[0], rates[1]), "0.50 0.75");
//! ```

mod build;
mod code;
mod fetches;
pub mod record;
mod seen;
mod timed;

use tollgate_riscv::cache::{CacheError, Geometry, Policy};
use tollgate_riscv::timing::CoreError;
use tollgate_riscv::{Config, ConfigError, Elf, Isa, LoadError, Machine, Stop};

pub(crate) use build::compile_at;
pub use build::{BUNDLED, Bundled, SOURCE, compile};
pub use code::{Code, Mix};
pub use seen::{CacheReport, SweepPoint};
pub use timed::Timing;

use fetches::Fetches;
use seen::Seen;

/// What counts as an access to the instruction cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Count {
    /// One for each instruction, at its address, as Spike counts. An instruction that lies in two lines counts for
    /// the first. A cycle is an instruction.
    #[default]
    Fetch,
    /// One for each cycle of a five-stage pipeline with forwarding, at the pc's word, as Ripes counts: while the
    /// pipeline stalls its fetch is repeated and hits, two instructions are fetched in vain behind each taken
    /// branch, and a miss costs no time.
    Cycle,
}

/// One program for one ISA.
#[derive(Clone, Debug)]
pub struct Build {
    /// What it is called in tables: an ISA, or a file.
    pub name: String,
    /// What it was built for.
    pub isa: Isa,
    /// Bytes of code in the object, before linking, where that is known.
    pub object_text: Option<u64>,
    /// The linked program's file.
    pub elf: Vec<u8>,
}

/// What to look at.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The caches, each of which sees every fetch.
    pub caches: Vec<Geometry>,
    /// Who has to leave them.
    pub policy: Policy,
    /// What an access is.
    pub count: Count,
    /// Whether to count the misses of many shapes as well.
    pub sweep: bool,
    /// Cycles that the pipeline which is timed waits for a line.
    pub miss_latency: u32,
    /// When to stop a program that does not end.
    pub max_instructions: u64,
}

impl Default for Plan {
    fn default() -> Self {
        Self {
            caches: Vec::new(),
            policy: Policy::Lru,
            count: Count::Fetch,
            sweep: false,
            miss_latency: 20,
            max_instructions: 100_000_000,
        }
    }
}

/// What a program did to its caches.
#[derive(Clone, Debug)]
pub struct Report {
    /// The program.
    pub name: String,
    /// What it was built for.
    pub isa: Isa,
    /// What an access is.
    pub count: Count,
    /// Bytes of code in the object, where that is known.
    pub object_text: Option<u64>,
    /// Bytes of code in the program.
    pub text: u64,
    /// The instructions in the code.
    pub static_mix: Mix,
    /// The instructions that ran.
    pub dynamic_mix: Mix,
    /// Accesses to the instruction cache.
    pub accesses: u64,
    /// Bytes of the instructions that ran.
    pub bytes: u64,
    /// Cycles, without any miss: instructions, or those of the five-stage pipeline.
    pub cycles: u64,
    /// Whether the program ended; otherwise it was stopped after so many instructions as it was allowed.
    pub ended: bool,
    /// Each cache.
    pub caches: Vec<CacheReport>,
    /// Misses of the shapes of a sweep.
    pub sweep: Vec<SweepPoint>,
}

/// Why a program was not looked at.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IcacheError {
    /// No such cache.
    #[error("{0}")]
    Cache(#[from] CacheError),
    /// No core with such a cache.
    #[error("{0}")]
    Core(#[from] CoreError),
    /// The file is no program for the machine.
    #[error("{name}: {error}")]
    Load {
        /// Which.
        name: String,
        /// Why.
        error: LoadError,
    },
    /// The machine cannot be built.
    #[error("{0}")]
    Machine(#[from] ConfigError),
    /// The program waits for ever.
    #[error("{name}: the program waits for an interrupt that cannot come")]
    Waits {
        /// Which.
        name: String,
    },
    /// Nothing ran.
    #[error("{name}: not one instruction could be executed; is it built for {isa}?")]
    Nothing {
        /// Which.
        name: String,
        /// For what the machine was built.
        isa: Isa,
    },
    /// It stopped in the middle.
    #[error(
        "{name}: after {instructions} instructions the program trapped at {pc:#x} ({cause}) and has no handler"
    )]
    Trapped {
        /// Which.
        name: String,
        /// Where.
        pc: u64,
        /// Why.
        cause: String,
        /// What ran before.
        instructions: u64,
    },
    /// The compiler's own words.
    #[error("{compiler} refused the source for {isa}:\n{said}")]
    Compile {
        /// Which.
        compiler: String,
        /// For what.
        isa: String,
        /// What it said.
        said: String,
    },
    /// Nothing to compile with.
    #[error(
        "no compiler for RISC-V is on PATH: apt-get install gcc-riscv64-unknown-elf (or clang and lld), or give \
         programs that are built already instead of a source"
    )]
    NoCompiler,
    /// A compiler could not be run, or its folder not be made.
    #[error("cannot compile: {0}")]
    Io(#[from] std::io::Error),
}

/// Steps between two looks at whether the program has left its code.
const SLICE: u64 = 1 << 16;
/// RAM of the machine, and the room that is left above the stack.
const RAM: u64 = 64 << 20;
const RAM_BASE: u64 = 0x8000_0000;
const ABOVE_STACK: u64 = 16;

/// Runs a program and looks at its fetches. A program without start-up code is given a stack, and ends where it
/// returns to nowhere.
///
/// # Errors
/// When the program cannot be loaded or run, or a cache not be built.
pub fn run(build: &Build, plan: &Plan) -> Result<Report, IcacheError> {
    let elf = Elf::parse(&build.elf).map_err(|error| build.unloadable(error))?;
    let code = Code::of(&build.elf, &elf, build.isa);
    let mut running = machine(build, &elf)?;
    let mut fetches = Fetches::new(&code, plan.count, Seen::new(plan)?);
    let mut left = plan.max_instructions;
    let ended = loop {
        let slice = SLICE.min(left);
        let stop = running.run(slice, &mut fetches);
        left -= slice;
        match stop {
            _ if fetches.has_left() => break true,
            Stop::Exit { .. } => break true,
            Stop::Idle => return Err(IcacheError::Waits { name: build.name.clone() }),
            _ if fetches.is_stuck() || left == 0 => break false,
            _ => {}
        }
    };
    if fetches.retired() == 0 {
        return Err(IcacheError::Nothing { name: build.name.clone(), isa: build.isa });
    }
    if let Some((pc, cause)) = fetches.stuck().filter(|_| !ended) {
        let instructions = fetches.retired();
        return Err(IcacheError::Trapped { name: build.name.clone(), pc, cause, instructions });
    }
    let mut report = fetches.finish(build, ended);
    let instructions = report.dynamic_mix.instructions;
    for cache in &mut report.caches {
        cache.timing = timed::time(&mut machine(build, &elf)?, cache.geometry, plan, instructions)?;
    }
    Ok(report)
}

impl Build {
    fn unloadable(&self, error: LoadError) -> IcacheError {
        IcacheError::Load { name: self.name.clone(), error }
    }
}

/// The machine with the program in it, and a stack.
fn machine(build: &Build, elf: &Elf) -> Result<Machine, IcacheError> {
    let mut machine = Machine::new(Config { isa: build.isa, ram_bytes: RAM, ..Config::default() })?;
    machine.load(elf).map_err(|error| build.unloadable(error))?;
    machine.set_x(2, RAM_BASE + RAM - ABOVE_STACK);
    Ok(machine)
}

#[cfg(test)]
mod tests;
