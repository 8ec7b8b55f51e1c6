//! From numbers to places: a scale maps its domain to the shares 0 to 1 of a length.

use super::Unit;

/// From numbers to shares of a length.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Scale {
    pub(crate) low: f64,
    pub(crate) high: f64,
    /// Whether equal steps are equal ratios; both ends are above zero then.
    is_log: bool,
}

/// One tick of an axis.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tick {
    /// Share of the length.
    pub(crate) at: f64,
    /// The text beside it.
    pub(crate) label: String,
    /// Whether it stays where there is little room.
    pub(crate) major: bool,
}

impl Scale {
    /// A linear scale from zero, or below where numbers are, to a round number beyond the largest. Numbers
    /// that are not finite do not count.
    pub(crate) fn linear(numbers: impl IntoIterator<Item = f64>) -> Self {
        let (mut low, mut high) = around_zero(numbers);
        if low == high {
            high = low + 1.0;
        }
        let step = step(high - low, 5);
        // Where doubles end the ends stay as they are.
        let (round_low, round_high) = ((low / step).floor() * step, (high / step).ceil() * step);
        if (round_high - round_low).is_finite() && round_high > round_low {
            (low, high) = (round_low, round_high);
        }
        Self { low, high, is_log: false }
    }

    /// A linear scale between just these ends.
    pub(crate) fn between(low: f64, high: f64) -> Self {
        let fits = low.is_finite() && high.is_finite() && high > low && (high - low).is_finite();
        if fits { Self { low, high, is_log: false } } else { Self::linear([low, high]) }
    }

    /// A logarithmic scale over whole decades around the numbers above zero; the others have no place on it.
    pub(crate) fn decades(numbers: impl IntoIterator<Item = f64>) -> Self {
        let (low, high) = positive(numbers);
        let (low, mut high) = (low.log10().floor(), high.log10().ceil());
        if high <= low {
            high = low + 1.0;
        }
        Self { low: 10f64.powf(low), high: 10f64.powf(high).min(f64::MAX), is_log: true }
    }

    /// A logarithmic scale that begins and ends at 1, 2 or 5 times a power of ten.
    pub(crate) fn log(numbers: impl IntoIterator<Item = f64>) -> Self {
        let (low, high) = positive(numbers);
        let (mut below, mut above) = (round_below(low), round_above(high));
        if above <= below {
            (below, above) = (below / 2.0, above * 2.0);
        }
        Self { low: below, high: above.min(f64::MAX), is_log: true }
    }

    /// A logarithmic scale between just these ends: footprints, which go by powers of two.
    pub(crate) fn log_between(low: f64, high: f64) -> Self {
        let fits = low > 0.0 && high > low && high.is_finite();
        if fits { Self { low, high, is_log: true } } else { Self::log([low, high]) }
    }

    /// Logarithmic where the numbers are all above zero and go over more than a factor of `ratio`.
    pub(crate) fn suited(numbers: &[f64], ratio: f64) -> Self {
        let finite = || numbers.iter().copied().filter(|number| number.is_finite());
        let (low, high) = extent(finite());
        if low > 0.0 && high / low > ratio { Self::log(finite()) } else { Self::linear(finite()) }
    }

    /// The place of a number, 0 to 1; `None` for what is not finite, what is not above zero on a logarithmic
    /// scale, and what is outside.
    pub(crate) fn at(&self, number: f64) -> Option<f64> {
        let Self { low, high, is_log } = *self;
        let share = match is_log {
            true if number.is_nan() || number <= 0.0 => return None,
            true => (number / low).ln() / (high / low).ln(),
            false => (number - low) / (high - low),
        };
        // What rounding pushed over an end is at the end.
        (share.is_finite() && (-1e-6..=1.000_001).contains(&share)).then(|| share.clamp(0.0, 1.0))
    }

