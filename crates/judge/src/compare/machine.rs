//! What the machine did to separate runs, as the yardsticks show it: work that is the same in every run of one host.

use crate::stats::{Column, Shift, Z, median, shift};
use crate::yardstick::{BatchBeside, Fit};
use serde::Serialize;
use std::collections::BTreeMap;
use tollgate_record::{EpochFigure, KERNEL_YARDSTICK, Measurement, Regression, Run};

/// What happens to a probe need not be a power of what happens to the work (a call that takes a fixed time longer is not), and
/// it happens in more places than the work shows. This share of what was taken out is a standard error.
const FORM: f64 = 0.2;

/// The yardsticks that were taken out of a row, and what the row would be without them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Explained {
    /// For each yardstick, by its name in the runs, the power of it that the probe follows in both.
    pub powers: BTreeMap<String, f64>,
    /// What is left of what the batches of a run differ by, as a share.
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

    /// The columns without what the yardsticks explain, and the shift of what is left; `None` if without them the shift is known
    /// as well. `each` is the number of places of a run in a column.
    pub(super) fn explain(
        &self,
        results: [&[(usize, &Measurement)]; 2],
        raw: Shift,
        each: usize,
    ) -> Option<([Column; 2], Shift, Explained)> {
        let places = |side: usize, run: usize| Some(&self.sides[side].get(run)?.places[..]);
        let regressions = (0..2).flat_map(|side| results[side].iter().map(move |it| (side, it)));
        let regressions: Vec<Regression> = regressions
            .map(|(side, (run, result))| result.regression.as_ref()?.with(places(side, *run)?))
            .collect::<Option<_>>()?;
        let fit = Fit::of(&regressions)?;
        let typical = [0, 1].map(|side| {
            let mut column = Vec::new();
            for (run, result) in results[side] {
                column.resize(column.len().max(run * each), None);
                column.extend(result.epochs.iter().map(|epoch| typical(epoch, places(side, *run)?)));
            }
            column
        });
        let columns = typical.each_ref().map(|side| -> Column {
            side.iter().map(|it| it.as_ref().map(|it| it.probe - fit.machine(&it.yardsticks))).collect()
        });
        let [a, b] = columns.each_ref().map(|column| column.iter().copied().flatten().collect::<Vec<f64>>());
        let found = shift(&a, &b)?;
        let machine = typical.each_ref().map(|side| -> Vec<f64> {
            side.iter().flatten().map(|it| fit.machine(&it.yardsticks)).collect()
        });
        // The error of the powers counts as far as the yardsticks themselves moved from A to B.
        let level = |side: &[Option<BatchBeside>], kind: usize| {
            mean(&side.iter().flatten().map(|it| it.yardsticks[kind]).collect::<Vec<f64>>())
        };
        let kinds = 0..fit.powers.len();
        let moved: Vec<f64> = kinds.map(|kind| level(&typical[1], kind) - level(&typical[0], kind)).collect();
        let of_powers = fit.error(&moved) * alike(&regressions, &[&a, &b]).sqrt();
        let more = Z * of_powers.hypot(FORM * variance(&machine.each_ref().map(|it| &it[..])).sqrt());
        let low = found.estimate - (found.estimate - found.low).hypot(more);
        let high = found.estimate + (found.high - found.estimate).hypot(more);
        let found = Shift { low, high, ..found };
        let powers = self.yardsticks.iter().cloned().zip(fit.powers).collect();
        let explained = Explained { powers, left: fit.left, absolute: raw.estimate.exp() };
        (high - low < raw.high - raw.low).then_some((columns, found, explained))
    }
}

/// A typical batch of a process and the yardsticks at these places beside it, as logarithms of core cycles.
fn typical(epoch: &EpochFigure, places: &[usize]) -> Option<BatchBeside> {
    let found = epoch.typical.as_ref()?;
    let hz = epoch.core_hz?;
    let log = |ns: f64| Some((ns * hz / 1e9).ln()).filter(|log| log.is_finite());
    let yardsticks = places.iter().map(|place| log(*found.yardsticks.get(*place)?)).collect::<Option<_>>()?;
    Some(BatchBeside { probe: log(found.ns)?, yardsticks })
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

/// So many batches of an epoch tell no more than one, because what is left of them varies together: the design effect.
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
}

/// The place of a yardstick in a run.
fn place(run: &Run, name: &str) -> Option<usize> {
    run.yardsticks.iter().position(|it| it.name == name)
}

/// The newest runs of a series from which the powers are taken.
const MOST_RUNS: usize = 30;

/// For a probe that one run after another measured: the core cycles of a typical batch of each run, as they would be with the
/// yardsticks of the middle one of all. `None` if nothing explains what batches of a run differ by, or not every run has the
/// yardsticks.
pub(crate) fn without_machine(runs: &[&Run], results: &[&Measurement]) -> Option<Vec<f64>> {
    let first = runs.first()?;
    let one_kernel = runs.iter().all(|run| is_one_kernel(run, first));
    let names = first.yardsticks.iter().map(|it| &it.name);
    let names: Vec<&String> = names.filter(|name| one_kernel || *name != KERNEL_YARDSTICK).collect();
    let places = |run: &&Run| names.iter().map(|name| place(run, name)).collect::<Option<Vec<usize>>>();
    let places: Vec<Vec<usize>> = runs.iter().map(places).collect::<Option<_>>()?;
    let of_run = |(places, result): (&Vec<usize>, &&Measurement)| result.regression.as_ref()?.with(places);
    let newest = places.len().saturating_sub(MOST_RUNS);
    let newest = places.iter().zip(results).skip(newest);
    let fit = Fit::of(&newest.map(of_run).collect::<Option<Vec<_>>>()?)?;
    let levels = |(places, result): (&Vec<usize>, &&Measurement)| {
        let epochs: Vec<BatchBeside> =
            result.epochs.iter().filter_map(|epoch| typical(epoch, places)).collect();
        let machine = |it: &BatchBeside| fit.machine(&it.yardsticks);
        let left = epochs.iter().map(|it| it.probe - machine(it)).collect::<Vec<f64>>();
        let machine = epochs.iter().map(machine).collect::<Vec<f64>>();
        (!epochs.is_empty()).then(|| [median(&left), median(&machine)])
    };
    let levels: Vec<[f64; 2]> = places.iter().zip(results).map(levels).collect::<Option<_>>()?;
    let middle = median(&levels.iter().map(|[_, machine]| *machine).collect::<Vec<f64>>());
    Some(levels.iter().map(|[left, _]| (left + middle).exp()).collect())
}

/// Whether nothing is different that the kernel's own code depends on.
fn is_one_kernel(a: &Run, b: &Run) -> bool {
    let of = |run: &Run| {
        let (cpu, kernel) = (&run.host.cpu, &run.host.kernel);
        (kernel.clone(), cpu.microcode.clone(), run.host.hypervisor.clone())
    };
    of(a) == of(b)
}
