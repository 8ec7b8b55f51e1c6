//! Quantities that a person types: sizes, shares and counts. The errors name a value that works.

use std::ops::RangeInclusive;

/// Bytes of `64K`, `64KiB` (65,536), `64kB` (64,000), `1M`, `2G`, `1T`, or of a plain number in units of `unit` bytes.
///
/// # Errors
/// A text that is not a whole number with one of these suffixes, or does not fit into 64 bits.
pub fn bytes(text: &str, unit: u64) -> Result<u64, String> {
    let text = text.trim();
    let suffix = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let factor = match suffix.to_ascii_lowercase().as_str() {
        "" => unit,
        "b" => 1,
        "k" | "kib" => 1 << 10,
        "m" | "mib" => 1 << 20,
        "g" | "gib" => 1 << 30,
        "t" | "tib" => 1 << 40,
        "kb" => 1_000,
        "mb" => 1_000_000,
        "gb" => 1_000_000_000,
        "tb" => 1_000_000_000_000,
        _ => 0,
    };
    let digits = &text[..text.len() - suffix.len()];
    if digits.is_empty() || factor == 0 {
        return Err(format!(
            "'{text}' is not a size: give a whole number from 0, with K, M or G (powers of 1,024, as KiB) or kB, MB or GB \
             (powers of 1,000), for example 64K"
        ));
    }
    let number = digits.parse::<u64>().ok();
    number
        .and_then(|number| number.checked_mul(factor))
        .ok_or_else(|| format!("{text} is more than an address can name; try 64K"))
}

/// A share: `5%`, `5 %` or `0.05`.
///
/// # Errors
/// A text that is not a number from 0 % to 1000 %; also `5`, which would be 500 %.
pub fn share(text: &str) -> Result<f64, String> {
    let wrong = || "a share is a number from 0% to 1000%, for example 5% or 0.05".to_owned();
    let (number, unit) = match text.trim().strip_suffix('%') {
        Some(number) => (number, 0.01),
        None => (text, 1.0),
    };
    let share = number.trim().parse::<f64>().map_err(|_| wrong())? * unit;
    if (0.0..=10.0).contains(&share) && (unit < 1.0 || share < 1.0) { Ok(share) } else { Err(wrong()) }
}

/// A share as a percentage: `3%`, or `3` for the same.
///
/// # Errors
/// A text that is not a number from 0 % to 1000 %; also `0.03`, which is a share elsewhere.
pub fn percentage(text: &str) -> Result<f64, String> {
    let wrong = || "a percentage is a number from 0% to 1000%, for example 3% or 3".to_owned();
    match text.trim().parse::<f64>() {
        Ok(number) if number > 0.0 && number < 1.0 => {
            Err(format!("{text} can be a share or a percentage; write {number}% or {}%", number * 100.0))
        }
        Ok(number) => share(&format!("{number}%")).map_err(|_| wrong()),
        Err(_) => share(text).map_err(|_| wrong()),
    }
}

/// A whole number of something: `what` in the plural, with an `example` of it.
///
/// # Errors
/// A text that is not a whole number in the range.
pub fn count(text: &str, range: RangeInclusive<u64>, what: &str, example: u64) -> Result<u64, String> {
    let number = text.trim().parse::<u64>().ok().filter(|number| range.contains(number));
    number.ok_or_else(|| {
        let (least, most) = (range.start(), range.end());
        format!("the number of {what} is a whole number from {least} to {most}, for example {example}")
    })
}

/// A day, `YYYY-MM-DD`.
///
/// # Errors
/// A text of another form.
pub fn day(text: &str) -> Result<String, String> {
    let is = |(at, c): (usize, char)| if matches!(at, 4 | 7) { c == '-' } else { c.is_ascii_digit() };
    let is_day = text.len() == 10 && text.char_indices().all(is);
    is_day.then(|| text.to_owned()).ok_or_else(|| "a day is YYYY-MM-DD, for example 2026-11-28".into())
}

