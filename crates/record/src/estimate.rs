//! A figure with its interval, and how intervals combine.
//!
//! Every operation has one rule for the interval; METHOD.md, "Arithmetic of estimates", gives the reasons.
//!
//! | operation | operands | rule |
//! |---|---|---|
//! | [`point`](Estimate::point) | a number known exactly | no width |
//! | [`scaled`](Estimate::scaled) | an estimate and an exact factor | every field times the factor |
//! | [`sum`](Estimate::sum), [`minus`](Estimate::minus) | independent estimates | distances in quadrature, side by side (MOVER) |
//! | [`ratio`](Estimate::ratio) | two independent estimates | the same, solved for the ratio (MOVER-R) |
//! | [`widened`](Estimate::widened) | an estimate and a bound on a systematic error | the bound in full on both sides |
//!
//! Results are signed and never clamped. Figures that share samples are not independent: subtract their values
//! epoch by epoch and estimate the differences instead.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

/// A figure with its interval and the distribution of the samples behind it.
///
/// The quantiles are those of the samples, each the mean of one batch of crossings; the
/// distribution of single crossings is the `single` of the measurement.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Estimate {
    /// The headline figure.
    pub estimate: f64,
    /// Its 95 % confidence interval, low and high. Absent in a document if it was not measured; then it is every number.
    #[serde(
        default = "everywhere",
        skip_serializing_if = "is_everywhere",
        deserialize_with = "or_everywhere"
    )]
    #[schemars(with = "Option<[f64; 2]>")]
    pub ci: [f64; 2],
    /// Smallest sample.
    pub min: f64,
    /// 10th percentile of the samples.
    pub p10: f64,
    /// Median of the samples.
    pub p50: f64,
    /// 90th percentile of the samples.
    pub p90: f64,
    /// 99th percentile of the samples.
    pub p99: f64,
    /// Mean of the samples.
    pub mean: f64,
}

/// The interval of a figure of which nothing says how sure it is.
fn everywhere() -> [f64; 2] {
    [f64::NEG_INFINITY, f64::INFINITY]
}

fn or_everywhere<'de, D: Deserializer<'de>>(from: D) -> Result<[f64; 2], D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or_else(everywhere))
}

fn is_everywhere(ci: &[f64; 2]) -> bool {
    *ci == everywhere()
}

impl Estimate {
    /// A figure of which nothing says how sure it is: a single value of something that varies.
    #[must_use]
    pub fn unmeasured(value: f64) -> Self {
        Self::within(value, everywhere())
    }

    /// Whether its interval was measured.
    #[must_use]
    pub fn is_measured(&self) -> bool {
        self.ci.iter().all(|end| end.is_finite())
    }

    /// A figure without width and without a distribution: every field is `value`.
    #[must_use]
    pub const fn point(value: f64) -> Self {
        Self {
            estimate: value,
            ci: [value; 2],
            min: value,
            p10: value,
            p50: value,
            p90: value,
            p99: value,
            mean: value,
        }
    }

    /// A figure with an interval and without a distribution.
    #[must_use]
    pub const fn within(value: f64, ci: [f64; 2]) -> Self {
        Self { ci, ..Self::point(value) }
    }

    /// The same figure in another unit: every field times `factor`, which is exact and positive.
    #[must_use]
    pub fn scaled(&self, factor: f64) -> Self {
        Self {
            estimate: self.estimate * factor,
            ci: self.ci.map(|bound| bound * factor),
            min: self.min * factor,
            p10: self.p10 * factor,
            p50: self.p50 * factor,
            p90: self.p90 * factor,
            p99: self.p99 * factor,
            mean: self.mean * factor,
        }
    }

    /// The interval with a bound on a systematic error added in full on both sides. Such an error is the same in
    /// every sample, so it does not average out and does not belong in quadrature.
    #[must_use]
    pub fn widened(&self, bound: f64) -> Self {
        Self { ci: [self.ci[0] - bound, self.ci[1] + bound], ..*self }
    }

