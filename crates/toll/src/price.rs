//! What a crossing costs on this machine, from saved runs.

use crate::count::Kind;
use std::process::{Command, Stdio};
use tollgate_record::{Estimate, Host, Measurement, Run, Status, Store, document, phase};

/// When prices are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// Before and after the command.
    Now,
    /// In an earlier run of this machine and kernel.
    Saved,
    /// Never: counts alone.
    None,
}

impl When {
    /// The names of the command line, with what each means.
    pub const NAMES: &'static [(&'static str, Self, &'static str)] = &[
        ("now", Self::Now, "measured before and after the command"),
        ("saved", Self::Saved, "from the newest saved run of this machine and kernel"),
        ("none", Self::None, "counts without prices"),
    ];
}

/// Prices of one crossing in and out, in nanoseconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Prices {
    /// Ids of the runs that they are from.
    pub runs: Vec<String>,
    call: Option<Estimate>,
    fault: Option<Estimate>,
    /// A clock that is read in user mode.
    pub(crate) vdso: Option<Estimate>,
}

/// The prices could not be measured.
#[derive(Debug, thiserror::Error)]
#[error("the prices could not be measured: {0} (--price none omits them)")]
pub struct PriceError(String);

/// The words of the command that measures the prices: a call that does nothing, and a fault with its way in and out.
const PRICING: [&str; 7] = ["crossing", "--quick", "--budget-ms", "500", "--no-guest", "--json", "--no-save"];

/// As many of the newest saved runs are searched for prices.
const LOOKED_AT: usize = 30;

/// Whether prices of a host are those of this one: same machine, kernel, mitigations and microcode.
fn is_here(there: &Host, here: &Host) -> bool {
    let facts = |host: &Host| {
        let (cpu, kernel) = (host.cpu.clone(), host.kernel.clone());
        (host.name.clone(), cpu.model, cpu.microcode, kernel.release, kernel.version, kernel.mitigations)
    };
    facts(there) == facts(here)
}

impl Prices {
    /// From runs of this machine. Several runs of one probe give a price whose interval contains theirs.
    #[must_use]
    pub fn from(runs: &[Run]) -> Self {
        let price =
            |of: fn(&Run) -> Option<Estimate>| runs.iter().filter_map(of).reduce(|a, b| spanned(&a, &b));
        let ids = runs.iter().map(|run| run.id.clone()).collect();
        Self {
            runs: ids,
            call: price(|run| measured(run, "syscall/getppid")?.ns),
            fault: price(fault),
            vdso: price(|run| measured(run, "vdso/clock_gettime")?.ns),
        }
    }

    /// From the newest saved run that was made on this machine, with this kernel, and that has every price.
    #[must_use]
    pub fn saved(store: &Store, here: &Host) -> Option<Self> {
        let entries = store.list().ok()?;
        let mut newest: Vec<String> = entries.into_iter().map(|entry| entry.id).collect();
        newest.sort_unstable_by(|a, b| b.cmp(a));
        let runs = newest.iter().take(LOOKED_AT).filter_map(|id| store.load(id).ok());
        let mut priced = runs.filter(|run| is_here(&run.host, here)).map(|run| Self::from(&[run]));
        priced.find(|prices| prices.call.is_some() && prices.fault.is_some())
    }

    /// Measures what the prices need, by this program in a process of its own.
    ///
    /// # Errors
    /// The program does not run or leaves no record.
    pub fn measure() -> Result<Run, PriceError> {
        let why = |error: &dyn std::fmt::Display| PriceError(error.to_string());
        let program = std::env::current_exe().map_err(|error| why(&error))?;
        let mut command = Command::new(program);
        command.args(PRICING).stdin(Stdio::null()).stderr(Stdio::null());
        let output = command.output().map_err(|error| why(&error))?;
        document::from_json(&output.stdout).map_err(|error| why(&error))
    }

    /// The same with a call as it was measured beside the command.
    pub(crate) fn with_call(&self, call: Estimate) -> Self {
        Self { call: Some(call), ..self.clone() }
    }

    /// What one crossing of a boundary costs.
    #[must_use]
    pub fn of(&self, kind: Kind, _name: &str) -> Option<Estimate> {
        match kind {
            Kind::Call => self.call,
            Kind::Fault => self.fault,
            _ => None,
        }
    }
}

fn measured<'r>(run: &'r Run, probe: &str) -> Option<&'r Measurement> {
    run.results.iter().find(|row| row.probe == probe && row.status == Status::Measured)
}

/// The way in and the way out of a page fault. The tracepoint stamps earlier and adds less than the event.
fn fault(run: &Run) -> Option<Estimate> {
    ["fault/anonymous-tracepoint", "fault/anonymous"].iter().find_map(|probe| {
        let row = measured(run, probe)?;
        Some(Estimate::sum([row.phase(phase::ENTRY)?.ns?, row.phase(phase::RETURN)?.ns?]))
    })
}

/// The mean of two figures, with the interval that contains both of theirs: the machine may have changed between them.
pub(crate) fn spanned(a: &Estimate, b: &Estimate) -> Estimate {
    let ci = [a.ci[0].min(b.ci[0]), a.ci[1].max(b.ci[1])];
    Estimate::within((a.estimate + b.estimate) / 2.0, ci)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_price_before_and_one_after_give_an_interval_that_contains_both() {
        let price =
            spanned(&Estimate::within(100.0, [98.0, 103.0]), &Estimate::within(120.0, [119.0, 125.0]));
        assert_eq!((price.estimate, price.ci), (110.0, [98.0, 125.0]));
    }
}
