//! Numbers as programs print them in their user's locale: decimal marks, and marks between groups of digits.

/// Which decimal marks a text certainly contains. Only they decide what `1,234` is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct DecimalMarks {
    comma: bool,
    point: bool,
}

/// A number cut at its marks.
struct Digits<'a> {
    /// The digits before the decimal mark, with the marks between their groups.
    whole: &'a str,
    /// The decimal mark and the digits after it.
    fraction: Option<(char, &'a str)>,
    /// Whether the mark may as well be one between groups.
    unclear: bool,
}

impl DecimalMarks {
    /// The decimal marks of the words of a text that can be numbers.
    pub(super) fn of(text: &str) -> Self {
        let mut marks = Self::default();
        for word in text.split_whitespace() {
            let word = word
                .trim_matches(|c: char| !c.is_ascii_digit() && !",.".contains(c))
                .trim_end_matches([',', '.']);
            let Some(Digits { fraction: Some((mark, _)), unclear: false, .. }) = digits(word) else {
                continue;
            };
            marks.comma |= mark == ',';
            marks.point |= mark == '.';
        }
        marks
    }

    /// The number that a text is: `0.757015`, `0,757015`, `1.234,5`, `1e-3`, `nan`.
    ///
    /// # Errors
    /// What is not a number, and what may be two different ones.
    pub(super) fn read(self, text: &str) -> Result<f64, String> {
        let text = text.trim();
        let wrong = || format!("`{}` is not a number", shown(text));
        let (sign, unsigned) = match text.strip_prefix('-') {
            Some(rest) => (-1.0, rest),
            None => (1.0, text.strip_prefix('+').unwrap_or(text)),
        };
        if matches!(unsigned.to_ascii_lowercase().as_str(), "nan" | "inf" | "infinity") {
            return text.parse().map_err(|_| wrong());
        }
        let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().map_err(|_| wrong())?),
            None => (unsigned, 0),
        };
        let number = digits(mantissa).ok_or_else(wrong)?;
        let (mark, fraction) = number.fraction.unwrap_or(('.', ""));
        let decimal = if mark == ',' { self.comma && !self.point } else { !self.comma };
        if number.unclear && !decimal {
            return Err(format!(
                "`{}` may be a number with {} decimals or a whole one with groups of digits, and the rest of the file does \
                 not show which: print it again with LC_ALL=C",
                shown(text),
                fraction.len()
            ));
        }
        let whole: String = number.whole.chars().filter(char::is_ascii_digit).collect();
        let plain: f64 = format!("{whole}.{fraction}0e{exponent}").parse().map_err(|_| wrong())?;
        Ok(sign * plain)
    }
}

/// The whole number at the start of a text, whatever marks its groups: `1.200.000`, `12,00,000`, `1 200 000`.
pub(super) fn whole_number(text: &str) -> Option<f64> {
    let text = text.trim_start();
    let end = text.find(|c: char| !c.is_ascii_digit() && !is_group_mark(c)).unwrap_or(text.len());
    let digits = text[..end].trim_end_matches(is_group_mark);
    is_grouped(digits)
        .then(|| digits.chars().filter(char::is_ascii_digit).collect::<String>().parse().ok())?
}

/// Cuts an unsigned number; `None` if it is not one.
fn digits(text: &str) -> Option<Digits<'_>> {
    if !text.contains(|c: char| c.is_ascii_digit())
        || text.contains(|c: char| !c.is_ascii_digit() && !is_group_mark(c))
    {
        return None;
    }
    let last = text.rfind([',', '.']);
    let Some(last) = last.filter(|&last| !text[..last].contains(&text[last..=last])) else {
        // No mark, or one that comes twice and so is between groups.
        return is_grouped(text).then_some(Digits { whole: text, fraction: None, unclear: false });
    };
    let (whole, fraction) = (&text[..last], &text[last + 1..]);
    let mark = if text.as_bytes()[last] == b',' { ',' } else { '.' };
    if fraction.contains(is_group_mark) || !(whole.is_empty() || is_grouped(whole)) {
        return None;
    }
    let plain = whole.bytes().all(|byte| byte.is_ascii_digit());
    let unclear = plain && fraction.len() == 3 && (1..=3).contains(&whole.len()) && !whole.starts_with('0');
    Some(Digits { whole, fraction: Some((mark, fraction)), unclear })
}