    /// The place of a number, at the nearer end when it has none: for the ends of an interval.
    pub(crate) fn near(&self, number: f64) -> f64 {
        self.at(number).unwrap_or(if number > self.low { 1.0 } else { 0.0 })
    }

    /// Ticks with their labels.
    pub(crate) fn ticks(&self, unit: &Unit) -> Vec<Tick> {
        let Self { low, high, is_log } = *self;
        let numbers = match is_log {
            false => linear_ticks(low, high, unit),
            true if *unit == Unit::Bytes => powers_of_two(low, high),
            true => log_ticks(low, high),
        };
        let tick = |(number, major): (f64, bool)| {
            Some(Tick { at: self.at(number)?, label: unit.tick(number), major })
        };
        numbers.into_iter().filter_map(tick).collect()
    }
}

/// The smallest and the largest of some numbers; infinity and its opposite for none.
pub(crate) fn extent(numbers: impl IntoIterator<Item = f64>) -> (f64, f64) {
    numbers.into_iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)))
}

/// The smallest and the largest of zero and the finite numbers.
fn around_zero(numbers: impl IntoIterator<Item = f64>) -> (f64, f64) {
    extent(numbers.into_iter().filter(|number| number.is_finite()).chain([0.0]))
}

/// The smallest and largest number above zero; 1 and 1 when there is none.
fn positive(numbers: impl IntoIterator<Item = f64>) -> (f64, f64) {
    // The smallest normal number, so that no end of a scale is below what divides.
    let usable = numbers.into_iter().filter(|number| number.is_finite() && *number >= 1e-300);
    let (low, high) = extent(usable);
    if low > high { (1.0, 1.0) } else { (low.min(1e300), high.min(1e300)) }
}

fn round_below(number: f64) -> f64 {
    let power = 10f64.powf(number.log10().floor());
    [5.0, 2.0, 1.0].into_iter().map(|m| m * power).find(|x| *x <= number * 1.000_001).unwrap_or(power)
}

fn round_above(number: f64) -> f64 {
    let power = 10f64.powf(number.log10().floor());
    [1.0, 2.0, 5.0].into_iter().map(|m| m * power).find(|x| *x >= number * 0.999_999).unwrap_or(10.0 * power)
}

/// 1, 2 or 5 times a power of ten, so that a length has at most about `most` steps.
fn step(length: f64, most: u32) -> f64 {
    let rough = length / f64::from(most);
    if !rough.is_finite() || rough <= 0.0 {
        return if length > 0.0 { f64::MAX / 4.0 } else { 1.0 };
    }
    round_above(rough)
}

fn linear_ticks(low: f64, high: f64, unit: &Unit) -> Vec<(f64, bool)> {
    let step = match unit {
        // Round in its own base.
        Unit::Bytes => 2f64.powf(((high - low) / 5.0).log2().ceil()),
        _ => step(high - low, 5),
    };
    let first = (low / step).ceil();
    (0..12)
        .map(|i| ((first + f64::from(i)) * step, i % 2 == 0))
        .take_while(|(x, _)| *x <= high + step * 1e-6)
        .collect()
}

fn log_ticks(low: f64, high: f64) -> Vec<(f64, bool)> {
    let (first, last) = (low.log10().floor() as i32, high.log10().ceil() as i32);
    let decades = last - first;
    // Many decades: every so many has a label, of which every other one stays on a phone.
    let every = (decades / 8).max(1);
    let mut ticks = Vec::new();
    for power in (first..=last).step_by(every as usize) {
        let one = 10f64.powi(power);
        ticks.push((one, decades <= 4 || (power - first) / every % 2 == 0));
        if decades <= 2 {
            ticks.extend([(2.0 * one, decades < 2), (5.0 * one, decades < 2)]);
        }
    }
    ticks
}

