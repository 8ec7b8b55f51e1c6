//! No two modules of a crate, or of the Python package, need each other.
//!
//! A module with all that is below it counts as one, seen from its siblings; for its own children it is its file alone.

use super::modules::uses_between_files;
use super::tree::{Finding, Tree};
use regex::Regex;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::LazyLock;

/// The uses among a module's children and itself: by the names of the two, one use in words.
type Family<'a> = BTreeMap<(&'a str, &'a str), String>;

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for root in roots(tree) {
        for mut family in families(tree, root).into_values() {
            findings.extend(circles(root, &mut family));
        }
    }
    findings.extend(circles(PYTHON, &mut python(tree)));
    findings
}

/// The circles of a family. Uses are printed once: what is left shows the circles that share none of them.
fn circles(root: &str, family: &mut Family<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    while let Some(circle) = shortest_circle(family) {
        let uses: Vec<String> = circle.iter().filter_map(|edge| family.remove(edge)).collect();
        findings.push(Finding::file(root, format!("circle of modules: {}", uses.join("; "))));
    }
    findings
}

const PYTHON: &str = "python/src/tollgate_perf/__init__.py";

/// The imports among the modules of the Python package, also those in functions and those for types only. What the package
/// itself exports is imported from elsewhere, so its own file is not among them.
fn python(tree: &Tree) -> Family<'_> {
    static IMPORT: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"(?m)^\s*from tollgate_perf(?:\.(\w+) import| import ([\w, ]+))")
            .expect("a valid pattern")
    });
    let folder = PYTHON.trim_end_matches("__init__.py");
    let name = |path: &str| Some(path.strip_prefix(folder)?.strip_suffix(".py")?.to_owned());
    let modules = tree.files.keys().filter_map(|path| Some((path.as_str(), name(path)?)));
    let mut family = Family::new();
    for (path, _) in modules.filter(|(_, name)| name != "__init__") {
        let text = tree.text(path).unwrap_or_default();
        for found in IMPORT.captures_iter(text) {
            let line = text[..found.get(0).map_or(0, |all| all.end())].lines().count();
            let names = found.get(1).or(found.get(2)).map_or("", |names| names.as_str());
            for to in names.split(',').map(str::trim) {
                let to = tree.files.get_key_value(&format!("{folder}{to}.py")).map(|(to, _)| to.as_str());
                if let Some(to) = to.filter(|to| *to != path) {
                    let (from_file, to_file) = (&path[folder.len()..], &to[folder.len()..]);
                    family.entry((path, to)).or_insert_with(|| format!("{from_file}:{line} -> {to_file}"));
                }
            }
        }
    }
    family
}

/// The root file of each crate.
fn roots(tree: &Tree) -> Vec<&str> {
    let mut roots = Vec::new();
    for (manifest, _) in tree.members() {
        let folder = manifest.trim_end_matches("Cargo.toml");
        for root in ["src/lib.rs", "src/main.rs"] {
            roots.extend(tree.files.get_key_value(&format!("{folder}{root}")).map(|(path, _)| path.as_str()));
        }
    }
    roots
}

/// The uses between files, sorted by the module below which the two files part.
fn families<'a>(tree: &'a Tree, root: &'a str) -> BTreeMap<&'a str, Family<'a>> {
    let folder = root.rsplit_once('/').map_or(0, |(folder, _)| folder.len() + 1);
    let module = |file: &'a str| {
        let path = &file[folder..];
        if file == root { "" } else { path.strip_suffix("/mod.rs").unwrap_or(path.trim_end_matches(".rs")) }
    };
    let mut families: BTreeMap<&str, Family> = BTreeMap::new();
    for ((from, to), line) in uses_between_files(tree, root) {
        let [a, b] = [module(from), module(to)];
        let shared = shared_folder(a, b);
        let name = |path: &'a str| {
            let rest = path[shared.len()..].trim_start_matches('/');
            rest.split('/').next().unwrap_or_default()
        };
        let family = families.entry(shared).or_default();
        let [from, to] = [&from[folder..], &to[folder..]];
        family.entry((name(a), name(b))).or_insert_with(|| format!("{from}:{line} -> {to}"));
    }
    families
}

/// The longest module path that is a part of both.
fn shared_folder<'a>(a: &'a str, b: &str) -> &'a str {
    let ends = a.match_indices('/').map(|(at, _)| at).chain([a.len()]);
    let is_part =
        |end: &usize| b.strip_prefix(&a[..*end]).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    &a[..ends.take_while(is_part).last().unwrap_or(0)]
}

fn shortest_circle<'a>(family: &Family<'a>) -> Option<Vec<(&'a str, &'a str)>> {
    family.keys().filter_map(|(from, to)| shortest_way(family, to, from)).min_by_key(Vec::len).map(|way| {
        let next = way.iter().skip(1).chain(way.first());
        way.iter().copied().zip(next.copied()).collect()
    })
}

