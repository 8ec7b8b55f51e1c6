//! Instruction caches under a program, with and without the C extension.
//!
//! A [`Build`] is one program for one ISA, [`run`] executes it on the embedded machine and passes every fetch, as
//! [`Count`] defines it, to the caches of a [`Settings`]; a [`Report`] has their counts.
//!
//! ```
//! use tollgate_lab::icache::{BUNDLED, Count, Settings, run};
//! // The note's rates: four lines of two words, a five-stage pipeline, -O1.
//! let plan = Settings { caches: vec!["4:1:8".parse().unwrap()], count: Count::Cycle, ..Settings::default() };
//! let rates: Vec<f64> = BUNDLED[..2]
//!     .iter()
//!     .map(|bundled| run(&bundled.build(), &plan).unwrap().caches[0].cache.counts().hit_rate().unwrap())
//!     .collect();
//! assert_eq!(format!("{:.2} {:.2}", rates[0], rates[1]), "0.50 0.75");
//! ```

mod build;
mod code;
mod error;
mod fetches;
pub mod record;
mod seen;
mod settings;
mod timed;

use tollgate_riscv::{Cause, Config, EXIT_CALLS, Elf, LoadError, Machine, Stop};

pub use build::{BUNDLED, Bundled, aligned, compile};
pub(crate) use build::{bundled, bundled_aligned, compile_at};
pub use code::{Code, Mix};
pub use error::IcacheError;
pub use seen::{CacheReport, Report};
pub use settings::{Build, Count, Settings};
pub use timed::Timing;

use crate::program::{ABOVE_STACK, STARTS_LINUX, with_ram_at};
use fetches::Fetches;
use seen::Seen;

/// Steps between two looks at whether the program has left its code.
const SLICE: u64 = 1 << 16;
/// What counts the caches of programs for an operating system.
const LINUX: &str =
    "; the caches of a static Linux program are counted by: tollgate riscv run --pk PK --ic S:W:L";
/// RAM of the machine.
const RAM: u64 = 64 << 20;

/// Runs a program and counts its fetches. A program without start-up code gets a stack, and ends when it returns.
pub fn run(build: &Build, plan: &Settings) -> Result<Report, IcacheError> {
    let elf = Elf::parse(&build.elf).map_err(|error| unloadable(build, error))?;
    let code = Code::of(&build.elf, &elf, build.isa);
    let mut running = machine(build, &elf)?;
    let mut fetches = Fetches::new(code, plan.count, Seen::new(plan)?);
    let mut left = plan.max_instructions;
    let mut ended = loop {
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
    // An ecall that nobody handles is the usual end of a program in Ripes, unless it asks for something else.
    ended |= fetches.stuck().is_some_and(|trap| {
        trap.cause == Cause::MachineEcall && (trap.a7 == 0 || EXIT_CALLS.contains(&trap.a7))
    });
    if let Some(trap) = fetches.stuck().filter(|_| !ended) {
        let instructions = fetches.retired();
        return Err(IcacheError::Trapped {
            name: build.name.clone(),
            pc: trap.epc,
            cause: match trap.cause {
                Cause::MachineEcall => format!("{} with {} in a7", trap.cause, trap.a7),
                cause => cause.to_string(),
            },
            instructions,
            hint: if elf.symbol(STARTS_LINUX).is_some() { LINUX } else { "" },
        });
    }
    let mut report = fetches.finish(build, ended);
    let instructions = report.dynamic_mix.instructions;
    for cache in &mut report.caches {
        cache.timing = timed::time(&mut machine(build, &elf)?, cache.cache.geometry(), plan, instructions)?;
    }
    Ok(report)
}

/// The machine with the program in it, and a stack.
fn machine(build: &Build, elf: &Elf) -> Result<Machine, IcacheError> {
    let config = with_ram_at(Config { isa: build.isa, ram_bytes: RAM, ..Config::default() }, elf);
    let stack = config.ram_base + config.ram_bytes - ABOVE_STACK;
    let mut machine = Machine::new(config)?;
    machine.load(elf).map_err(|error| unloadable(build, error))?;
    machine.set_x(2, stack);
    machine.set_x(3, elf.symbol("__global_pointer$").unwrap_or(0));
    Ok(machine)
}

fn unloadable(build: &Build, error: LoadError) -> IcacheError {
    IcacheError::Load { name: build.name.clone(), error }
}

#[cfg(test)]
mod tests;
