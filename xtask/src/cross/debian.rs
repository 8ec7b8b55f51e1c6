//! A compiler with the standard libraries of other architectures, out of Debian's packages, without rustup and
//! without privilege: `rustc-web`, which Debian keeps current for its browsers, unpacked into a folder.
//!
//! A toolchain is fetched beside its place, tried, and renamed into it: one that is there is whole.

use super::apt::Apt;
use anyhow::{Context, Result, anyhow, ensure};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use tollgate_testkit::program;

/// What is wanted beside the compiler and this machine's standard library.
pub(super) struct Wanted {
    /// Debian's names of the architectures whose standard libraries are wanted; this machine's own may be one.
    pub(super) architectures: Vec<&'static str>,
    /// The source of the standard library, for targets that Debian does not build it for.
    pub(super) source: bool,
}

/// Why there is no toolchain.
pub(super) enum Absent {
    /// This system cannot get it: what needs it is skipped.
    Skip(String),
    /// It should have worked.
    Broken(anyhow::Error),
}

/// An unpacked toolchain.
pub(super) struct Toolchain {
    folder: PathBuf,
    host: String,
}

impl Toolchain {
    /// The compiler, which finds its standard libraries by where it is.
    pub(super) fn rustc(&self) -> PathBuf {
        self.folder.join("usr/bin/rustc")
    }

    /// Where the dynamic linker finds the compiler's own libraries.
    pub(super) fn libraries(&self) -> OsString {
        let own = self.folder.join("usr/lib").join(&self.host);
        let mut all = own.into_os_string();
        if let Some(others) = std::env::var_os("LD_LIBRARY_PATH").filter(|others| !others.is_empty()) {
            all.push(":");
            all.push(others);
        }
        all
    }

    /// What the compiler says of itself: its release.
    fn release(&self) -> Result<String> {
        let output = Command::new(self.rustc())
            .arg("-vV")
            .env("LD_LIBRARY_PATH", self.libraries())
            .output()
            .context("Debian's compiler could not be started")?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let release = text.lines().find_map(|line| line.strip_prefix("release: ")).map(str::to_owned);
        release.with_context(|| {
            let text = String::from_utf8_lossy(&output.stderr);
            format!("Debian's compiler does not run: {}", text.lines().next().unwrap_or("it gave no reason"))
        })
    }
}

/// The toolchain, from its folder under `target/` or else from the system's package sources. One for all targets: most
/// of the download is the compiler.
pub(super) fn toolchain(root: &Path, wanted: &Wanted) -> Result<Toolchain, Absent> {
    // Who comes second finds what the first has fetched.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    toolchain_from(root, wanted, None)
}

/// The same, from a list of package sources other than the system's.
fn toolchain_from(root: &Path, wanted: &Wanted, sources: Option<&Path>) -> Result<Toolchain, Absent> {
    for name in ["apt-get", "apt-cache", "dpkg", "dpkg-deb"] {
        if program(name).is_none() {
            return Err(Absent::Skip(format!(
                "{name} is missing, and without rustup only Debian's packages have a compiler for this target"
            )));
        }
    }
    let broken = Absent::Broken;
    let architecture = said(Command::new("dpkg").arg("--print-architecture")).map_err(broken)?;
    let host = said(Command::new("gcc").arg("-print-multiarch"))
        .unwrap_or_else(|_| format!("{}-linux-gnu", std::env::consts::ARCH));
    let store = root.join("target/toolchains");
    let place = Toolchain { folder: store.join(&architecture), host };
    if place.folder.is_dir() {
        return Ok(place);
    }
    fs::create_dir_all(&store).with_context(|| store.display().to_string()).map_err(broken)?;
    // Removed when it is dropped, so a download that fails leaves nothing.
    let scratch = tempfile::Builder::new()
        .prefix(".fetching-")
        .tempdir_in(&store)
        .context("a folder for the download")
        .map_err(broken)?;
    let fetched = Toolchain { folder: scratch.path().join("tree"), host: place.host.clone() };
    fetch(scratch.path(), &fetched.folder, &architecture, wanted, sources)?;
    let release = fetched.release().map_err(broken)?;
    let least = least_release(root).map_err(broken)?;
    if numbers(&release) < numbers(&least) {
        return Err(Absent::Skip(format!(
            "this Debian's rustc-web is {release}, and the workspace needs {least}: use a newer Debian, or its \
             security updates"
        )));
    }
    if let Err(error) = fs::rename(&fetched.folder, &place.folder) {
        // Somebody else may have been faster.
        if !place.folder.is_dir() {
            return Err(broken(anyhow!(error).context(place.folder.display().to_string())));
        }
    }
    Ok(place)
}

