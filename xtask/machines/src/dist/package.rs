//! Packages of Debian and of RPM, made by nfpm of the tree.

use super::tree::{ITEMS, Tree};
use crate::build::target::Target;
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tollgate_testkit::{need, printed};

/// What installs the packager.
const NFPM: &str = "go install github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.48.0";

/// The revision of a package of the same version.
const RELEASE: &str = "1";

const DESCRIPTION: &str = "measure what it costs to cross an execution boundary
 Measures, and explains, what it costs to cross an execution boundary on Linux:
 a call, a fiber switch, a system call, a page fault, a signal, a thread or
 process switch, a message to another core, a new task, a VM exit. Each figure
 has an interval and the proof that the crossing happened.";

/// Makes a package in a format of nfpm, `deb` or `rpm`.
///
/// # Errors
/// When nfpm fails or is missing.
pub(super) fn make(tree: &Tree, target: &Target, format: &str, folder: &Path) -> Result<PathBuf> {
    need("nfpm", NFPM)?;
    let scratch = tree.beside(format)?;
    let mut contents = Vec::new();
    for (from, to) in files(tree)? {
        let from = if to.contains("/man/") { zipped(&from, &scratch)? } else { from };
        contents.push(entry(&from, &placed(&to, format), format));
    }
    let packaging = tree.root.join("packaging");
    let mut add = |from: PathBuf, to: &str| contents.push(entry(&from, to, format));
    match format {
        "deb" => {
            add(packaging.join("copyright"), "/usr/share/doc/tollgate/copyright");
            add(packaging.join("lintian-overrides"), "/usr/share/lintian/overrides/tollgate");
        }
        _ => ["LICENSE-MIT", "LICENSE-APACHE"].iter().for_each(|name| {
            add(tree.root.join(name), &format!("/usr/share/licenses/tollgate/{name}"));
        }),
    }
    if format == "rpm" {
        contents.extend(own_folders(&contents));
    }
    let time =
        printed(Command::new("date").args(["--utc", "--date", &format!("@{}", tree.time), "+%FT%TZ"]))?;
    let changelog = scratch.join("changelog.yaml");
    fs::write(&changelog, changes(time.trim()).to_string())?;
    let manifest = scratch.join("nfpm.json");
    fs::write(&manifest, manifest_of(target, time.trim(), &changelog, &contents).to_string())?;
    let packages = scratch.join("made");
    fs::create_dir(&packages)?;
    let mut nfpm = Command::new("nfpm");
    nfpm.args(["package", "--packager", format, "--config"]).arg(&manifest).arg("--target").arg(&packages);
    printed(nfpm.env("SOURCE_DATE_EPOCH", tree.time.to_string()))?;
    let made = fs::read_dir(&packages)?.next().context("nfpm made no package")??.path();
    let package = folder.join(made.file_name().unwrap_or_default());
    fs::rename(&made, &package).with_context(|| package.display().to_string())?;
    Ok(package)
}

/// Each file of the tree, and its place in a system.
fn files(tree: &Tree) -> Result<Vec<(PathBuf, String)>> {
    let mut files = Vec::new();
    for item in ITEMS {
        let from = tree.folder().join(item.name);
        // Completions and manual pages are written by this machine's own program, which may not be built.
        if from.exists() {
            walk(&from, item.system, &mut files)?;
        }
    }
    ensure!(!files.is_empty(), "the tree is empty");
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

/// The place of a file in systems of a format.
fn placed(path: &str, format: &str) -> String {
    let path = if path.contains("/man/") { format!("{path}.gz") } else { path.to_owned() };
    match format {
        "rpm" => path.replace("/zsh/vendor-completions/", "/zsh/site-functions/"),
        _ => path,
    }
}

/// The folders that are the package's own. RPM removes no others with it.
fn own_folders(contents: &[Value]) -> Vec<Value> {
    let places = contents.iter().filter_map(|it| it["dst"].as_str());
    let folders = places.flat_map(|place| Path::new(place).ancestors().skip(1));
    let own: BTreeSet<&Path> = folders.filter(|it| it.iter().any(|name| name == "tollgate")).collect();
    own.iter().map(|folder| json!({ "dst": folder, "type": "dir" })).collect()
}

/// A file of a package, as nfpm reads it. Only RPM marks documentation and licenses: nfpm leaves marked files out of others.
fn entry(from: &Path, to: &str, format: &str) -> Value {
    let kind = match to {
        _ if format != "rpm" => "",
        _ if to.starts_with("/usr/share/licenses/") => "license",
        _ if to.starts_with("/usr/share/doc/") || to.starts_with("/usr/share/man/") => "doc",
        _ => "",
    };
    json!({ "src": from, "dst": to, "type": kind, "file_info": { "mode": mode(to) } })
}

fn mode(path: &str) -> u32 {
    if path.starts_with("/usr/bin/") || path.ends_with("/tollgate-ci") { 0o755 } else { 0o644 }
}

/// Who answers for the packages.
const MAINTAINER: &str = "The tollgate maintainers <tollgate@packages.invalid>";

/// What nfpm reads: its format is YAML, of which JSON is a part.
fn manifest_of(target: &Target, time: &str, changelog: &Path, contents: &[Value]) -> Value {
    let arch = match target.arch {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    json!({
        "name": "tollgate",
        "arch": arch,
        "platform": "linux",
        "version": env!("CARGO_PKG_VERSION"),
        "release": RELEASE,
        "section": "utils",
        "priority": "optional",
        "maintainer": MAINTAINER,
        "description": DESCRIPTION,
        "license": "MIT OR Apache-2.0",
        "homepage": "https://crates.io/crates/tollgate",
        "changelog": changelog,
        "mtime": time,
        "disable_globbing": true,
        "contents": contents,
        "deb": { "compression": "xz" },
        "rpm": {
            "compression": "xz",
            "summary": "Measure what it costs to cross an execution boundary",
            "group": "Development/Tools",
            "buildhost": "localhost",
            "packager": MAINTAINER,
        },
    })
}

/// The history of the package, in which the change log of the program is named.
fn changes(time: &str) -> Value {
    json!([{
        "semver": format!("{}-{RELEASE}", env!("CARGO_PKG_VERSION")),
        "date": time,
        "packager": MAINTAINER,
        "deb": { "urgency": "medium", "distributions": ["unstable"] },
        "changes": [{ "note": "New release: see NEWS.md." }],
    }])
}

#[cfg(test)]
mod tests {
    use super::{mode, own_folders, placed};
    use serde_json::json;

    #[test]
    fn folders_of_the_system_are_not_the_packages() {
        let contents =
            [json!({ "dst": "/usr/bin/tollgate" }), json!({ "dst": "/usr/share/doc/tollgate/book/a.md" })];
        let own = own_folders(&contents);
        let names: Vec<&str> = own.iter().filter_map(|it| it["dst"].as_str()).collect();
        assert_eq!(names, ["/usr/share/doc/tollgate", "/usr/share/doc/tollgate/book"]);
    }

    #[test]
    fn each_format_has_its_own_places() {
        let (zsh, page) = ("/usr/share/zsh/vendor-completions/_tollgate", "/usr/share/man/man1/tollgate.1");
        assert_eq!(placed(zsh, "deb"), zsh);
        assert_eq!(placed(zsh, "rpm"), "/usr/share/zsh/site-functions/_tollgate");
        assert_eq!(placed(page, "deb"), "/usr/share/man/man1/tollgate.1.gz");
        assert_eq!((mode("/usr/bin/tollgate"), mode(page)), (0o755, 0o644));
    }
}
