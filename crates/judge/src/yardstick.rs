//! How much of what happened to the yardsticks happened to a probe as well: a linear regression over its batches.
//!
//! Sources: Huber 1973 (robust regression), Hoerl and Kennard 1970 (the ridge).

use tollgate_record::Regression;

/// So much of what batches differ by must be left at the most for the yardsticks to explain a probe.
const MOST_LEFT: f64 = 0.9;
/// A residual beyond so many standard deviations weighs no more than one there. It is small, because on a machine with neighbors
/// many batches are disturbed, and all to the same side.
const CUT: f64 = 1.0;
/// Steps of reweighting; the weights no longer change by then.
const STEPS: usize = 15;
/// Variance of a yardstick, of its logarithm, below which it says little: one per cent, squared.
const LEAST_VARIANCE: f64 = 1e-4;
/// The same while the weights are found: it only makes still yardsticks solvable. A larger one would leave a part of what the
/// yardsticks explain in the residuals, and these batches would lose their weight.
const LEAST_VARIANCE_OF_WEIGHTS: f64 = 1e-9;
/// The least deviation of a batch, so that figures of a clock with large steps do not weigh infinitely.
const LEAST_DEVIATION: f64 = 1e-5;
/// The least number of batches of a regression.
const FEWEST: usize = 24;
/// The standard deviation of a normal distribution over the median of its absolute values.
const NORMAL: f64 = 1.482_602_218_505_602;

/// The logarithms of a batch and of the yardsticks beside it.
#[derive(Clone, Debug)]
pub struct BatchBeside {
    /// Of the time of a crossing.
    pub probe: f64,
    /// Of each yardstick.
    pub yardsticks: Vec<f64>,
}

impl BatchBeside {
    fn is_usable(&self, yardsticks: usize) -> bool {
        self.probe.is_finite()
            && self.yardsticks.len() == yardsticks
            && self.yardsticks.iter().all(|it| it.is_finite())
    }
}

/// Means with weights, and what they belong to.
struct Center {
    probe: f64,
    yardsticks: Vec<f64>,
}

impl Center {
    fn of<'b>(batches: impl Iterator<Item = (&'b BatchBeside, f64)>, yardsticks: usize) -> Option<Self> {
        let (mut all, mut center) = (0.0, Self { probe: 0.0, yardsticks: vec![0.0; yardsticks] });
        for (batch, weight) in batches {
            all += weight;
            center.probe += weight * batch.probe;
            center.yardsticks.iter_mut().zip(&batch.yardsticks).for_each(|(sum, it)| *sum += weight * it);
        }
        center.probe /= all;
        center.yardsticks.iter_mut().for_each(|sum| *sum /= all);
        (all > 0.0).then_some(center)
    }
}

/// The regression of the batches of a run by epoch, each with so many yardsticks, and the typical batch of each epoch as
/// logarithms; batches that have not all of them are left out. `None` with too few batches.
pub fn regression(
    epochs: &[Vec<BatchBeside>],
    yardsticks: usize,
) -> Option<(Regression, Vec<Option<BatchBeside>>)> {
    let all: Vec<(usize, &BatchBeside)> = epochs
        .iter()
        .enumerate()
        .flat_map(|(at, epoch)| epoch.iter().map(move |batch| (at, batch)))
        .filter(|(_, batch)| batch.is_usable(yardsticks))
        .collect();
    if all.len() < FEWEST || yardsticks == 0 {
        return None;
    }
    let mut weights = vec![1.0; all.len()];
    let mut found = weighted(&all, &weights, yardsticks)?;
    for _ in 0..STEPS {
        let powers = Fit::of_sums(&[&found], LEAST_VARIANCE_OF_WEIGHTS)?.powers;
        let mut left: Vec<f64> =
            all.iter().map(|(_, batch)| batch.probe - dot(&powers, &batch.yardsticks)).collect();
        let center = left.iter().zip(&weights).map(|(it, weight)| it * weight).sum::<f64>()
            / weights.iter().sum::<f64>();
        left.iter_mut().for_each(|it| *it = (*it - center).abs());
        let mut ascending = left.clone();
        ascending.sort_by(f64::total_cmp);
        let deviation = (NORMAL * ascending[ascending.len() / 2]).max(LEAST_DEVIATION);
        weights = left.iter().map(|it| (CUT * deviation / it).min(1.0)).collect();
        found = Regression { deviation, ..weighted(&all, &weights, yardsticks)? };
    }
    let typical = |epoch: usize| {
        let of_epoch = all.iter().zip(&weights).filter(|((at, _), _)| *at == epoch);
        let Center { probe, yardsticks } =
            Center::of(of_epoch.map(|((_, batch), weight)| (*batch, *weight)), yardsticks)?;
        Some(BatchBeside { probe, yardsticks })
    };
    Some((found, (0..epochs.len()).map(typical).collect()))
}