/// Downloads and unpacks into `tree`.
fn fetch(
    scratch: &Path,
    tree: &Path,
    architecture: &str,
    wanted: &Wanted,
    sources: Option<&Path>,
) -> Result<(), Absent> {
    let skip =
        |error: anyhow::Error| Absent::Skip(format!("the compiler could not be downloaded: {error:#}"));
    let others: Vec<&str> =
        wanted.architectures.iter().copied().filter(|other| *other != architecture).collect();
    println!("  downloading Debian's compiler for {}", [&[architecture], &others[..]].concat().join(" and "));
    let apt = Apt::new(scratch, architecture, &others, sources).map_err(skip)?;
    apt.update().map_err(skip)?;
    let versioned = apt
        .needs("libstd-rust-web-dev")
        .map_err(skip)?
        .into_iter()
        .find(|name| name.starts_with("libstd-rust-web-"))
        .ok_or_else(|| skip(anyhow!("libstd-rust-web-dev names no standard library")))?;
    let mut packages = apt.libraries(&versioned).map_err(skip)?;
    packages.extend(["rustc-web", "libstd-rust-web-dev"].map(str::to_owned));
    // (Not what these depend on: that is the compiler itself, as a library of the other architecture.)
    packages.extend(others.iter().map(|other| format!("libstd-rust-web-dev:{other}")));
    if wanted.source {
        packages.push("rust-web-src".to_owned());
    }
    let archives = apt.download(&packages).map_err(skip)?;
    for archive in archives {
        said(Command::new("dpkg-deb").arg("--extract").arg(&archive).arg(tree))
            .with_context(|| format!("{} could not be unpacked", archive.display()))
            .map_err(skip)?;
    }
    Ok(())
}

/// The release that the workspace asks for.
fn least_release(root: &Path) -> Result<String> {
    let manifest: toml::Table = fs::read_to_string(root.join("Cargo.toml"))?.parse()?;
    let version = manifest["workspace"]["package"]["rust-version"].as_str();
    Ok(version.context("the workspace names no Rust version")?.to_owned())
}

/// A release as numbers that compare.
fn numbers(release: &str) -> Vec<u32> {
    release.split(['.', '-']).map_while(|part| part.parse().ok()).collect()
}

/// What a program prints, without the line's end.
pub(super) fn said(command: &mut Command) -> Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.env("LC_ALL", "C").output().with_context(|| format!("cannot run {name}"))?;
    let text = String::from_utf8_lossy(&output.stderr);
    let last = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it gave no reason");
    ensure!(output.status.success(), "{name} failed: {}", last.trim());
    Ok(String::from_utf8_lossy(&output.stdout).trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::{Absent, Command, Wanted, numbers, said, toolchain_from};

    #[test]
    fn releases_compare_as_numbers() {
        assert!(numbers("1.96.0") > numbers("1.95"));
        assert!(numbers("1.100.0") > numbers("1.99.2"));
        assert!(numbers("1.85.0-nightly") < numbers("1.95"));
    }

    #[test]
    fn a_program_that_fails_says_why_in_one_line() {
        let error =
            said(Command::new("sh").args(["-c", "echo first >&2; echo why >&2; exit 3"])).unwrap_err();
        assert_eq!(error.to_string(), "sh failed: why");
        let error = said(&mut Command::new("no-such-program-anywhere")).unwrap_err();
        assert!(error.to_string().contains("no-such-program-anywhere"), "{error}");
    }

    #[test]
    fn a_download_that_fails_leaves_nothing_and_skips_with_a_sentence() {
        let root = tempfile::tempdir().unwrap();
        let sources = root.path().join("sources.list");
        std::fs::write(&sources, "deb [trusted=yes] file:/nowhere/at/all none main\n").unwrap();
        let wanted = Wanted { architectures: vec!["arm64"], source: false };
        match toolchain_from(root.path(), &wanted, Some(&sources)) {
            Err(Absent::Skip(why)) => assert!(!why.is_empty() && !why.contains('\n'), "{why}"),
            Err(Absent::Broken(error)) => panic!("{error:#}"),
            Ok(_) => panic!("there are no packages there"),
        }
        let store = root.path().join("target/toolchains");
        let left = std::fs::read_dir(store).map_or(0, Iterator::count);
        assert_eq!(left, 0, "a failed download leaves nothing");
    }
}
