//! `tollgate help TOPIC`: pages of the book that a reader needs at the terminal.

use crate::output::Sink;
use std::ffi::OsString;
use std::process::ExitCode;

/// A section of a page of the book.
struct Topic {
    name: &'static str,
    page: &'static str,
    heading: &'static str,
}

const TOPICS: &[Topic] = &[Topic {
    name: "quote",
    page: include_str!("../METHOD.md"),
    heading: "Which figure do I quote, and how sure is it?",
}];

impl Topic {
    fn section(&self) -> Option<&'static str> {
        self.page.split("\n## ").find(|section| section.starts_with(self.heading))
    }
}

/// The section that a command line asks for, if it asks for one.
pub(crate) fn asked(args: impl Iterator<Item = OsString>) -> Option<&'static str> {
    let words: Vec<OsString> = args.skip(1).filter(|word| word != "--help").collect();
    let [help, name] = words.as_slice() else { return None };
    let topic = TOPICS.iter().find(|topic| help == "help" && name == topic.name)?;
    topic.section()
}

/// Prints a section.
pub(crate) fn print(section: &str) -> anyhow::Result<ExitCode> {
    Sink::text(None, "")?.deliver(readable(section))
}

/// A section without what only the book and its tests need: comments, and the addresses of links.
fn readable(section: &str) -> String {
    let mut text = "# ".to_owned();
    for line in section.lines().filter(|line| !line.trim_start().starts_with("<!--")) {
        text += &without_addresses(line);
        text.push('\n');
    }
    while text.contains("\n\n\n") {
        text = text.replace("\n\n\n", "\n\n");
    }
    text
}

/// A line in which `[text](address)` is `text`.
fn without_addresses(line: &str) -> String {
    let mut text = String::new();
    let mut rest = line;
    while let Some((before, link)) = rest.split_once('[') {
        let Some((name, after)) = link.split_once("](") else { break };
        let Some((_, after)) = after.split_once(')') else { break };
        text += before;
        text += name;
        rest = after;
    }
    text + rest
}

#[cfg(test)]
mod tests {
    use super::{TOPICS, asked, readable, without_addresses};

    #[test]
    fn a_topic_is_asked_for_by_its_name_alone() {
        let asks = |line: &str| asked(line.split(' ').map(Into::into)).is_some();
        assert!(asks("tollgate help quote"));
        for line in ["tollgate help", "tollgate quote", "tollgate help run", "tollgate help quote run"] {
            assert!(!asks(line), "{line}");
        }
    }

    #[test]
    fn a_page_has_neither_comments_nor_addresses() {
        assert_eq!(without_addresses("see [the *method*](a.md), [b](c) [d]"), "see the *method*, b [d]");
        for topic in TOPICS {
            let text = readable(topic.section().unwrap());
            assert!(!text.contains("<!--") && !text.contains("](") && !text.contains("\n\n\n"), "{text}");
            assert!(text.starts_with("# "), "{text}");
        }
    }
}
