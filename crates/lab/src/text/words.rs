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

#[cfg(test)]
mod tests {
    use super::{bar, grouped, mean};

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
}
