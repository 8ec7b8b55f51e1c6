//! How a number of a kind is written: on an axis, beside a mark.

use tollgate_record::number;

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

    /// The number with its unit: `159 ns`, `3.19 µs`, `64 KiB`, `12 tasks`. The minus is the typographic one.
    pub(crate) fn show(&self, number: f64) -> String {
        let text = match self {
            Self::Nanoseconds => number::time(number),
            Self::Bytes => number::bytes(number),
            Self::Other(name) if name.is_empty() => number::three(number),
            Self::Other(name) => format!("{} {name}", number::three(number)),
        };
        match text.strip_prefix('-').filter(|_| number.is_finite()) {
            Some(text) => format!("−{text}"),
            None => text,
        }
    }

    /// The same for a tick of an axis, in as few digits as it takes: `0.01 ns`, `7 µs`.
    pub(crate) fn tick(&self, number: f64) -> String {
        let text = match self {
            Self::Other(_) => Self::Other(String::new()).show(number),
            _ => self.show(number),
        };
        let (digits, unit) =
            text.split_once(' ').map_or((text.as_str(), ""), |(digits, unit)| (digits, unit));
        let is_plain = digits.contains('.') && !digits.contains('e');
        let digits = if is_plain { digits.trim_end_matches('0').trim_end_matches('.') } else { digits };
        if unit.is_empty() { digits.into() } else { format!("{digits} {unit}") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_sizes_have_their_units() {
        assert_eq!(Unit::Nanoseconds.show(3192.3), "3.19 µs");
        assert_eq!(Unit::Nanoseconds.show(-69.6), "−69.6 ns");
        assert_eq!(Unit::Bytes.show(65_536.0), "64 KiB");
        assert_eq!(
            [0.01, 0.1, 10.0, 7000.0].map(|ns| Unit::Nanoseconds.tick(ns)),
            ["0.01 ns", "0.1 ns", "10 ns", "7 µs"]
        );
        assert_eq!(Unit::Nanoseconds.show(7000.0), "7.00 µs");
    }

    #[test]
    fn other_numbers_have_their_name() {
        assert_eq!(Unit::named("tasks").show(1_000.0), "1,000 tasks");
        assert_eq!(Unit::named("").show(1.5), "1.50");
        assert_eq!([0.8, 10.0, 1e20].map(|n| Unit::named("tasks").tick(n)), ["0.8", "10", "1.0e20"]);
    }
}
