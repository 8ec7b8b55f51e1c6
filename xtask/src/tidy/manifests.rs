//! What the manifests of the workspace and its members say.

use super::tree::{Finding, Tree};
use regex::Regex;
use std::sync::LazyLock;

const KEYS: [&str; 4] = ["version", "edition", "rust-version", "license"];

/// The keys of a package that is published.
const PUBLISHED: [&str; 5] = ["readme", "keywords", "categories", "include", "publish"];

/// Every member inherits its package keys from the workspace, and those of a published package unless it is not published.
pub(super) fn inherited(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, manifest) in tree.members() {
        let value = |key| manifest.get("package").and_then(|package| package.get(key));
        let is_private = value("publish").and_then(toml::Value::as_bool) == Some(false);
        for key in KEYS.iter().chain(PUBLISHED.iter().filter(|_| !is_private)) {
            if !is_inherited(value(key)) {
                findings.push(Finding::file(path, format!("write `{key}.workspace = true` in [package]")));
            }
        }
    }
    findings
}

/// Whether a key is `{ workspace = true }`.
fn is_inherited(value: Option<&toml::Value>) -> bool {
    value.and_then(|value| value.get("workspace")).and_then(toml::Value::as_bool) == Some(true)
}

static ALLOWED: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?:allow|expect|warn)\b.*clippy::print_std").expect("a valid pattern"));

/// The lints of the workspace keep libraries from printing.
pub(super) fn lints(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for lint in ["print_stdout", "print_stderr"] {
        if tree.workspace(&["lints", "clippy", lint]).as_deref() != Some("deny") {
            let text = format!("write `{lint} = \"deny\"` in [workspace.lints.clippy]");
            findings.push(Finding::file("Cargo.toml", text));
        }
    }
    for (path, manifest) in tree.members() {
        if !is_inherited(manifest.get("lints")) {
            findings.push(Finding::file(path, "write `workspace = true` in [lints]"));
        }
    }
    for (path, text) in tree.texts_ending(&[".rs"]) {
        if path.starts_with("crates/") && path.contains("/src/") && !path.starts_with("crates/tollgate/") {
            for (number, line) in (1..).zip(text.lines()) {
                if ALLOWED.is_match(line) {
                    findings.push(Finding::at(path, number, "a library must not print: return the text"));
                }
            }
        }
    }
    findings
}

/// Options are where the commands are.
pub(super) fn options(tree: &Tree) -> Vec<Finding> {
    let uses_clap = |manifest: &toml::Table| {
        let kinds = ["dependencies", "dev-dependencies", "build-dependencies"];
        kinds.iter().filter_map(|kind| manifest.get(*kind)).any(|names| names.get("clap").is_some())
    };
    let is_library = |path: &str| path.starts_with("crates/") && path != "crates/tollgate/Cargo.toml";
    let found = tree.members().filter(|(path, manifest)| is_library(path) && uses_clap(manifest));
    let text = "remove clap: the options belong to crates/tollgate, a library takes typed requests";
    found.map(|(path, _)| Finding::file(path, text)).collect()
}

/// The change log describes the version.
pub(super) fn changelog(tree: &Tree) -> Vec<Finding> {
    let Some(version) = tree.workspace(&["package", "version"]) else {
        return vec![Finding::file("Cargo.toml", "write `version` in [workspace.package]")];
    };
    let is_entry = |line: &str| {
        let title = line.strip_prefix("## ").unwrap_or_default();
        title.split_whitespace().next().is_some_and(|word| word.trim_matches(['[', ']']) == version)
    };
    if tree.text("CHANGELOG.md").is_some_and(|text| text.lines().any(is_entry)) {
        return Vec::new();
    }
    vec![Finding::file("CHANGELOG.md", format!("write the section `## {version}`"))]
}

static INCLUDED: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r#"include_(?:str|bytes)!\(\s*"([^"]+)""#).expect("a valid pattern"));

