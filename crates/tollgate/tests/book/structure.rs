//! The book is whole: every page is in its table of contents, every link and path leads somewhere.

use crate::pages::{self, Page};
use crate::root;
use regex::Regex;
use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

fn links(page: &Page) -> Vec<(usize, String)> {
    let link = Regex::new(r"\]\(([^)\s]+)\)").unwrap();
    let code = Regex::new("`[^`]*`").unwrap();
    let mut found = Vec::new();
    for (number, line) in page.prose() {
        let line = code.replace_all(line, "code");
        found.extend(link.captures_iter(&line).map(|one| (number, one[1].to_owned())));
    }
    found.retain(|(_, target)| !target.contains("://"));
    found
}

/// `a/../b` is `b`; `None` when it leaves the root.
fn normal(path: &Path) -> Option<PathBuf> {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                if !normal.pop() {
                    return None;
                }
            }
            part => normal.push(part),
        }
    }
    Some(normal)
}

/// The anchor of a heading, as mdBook and code hosts make it.
fn anchor(heading: &str) -> String {
    let kept = heading.trim().chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c.to_ascii_lowercase() }).collect()
}

#[test]
fn the_table_of_contents_has_every_page_once() {
    let root = root();
    let summary = Page::at(&root, "docs/SUMMARY.md");
    let listed: Vec<String> =
        links(&summary).into_iter().map(|(_, target)| format!("docs/{target}")).collect();
    let set: BTreeSet<&String> = listed.iter().collect();
    assert_eq!(set.len(), listed.len(), "a page is listed twice");
    let book = pages::book(&root);
    let there: BTreeSet<&String> =
        book.iter().map(|page| &page.name).filter(|name| *name != "docs/SUMMARY.md").collect();
    assert_eq!(set, there);
    for page in book.iter().filter(|page| !page.text.contains("{{#include")) {
        assert!(page.text.starts_with("# "), "{} has no title", page.name);
    }
}

