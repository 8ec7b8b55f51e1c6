//! Sizes on the command line: the one parser of all commands.

/// Bytes of `64K`, `64KiB` (65,536), `64kB` (64,000), `1M`, `2G`, `1T`, or of a plain number in units of `unit` bytes.
pub(crate) fn bytes(text: &str, unit: u64) -> Result<u64, String> {
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

#[cfg(test)]
mod tests {
    use super::bytes;

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
}