/// What separates groups of digits in one locale or another: a point, a comma, an apostrophe, blanks of several widths.
fn is_group_mark(c: char) -> bool {
    matches!(c, '.' | ',' | '\'' | '\u{2019}' | ' ' | '\u{a0}' | '\u{2009}' | '\u{202f}')
}

/// Whether these are digits, alone or in groups: the last of three, the others of three or, in India, of two.
fn is_grouped(text: &str) -> bool {
    let Some(mark) = text.chars().find(|&c| is_group_mark(c)) else {
        return !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    };
    let groups: Vec<&str> = text.split(mark).collect();
    let digits = groups.iter().all(|group| group.bytes().all(|byte| byte.is_ascii_digit()));
    let [first, middle @ .., last] = groups.as_slice() else { return false };
    let of =
        |size: usize| middle.iter().all(|group| group.len() == size) && (1..=size).contains(&first.len());
    digits && last.len() == 3 && (of(3) || of(2))
}

fn shown(text: &str) -> String {
    tollgate_record::text::printable(text).chars().take(40).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_five_locales() {
        // glibc's LC_NUMERIC: de_DE and tr_TR `1.234,5`, fr_FR with U+202F, en_IN groups 3;2.
        for (text, expected) in [
            ("0.757015", 0.757_015),
            ("0,757015", 0.757_015),
            ("13,959000", 13.959),
            ("1.234,567890", 1_234.567_89),
            ("1,234.567890", 1_234.567_89),
            ("12,34,567.25", 1_234_567.25),
            ("1\u{202f}234,567890", 1_234.567_89),
            ("1\u{a0}234\u{a0}567,5", 1_234_567.5),
            ("1'234.5", 1_234.5),
            ("1.200.000", 1_200_000.0),
            ("5,", 5.0),
            ("135.", 135.0),
            (",5", 0.5),
            ("1234,567", 1_234.567),
            ("0,123", 0.123),
            ("1.234", 1.234),
            ("-2,50", -2.5),
            ("1,5e-3", 0.0015),
            ("1.2e3", 1_200.0),
            ("12", 12.0),
        ] {
            assert_eq!(DecimalMarks::default().read(text), Ok(expected), "{text}");
        }
        assert!(DecimalMarks::default().read("nan").unwrap().is_nan());
    }

    #[test]
    fn what_may_be_two_numbers_is_refused_unless_the_file_decides() {
        let german = DecimalMarks::of("Simple read: 0,1801 microseconds");
        assert_eq!(german.read("1,234"), Ok(1.234));
        assert!(german.read("1.234").unwrap_err().contains("LC_ALL=C"));
        let english = DecimalMarks::of("Simple read: 0.1801 microseconds");
        assert_eq!(english.read("1.234"), Ok(1.234));
        for marks in [english, DecimalMarks::default(), DecimalMarks { comma: true, point: true }] {
            assert!(marks.read("1,234").unwrap_err().contains("may be"), "{marks:?}");
        }
        // A release of a kernel and a list show nothing.
        assert_eq!(DecimalMarks::of("Linux 6.1.0, groups 1,200,000 and 2,8,32."), DecimalMarks::default());
    }

    #[test]
    fn what_is_not_a_number_is_refused() {
        for wrong in [
            "",
            ".",
            ",",
            "abc",
            "1,23.456.7",
            "1,2,3",
            "1.2.3",
            "12,3456,789",
            "0x10",
            "1e",
            "--1",
            "1 2",
            "١٢",
        ] {
            assert!(DecimalMarks::default().read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn whole_numbers_with_every_mark_between_their_groups() {
        for text in [
            "1200000",
            "1,200,000",
            "1.200.000",
            "12,00,000",
            "1\u{202f}200\u{202f}000 getppid() calls",
            "1 200 000",
            "1'200'000",
        ] {
            assert_eq!(whole_number(text), Some(1_200_000.0), "{text}");
        }
        assert_eq!(whole_number("20000 pipe operations"), Some(20_000.0));
        for wrong in ["", "many", "12,0", "1,2000"] {
            assert_eq!(whole_number(wrong), None, "{wrong}");
        }
    }
}
