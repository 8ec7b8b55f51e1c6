//! Which program with a working set is measured, and the points of its sweep.

use std::borrow::Cow;
use std::path::Path;

use tollgate_cores::Core;
use tollgate_lab::workload::{LINE, MOST_BYTES, Point, WORKLOADS, Workload};
use tollgate_record::text;

use super::options::{self, within};
use crate::args::Usage;

/// The default core: one with caches and translation buffers, whose lines are as long as the steps of the workloads.
const CORE: &str = "rocket";

/// A program with a working set, and what traps into it. Empty lists stand for the defaults.
#[derive(clap::Args)]
#[command(next_help_heading = "A program with a working set")]
pub(super) struct WorkloadArgs {
    /// Trap into this program: chase, walk, compute, or a file that ends in .c, .s, .S or .elf
    ///
    /// The file has a function 'void work(char *set, unsigned long bytes)', which is called again and again.
    #[arg(long, value_name = "PROG", value_hint = clap::ValueHint::FilePath)]
    workload: Option<String>,

    /// Instructions from one trap to the next [default: 10000]
    #[arg(long, value_name = "K", value_delimiter = ',')]
    every: Vec<u64>,

    /// KiB of the program's working set [default: 4,16,64]
    #[arg(long, value_name = "KIB", value_delimiter = ',')]
    set: Vec<u64>,

    /// KiB that the kernel reads in each trap [default: 0,4,16,64,256]
    #[arg(long, value_name = "KIB", value_delimiter = ',')]
    kernel_touch: Vec<u64>,

    /// Traps at each point [default: 4 to 50, fewer of rare ones]
    #[arg(long, value_name = "N")]
    traps: Option<u64>,
}

/// A program, a core, and a sweep.
#[derive(Debug)]
pub(super) struct WorkloadPlan {
    /// The program.
    pub(super) workload: Cow<'static, Workload>,
    /// The core.
    pub(super) core: Core,
    every: Vec<u64>,
    set: Vec<u64>,
    touch: Vec<u64>,
    traps: Option<u64>,
}

impl WorkloadPlan {
    /// Plans a request; `None` if it does not ask for a workload.
    pub(super) fn new(args: &WorkloadArgs, core: Option<&str>) -> Result<Option<Self>, Usage> {
        let Some(name) = &args.workload else { return without_workload(args).map(|()| None) };
        if core == Some("all") {
            return Err(Usage::value("--core", "all", "a workload runs on one core: give its name"));
        }
        let core = options::core(core.unwrap_or(CORE))?;
        let workload = find(name)?;
        let kib = MOST_BYTES / 1024;
        let plan = Self {
            workload,
            core,
            every: checked("--every", "a number", &args.every, &[10_000], 10..=100_000_000)?,
            set: checked("--set", "KiB", &args.set, &[4, 16, 64], 1..=kib)?,
            touch: checked("--kernel-touch", "KiB", &args.kernel_touch, &[0, 4, 16, 64, 256], 0..=kib)?,
            traps: args.traps,
        };
        if let Some(traps) = args.traps {
            within("--traps", traps, "a number", 1..=100_000)?;
        }
        Ok(Some(plan))
    }

    /// Every point of the sweep.
    pub(super) fn points(&self) -> Vec<Point<'_>> {
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
) -> Result<Vec<u64>, Usage> {
    for &number in given {
        within(option, number, unit, range.clone())?;
    }
    Ok(if given.is_empty() { default } else { given }.to_vec())
}

fn without_workload(args: &WorkloadArgs) -> Result<(), Usage> {
    let options = [
        ("--every", !args.every.is_empty()),
        ("--set", !args.set.is_empty()),
        ("--kernel-touch", !args.kernel_touch.is_empty()),
        ("--traps", args.traps.is_some()),
    ];
    match options.into_iter().find(|(_, given)| *given) {
        Some((option, _)) => Err(Usage::new(format!("{option} belongs to a workload: add --workload chase"))),
        None => Ok(()),
    }
}

/// A bundled workload, or one that is built from a source.
fn find(name: &str) -> Result<Cow<'static, Workload>, Usage> {
    if Path::new(name)
        .extension()
        .is_some_and(|end| ["c", "s", "S", "asm", "elf"].iter().any(|it| end == *it))
    {
        let own = Workload::own(Path::new(name)).map(Cow::Owned);
        return own.map_err(|error| Usage::value("--workload", name, error));
    }
    Workload::find(name).map(Cow::Borrowed).ok_or_else(|| {
        let names: Vec<&str> = WORKLOADS.iter().map(|workload| &*workload.name).collect();
        let nearest = text::suggestion(text::nearest(name, names.iter().copied()));
        let names = names.join(", ");
        let why = format!("no such program{nearest} (there are {names}; a file ends in .c, .s, .S or .elf)");
        Usage::value("--workload", name, why)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::riscv::options::parsed;

    /// The plan of `--workload chase` with these options.
    fn chase(words: &[&str]) -> Result<Option<WorkloadPlan>, Usage> {
        WorkloadPlan::new(&parsed(&[&["--workload", "chase"], words].concat()), None)
    }

    fn points(words: &[&str]) -> Vec<(u64, u64, u64, u64)> {
        let plan = chase(words).unwrap().unwrap();
        plan.points().iter().map(|point| (point.every, point.set, point.touch, point.traps)).collect()
    }

    #[test]
    fn a_sweep_has_every_combination_and_fewer_traps_when_they_are_rare() {
        let sweep = ["--every", "1000,1000000", "--set", "4,8", "--kernel-touch", "0"];
        let expected =
            [(1000, 4096, 0, 50), (1000, 8192, 0, 50), (1_000_000, 4096, 0, 4), (1_000_000, 8192, 0, 4)];
        assert_eq!(points(&sweep), expected);
        assert_eq!(points(&[]).len(), 3 * 5);
        assert!(points(&["--traps", "7"]).iter().all(|point| point.3 == 7));
    }

    #[test]
    fn options_of_a_sweep_need_a_workload() {
        assert!(WorkloadPlan::new(&parsed(&[]), None).unwrap().is_none());
        let error = WorkloadPlan::new(&parsed(&["--traps", "1"]), None).unwrap_err();
        assert_eq!(error.to_string(), "--traps belongs to a workload: add --workload chase");
    }

    #[test]
    fn errors_name_the_option_and_a_value_that_works() {
        let cases = [
            (["--every", "9"], "--every 9: give a number from 10 to 100000000"),
            (["--set", "4,0"], "--set 0: give KiB from 1 to 1024"),
            (["--kernel-touch", "1025"], "--kernel-touch 1025: give KiB from 0 to 1024"),
            (["--traps", "0"], "--traps 0: give a number from 1 to 100000"),
        ];
        for (words, expected) in cases {
            assert_eq!(chase(&words).unwrap_err().to_string(), expected);
        }
        let error = WorkloadPlan::new(&parsed(&["--workload", "chas"]), None).unwrap_err();
        assert!(error.to_string().contains("'chase'"), "{error}");
    }
}