    /// The sum of independent estimates: the figure is the sum of the figures, and each bound is as far from it
    /// as the root of the summed squares of the terms' distances on that side (MOVER; Zou and Donner 2008,
    /// "Construction of confidence limits about effect measures"). The distribution of a sum is not known from
    /// the distributions of its terms, so every other field repeats the figure.
    #[must_use]
    pub fn sum(terms: impl IntoIterator<Item = Self>) -> Self {
        let (mut value, mut squares) = (0.0, [0.0; 2]);
        for term in terms {
            value += term.estimate;
            for (sum, distance) in squares.iter_mut().zip(term.distances()) {
                *sum += distance * distance;
            }
        }
        Self::within(value, [value - squares[0].sqrt(), value + squares[1].sqrt()])
    }

    /// The difference of two independent estimates, signed: [`Estimate::sum`] with the sides of `other` exchanged.
    #[must_use]
    pub fn minus(&self, other: &Self) -> Self {
        Self::sum([*self, other.negated()])
    }

    /// The ratio of two independent estimates: the bounds of all `r` for which the interval of
    /// `self - r other` contains zero (MOVER-R; Donner and Zou 2012, "Closed-form confidence intervals for
    /// functions of the normal mean and standard deviation"). `None` when `other` is not distinct from zero: such
    /// a ratio has no bounds.
    #[must_use]
    pub fn ratio(&self, other: &Self) -> Option<Self> {
        if other.estimate < 0.0 {
            return self.negated().ratio(&other.negated());
        }
        let [below, above] = other.distances();
        if other.estimate.is_nan() || other.estimate <= below.abs().max(above.abs()) {
            return None;
        }
        // The upper bound of a ratio is the lower bound of the negated ratio, negated.
        let high = -lower_ratio(&self.negated(), other);
        Some(Self::within(self.estimate / other.estimate, [lower_ratio(self, other), high]))
    }

    /// Half the width of the interval.
    #[must_use]
    pub fn half_width(&self) -> f64 {
        (self.ci[1] - self.ci[0]) / 2.0
    }

    /// Half the width of the interval, as a share of the headline; infinite for a headline of zero.
    #[must_use]
    pub fn relative_half_width(&self) -> f64 {
        self.half_width() / self.estimate.abs()
    }

    /// Whether the interval contains zero; false for one that was not measured.
    #[must_use]
    pub fn is_zero_within_error(&self) -> bool {
        self.is_measured() && self.ci[0] <= 0.0 && self.ci[1] >= 0.0
    }

    /// How far the bounds are from the figure, below and above.
    fn distances(&self) -> [f64; 2] {
        [self.estimate - self.ci[0], self.ci[1] - self.estimate]
    }

    fn negated(&self) -> Self {
        Self::within(-self.estimate, [-self.ci[1], -self.ci[0]])
    }
}

