//! The logarithmic bar: seven decades, from a nanosecond to a millisecond, in one line.

use crate::style::Style;
use tollgate_record::Estimate;

/// The decades between the ends of the axis.
const DECADES: usize = 6;

/// The fewest columns that still tell one decade from the next.
pub(crate) const SHORTEST: usize = DECADES + 1;

/// Longer bars show nothing more.
pub(crate) const LONGEST: usize = 10 * DECADES + 1;

/// Where a bar ends, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Bar {
    /// At a figure.
    At(f64),
    /// Somewhere up to here: the figure cannot be told from zero.
    AtMost(f64),
}

impl Bar {
    /// The bar of a figure, or of its upper bound when it cannot be told from zero.
    pub(crate) fn of(figure: &Estimate) -> Self {
        if figure.is_zero_within_error() { Self::AtMost(figure.ci[1]) } else { Self::At(figure.estimate) }
    }
}

/// The bar in at most `columns`. A figure beyond the axis ends in an arrow.
pub(crate) fn draw(bar: Bar, columns: usize, style: &Style) -> String {
    let (ns, body) = match bar {
        Bar::At(ns) => (ns, style.pick("━", "-")),
        Bar::AtMost(ns) => (ns, style.pick("╌", ".")),
    };
    if ns.is_nan() {
        return String::new();
    }
    let end = ns.max(f64::MIN_POSITIVE).log10() / DECADES as f64 * (columns - 1) as f64;
    if end < 0.0 {
        return style.pick("◂", "<").into();
    }
    if ns > 1e6 {
        return body.repeat(columns - 1) + style.pick("▸", ">");
    }
    if matches!(bar, Bar::AtMost(_)) {
        return body.repeat(end.round() as usize) + style.pick("◂", "<");
    }
    if style.unicode {
        // The tick is the middle of its column, and half a column can be drawn.
        let halves = (end * 2.0).round() as usize + 1;
        return body.repeat(halves / 2) + if halves % 2 == 1 { "╸" } else { "" };
    }
    body.repeat(end.round() as usize) + "|"
}

/// The axis above bars of `columns`: as many labels as fit, each beginning at its place. The last one
/// reaches one column beyond the bars.
pub(crate) fn axis(columns: usize, style: &Style) -> String {
    let labels = [
        "1n",
        "10",
        "100",
        style.pick("1µ", "1u"),
        style.pick("10µ", "10u"),
        style.pick("100µ", "100u"),
        "1m",
    ];
    let place = |decade: usize| (decade as f64 / DECADES as f64 * (columns - 1) as f64).round() as usize;
    // Every decade, every second, every third, or the ends alone.
    let fits = |step: &usize| {
        (0..DECADES).step_by(*step).all(|d| place(d) + labels[d].chars().count() < place(d + step))
    };
    let step = [1, 2, 3].into_iter().find(fits).unwrap_or(DECADES);
    let mut axis = String::new();
    for decade in (0..=DECADES).step_by(step) {
        axis.push_str(&" ".repeat(place(decade) - axis.chars().count()));
        axis.push_str(labels[decade]);
    }
    axis
}

#[cfg(test)]
mod tests {
    use super::*;

    const ASCII: Style = Style { width: 80, color: false, unicode: false, ..Style::PLAIN };
    const UNICODE: Style = Style { unicode: true, ..ASCII };

    #[test]
    fn a_bar_ends_below_its_label() {
        assert_eq!(axis(25, &ASCII), "1n      100     10u     1m");
        assert_eq!(draw(Bar::At(1.0), 25, &ASCII), "|");
        assert_eq!(draw(Bar::At(1e3), 25, &ASCII), "------------|");
        assert_eq!(draw(Bar::At(1e6), 25, &ASCII).len(), 25);
        assert_eq!(draw(Bar::At(1.0), 25, &UNICODE), "╸");
        assert_eq!(draw(Bar::At(1e3), 25, &UNICODE), "━━━━━━━━━━━━╸");
    }

    #[test]
    fn beyond_the_ends_there_are_arrows() {
        assert_eq!(draw(Bar::At(0.3), 7, &ASCII), "<");
        assert_eq!(draw(Bar::At(-5.0), 7, &ASCII), "<");
        assert_eq!(draw(Bar::At(2e6), 7, &ASCII), "------>");
        assert_eq!(draw(Bar::At(f64::INFINITY), 7, &ASCII), "------>");
        assert_eq!(draw(Bar::At(f64::NAN), 7, &ASCII), "");
        assert_eq!(draw(Bar::AtMost(1e3), 7, &ASCII), "...<");
    }

    #[test]
    fn bars_and_axes_keep_within_their_columns() {
        for columns in SHORTEST..=LONGEST {
            for style in [ASCII, UNICODE] {
                assert!(axis(columns, &style).chars().count() <= columns + 1);
                for exponent in -20..80 {
                    let ns = 10f64.powf(f64::from(exponent) / 10.0);
                    for bar in [Bar::At(ns), Bar::AtMost(ns), Bar::At(-ns)] {
                        let length = draw(bar, columns, &style).chars().count();
                        assert!((1..=columns).contains(&length), "{bar:?} in {columns}");
                    }
                }
            }
        }
    }

    #[test]
    fn every_width_has_the_ends_on_its_axis() {
        for columns in SHORTEST..=LONGEST {
            let axis = axis(columns, &ASCII);
            assert!(axis.starts_with("1n") && axis.ends_with("1m"), "{axis:?}");
        }
        assert_eq!(axis(7, &ASCII), "1n 1u 1m");
        assert_eq!(axis(13, &ASCII), "1n  100 10u 1m");
    }
}
