//! The hardware alone: the bare guest's crossings as rows of the record.
//!
//! The same guest runs under KVM and under QEMU's translator; each engine gives one [`Measurement`] for each row, measured,
//! skipped or failed. A row that an engine emulates carries the warning [`EMULATED`](tollgate_record::warning::EMULATED).

mod estimate;
mod rows;
#[cfg(test)]
mod tests;

use crate::{Engine, Outcome, PHASES, Params, RunError, Visit, kvm, phase, qemu};
use estimate::Scene;
use rows::{HARDWARE_ROWS, HardwareRow, Shape};
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};
use tollgate_measure::summary::Units;
use tollgate_record::{Measurement, Per, Status};

const MODULES: &str = "/sys/module";
/// Virtual machines under KVM; each is an epoch.
const MACHINES: usize = 10;
/// With `--quick`: the fewest that give an interval.
const FEW_MACHINES: usize = 6;
/// Runs under QEMU: its figures only show the mechanism, so an interval is not worth the time.
const TRANSLATED: usize = 2;
/// Time limit of a virtual machine; a working one takes a twentieth of it.
const PATIENCE: Duration = Duration::from_millis(800);
/// Longer, because QEMU runs its firmware first.
const QEMU_PATIENCE: Duration = Duration::from_secs(2);
/// No virtual machine starts after this time.
const BUDGET: Duration = Duration::from_secs(3);
/// QEMU does not start again after this time.
const QEMU_BUDGET: Duration = Duration::from_secs(1);
/// How many guests may hang, each in another phase, which later guests leave out.
const HANGS: usize = 3;

/// Every row, by its name.
pub fn rows() -> impl Iterator<Item = (&'static str, Per)> {
    HARDWARE_ROWS.iter().map(|row| (row.probe, row.per))
}

/// Why no row can be measured on this hardware, and what would enable it.
pub fn missing() -> Option<(String, String)> {
    match kvm::check(Path::new(kvm::DEVICE)) {
        Err(RunError::NotHere { reason, enable }) => Some((reason, enable)),
        _ => None,
    }
}

/// Where to look and how to count.
pub struct Hardware<'a> {
    /// The device of KVM; anything else is for tests.
    device: &'a Path,
    /// QEMU's program, a name to look for on PATH.
    qemu: &'a Path,
    /// `/sys/module`.
    modules: &'a Path,
    /// Fewer virtual machines.
    quick: bool,
    /// Ticks of this host's time-stamp counter as time, and the core's rate.
    units: &'a Units,
    /// The hypervisor below the host, by the name that it reports.
    hypervisor: Option<&'a str>,
}

impl<'a> Hardware<'a> {
    /// This host. The calling thread runs the guest: pin the thread to pin the guest.
    pub fn here(units: &'a Units, hypervisor: Option<&'a str>, quick: bool) -> Self {
        Self {
            device: Path::new(kvm::DEVICE),
            qemu: Path::new(qemu::PROGRAM),
            modules: Path::new(MODULES),
            quick,
            units,
            hypervisor,
        }
    }

    /// Every row under every engine: KVM, then QEMU's translator with each of its two clocks. Takes under 8 s
    /// whatever the guest does.
    pub fn measure(&self) -> Vec<Measurement> {
        let mut all = self.under_kvm();
        all.extend(self.under_qemu(Engine::QemuTcg));
        all.extend(self.under_qemu(Engine::QemuTcgIcount));
        all
    }

    /// Every row under KVM.
    fn under_kvm(&self) -> Vec<Measurement> {
        let engine = Engine::of_kvm(self.modules);
        let machines = if self.quick { FEW_MACHINES } else { MACHINES };
        // The deadline is half a millisecond away, longer than the host polls for work before it sleeps.
        let half_a_millisecond = self.units.scale.hz / 2000.0;
        let mut params = Params { deadline_ticks: half_a_millisecond as u32, ..Params::default() };
        let start = Instant::now();
        let (mut visits, mut hung) = (Vec::new(), Vec::new());
        while visits.len() < machines && start.elapsed() < BUDGET {
            match kvm::run(self.device, &params, PATIENCE) {
                Ok(visit) => {
                    let stuck = stuck(&visit);
                    if let Some(place) = stuck {
                        params.phases &= !(1 << place);
                        hung.push(place);
                    }
                    visits.push(visit);
                    if stuck.is_some() && hung.len() >= HANGS {
                        break;
                    }
                }
                Err(error) if visits.is_empty() => return refused(engine, &error),
                Err(error) => {
                    let later = format!("a later virtual machine failed: {error}");
                    let of = |row| empty(row, engine, Status::Failed, &later, None);
                    return HARDWARE_ROWS.iter().map(of).collect();
                }
            }
        }
        // A stopped guest has no later phases. The guests after it miss only the phase in which it hung.
        let whole: Vec<Visit> = visits.iter().filter(|visit| visit.table.finished).cloned().collect();
        let scene = |visits| Scene { engine, visits, units: Some(self.units), hypervisor: self.hypervisor };
        let stopped = scene(&visits);
        let steady = scene(if whole.is_empty() { &visits } else { &whole });
        HARDWARE_ROWS
            .iter()
            .map(|row| match row.shape {
                Shape::Posted => {
                    Measurement { warnings: steady.warnings(row), ..self.not_posted(row, engine) }
                }
                _ if touches(row, &hung) => stopped.row(row),
                _ => steady.row(row),
            })
            .collect()
    }

