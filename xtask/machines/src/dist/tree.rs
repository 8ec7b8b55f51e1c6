//! The tree of files that everything is packed from: the one list of what users get, with the place of each in a system.

use super::archive;
use crate::build::target::Target;
use anyhow::{Context, Result, ensure};
use object::read::elf::ElfFile64;
use object::{LittleEndian, elf};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tollgate_testkit::{Missing, need, printed};

/// A file or a folder of the tree, and where a package installs it.
pub(super) struct Item {
    pub(super) name: &'static str,
    pub(super) system: &'static str,
}

const fn item(name: &'static str, system: &'static str) -> Item {
    Item { name, system }
}

/// Everything that users get. A folder is installed file by file.
pub(super) const ITEMS: &[Item] = &[
    item("tollgate", "/usr/bin/tollgate"),
    item("tollgate-ci", "/usr/share/tollgate/tollgate-ci"),
    item("README.md", "/usr/share/doc/tollgate/README.md"),
    item("METHOD.md", "/usr/share/doc/tollgate/METHOD.md"),
    item("CHANGELOG.md", "/usr/share/doc/tollgate/NEWS.md"),
    item("THIRD-PARTY.md", "/usr/share/doc/tollgate/THIRD-PARTY.md"),
    item("tollgate.cdx.json", "/usr/share/doc/tollgate/tollgate.cdx.json"),
    item("book", "/usr/share/doc/tollgate/book"),
    item("completions/tollgate.bash", "/usr/share/bash-completion/completions/tollgate"),
    item("completions/_tollgate", "/usr/share/zsh/vendor-completions/_tollgate"),
    item("completions/tollgate.fish", "/usr/share/fish/vendor_completions.d/tollgate.fish"),
    item("man", "/usr/share/man/man1"),
    item("page", "/usr/share/tollgate/page"),
];

/// Files of the repository that are in the tree under the same name. Packages state the licenses in their own way.
const COPIED: [&str; 5] = ["README.md", "LICENSE-APACHE", "LICENSE-MIT", "CHANGELOG.md", "METHOD.md"];

/// The shells of `tollgate generate completions`, with the file that each looks for.
const SHELLS: &[(&str, &str)] = &[("bash", "tollgate.bash"), ("zsh", "_tollgate"), ("fish", "tollgate.fish")];

/// The tree of one architecture, in a folder that is removed with it.
pub(super) struct Tree {
    pub(super) root: PathBuf,
    scratch: tempfile::TempDir,
    name: String,
    /// The time of all files, in seconds since 1970.
    pub(super) time: u64,
}

impl Tree {
    /// Puts everything in its place. `own` is the program that runs on this machine.
    ///
    /// # Errors
    /// When the program is not static, a file cannot be written, or a tool is missing.
    pub(super) fn make(
        root: &Path,
        folder: &Path,
        target: &Target,
        program: &Path,
        own: Option<&Path>,
    ) -> Result<Self> {
        check_static(program)?;
        fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
        let scratch = tempfile::tempdir_in(folder).context("a folder to pack in")?;
        let tree = Self { root: root.to_owned(), scratch, name: stem(target), time: time(root) };
        let place = tree.folder();
        fs::create_dir(&place)?;
        fs::copy(program, place.join("tollgate")).with_context(|| program.display().to_string())?;
        fs::copy(root.join("ci/tollgate-ci"), place.join("tollgate-ci")).context("ci/tollgate-ci")?;
        for file in COPIED {
            fs::copy(root.join(file), place.join(file)).with_context(|| file.to_owned())?;
        }
        copy_pages(&root.join("docs"), &place.join("book"))?;
        if let Some(own) = own {
            describe(own, &place)?;
        }
        Ok(tree)
    }

    /// Adds what states the origin of the program: the licenses of its libraries, and the list of them.
    ///
    /// # Errors
    /// When a tool fails or is missing.
    pub(super) fn add_origin(&self, target: &Target) -> Result<()> {
        fs::write(self.folder().join("THIRD-PARTY.md"), licenses(&self.root)?)?;
        fs::write(self.folder().join("tollgate.cdx.json"), components(&self.root, target, self.time)?)?;
        Ok(())
    }

    /// Adds the page of the lab, which `tollgate lab serve` finds beside the program, if it is built. The page as one file is for
    /// teachers who send it, and contains everything a second time.
    ///
    /// # Errors
    /// When a file cannot be copied.
    pub(super) fn add_page(&self, site: &Path) -> Result<()> {
        let Ok(entries) = fs::read_dir(site) else { return Ok(()) };
        let place = self.folder().join("page");
        fs::create_dir(&place)?;
        for entry in entries {
            let path = entry?.path();
            if path.is_file() && !path.ends_with("tollgate-lab.html") {
                fs::copy(&path, place.join(path.file_name().unwrap_or_default()))?;
            }
        }
        Ok(())
    }

    /// Where the files are.
    pub(super) fn folder(&self) -> PathBuf {
        self.scratch.path().join(&self.name)
    }

    /// Another folder for what is made of the tree.
    ///
    /// # Errors
    /// When it cannot be made.
    pub(super) fn beside(&self, name: &str) -> Result<PathBuf> {
        let folder = self.scratch.path().join(name);
        fs::create_dir_all(&folder)?;
        Ok(folder)
    }

    /// Packs it into a folder.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub(super) fn archive(&self, folder: &Path) -> Result<PathBuf> {
        archive::write(self.scratch.path(), &self.name, folder, self.time)
    }
}

/// What every file's name begins with.
pub(super) fn stem(target: &Target) -> String {
    format!("tollgate-{}-{}-linux", env!("CARGO_PKG_VERSION"), target.arch)
}

