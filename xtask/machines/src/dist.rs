//! `cargo xtask dist`: what users install, for each architecture: an archive of the static program and what belongs beside it, its
//! debug symbols, packages of Debian and of RPM, and an OCI image. All are made of one tree (`tree`).
//!
//! Two builds of the same commit by the same compiler give the same bytes: entries are sorted, with one owner and time.

mod archive;
mod image;
mod package;
mod rpm;
mod tree;

use crate::build::target::{Profile, Target};
use crate::build::{debug_symbols, prepared, tollgate};
use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tollgate_testkit::{printed, workspace};
pub use tree::time;
use tree::{Tree, stem};

/// Build a static program for each architecture and pack it into target/dist
#[derive(clap::Args)]
pub struct Args {
    /// Only this architecture: x86_64, aarch64 or riscv64; may be repeated
    #[arg(long, value_name = "NAME")]
    arch: Vec<String>,
    /// How to build
    #[arg(long, value_enum, default_value = "dist")]
    profile: Profile,
    /// Pack this program in place of one that is built here; needs one --arch
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
    /// Only this kind of file; may be repeated
    #[arg(long, value_enum, value_name = "KIND")]
    only: Vec<Kind>,
}

/// A kind of file that users install.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Kind {
    /// The archive that unpacks anywhere
    Archive,
    /// The debug symbols of the program
    Debug,
    /// The package of Debian
    Deb,
    /// The package of Fedora, openSUSE and others
    Rpm,
    /// The OCI image, as an archive of its layout
    Image,
}

const KINDS: [Kind; 5] = [Kind::Archive, Kind::Debug, Kind::Deb, Kind::Rpm, Kind::Image];

impl Args {
    /// Builds and packs the programs.
    ///
    /// # Errors
    /// When one fails or cannot be built here.
    pub fn run(&self) -> Result<()> {
        let root = workspace::root()?;
        let folder = root.join("target/dist");
        let mut missing = Vec::new();
        let page = root.join("target/page/site");
        if !page.join("index.html").is_file() {
            missing.push("the page of the lab: run 'cargo xtask page' first".to_owned());
        }
        // This machine's own program comes first and writes the completions and manual pages for all.
        let mut own = None;
        let targets = Target::chosen(&self.arch)?;
        ensure!(
            self.program.is_none() || targets.len() == 1,
            "--program is of one architecture: give --arch"
        );
        tree::tools()?;
        for target in targets {
            let program = match &self.program {
                Some(program) => prepared(target, program, &folder.join(".program")),
                None => {
                    println!("{}: building", target.arch);
                    tollgate(&root, target, self.profile)
                }
            };
            match program {
                Ok(program) => {
                    if target.is_native() {
                        own = Some(program.clone());
                    }
                    let tree = Tree::make(&root, &folder, target, &program, own.as_deref())?;
                    tree.add_origin(target)?;
                    tree.add_page(&page)?;
                    missing.extend(self.pack(&root, &folder, target, &tree, &program));
                }
                Err(error) => missing.push(format!("{}: {error:#}", target.arch)),
            }
        }
        let summed = write_sums(&folder);
        // If nothing was packed, this says why.
        ensure!(missing.is_empty(), "not packed:\n  {}", missing.join("\n  "));
        summed
    }

    /// Makes each kind of file, and returns why some could not be made.
    fn pack(&self, root: &Path, folder: &Path, target: &Target, tree: &Tree, program: &Path) -> Vec<String> {
        let mut missing = Vec::new();
        let wanted = KINDS.iter().filter(|kind| self.only.is_empty() || self.only.contains(kind));
        for kind in wanted {
            let made = match kind {
                Kind::Archive => tree.archive(folder),
                Kind::Debug => debug_archive(root, folder, target, program),
                Kind::Deb => package::deb(tree, target, folder),
                Kind::Rpm => rpm::make(tree, target, folder),
                Kind::Image => image::make(tree, target, folder),
            };
            match made {
                Ok(path) => println!("{} ({:.2} MB)", path.display(), megabytes(&path)),
                Err(error) => missing.push(format!("{}, {kind:?}: {error:#}", target.arch)),
            }
        }
        missing
    }
}

fn megabytes(path: &Path) -> f64 {
    fs::metadata(path).map_or(0.0, |facts| facts.len() as f64 / 1e6)
}

/// Packs the archive of a program that is built otherwise than users get it. `own` is the program that runs on this machine.
///
/// # Errors
/// When the program is not static, or a file cannot be written.
pub(crate) fn pack(
    root: &Path,
    folder: &Path,
    target: &Target,
    program: &Path,
    own: Option<&Path>,
) -> Result<PathBuf> {
    Tree::make(root, folder, target, program, own)?.archive(folder)
}