fn weighted(all: &[(usize, &BatchBeside)], weights: &[f64], yardsticks: usize) -> Option<Regression> {
    let weighted = || all.iter().zip(weights).map(|((_, batch), weight)| (*batch, *weight));
    let center = Center::of(weighted(), yardsticks)?;
    let mut sums = Regression {
        batches: all.len() as u64,
        deviation: 1.0,
        squares: vec![vec![0.0; yardsticks]; yardsticks],
        products: vec![0.0; yardsticks],
        square: 0.0,
    };
    for (batch, weight) in weighted() {
        let y = batch.probe - center.probe;
        let x: Vec<f64> =
            batch.yardsticks.iter().zip(&center.yardsticks).map(|(it, mean)| it - mean).collect();
        sums.square += weight * y * y;
        for (row, one) in x.iter().enumerate() {
            sums.products[row] += weight * one * y;
            sums.squares[row].iter_mut().zip(&x).for_each(|(sum, other)| *sum += weight * one * other);
        }
    }
    Some(sums)
}

/// The powers of the yardsticks that a probe follows, in the runs that they were found in.
#[derive(Clone, Debug, PartialEq)]
pub struct Fit {
    /// Change of the logarithm of the probe for each change of that of a yardstick, the others staying as they are.
    pub powers: Vec<f64>,
    /// The share of a batch's standard deviation that remains without them.
    pub left: f64,
    /// Their covariance, if batches were independent.
    covariance: Vec<Vec<f64>>,
}

impl Fit {
    /// The least-squares fit over the batches of several runs, each run with the weight of its deviation; a yardstick that
    /// hardly moved is not followed far (a ridge). `None` if the yardsticks do not explain the probe.
    pub fn of(runs: &[Regression]) -> Option<Self> {
        let runs: Vec<&Regression> = runs.iter().collect();
        Self::of_sums(&runs, LEAST_VARIANCE).filter(|fit| fit.left <= MOST_LEFT)
    }

