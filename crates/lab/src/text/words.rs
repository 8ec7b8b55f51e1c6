//! Figures in words and columns.

/// A `#` of a bar stands for this many per cent.
const PER_CENT_PER_MARK: f64 = 4.0;

pub(super) fn line(out: &mut String, text: std::fmt::Arguments<'_>) {
    let text = text.to_string();
    out.push_str(text.trim_end());
    out.push('\n');
}

pub(super) fn per_cent(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 * 100.0 }
}

/// At least one mark for what is not nothing.
pub(super) fn bar(per_cent: f64) -> String {
    let marks = (per_cent / PER_CENT_PER_MARK).round() as usize;
    "#".repeat(if per_cent > 0.0 { marks.max(1) } else { 0 })
}

/// A mean without decimals where it is a whole number, so that an exact figure looks exact.
pub(super) fn mean(sum: u64, count: u64) -> String {
    match count {
        0 => "-".to_owned(),
        _ if sum.is_multiple_of(count) => grouped(sum / count),
        _ => format!("{:.2}", sum as f64 / count as f64),
    }
}

/// A number with its thousands set apart.
#[must_use]
pub fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A share in words: the nearest fraction that people say.
pub(super) fn fraction(part: u64, whole: u64) -> &'static str {
    const WORDS: [(f64, &str); 13] = [
        (0.0, "None"),
        (0.05, "A twentieth"),
        (0.1, "A tenth"),
        (0.2, "A fifth"),
        (0.25, "A quarter"),
        (1.0 / 3.0, "A third"),
        (0.4, "Two fifths"),
        (0.5, "Half"),
        (0.6, "Three fifths"),
        (2.0 / 3.0, "Two thirds"),
        (0.75, "Three quarters"),
        (0.8, "Four fifths"),
        (0.9, "Nine tenths"),
    ];
    if whole == 0 || part == 0 {
        return "None";
    }
    let share = part as f64 / whole as f64;
    if share > 0.95 {
        return "Nearly all";
    }
    let nearest = WORDS[1..].iter().min_by(|a, b| (a.0 - share).abs().total_cmp(&(b.0 - share).abs()));
    nearest.map_or("None", |(_, words)| words)
}

/// Breaks a paragraph at 80 columns.
#[must_use]
pub fn wrapped(text: &str) -> String {
    let mut out = String::new();
    let mut column = 0;
    for word in text.split_whitespace() {
        let width = word.chars().count();
        if column > 0 && column + 1 + width > 80 {
            out.push('\n');
            column = 0;
        } else if column > 0 {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += width;
    }
    out.push('\n');
    out
}

#[cfg(test)]
mod tests {
    use super::{bar, fraction, grouped, mean, wrapped};

    #[test]
    fn shares_are_named_by_the_nearest_fraction() {
        assert_eq!(fraction(2, 3), "Two thirds");
        assert_eq!(fraction(86, 134), "Two thirds");
        assert_eq!(fraction(72, 95), "Three quarters");
        assert_eq!(fraction(0, 7), "None");
        assert_eq!(fraction(7, 0), "None");
        assert_eq!(fraction(99, 100), "Nearly all");
    }

    #[test]
    fn exact_figures_look_exact() {
        assert_eq!(mean(98_000, 1000), "98");
        assert_eq!(mean(3, 2), "1.50");
        assert_eq!(mean(3, 0), "-");
        assert_eq!(mean(1_234_567, 1), "1,234,567");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(0), "0");
    }

    #[test]
    fn what_is_not_nothing_has_a_mark() {
        assert_eq!(bar(0.0), "");
        assert_eq!(bar(0.1), "#");
        assert_eq!(bar(100.0).len(), 25);
    }

    #[test]
    fn paragraphs_break_before_column_81() {
        let text = wrapped(&"word ".repeat(40));
        assert!(text.lines().all(|line| line.len() <= 80));
        assert_eq!(text.lines().next().map(str::len), Some(79));
        assert_eq!(text.split_whitespace().count(), 40);
    }
}
