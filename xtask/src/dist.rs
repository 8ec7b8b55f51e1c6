//! `cargo xtask dist`: one archive for each architecture, with the static program and what belongs beside it.
//!
//! Two builds of the same commit by the same compiler give the same bytes: names in order, one owner, one time.

use crate::cross::{Build, Profile, Target, chosen, is_static, tollgate};
use crate::workspace;
use anyhow::{Context, Result, bail, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Build a static program for each architecture and pack it into target/dist
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Only this architecture: x86_64, aarch64 or riscv64; may be repeated
    #[arg(long, value_name = "NAME")]
    arch: Vec<String>,
    /// How to build
    #[arg(long, value_enum, default_value = "release")]
    profile: Profile,
}

/// What belongs beside the program.
const BESIDE: &[&str] = &["README.md", "LICENSE-APACHE", "LICENSE-MIT", "CHANGELOG.md", "METHOD.md"];

/// Shells that `tollgate completions` knows, with the file that each looks for.
const SHELLS: &[(&str, &str)] = &[("bash", "tollgate.bash"), ("zsh", "_tollgate"), ("fish", "tollgate.fish")];

impl Args {
    /// Builds and packs.
    ///
    /// # Errors
    /// When one of them fails or cannot be built here: an archive that was asked for is then missing.
    pub(crate) fn run(&self) -> Result<()> {
        let root = workspace::root()?;
        let mut missing = Vec::new();
        // The first is this machine's own, which writes the completions and pages for all.
        let mut own = None;
        for target in chosen(&self.arch)? {
            println!("{}: building", target.arch);
            match tollgate(&root, target, self.profile) {
                Ok(Build::Done(program)) => {
                    if target.is_native() {
                        own = Some(program.clone());
                    }
                    let folder = root.join("target/dist");
                    let archive = pack(&root, &folder, target, &program, own.as_deref())?;
                    println!("{}", archive.display());
                }
                Ok(Build::Skipped(why)) => missing.push(format!("{}: {why}", target.arch)),
                Err(error) => missing.push(format!("{}: {error:#}", target.arch)),
            }
        }
        if !missing.is_empty() {
            bail!("not packed: {}", missing.join("; "));
        }
        Ok(())
    }
}

/// Packs a program into `folder`, with its checksum beside the archive. `own` is a program that runs here.
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
    is_static(program)?;
    let name = format!("tollgate-{}-{}-linux", version(root)?, target.arch);
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

/// Completions and manual pages, as far as the program knows how to write them.
fn describe(own: &Path, tree: &Path) -> Result<()> {
    let help = printed(Command::new(own).arg("--help"))?;
    let knows = |command: &str| help.lines().any(|line| line.split_whitespace().next() == Some(command));
    if knows("completions") {
        let folder = tree.join("completions");
        fs::create_dir(&folder)?;
        for (shell, file) in SHELLS {
            fs::write(folder.join(file), printed(Command::new(own).args(["completions", shell]))?)?;
        }
    }
    if knows("man") {
        let folder = tree.join("man");
        fs::create_dir(&folder)?;
        fs::write(folder.join("tollgate.1"), printed(Command::new(own).arg("man"))?)?;
    }
    Ok(())
}

/// One archive of `name` in `folder`: entries in the order of their names, owned by nobody in particular, all of the
/// same time.
fn tar(folder: &Path, name: &str, archive: &Path, time: u64) -> Result<()> {
    let tar = folder.join("tar");
    printed(
        Command::new("tar")
            .args(["--format=ustar", "--sort=name", "--owner=0", "--group=0", "--numeric-owner"])
            .args(["--mode=u=rwX,go=rX", &format!("--mtime=@{time}"), "--create", "--file"])
            .arg(&tar)
            .arg("--directory")
            .arg(folder)
            .arg(name)
            .env("LC_ALL", "C"),
    )?;
    printed(Command::new("gzip").args(["--best", "--no-name"]).arg(&tar))?;
    fs::rename(folder.join("tar.gz"), archive)?;
    Ok(())
}

/// The time of the commit, which is that of every file in the archive.
fn time(root: &Path) -> u64 {
    let mut git = Command::new("git");
    git.args(["log", "-1", "--format=%ct"]).current_dir(root);
    // Outside a checkout, the same for everybody.
    printed(&mut git).ok().and_then(|text| text.trim().parse().ok()).unwrap_or(0)
}

/// The workspace's version.
fn version(root: &Path) -> Result<String> {
    let manifest: toml::Table = fs::read_to_string(root.join("Cargo.toml"))?.parse()?;
    let version = manifest["workspace"]["package"]["version"].as_str();
    Ok(version.context("the workspace names no version")?.to_owned())
}

/// What a program prints when it succeeds.
fn printed(command: &mut Command) -> Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().with_context(|| format!("cannot run {name}"))?;
    let error = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{name}: {}", error.trim());
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::tar;
    use std::fs;
    use std::path::Path;

    /// The same files, written in another order and at another time.
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
    fn the_order_and_the_time_of_writing_do_not_show_in_the_archive() {
        let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let first = archive(one.path(), &["a", "b", "c"]);
        let tree = other.path().join("tree");
        fs::create_dir_all(&tree).unwrap();
        let old = fs::File::create(tree.join("c")).unwrap();
        old.set_modified(std::time::UNIX_EPOCH).unwrap();
        assert_eq!(first, archive(other.path(), &["c", "b", "a"]));
        assert_ne!(first, archive(other.path(), &["d"]));
    }
}
