//! Intervals that stay valid while one looks: confidence sequences (Howard, Ramdas, McAuliffe and Sekhon 2021).
//!
//! If `x` is symmetric around `d`, then `exp(l (x - d)) / cosh(l (x - d))` has the mean 1 for every `l`, because the values
//! at equal distances on both sides of `d` add up to 2. The product over independent values is a martingale that is
//! never negative, and so is a mixture over several `l`. By Ville's inequality it ever exceeds `1 / a` with a probability of
//! at most `a`, whenever one looks and whatever the tails of `x`: the `d` for which it has not done so are the interval.

/// Probability that the interval of a quantity ever misses it, over all looks.
pub const SEQUENCE_MISSES: f64 = 0.001;

/// The possible difference between two programs with the same code: their stacks begin at other addresses, because their
/// names have other lengths. It is added to half the width of every interval of pairs.
pub const LEAST_OF_PAIRS: f64 = 0.0002;

/// Powers of two that the mixture weighs alike, for `l`. The best `l` is about the distance over the variance: this
/// covers from values that vary by a tenth to those that vary by a ten-thousandth.
const POWERS: [i32; 11] = [3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13];

/// The interval of the center of values that are symmetric around it, after any number of them. `None` with so few
/// values that it has no end.
///
/// ```
/// use tollgate_judge::confidence_sequence;
/// let values: Vec<f64> = (0..40).map(|i| 0.03 + 0.001 * f64::from(i % 5 - 2)).collect();
/// let [low, high] = confidence_sequence(&values).unwrap();
/// assert!(0.028 < low && low < 0.03 && 0.03 < high && high < 0.032);
/// assert_eq!(confidence_sequence(&values[..10]), None);
/// ```
pub fn confidence_sequence(values: &[f64]) -> Option<[f64; 2]> {
    let mirrored: Vec<f64> = values.iter().map(|value| -value).collect();
    Some([lower(values)?, -lower(&mirrored)?])
}

/// Whether the values, logarithms of ratios, show by their [`confidence_sequence`] that the change is above the margin,
/// below it, or within it.
pub fn is_decided(values: &[f64], margin: f64) -> bool {
    let Some([low, high]) = confidence_sequence(values) else { return false };
    let (low, high, most) = (low - LEAST_OF_PAIRS, high + LEAST_OF_PAIRS, margin.ln_1p());
    low > most || high < -most || (low >= -most && high <= most)
}

/// The evidence that a center is too low, or too high, which the one that is right has with half of the probability.
fn enough() -> f64 {
    (2.0 / SEQUENCE_MISSES).ln()
}

/// The largest center that is too low.
fn lower(values: &[f64]) -> Option<f64> {
    let enough = enough();
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    // At the largest value all others speak against a higher center: the evidence is below 0.
    let mut plausible = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if !(least.is_finite() && plausible.is_finite()) || values.len() as f64 * 2.0_f64.ln() <= enough {
        return None;
    }
    // So far away all values are of one sign for every `l`, and each doubles the product.
    let mut too_low = least - 10.0;
    if evidence(values, too_low) < enough {
        return None;
    }
    for _ in 0..60 {
        let middle = f64::midpoint(too_low, plausible);
        if evidence(values, middle) >= enough { too_low = middle } else { plausible = middle }
    }
    Some(too_low)
}

/// The logarithm of the mixture for positive `l`: it falls with the center.
fn evidence(values: &[f64], center: f64) -> f64 {
    let mut evidence = Evidence::default();
    values.iter().for_each(|value| evidence.add(value - center));
    evidence.total()
}

/// That a center is too low: the logarithm of the product for each `l`.
#[derive(Default)]
struct Evidence([f64; POWERS.len()]);

impl Evidence {
    /// A value at this distance above the center.
    fn add(&mut self, distance: f64) {
        for (log, power) in self.0.iter_mut().zip(POWERS) {
            // exp(y) / cosh(y) = 2 / (1 + exp(-2 y))
            *log += 2.0_f64.ln() - (-2.0 * 2.0_f64.powi(power) * distance).exp().ln_1p();
        }
    }

