//! The minimum Rust version is written once.

use super::rule::Finding;
use super::tree::Tree;
use regex::Regex;

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let Some(version) = tree.workspace(&["package", "rust-version"]) else {
        return vec![Finding::file("Cargo.toml", "write `rust-version` in [workspace.package]")];
    };
    // A number is the version only after the name of the language.
    let number = format!(
        r"(?i)\brust\w*\b[^\d.;,]{{0,20}}\b{}(?:\.\d+)?(?:[^\d.]|\.?\s|\.?$)",
        regex::escape(&version)
    );
    let number = Regex::new(&number).expect("a valid pattern");
    let setting = Regex::new(r"^\s*(?:rust-version|msrv)\s*=").expect("a valid pattern");
    let mut findings = Vec::new();
    for (path, text) in tree.texts() {
        if matches!(path.rsplit('/').next(), Some("rust-toolchain" | "rust-toolchain.toml")) {
            findings.push(Finding::file(path, "remove it: the toolchain is the user's choice"));
        }
        // A saved run contains the version of the compiler that built it.
        if matches!(path, "Cargo.toml" | "Cargo.lock" | "CHANGELOG.md") || path.ends_with(".json") {
            continue;
        }
        for (number_of_line, line) in (1..).zip(text.lines()) {
            if setting.is_match(line) || number.is_match(line) {
                let text = "the minimum Rust version is written in Cargo.toml only: refer to it";
                findings.push(Finding::at(path, number_of_line, text));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::{Tree, check};

    const ROOT: (&str, &str) = ("Cargo.toml", "[workspace.package]\nrust-version = \"1.23\"\n");

    #[test]
    fn one_place_passes() {
        let member = ("xtask/Cargo.toml", "rust-version.workspace = true\n");
        let readme = ("README.md", "Rust as Cargo.toml says; 1.23 ns; Rust 1.234 and 11.23\n");
        let run = ("runs/switch.json", "{\"version\": \"rustc 1.23.0\"}\n");
        assert_eq!(check(&Tree::of(&[ROOT, member, readme, run])), []);
    }

    #[test]
    fn a_second_place_fails() {
        for (path, text) in [
            ("xtask/Cargo.toml", "rust-version = \"1.20\"\n"),
            ("clippy.toml", "msrv = \"1.20\"\n"),
            ("README.md", "Needs Rust 1.23.\n"),
            ("README.md", "Needs rustc 1.23.0 or newer\n"),
            ("README.md", "a Rust toolchain (1.23 or newer)\n"),
            ("rust-toolchain.toml", ""),
        ] {
            assert_eq!(check(&Tree::of(&[ROOT, (path, text)])).len(), 1, "{path}: {text}");
        }
    }

    #[test]
    fn no_place_fails() {
        assert_eq!(check(&Tree::of(&[("Cargo.toml", "[workspace]\n")])).len(), 1);
    }
}
