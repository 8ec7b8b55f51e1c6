//! No file contains a path of its author's machine.

use super::tree::{Finding, Tree};
use regex::bytes::Regex;
use std::sync::LazyLock;

static HOME: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?:^|[^A-Za-z0-9_.-])((?:/home/|/Users/|[A-Z]:\\Users\\)[A-Za-z0-9_.-]+|/roo[t]/)")
        .expect("a valid pattern")
});

/// Names of users in examples; single letters are allowed too.
const EXAMPLES: [&str; 3] = ["user", "you", "name"];

fn is_example(home: &str) -> bool {
    let name = home.rsplit(['/', '\\']).next().unwrap_or_default();
    name.len() == 1 || EXAMPLES.contains(&name)
}

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    // A repository directly below the root of the file system may have the name of one of our own folders.
    let root = (tree.root.matches('/').count() >= 2).then_some(tree.root.as_bytes());
    for (path, bytes) in &tree.files {
        for (number, line) in (1..).zip(bytes.split(|byte| *byte == b'\n')) {
            let homes = HOME.captures_iter(line).map(|found| String::from_utf8_lossy(&found[1]).into_owned());
            let home = homes.into_iter().find(|home| !is_example(home));
            let here = root.filter(|root| line.windows(root.len()).any(|part| part == *root));
            if let Some(found) = home.or(here.map(|root| String::from_utf8_lossy(root).into_owned())) {
                findings.push(Finding::at(
                    path,
                    number,
                    format!("{found} is a path of one machine: remove it"),
                ));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::{Tree, check};

    fn found(text: &str) -> usize {
        check(&Tree::of(&[("notes.md", text)])).len()
    }

    #[test]
    fn paths_that_exist_on_every_machine_pass() {
        for text in [
            "/usr/bin/env",
            "the folder crates/home/x",
            "/home/user/tollgate",
            "/home/a/.local",
            "a /proc/self/root link",
        ] {
            assert_eq!(found(text), 0, "{text}");
        }
    }

    #[test]
    fn paths_of_one_machine_fail() {
        // Written in parts, so that this file passes.
        let parts = [
            ["/home", "/jane/x"],
            ["/Users", "/jane"],
            ["at /root", "/.cargo"],
            ["/checkouts", "/tollgate/src"],
        ];
        for text in parts.map(|part| part.concat()) {
            assert_eq!(found(&text), 1, "{text}");
        }
        let binary = ["\0\u{1}", "/home", "/jane", "\0"].concat();
        assert_eq!(found(&binary), 1);
    }
}