    fn total(&self) -> f64 {
        let most = self.0.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        most + (self.0.iter().map(|log| (log - most).exp()).sum::<f64>() / self.0.len() as f64).ln()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    #[test]
    fn as_many_values_as_the_probability_needs() {
        // Each value of one sign doubles the product at most: 2^10 < 2 / 0.001 < 2^11.
        assert_eq!(confidence_sequence(&[0.01; 10]), None);
        assert!(confidence_sequence(&[0.01; 11]).is_some());
        assert_eq!(confidence_sequence(&[]), None);
        assert_eq!(confidence_sequence(&[f64::NAN; 20]), None);
    }

    #[test]
    fn one_power_by_hand() {
        // 20 values at 1 and a center at 0: for l = 8 and more each factor is 2 within 1e-6, for all powers alike.
        assert!((evidence(&[1.0; 20], 0.0) - 20.0 * 2.0_f64.ln()).abs() < 1e-4);
        // Symmetric values around the center: each pair gives 1 / cosh^2, which is below 1.
        assert!(evidence(&[-0.01, 0.01], 0.0) < 0.0);
    }

    #[test]
    fn what_is_above_below_and_within_is_decided() {
        let around =
            |center: f64| -> Vec<f64> { (0..40).map(|i| center + 0.001 * f64::from(i % 5 - 2)).collect() };
        // The interval of these is about 0.002 wide.
        for (center, decided) in [(0.1, true), (-0.1, true), (0.0, true), (0.03, false), (-0.03, false)] {
            assert_eq!(is_decided(&around(center), 0.03), decided, "{center}");
        }
        assert!(!is_decided(&[0.1; 10], 0.03), "too few");
    }

    #[test]
    fn it_moves_with_the_values() {
        let values: Vec<f64> = (0..30).map(|i| 0.002 * f64::from(i * 7 % 11 - 5)).collect();
        let moved: Vec<f64> = values.iter().map(|value| value + 0.5).collect();
        let [low, high] = confidence_sequence(&values).unwrap();
        let [low_moved, high_moved] = confidence_sequence(&moved).unwrap();
        assert!((low + 0.5 - low_moved).abs() < 1e-9 && (high + 0.5 - high_moved).abs() < 1e-9);
        assert!(low < 0.0 && 0.0 < high);
    }

    /// Values that are symmetric around 0, as the epochs of pairs are if A and B are the same.
    type Shape = fn(&mut ChaCha8Rng, usize) -> f64;

    fn normal(rng: &mut ChaCha8Rng) -> f64 {
        let (radius, angle): (f64, f64) = (rng.random(), rng.random());
        (-2.0 * (1.0 - radius).ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
    }

    const SHAPES: [(&str, Shape); 5] = [
        ("normal", |rng, _| 0.004 * normal(rng)),
        ("tails without a mean (Cauchy)", |rng, _| 0.002 * normal(rng) / normal(rng)),
        ("layouts 3 % apart", |rng, _| {
            let layout = |rng: &mut ChaCha8Rng| if rng.random::<f64>() < 0.3 { 0.03 } else { 0.0 };
            layout(rng) - layout(rng) + 0.001 * normal(rng)
        }),
        ("an epoch in ten meets a jump of 20 %", |rng, _| {
            let jump = if rng.random::<f64>() < 0.1 { 0.2 * (rng.random::<f64>() - 0.5) } else { 0.0 };
            jump + 0.003 * normal(rng)
        }),
        ("noise that grows", |rng, epoch| 0.0005 * (1.0 + epoch as f64) * normal(rng)),
    ];

    /// The number of series that ever miss their center, if each is looked at after each of its values.
    fn misses(shape: Shape, runs: usize, outside: impl Fn(&Evidence, &Evidence, &[f64]) -> bool) -> usize {
        let mut rng = ChaCha8Rng::seed_from_u64(20_261_123);
        (0..runs)
            .filter(|_| {
                let (mut low, mut high, mut values) = (Evidence::default(), Evidence::default(), Vec::new());
                let mut missed = false;
                for epoch in 0..100 {
                    values.push(shape(&mut rng, epoch));
                    low.add(values[epoch]);
                    high.add(-values[epoch]);
                    missed |= outside(&low, &high, &values);
                }
                missed
            })
            .count()
    }

    /// One in a thousand is promised: 20 of 10,000 would be three standard deviations above.
    #[test]
    fn looking_after_each_value_misses_as_rarely_as_promised() {
        let runs = if tollgate_testkit::fast() { 500 } else { 2_000 };
        let of =
            |shape| misses(shape, runs, |low, high, _| low.total() >= enough() || high.total() >= enough());
        let found = SHAPES.map(|(name, shape)| (name, of(shape)));
        let all: usize = found.iter().map(|(_, misses)| misses).sum();
        assert!(all < 20, "{found:?} of {runs} each");
        // An interval for one look at the end is wrong far more often: that is what the sequence is for.
        let student = |_: &Evidence, _: &Evidence, values: &[f64]| {
            let n = values.len() as f64;
            let (sum, squares) = values.iter().fold((0.0, 0.0), |(sum, all), it| (sum + it, all + it * it));
            let error = ((squares - sum * sum / n) / (n * (n - 1.0).max(1.0))).sqrt();
            n >= 11.0 && (sum / n).abs() > 3.29 * error
        };
        let naive = misses(SHAPES[0].1, runs, student);
        assert!(naive * 1_000 > 10 * runs, "{naive} of {runs}");
    }

    #[test]
    fn a_center_is_outside_if_and_only_if_there_is_evidence() {
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        for _ in 0..20 {
            let values: Vec<f64> = (0..30).map(|_| 0.01 * normal(&mut rng)).collect();
            let [low, high] = confidence_sequence(&values).unwrap();
            assert!(evidence(&values, low) >= enough() && evidence(&values, low + 1e-9) < enough());
            let mirrored: Vec<f64> = values.iter().map(|value| -value).collect();
            assert!(evidence(&mirrored, -high) >= enough() && evidence(&mirrored, -high + 1e-9) < enough());
        }
    }
}
