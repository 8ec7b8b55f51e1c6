//! How a number of a kind is written: on an axis, beside a mark.

use crate::number::figure;

/// What a number counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// Nanoseconds, shown as ns, µs, ms or s.
    Nanoseconds,
    /// Bytes, in powers of 1,024.
    Bytes,
    /// Anything else, with its name.
    Other(String),
}

impl Unit {
    /// The unit that a record calls so.
    pub(crate) fn named(name: &str) -> Self {
        match name {
            "ns" => Self::Nanoseconds,
            "bytes" | "B" => Self::Bytes,
            other => Self::Other(crate::markup::clean(other)),
        }
    }

    /// The number with its unit: `159 ns`, `3.19 µs`, `64 KiB`, `12 tasks`.
    pub(crate) fn show(&self, number: f64) -> String {
        match self {
            Self::Nanoseconds => scaled(number, &[(1e9, "s"), (1e6, "ms"), (1e3, "µs")], "ns", three),
            Self::Bytes => scaled(
                number,
                &[(1024.0 * 1024.0 * 1024.0, "GiB"), (1024.0 * 1024.0, "MiB"), (1024.0, "KiB")],
                "B",
                binary,
            ),
            Self::Other(name) if name.is_empty() => three(number),
            Self::Other(name) => format!("{} {name}", three(number)),
        }
    }

    /// The same for a tick of an axis whose title has the unit.
    pub(crate) fn tick(&self, number: f64) -> String {
        match self {
            Self::Other(_) => three(number),
            _ => self.show(number),
        }
    }
}

fn scaled(number: f64, units: &[(f64, &str)], smallest: &str, write: fn(f64) -> String) -> String {
    if !number.is_finite() {
        return figure(number);
    }
    // 999.7 is written 1,000: the next unit takes over where rounding would.
    let fits = units.iter().find(|(size, _)| number.abs() >= size * 0.9995);
    let (size, unit) = fits.copied().unwrap_or((1.0, smallest));
    format!("{} {unit}", write(number / size))
}

/// Three digits that mean something, thousands apart.
pub(crate) fn three(number: f64) -> String {
    let a = number.abs();
    if !number.is_finite() || !(0.000_995..99_999.5).contains(&a) {
        return figure(number);
    }
    let decimals = match a {
        a if a >= 99.95 => 0,
        a if a >= 9.995 => 1,
        a if a >= 0.995 => 2,
        _ => 3,
    };
    let text = format!("{a:.decimals$}");
    let text = if decimals == 0 { crate::number::count(a.round() as usize) } else { trimmed(&text) };
    format!("{}{text}", if number < 0.0 { "−" } else { "" })
}

/// Whole numbers stay whole: `2.00` is `2`, and `2.50` stays.
fn trimmed(text: &str) -> String {
    match text.split_once('.') {
        Some((whole, decimals)) if decimals.bytes().all(|digit| digit == b'0') => whole.into(),
        _ => text.into(),
    }
}

fn binary(number: f64) -> String {
    if number.fract() == 0.0 { three(number) } else { format!("{number:.1}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_take_the_unit_that_suits() {
        for (ns, text) in [
            (0.0, "0 ns"),
            (1.912, "1.91 ns"),
            (41.53, "41.5 ns"),
            (159.4, "159 ns"),
            (999.7, "1 µs"),
            (3192.3, "3.19 µs"),
            (158_564.8, "159 µs"),
            (-69.6, "−69.6 ns"),
            (2.5e9, "2.50 s"),
            (f64::NAN, "NaN"),
            (f64::INFINITY, "inf"),
        ] {
            assert_eq!(Unit::Nanoseconds.show(ns), text);
        }
    }

    #[test]
    fn sizes_go_by_1024() {
        for (bytes, text) in
            [(0.0, "0 B"), (512.0, "512 B"), (65_536.0, "64 KiB"), (1.5 * 1024.0 * 1024.0, "1.5 MiB")]
        {
            assert_eq!(Unit::Bytes.show(bytes), text);
        }
    }

    #[test]
    fn other_numbers_have_their_name() {
        assert_eq!(Unit::named("tasks").show(1_000.0), "1,000 tasks");
        assert_eq!(Unit::named("").show(1.5), "1.50");
        assert_eq!(Unit::named("tasks").tick(10.0), "10");
    }
}
