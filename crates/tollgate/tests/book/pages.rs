//! The Markdown files of the repository, and the blocks of code in them.

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

    /// The lines outside fenced blocks, with their numbers.
    pub(crate) fn prose(&self) -> Vec<(usize, &str)> {
        let mut fenced = false;
        let mut prose = Vec::new();
        for (number, line) in (1..).zip(self.text.lines()) {
            if line.trim_start().starts_with("```") {
                fenced = !fenced;
            } else if !fenced {
                prose.push((number, line));
            }
        }
        prose
    }
}

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