    /// The skipped row of an interrupt without an exit.
    fn not_posted(&self, row: &HardwareRow, engine: Engine) -> Measurement {
        let switch = match engine {
            Engine::KvmIntel => Some("kvm_intel/parameters/enable_apicv"),
            Engine::KvmAmd => Some("kvm_amd/parameters/avic"),
            _ => None,
        };
        let value = switch.and_then(|switch| fs::read_to_string(self.modules.join(switch)).ok());
        let (reason, enable) = match switch {
            Some(_) if value.is_some_and(|value| ["Y", "1"].contains(&value.trim())) => (
                "KVM posts interrupts here, but the monitor shares the guest's CPU: no interrupt meets a running guest"
                    .to_owned(),
                "hardware/irqfd-wake, where the guest has halted",
            ),
            Some(switch) => (format!("KVM posts no interrupts here: /sys/module/{switch} is off"), row.enable),
            None => ("this KVM posts no interrupts: it delivers them in software".to_owned(), row.enable),
        };
        empty(row, engine, Status::Skipped, &reason, Some(enable))
    }

    /// Every row under QEMU's translator; with [`Engine::QemuTcgIcount`] the figures are counts of instructions.
    fn under_qemu(&self, engine: Engine) -> Vec<Measurement> {
        let counting = engine == Engine::QemuTcgIcount;
        let start = Instant::now();
        let mut visits = Vec::new();
        while visits.len() < if counting { 1 } else { TRANSLATED }
            && (visits.is_empty() || start.elapsed() < QEMU_BUDGET)
        {
            match qemu::run(self.qemu, counting, &Params::default(), QEMU_PATIENCE) {
                Ok(visit) => visits.push(visit),
                Err(error) => return refused(engine, &error),
            }
        }
        let units = (!counting).then_some(self.units);
        let scene = Scene { engine, visits: &visits, units, hypervisor: self.hypervisor };
        HARDWARE_ROWS
            .iter()
            .map(|row| if row.shape.exits() { no_exit(row, engine) } else { scene.row(row) })
            .collect()
    }
}

/// The phase in which a stopped guest hung.
fn stuck(visit: &Visit) -> Option<usize> {
    visit.table.rows.iter().position(|row| row.outcome == Outcome::Stuck)
}

fn touches(row: &HardwareRow, hung: &[usize]) -> bool {
    row.shape.phases().iter().any(|name| phase(name).is_some_and(|place| hung.contains(&place)))
}

/// Every row of an engine that gave no table.
fn refused(engine: Engine, error: &RunError) -> Vec<Measurement> {
    let of = |row| match error {
        RunError::NotHere { reason, enable } => empty(row, engine, Status::Skipped, reason, Some(enable)),
        error => empty(row, engine, Status::Failed, &error.to_string(), None),
    };
    HARDWARE_ROWS.iter().map(of).collect()
}

/// A row without figures.
fn empty(
    row: &HardwareRow,
    engine: Engine,
    status: Status,
    reason: &str,
    enable: Option<&str>,
) -> Measurement {
    let (reason, enable) = (Some(reason.into()), enable.map(Into::into));
    Measurement { reason, enable, ..Measurement::empty(row.probe, engine.name(), row.per, status) }
}

/// The skipped row of an exit from the guest, under an engine without exits.
fn no_exit(row: &HardwareRow, engine: Engine) -> Measurement {
    let reason = "QEMU's translator has no exit: guest and hypervisor are one program";
    empty(row, engine, Status::Skipped, reason, Some("KVM"))
}

/// Number of the guest's phases; the mask of [`Params`] has one bit for each.
const _: () = assert!(PHASES.len() <= 64);
