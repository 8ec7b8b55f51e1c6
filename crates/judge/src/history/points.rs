//! Where a series of figures changed its level: E-divisive, the hierarchical division of Matteson and James 2014
//! ("A nonparametric approach for multiple change point analysis of multivariate data", JASA 109:505) with the
//! energy distance of exponent 1 and a permutation test for each division.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

/// Fewest runs between two changes.
const FEWEST: usize = 3;
/// Orders that a division is held against.
const ORDERS: u32 = 499;
/// The largest chance of a change point.
const CHANCE: f64 = 0.01;
/// Changes of the median below this, in logarithms, are not told of.
const SMALLEST: f64 = 0.01;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Division {
    /// Place of the first value after it.
    pub(super) at: usize,
    /// The chance of one as strong in values that come in any order.
    pub(super) chance: f64,
}

/// The changes of a series of logarithms, in order.
pub(super) fn changes(values: &[f64]) -> Vec<Division> {
    let mut found = Vec::new();
    let mut rng = ChaCha8Rng::seed_from_u64(u64::from(ORDERS));
    let mut parts = vec![(0, values.len())];
    while let Some((from, to)) = parts.pop() {
        let part = &values[from..to];
        let Some((at, strength)) = strongest(part) else { continue };
        let mut mixed = part.to_vec();
        let as_strong = (0..ORDERS)
            .filter(|_| {
                mixed.shuffle(&mut rng);
                strongest(&mixed).is_some_and(|(_, other)| other >= strength * (1.0 - 1e-9))
            })
            .count();
        let chance = (as_strong + 1) as f64 / f64::from(ORDERS + 1);
        let step = super::median(&part[at..]) - super::median(&part[..at]);
        if chance > CHANCE || step.abs() < SMALLEST {
            continue;
        }
        found.push(Division { at: from + at, chance });
        parts.extend([(from, from + at), (from + at, to)]);
    }
    found.sort_by_key(|division| division.at);
    found
}

/// The division at which the energy distance of the two sides, weighted by their lengths, is greatest. `None` when
/// the series is too short.
fn strongest(values: &[f64]) -> Option<(usize, f64)> {
    let n = values.len();
    if n < 2 * FEWEST {
        return None;
    }
    // Sums of all distances within the first values, within the last, and between the two, as the border moves.
    let distance = |i: usize, j: usize| (values[i] - values[j]).abs();
    let (mut before, mut between) = (0.0, 0.0);
    let mut after: f64 = (0..n).map(|i| (0..i).map(|j| distance(i, j)).sum::<f64>()).sum();
    let mut best: Option<(usize, f64)> = None;
    for border in 1..=n - FEWEST {
        let moved = border - 1;
        let to_before: f64 = (0..moved).map(|j| distance(moved, j)).sum();
        let to_after: f64 = (border..n).map(|j| distance(moved, j)).sum();
        before += to_before;
        after -= to_after;
        between += to_after - to_before;
        if border < FEWEST {
            continue;
        }
        let (m, k) = (border as f64, (n - border) as f64);
        let energy = 2.0 * between / (m * k) - 2.0 * before / (m * (m - 1.0)) - 2.0 * after / (k * (k - 1.0));
        let strength = m * k / (m + k) * energy;
        if strength > 0.0 && best.is_none_or(|(_, other)| strength > other) {
            best = Some((border, strength));
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::RngExt;

    /// The sum of twelve uniform values: nearly normal, variance 1.
    fn noise(rng: &mut ChaCha8Rng) -> f64 {
        (0..12).map(|_| rng.random::<f64>()).sum::<f64>() - 6.0
    }

    #[test]
    fn the_energy_by_hand() {
        // Two values on each level: within 0, between 4 each, 2 x 4 = 8, weighted by 9 / 6.
        assert_eq!(strongest(&[1.0, 1.0, 1.0, 5.0, 5.0, 5.0]), Some((3, 12.0)));
        assert_eq!(strongest(&[1.0; 5]), None);
        assert_eq!(strongest(&[1.0; 6]), None);
    }

    #[test]
    fn levels_are_found_where_they_change() {
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        let found = (0..50)
            .filter(|_| {
                let level = |i: usize| {
                    if i < 12 {
                        0.0
                    } else if i < 22 {
                        0.03
                    } else {
                        -0.02
                    }
                };
                let values: Vec<f64> = (0..36).map(|i| level(i) + 0.004 * noise(&mut rng)).collect();
                let at: Vec<usize> = changes(&values).iter().map(|change| change.at).collect();
                at == [12, 22]
            })
            .count();
        assert!(found >= 45, "{found} of 50");
    }

    #[test]
    fn a_level_that_stays_has_no_change() {
        let mut rng = ChaCha8Rng::seed_from_u64(4);
        let alarms = (0..200)
            .filter(|_| {
                let values: Vec<f64> = (0..30).map(|_| 0.02 * noise(&mut rng)).collect();
                !changes(&values).is_empty()
            })
            .count();
        assert!(alarms <= 7, "{alarms} of 200 at a level of 1 %");
    }
}
