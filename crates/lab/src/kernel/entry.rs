//! The record of a kind of crossing.

use std::collections::BTreeMap;

use tollgate_cores::{Cause, Core};
use tollgate_record::family::{Caches, TrapAsked, TrapFound};
use tollgate_record::{
    Asked, Estimate, Evidence, Found, Measurement, Per, Phase as RecordPhase, Status, Warning, counter,
    warning,
};

use super::watch::{Bill, Watch};
use crate::phase::Phase;
use crate::rtl::proof;

/// A kind of crossing, as its record says.
pub(super) struct What<'a> {
    pub(super) name: &'a str,
    pub(super) per: Per,
    /// The number of the system call, if it is one.
    pub(super) call: Option<u16>,
}

/// The record of the crossings of a kind: the bill is that of the median one among those into which no interrupt came, so
/// that its parts are whole numbers that add up.
pub(super) fn entry_of(
    core: Option<&Core>,
    kernel: &str,
    isa: &str,
    what: &What<'_>,
    (caches, about): (Caches, String),
    crossings: &[Bill],
    watch: &Watch,
) -> Option<Measurement> {
    let mut alone: Vec<&Bill> = crossings.iter().filter(|bill| !bill.disturbed).collect();
    if alone.len() * 2 < crossings.len() {
        // Interrupts belong to it, as to the end of a process.
        alone = crossings.iter().collect();
    }
    let size = |bill: &Bill| if core.is_some() { bill.cycles() } else { bill.instructions() };
    alone.sort_by_key(|bill| size(bill));
    let bill = *alone.get(alone.len() / 2)?;
    let mut entry =
        Measurement::empty(&format!("riscv-trap/{}", what.name), "embedded", what.per, Status::Measured);
    entry.samples = alone.len() as u64;
    entry.crossings = alone.len() as u64;
    entry.asked = Asked::Trap(TrapAsked {
        kernel: kernel.to_owned(),
        isa: isa.to_owned(),
        iterations: crossings.len() as u64,
        call: what.call,
        feature: None,
        core: core.map(|core| core.name.clone()),
        caches: core.map(|_| caches),
    });
    let proof = core.and_then(proof);
    entry.found = Found::Trap(TrapFound { result: None, about, proof });

    let instructions = alone.iter().map(|bill| bill.instructions());
    entry.count(counter::INSTRUCTIONS, bill.instructions() as f64);
    entry.count(counter::INSTRUCTIONS_MIN, instructions.clone().min().unwrap_or_default() as f64);
    entry.count(counter::INSTRUCTIONS_MAX, instructions.max().unwrap_or_default() as f64);
    if core.is_some() {
        let at = |share: usize| alone[(alone.len() - 1) * share / 100].cycles() as f64;
        let [min, p10, p50, p90, p99, max] = [0, 10, 50, 90, 99, 100].map(at);
        debug_assert!(max >= p99);
        entry.cycles = Some(Estimate { min, p10, p50, p90, p99, ..Estimate::point(bill.cycles() as f64) });
    }
    let mut functions: BTreeMap<&str, [u64; 2]> = BTreeMap::new();
    for (&(function, _), part) in &bill.parts {
        let sums = functions.entry(watch.name(function)).or_default();
        sums[0] += part.instructions;
        sums[1] += part.causes.iter().sum::<u64>();
    }
    for (function, [instructions, cycles]) in functions {
        entry
            .counters
            .insert(counter::FUNCTION.part(&format!("{function}/instructions")), instructions as f64);
        if core.is_some() {
            entry.counters.insert(counter::FUNCTION.part(&format!("{function}/cycles")), cycles as f64);
        }
    }
    for &phase in Phase::ALL {
        let parts = || bill.parts.iter().filter(|((_, of), _)| *of == phase).map(|(_, part)| part);
        if parts().next().is_none() {
            continue;
        }
        let mut line = RecordPhase::new(phase.name(), Evidence::Simulated);
        line.instructions = Some(parts().map(|part| part.instructions).sum::<u64>() as f64);
        if core.is_some() {
            let of = |cause: Cause| parts().map(|part| part.causes[cause as usize]).sum::<u64>();
            line.cycles =
                Some(Estimate::point(Cause::ALL.iter().map(|&cause| of(cause)).sum::<u64>() as f64));
            for &cause in Cause::ALL {
                if of(cause) > 0 {
                    line.causes.insert(cause.name().into(), of(cause) as f64);
                }
            }
        }
        entry.phases.push(line);
    }
    entry.proof.insert("traps-per-crossing".into(), bill.traps as f64);
    let unnamed: u64 = bill
        .parts
        .iter()
        .filter(|((function, _), _)| *function == 0)
        .map(|(_, part)| part.instructions)
        .sum();
    if unnamed * 50 > bill.instructions() {
        let text = format!("{unnamed} of {} instructions have no symbol", bill.instructions());
        entry.warnings.push(Warning::new(warning::UNNAMED, text));
    }
    Some(entry)
}
