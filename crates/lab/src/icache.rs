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
mod user;

use tollgate_riscv::{Cause, Config, EXIT_CALLS, Elf, LoadError, Machine, Stop};

pub use build::{BUNDLED, Bundled, aligned, bundled, bundled_aligned, compile};
pub use code::{Code, Mix};
pub use error::IcacheError;
pub use seen::{CacheReport, Report};
pub use settings::{Build, Count, Settings};
pub use timed::Timing;

use crate::kernel::last_lines;
use crate::program::{self, ABOVE_STACK, FOR_LINUX, Job, STARTS_LINUX, with_ram_at};
use fetches::Fetches;
use seen::Seen;
use user::UserMode;

/// Steps between two looks at whether the program has left its code.
const SLICE: u64 = 1 << 16;
/// RAM of the machine.
const RAM: u64 = 64 << 20;
/// The same with a proxy kernel, which maps programs' memory twice.
const RAM_PROXIED: u64 = 128 << 20;

/// Runs a program and counts its fetches. A bare program without start-up code gets a stack, and ends when it returns; on a
/// proxy kernel the fetches in user mode count.
pub fn run(build: &Build, plan: &Settings) -> Result<Report, IcacheError> {
    let elf = Elf::parse(&build.elf).map_err(|error| unloadable(build, error))?;
    let code = Code::of(&build.elf, &elf, build.isa);
    let mut running = machine(build, &elf, plan)?;
    let mut fetches = Fetches::new(code, plan.proxy_kernel.is_none(), plan.count, Seen::new(plan)?);
    let ended = if plan.proxy_kernel.is_some() {
        proxied(build, &mut running, &mut fetches, plan)?
    } else {
        bare(build, &elf, &mut running, &mut fetches, plan)?
    };
    let mut report = fetches.finish(build, ended);
    let instructions = report.dynamic_mix.instructions;
    for cache in &mut report.caches {
        let machine = &mut machine(build, &elf, plan)?;
        cache.timing = timed::time(machine, cache.cache.geometry(), plan, instructions)?;
    }
    Ok(report)
}

/// Runs a program on the proxy kernel; whether it ended.
fn proxied(
    build: &Build,
    running: &mut Machine,
    fetches: &mut Fetches,
    plan: &Settings,
) -> Result<bool, IcacheError> {
    let mut console = Vec::new();
    let mut left = plan.max_instructions;
    let mut user = UserMode::new(fetches);
    let ended = loop {
        let slice = SLICE.min(left);
        let stop = running.run(slice, &mut user);
        left -= slice;
        console.extend(running.take_console());
        console.drain(..console.len().saturating_sub(4096));
        match stop {
            // The kernel gave up; a program's own status is not negative.
            Stop::Exit { code } if code < 0 => {
                let lines = last_lines(&console);
                return Err(IcacheError::Failed { name: build.name.clone(), status: code, lines });
            }
            Stop::Exit { .. } => break true,
            Stop::Idle => return Err(IcacheError::Waits { name: build.name.clone() }),
            _ if left == 0 => break false,
            _ => {}
        }
    };
    if fetches.retired() == 0 {
        return Err(IcacheError::Nothing { name: build.name.clone(), isa: build.isa });
    }
    Ok(ended)
}

/// Runs a bare program; whether it ended.
fn bare(
    build: &Build,
    elf: &Elf,
    running: &mut Machine,
    fetches: &mut Fetches,
    plan: &Settings,
) -> Result<bool, IcacheError> {
    let mut left = plan.max_instructions;
    let mut ended = loop {
        let slice = SLICE.min(left);
        let stop = running.run(slice, fetches);
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
            hint: if elf.symbol(STARTS_LINUX).is_some() { FOR_LINUX } else { "" },
        });
    }
    Ok(ended)
}

/// The machine with the program in it, and a stack.
fn machine(build: &Build, elf: &Elf, plan: &Settings) -> Result<Machine, IcacheError> {
    if let Some(kernel) = &plan.proxy_kernel {
        let name = std::iter::once(build.name.clone());
        let job = Job {
            isa: build.isa,
            ram_bytes: RAM_PROXIED,
            program: build.elf.clone().into(),
            proxy_kernel: Some(kernel.clone()),
            arguments: name.chain(plan.arguments.iter().cloned()).collect(),
            ..Job::default()
        };
        let booted = program::boot(&job);
        return Ok(booted.map_err(|error| IcacheError::Program { name: build.name.clone(), error })?.machine);
    }
    let config = with_ram_at(Config { isa: build.isa, ram_bytes: RAM, ..Config::default() }, elf);
    let stack = config.ram_base + config.ram_bytes - ABOVE_STACK;
    let mut machine = Machine::new(config)?;
    machine.load(elf).map_err(|error| unloadable(build, error))?;
    machine.answer_ecalls();
    machine.set_x(2, stack);
    machine.set_x(3, elf.symbol("__global_pointer$").unwrap_or(0));
    Ok(machine)
}

fn unloadable(build: &Build, error: LoadError) -> IcacheError {
    IcacheError::Load { name: build.name.clone(), error }
}

#[cfg(test)]
mod tests;