/// The time of the commit, for every file.
#[must_use]
pub fn time(root: &Path) -> u64 {
    let mut git = Command::new("git");
    git.args(["log", "-1", "--format=%ct"]).current_dir(root);
    // Outside of a checkout, the same everywhere.
    printed(&mut git).ok().and_then(|text| text.trim().parse().ok()).unwrap_or(0)
}

/// Writes completions and manual pages.
fn describe(own: &Path, tree: &Path) -> Result<()> {
    let folder = tree.join("completions");
    fs::create_dir_all(&folder)?;
    for (shell, file) in SHELLS {
        let script = printed(Command::new(own).args(["generate", "completions", shell]))?;
        fs::write(folder.join(file), script)?;
    }
    printed(Command::new(own).args(["generate", "man"]).arg(tree.join("man"))).map(drop)
}

/// Copies the pages of the book, without their pictures: the text is what a reader without a network needs.
fn copy_pages(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from).with_context(|| from.display().to_string())? {
        let entry = entry?;
        let (path, place) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() && entry.file_name() != "pictures" {
            copy_pages(&path, &place)?;
        } else if path.extension().is_some_and(|it| it == "md" || it == "yml" || it == "json") {
            fs::copy(&path, &place)?;
        }
    }
    Ok(())
}

const ABOUT: (&str, &str) = ("cargo-about", "cargo install cargo-about --locked --features cli");
const CYCLONEDX: (&str, &str) = ("cargo-cyclonedx", "cargo install cargo-cyclonedx --locked");

/// Checks for the tools that every tree needs, before a program is built for a quarter of an hour.
///
/// # Errors
/// [`Missing`], for the first one.
pub(super) fn tools() -> Result<(), Missing> {
    [ABOUT, CYCLONEDX].iter().try_for_each(|(name, install)| need(name, install).map(drop))
}

/// The licenses of everything that is compiled into the program, with their texts.
fn licenses(root: &Path) -> Result<String> {
    // Offline, the tool takes texts from the packages alone, so that two builds have the same ones; but it wants those of all platforms.
    printed(Command::new("cargo").args(["fetch", "--locked", "--quiet"]).current_dir(root))?;
    let packaging = root.join("packaging");
    let mut about = Command::new("cargo-about");
    about
        .args(["about", "generate", "--frozen", "--fail", "--config"])
        .arg(packaging.join("about.toml"))
        .arg("--manifest-path")
        .arg(root.join("crates/tollgate/Cargo.toml"))
        .arg(packaging.join("about.hbs"));
    printed(&mut about)
}

/// The components of the program as CycloneDX, without what differs between two runs.
pub(super) fn components(root: &Path, target: &Target, time: u64) -> Result<String> {
    need(CYCLONEDX.0, CYCLONEDX.1)?;
    let name = format!("components-{}", target.arch);
    let mut tool = Command::new("cargo-cyclonedx");
    tool.args([
        "cyclonedx",
        "--quiet",
        "--format",
        "json",
        "--spec-version",
        "1.5",
        "--target",
        target.triple,
    ])
    .args(["--no-build-deps", "--override-filename", &name, "--manifest-path"])
    .arg(root.join("crates/tollgate/Cargo.toml"))
    .env("SOURCE_DATE_EPOCH", time.to_string());
    printed(&mut tool)?;
    // It writes one for each member of the workspace, beside its manifest.
    let mut text = None;
    for entry in fs::read_dir(root.join("crates"))?.chain(fs::read_dir(root.join("xtask"))?) {
        let file = entry?.path().join(format!("{name}.json"));
        if file.parent().is_some_and(|it| it.ends_with("crates/tollgate")) && file.is_file() {
            text = Some(fs::read_to_string(&file)?);
        }
        if file.is_file() {
            fs::remove_file(file)?;
        }
    }
    let _ = fs::remove_file(root.join(format!("xtask/{name}.json")));
    // Paths of the builder, by which local packages are named, are private.
    Ok(text.context("cargo-cyclonedx wrote no file")?.replace(&root.display().to_string(), "."))
}

/// Checks that the program is linked statically.
///
/// # Errors
/// When it is linked dynamically, or is not a 64-bit ELF file.
fn check_static(program: &Path) -> Result<()> {
    let bytes = fs::read(program).with_context(|| program.display().to_string())?;
    ensure!(!has_interpreter(&bytes)?, "{} is linked dynamically", program.display());
    Ok(())
}

/// Whether a program names an interpreter, as a dynamically linked one does (System V ABI).
fn has_interpreter(file: &[u8]) -> Result<bool> {
    let headers = ElfFile64::<LittleEndian>::parse(file)?.elf_program_headers();
    Ok(headers.iter().any(|header| header.p_type.get(LittleEndian) == elf::PT_INTERP))
}

#[cfg(test)]
mod tests {
    use super::has_interpreter;

    #[test]
    fn a_test_is_linked_dynamically_and_a_guest_is_not() {
        let own = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        assert_eq!(has_interpreter(&own).unwrap(), cfg!(not(target_feature = "crt-static")));
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../guests/riscv/images");
        let guest = std::fs::read_dir(root)
            .unwrap()
            .flatten()
            .map(|entry| entry.path())
            .find(|path| std::fs::read(path).is_ok_and(|bytes| bytes.get(4) == Some(&2)));
        assert!(!has_interpreter(&std::fs::read(guest.unwrap()).unwrap()).unwrap());
    }

    #[test]
    fn a_file_that_is_not_a_program_is_an_error() {
        assert!(has_interpreter(b"#!/bin/sh").is_err());
        assert!(has_interpreter(&[0x7f, b'E', b'L', b'F', 2, 1]).is_err());
    }
}
