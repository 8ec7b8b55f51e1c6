//! `cargo xtask dist`: one archive for each architecture, with the static program and what belongs beside it.
//!
//! Two builds of the same commit by the same compiler give the same bytes: entries are sorted, with one owner and time.

use crate::build::target::{Profile, Target};
use crate::build::tollgate;
use anyhow::{Context, Result, ensure};
use object::read::elf::ElfFile64;
use object::{LittleEndian, elf};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tollgate_testkit::printed;
use tollgate_testkit::workspace;

/// Build a static program for each architecture and pack it into target/dist
#[derive(clap::Args)]
pub struct Args {
    /// Only this architecture: x86_64, aarch64 or riscv64; may be repeated
    #[arg(long, value_name = "NAME")]
    arch: Vec<String>,
    /// How to build
    #[arg(long, value_enum, default_value = "dist")]
    profile: Profile,
}

/// The files that are packed beside the program.
const BESIDE: &[&str] = &["README.md", "LICENSE-APACHE", "LICENSE-MIT", "CHANGELOG.md", "METHOD.md"];

/// The shells of `tollgate generate completions`, with the file that each looks for.
const SHELLS: &[(&str, &str)] = &[("bash", "tollgate.bash"), ("zsh", "_tollgate"), ("fish", "tollgate.fish")];

impl Args {
    /// Builds and packs the programs.
    ///
    /// # Errors
    /// When one fails or cannot be built here.
    pub fn run(&self) -> Result<()> {
        let root = workspace::root()?;
        let mut missing = Vec::new();
        // This machine's own program comes first and writes the completions and manual pages for all.
        let mut own = None;
        for target in Target::chosen(&self.arch)? {
            println!("{}: building", target.arch);
            match tollgate(&root, target, self.profile) {
                Ok(program) => {
                    if target.is_native() {
                        own = Some(program.clone());
                    }
                    let archive = pack(&root, &root.join("target/dist"), target, &program, own.as_deref())?;
                    println!("{}", archive.display());
                }
                Err(error) => missing.push(format!("{}: {error:#}", target.arch)),
            }
        }
        ensure!(missing.is_empty(), "not packed: {}", missing.join("; "));
        Ok(())
    }
}

/// The static program of an architecture, built as users get it.
///
/// # Errors
/// When it does not build, or cannot be built here.
pub fn program(root: &Path, arch: &str) -> Result<PathBuf> {
    tollgate(root, Target::known(arch)?, Profile::Dist)
}

/// Packs a program into `folder`, with its checksum beside the archive. `own` is the program that runs on this machine.
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
    check_static(program)?;
    let name = format!("tollgate-{}-{}-linux", env!("CARGO_PKG_VERSION"), target.arch);
    fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    let scratch = tempfile::tempdir_in(folder).context("a folder to pack in")?;
    let tree = scratch.path().join(&name);
    fs::create_dir(&tree)?;
    let packed = tree.join("tollgate");
    fs::copy(program, &packed).with_context(|| program.display().to_string())?;
    for file in BESIDE {
        fs::copy(root.join(file), tree.join(file)).with_context(|| (*file).to_owned())?;
    }
    if let Some(own) = own {
        describe(own, &tree)?;
    }
    let archive = folder.join(format!("{name}.tar.gz"));
    let unfinished = scratch.path().join("archive");
    tar(scratch.path(), &name, &unfinished, time(root))?;
    fs::rename(&unfinished, &archive).with_context(|| archive.display().to_string())?;
    let sum =
        printed(Command::new("sha256sum").arg(archive.file_name().unwrap_or_default()).current_dir(folder))?;
    fs::write(folder.join(format!("{name}.tar.gz.sha256")), sum)?;
    Ok(archive)
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

/// Makes one archive of `name` in `folder`: entries sorted by name, owned by user 0, all of the same time.
fn tar(folder: &Path, name: &str, archive: &Path, time: u64) -> Result<()> {
    let mut tar = Command::new("tar");
    tar.args(["--format=ustar", "--sort=name", "--owner=0", "--group=0", "--numeric-owner"])
        .args([
            "--mode=u=rwX,go=rX",
            &format!("--mtime=@{time}"),
            "--use-compress-program=gzip --best --no-name",
        ])
        .arg("--create")
        .arg("--file")
        .arg(archive)
        .arg("--directory")
        .args([folder, Path::new(name)]);
    printed(&mut tar).map(drop)
}

/// The time of the commit, for every file in the archive.
fn time(root: &Path) -> u64 {
    let mut git = Command::new("git");
    git.args(["log", "-1", "--format=%ct"]).current_dir(root);
    // Outside of a checkout, the same everywhere.
    printed(&mut git).ok().and_then(|text| text.trim().parse().ok()).unwrap_or(0)
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
    use super::{has_interpreter, tar};
    use std::fs;
    use std::path::Path;

    fn archive(folder: &Path, names: &[&str]) -> Vec<u8> {
        let tree = folder.join("tree");
        fs::create_dir_all(&tree).unwrap();
        for name in names {
            fs::write(tree.join(name), name).unwrap();
        }
        let out = folder.join("out.tar.gz");
        tar(folder, "tree", &out, 1_000_000_000).unwrap();
        fs::read(out).unwrap()
    }

    #[test]
    fn the_archive_does_not_depend_on_the_order_and_time_of_writing() {
        let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let first = archive(one.path(), &["a", "b", "c"]);
        let tree = other.path().join("tree");
        fs::create_dir_all(&tree).unwrap();
        let old = fs::File::create(tree.join("c")).unwrap();
        old.set_modified(std::time::UNIX_EPOCH).unwrap();
        assert_eq!(first, archive(other.path(), &["c", "b", "a"]));
        assert_ne!(first, archive(other.path(), &["d"]));
    }

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
