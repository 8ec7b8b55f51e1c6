//! A page read back by a strict XML reader, as a flat list of its elements.
#![allow(dead_code, reason = "each test file uses its own part")]

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};
use std::collections::BTreeSet;

/// Every element that the page may have.
const TAGS: &[&str] = &[
    "a", "b", "body", "button", "caption", "code", "dd", "defs", "details", "div", "dl", "dt", "em",
    "figure", "footer", "g", "h1", "h2", "h3", "h4", "h5", "h6", "head", "header", "html", "i", "li", "line",
    "link", "main", "meta", "nav", "ol", "p", "path", "pattern", "pre", "rect", "script", "section", "span",
    "strong", "style", "summary", "svg", "table", "tbody", "td", "text", "th", "thead", "title", "tr", "ul",
    "use",
];

/// Every attribute.
const ATTRIBUTES: &[&str] = &[
    "aria-hidden",
    "aria-label",
    "aria-labelledby",
    "charset",
    "class",
    "colspan",
    "content",
    "d",
    "data-name",
    "data-v",
    "height",
    "href",
    "http-equiv",
    "id",
    "lang",
    "name",
    "patternTransform",
    "patternUnits",
    "preserveAspectRatio",
    "rel",
    "role",
    "scope",
    "style",
    "tabindex",
    "text-anchor",
    "transform",
    "viewBox",
    "width",
    "x",
    "x1",
    "x2",
    "xmlns",
    "y",
    "y1",
    "y2",
];

#[derive(Debug, Default)]
pub(crate) struct Element {
    pub(crate) tag: String,
    pub(crate) attributes: Vec<(String, String)>,
    /// All text in it, that of its children included.
    pub(crate) text: String,
    /// Places of the elements that it is in, outermost first.
    pub(crate) inside: Vec<usize>,
}

impl Element {
    pub(crate) fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(there, _)| there == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn is(&self, tag: &str, class: &str) -> bool {
        self.tag == tag
            && (class.is_empty()
                || self.attribute("class").is_some_and(|it| it.split(' ').any(|it| it == class)))
    }
}

#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) elements: Vec<Element>,
}

