//! Which program with a working set is measured, and the points of its sweep.

use std::borrow::Cow;
use std::path::Path;

use tollgate_record::text;
use tollgate_riscv::timing::Core;

use super::options::{self, PlanError, within};
use crate::workload::{LINE, MOST_BYTES, Point, WORKLOADS, Workload};

/// The default core: one with caches and translation buffers.
const CORE: &str = "cva6-like";

/// What a command line asks for. Empty lists stand for the defaults.
#[derive(Clone, Copy, Debug, Default)]
pub struct WorkloadRequest<'a> {
    /// A bundled program, or a C source.
    pub workload: Option<&'a str>,
    /// Instructions between traps.
    pub every: &'a [u64],
    /// Working sets in KiB.
    pub set: &'a [u64],
    /// What the kernel reads in each trap, in KiB.
    pub kernel_touch: &'a [u64],
    /// Traps at each point.
    pub traps: Option<u64>,
    /// The core.
    pub core: Option<&'a str>,
}

/// A program, a core, and a sweep.
#[derive(Debug)]
pub struct WorkloadPlan {
    /// The program.
    pub workload: Cow<'static, Workload>,
    /// The core.
    pub core: Core,
    every: Vec<u64>,
    set: Vec<u64>,
    touch: Vec<u64>,
    traps: Option<u64>,
}

impl WorkloadPlan {
    /// Plans a request; `None` if it does not ask for a workload.
    pub fn new(request: &WorkloadRequest<'_>) -> Result<Option<Self>, PlanError> {
        let Some(name) = request.workload else { return without_workload(request).map(|()| None) };
        let core = options::core(request.core.unwrap_or(CORE))?;
        let workload = find(name)?;
        let kib = MOST_BYTES / 1024;
        let plan = Self {
            workload,
            core,
            every: checked("--every", "a number", request.every, &[10_000], 10..=100_000_000)?,
            set: checked("--set", "KiB", request.set, &[4, 16, 64], 1..=kib)?,
            touch: checked("--kernel-touch", "KiB", request.kernel_touch, &[0, 4, 16, 64, 256], 0..=kib)?,
            traps: request.traps,
        };
        if let Some(traps) = request.traps {
            within("--traps", traps, "a number", 1..=100_000)?;
        }
        Ok(Some(plan))
    }

    /// Every point of the sweep.
    pub fn points(&self) -> Vec<Point<'_>> {
        let mut points = Vec::new();
        for &every in &self.every {
            let traps = self.traps.unwrap_or_else(|| (1_000_000 / every).clamp(4, 50));
            for set in &self.set {
                for touch in &self.touch {
                    let (set, touch) = (set * 1024 / LINE * LINE, touch * 1024);
                    points.push(Point { workload: &self.workload, set, every, touch, traps });
                }
            }
        }
        points
    }
}

fn checked(
    option: &'static str,
    unit: &'static str,
    given: &[u64],
    default: &[u64],
    range: std::ops::RangeInclusive<u64>,
) -> Result<Vec<u64>, PlanError> {
    for &number in given {
        within(option, number, unit, range.clone())?;
    }
    Ok(if given.is_empty() { default } else { given }.to_vec())
}

fn without_workload(request: &WorkloadRequest<'_>) -> Result<(), PlanError> {
    let options = [
        ("--every", !request.every.is_empty()),
        ("--set", !request.set.is_empty()),
        ("--kernel-touch", !request.kernel_touch.is_empty()),
        ("--traps", request.traps.is_some()),
    ];
    match options.into_iter().find(|(_, given)| *given) {
        Some((option, _)) => {
            Err(PlanError::conflict(format!("{option} belongs to a workload: add --workload chase")))
        }
        None => Ok(()),
    }
}

/// A bundled workload, or one that is built from a source.
fn find(name: &str) -> Result<Cow<'static, Workload>, PlanError> {
    if Path::new(name).extension().is_some_and(|extension| extension == "c") {
        let own = Workload::own(Path::new(name)).map(Cow::Owned);
        return own.map_err(|error| PlanError::value("--workload", name, error));
    }
    Workload::find(name).map(Cow::Borrowed).ok_or_else(|| {
        let names: Vec<&str> = WORKLOADS.iter().map(|workload| &*workload.name).collect();
        let nearest = text::suggestion(text::nearest(name, names.iter().copied()));
        let names = names.join(", ");
        let why = format!("no such program{nearest} (there are {names}; a source ends in .c)");
        PlanError::value("--workload", name, why)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHASE: WorkloadRequest<'_> = WorkloadRequest {
        workload: Some("chase"),
        every: &[],
        set: &[],
        kernel_touch: &[],
        traps: None,
        core: None,
    };

    fn points(request: &WorkloadRequest<'_>) -> Vec<(u64, u64, u64, u64)> {
        let plan = WorkloadPlan::new(request).unwrap().unwrap();
        plan.points().iter().map(|point| (point.every, point.set, point.touch, point.traps)).collect()
    }

    #[test]
    fn a_sweep_has_every_combination_and_fewer_traps_when_they_are_rare() {
        let request =
            WorkloadRequest { every: &[1000, 1_000_000], set: &[4, 8], kernel_touch: &[0], ..CHASE };
        let expected =
            [(1000, 4096, 0, 50), (1000, 8192, 0, 50), (1_000_000, 4096, 0, 4), (1_000_000, 8192, 0, 4)];
        assert_eq!(points(&request), expected);
        assert_eq!(points(&CHASE).len(), 3 * 5);
        assert!(points(&WorkloadRequest { traps: Some(7), ..CHASE }).iter().all(|point| point.3 == 7));
    }

    #[test]
    fn options_of_a_sweep_need_a_workload() {
        let none = WorkloadRequest::default();
        assert!(WorkloadPlan::new(&none).unwrap().is_none());
        let error = WorkloadPlan::new(&WorkloadRequest { traps: Some(1), ..none }).unwrap_err();
        assert_eq!(error.to_string(), "--traps belongs to a workload: add --workload chase");
    }

    #[test]
    fn errors_name_the_option_and_a_value_that_works() {
        let cases = [
            (WorkloadRequest { every: &[9], ..CHASE }, "--every 9: give a number from 10 to 100000000"),
            (WorkloadRequest { set: &[4, 0], ..CHASE }, "--set 0: give KiB from 1 to 1024"),
            (
                WorkloadRequest { kernel_touch: &[1025], ..CHASE },
                "--kernel-touch 1025: give KiB from 0 to 1024",
            ),
            (WorkloadRequest { traps: Some(0), ..CHASE }, "--traps 0: give a number from 1 to 100000"),
        ];
        for (request, expected) in cases {
            assert_eq!(WorkloadPlan::new(&request).unwrap_err().to_string(), expected);
        }
        let error = WorkloadPlan::new(&WorkloadRequest { workload: Some("chas"), ..CHASE }).unwrap_err();
        assert!(error.to_string().contains("'chase'"), "{error}");
    }
}
