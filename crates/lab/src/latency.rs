//! How long a timer interrupt takes to reach its handler, at every cycle of a loop at which it can come.
//!
//! The machine takes an interrupt between two instructions; a core sees it when the instruction that it is
//! behind retires. So one run for each instruction of the loop finds what there is to find, and an interrupt that
//! comes in a cycle between two retirements waits for the second. A core that replays takes it instead of the instruction
//! in ID, at whatever cycle: nothing is waited for there. The latency counts from the cycle in which the
//! interrupt is there to the cycle in which the handler's first instruction retires.

use std::collections::BTreeMap;

use tollgate_cores::{Core, Design, Stage};
use tollgate_record::stages::StageRow;

use crate::image;
use crate::pipeline::{self, Around, Hazard, PipelineError, View, Wanted};
use crate::program::Job;

/// The bundled loop; see `guests/riscv/programs/latency.S`.
static IMAGE: &[u8] = include_bytes!("../guests/riscv/images/latency.elf");
const MAGIC: u64 = 0x31_3054_414c;
/// Instructions of the loop.
const LOOP: u64 = 8;
/// The first interrupt finds the handler in no cache.
const WARM: u64 = 2;

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

/// The bundled loop, interrupted a number of instructions later.
///
/// # Panics
/// Never: the image is part of the program and has the parameter.
pub fn job(offset: u64) -> Job {
    Job {
        ram_bytes: 1 << 20,
        program: image::with_words(IMAGE, "latency_offset", &[MAGIC, offset]).unwrap_or_default().into(),
        arguments: vec!["latency".into()],
        max_instructions: 1_000_000,
        ..Job::default()
    }
}

/// The cycle in which a row's instruction retires.
fn retires(row: &StageRow) -> u64 {
    row.end().saturating_sub(1)
}

/// Whether an interrupt does not wait for the instruction that comes next: it replaces the one in ID, or all in the pipe.
fn replaces(core: &Core) -> bool {
    matches!(core.design, Design::Rocket | Design::Cv32e40x)
}

/// The earliest cycle in which an interrupt can be there that is taken behind a row's instruction.
fn seen(core: &Core, row: &StageRow) -> u64 {
    match row.stage(Stage::Execute.name()) {
        Some(execute) if core.design == Design::Rocket => execute.first,
        _ => retires(row),
    }
}

/// Tries every cycle of the bundled loop on a core.
pub fn measure(core: &Core, count: usize) -> Result<Latency, PipelineError> {
    // For each instruction of the loop that an interrupt can follow: how far the handler is behind it.
    let mut behind: BTreeMap<u64, (u64, View)> = BTreeMap::new();
    // When each instruction of the loop retires, from its first.
    let mut pace: Vec<(u64, u64)> = Vec::new();
    let mut first_fetch = i64::MAX;
    for offset in 0..LOOP {
        let wanted = Wanted { around: Around::Interrupt, nth: WARM, count: count.max(60) };
        let view = pipeline::view(&job(offset), core, &wanted)?;
        let event = &view.rows[view.event];
        let handler = view.rows[view.event + 1..].iter().find(|row| row.squash.is_none());
        let Some(handler) = handler else { continue };
        let distance = retires(handler).saturating_sub(seen(core, event));
        first_fetch = first_fetch.min(handler.start().cast_signed() - seen(core, event).cast_signed());
        if pace.is_empty() {
            pace = round(&view.rows[..=view.event]);
        }
        behind.insert(event.pc(), (distance, view));
    }
    let period: u64 = pace.iter().map(|step| step.1).sum();
    let mut cycles: BTreeMap<u64, u64> = BTreeMap::new();
    let mut worst = 0;
    let mut view = None;
    for &(pc, step) in &pace {
        let Some((distance, seen)) = behind.get(&pc) else { continue };
        // It comes in the cycle of the retirement, or in one of those since the retirement before.
        for wait in 0..step {
            let wait = if replaces(core) { 0 } else { wait };
            *cycles.entry(distance + wait).or_default() += 1;
        }
        if distance + step > worst {
            worst = distance + step;
            view = Some(seen.clone());
        }
    }
    let view = view.ok_or(PipelineError::NotSeen {
        what: Around::Interrupt.name().to_owned(),
        seen: 0,
        nth: WARM,
        instructions: 0,
        how: "ended".to_owned(),
    })?;
    Ok(Latency { cycles, first_fetch, period, view: trimmed(view, count) })
}

/// One round of the loop before its last row: each instruction's address, and the cycles since the one before.
fn round(rows: &[StageRow]) -> Vec<(u64, u64)> {
    let retired: Vec<&StageRow> = rows.iter().filter(|row| row.squash.is_none()).collect();
    let Some(last) = retired.last() else { return Vec::new() };
    let steps: Vec<(u64, u64)> =
        retired.windows(2).map(|pair| (pair[1].pc(), retires(pair[1]) - retires(pair[0]))).collect();
    let before =
        steps.iter().rev().skip(1).position(|step| step.0 == last.pc()).map_or(steps.len(), |at| at + 1);
    steps[steps.len() - before.min(steps.len())..].to_vec()
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
        for offset in [0, 2] {
            let wanted = Wanted { around: Around::Interrupt, nth: WARM, count: 60 };
            let view = pipeline::view(&job(offset), &core, &wanted).unwrap();
            // Each begins in the cycle after the one before has ended: addi and the handler's first take three cycles, mul 40.
            let near = &view.rows[view.event - 1..view.event + 3];
            assert!(near.windows(2).all(|two| two[1].start() == two[0].end()), "{near:?}");
        }
        assert_eq!(measure(&core, 60).unwrap().first_fetch, 1);
    }
}
