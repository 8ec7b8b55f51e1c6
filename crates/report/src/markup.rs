//! HTML and SVG as a tree that cannot be broken out of.
//!
//! Names of elements and attributes are `&'static str`, so no string of a record can become one; text and
//! values of attributes are escaped when they are written, always. What comes out is both HTML and
//! well-formed XML: every element is closed, and no named entity is used.

use std::fmt::Write as _;
use tollgate_record::text::printable;

/// No name or sentence of a record is longer; anything longer is not for a page.
const MOST: usize = 600;

/// A piece of the page.
#[derive(Clone, Debug)]
pub(crate) enum Node {
    Element(Element),
    Text(String),
    /// The style sheet or the script, which are ours; wrapped so that XML reads it as plain text.
    Own(&'static str),
}

/// An element with its attributes and what is in it.
#[derive(Clone, Debug)]
pub(crate) struct Element {
    tag: &'static str,
    attributes: Vec<(&'static str, String)>,
    children: Vec<Node>,
}

/// An empty element.
pub(crate) fn el(tag: &'static str) -> Element {
    Element { tag, attributes: Vec::new(), children: Vec::new() }
}

/// A string of a record as one printable line of bearable length.
pub(crate) fn clean(text: &str) -> String {
    let mut clean: String = printable(text).chars().take(MOST).collect();
    if clean.len() < text.len() && text.chars().count() > MOST {
        clean.push('…');
    }
    // The two of the Basic Multilingual Plane that XML forbids.
    clean.trim().replace(['\u{fffe}', '\u{ffff}'], "?")
}

impl Element {
    /// With an attribute. A value is any text; a later one of the same name replaces it.
    pub(crate) fn set(mut self, name: &'static str, value: impl Into<Value>) -> Self {
        let value = value.into().0;
        match self.attributes.iter_mut().find(|(there, _)| *there == name) {
            Some(there) => there.1 = value,
            None => self.attributes.push((name, value)),
        }
        self
    }

    /// With classes.
    pub(crate) fn class(self, classes: impl Into<Value>) -> Self {
        self.set("class", classes)
    }

    /// With something more in it.
    pub(crate) fn with(mut self, child: impl Into<Node>) -> Self {
        self.children.push(child.into());
        self
    }

    /// With several things more in it.
    pub(crate) fn all<T: Into<Node>>(mut self, children: impl IntoIterator<Item = T>) -> Self {
        self.children.extend(children.into_iter().map(Into::into));
        self
    }

    /// With a text of a record, made one printable line.
    pub(crate) fn text(self, text: impl AsRef<str>) -> Self {
        let text = clean(text.as_ref());
        self.with(Node::Text(text))
    }

    /// With text of ours as it is, spaces at the ends and line breaks included.
    pub(crate) fn words(self, text: impl Into<String>) -> Self {
        self.with(Node::Text(text.into()))
    }

    /// One thing more in it, in place.
    pub(crate) fn push(&mut self, child: impl Into<Node>) {
        self.children.push(child.into());
    }

    /// What is in it.
    pub(crate) fn into_children(self) -> Vec<Node> {
        self.children
    }

    /// Whether nothing is in it.
    pub(crate) fn is_empty(&self) -> bool {
        self.children.is_empty()
    }

    /// The element as text.
    pub(crate) fn write(&self, out: &mut String) {
        out.push('<');
        out.push_str(self.tag);
        for (name, value) in &self.attributes {
            out.push(' ');
            out.push_str(name);
            out.push_str("=\"");
            escape(value, out);
            out.push('"');
        }
        // Void in HTML, and what in SVG is never anything but empty: there HTML knows the short form too.
        let empty = self.children.is_empty();
        let drawn = empty && matches!(self.tag, "rect" | "line" | "path" | "use");
        if drawn || matches!(self.tag, "br" | "input" | "link" | "meta" | "wbr" | "col" | "hr") {
            out.push_str("/>");
            return;
        }
        out.push('>');
        for child in &self.children {
            child.write(out);
        }
        let _ = write!(out, "</{}>", self.tag);
        if BLOCKS.contains(&self.tag) {
            out.push('\n');
        }
    }
}

/// Elements after which a line ends, so that a page can be read and compared as text.
const BLOCKS: [&str; 12] =
    ["section", "h1", "h2", "h3", "li", "tr", "details", "p", "figure", "header", "table", "style"];

impl Node {
    pub(crate) fn write(&self, out: &mut String) {
        match self {
            Self::Element(element) => element.write(out),
            Self::Text(text) => escape(text, out),
            Self::Own(text) => {
                let _ = write!(out, "/*<![CDATA[*/\n{text}\n/*]]>*/");
            }
        }
    }
}

impl From<Element> for Node {
    fn from(element: Element) -> Self {
        Self::Element(element)
    }
}

fn escape(text: &str, out: &mut String) {
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' => out.push('\n'),
            // Whatever way it came: no control character is in the page.
            c if c.is_control() || c == '\u{fffe}' || c == '\u{ffff}' => out.push('?'),
            c => out.push(c),
        }
    }
}

/// The value of an attribute.
pub(crate) struct Value(String);

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl From<&String> for Value {
    fn from(text: &String) -> Self {
        Self(text.clone())
    }
}

impl From<usize> for Value {
    fn from(number: usize) -> Self {
        Self(number.to_string())
    }
}

/// A length: one decimal, and zero for what is not a number.
impl From<f64> for Value {
    fn from(number: f64) -> Self {
        Self(short(number, 1))
    }
}

/// A share of the width as a percentage.
pub(crate) fn percent(share: f64) -> String {
    let mut text = short(share * 100.0, 2);
    text.push('%');
    text
}

/// A finite number with so many decimals at most.
pub(crate) fn short(number: f64, decimals: usize) -> String {
    if !number.is_finite() {
        return "0".into();
    }
    let text = format!("{number:.decimals$}");
    match text.split_once('.') {
        Some((whole, decimals)) => match decimals.trim_end_matches('0') {
            "" if whole == "-0" => "0".into(),
            "" => whole.into(),
            decimals => format!("{whole}.{decimals}"),
        },
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(element: &Element) -> String {
        let mut out = String::new();
        element.write(&mut out);
        out
    }

    #[test]
    fn markup_in_text_and_values_stays_text() {
        let made = el("b").set("title", "\"><script>x</script>").text("</b><img src=x onerror=y>&amp;");
        assert_eq!(
            written(&made),
            "<b title=\"&quot;&gt;&lt;script&gt;x&lt;/script&gt;\">&lt;/b&gt;&lt;img src=x \
             onerror=y&gt;&amp;amp;</b>"
        );
    }

    #[test]
    fn control_characters_do_not_get_through_any_door() {
        let made = el("b").set("title", "a\0\u{1b}b").text("c\u{7}\u{202e}d").words("e\0\u{ffff}f");
        assert_eq!(written(&made), "<b title=\"a??b\">c??de??f</b>");
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
        assert_eq!(percent(0.33333), "33.33%");
    }

    #[test]
    fn an_empty_element_is_closed_as_html_asks() {
        assert_eq!(written(&el("br")), "<br/>");
        assert_eq!(written(&el("i")), "<i></i>");
    }
}