/// The workspace's `include` names every file that the code of a crate includes. Otherwise the published crate would not compile.
pub(super) fn packed(tree: &Tree) -> Vec<Finding> {
    let manifest: Option<toml::Table> = tree.text("Cargo.toml").and_then(|text| text.parse().ok());
    let list =
        manifest.as_ref().and_then(|it| it.get("workspace")?.get("package")?.get("include")?.as_array());
    let patterns = list.into_iter().flatten().filter_map(toml::Value::as_str).map(|pattern| {
        let pattern = regex::escape(pattern).replace(r"\*", "[^/]*");
        Regex::new(&format!("^{pattern}(?:/|$)")).expect("a valid pattern")
    });
    let patterns: Vec<Regex> = patterns.collect();
    let mut findings = Vec::new();
    for (path, text) in tree.texts_ending(&[".rs"]) {
        let parts: Vec<&str> = path.split('/').collect();
        let ["crates", _, "src", folders @ .., _] = &parts[..] else { continue };
        for (number, line) in (1..).zip(text.lines()) {
            for (_, [included]) in INCLUDED.captures_iter(line).map(|found| found.extract()) {
                let mut place = [&["src"], folders].concat();
                for part in included.split('/') {
                    match part {
                        ".." => _ = place.pop(),
                        part => place.push(part),
                    }
                }
                let place = format!("/{}", place.join("/"));
                if !patterns.iter().any(|pattern| pattern.is_match(&place)) {
                    let text = format!(
                        "write \"{place}\" in `include` of [workspace.package]: it would not be packed"
                    );
                    findings.push(Finding::at(path, number, text));
                }
            }
        }
    }
    findings
}

