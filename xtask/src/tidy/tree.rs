//! What a rule is and what it finds, and its input: the files of the repository, and which room uses which.

use anyhow::{Context, Result, bail};
use cargo_metadata::{DependencyKind, MetadataCommand};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

/// One rule: a pure function of the tree.
pub(super) struct Rule {
    pub(super) name: &'static str,
    pub(super) what: &'static str,
    pub(super) check: fn(&Tree) -> Vec<Finding>,
}

/// Where a rule is broken, and what to do.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Finding {
    pub(super) path: String,
    pub(super) line: Option<usize>,
    pub(super) text: String,
}

impl Finding {
    pub(super) fn at(path: &str, line: usize, text: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line: Some(line), text: text.into() }
    }

    pub(super) fn file(path: &str, text: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line: None, text: text.into() }
    }
}

/// The repository as values, so that each rule can be tested on a made-up one.
#[derive(Debug, Default)]
pub(super) struct Tree {
    /// Each file that git tracks or would add, by its path from the root.
    pub(super) files: BTreeMap<String, Vec<u8>>,
    /// Each use of one room by another, from `cargo metadata`.
    pub(super) uses: Vec<Use>,
    /// The folder of this copy of the repository.
    pub(super) root: String,
}

/// One dependency between two members of the workspace, by the names of their folders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Use {
    pub(super) from: String,
    pub(super) to: String,
    /// Whether only tests use it.
    pub(super) dev: bool,
}

impl Tree {
    /// Reads the repository.
    pub(super) fn load(root: &Path) -> Result<Self> {
        Ok(Self { files: files(root)?, uses: uses(root)?, root: root.display().to_string() })
    }

    /// The text of a file; `None` if it does not exist or is binary.
    pub(super) fn text(&self, path: &str) -> Option<&str> {
        let bytes = self.files.get(path)?;
        std::str::from_utf8(bytes).ok().filter(|text| !text.contains('\0'))
    }

    /// Every file that is text.
    pub(super) fn texts(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files.keys().filter_map(|path| Some((path.as_str(), self.text(path)?)))
    }

    /// Every text whose name ends in one of these.
    pub(super) fn texts_ending(&self, ends: &'static [&'static str]) -> impl Iterator<Item = (&str, &str)> {
        self.texts().filter(move |(path, _)| ends.iter().any(|end| path.ends_with(end)))
    }

    /// The manifest of each member of the workspace.
    pub(super) fn members(&self) -> impl Iterator<Item = (&str, toml::Table)> {
        self.texts().filter_map(|(path, text)| {
            let folder = path.strip_suffix("/Cargo.toml")?;
            let parts: Vec<&str> = folder.split('/').collect();
            let member = matches!(parts[..], ["xtask"] | ["xtask" | "crates", _]);
            Some((path, text.parse().ok()?)).filter(|_| member)
        })
    }

    /// The text at `[workspace.<keys>]` of the workspace's manifest.
    pub(super) fn workspace(&self, keys: &[&str]) -> Option<String> {
        let manifest: toml::Table = self.text("Cargo.toml")?.parse().ok()?;
        let value = keys.iter().try_fold(manifest.get("workspace")?, |value, key| value.get(key))?;
        value.as_str().map(str::to_owned)
    }

    /// Whether this is a file, or a folder that contains one. The empty path is the root.
    pub(super) fn exists(&self, path: &str) -> bool {
        let folder = format!("{path}/");
        path.is_empty()
            || self.files.contains_key(path)
            || self.files.keys().any(|file| file.starts_with(&folder))
    }

    /// The rooms that contain files.
    pub(super) fn rooms(&self) -> BTreeSet<String> {
        let room = |path: &String| {
            let (first, rest) = path.split_once('/')?;
            match first {
                "crates" => rest.split_once('/').map(|(name, _)| format!("crates/{name}")),
                "guests" | "runtimes" | "docs" | "xtask" => Some(first.to_owned()),
                _ => None,
            }
        };
        self.files.keys().filter_map(room).collect()
    }
}

fn files(root: &Path) -> Result<BTreeMap<String, Vec<u8>>> {
    // The repository may belong to another user, as in a container: listing its files is safe.
    let listed = Command::new("git")
        .args(["-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(root)
        .output()
        .context("cannot run git: install it")?;
    if !listed.status.success() {
        let reason = String::from_utf8_lossy(&listed.stderr);
        bail!("git ls-files failed: run this in a clone: {}", reason.trim());
    }
    let listed = String::from_utf8(listed.stdout).context("a file name is not UTF-8: rename it")?;
    let mut files = BTreeMap::new();
    for path in listed.split_terminator('\0') {
        let file = root.join(path);
        // A listed path may be deleted, a symbolic link or another repository.
        if file.symlink_metadata().is_ok_and(|facts| facts.is_file()) {
            let bytes = std::fs::read(&file).with_context(|| format!("cannot read {path}"))?;
            files.insert(path.to_owned(), bytes);
        }
    }
    Ok(files)
}

pub(super) fn uses(root: &Path) -> Result<Vec<Use>> {
    let mut command = MetadataCommand::new();
    let metadata =
        command.current_dir(root).no_deps().exec().context("cargo metadata failed: fix the manifests")?;
    let folder = |path: &cargo_metadata::camino::Utf8Path| path.file_name().unwrap_or_default().to_owned();
    let mut uses = Vec::new();
    for package in &metadata.packages {
        let from = package.manifest_path.parent().map(folder).unwrap_or_default();
        for dependency in &package.dependencies {
            if let Some(path) = &dependency.path {
                let dev = dependency.kind == DependencyKind::Development;
                uses.push(Use { from: from.clone(), to: folder(path), dev });
            }
        }
    }
    Ok(uses)
}

/// Made-up repositories for the tests of the rules.
#[cfg(test)]
impl Tree {
    pub(super) fn of(files: &[(&str, &str)]) -> Self {
        let files = files.iter().map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec())).collect();
        Self { files, uses: Vec::new(), root: "/checkouts/tollgate".to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::Tree;

    #[test]
    fn folders_rooms_and_members() {
        let tree = Tree::of(&[
            ("Cargo.toml", "[workspace.package]\nversion = \"1.2.3\"\n"),
            ("crates/record/Cargo.toml", "[package]\nname = \"tollgate-record\"\n"),
            ("crates/record/fuzz/Cargo.toml", ""),
            ("docs/null.md", ""),
            ("image.bin", "\0"),
            ("xtask/Cargo.toml", ""),
            ("xtask/machines/Cargo.toml", ""),
        ]);
        assert_eq!(tree.rooms().into_iter().collect::<Vec<_>>(), ["crates/record", "docs", "xtask"]);
        assert!(tree.exists("crates") && tree.exists("docs/null.md") && tree.exists(""));
        assert!(!tree.exists("doc") && tree.text("image.bin").is_none());
        assert_eq!(tree.workspace(&["package", "version"]).as_deref(), Some("1.2.3"));
        assert_eq!(tree.workspace(&["package", "edition"]), None);
        let members: Vec<&str> = tree.members().map(|(path, _)| path).collect();
        assert_eq!(members, ["crates/record/Cargo.toml", "xtask/Cargo.toml", "xtask/machines/Cargo.toml"]);
    }
}
