//! Our own pages, written in Markdown, as elements. Links lead nowhere from a page without the others, so their text
//! stays; HTML in a page would be shown as text.

use maud::{Markup, PreEscaped, html};
use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};

/// What begins a table: a box that scrolls by itself.
const TABLE: &str =
    r#"<div class="scroll" role="group" tabindex="0" aria-label="Table in the method"><table>"#;

/// The blocks of a text whose headings of the second level become `top`.
pub(super) fn blocks(text: &'static str, top: usize) -> Markup {
    let mut out = String::new();
    let (mut in_title, mut in_head) = (false, false);
    for event in Parser::new_ext(text, Options::ENABLE_TABLES) {
        match event {
            // The title of the page is the title of what it is shown in.
            Event::Start(Tag::Heading { level: HeadingLevel::H1, .. }) => in_title = true,
            Event::End(TagEnd::Heading(HeadingLevel::H1)) => in_title = false,
            _ if in_title => {}
            Event::Start(tag) => {
                in_head |= tag == Tag::TableHead;
                out += tags(tag.to_end(), top, in_head).0;
            }
            Event::End(end) => {
                out += tags(end, top, in_head).1;
                in_head &= end != TagEnd::TableHead;
            }
            // A comment is for the tests of the pages.
            Event::Html(text) | Event::InlineHtml(text) if text.trim_start().starts_with("<!--") => {}
            Event::Code(code) => out += &html! { code { (&*code) } }.0,
            Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => out += &html! { (&*text) }.0,
            Event::SoftBreak | Event::HardBreak => out.push('\n'),
            _ => {}
        }
    }
    PreEscaped(out)
}

/// What begins an element and what ends it.
fn tags(of: TagEnd, top: usize, in_head: bool) -> (&'static str, &'static str) {
    match of {
        TagEnd::Paragraph => ("<p>", "</p>"),
        TagEnd::Heading(level) => match level as usize + top - 2 {
            ..=3 => ("<h3>", "</h3>"),
            4 => ("<h4>", "</h4>"),
            5 => ("<h5>", "</h5>"),
            _ => ("<h6>", "</h6>"),
        },
        TagEnd::CodeBlock => ("<pre tabindex=\"0\">", "</pre>"),
        TagEnd::List(false) => ("<ul>", "</ul>"),
        TagEnd::List(true) => ("<ol>", "</ol>"),
        TagEnd::Item => ("<li>", "</li>"),
        TagEnd::Table => (TABLE, "</table></div>"),
        TagEnd::TableHead => ("<thead><tr>", "</tr></thead>"),
        TagEnd::TableRow => ("<tr>", "</tr>"),
        TagEnd::TableCell if in_head => ("<th scope=\"col\">", "</th>"),
        TagEnd::TableCell => ("<td>", "</td>"),
        TagEnd::Emphasis => ("<em>", "</em>"),
        TagEnd::Strong => ("<strong>", "</strong>"),
        _ => ("<span>", "</span>"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_blocks_that_our_pages_use() {
        let text = "# Title\n\n<!-- given: 1 -->\nA *b* `c<d>` [link](x.md).\n\n## Two\n\n- one\n\n    code &\n\n| a | b |\n|---|---|\n| 1 | 2 |\n";
        let out = blocks(text, 4).into_string();
        for piece in [
            "<p>A <em>b</em> <code>c&lt;d&gt;</code> <span>link</span>.</p>",
            "<h4>Two</h4>",
            "<thead><tr><th scope=\"col\">a</th>",
            "<tr><td>1</td><td>2</td></tr>",
        ] {
            assert!(out.contains(piece), "{piece} in {out}");
        }
        assert!(!out.contains("Title") && !out.contains("given"), "{out}");
    }
}