/// The minimum Rust version is written once.
pub(super) fn rust_version(tree: &Tree) -> Vec<Finding> {
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
    use super::{Tree, changelog, inherited, lints, options, packed, rust_version};

    const GOOD: &str = "[package]\nname = \"x\"\nversion.workspace = true\nedition.workspace = true\n\
        rust-version.workspace = true\nlicense.workspace = true\nreadme.workspace = true\nkeywords.workspace = true\n\
        categories.workspace = true\ninclude.workspace = true\npublish = { workspace = true }\n";

    #[test]
    fn inherited_keys_pass() {
        assert_eq!(inherited(&Tree::of(&[("crates/record/Cargo.toml", GOOD)])), []);
        let private = GOOD.replace("readme.workspace = true\n", "").replace("{ workspace = true }", "false");
        assert_eq!(inherited(&Tree::of(&[("xtask/Cargo.toml", &private)])), []);
    }

    #[test]
    fn a_key_that_is_missing_or_not_inherited_fails() {
        let own = GOOD.replace("edition.workspace = true", "edition = \"2021\"");
        let missing = GOOD.replace("license.workspace = true\n", "");
        let undescribed = GOOD.replace("keywords.workspace = true\n", "");
        for (manifest, key) in [(own, "edition"), (missing, "license"), (undescribed, "keywords")] {
            let findings = inherited(&Tree::of(&[("xtask/Cargo.toml", &manifest)]));
            assert_eq!(findings.len(), 1);
            assert!(findings[0].text.contains(key), "{findings:?}");
        }
    }

    #[test]
    fn only_the_command_line_and_the_developer_commands_have_options() {
        for table in ["dependencies", "dev-dependencies"] {
            let manifest = format!("[{table}]\nclap.workspace = true\n");
            let found = |path: &str| options(&Tree::of(&[(path, &manifest)])).len();
            let paths = ["crates/lab/Cargo.toml", "crates/tollgate/Cargo.toml", "xtask/Cargo.toml"];
            assert_eq!(paths.map(found), [1, 0, 0], "{table}");
        }
    }

    #[test]
    fn what_a_crate_includes_is_packed() {
        let list =
            ("Cargo.toml", "[workspace.package]\ninclude = [\"/src\", \"/guests/a.h\", \"/docs/*.md\"]\n");
        let found = |path: &str, file: &str| {
            let code = format!("const A: &str = include_str!(\"{file}\");\n");
            packed(&Tree::of(&[list, (path, &code)])).len()
        };
        for file in ["x.s", "../x.s", "../../guests/a.h", "../../docs/a.md"] {
            assert_eq!(found("crates/lab/src/kernel/probe.rs", file), 0, "{file}");
        }
        for file in ["../../guests/b.h", "../../guests/a.hpp", "../../docs/a/b.md"] {
            assert_eq!(found("crates/lab/src/kernel/probe.rs", file), 1, "{file}");
        }
        assert_eq!(found("crates/lab/tests/all/a.rs", "../../guests/b.h"), 0);
    }

    const DENIES: (&str, &str) =
        ("Cargo.toml", "[workspace.lints.clippy]\nprint_stdout = \"deny\"\nprint_stderr = \"deny\"\n");
    const MEMBER: (&str, &str) = ("crates/record/Cargo.toml", "[lints]\nworkspace = true\n");
    const ALLOW: &str = "#![allow(clippy::print_stdout)]\n";

    #[test]
    fn inherited_lints_pass_and_the_command_line_and_tests_may_print() {
        for path in ["crates/tollgate/src/main.rs", "crates/record/tests/all.rs"] {
            assert_eq!(lints(&Tree::of(&[DENIES, MEMBER, (path, ALLOW)])), [], "{path}");
        }
    }

    #[test]
    fn a_member_without_lints_fails() {
        assert_eq!(lints(&Tree::of(&[DENIES, ("crates/record/Cargo.toml", "[package]\n")])).len(), 1);
    }

    #[test]
    fn a_workspace_that_does_not_deny_fails() {
        assert_eq!(
            lints(&Tree::of(&[("Cargo.toml", "[workspace.lints.clippy]\nprint_stdout = \"warn\"\n")])).len(),
            2
        );
    }

    #[test]
    fn a_library_that_prints_fails() {
        let findings = lints(&Tree::of(&[DENIES, MEMBER, ("crates/record/src/lib.rs", ALLOW)]));
        assert_eq!((findings.len(), findings[0].line), (1, Some(1)));
    }

    const VERSION: (&str, &str) = ("Cargo.toml", "[workspace.package]\nversion = \"0.2.0\"\n");

    #[test]
    fn a_section_for_the_version_passes() {
        for line in ["## 0.2.0", "## [0.2.0] - unreleased"] {
            assert_eq!(changelog(&Tree::of(&[VERSION, ("CHANGELOG.md", line)])), [], "{line}");
        }
    }

    #[test]
    fn another_version_fails() {
        for line in ["## 0.1.0", "## 0.2.01", "0.2.0", ""] {
            assert_eq!(changelog(&Tree::of(&[VERSION, ("CHANGELOG.md", line)])).len(), 1, "{line}");
        }
        assert_eq!(changelog(&Tree::of(&[VERSION])).len(), 1);
    }

    const RUST: (&str, &str) = ("Cargo.toml", "[workspace.package]\nrust-version = \"1.23\"\n");

    #[test]
    fn one_place_passes() {
        let member = ("xtask/Cargo.toml", "rust-version.workspace = true\n");
        let readme = ("README.md", "Rust as Cargo.toml says; 1.23 ns; Rust 1.234 and 11.23\n");
        let run = ("runs/switch.json", "{\"version\": \"rustc 1.23.0\"}\n");
        assert_eq!(rust_version(&Tree::of(&[RUST, member, readme, run])), []);
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
            assert_eq!(rust_version(&Tree::of(&[RUST, (path, text)])).len(), 1, "{path}: {text}");
        }
    }

    #[test]
    fn no_place_fails() {
        assert_eq!(rust_version(&Tree::of(&[("Cargo.toml", "[workspace]\n")])).len(), 1);
    }
}
