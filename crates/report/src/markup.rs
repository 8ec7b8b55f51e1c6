//! What surrounds `maud`, which writes the elements of the page and of pictures.
//!
//! Names of elements and attributes are literals of its macro, so no string of a record can become one; it escapes text
//! and values of attributes, always. What comes out is both HTML and well-formed XML: every element is closed, and no
//! named entity is used.

use maud::{Markup, PreEscaped};
use tollgate_record::text::printable;

/// No name or sentence of a record is longer; anything longer is not for a page.
const MOST: usize = 600;

/// Elements after which a line ends, so that a page can be read and compared as text.
const BLOCKS: [&str; 12] =
    ["section", "h1", "h2", "h3", "li", "tr", "details", "p", "figure", "header", "table", "style"];

/// A string of a record as one printable line of bearable length.
pub(crate) fn clean(text: &str) -> String {
    let mut clean: String = printable(text).chars().take(MOST).collect();
    if clean.len() < text.len() && text.chars().count() > MOST {
        clean.push('…');
    }
    // The two of the Basic Multilingual Plane that XML forbids.
    clean.trim().replace(['\u{fffe}', '\u{ffff}'], "?")
}

/// The style sheet or the script, which are ours; wrapped so that XML reads it as plain text.
pub(crate) fn own(text: &'static str) -> Markup {
    PreEscaped(format!("/*<![CDATA[*/\n{text}\n/*]]>*/"))
}

/// The whole as text, with a line break at its end.
pub(crate) fn finish(made: Markup) -> String {
    // Whatever way it came: no control character is in the page.
    let unsafe_one = |c: char| c.is_control() && c != '\n' || matches!(c, '\u{fffe}' | '\u{ffff}');
    let mut text = made.into_string().replace(unsafe_one, "?");
    // What in SVG is mostly empty, which is to say that its last attribute is before its end: there HTML knows the short
    // form too.
    for tag in ["rect", "line", "path", "use"] {
        text = text.replace(&format!("\"></{tag}>"), "\"/>");
    }
    for tag in BLOCKS {
        let end = format!("</{tag}>");
        text = text.replace(&end, &format!("{end}\n"));
    }
    text + "\n"
}

/// A share of the width as a percentage.
pub(crate) fn percent(share: f64) -> String {
    short(share * 100.0, 2) + "%"
}

/// A length in pixels: one decimal, and zero for what is not a number.
pub(crate) fn px(length: f64) -> String {
    short(length, 1)
}

/// A finite number with so many decimals at most.
pub(crate) fn short(number: f64, decimals: usize) -> String {
    if !number.is_finite() {
        return "0".into();
    }
    let text = format!("{number:.decimals$}");
    let text = if decimals > 0 { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    if text == "-0" { "0".into() } else { text.into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use maud::html;

    #[test]
    fn markup_in_text_and_values_stays_text() {
        let made = html! {
            b title=("\"><script>x</script>") { (clean("</b><img src=x onerror=y>&amp;")) }
        };
        assert_eq!(
            finish(made),
            "<b title=\"&quot;&gt;&lt;script&gt;x&lt;/script&gt;\">&lt;/b&gt;&lt;img src=x \
             onerror=y&gt;&amp;amp;</b>\n"
        );
    }

    #[test]
    fn control_characters_do_not_get_through_any_door() {
        let made = html! { b title=("a\0\u{1b}b") { (clean("c\u{7}\u{202e}d")) ("e\0\u{ffff}f") } };
        assert_eq!(finish(made), "<b title=\"a??b\">c??de??f</b>\n");
    }

    #[test]
    fn a_text_without_end_is_cut() {
        assert_eq!(clean(&"x".repeat(10_000)).chars().count(), MOST + 1);
    }

    #[test]
    fn numbers_are_short_and_finite() {
        for (number, text) in [(1.0, "1"), (0.25, "0.2"), (-0.01, "0"), (f64::NAN, "0"), (f64::INFINITY, "0")]
        {
            assert_eq!(short(number, 1), text);
        }
        assert_eq!([short(100.0, 0), short(-0.4, 0)], ["100", "0"]);
        assert_eq!(percent(0.33333), "33.33%");
    }

    #[test]
    fn an_empty_element_is_closed_as_html_asks() {
        let made = html! { path d="M0 0" {} rect x="1" { title { "in it" } } i {} };
        assert_eq!(finish(made), "<path d=\"M0 0\"/><rect x=\"1\"><title>in it</title></rect><i></i>\n");
    }
}