impl Page {
    /// The page's elements, or what is wrong with it: not well-formed, an element or an attribute that is not ours, a
    /// control character, an id twice, a link to nowhere or to elsewhere.
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        if let Some(c) = text.chars().find(|c| c.is_control() && *c != '\n') {
            return Err(format!("control character {c:?}"));
        }
        let mut reader = Reader::from_str(text);
        reader.config_mut().check_end_names = true;
        let (mut elements, mut open): (Vec<Element>, Vec<usize>) = (Vec::new(), Vec::new());
        let add = |elements: &mut Vec<Element>, open: &[usize], text: &str| {
            for place in open {
                elements[*place].text.push_str(text);
            }
        };
        loop {
            match reader
                .read_event()
                .map_err(|error| format!("at byte {}: {error}", reader.buffer_position()))?
            {
                Event::Start(start) => {
                    let element = element(&start, &open)?;
                    open.push(elements.len());
                    elements.push(element);
                }
                Event::Empty(start) => elements.push(element(&start, &open)?),
                Event::End(_) => {
                    open.pop();
                }
                Event::Text(text) => {
                    add(&mut elements, &open, &text.decode().map_err(|error| error.to_string())?)
                }
                Event::GeneralRef(name) => match &*name.decode().map_err(|error| error.to_string())? {
                    "amp" => add(&mut elements, &open, "&"),
                    "lt" => add(&mut elements, &open, "<"),
                    "gt" => add(&mut elements, &open, ">"),
                    "quot" => add(&mut elements, &open, "\""),
                    other => return Err(format!("entity {other}")),
                },
                Event::CData(_) => {
                    let inside = open.last().map(|place| elements[*place].tag.as_str());
                    if !matches!(inside, Some("style" | "script")) {
                        return Err(format!("raw text in {inside:?}"));
                    }
                }
                Event::DocType(_) => {}
                Event::Eof => break,
                other => return Err(format!("{other:?}")),
            }
        }
        if !open.is_empty() {
            return Err(format!("{} elements are not closed", open.len()));
        }
        let page = Self { elements };
        page.check_links()?;
        Ok(page)
    }

    fn check_links(&self) -> Result<(), String> {
        let mut ids = BTreeSet::new();
        for id in self.elements.iter().filter_map(|it| it.attribute("id")) {
            if !ids.insert(id) {
                return Err(format!("the id {id} is there twice"));
            }
        }
        for element in &self.elements {
            for id in element.attribute("aria-labelledby").into_iter().flat_map(str::split_whitespace) {
                if !ids.contains(id) {
                    return Err(format!("the label {id} is nowhere"));
                }
            }
            match element.attribute("href") {
                None | Some("data:,") => {}
                Some(href) => match href.strip_prefix('#') {
                    Some(id) if ids.contains(id) => {}
                    _ => return Err(format!("a link to {href:?}")),
                },
            }
        }
        for (tag, count) in [("script", 1), ("style", 1), ("h1", 1), ("main", 1)] {
            if self.all(tag, "").count() != count {
                return Err(format!("{} times {tag}", self.all(tag, "").count()));
            }
        }
        Ok(())
    }

    /// The elements of that tag and class.
    pub(crate) fn all<'a>(&'a self, tag: &'a str, class: &'a str) -> impl Iterator<Item = &'a Element> {
        self.elements.iter().filter(move |it| it.is(tag, class))
    }

    /// The elements of that tag and class in the part of the page with that anchor.
    pub(crate) fn part<'a>(&'a self, id: &str, tag: &'a str, class: &'a str) -> Vec<&'a Element> {
        let part =
            self.elements.iter().position(|it| it.is("section", "part") && it.attribute("id") == Some(id));
        let Some(part) = part else { return Vec::new() };
        self.all(tag, class).filter(|it| it.inside.contains(&part)).collect()
    }

    /// The rows of the first table of that part: the text of each cell, without headings.
    pub(crate) fn rows(&self, id: &str) -> Vec<Vec<String>> {
        self.part(id, "table", "").first().map_or_else(Vec::new, |table| self.rows_of(table))
    }

    /// The rows of a table that show figures.
    pub(crate) fn rows_of(&self, table: &Element) -> Vec<Vec<String>> {
        let table = self.place(table).unwrap();
        let bodies: Vec<usize> = self
            .all("tbody", "")
            .filter(|it| it.inside.contains(&table))
            .filter_map(|it| self.place(it))
            .collect();
        let in_body = |it: &&Element| it.inside.last().is_some_and(|place| bodies.contains(place));
        let rows = self.all("tr", "").filter(in_body).filter(|it| !it.is("tr", "group"));
        rows.map(|row| {
            let place = self.place(row);
            let cells = self.elements.iter().filter(|it| it.tag == "td" || it.tag == "th");
            cells.filter(|it| it.inside.last().copied() == place).map(|it| it.text.clone()).collect()
        })
        .collect()
    }

    /// The rows of that part that show this probe.
    pub(crate) fn named<'a>(&'a self, id: &str, name: &str) -> Vec<&'a Element> {
        self.part(id, "tr", "").into_iter().filter(|it| it.attribute("data-name") == Some(name)).collect()
    }

    /// The elements in another one.
    pub(crate) fn within<'a>(&'a self, outer: &Element, tag: &'a str, class: &'a str) -> Vec<&'a Element> {
        let place = self.place(outer).unwrap();
        self.all(tag, class).filter(|it| it.inside.contains(&place)).collect()
    }

    /// All text of that part.
    pub(crate) fn text(&self, id: &str) -> String {
        let part = self.all("section", "part").find(|it| it.attribute("id") == Some(id));
        part.map_or_else(String::new, |it| it.text.clone())
    }

    fn place(&self, element: &Element) -> Option<usize> {
        self.elements.iter().position(|it| std::ptr::eq(it, element))
    }
}

fn element(start: &BytesStart, open: &[usize]) -> Result<Element, String> {
    let tag = String::from_utf8_lossy(start.name().as_ref()).into_owned();
    if !TAGS.contains(&tag.as_str()) {
        return Err(format!("the element {tag:?}"));
    }
    let mut attributes = Vec::new();
    for attribute in start.attributes() {
        let attribute = attribute.map_err(|error| format!("{tag}: {error}"))?;
        let name = String::from_utf8_lossy(attribute.key.as_ref()).into_owned();
        if !ATTRIBUTES.contains(&name.as_str()) {
            return Err(format!("the attribute {name:?} of {tag}"));
        }
        let value = attribute.unescape_value().map_err(|error| format!("{tag} {name}: {error}"))?;
        attributes.push((name, value.into_owned()));
    }
    Ok(Element { tag, attributes, text: String::new(), inside: open.to_vec() })
}
