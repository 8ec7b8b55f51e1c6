//! Figures as people read them: few digits, thousands apart, never wider than a column allows.

/// The most columns that [`figure`] ever takes, sign included.
pub const FIGURE: usize = 11;

/// The fewest columns that [`fit`] can be held to.
pub const SHORT: usize = 8;

/// The most columns that [`percent`] takes.
pub const PERCENT: usize = 6;

/// A figure with as many digits as mean something: `0.044`, `2.2`, `11.4`, `528`, `1,290`, `36,120`,
/// `1,205,000`. Beyond a hundred million a letter stands for the zeros; what is no number is a word.
pub fn figure(x: f64) -> String {
    fit(x, FIGURE)
}

/// [`figure`] in at most `columns` (at least [`SHORT`]): in narrow ones the letter comes earlier, `1.205M`.
pub fn fit(x: f64, columns: usize) -> String {
    let a = x.abs();
    let sign = if x < 0.0 { "-" } else { "" };
    let digits = if a.is_nan() {
        return "NaN".into();
    } else if a.is_infinite() {
        "inf".into()
    } else if a == 0.0 {
        return "0".into();
    } else if a < 0.0005 {
        format!("{a:.0e}")
    } else if a < 0.0995 {
        format!("{a:.3}")
    } else if a < 0.995 {
        format!("{a:.2}")
    } else if a < 99.95 {
        format!("{a:.1}")
    } else if a < 9_999.5 {
        separate(&format!("{a:.0}"))
    } else {
        thousands(a, columns - sign.len())
    };
    format!("{sign}{digits}")
}

/// [`fit`] for an upper bound: a small one has two decimals and is rounded up, so that it still holds.
pub fn bound(x: f64, columns: usize) -> String {
    if (0.005..0.99).contains(&x) { format!("{:.2}", (x * 100.0).ceil() / 100.0) } else { fit(x, columns) }
}

/// Four digits that mean something, and zeros or a letter.
fn thousands(a: f64, columns: usize) -> String {
    const LETTERS: [(f64, &str); 3] = [(1e6, "M"), (1e9, "G"), (1e12, "T")];
    if a >= 1e15 {
        return format!("{a:.1e}");
    }
    let unit = 10f64.powf(a.log10().floor() - 3.0);
    let rounded = (a / unit).round() * unit;
    let plain = separate(&format!("{rounded:.0}"));
    let Some((size, letter)) = LETTERS.into_iter().rev().find(|(size, _)| rounded >= *size) else {
        return plain;
    };
    // The same length for either sign, so that the form depends on the size alone.
    if plain.len() <= columns.min(FIGURE - 1) {
        return plain;
    }
    let share = rounded / size;
    let decimals = if share < 9.9995 {
        3
    } else if share < 99.995 {
        2
    } else {
        1
    };
    format!("{share:.decimals$}{letter}")
}

/// A share as a percentage: `0.6 %`, `12 %`; `0 %` when it is exactly that, `-` when there is none.
pub fn percent(share: f64) -> String {
    let percent = share.abs() * 100.0;
    if !percent.is_finite() {
        "-".into()
    } else if percent == 0.0 {
        "0 %".into()
    } else if percent < 9.95 {
        format!("{percent:.1} %")
    } else if percent < 999.5 {
        format!("{percent:.0} %")
    } else {
        ">999 %".into()
    }
}

/// A whole number with its thousands apart.
pub fn count(n: usize) -> String {
    separate(&n.to_string())
}

/// A count per crossing: two decimals, and more when two would hide that it is no whole number and
/// `exact` asks for it.
pub fn per_crossing(x: f64, exact: bool) -> String {
    if !x.is_finite() || x.abs() >= 99.95 || (x != 0.0 && x.abs() < 0.005) {
        return figure(x);
    }
    let two = format!("{x:.2}");
    if exact && two.ends_with(".00") && x.fract() != 0.0 { format!("{x:.4}") } else { two }
}

/// A frequency: `3.0 GHz`, `24 MHz`.
pub fn frequency(hz: f64) -> String {
    if !hz.is_finite() || hz <= 0.0 {
        "unknown".into()
    } else if hz >= 0.95e9 {
        format!("{} GHz", figure(hz / 1e9))
    } else {
        format!("{} MHz", figure(hz / 1e6))
    }
}