#[cfg(test)]
mod tests {
    use super::{bytes, count, day, percentage, share};

    #[test]
    fn days_have_ten_places() {
        assert_eq!(day("2026-11-28").as_deref(), Ok("2026-11-28"));
        for wrong in ["", "2026", "2026-11-2", "28-11-2026", "2026-11-28T00", "2026/11/28", "yesterday!"] {
            assert!(day(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_percentage_needs_no_sign() {
        for (text, share) in
            [("3%", 0.03), ("3", 0.03), ("0.5%", 0.005), ("0", 0.0), ("10", 0.1), ("1", 0.01)]
        {
            assert!((percentage(text).unwrap() - share).abs() < 1e-12, "{text}");
        }
        for wrong in ["0.05", "", "x", "-3", "3 percent", "nan"] {
            assert!(percentage(wrong).is_err(), "{wrong}");
        }
        assert!(percentage("0.05").unwrap_err().contains("write 0.05% or 5%"));
    }

    #[test]
    fn each_suffix_has_its_meaning() {
        for (text, expected) in [
            ("0", 0),
            ("100", 100),
            ("100B", 100),
            ("16K", 16_384),
            ("16k", 16_384),
            ("4KiB", 4_096),
            ("4kib", 4_096),
            ("4kB", 4_000),
            ("4KB", 4_000),
            ("1m", 1_048_576),
            ("1MiB", 1_048_576),
            ("1MB", 1_000_000),
            ("2G", 2_147_483_648),
            ("2GiB", 2_147_483_648),
            ("2gb", 2_000_000_000),
            ("1T", 1_099_511_627_776),
            ("1TiB", 1_099_511_627_776),
            ("1TB", 1_000_000_000_000),
            (" 8K ", 8_192),
        ] {
            assert_eq!(bytes(text, 1), Ok(expected), "{text}");
        }
        assert_eq!(bytes("64", 1024), Ok(65_536), "lmbench's kilobytes");
        assert_eq!(bytes("64B", 1024), Ok(64));
    }

    #[test]
    fn what_is_not_a_size_is_refused() {
        for wrong in [
            "",
            "K",
            "KiB",
            "abc",
            "-1",
            "+1",
            "1.5K",
            "16KX",
            "16 KiBi",
            "1e3",
            "99999999999G",
            "99999999999999999999",
            "\u{e9}",
            "4\u{212a}",
        ] {
            assert!(bytes(wrong, 1).is_err(), "{wrong}");
        }
    }
    #[test]
    fn shares_are_read_and_slips_refused() {
        assert_eq!(share("5%"), Ok(0.05));
        assert_eq!(share(" 2.5 % "), Ok(0.025));
        assert_eq!(share("0.05"), Ok(0.05));
        for wrong in ["5", "-1%", "NaN", "inf%", "five", "", "%"] {
            assert!(share(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn counts_are_in_their_range() {
        let switches = |text: &str| count(text, 1..=1_000_000_000_000, "switches", 1_000_000);
        assert_eq!(switches("1"), Ok(1));
        for wrong in ["0", "-1", "x", "", "1000000000001", "18446744073709551616", "1e6"] {
            assert!(switches(wrong).is_err(), "{wrong}");
        }
        assert_eq!(count("2", 2..=1_000_000, "tasks", 50), Ok(2));
        assert_eq!(count(" 1000000", 2..=1_000_000, "tasks", 50), Ok(1_000_000));
        for wrong in
            ["0", "1", "-1", "x", "", "2.5", "1e3", "1000001", "99999999999999999999999999999999999999999999"]
        {
            let error = count(wrong, 2..=1_000_000, "tasks", 50).unwrap_err();
            assert_eq!(
                error, "the number of tasks is a whole number from 2 to 1000000, for example 50",
                "{wrong}"
            );
        }
    }
}
