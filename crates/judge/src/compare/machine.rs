//! The effect of the machine on separate runs, as the yardsticks show it: work that is the same in every run of one host.

use crate::stats::{Column, Shift, Z, median, shift};
use crate::yardstick::Fit;
use serde::Serialize;
use std::collections::BTreeMap;
use tollgate_record::{EpochFigure, KERNEL_YARDSTICK, Measurement, Regression, Run};

/// The slow-down of a probe need not be a power of that of the yardsticks (a fixed extra time is not), and it has causes
/// that no yardstick shows. This share of what was removed is a standard error.
const FORM: f64 = 0.2;

/// The yardsticks that were removed from a row, and the row without that adjustment.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Explained {
    /// For each yardstick, by its name in the runs, the power of it that the probe follows in both.
    pub powers: BTreeMap<String, f64>,
    /// The share of the batches' standard deviation that remains.
    pub left: f64,
    /// B over A at one core frequency, without the adjustment.
    pub absolute: f64,
    /// Slow-down of the row by the machine, as the yardsticks show it: `absolute` over the ratio of the row.
    pub taken: f64,
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
    /// The yardsticks of all runs. That of the kernel counts only if the kernel is the same in all of them.
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

    /// The movements of the yardsticks, by process or by run: of those without the kernel, or of that of the kernel.
    pub(super) fn moved(&self, of_kernel: bool, by_runs: bool) -> Vec<Shift> {
        let is_of_kernel = |name: &String| name == KERNEL_YARDSTICK;
        let all = self.yardsticks.iter().enumerate();
        let kinds = all.filter(|(_, name)| is_of_kernel(name) == of_kernel);
        let of = |side: usize, kind: usize| -> Vec<f64> {
            let of_run = |run: &OneRun| {
                let logs = there(&run.logs[kind]);
                if by_runs && !logs.is_empty() { vec![median(&logs)] } else { logs }
            };
            self.sides[side].iter().flat_map(of_run).collect()
        };
        kinds.filter_map(|(kind, _)| shift(&of(0, kind), &of(1, kind))).collect()
    }

    /// The columns without what the yardsticks explain, and the shift of what is left; `None` if without them the shift is known
    /// as well. `each` is the number of places of a run in a column.
    ///
    /// Subtracts from each epoch's figure the movement of the yardsticks in that epoch, times the power by which the probe's
    /// batches follow them within a run. A change of the probe alone stays in the figure, whatever the powers are.
    pub(super) fn explain(
        &self,
        results: [&[(usize, &Measurement)]; 2],
        raw: &[Column; 2],
        shift_of_raw: Shift,
        each: usize,
    ) -> Option<([Column; 2], Shift, Explained)> {
        let all = || (0..2).flat_map(|side| results[side].iter().map(move |it| (side, it)));
        let regressions: Vec<Regression> = all()
            .map(|(side, (run, result))| {
                let regression = result.regression.as_ref().filter(|_| is_of_the_figure(result))?;
                regression.with(&self.sides[side].get(*run)?.places)
            })
            .collect::<Option<_>>()?;
        let fit = Fit::of(&regressions)?;
        let beside = [0, 1].map(|side| self.beside(side, results[side], each));
        let [Some(beside_a), Some(beside_b)] = beside else { return None };
        let beside = [beside_a, beside_b];
        let machine = beside.each_ref().map(|side| -> Column {
            side.iter().map(|it| it.as_ref().map(|yardsticks| fit.machine(yardsticks))).collect()
        });
        let columns = [0, 1].map(|side| -> Column {
            raw[side].iter().zip(&machine[side]).map(|(raw, machine)| Some((*raw)? - (*machine)?)).collect()
        });
        let [a, b] = columns.each_ref().map(there);
        let found = shift(&a, &b)?;
        // The error of the powers counts as far as the yardsticks themselves moved from A to B.
        let level = |side: &[Option<Vec<f64>>], kind: usize| {
            mean(&side.iter().flatten().map(|yardsticks| yardsticks[kind]).collect::<Vec<f64>>())
        };
        let kinds = 0..fit.powers.len();
        let moved: Vec<f64> = kinds.map(|kind| level(&beside[1], kind) - level(&beside[0], kind)).collect();
        let of_powers = fit.error(&moved) * alike(&regressions, &[&a, &b]).sqrt();
        let machine = machine.each_ref().map(there);
        let more = Z * of_powers.hypot(FORM * variance(&machine.each_ref().map(|it| &it[..])).sqrt());
        let low = found.estimate - (found.estimate - found.low).hypot(more);
        let high = found.estimate + (found.high - found.estimate).hypot(more);
        let found = Shift { low, high, ..found };
        let taken = (shift_of_raw.estimate - found.estimate).exp();
        let powers = self.yardsticks.iter().cloned().zip(fit.powers).collect();
        let explained = Explained { powers, left: fit.left, absolute: shift_of_raw.estimate.exp(), taken };
        (high - low < shift_of_raw.high - shift_of_raw.low).then_some((columns, found, explained))
    }

    /// The logarithms of all yardsticks in each epoch of these rows, in the places of a column; `None` if one of them is unknown.
    fn beside(
        &self,
        side: usize,
        results: &[(usize, &Measurement)],
        each: usize,
    ) -> Option<Vec<Option<Vec<f64>>>> {
        let mut column = Vec::new();
        for (run, result) in results {
            column.resize(column.len().max(run * each), None);
            for yardsticks in self.sides[side].get(*run)?.of_epochs(result.epochs.len())? {
                column.push(Some(yardsticks));
            }
        }
        Some(column)
    }
}

