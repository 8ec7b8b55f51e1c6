//! A Rust compiler with the standard libraries of other architectures, without rustup and without privilege: Debian's
//! package `rustc-web`, which Debian keeps current for its browsers, unpacked into a folder below `target/`.

use super::apt::Apt;
use anyhow::{Context, Result, ensure};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use tollgate_testkit::cache;
use tollgate_testkit::printed;
use tollgate_testkit::{Missing, need};

/// The minimum Rust version of the workspace.
const MINIMUM: &str = env!("CARGO_PKG_RUST_VERSION");

/// An unpacked toolchain.
pub(super) struct Toolchain {
    folder: PathBuf,
    host: String,
}

impl Toolchain {
    /// The compiler, which finds its standard libraries relative to itself.
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

    /// The release of the compiler, which shows that it runs.
    fn release(&self) -> Result<String> {
        let mut rustc = Command::new(self.rustc());
        let text = printed(rustc.arg("-vV").env("LD_LIBRARY_PATH", self.libraries()))?;
        let release = text.lines().find_map(|line| line.strip_prefix("release: "));
        release.map(str::to_owned).context("Debian's compiler states no release")
    }
}

/// The toolchain in its folder below `target/`, fetched from the system's package sources if it is not there. One
/// toolchain serves all targets, because most of the download is the compiler.
///
/// # Errors
/// [`Missing`] if this system cannot fetch it.
pub(super) fn obtain(root: &Path, architectures: &[&str]) -> Result<Toolchain> {
    // A second caller waits and finds what the first one has fetched.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    obtain_from(root, architectures, None)
}

/// The same, from a list of package sources other than the system's.
fn obtain_from(root: &Path, architectures: &[&str], sources: Option<&Path>) -> Result<Toolchain> {
    for name in ["apt-get", "apt-cache", "dpkg", "dpkg-deb"] {
        need(name, "without rustup only Debian's packages have a compiler for this target")?;
    }
    let architecture = printed(Command::new("dpkg").arg("--print-architecture"))?.trim_end().to_owned();
    let host = printed(Command::new("gcc").arg("-print-multiarch"))
        .map_or_else(|_| format!("{}-linux-gnu", std::env::consts::ARCH), |host| host.trim_end().to_owned());
    let store = root.join("target/toolchains");
    let folder = cache::obtain(&store, &architecture, |folder| {
        fetch(&store, folder, &architecture, architectures, sources)
            .map_err(|error| Missing(format!("the compiler could not be downloaded: {error:#}")))?;
        let release = Toolchain { folder: folder.to_owned(), host: host.clone() }.release()?;
        ensure!(
            numbers(&release) >= numbers(MINIMUM),
            Missing(format!(
                "this Debian's rustc-web is {release}, and the workspace needs {MINIMUM}: use a newer Debian, or its \
                 security updates"
            ))
        );
        Ok(())
    })?;
    Ok(Toolchain { folder, host })
}

/// Downloads the packages and unpacks them into `tree`.
fn fetch(
    store: &Path,
    tree: &Path,
    architecture: &str,
    architectures: &[&str],
    sources: Option<&Path>,
) -> Result<()> {
    let others = architectures.iter().copied().filter(|other| *other != architecture);
    let others: Vec<&str> = others.collect();
    println!("  downloading Debian's compiler for {}", [&[architecture], &others[..]].concat().join(" and "));
    let scratch = tempfile::Builder::new().prefix(".download-").tempdir_in(store)?;
    let apt = Apt::new(scratch.path(), architecture, &others, sources)?;
    apt.update()?;
    let versioned = apt
        .dependencies("libstd-rust-web-dev")?
        .into_iter()
        .find(|name| name.starts_with("libstd-rust-web-"))
        .context("libstd-rust-web-dev depends on no standard library")?;
    let mut packages = apt.libraries(&versioned)?;
    // The source is for targets that Debian does not build the library for.
    packages.extend(["rustc-web", "libstd-rust-web-dev", "rust-web-src"].map(str::to_owned));
    // Without their dependencies: these are the compiler itself, as a library of the other architecture.
    packages.extend(others.iter().map(|other| format!("libstd-rust-web-dev:{other}")));
    for archive in apt.download(&packages)? {
        printed(Command::new("dpkg-deb").arg("--extract").arg(&archive).arg(tree))
            .with_context(|| format!("{} could not be unpacked", archive.display()))?;
    }
    Ok(())
}

/// A release as numbers that compare.
fn numbers(release: &str) -> Vec<u32> {
    release.split(['.', '-']).map_while(|part| part.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::{Missing, numbers, obtain_from};

    #[test]
    fn releases_compare_as_numbers() {
        assert!(numbers("1.96.0") > numbers("1.95"));
        assert!(numbers("1.100.0") > numbers("1.99.2"));
        assert!(numbers("1.85.0-nightly") < numbers("1.95"));
    }

    #[test]
    fn a_download_that_fails_leaves_nothing_and_skips_with_a_sentence() {
        let root = tempfile::tempdir().unwrap();
        let sources = root.path().join("sources.list");
        std::fs::write(&sources, "deb [trusted=yes] file:/nowhere/at/all none main\n").unwrap();
        let error =
            obtain_from(root.path(), &["arm64"], Some(&sources)).err().expect("the source has no packages");
        let why = &error.downcast_ref::<Missing>().unwrap_or_else(|| panic!("{error:#}")).0;
        assert!(!why.is_empty() && !why.contains('\n'), "{why}");
        let store = root.path().join("target/toolchains");
        let left = std::fs::read_dir(store).map_or(0, Iterator::count);
        assert_eq!(left, 0, "a failed download leaves nothing");
    }
}