fn powers_of_two(low: f64, high: f64) -> Vec<(f64, bool)> {
    let (first, last) = (low.log2().ceil() as i32, high.log2().floor() as i32);
    let every = ((last - first) / 8 + 1).max(1);
    (first..=last)
        .step_by(every as usize)
        .enumerate()
        .map(|(i, power)| (2f64.powi(power), i % 2 == 0))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ends(scale: &Scale) -> (f64, f64) {
        (scale.low, scale.high)
    }

    #[test]
    fn decades_are_equally_wide() {
        let scale = Scale::decades([1.9, 158_000.0]);
        assert_eq!(ends(&scale), (1.0, 1_000_000.0));
        let at = |x| scale.at(x).unwrap();
        assert!((at(10.0) - 1.0 / 6.0).abs() < 1e-12);
        assert!((at(1_000.0) - 0.5).abs() < 1e-12);
    }

    #[test]
    fn what_has_no_place_gets_none() {
        let log = Scale::decades([1.0, 100.0]);
        for number in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e9] {
            assert_eq!(log.at(number), None, "{number}");
        }
        assert_eq!(log.near(-5.0), 0.0);
        assert_eq!(log.near(f64::INFINITY), 1.0);
        assert_eq!(Scale::linear([10.0]).at(f64::NAN), None);
    }

    #[test]
    fn a_linear_scale_holds_zero_and_what_is_below() {
        assert_eq!(ends(&Scale::linear([-30.0, 470.0])), (-100.0, 500.0));
        assert_eq!(ends(&Scale::linear([])), (0.0, 1.0));
        assert_eq!(Scale::linear([0.0]).at(0.0), Some(0.0));
    }

    #[test]
    fn ticks_are_round_and_few() {
        let labels = |scale: Scale, unit: &Unit| -> Vec<String> {
            scale.ticks(unit).into_iter().map(|tick| tick.label).collect()
        };
        assert_eq!(
            labels(Scale::decades([1.0, 1e6]), &Unit::Nanoseconds),
            ["1 ns", "10 ns", "100 ns", "1 µs", "10 µs", "100 µs", "1 ms"]
        );
        assert_eq!(
            labels(Scale::linear([870.0]), &Unit::Other("ns".into())),
            ["0", "200", "400", "600", "800", "1,000"]
        );
        assert_eq!(
            labels(Scale::log_between(1024.0, 16_384.0), &Unit::Bytes),
            ["1 KiB", "2 KiB", "4 KiB", "8 KiB", "16 KiB"]
        );
    }

    #[test]
    fn the_kind_of_scale_follows_the_numbers() {
        assert!(Scale::suited(&[1.0, 1_000.0], 50.0).is_log);
        assert!(!Scale::suited(&[1.0, 10.0], 50.0).is_log);
        assert!(!Scale::suited(&[-1.0, 1_000.0], 50.0).is_log);
        assert!(!Scale::suited(&[], 50.0).is_log);
    }

    proptest! {
        #[test]
        fn any_numbers_give_a_scale_with_places_in_it(numbers in prop::collection::vec(proptest::num::f64::ANY, 0..6), x in proptest::num::f64::ANY) {
            for scale in [Scale::linear(numbers.clone()), Scale::decades(numbers.clone()), Scale::log(numbers.clone()), Scale::suited(&numbers, 20.0)] {
                let (low, high) = ends(&scale);
                prop_assert!(low.is_finite() && high.is_finite() && low < high, "{scale:?}");
                prop_assert!((0.0..=1.0).contains(&scale.near(x)));
                if let Some(at) = scale.at(x) {
                    prop_assert!((0.0..=1.0).contains(&at));
                }
                for unit in [Unit::Nanoseconds, Unit::Bytes] {
                    let ticks = scale.ticks(&unit);
                    prop_assert!(ticks.len() <= 40, "{} ticks of {scale:?}", ticks.len());
                }
                let numbers = numbers.iter().filter(|number| number.abs() < 1e290);
                if !scale.is_log {
                    for number in numbers {
                        prop_assert!(scale.at(*number).is_some(), "{number} in {scale:?}");
                    }
                }
            }
        }
    }
}
