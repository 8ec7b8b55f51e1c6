//! What the machine did to separate runs, as the yardsticks show it: work that is the same in every run of one host.

use super::stats::{Column, Shift, Z, median, shift};
use serde::Serialize;
use tollgate_record::{EpochFigure, KERNEL_YARDSTICK, Measurement, Run, Slope, slope};

/// What happens to a probe need not be a power of what happens to the work (a call that takes a fixed time longer is not), and
/// it happens in more places than the work shows. This share of what was taken out is a standard error.
const FORM: f64 = 0.2;

/// The yardstick that was taken out of a row, and what the row would be without it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Explained {
    /// The yardstick, by its name in the runs.
    pub yardstick: String,
    /// The power of it that the probe follows in both.
    pub slope: f64,
    /// What is left of the differences between the processes of a run, as a share.
    pub left: f64,
    /// B over A as measured.
    pub absolute: f64,
}

/// The yardsticks of the runs of both sides.
pub(super) struct Machine {
    /// In the order of the first run.
    yardsticks: Vec<String>,
    /// Those of each run of A and of B.
    sides: [Vec<OneRun>; 2],
}

struct OneRun {
    /// For each yardstick its place in the run.
    places: Vec<usize>,
    /// For each yardstick the logarithm of its core cycles in each epoch.
    logs: Vec<Vec<Option<f64>>>,
}

impl Machine {
    /// What all runs have. The yardstick of the kernel counts only if the kernel is the same in all of them.
    pub(super) fn new(a: &[Run], b: &[Run]) -> Self {
        let all = || a.iter().chain(b);
        let one_kernel = all().all(|run| is_one_kernel(run, &a[0]));
        let names = a[0].yardsticks.iter().map(|it| it.name.clone());
        let usable = |name: &String| {
            (one_kernel || name != KERNEL_YARDSTICK) && all().all(|run| place(run, name).is_some())
        };
        let yardsticks: Vec<String> = names.filter(usable).collect();
        let sides = [a, b].map(|runs| runs.iter().map(|run| OneRun::new(run, &yardsticks)).collect());
        Self { yardsticks, sides }
    }

    /// How the work itself moved: that in which the kernel takes no part, or that which the same kernel does.
    pub(super) fn moved(&self, of_kernel: bool) -> Vec<Shift> {
        let is_of_kernel = |name: &String| name == KERNEL_YARDSTICK;
        let all = self.yardsticks.iter().enumerate();
        let kinds = all.filter(|(_, name)| is_of_kernel(name) == of_kernel);
        let of = |side: usize, kind: usize| -> Vec<f64> {
            self.sides[side].iter().flat_map(|run| &run.logs[kind]).copied().flatten().collect()
        };
        kinds.filter_map(|(kind, _)| shift(&of(0, kind), &of(1, kind))).collect()
    }

    /// The columns without what the best yardstick explains, and the shift of what is left; `None` if without a
    /// yardstick the shift is known as well. `each` is the number of places of a run in a column.
    pub(super) fn explain(
        &self,
        results: [&[(usize, &Measurement)]; 2],
        units: &[Column; 2],
        raw: Shift,
        each: usize,
    ) -> Option<([Column; 2], Shift, Explained)> {
        let explained = |(kind, name): (usize, &String)| {
            let [x_a, x_b] = &[0, 1].map(|side| self.column(side, kind, results[side], each));
            let runs: Vec<Vec<[f64; 2]>> = [(x_a, &units[0]), (x_b, &units[1])]
                .iter()
                .flat_map(|(x, y)| x.chunks(each).zip(y.chunks(each)))
                .map(|(x, y)| x.iter().zip(y).filter_map(|(x, y)| Some([(*x)?, (*y)?])).collect())
                .collect();
            let Slope { slope, error, left } = slope(&runs)?;
            let there: [Vec<f64>; 2] = [x_a, x_b].map(|x| x.iter().copied().flatten().collect());
            let middle = median(&there.concat());
            let without = |x: &Column, y: &Column| -> Column {
                x.iter().zip(y).map(|(x, y)| Some((*y)? - slope * ((*x)? - middle))).collect()
            };
            let columns = [without(x_a, &units[0]), without(x_b, &units[1])];
            let [a, b] =
                columns.each_ref().map(|column| column.iter().copied().flatten().collect::<Vec<f64>>());
            let found = shift(&a, &b)?;
            // The error of the slope counts as far as the yardstick itself moved from A to B.
            let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
            let of_slope = error * (mean(&there[1]) - mean(&there[0]));
            let squares = |values: &[f64]| values.iter().map(|x| (x - mean(values)).powi(2)).sum::<f64>();
            let varied =
                there.iter().map(|values| squares(values)).sum::<f64>() / there.concat().len() as f64;
            let more = Z * of_slope.hypot(FORM * slope * varied.sqrt());
            let low = found.estimate - (found.estimate - found.low).hypot(more);
            let high = found.estimate + (found.high - found.estimate).hypot(more);
            let explained = Explained { yardstick: name.clone(), slope, left, absolute: raw.estimate.exp() };
            Some((columns, Shift { low, high, ..found }, explained))
        };
        let width = |shift: &Shift| shift.high - shift.low;
        let all = self.yardsticks.iter().enumerate().filter_map(explained);
        let best = all.min_by(|(_, a, _), (_, b, _)| width(a).total_cmp(&width(b)));
        best.filter(|(_, shift, _)| width(shift) < width(&raw))
    }

