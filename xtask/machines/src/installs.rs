//! `cargo xtask installs`: what users do with the files of [`crate::dist`], in an empty root of Debian: install, print the first table,
//! remove, and nothing remains.

mod root;

use crate::build::target::Target;
use anyhow::{Context, Result, bail, ensure};
use root::Root;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;
use tollgate_testkit::{need, printed, workspace};

/// Check the packages of this machine, and install, run and remove them in an empty root of Debian (as root)
#[derive(clap::Args)]
pub struct Args {
    /// Only this way; may be repeated
    #[arg(long, value_enum, value_name = "WAY")]
    only: Vec<Way>,
    /// Where the files are
    #[arg(long, value_name = "DIR", default_value = "target/dist")]
    from: PathBuf,
}

/// A way to install.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Way {
    Archive,
    Deb,
    Rpm,
    Wheel,
    Image,
}

const WAYS: [Way; 5] = [Way::Archive, Way::Deb, Way::Rpm, Way::Wheel, Way::Image];

/// The first table that a user sees.
const TABLE: [&str; 2] = ["--quick", "--no-save"];

/// The longest time from the file to the first table, in seconds.
const MOST_S: f64 = 60.0;

impl Args {
    /// Tries each way.
    ///
    /// # Errors
    /// When one fails, takes too long or leaves a file, or what it needs is missing.
    pub fn run(&self) -> Result<()> {
        let root = workspace::root()?;
        let files = Files { folder: root.join(&self.from) };
        let store = root.join("target/roots");
        let mut failed = Vec::new();
        for way in WAYS.iter().filter(|way| self.only.is_empty() || self.only.contains(way)) {
            match way.attempt(&files, &store) {
                Ok(seconds) if seconds > MOST_S => {
                    failed.push(format!("{way:?}: the first table took {seconds:.1} s"))
                }
                Ok(seconds) => println!("{way:?}: installed, {seconds:.1} s to the first table, removed"),
                Err(error) => failed.push(format!("{way:?}: {error:#}")),
            }
        }
        ensure!(failed.is_empty(), "not installed:\n  {}", failed.join("\n  "));
        Ok(())
    }
}

/// The files of a release.
struct Files {
    folder: PathBuf,
}

impl Files {
    /// All files whose names end so, in order.
    fn all(&self, end: &str) -> Result<Vec<PathBuf>> {
        let files = fs::read_dir(&self.folder).with_context(|| self.folder.display().to_string())?;
        let mut found: Vec<PathBuf> = files.flatten().map(|entry| entry.path()).collect();
        found.retain(|path| path.to_string_lossy().ends_with(end));
        found.sort();
        Ok(found)
    }

    /// The file for this machine whose name ends so, and contains this machine's architecture in the format's words.
    fn find(&self, end: &str, architecture: &str) -> Result<PathBuf> {
        let is_ours = |path: &PathBuf| {
            path.file_name().is_some_and(|name| name.to_string_lossy().contains(architecture))
        };
        self.all(end)?.into_iter().rfind(is_ours).with_context(|| {
            format!("no file *{end} for this machine is in {}: run 'cargo xtask dist'", self.folder.display())
        })
    }
}

