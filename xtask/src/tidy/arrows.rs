//! The table of ARCHITECTURE.md says which room uses which.

use super::tree::{Finding, Tree, Use};
use std::collections::{BTreeMap, BTreeSet};

const PAGE: &str = "ARCHITECTURE.md";

/// A room that tests and the developer commands may use. It is not in the table.
const TESTKIT: &str = "testkit";

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let documented = documented(tree.text(PAGE).unwrap_or_default());
    let mut findings = Vec::new();
    for (path, _) in tree.members() {
        let room = path.rsplit('/').nth(1).unwrap_or_default();
        if room != TESTKIT && !documented.contains_key(room) {
            let text = format!("write the row of `{room}` in the table `| room | uses |`");
            findings.push(Finding::file(PAGE, text));
        }
    }
    for Use { from, to, dev } in &tree.uses {
        let developer = from == "xtask" || from == "machines";
        let allowed = if to == TESTKIT {
            *dev || developer
        } else {
            let row = documented.get(from.as_str());
            row.is_none_or(|(_, uses)| uses.contains("all") || uses.contains(to.as_str()))
        };
        if !allowed {
            let text = format!("{from} must not use {to}: the table of {PAGE} does not name it");
            findings.push(Finding::file(&manifest(tree, from), text));
        }
    }
    for (room, (line, uses)) in &documented {
        let is_used = |to: &str| tree.uses.iter().any(|it| it.from == *room && it.to == to);
        for unused in uses.iter().filter(|to| **to != "all" && !is_used(to)) {
            findings.push(Finding::at(PAGE, *line, format!("{room} does not use {unused}: remove it")));
        }
    }
    findings
}

/// Each room of the table with its line and the rooms that it uses.
fn documented(page: &str) -> BTreeMap<&str, (usize, BTreeSet<&str>)> {
    let rows = (1..).zip(page.lines()).skip_while(|(_, line)| !line.starts_with("| room | uses |")).skip(2);
    rows.map_while(|(number, line)| {
        let mut cells = line.strip_prefix('|')?.split('|');
        let room = names(cells.next()?).next()?;
        Some((room, (number, names(cells.next()?).collect())))
    })
    .collect()
}

/// The names in a cell, each in code marks.
fn names(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

fn manifest(tree: &Tree, room: &str) -> String {
    let end = format!("{room}/Cargo.toml");
    let paths = tree.members().map(|(path, _)| path);
    paths.filter(|path| path.ends_with(&end)).map(str::to_owned).next().unwrap_or(end)
}

#[cfg(test)]
mod tests {
    use super::{Tree, Use, check};

    const TABLE: &str = "| room | uses |\n|---|---|\n| `record` | nothing of ours |\n| `lab` | `record` |\n\
        | `tollgate` | `all` |\n| `xtask` | |\n";

    fn found(from: &str, to: &str, dev: bool) -> Vec<String> {
        let used = |from: &str, to: &str, dev| Use { from: from.to_owned(), to: to.to_owned(), dev };
        let mut tree = Tree::of(&[("ARCHITECTURE.md", TABLE), ("crates/record/Cargo.toml", "")]);
        tree.uses = vec![used("lab", "record", false), used(from, to, dev)];
        check(&tree).into_iter().map(|finding| format!("{}: {}", finding.path, finding.text)).collect()
    }

    #[test]
    fn arrows_of_the_table_pass() {
        for (from, to) in [("lab", "record"), ("tollgate", "lab"), ("tollgate", "record")] {
            assert_eq!(found(from, to, false), [""; 0], "{from} -> {to}");
        }
    }

    #[test]
    fn other_arrows_fail_also_in_tests() {
        for (from, to) in [("record", "lab"), ("lab", "tollgate")] {
            assert_eq!((found(from, to, false).len(), found(from, to, true).len()), (1, 1), "{from} -> {to}");
        }
        let text = "crates/record/Cargo.toml: record must not use lab: the table of ARCHITECTURE.md does not name it";
        assert_eq!(found("record", "lab", false), [text]);
    }

    #[test]
    fn the_testkit_is_for_tests() {
        assert_eq!((found("record", "testkit", true).len(), found("record", "testkit", false).len()), (0, 1));
        assert_eq!(
            (found("tollgate", "testkit", false).len(), found("xtask", "testkit", false).len()),
            (1, 0)
        );
    }

    #[test]
    fn a_room_without_a_row_and_a_row_that_is_not_true_fail() {
        assert_eq!(check(&Tree::of(&[("crates/cellar/Cargo.toml", "")])).len(), 1);
        let findings = check(&Tree::of(&[("ARCHITECTURE.md", TABLE), ("crates/record/Cargo.toml", "")]));
        let lines: Vec<_> = findings.iter().map(|finding| (finding.line, finding.text.as_str())).collect();
        assert_eq!(lines, [(Some(4), "lab does not use record: remove it")]);
    }
}