/// The modules on the shortest way from one to another, both ends included.
fn shortest_way<'a>(family: &Family<'a>, from: &'a str, to: &str) -> Option<Vec<&'a str>> {
    let mut seen = BTreeSet::from([from]);
    let mut ways = VecDeque::from([vec![from]]);
    while let Some(way) = ways.pop_front() {
        let last = way[way.len() - 1];
        if last == to {
            return Some(way);
        }
        for (_, next) in family.keys().filter(|(start, _)| *start == last) {
            if seen.insert(next) {
                ways.push_back([way.as_slice(), &[*next]].concat());
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{Tree, check};

    const MANIFEST: (&str, &str) = ("crates/x/Cargo.toml", "");

    fn found(root: &str, files: &[(&str, &str)]) -> Vec<String> {
        let root = [MANIFEST, ("crates/x/src/lib.rs", root)];
        let names: Vec<String> = files.iter().map(|(name, _)| format!("crates/x/src/{name}")).collect();
        let files = names.iter().map(String::as_str).zip(files.iter().map(|(_, text)| *text));
        let files: Vec<(&str, &str)> = root.into_iter().chain(files).collect();
        check(&Tree::of(&files)).into_iter().map(|finding| finding.text).collect()
    }

    /// One direction, whatever the reverse words are: in comments, strings, tests, or of other crates.
    #[test]
    fn uses_in_one_direction_pass() {
        for b in [
            "pub fn b() {} // crate::a::a()",
            "pub fn b() -> &'static str { \"crate::a::a()\" }",
            "pub fn b() {} #[cfg(test)] mod tests { use crate::a::a; }",
            "pub fn b() {} #[cfg(test)] use crate::a; #[cfg(test)] fn t() { a::a() }",
            "pub fn b() { x.a(); other::a::a(); ::a::a(); }",
            "pub struct b<'a>(&'a str);",
        ] {
            let files = [("a.rs", "use crate::b::b;\npub fn a() { b() }"), ("b.rs", b)];
            assert_eq!(found("mod a;\nmod b;", &files), Vec::<String>::new(), "{b}");
        }
    }

    #[test]
    fn a_circle_is_printed_once_with_a_line_for_each_use() {
        let uses = [
            "use crate::a::a;",
            "use super::a::{self, a as other};",
            "use crate::{a::*}; fn f() { a() }",
            "use crate::a; #[serde(with = \"a\")] struct B;",
            "use crate::a; fn f() { a::a() }",
            "fn f() { crate::a::a() }",
            "fn f() { println!(\"{}\", super::a::a()) }",
            "use super::*; fn f() { a::a() }",
            "fn f<'a>(x: &'a str) { for _ in 0..crate::a::a() {} }",
        ];
        for b in uses.map(|uses| format!("{uses} pub fn b() {{}}")) {
            let files = [("a.rs", "\n\nuse crate::b::b;\npub fn a() { b() }"), ("b.rs", &b)];
            let expected = "circle of modules: b.rs:1 -> a.rs; a.rs:3 -> b.rs";
            assert_eq!(found("mod a;\nmod b;", &files), [expected], "{b}");
        }
    }

    #[test]
    fn a_parent_may_re_export_its_children_but_not_be_used_by_those_it_uses() {
        let child = ("a.rs", "use crate::b::B;\nuse super::shared;\npub struct A;");
        let other = ("b.rs", "use crate::A;\npub struct B;");
        let exports = "mod a;\nmod b;\npub use a::A;\npub fn shared() {}";
        let siblings = "circle of modules: b.rs:1 -> a.rs; a.rs:1 -> b.rs";
        assert_eq!(found(exports, &[child, other]), [siblings], "A is of a.rs");
        let uses = format!("{exports}\npub fn own() -> A {{ A }}");
        let parent = "circle of modules: a.rs:2 -> lib.rs; lib.rs:5 -> a.rs";
        assert_eq!(found(&uses, &[child, ("b.rs", "pub struct B;")]), [parent]);
    }

    #[test]
    fn a_module_counts_with_all_that_is_below_it() {
        let files = [
            ("a.rs", "mod one;\nmod two;"),
            ("a/one.rs", "use crate::b::B;"),
            ("a/two.rs", "pub fn two() {}"),
            ("b/mod.rs", "mod inner;\npub struct B;"),
            ("b/inner.rs", "use crate::a::two::two;"),
        ];
        let expected = "circle of modules: b/inner.rs:1 -> a/two.rs; a/one.rs:1 -> b/mod.rs";
        assert_eq!(found("mod a;\nmod b;", &files), [expected]);
    }

    #[test]
    fn imports_of_the_python_package_form_no_circle() {
        let found = |b: &str| {
            let a = "import json\nfrom tollgate_perf import _b, _c\n";
            let place = |name: &str| format!("python/src/tollgate_perf/{name}.py");
            let files = [("__init__", "from tollgate_perf._a import A\n"), ("_a", a), ("_b", b), ("_c", "")];
            let files = files.map(|(name, text)| (place(name), text));
            let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (name.as_str(), *text)).collect();
            check(&Tree::of(&files)).into_iter().map(|finding| finding.text).collect::<Vec<_>>()
        };
        assert_eq!(found("from tollgate_perf import _c\nfrom tollgate_perf._b import B\n"), [""; 0]);
        let circle = "circle of modules: _b.py:2 -> _a.py; _a.py:2 -> _b.py";
        assert_eq!(found("def f():\n    from tollgate_perf._a import A\n"), [circle]);
    }

    #[test]
    fn a_circle_of_three_and_circles_that_share_a_module() {
        let three =
            [("a.rs", "use crate::b::B;"), ("b.rs", "use crate::c::C;"), ("c.rs", "use crate::a::A;")];
        assert_eq!(found("mod a;\nmod b;\nmod c;", &three).len(), 1);
        let shared = [("a.rs", "use crate::b::B;\nuse crate::c::C;"), ("b.rs", "use crate::a::A;"), three[2]];
        assert_eq!(found("mod a;\nmod b;\nmod c;", &shared).len(), 2);
    }
}