    fn of_sums(runs: &[&Regression], least_variance: f64) -> Option<Self> {
        let count = runs.first()?.products.len();
        let is_square = |run: &&Regression| {
            run.products.len() == count
                && run.squares.len() == count
                && run.squares.iter().all(|row| row.len() == count)
        };
        if !runs.iter().all(is_square) {
            return None;
        }
        let (mut squares, mut products, mut square) = (vec![vec![0.0; count]; count], vec![0.0; count], 0.0);
        let add = |sums: &mut Vec<f64>, values: &[f64], weight: f64| {
            sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += weight * value);
        };
        for run in runs {
            let weight = run.deviation.powi(-2);
            square += weight * run.square;
            add(&mut products, &run.products, weight);
            squares.iter_mut().zip(&run.squares).for_each(|(sums, row)| add(sums, row, weight));
        }
        let ridge: f64 =
            runs.iter().map(|run| least_variance * run.batches as f64 * run.deviation.powi(-2)).sum();
        let mut with_ridge = squares.clone();
        (0..count).for_each(|place| with_ridge[place][place] += ridge);
        let covariance = inverse(with_ridge)?;
        let powers: Vec<f64> = covariance.iter().map(|row| dot(row, &products)).collect();
        let of_squares: Vec<f64> = squares.iter().map(|row| dot(row, &powers)).collect();
        let explained = 2.0 * dot(&powers, &products) - dot(&powers, &of_squares);
        let left = (1.0 - explained / square).max(0.0).sqrt();
        let is_finite = left.is_finite() && powers.iter().all(|power| power.is_finite());
        is_finite.then_some(Self { powers, left, covariance })
    }

    /// The logarithm of the machine's effect on the probe, from the logarithms of the yardsticks.
    pub fn machine(&self, yardsticks: &[f64]) -> f64 {
        dot(&self.powers, yardsticks)
    }

    /// Standard error of [`Self::machine`] for yardsticks that moved by these logarithms, if batches were independent.
    pub fn error(&self, moved: &[f64]) -> f64 {
        let of_row = |row: &Vec<f64>| dot(row, moved);
        let rows: Vec<f64> = self.covariance.iter().map(of_row).collect();
        dot(&rows, moved).max(0.0).sqrt()
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// The inverse of a symmetric positive definite matrix, by Gauss and Jordan's elimination: its pivots are positive in any order.
fn inverse(mut matrix: Vec<Vec<f64>>) -> Option<Vec<Vec<f64>>> {
    let count = matrix.len();
    let mut inverse: Vec<Vec<f64>> =
        (0..count).map(|row| (0..count).map(|column| f64::from(u8::from(row == column))).collect()).collect();
    for place in 0..count {
        let pivot = matrix[place][place];
        if pivot <= 0.0 || !pivot.is_finite() {
            return None;
        }
        for rows in [&mut matrix, &mut inverse] {
            rows[place].iter_mut().for_each(|it| *it /= pivot);
        }
        for row in (0..count).filter(|row| *row != place) {
            let times = matrix[row][place];
            for rows in [&mut matrix, &mut inverse] {
                let of_pivot = rows[place].clone();
                rows[row].iter_mut().zip(of_pivot).for_each(|(it, of_pivot)| *it -= times * of_pivot);
            }
        }
    }
    Some(inverse)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Batches that follow two yardsticks with these powers; noise of the same size on both sides.
    fn run(powers: [f64; 2], levels: [f64; 3]) -> Vec<Vec<BatchBeside>> {
        let batch = |at: usize| {
            let x = [(at % 5) as f64 * 0.05, (at % 3) as f64 * 0.1];
            let noise = [0.002, -0.002, -0.002, 0.002][at / 15 % 4];
            let yardsticks = vec![levels[1] + x[0], levels[2] + x[1]];
            BatchBeside { probe: levels[0] + powers[0] * x[0] + powers[1] * x[1] + noise, yardsticks }
        };
        (0..6).map(|epoch| (0..10).map(|at| batch(epoch * 10 + at)).collect()).collect()
    }

    fn fit(runs: &[Vec<Vec<BatchBeside>>]) -> Option<Fit> {
        let runs: Vec<Regression> = runs.iter().map(|run| regression(run, 2).unwrap().0).collect();
        Fit::of(&runs)
    }

    #[test]
    fn an_inverse_by_hand() {
        let found = inverse(vec![vec![4.0, 2.0], vec![2.0, 3.0]]).unwrap();
        assert_eq!(found, [[0.375, -0.25], [-0.25, 0.5]]);
        assert_eq!(inverse(vec![vec![1.0, 1.0], vec![1.0, 1.0]]), None);
    }

    #[test]
    fn powers_are_found_within_runs_and_not_between_them() {
        let (a, b) = (run([0.5, 0.8], [7.0, 1.0, 2.0]), run([0.5, 0.8], [10.0, 2.0, 2.5]));
        for runs in [vec![a.clone()], vec![a, b]] {
            let found = fit(&runs).unwrap();
            let [one, other] = found.powers[..] else { panic!("{found:?}") };
            assert!((one - 0.5).abs() < 0.02 && (other - 0.8).abs() < 0.02 && found.left < 0.1, "{found:?}");
            // The deviation is 0.002, and 60 batches have a standard deviation of 0.07 of the first yardstick.
            let expected = 0.002 * NORMAL / (0.0707 * (60.0 * runs.len() as f64).sqrt());
            assert!((found.error(&[1.0, 0.0]) / expected - 1.0).abs() < 0.2, "{}", found.error(&[1.0, 0.0]));
            assert!((found.machine(&[0.2, 0.1]) - 0.18).abs() < 0.01);
        }
    }

    #[test]
    fn a_batch_far_away_does_not_move_the_others() {
        let calm = run([0.5, 0.8], [7.0, 1.0, 2.0]);
        let mut disturbed = calm.clone();
        for (epoch, far) in disturbed.iter_mut().zip([1.0, 2.0, 0.5, 3.0, 1.0, 2.0]) {
            epoch[4].probe += far;
        }
        let [(_, of_calm), (sums, of_disturbed)] = [calm, disturbed].map(|run| regression(&run, 2).unwrap());
        let fit = Fit::of(&[sums]).unwrap();
        // The ridge takes 1e-4 of a variance of 0.0067.
        assert!((fit.powers[1] - 0.8).abs() < 0.03, "{fit:?}");
        let left =
            |batch: Option<BatchBeside>| batch.map(|it| it.probe - fit.machine(&it.yardsticks)).unwrap();
        for (calm, disturbed) in of_calm.into_iter().zip(of_disturbed) {
            assert!((left(calm) - left(disturbed)).abs() < 0.001);
        }
    }

    #[test]
    fn what_does_not_explain_is_not_used() {
        assert!(fit(&[run([0.0, 0.0], [7.0, 1.0, 2.0])]).is_none(), "the probe does not follow");
        let mut still = run([0.5, 0.8], [7.0, 1.0, 2.0]);
        for batch in still.iter_mut().flatten() {
            batch.yardsticks = vec![1.0, 2.0];
        }
        assert!(fit(&[still]).is_none(), "nothing moved");
        let mut few = run([0.5, 0.8], [7.0, 1.0, 2.0]);
        few.truncate(2);
        assert!(regression(&few, 2).is_none(), "twenty batches");
        assert_eq!(Fit::of(&[]), None);
    }

    #[test]
    fn batches_without_all_yardsticks_are_left_out() {
        let mut some = run([0.5, 0.8], [7.0, 1.0, 2.0]);
        some[0][0].yardsticks.pop();
        some[1][3].probe = f64::NEG_INFINITY;
        some[2].clear();
        let (sums, typical) = regression(&some, 2).unwrap();
        assert_eq!(sums.batches, 48);
        assert_eq!(
            typical.iter().map(Option::is_some).collect::<Vec<_>>(),
            [true, true, false, true, true, true]
        );
    }

    #[test]
    fn fewer_yardsticks_are_those_rows_and_columns() {
        let (sums, _) = regression(&run([0.5, 0.8], [7.0, 1.0, 2.0]), 2).unwrap();
        let one = sums.with(&[1]).unwrap();
        assert_eq!(
            (one.squares.as_slice(), one.products.as_slice()),
            (&[vec![sums.squares[1][1]]][..], &[sums.products[1]][..])
        );
        assert_eq!(sums.with(&[2]), None);
    }
}
