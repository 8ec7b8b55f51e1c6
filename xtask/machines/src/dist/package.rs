//! The package of Debian, made by nfpm, and what both packages share: their files and their words.

use super::tree::{ITEMS, Tree};
use crate::build::target::Target;
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tollgate_testkit::{need, printed, workspace};

/// What installs the packager.
const NFPM: &str = "go install github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.45.2";

/// The revision of a package of the same version.
pub(super) const RELEASE: &str = "1";

pub(super) const LICENSE: &str = "MIT OR Apache-2.0";

/// Where the project is published; `repository` in the program's manifest replaces it.
const PUBLISHED: &str = "https://crates.io/crates/tollgate";

pub(super) const SUMMARY: &str = "measure what it costs to cross an execution boundary";
pub(super) const DESCRIPTION: &str =
    "Measures, and explains, what it costs to cross an execution boundary on Linux:
a call, a fiber switch, a system call, a page fault, a signal, a thread or
process switch, a message to another core, a new task, a VM exit. Each figure
has an interval and the proof that the crossing happened.";

pub(super) const CHANGES: &str = "New release: see NEWS.md.";

/// Makes the package of Debian.
///
/// # Errors
/// When nfpm fails or is missing.
pub(super) fn deb(tree: &Tree, target: &Target, folder: &Path) -> Result<PathBuf> {
    need("nfpm", NFPM)?;
    let scratch = tree.beside("deb")?;
    let mut contents: Vec<Value> = files(tree, &scratch)?.iter().map(|(from, to)| entry(from, to)).collect();
    let (packaging, homepage) = (tree.root.join("packaging"), homepage(&tree.root)?);
    let copyright = scratch.join("copyright");
    let text = fs::read_to_string(packaging.join("copyright")).context("packaging/copyright")?;
    fs::write(&copyright, text.replace(PUBLISHED, &homepage))?;
    contents.push(entry(&copyright, "/usr/share/doc/tollgate/copyright"));
    contents.push(entry(&packaging.join("lintian-overrides"), "/usr/share/lintian/overrides/tollgate"));
    let time = date(tree, "+%FT%TZ")?;
    let maintainer = maintainer(&tree.root)?;
    let changelog = scratch.join("changelog.yaml");
    fs::write(&changelog, history(&time, &maintainer).to_string())?;
    let manifest = scratch.join("nfpm.json");
    // The summary is the first line; the paragraph behind it is indented by one blank.
    let description = format!("{SUMMARY}\n {}", DESCRIPTION.replace('\n', "\n "));
    // The format of nfpm is YAML, of which JSON is a part.
    let words = json!({
        "name": "tollgate",
        "arch": machine(target),
        "platform": "linux",
        "version": env!("CARGO_PKG_VERSION"),
        "release": RELEASE,
        "section": "utils",
        "priority": "optional",
        "maintainer": maintainer,
        "description": description,
        "license": LICENSE,
        "homepage": homepage,
        "changelog": changelog,
        "mtime": time,
        "disable_globbing": true,
        "contents": contents,
        "deb": { "compression": "xz" },
    });
    fs::write(&manifest, words.to_string())?;
    let made = scratch.join("made");
    fs::create_dir(&made)?;
    let mut nfpm = Command::new("nfpm");
    nfpm.args(["package", "--packager", "deb", "--config"]).arg(&manifest).arg("--target").arg(&made);
    printed(nfpm.env("SOURCE_DATE_EPOCH", tree.time.to_string()))?;
    moved(&made, folder)
}

/// Moves the one package of a folder.
pub(super) fn moved(made: &Path, folder: &Path) -> Result<PathBuf> {
    let made = fs::read_dir(made)?.next().context("the packager made no package")??.path();
    let package = folder.join(made.file_name().unwrap_or_default());
    fs::rename(&made, &package).with_context(|| package.display().to_string())?;
    Ok(package)
}

/// The time of all files in a format of `date`.
pub(super) fn date(tree: &Tree, format: &str) -> Result<String> {
    let mut date = Command::new("date");
    date.args(["--utc", "--date", &format!("@{}", tree.time), format]).env("LC_ALL", "C");
    Ok(printed(&mut date)?.trim().to_owned())
}