    /// The yardstick beside each process of the results.
    fn column(&self, side: usize, kind: usize, results: &[(usize, &Measurement)], each: usize) -> Column {
        let mut column = Column::new();
        for (run, result) in results {
            let place = self.sides[side].get(*run).map(|it| it.places[kind]);
            column.resize(column.len().max(run * each), None);
            column.extend(result.epochs.iter().map(|epoch| log_of_work(epoch, place?)));
        }
        column
    }
}

/// The logarithm of the core cycles that the yardstick at this place of its run took beside a process.
fn log_of_work(epoch: &EpochFigure, place: usize) -> Option<f64> {
    let cycles = epoch.yardsticks.get(place).copied().flatten()? * epoch.core_hz? / 1e9;
    Some(cycles.ln()).filter(|log| log.is_finite())
}

impl OneRun {
    fn new(run: &Run, yardsticks: &[String]) -> Self {
        let longest = run.results.iter().max_by_key(|result| result.epochs.len());
        let hz: Vec<Option<f64>> =
            longest.iter().flat_map(|it| &it.epochs).map(|epoch| epoch.core_hz).collect();
        let logs = |place: &usize| {
            let log = |(ns, hz): (&Option<f64>, &Option<f64>)| {
                ns.zip(*hz).map(|(ns, hz)| (ns * hz / 1e9).ln()).filter(|log| log.is_finite())
            };
            run.yardsticks[*place].epochs.iter().zip(&hz).map(log).collect()
        };
        let places: Vec<usize> = yardsticks.iter().filter_map(|name| place(run, name)).collect();
        Self { logs: places.iter().map(logs).collect(), places }
    }
}

/// The place of a yardstick in a run.
fn place(run: &Run, name: &str) -> Option<usize> {
    run.yardsticks.iter().position(|it| it.name == name)
}

/// The newest runs of a series from which the slope is taken.
const MOST_RUNS: usize = 30;

/// For a probe that one run after another measured: the yardstick that explains best what the processes of a run differ
/// by, and the logarithm of what the machine did to each run beyond the middle one of all. `None` if nothing explains it,
/// or not every run has the yardstick.
pub(crate) fn machine_of_runs(runs: &[&Run], results: &[&Measurement]) -> Option<(String, Vec<f64>)> {
    let first = runs.first()?;
    let one_kernel = runs.iter().all(|run| is_one_kernel(run, first));
    let names = first.yardsticks.iter().map(|it| it.name.clone());
    let names: Vec<String> = names.filter(|name| one_kernel || name != KERNEL_YARDSTICK).collect();
    let explained = |name: String| {
        let points = |(run, result): (&&Run, &&Measurement)| -> Option<Vec<[f64; 2]>> {
            let place = place(run, &name)?;
            let point = |epoch: &EpochFigure| {
                let probe = (epoch.ns * epoch.core_hz? / 1e9).ln();
                Some([log_of_work(epoch, place)?, probe]).filter(|_| probe.is_finite())
            };
            let points: Vec<[f64; 2]> = result.epochs.iter().filter_map(point).collect();
            (!points.is_empty()).then_some(points)
        };
        let points: Vec<Vec<[f64; 2]>> = runs.iter().zip(results).map(points).collect::<Option<_>>()?;
        let found = slope(&points[points.len().saturating_sub(MOST_RUNS)..])?;
        let of_run = |run: &Vec<[f64; 2]>| median(&run.iter().map(|point| point[0]).collect::<Vec<_>>());
        let levels: Vec<f64> = points.iter().map(of_run).collect();
        let middle = median(&levels);
        let moved = levels.iter().map(|level| found.slope * (level - middle)).collect();
        Some((found.left, name, moved))
    };
    let all = names.into_iter().filter_map(explained);
    let best = all.min_by(|(a, ..): &(f64, String, Vec<f64>), (b, ..)| a.total_cmp(b));
    best.map(|(_, name, moved)| (name, moved))
}

/// Whether nothing is different that the kernel's own code depends on.
fn is_one_kernel(a: &Run, b: &Run) -> bool {
    let of = |run: &Run| {
        let (cpu, kernel) = (&run.host.cpu, &run.host.kernel);
        (kernel.clone(), cpu.microcode.clone(), run.host.hypervisor.clone())
    };
    of(a) == of(b)
}
