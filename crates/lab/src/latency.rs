//! How long an interrupt takes to reach its handler, at every cycle of a loop at which it can come.
//!
//! Each cycle of the loop is a run of its own, in which the line rises in that cycle, and the core decides behind which instruction
//! it takes the interrupt, as in the comparison with the RTL. The latency counts from that cycle to the cycle in which the
//! handler's first instruction retires.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use tollgate_cores::{Core, Passage, Timed};
use tollgate_riscv::Step;

use crate::pipeline::{self, Around, Finder, Hazard, PipelineError, Place, View};
use crate::program::{self, Job};

/// The bundled loop; see `guests/riscv/programs/latency.S`.
static IMAGE: &[u8] = include_bytes!("../guests/riscv/images/latency.elf");
/// Passes behind the timer's interrupt, which puts the handler into the caches, before the line rises.
const PASSES: usize = 16;
/// More steps than the loop and its handlers take.
const STEPS: u64 = 20_000;

/// Latencies at every cycle of the loop.
#[derive(Clone, Debug)]
pub struct Latency {
    /// How many of the loop's cycles have this latency.
    pub cycles: BTreeMap<u64, u64>,
    /// The smallest to the fetch of the handler's first instruction, which is what the manuals of cores count.
    pub first_fetch: i64,
    /// Cycles of one round of the loop, which is how many were tried.
    pub period: u64,
    /// The run in which the interrupt comes at the worst of them.
    pub view: View,
}

/// The bundled loop.
pub fn job() -> Job {
    Job {
        ram_bytes: 1 << 20,
        program: IMAGE.to_vec().into(),
        arguments: vec!["latency".into()],
        max_instructions: 1_000_000,
        ..Job::default()
    }
}

/// A run in which the line rises in one cycle of the loop.
struct Interrupted {
    latency: u64,
    /// To the fetch of the handler's first instruction.
    fetch: i64,
    /// Cycles of a pass before it.
    period: u64,
    view: View,
}

/// Raises the line a number of cycles behind the loop's first instruction.
fn interrupted(core: &Core, count: usize, cycle: u64) -> Result<Interrupted, PipelineError> {
    let job = job();
    let mut booted = program::boot(&job)?;
    let [head, handler] = [pipeline::address(&booted, "loop")?, pipeline::address(&booted, "timer")?];
    let not_seen = |instructions| PipelineError::NotSeen {
        what: Around::Interrupt.name().to_owned(),
        seen: 0,
        nth: 1,
        instructions,
        how: "ended".to_owned(),
    };
    let finder = Rc::new(RefCell::new(Finder::new(Place::Interrupt, None, 1, count / 3, count - count / 3)));
    let taker = Rc::clone(&finder);
    let timed = Timed::new(core, (), move |passage: Passage| taker.borrow_mut().take(passage))?;
    let mut timed = timed.with_code(&booted.machine.code());
    let machine = &mut booted.machine;
    let mut heads = Vec::new();
    let mut was_warmed = false;
    for _ in 0..STEPS {
        let pc = machine.pc();
        match machine.step(&mut timed) {
            Step::Trapped => was_warmed = true,
            Step::Retired if was_warmed && pc == head => heads.push(timed.cycles() - 1),
            _ => {}
        }
        if heads.len() == PASSES {
            break;
        }
    }
    let [.., before, last] = heads[..] else { return Err(not_seen(machine.instret())) };
    let line = last + cycle;
    finder.borrow_mut().expected.push_back((handler, true));
    timed.interrupt_at(machine, line, STEPS).map_err(|_| not_seen(machine.instret()))?;
    machine.step(&mut timed);
    let latency = timed.cycles() - 1 - line;
    for _ in 0..STEPS {
        if finder.borrow().done || matches!(machine.step(&mut timed), Step::Stopped(_)) {
            break;
        }
    }
    let found = finder.borrow_mut().around(count / 3, count).ok_or_else(|| not_seen(machine.instret()))?;
    let view = pipeline::drawn(&booted, &found, job.isa, &Around::Interrupt);
    let first = view.rows[view.event + 1..].iter().find(|row| row.squash.is_none());
    let first = first.ok_or_else(|| not_seen(booted.machine.instret()))?;
    let fetch = first.start().cast_signed() - line.cast_signed();
    Ok(Interrupted { latency, fetch, period: last - before, view })
}

/// Tries every cycle of the bundled loop on a core.
pub fn measure(core: &Core, count: usize) -> Result<Latency, PipelineError> {
    // Enough rows to have the handler's first.
    let rows = count.max(60);
    let mut worst = interrupted(core, rows, 0)?;
    let period = worst.period;
    let mut cycles = BTreeMap::from([(worst.latency, 1)]);
    let mut first_fetch = worst.fetch;
    for cycle in 1..period {
        let next = interrupted(core, rows, cycle)?;
        *cycles.entry(next.latency).or_default() += 1;
        first_fetch = first_fetch.min(next.fetch);
        if next.latency > worst.latency {
            worst = next;
        }
    }
    Ok(Latency { cycles, first_fetch, period, view: trimmed(worst.view, count) })
}

/// So many rows, a third of them before the event.
fn trimmed(mut view: View, count: usize) -> View {
    let first = view.event.saturating_sub(count / 3);
    view.rows = view.rows.into_iter().skip(first).take(count.max(2)).collect();
    view.first_fetch += first as u64;
    view.event -= first;
    view.hazard = view.hazard.take().and_then(|hazard| {
        let next = hazard.next - first;
        (next < view.rows.len()).then_some(Hazard { next, ..hazard })
    });
    view
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_core_without_a_pipeline_fetches_the_handler_behind_what_it_interrupts() {
        let core = Core::preset("picorv32").unwrap();
        for cycle in 0..40 {
            let Interrupted { view, .. } = interrupted(&core, 60, cycle).unwrap();
            // Each begins in the cycle after the one before has ended: addi and the handler's first take three cycles, mul 40.
            let near = &view.rows[view.event - 1..view.event + 3];
            assert!(near.windows(2).all(|two| two[1].start() == two[0].end()), "{near:?}");
        }
        assert_eq!(measure(&core, 60).unwrap().first_fetch, 1);
    }
}
