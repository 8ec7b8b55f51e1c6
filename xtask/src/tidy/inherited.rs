//! Every member inherits its package keys from the workspace.

use super::rule::{Finding, Rule};
use super::tree::Tree;

pub(super) const RULE: Rule = Rule {
    name: "inherited",
    what: "every member inherits version, edition, rust-version, license and publish from the workspace",
    check,
};

const KEYS: [&str; 5] = ["version", "edition", "rust-version", "license", "publish"];

fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, manifest) in tree.members() {
        for key in KEYS {
            let value = manifest.get("package").and_then(|package| package.get(key));
            if value.and_then(|value| value.get("workspace")).and_then(toml::Value::as_bool) != Some(true) {
                findings.push(Finding::file(path, format!("write `{key}.workspace = true` in [package]")));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::{Tree, check};

    const GOOD: &str = "[package]\nname = \"x\"\nversion.workspace = true\nedition.workspace = true\n\
        rust-version.workspace = true\nlicense.workspace = true\npublish = { workspace = true }\n";

    #[test]
    fn inherited_keys_pass() {
        assert_eq!(check(&Tree::of(&[("crates/record/Cargo.toml", GOOD)])), []);
    }

    #[test]
    fn a_key_that_is_missing_or_not_inherited_fails() {
        let own = GOOD.replace("edition.workspace = true", "edition = \"2021\"");
        let missing = GOOD.replace("license.workspace = true\n", "");
        for (manifest, key) in [(own, "edition"), (missing, "license")] {
            let findings = check(&Tree::of(&[("xtask/Cargo.toml", &manifest)]));
            assert_eq!(findings.len(), 1);
            assert!(findings[0].text.contains(key), "{findings:?}");
        }
    }
}