impl Way {
    /// Installs, runs and removes; returns the seconds from the file to the table.
    fn attempt(self, files: &Files, store: &Path) -> Result<f64> {
        let arch = Target::known(std::env::consts::ARCH)?.arch;
        let debian = printed(Command::new("dpkg").arg("--print-architecture"))?;
        match self {
            Self::Archive => {
                let file = files.find("-linux.tar.gz", arch)?;
                let root = Root::empty(store)?;
                let begun = Instant::now();
                root.copy(&file, "srv/tollgate.tar.gz")?;
                root.call(&["tar", "-C", "/srv", "--strip-components=1", "-xzf", "/srv/tollgate.tar.gz"])?;
                first_table(&root, "/srv/tollgate")?;
                Ok(begun.elapsed().as_secs_f64())
            }
            Self::Deb => {
                let file = files.find(".deb", debian.trim())?;
                lint("lintian", &["--fail-on", "error"], &files.all(".deb")?)?;
                let root = Root::empty(store)?;
                let before = root.files()?;
                let begun = Instant::now();
                root.copy(&file, "srv/tollgate.deb")?;
                root.call(&["dpkg", "--install", "/srv/tollgate.deb"])?;
                first_table(&root, "tollgate")?;
                let seconds = begun.elapsed().as_secs_f64();
                root.call(&["dpkg", "--purge", "tollgate"])?;
                root.call(&["rm", "/srv/tollgate.deb"])?;
                nothing_left(&before, &root.files()?)?;
                Ok(seconds)
            }
            Self::Rpm => {
                let file = files.find(".rpm", arch)?;
                lint("rpmlint", &["--config", "packaging/rpmlint.toml"], &files.all(".rpm")?)?;
                let root = Root::empty(store)?;
                let begun = Instant::now();
                // The root is of Debian: this machine's rpm installs into it.
                let rpm = |args: &[&str], what: &Path| {
                    let mut rpm = Command::new("rpm");
                    printed(rpm.arg("--root").arg(root.folder()).args(args).arg("--nodeps").arg(what))
                };
                let before = root.files()?;
                rpm(&["--install", "--ignorearch"], &file)?;
                first_table(&root, "tollgate")?;
                let seconds = begun.elapsed().as_secs_f64();
                rpm(&["--erase"], Path::new("tollgate"))?;
                nothing_left(&before, &root.files()?)?;
                Ok(seconds)
            }
            Self::Wheel => {
                let file = files.find(".whl", arch)?;
                let root = Root::with_python(store)?;
                let begun = Instant::now();
                let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
                root.copy(&file, &format!("srv/{name}"))?;
                let pip = ["pip3", "--no-cache-dir", "install", "--no-index", "--break-system-packages"];
                root.call(&[&pip[..], &[&format!("/srv/{name}")]].concat())?;
                first_table(&root, "tollgate")?;
                let seconds = begun.elapsed().as_secs_f64();
                let said = root.call(&[
                    "python3",
                    "-c",
                    "import tollgate_perf; print(tollgate_perf.run('null', quick=True))",
                ])?;
                ensure!(said.contains("tollgate_perf.Run"), "the module prints {said}");
                Ok(seconds)
            }
            Self::Image => {
                let file = files.find("-oci.tar.gz", arch)?;
                let begun = Instant::now();
                for privileged in [false, true] {
                    let table = root::run_image(&file, store, privileged, &TABLE)?;
                    ensure!(table.contains("getppid"), "the image prints no table: {table}");
                }
                Ok(begun.elapsed().as_secs_f64() / 2.0)
            }
        }
    }
}

/// Runs the program that was installed.
fn first_table(root: &Root, program: &str) -> Result<()> {
    let table = root.call(&[&[program][..], &TABLE].concat())?;
    ensure!(table.contains("getppid"), "{program} prints no table: {table}");
    Ok(())
}

/// Checks the packages of all architectures by the checker of their distribution.
fn lint(checker: &str, options: &[&str], packages: &[PathBuf]) -> Result<()> {
    need(checker, &format!("apt-get install {checker}"))?;
    let output =
        Command::new(checker).args(options).args(packages).current_dir(workspace::root()?).output()?;
    if !output.status.success() {
        bail!("{checker}: {}", String::from_utf8_lossy(&output.stdout));
    }
    Ok(())
}

/// Compares the files of a root before an installation and after its removal.
fn nothing_left(before: &[String], after: &[String]) -> Result<()> {
    let left: Vec<&str> = after.iter().filter(|it| !before.contains(it)).map(String::as_str).collect();
    ensure!(left.is_empty(), "these files were left: {}", left.join(", "));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Files, nothing_left};

    #[test]
    fn a_file_that_remains_is_named() {
        let files = |names: &[&str]| names.iter().map(|&it| it.to_owned()).collect::<Vec<_>>();
        nothing_left(&files(&["a", "b"]), &files(&["a"])).unwrap();
        let error = nothing_left(&files(&["a"]), &files(&["a", "usr/bin/c"])).unwrap_err().to_string();
        assert_eq!(error, "these files were left: usr/bin/c");
    }

    #[test]
    fn the_newest_file_of_this_machine_is_taken() {
        let folder = tempfile::tempdir().unwrap();
        for name in
            ["t-0.1.0-x86_64-linux.tar.gz", "t-0.2.0-x86_64-linux.tar.gz", "t-0.3.0-aarch64-linux.tar.gz"]
        {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        let files = Files { folder: folder.path().to_owned() };
        let found = files.find("-linux.tar.gz", "x86_64").unwrap();
        assert!(found.ends_with("t-0.2.0-x86_64-linux.tar.gz"));
        let error = files.find(".deb", "amd64").unwrap_err().to_string();
        assert!(error.contains("run 'cargo xtask dist'"), "{error}");
    }
}