/// The values of the places that have one.
fn there(column: &Column) -> Vec<f64> {
    column.iter().copied().flatten().collect()
}

/// Largest ratio of a typical batch to the figure, which is the level of the fastest batches.
const TYPICAL: f64 = 1.5;

/// True if the regression was fitted to the same quantity as the figure. If single crossings are stamped in a longer batch, for
/// example after a sweep of the caches, the batch follows the yardsticks and the crossing need not.
fn is_of_the_figure(result: &Measurement) -> bool {
    let over = |epoch: &EpochFigure| Some((epoch.typical.as_ref()?.ns / epoch.ns).ln());
    let all: Vec<f64> = result.epochs.iter().filter_map(over).collect();
    median(&all).abs() <= TYPICAL.ln()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The variance around the mean of each side.
fn variance(sides: &[&[f64]; 2]) -> f64 {
    let squares = |values: &[f64]| values.iter().map(|x| (x - mean(values)).powi(2)).sum::<f64>();
    let count = sides.iter().map(|values| values.len()).sum::<usize>();
    sides.iter().map(|values| squares(values)).sum::<f64>() / count.max(1) as f64
}

/// The design effect: this many batches of an epoch count as one, because their residuals vary together.
fn alike(regressions: &[Regression], left: &[&[f64]; 2]) -> f64 {
    let batches = regressions.iter().map(|it| it.batches).sum::<u64>() as f64;
    let epochs = left.iter().map(|values| values.len()).sum::<usize>().max(1) as f64;
    let deviation = regressions.iter().map(|it| it.deviation.powi(2)).sum::<f64>() / regressions.len() as f64;
    (variance(left) * batches / epochs / deviation).max(1.0)
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

    /// The yardsticks of each epoch. `None` if the row has fewer epochs than the run, because nothing says which are missing, or
    /// if an epoch has no value of a yardstick.
    fn of_epochs(&self, epochs: usize) -> Option<Vec<Vec<f64>>> {
        let all = |epoch: usize| self.logs.iter().map(|logs| *logs.get(epoch)?).collect();
        let alike = self.logs.iter().all(|logs| logs.len() == epochs);
        (alike && !self.logs.is_empty()).then(|| (0..epochs).map(all).collect())?
    }
}

/// The place of a yardstick in a run.
fn place(run: &Run, name: &str) -> Option<usize> {
    run.yardsticks.iter().position(|it| it.name == name)
}

/// The newest runs of a series from which the powers are taken.
const MOST_RUNS: usize = 30;

/// For a probe that one run after another measured: the core cycles of each run, as they would be with the yardsticks of the
/// middle one of all. `None` if nothing explains what batches of a run differ by, or not every run has the
/// yardsticks.
pub(crate) fn without_machine(runs: &[&Run], results: &[&Measurement]) -> Option<Vec<f64>> {
    let first = runs.first()?;
    let one_kernel = runs.iter().all(|run| is_one_kernel(run, first));
    let names = first.yardsticks.iter().map(|it| &it.name);
    let names: Vec<&String> = names.filter(|name| one_kernel || *name != KERNEL_YARDSTICK).collect();
    let places = |run: &&Run| names.iter().map(|name| place(run, name)).collect::<Option<Vec<usize>>>();
    let places: Vec<Vec<usize>> = runs.iter().map(places).collect::<Option<_>>()?;
    let of_run = |(places, result): (&Vec<usize>, &&Measurement)| {
        result.regression.as_ref().filter(|_| is_of_the_figure(result))?.with(places)
    };
    let newest = places.len().saturating_sub(MOST_RUNS);
    let newest = places.iter().zip(results).skip(newest);
    let fit = Fit::of(&newest.map(of_run).collect::<Option<Vec<_>>>()?)?;
    let names: Vec<String> = names.into_iter().cloned().collect();
    let levels = |(run, result): (&&Run, &&Measurement)| {
        let yardsticks = OneRun::new(run, &names).of_epochs(result.epochs.len())?;
        let machine: Vec<f64> = yardsticks.iter().map(|it| fit.machine(it)).collect();
        let cycles = |epoch: &EpochFigure| Some((epoch.ns * epoch.core_hz? / 1e9).ln());
        let cycles: Vec<f64> = result.epochs.iter().map(cycles).collect::<Option<_>>()?;
        let left: Vec<f64> = cycles.iter().zip(&machine).map(|(cycles, machine)| cycles - machine).collect();
        (!left.is_empty()).then(|| [median(&left), median(&machine)])
    };
    let levels: Vec<[f64; 2]> = runs.iter().zip(results).map(levels).collect::<Option<_>>()?;
    let middle = median(&levels.iter().map(|[_, machine]| *machine).collect::<Vec<f64>>());
    Some(levels.iter().map(|[left, _]| (left + middle).exp()).collect())
}

/// Whether all facts are equal that the kernel's own code depends on.
fn is_one_kernel(a: &Run, b: &Run) -> bool {
    let of = |run: &Run| {
        let (cpu, kernel) = (&run.host.cpu, &run.host.kernel);
        (kernel.clone(), cpu.microcode.clone(), run.host.hypervisor.clone())
    };
    of(a) == of(b)
}
