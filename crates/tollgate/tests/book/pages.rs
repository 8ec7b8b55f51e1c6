//! The Markdown files of the repository, the blocks of code in them, and their marks: comments in the source that
//! say what these tests need and a reader does not.
//!
//! A mark that is a paragraph by itself holds for its section; one directly above a paragraph or a block, for that.

use std::fs;
use std::path::Path;

pub(crate) struct Page {
    /// From the root of the repository, with slashes.
    pub name: String,
    pub text: String,
}

/// A fenced block: its mark (`sh`, `console`), the number of its first line, and its lines.
pub(crate) struct Block {
    pub mark: String,
    pub line: usize,
    pub lines: Vec<String>,
}

/// A comment `<!-- KEY: TEXT -->`, or `<!-- TEXT -->` with an empty key.
pub(crate) struct Mark {
    pub key: String,
    pub text: String,
    pub line: usize,
    /// The lines for which it holds.
    pub lines: std::ops::Range<usize>,
}

/// The number of `#` before a heading.
fn level(line: &str) -> Option<usize> {
    let level = line.bytes().take_while(|&it| it == b'#').count();
    (level > 0 && line[level..].starts_with(' ')).then_some(level)
}

impl Page {
    pub(crate) fn at(root: &Path, name: &str) -> Self {
        let text =
            fs::read_to_string(root.join(name)).unwrap_or_else(|error| panic!("cannot read {name}: {error}"));
        Self { name: name.to_owned(), text }
    }

    pub(crate) fn blocks(&self) -> Vec<Block> {
        let mut blocks = Vec::new();
        let mut open: Option<Block> = None;
        for (number, line) in (1..).zip(self.text.lines()) {
            match (line.trim_start().strip_prefix("```"), &mut open) {
                (Some(mark), None) => {
                    open = Some(Block { mark: mark.trim().to_owned(), line: number + 1, lines: Vec::new() });
                }
                (Some(_), Some(_)) => blocks.extend(open.take()),
                (None, Some(block)) => block.lines.push(line.to_owned()),
                (None, None) => {}
            }
        }
        assert!(open.is_none(), "{}: a block of code has no end", self.name);
        blocks
    }

    /// The lines outside fenced blocks and marks, with their numbers.
    pub(crate) fn prose(&self) -> Vec<(usize, &str)> {
        let mut fenced = false;
        let mut prose = Vec::new();
        for (number, line) in (1..).zip(self.text.lines()) {
            if line.trim_start().starts_with("```") {
                fenced = !fenced;
            } else if !fenced && !line.trim_start().starts_with("<!-- ") {
                prose.push((number, line));
            }
        }
        prose
    }

    /// The line after the section that contains a line: that of the next heading of its level or above, or the page's end.
    pub(crate) fn section_end(&self, line: usize) -> usize {
        let prose = self.prose();
        let own = prose.iter().rev().filter(|(number, _)| *number <= line).find_map(|(_, text)| level(text));
        let ends = |text: &str| level(text).is_some_and(|level| level <= own.unwrap_or(1));
        let next = prose.iter().find(|(number, text)| *number > line && ends(text));
        next.map_or(self.text.lines().count() + 1, |(number, _)| *number)
    }

    pub(crate) fn marks(&self) -> Vec<Mark> {
        let lines: Vec<&str> = self.text.lines().map(str::trim).collect();
        let comment = |at: usize| lines.get(at)?.strip_prefix("<!-- ")?.strip_suffix(" -->");
        let mut marks = Vec::new();
        for at in 0..lines.len() {
            let Some(text) = comment(at) else { continue };
            let first = (0..=at).rev().take_while(|&it| comment(it).is_some()).last().unwrap_or(at);
            let below = (at..lines.len()).find(|&it| comment(it).is_none()).unwrap_or(lines.len());
            let end = if lines.get(below).is_none_or(|line| line.is_empty()) {
                self.section_end(at + 1)
            } else {
                (below..lines.len()).find(|&it| lines[it].is_empty()).unwrap_or(lines.len()) + 1
            };
            let keyed = text.split_once(": ").filter(|(key, _)| KEYS.contains(key));
            let (key, text) = keyed.unwrap_or(("", text));
            let (key, text) = (key.to_owned(), text.to_owned());
            marks.push(Mark { key, text, line: at + 1, lines: first + 1..end });
        }
        marks
    }
}

/// What marks say: a line that a reader of the page has run before; why commands are not run, or which program they need;
/// a command whose output the prose quotes; numbers of the prose that are inputs; a passage of another file that it quotes;
/// where figures were recorded. Between two anchors of mdBook is what another page includes.
const KEYS: [&str; 9] =
    ["first", "not run", "needs", "output", "given", "quoted", "recorded", "ANCHOR", "ANCHOR_END"];

/// The pages of the book.
pub(crate) fn book(root: &Path) -> Vec<Page> {
    let mut names = Vec::new();
    collect(root, Path::new("docs"), &mut names);
    assert!(names.len() > 30, "{names:?}");
    names.iter().map(|name| Page::at(root, name)).collect()
}

/// The pages of the book, and the documents outside of it.
pub(crate) fn all(root: &Path) -> Vec<Page> {
    let outside = [
        "README.md",
        "METHOD.md",
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
        "CHANGELOG.md",
        "runtimes/PROTOCOL.md",
        "guests/riscv/README.md",
        "guests/x86/README.md",
        "python/README.md",
    ];
    let mut pages = book(root);
    pages.extend(outside.iter().map(|name| Page::at(root, name)));
    pages
}

fn collect(root: &Path, folder: &Path, names: &mut Vec<String>) {
    let mut entries: Vec<_> =
        fs::read_dir(root.join(folder)).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        let name = folder.join(path.file_name().unwrap());
        if path.is_dir() {
            collect(root, &name, names);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            names.push(name.to_str().unwrap().to_owned());
        }
    }
}
