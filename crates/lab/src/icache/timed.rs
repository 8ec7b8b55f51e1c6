//! The cost of the misses: the same instructions once more, on a pipeline that waits for its lines.

use tollgate_cores::{ByPrivilege, CacheShape, Cause, Core, CoreError, Memory, Timed};
use tollgate_riscv::cache::{Geometry, Policy};
use tollgate_riscv::{Machine, Stop};

use super::settings::Settings;
use super::user::UserMode;

/// Cycles of a program on five stages with forwarding (the core `ripes-5stage`) behind one instruction cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timing {
    /// All of them.
    pub cycles: u64,
    /// Those in which nothing moved because an instruction was awaited.
    pub waiting: u64,
}

/// Instructions between two looks at the console of a program on the proxy kernel, which may write without end.
const SLICE: u64 = 1 << 20;

/// Runs a number of instructions of a machine that has not run yet; `None` if it does not get as far a second time. On the
/// proxy kernel those are the program's own, and they end with it or with its budget.
pub(super) fn time(
    machine: &mut Machine,
    geometry: Geometry,
    plan: &Settings,
    instructions: u64,
) -> Result<Option<Timing>, CoreError> {
    let mut core = Core::preset("ripes-5stage")?;
    core.l1i = Some(CacheShape {
        geometry: geometry.to_string(),
        replacement: plan.policy,
        write_through: false,
        no_write_allocate: false,
        seed: if let Policy::Random { seed } = plan.policy { seed } else { 0 },
        hit: 0,
    });
    core.memory = Memory { latency: plan.miss_latency, ..Memory::default() };
    let mut timed = Timed::new(&core, ByPrivilege, ())?;
    // How it stops does not matter, only that everything that ran before ran again.
    if plan.proxy_kernel.is_some() {
        let mut user = UserMode::new(&mut timed);
        let mut left = plan.max_instructions;
        while left > 0 {
            let slice = SLICE.min(left);
            left -= slice;
            if machine.run(slice, &mut user) != Stop::Budget {
                break;
            }
            machine.take_console();
        }
    } else {
        let _ = machine.run(instructions, &mut timed);
    }
    if timed.counts().instructions != instructions {
        return Ok(None);
    }
    let waiting = timed.ledger().of_cause(Cause::IMiss);
    Ok(Some(Timing { cycles: timed.cycles(), waiting }))
}
