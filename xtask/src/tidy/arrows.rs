//! The arrows between the rooms.

use super::rule::{Finding, Rule};
use super::tree::{Tree, Use};

pub(super) const RULE: Rule =
    Rule { name: "arrows", what: "a room uses only the rooms that the design lets it use", check };

/// What a room may use.
enum May {
    Use(&'static [&'static str]),
    UseAll,
}

/// A room that only tests, and the developer commands, may use.
const TESTKIT: &str = "testkit";

/// Each room with what it may use.
static ARROWS: &[(&str, May)] = &[
    ("record", May::Use(&[])),
    ("measure", May::Use(&["record"])),
    ("boundary", May::Use(&["measure", "record", "microvm"])),
    ("microvm", May::Use(&["measure", "record", "supervise"])),
    ("riscv", May::Use(&[])),
    ("lab", May::Use(&["riscv", "record"])),
    ("runtime", May::Use(&["measure", "record", "supervise"])),
    ("scan", May::Use(&["measure", "record", "supervise"])),
    ("report", May::Use(&["record"])),
    (TESTKIT, May::Use(&[])),
    ("tollgate", May::UseAll),
    ("xtask", May::UseAll),
];

fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings: Vec<Finding> = tree.uses.iter().filter_map(broken).collect();
    for (path, _) in tree.members() {
        let room = path.rsplit('/').nth(1).unwrap_or_default();
        if !ARROWS.iter().any(|(name, _)| *name == room) {
            findings.push(Finding::file(
                path,
                format!("what {room} may use is not said: add it to ARROWS in {}", file!()),
            ));
        }
    }
    findings
}

fn broken(arrow: &Use) -> Option<Finding> {
    let (_, may) = ARROWS.iter().find(|(name, _)| *name == arrow.from)?;
    let allowed = if arrow.to == TESTKIT {
        arrow.dev || arrow.from == "xtask"
    } else {
        match may {
            May::UseAll => true,
            May::Use(rooms) => rooms.contains(&arrow.to.as_str()),
        }
    };
    let Use { from, to, .. } = arrow;
    let folder = if from == "xtask" { from.clone() } else { format!("crates/{from}") };
    (!allowed).then(|| Finding::file(&format!("{folder}/Cargo.toml"), format!("{from} must not use {to}")))
}

#[cfg(test)]
mod tests {
    use super::{Tree, Use, check};

    fn found(from: &str, to: &str, dev: bool) -> usize {
        let arrow = Use { from: from.to_owned(), to: to.to_owned(), dev };
        check(&Tree { uses: vec![arrow], ..Tree::default() }).len()
    }

    #[test]
    fn arrows_of_the_design_pass() {
        for (from, to) in
            [("measure", "record"), ("boundary", "microvm"), ("lab", "riscv"), ("tollgate", "lab")]
        {
            assert_eq!(found(from, to, false), 0, "{from} -> {to}");
        }
    }

    #[test]
    fn other_arrows_fail_also_in_tests() {
        for (from, to) in
            [("record", "measure"), ("report", "measure"), ("riscv", "record"), ("lab", "boundary")]
        {
            assert_eq!((found(from, to, false), found(from, to, true)), (1, 1), "{from} -> {to}");
        }
    }

    #[test]
    fn the_testkit_is_for_tests() {
        assert_eq!((found("record", "testkit", true), found("record", "testkit", false)), (0, 1));
        assert_eq!((found("tollgate", "testkit", false), found("xtask", "testkit", false)), (1, 0));
    }

    #[test]
    fn a_room_without_a_row_fails() {
        assert_eq!(check(&Tree::of(&[("crates/cellar/Cargo.toml", "")])).len(), 1);
        assert_eq!(check(&Tree::of(&[("crates/record/Cargo.toml", "")])).len(), 0);
    }
}