/// The static program of an architecture, built as users get it.
///
/// # Errors
/// When it does not build, or cannot be built here.
pub fn program(root: &Path, arch: &str) -> Result<PathBuf> {
    tollgate(root, Target::known(arch)?, Profile::Dist)
}

/// The components of the program of an architecture, as CycloneDX.
///
/// # Errors
/// When there is no such architecture, or the tool fails or is missing.
pub fn components(root: &Path, arch: &str) -> Result<String> {
    tree::components(root, Target::known(arch)?, time(root))
}

/// An archive of the debug symbols, which debuggers look for beside the program or by its build id.
fn debug_archive(root: &Path, folder: &Path, target: &Target, program: &Path) -> Result<PathBuf> {
    let scratch = tempfile::tempdir_in(folder).context("a folder to pack in")?;
    let name = format!("{}-debug", stem(target));
    fs::create_dir(scratch.path().join(&name))?;
    let symbols = debug_symbols(program);
    fs::copy(&symbols, scratch.path().join(&name).join("tollgate.debug"))
        .with_context(|| symbols.display().to_string())?;
    archive::write(scratch.path(), &name, folder, time(root))
}

/// The checksums of all files, as `sha256sum --check` reads them.
fn write_sums(folder: &Path) -> Result<()> {
    let mut names: Vec<String> = fs::read_dir(folder)?
        .filter_map(|entry| Some(entry.ok()?.file_name().to_string_lossy().into_owned()))
        .filter(|name| folder.join(name).is_file() && name != SUMS)
        .collect();
    names.sort();
    ensure!(!names.is_empty(), "nothing was packed into {}", folder.display());
    let sums = printed(Command::new("sha256sum").args(&names).current_dir(folder))?;
    fs::write(folder.join(SUMS), sums).context(SUMS)
}

const SUMS: &str = "SHA256SUMS";

#[cfg(test)]
mod tests {
    use super::{Tree, image, package, rpm};
    use crate::build::target::Target;
    use anyhow::Result;
    use std::fs;
    use std::path::{Path, PathBuf};
    use std::process::Command;
    use tollgate_testkit::{Missing, need, printed, skipped, workspace};

    type Make = fn(&Tree, &Target, &Path) -> Result<PathBuf>;

    /// A static program that is built already stands for ours.
    #[test]
    fn packages_are_equal_in_two_folders() {
        let root = workspace::root().unwrap();
        let target = Target::known("riscv64").unwrap();
        let program = root.join("guests/riscv/images/note-linux.elf");
        for (name, make) in [("deb", package::deb as Make), ("rpm", rpm::make), ("image", image::make)] {
            let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
            let mut made = Vec::new();
            for folder in folders.iter().map(tempfile::TempDir::path) {
                let tree = Tree::make(&root, folder, target, &program, None).unwrap();
                // The image names what it contains.
                fs::write(tree.folder().join("THIRD-PARTY.md"), "").unwrap();
                match make(&tree, target, folder) {
                    Ok(file) => made.push(file),
                    Err(error) => match error.downcast_ref::<Missing>() {
                        Some(missing) => {
                            skipped("dist::packages_are_equal_in_two_folders", Some(name), &missing.0)
                        }
                        None => panic!("{name}: {error:#}"),
                    },
                }
            }
            let [first, second] = &made[..] else { continue };
            assert_eq!(first.file_name(), second.file_name());
            assert!(fs::read(first).unwrap() == fs::read(second).unwrap(), "{name}: the bytes differ");
            if name == "rpm" {
                assert_within(first);
            }
        }
    }

    /// `cpio --extract` writes an absolute name where it says, outside of the folder.
    fn assert_within(package: &Path) {
        if let Err(missing) = need("cpio", "apt-get install cpio") {
            return skipped("dist::packages_are_equal_in_two_folders", Some("names of rpm"), &missing.0);
        }
        let list = "rpm2cpio \"$0\" | cpio --list --quiet";
        let names = printed(Command::new("sh").args(["-c", list]).arg(package)).unwrap();
        assert!(names.lines().any(|it| it == "./usr/bin/tollgate"), "{names}");
        assert!(names.lines().all(|it| it.starts_with("./")), "{names}");
    }

    #[test]
    fn the_licenses_that_are_listed_are_those_that_are_allowed() {
        let root = workspace::root().unwrap();
        let list = |file: &str, key: &str| {
            let text = fs::read_to_string(root.join(file)).unwrap();
            text.lines().find_map(|line| line.strip_prefix(key)).map(str::to_owned).unwrap()
        };
        assert_eq!(list("packaging/about.toml", "accepted = "), list("deny.toml", "allow = "));
    }
}