/// The smallest `r` for which the interval of `top - r bottom` contains zero, where `bottom` is positive and
/// distinct from zero: a root of `(top - r bottom)^2 = below_top^2 + (r side_of_bottom)^2`.
fn lower_ratio(top: &Estimate, bottom: &Estimate) -> f64 {
    let [below, _] = top.distances();
    // A positive ratio is smallest when the divisor is largest, a negative one when it is smallest.
    let [less, more] = bottom.distances();
    let side = if top.ci[0] >= 0.0 { more } else { less };
    let product = top.estimate * bottom.estimate;
    let square = |value: f64, distance: f64| value * value - distance * distance;
    let (top, bottom) = (square(top.estimate, below), square(bottom.estimate, side));
    (product - (product * product - top * bottom).max(0.0).sqrt()) / bottom
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-9 * a.abs().max(b.abs()).max(1.0)
    }

    #[test]
    fn sides_are_combined_with_their_own_kind() {
        // 3-4-5 triangles: down go the low side of the first and the high side of the second.
        let difference = Estimate::within(100.0, [97.0, 105.0]).minus(&Estimate::within(30.0, [18.0, 34.0]));
        assert_eq!(difference, Estimate::within(70.0, [65.0, 83.0]));
        let sum =
            Estimate::sum([Estimate::within(100.0, [97.0, 105.0]), Estimate::within(30.0, [26.0, 42.0])]);
        assert_eq!(sum, Estimate::within(130.0, [125.0, 143.0]));
    }

    #[test]
    fn a_difference_below_zero_keeps_its_sign() {
        let difference = Estimate::point(5.0).minus(&Estimate::within(9.0, [8.0, 11.0]));
        assert_eq!((difference.estimate, difference.ci), (-4.0, [-6.0, -3.0]));
    }

    #[test]
    fn a_ratio_is_the_quotient_of_the_bounds_when_only_one_side_is_uncertain() {
        let ratio = |top: [f64; 3], bottom: [f64; 3]| {
            let of = |it: [f64; 3]| Estimate::within(it[1], [it[0], it[2]]);
            let ratio = of(top).ratio(&of(bottom)).unwrap();
            [ratio.ci[0], ratio.estimate, ratio.ci[1]]
        };
        for (top, bottom, expected) in [
            ([8.0, 10.0, 14.0], [2.0, 2.0, 2.0], [4.0, 5.0, 7.0]),
            ([20.0, 20.0, 20.0], [2.0, 2.5, 4.0], [5.0, 8.0, 10.0]),
            ([-20.0, -20.0, -20.0], [2.0, 2.5, 4.0], [-10.0, -8.0, -5.0]),
            ([-1.0, 2.0, 3.0], [2.0, 2.0, 2.0], [-0.5, 1.0, 1.5]),
            ([20.0, 20.0, 20.0], [-4.0, -2.5, -2.0], [-10.0, -8.0, -5.0]),
        ] {
            let found = ratio(top, bottom);
            assert!(found.iter().zip(expected).all(|(a, b)| near(*a, b)), "{found:?} for {expected:?}");
        }
    }

    #[test]
    fn nothing_is_divided_by_what_may_be_zero() {
        for bottom in [[-1.0, 1.0, 3.0], [0.0, 0.0, 0.0], [0.0, 1.0, 2.0], [1.0, f64::NAN, 2.0]] {
            assert_eq!(
                Estimate::point(1.0).ratio(&Estimate::within(bottom[1], [bottom[0], bottom[2]])),
                None
            );
        }
    }

    #[test]
    fn a_systematic_error_is_added_in_full() {
        assert_eq!(Estimate::within(10.0, [9.0, 12.0]).widened(2.0), Estimate::within(10.0, [7.0, 14.0]));
    }

    prop_compose! {
        fn figure()(value in -1e3..1e3_f64, below in 0.0..1e2_f64, above in 0.0..1e2_f64) -> Estimate {
            Estimate::within(value, [value - below, value + above])
        }
    }

    proptest! {
        #[test]
        fn a_difference_turned_round_is_its_negative(a in figure(), b in figure()) {
            let (forward, back) = (a.minus(&b), b.minus(&a));
            prop_assert!(near(forward.estimate, -back.estimate));
            prop_assert!(near(forward.ci[0], -back.ci[1]) && near(forward.ci[1], -back.ci[0]));
        }

        #[test]
        fn a_sum_is_between_the_widest_term_and_all_widths_in_full(terms in prop::collection::vec(figure(), 1..6)) {
            let half = Estimate::sum(terms.iter().copied()).half_width();
            let widths = terms.iter().map(Estimate::half_width);
            prop_assert!(half >= widths.clone().fold(0.0, f64::max) * (1.0 - 1e-9));
            prop_assert!(half <= widths.sum::<f64>() * (1.0 + 1e-9));
        }

        #[test]
        fn sums_do_not_depend_on_how_terms_are_grouped(a in figure(), b in figure(), c in figure()) {
            let (all, pairs) = (Estimate::sum([a, b, c]), Estimate::sum([a, Estimate::sum([b, c])]));
            prop_assert!(near(all.estimate, pairs.estimate));
            prop_assert!(near(all.ci[0], pairs.ci[0]) && near(all.ci[1], pairs.ci[1]));
        }

        #[test]
        fn units_drop_out_of_a_ratio(a in figure(), b in figure(), factor in 1e-3..1e3_f64) {
            if let (Some(plain), Some(scaled)) = (a.ratio(&b), a.scaled(factor).ratio(&b.scaled(factor))) {
                prop_assert!(plain.ci[0] <= plain.estimate && plain.estimate <= plain.ci[1]);
                for (plain, scaled) in plain.ci.into_iter().zip(scaled.ci) {
                    prop_assert!((plain - scaled).abs() <= 1e-6 * plain.abs().max(1.0), "{plain} {scaled}");
                }
            }
        }
    }
}