#[test]
fn every_link_of_the_book_leads_into_the_book() {
    let root = root();
    let mut wrong = Vec::new();
    for page in pages::book(&root) {
        for (number, target) in links(&page) {
            let (file, fragment) = target.split_once('#').unwrap_or((&target, ""));
            let folder = Path::new(&page.name).parent().unwrap();
            let path =
                if file.is_empty() { Some(PathBuf::from(&page.name)) } else { normal(&folder.join(file)) };
            let Some(path) = path.filter(|path| path.starts_with("docs") && root.join(path).exists()) else {
                wrong.push(format!("{}:{number}: {target} is not in the book", page.name));
                continue;
            };
            if fragment.is_empty() {
                continue;
            }
            let other = Page::at(&root, path.to_str().unwrap());
            let found = other
                .prose()
                .iter()
                .any(|(_, line)| line.starts_with('#') && anchor(line.trim_start_matches('#')) == fragment);
            if !found {
                wrong.push(format!("{}:{number}: {} has no heading {fragment}", page.name, other.name));
            }
        }
    }
    // What the book includes is at another depth there, so it has no links to files.
    for name in ["METHOD.md", "runtimes/PROTOCOL.md"] {
        let page = Page::at(&root, name);
        wrong.extend(links(&page).iter().map(|(number, target)| {
            format!("{name}:{number}: {target}: a page that the book includes names files and links none")
        }));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What pages may install: this project by its own names and from its clone, and projects of others.
const INSTALLED: [&str; 12] = [
    "pip install tollgate-perf",
    "pip install 'tollgate-perf[",
    "pipx install tollgate-perf",
    "pip install .",
    "pip install '.[",
    "pip install paramiko",
    "pip install apache-otava",
    "cargo install --path crates/tollgate",
    "cargo install --locked --path tollgate/crates/tollgate",
    "cargo install --locked --features wasmtime --profile wasmtime --path runtimes/rust",
    "cargo install mdbook",
    "pip install --target",
];

/// The lines of a text that install something else.
fn wrong_installs(text: &str) -> Vec<(usize, String)> {
    let install = Regex::new(r"(?:pip3?|pipx|uv(?: pip| tool)?|cargo) (?:install|add) .*").unwrap();
    let mut wrong = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        for found in install.find_iter(line) {
            let rest = found.as_str();
            let is_known = INSTALLED.iter().any(|known| {
                let after = rest.strip_prefix(known).map(|after| after.chars().next());
                // Whole words, so that `pip install .` is not `pip install ./other`.
                after.is_some_and(|next| {
                    known.ends_with('[') || next.is_none_or(|c| !c.is_alphanumeric() && c != '/')
                })
            });
            if !is_known {
                wrong.push((number, rest.to_owned()));
            }
        }
    }
    wrong
}

/// PyPI has another project under the name of the program.
#[test]
fn every_line_that_installs_names_this_project() {
    let root = root();
    let mut texts: Vec<(String, String)> =
        pages::all(&root).into_iter().map(|page| (page.name, page.text)).collect();
    for name in ["python/tutorial.ipynb", "docs/howto/tollgate.yml"] {
        texts.push((name.to_owned(), std::fs::read_to_string(root.join(name)).unwrap()));
    }
    let mut wrong = Vec::new();
    for (name, text) in texts.iter().filter(|(name, _)| name != "CHANGELOG.md") {
        wrong.extend(wrong_installs(text).iter().map(|(number, line)| format!("{name}:{number}: {line}")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    for line in [
        "pip install tollgate",
        "`pip install 'tollgate[dask]'`",
        "pipx install tollgate",
        "uv tool install tollgate",
        "uv add tollgate",
        "cargo install tollgate",
        "pip install ./other",
    ] {
        assert_eq!(wrong_installs(line).len(), 1, "{line}");
    }
    assert_eq!(
        wrong_installs("`pip install '.[dask]'`, `pip install .`, or `cargo install --path crates/tollgate`"),
        []
    );
}

#[test]
fn every_path_that_a_page_names_exists() {
    let root = root();
    let path = Regex::new(r"`((?:crates|docs|guests|runtimes|xtask|python)/[^`\s]*)`").unwrap();
    let mut wrong = Vec::new();
    for page in pages::all(&root) {
        if page.name == "CHANGELOG.md" {
            continue;
        }
        for (number, line) in page.prose() {
            for found in path.captures_iter(line) {
                let name = &found[1];
                if !name.contains(['*', '<', '{']) && !root.join(name).exists() {
                    wrong.push(format!("{}:{number}: there is no {name}", page.name));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_is_included_exists() {
    let root = root();
    let mut included = 0;
    for page in pages::book(&root) {
        for line in page.text.lines().filter_map(|line| line.strip_prefix("{{#include ")) {
            let (file, anchor) = line.trim_end_matches("}}").trim().split_once(':').unzip();
            let file = file.unwrap_or_else(|| line.trim_end_matches("}}").trim());
            let path = normal(&Path::new(&page.name).parent().unwrap().join(file)).unwrap();
            assert!(root.join(&path).is_file(), "{}: there is no {file}", page.name);
            for mark in ["ANCHOR", "ANCHOR_END"].into_iter().filter(|_| anchor.is_some()) {
                let mark = format!("<!-- {mark}: {} -->", anchor.unwrap());
                let text = Page::at(&root, path.to_str().unwrap()).text;
                assert_eq!(text.matches(&mark).count(), 1, "{}: {mark} in {file}", page.name);
            }
            included += 1;
        }
    }
    assert_eq!(included, 4);
}

#[test]
fn anchors_are_those_of_the_renderers() {
    assert_eq!(anchor(" syscall/getppid"), "syscallgetppid");
    assert_eq!(anchor("A full context switch"), "a-full-context-switch");
    assert_eq!(normal(Path::new("docs/a/../b.md")), Some(PathBuf::from("docs/b.md")));
    assert_eq!(normal(Path::new("../b.md")), None);
}