/// The digits with a comma before every third from the end.
fn separate(digits: &str) -> String {
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn back(text: &str) -> f64 {
        let plain = text.replace(',', "").replace('M', "e6").replace('G', "e9").replace('T', "e12");
        plain.parse().unwrap()
    }

    #[test]
    fn digits_are_those_that_mean_something() {
        let cases = [
            (0.0, "0"),
            (-0.0, "0"),
            (0.0001, "1e-4"),
            (0.001, "0.001"),
            (0.0436, "0.044"),
            (0.436, "0.44"),
            (0.9949, "0.99"),
            (0.996, "1.0"),
            (2.2, "2.2"),
            (11.42, "11.4"),
            (99.94, "99.9"),
            (99.96, "100"),
            (528.3, "528"),
            (1290.2, "1,290"),
            (9999.7, "10,000"),
            (36_004.0, "36,000"),
            (36_123.0, "36,120"),
            (312_456.0, "312,500"),
            (12_345_678.0, "12,350,000"),
            (123_456_789.0, "123.5M"),
            (1e12, "1.000T"),
            (1e15, "1.0e15"),
            (-22.0, "-22.0"),
            (f64::INFINITY, "inf"),
            (f64::NEG_INFINITY, "-inf"),
            (f64::NAN, "NaN"),
        ];
        for (x, text) in cases {
            assert_eq!(figure(x), text, "{x}");
        }
    }

    #[test]
    fn narrow_columns_have_letters() {
        assert_eq!(fit(312_456.0, SHORT), "312,500");
        assert_eq!(fit(999_960.0, SHORT), "1.000M");
        assert_eq!(fit(-1_204_900.0, SHORT), "-1.205M");
        assert_eq!(fit(23_456_000.0, SHORT), "23.46M");
        assert_eq!(fit(-1.7e308, SHORT), "-1.7e308");
    }

    #[test]
    fn a_bound_is_never_rounded_down() {
        assert_eq!(bound(0.041, SHORT), "0.05");
        assert_eq!(bound(0.981, SHORT), "0.99");
        assert_eq!(bound(12.0, SHORT), "12.0");
        assert_eq!(bound(-0.5, SHORT), "-0.50");
    }

    #[test]
    fn shares_are_percentages() {
        let cases = [
            (0.0, "0 %"),
            (0.0004, "0.0 %"),
            (0.006, "0.6 %"),
            (0.0994, "9.9 %"),
            (0.0996, "10 %"),
            (0.5, "50 %"),
            (1e9, ">999 %"),
            (f64::NAN, "-"),
            (f64::INFINITY, "-"),
            (-0.006, "0.6 %"),
        ];
        for (share, text) in cases {
            assert_eq!(percent(share), text, "{share}");
        }
    }

    #[test]
    fn a_flagged_count_shows_that_it_is_not_whole() {
        assert_eq!(per_crossing(0.9996, true), "0.9996");
        assert_eq!(per_crossing(0.9996, false), "1.00");
        assert_eq!(per_crossing(1.0, true), "1.00");
        assert_eq!(per_crossing(12_000.0, true), "12,000");
        assert_eq!(per_crossing(f64::NAN, true), "NaN");
    }

    #[test]
    fn frequencies_have_a_unit() {
        assert_eq!(frequency(2.995e9), "3.0 GHz");
        assert_eq!(frequency(24e6), "24.0 MHz");
        assert_eq!(frequency(f64::NAN), "unknown");
    }

    /// Numbers of either sign whose size is spread evenly over the decades.
    fn spread() -> impl Strategy<Value = f64> {
        (-3.0..12.0f64, any::<bool>()).prop_map(|(e, minus)| 10f64.powf(e) * if minus { -1.0 } else { 1.0 })
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn a_figure_fits_keeps_its_sign_and_its_size(x in spread()) {
            for columns in SHORT..=FIGURE {
                let text = fit(x, columns);
                prop_assert!(text.len() <= columns, "{}", text);
                prop_assert_eq!(text.starts_with('-'), x < 0.0);
                let error = (back(&text) - x).abs() / x.abs();
                prop_assert!(error <= if x.abs() < 0.01 { 0.5 } else { 0.06 }, "{} for {}", text, x);
            }
        }

        #[test]
        fn figures_keep_their_order(x in spread(), y in spread(), near in 0.9..1.1f64) {
            for y in [y, x * near] {
                let (low, high) = if x <= y { (x, y) } else { (y, x) };
                for columns in [SHORT, FIGURE] {
                    let (low, high) = (fit(low, columns), fit(high, columns));
                    prop_assert!(back(&low) <= back(&high), "{} {}", low, high);
                }
            }
        }

        #[test]
        fn whatever_it_is_it_fits(x in proptest::num::f64::ANY) {
            prop_assert!(figure(x).len() <= FIGURE);
            prop_assert!(fit(x, SHORT).len() <= SHORT);
            prop_assert!(percent(x).len() <= PERCENT);
            prop_assert!(per_crossing(x, true).len() <= FIGURE);
            prop_assert!(frequency(x).len() <= FIGURE + 4);
        }
    }
}