/// Who answers for the packages: the author of the commit that they are made of.
///
/// # Errors
/// Outside of a checkout.
pub(super) fn maintainer(root: &Path) -> Result<String> {
    let mut git = Command::new("git");
    git.args(["log", "-1", "--format=%an <%ae>"]).current_dir(root);
    let name = printed(&mut git).context("the maintainer of a package is the author of its commit")?;
    Ok(name.trim().to_owned())
}

/// The project's address: `repository` in the manifest of the program, else its page where it is published.
///
/// # Errors
/// When cargo cannot read the manifest.
pub(super) fn homepage(root: &Path) -> Result<String> {
    let mut cargo = workspace::cargo(root);
    let text = printed(cargo.args(["metadata", "--offline", "--no-deps", "--format-version=1"]))?;
    let found: Value = serde_json::from_str(&text).context("cargo metadata")?;
    let mut packages = found["packages"].as_array().into_iter().flatten();
    let repository = packages.find(|it| it["name"] == "tollgate").and_then(|it| it["repository"].as_str());
    Ok(repository.unwrap_or(PUBLISHED).to_owned())
}

/// Debian's name of an architecture.
fn machine(target: &Target) -> &'static str {
    match target.arch {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

/// Each file of the tree, and its place in a system. Manual pages are compressed into a folder.
pub(super) fn files(tree: &Tree, scratch: &Path) -> Result<Vec<(PathBuf, String)>> {
    let mut files = Vec::new();
    for item in ITEMS {
        let from = tree.folder().join(item.name);
        // Completions and manual pages are written by this machine's own program, which may not be built.
        if from.exists() {
            walk(&from, item.system, &mut files)?;
        }
    }
    ensure!(!files.is_empty(), "the tree is empty");
    for (from, to) in &mut files {
        if to.contains("/man/") {
            *from = zipped(from, scratch)?;
            to.push_str(".gz");
        }
    }
    Ok(files)
}

fn walk(from: &Path, to: &str, files: &mut Vec<(PathBuf, String)>) -> Result<()> {
    if !from.is_dir() {
        files.push((from.to_owned(), to.to_owned()));
        return Ok(());
    }
    let mut names: Vec<_> = fs::read_dir(from)?.map(|it| Ok(it?.file_name())).collect::<Result<_>>()?;
    names.sort();
    for name in names {
        walk(&from.join(&name), &format!("{to}/{}", name.to_string_lossy()), files)?;
    }
    Ok(())
}

/// A compressed copy of a manual page, as packages install it.
fn zipped(page: &Path, scratch: &Path) -> Result<PathBuf> {
    let copy = scratch.join(page.file_name().unwrap_or_default());
    fs::copy(page, &copy)?;
    printed(Command::new("gzip").args(["--best", "--no-name", "--force"]).arg(&copy))?;
    Ok(copy.with_added_extension("gz"))
}

/// A file of a package, as nfpm reads it.
fn entry(from: &Path, to: &str) -> Value {
    json!({ "src": from, "dst": to, "file_info": { "mode": mode(to) } })
}

pub(super) fn mode(path: &str) -> u32 {
    if path.starts_with("/usr/bin/") || path.ends_with("/tollgate-ci") { 0o755 } else { 0o644 }
}

/// The history of the package, in which the change log of the program is named.
fn history(time: &str, maintainer: &str) -> Value {
    json!([{
        "semver": format!("{}-{RELEASE}", env!("CARGO_PKG_VERSION")),
        "date": time,
        "packager": maintainer,
        "deb": { "urgency": "medium", "distributions": ["unstable"] },
        "changes": [{ "note": CHANGES }],
    }])
}

#[cfg(test)]
mod tests {
    use super::{homepage, maintainer, mode};
    use tollgate_testkit::workspace;

    #[test]
    fn programs_are_executable_and_pages_are_not() {
        let modes = ["/usr/bin/tollgate", "/usr/share/tollgate/tollgate-ci", "/usr/share/man/man1/a.1.gz"];
        assert_eq!(modes.map(mode), [0o755, 0o755, 0o644]);
    }

    /// Packagers refuse a maintainer without an address, and a homepage of which they cannot tell the scheme.
    #[test]
    fn the_maintainer_has_an_address_and_the_project_a_page() {
        let root = workspace::root().unwrap();
        if let Ok(name) = maintainer(&root) {
            let (name, address) = name.split_once(" <").unwrap();
            assert!(!name.is_empty() && address.ends_with('>') && address.contains('@'), "{name} <{address}");
        }
        assert!(homepage(&root).unwrap().starts_with("https://"));
    }
}
