//! Our own pages, written in Markdown, as elements. Links lead nowhere from a page without the others, so their text
//! stays; HTML in a page would be shown as text.

use crate::markup::{Element, Node, el};
use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};

/// The blocks of a text whose headings of the second level become `top`.
pub(super) fn blocks(text: &'static str, top: usize) -> Vec<Node> {
    let mut open: Vec<Element> = vec![el("div")];
    let mut head = false;
    // The title of the page is the title of what it is shown in.
    let mut titles = 0;
    for event in Parser::new_ext(text, Options::ENABLE_TABLES) {
        match event {
            Event::Start(Tag::Heading { level: HeadingLevel::H1, .. }) => titles += 1,
            Event::End(TagEnd::Heading(HeadingLevel::H1)) => titles -= 1,
            _ if titles > 0 => {}
            Event::Start(tag) => {
                head |= matches!(tag, Tag::TableHead);
                open.push(element(&tag, top, head));
            }
            Event::End(end) => {
                let Some(done) = open.pop() else { break };
                let done = match end {
                    TagEnd::TableHead => {
                        head = false;
                        el("thead").with(el("tr").all(done.into_children()))
                    }
                    TagEnd::Table => el("div")
                        .class("scroll")
                        .set("role", "group")
                        .set("tabindex", "0")
                        .set("aria-label", "Table in the method")
                        .with(done),
                    _ => done,
                };
                match open.last_mut() {
                    Some(parent) => parent.push(done),
                    None => open.push(done),
                }
            }
            Event::Text(text) => push(&mut open, Node::Text(text.into_string())),
            Event::Code(code) => push(&mut open, el("code").words(code.into_string()).into()),
            Event::Html(text) | Event::InlineHtml(text) => push(&mut open, Node::Text(text.into_string())),
            Event::SoftBreak | Event::HardBreak => push(&mut open, Node::Text("\n".into())),
            _ => {}
        }
    }
    open.into_iter().next().map(Element::into_children).unwrap_or_default()
}

fn push(open: &mut [Element], node: Node) {
    if let Some(last) = open.last_mut() {
        last.push(node);
    }
}

fn element(tag: &Tag, top: usize, head: bool) -> Element {
    match tag {
        Tag::Paragraph => el("p"),
        Tag::Heading { level, .. } => el(match *level as usize + top - 2 {
            ..=3 => "h3",
            4 => "h4",
            5 => "h5",
            _ => "h6",
        }),
        Tag::CodeBlock(_) => el("pre").set("tabindex", "0"),
        Tag::List(None) => el("ul"),
        Tag::List(Some(_)) => el("ol"),
        Tag::Item => el("li"),
        Tag::Table(_) => el("table"),
        Tag::TableRow => el("tr"),
        Tag::TableCell if head => el("th").set("scope", "col"),
        Tag::TableCell => el("td"),
        Tag::Emphasis => el("em"),
        Tag::Strong => el("strong"),
        _ => el("span"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_blocks_that_our_pages_use() {
        let text = "# Title\n\nA *b* `c<d>` [link](x.md).\n\n## Two\n\n- one\n\n    code &\n\n| a | b |\n|---|---|\n| 1 | 2 |\n";
        let mut out = String::new();
        for node in blocks(text, 4) {
            node.write(&mut out);
        }
        for piece in [
            "<p>A <em>b</em> <code>c&lt;d&gt;</code> <span>link</span>.</p>",
            "<h4>Two</h4>",
            "<thead><tr><th scope=\"col\">a</th>",
            "<tr><td>1</td><td>2</td></tr>",
        ] {
            assert!(out.contains(piece), "{piece} in {out}");
        }
        assert!(!out.contains("Title"), "{out}");
    }
}
