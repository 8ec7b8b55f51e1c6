//! The one set of formatters for figures and units: few digits, thousands apart, never wider than a column allows.
//!
//! Every text of the project writes its numbers with these: tables, the page, skip reasons and warnings. Times and sizes
//! contain `µ` where the unit does; a writer for an ASCII terminal folds it.

use crate::estimate::Estimate;

/// The most columns that [`figure`] ever takes, sign included.
pub const FIGURE: usize = 11;

/// The fewest columns that [`fit`] can be held to.
pub const SHORT: usize = 8;

const KIB: f64 = 1024.0;
/// A smaller figure is the rounding error of a difference of zero, in every unit in which figures are printed.
const ROUNDING: f64 = 1e-9;
/// Powers of 1,024, largest first.
const BINARY: [&str; 6] = ["E", "P", "T", "G", "M", "K"];

/// A figure with as many digits as mean something: `0.044`, `2.2`, `11.4`, `528`, `1,290`, `36,120`,
/// `1,205,000`. Beyond a hundred million a letter stands for the zeros; infinity and NaN are words.
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
    } else if a < ROUNDING {
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

/// A share as a percentage: `0.6 %`, `12 %`, `-1.5 %`; `0 %` when it is exactly zero, `-` when it is not finite. What
/// rounds to zero has no sign.
pub fn percent(share: f64) -> String {
    if !share.is_finite() {
        return "-".into();
    }
    if share == 0.0 {
        return "0 %".into();
    }
    let percent = share.abs() * 100.0;
    let digits = match percent {
        p if p < 9.95 => format!("{p:.1}"),
        p if p < 999.5 => format!("{p:.0}"),
        _ if share < 0.0 => return "<-999 %".into(),
        _ => return ">999 %".into(),
    };
    let sign = if share < 0.0 && digits != "0.0" { "-" } else { "" };
    format!("{sign}{digits} %")
}

/// Half the interval of a figure as a share of it, never rounded to nothing: `0.6 %`, `0.1 %`; `-` if no interval was measured, or one of no width, which is
/// not one of something that varies.
pub fn half_share(figure: &Estimate) -> String {
    let share = figure.relative_half_width();
    match () {
        () if !share.is_finite() || share < ROUNDING => "-".into(),
        () if share < 0.001 => "0.1 %".into(),
        () => percent(share),
    }
}

/// Half the interval of a figure, in its unit and at most so many columns; `-` as in [`half_share`].
pub fn half_width(figure: &Estimate, columns: usize) -> String {
    let half = figure.half_width();
    match half.is_finite() && half > ROUNDING.max(ROUNDING * figure.estimate.abs()) {
        true => fit(half, columns),
        false => "-".into(),
    }
}

/// A change as a percentage with its sign: `+3.0 %`, `-12 %`; no change is `+0.0 %`.
pub fn change(share: f64) -> String {
    match percent(share) {
        zero if matches!(zero.as_str(), "0 %" | "0.0 %") => "+0.0 %".into(),
        text if text.starts_with(|c: char| c.is_ascii_digit()) => format!("+{text}"),
        text => text,
    }
}

/// A whole number with its thousands apart.
pub fn count(n: impl std::fmt::Display) -> String {
    separate(&n.to_string())
}

/// The nearest whole number with its thousands apart; `-` when it is not finite.
pub fn whole(x: f64) -> String {
    match x.abs() {
        a if !a.is_finite() => "-".into(),
        a if a >= 1e15 => figure(x),
        _ => separate(&format!("{:.0}", x.round() + 0.0)),
    }
}

/// A mean of exact counts: a whole number without decimals, any other with two; `-` when it is not finite.
pub fn mean(x: f64) -> String {
    match format!("{x:.2}") {
        text if x.is_finite() && (x - x.round()).abs() >= ROUNDING && text != "-0.00" => text,
        _ => whole(x),
    }
}

/// A count with its noun: `1 run`, `2 runs`, `1,000 runs`.
pub fn plural(n: usize, one: &str, several: &str) -> String {
    format!("{} {}", count(n), if n == 1 { one } else { several })
}

/// A time with its unit, always three digits that mean something: `159 ns`, `3.19 µs`, `7.00 µs`; zero is `0 ns`.
pub fn time(ns: f64) -> String {
    if !ns.is_finite() {
        return figure(ns);
    }
    // 999.7 is written 1,000: the next unit takes over where rounding would.
    let fits = [(1e9, "s"), (1e6, "ms"), (1e3, "µs")].into_iter().find(|(size, _)| ns.abs() >= size * 0.9995);
    let (size, unit) = fits.unwrap_or((1.0, "ns"));
    format!("{} {unit}", if ns == 0.0 { "0".into() } else { digits(ns / size) })
}

/// Three digits that mean something, thousands apart; a whole number without decimals: `2`, `2.50`.
pub fn three(x: f64) -> String {
    let text = digits(x);
    match text.split_once('.') {
        Some((whole, decimals)) if decimals.bytes().all(|digit| digit == b'0') => whole.into(),
        _ => text,
    }
}

/// Three digits that mean something, thousands apart.
fn digits(x: f64) -> String {
    let a = x.abs();
    if !x.is_finite() || !(0.000_995..99_999.5).contains(&a) {
        return figure(x);
    }
    let decimals = match a {
        a if a >= 99.95 => 0,
        a if a >= 9.995 => 1,
        a if a >= 0.995 => 2,
        _ => 3,
    };
    separate(&format!("{x:.decimals$}"))
}

/// A size in bytes with its unit: `512 B`, `64 KiB`, `1.5 GiB`; `-` when it is not finite.
pub fn bytes(bytes: f64) -> String {
    if !bytes.is_finite() {
        return "-".into();
    }
    let (digits, power) = binary(bytes);
    if power.is_empty() { format!("{digits} B") } else { format!("{digits} {power}iB") }
}

/// A size in bytes in few columns, as the command line takes it: `96`, `64K`, `1.5M`, `-2K`; `?` when it is not finite.
pub fn size(bytes: f64) -> String {
    if !bytes.is_finite() {
        return "?".into();
    }
    let (digits, power) = binary(bytes);
    format!("{}{power}", digits.replace(',', ""))
}

/// The number in the largest power of 1,024 that leaves it above one, and that power's letter.
fn binary(bytes: f64) -> (String, &'static str) {
    let sizes = (0..BINARY.len()).map(|place| (KIB.powi((BINARY.len() - place) as i32), BINARY[place]));
    let (size, power) = sizes.into_iter().find(|(size, _)| bytes.abs() >= *size).unwrap_or((1.0, ""));
    let value = bytes / size;
    let digits = match value.abs() {
        a if a >= 99_999.5 => format!("{value:.0e}"),
        a if a.fract() == 0.0 || a >= 99.95 || power.is_empty() => whole(value),
        _ => format!("{value:.1}"),
    };
    (digits, power)
}

/// A count per crossing: two decimals, and more when two would hide that it is not a whole number and
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

/// A written number with a comma before every third digit of its whole part.
fn separate(number: &str) -> String {
    let start = number.find(|c: char| c.is_ascii_digit()).unwrap_or(0);
    let end = number[start..].find(|c: char| !c.is_ascii_digit()).map_or(number.len(), |end| start + end);
    let mut text = String::with_capacity(number.len() * 4 / 3);
    for (place, character) in number.char_indices() {
        if place > start && place < end && (end - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(character);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The most columns that [`percent`] takes.
    const PERCENT: usize = 7;

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
            (3e-14, "0"),
            (-2e-14, "0"),
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
    fn an_interval_that_was_not_measured_is_a_dash() {
        let within = |half: f64| Estimate::within(200.0, [200.0 - half, 200.0 + half]);
        let cases = [
            (within(1.2), "0.6 %", "1.2"),
            (within(0.02), "0.1 %", "0.020"),
            (within(3e-14), "-", "-"),
            (Estimate::point(200.0), "-", "-"),
            (Estimate::unmeasured(200.0), "-", "-"),
        ];
        for (figure, share, half) in cases {
            assert_eq!((half_share(&figure).as_str(), half_width(&figure, SHORT).as_str()), (share, half));
        }
        assert_eq!(mean(-0.001), "0");
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
            (-0.006, "-0.6 %"),
            (-0.0004, "0.0 %"),
            (-0.0, "0 %"),
            (-0.12, "-12 %"),
            (-1e9, "<-999 %"),
        ];
        for (share, text) in cases {
            assert_eq!(percent(share), text, "{share}");
        }
    }

    #[test]
    fn changes_have_a_sign_unless_they_are_none() {
        let cases =
            [(0.03, "+3.0 %"), (-0.12, "-12 %"), (0.0, "+0.0 %"), (-0.0004, "+0.0 %"), (1e9, ">999 %")];
        for (share, text) in cases {
            assert_eq!(change(share), text, "{share}");
        }
    }

    #[test]
    fn counts_are_whole_and_agree_with_their_noun() {
        assert_eq!(
            [count(0), count(999), count(1_234_567_u64), count(-1_000)],
            ["0", "999", "1,234,567", "-1,000"]
        );
        assert_eq!(
            [whole(-0.4), whole(1_499.6), whole(-1_499.6), whole(f64::NAN)],
            ["0", "1,500", "-1,500", "-"]
        );
        assert_eq!(
            [mean(98.0), mean(1.5), mean(1_234_567.0), mean(f64::INFINITY)],
            ["98", "1.50", "1,234,567", "-"]
        );
        assert_eq!(whole(1e300), "1.0e300");
        assert_eq!(plural(1, "instruction", "instructions"), "1 instruction");
        assert_eq!(plural(2_000, "instruction", "instructions"), "2,000 instructions");
    }

    #[test]
    fn times_take_the_unit_that_suits() {
        for (ns, text) in [
            (0.0, "0 ns"),
            (1.912, "1.91 ns"),
            (41.53, "41.5 ns"),
            (159.4, "159 ns"),
            (999.7, "1.00 µs"),
            (7000.0, "7.00 µs"),
            (3192.3, "3.19 µs"),
            (158_564.8, "159 µs"),
            (-69.6, "-69.6 ns"),
            (2.5e9, "2.50 s"),
            (2.5e12, "2,500 s"),
            (f64::NAN, "NaN"),
            (f64::INFINITY, "inf"),
        ] {
            assert_eq!(time(ns), text);
        }
    }

    #[test]
    fn sizes_go_by_1024() {
        for (n, long, short) in [
            (0.0, "0 B", "0"),
            (96.4, "96 B", "96"),
            (512.0, "512 B", "512"),
            (1023.0, "1,023 B", "1023"),
            (1536.0, "1.5 KiB", "1.5K"),
            (u64::MAX as f64, "16 EiB", "16E"),
            (65_536.0, "64 KiB", "64K"),
            (4_198.4, "4.1 KiB", "4.1K"),
            (1.5 * 1_048_576.0, "1.5 MiB", "1.5M"),
            (260.4 * 1_048_576.0, "260 MiB", "260M"),
            (-2_048.0, "-2 KiB", "-2K"),
            (1.25 * KIB.powi(4), "1.2 TiB", "1.2T"),
            (1e30, "9e11 EiB", "9e11E"),
            (f64::NAN, "-", "?"),
        ] {
            assert_eq!((bytes(n).as_str(), size(n).as_str()), (long, short));
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
            prop_assert!(change(x).len() <= PERCENT);
            prop_assert!(size(x).len() <= 9, "{}", size(x));
            prop_assert!(bytes(x).len() <= 12, "{}", bytes(x));
            prop_assert!(time(x).len() <= FIGURE + 3, "{}", time(x));
        }
    }
}
