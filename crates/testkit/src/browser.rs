//! A real browser for tests of pages: Debian's Chromium, driven by Playwright from Node.
//!
//! The packages are pinned in `crates/report/tests/browser`. On first use npm installs them into a folder below `target/`
//! whose name contains the hash of the lock file. Nothing is installed elsewhere, and no browser is downloaded.

use crate::{Missing, cache, need};
use anyhow::{Context, Result, bail, ensure};
use std::ffi::OsString;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The files that pin the packages.
const PINS: [&str; 3] = ["package.json", "package-lock.json", ".npmrc"];

/// Words in npm's errors that mean that the registry cannot be reached.
const UNREACHED: [&str; 9] = [
    "ENOTFOUND",
    "EAI_AGAIN",
    "ECONNREFUSED",
    "ECONNRESET",
    "ETIMEDOUT",
    "ENETUNREACH",
    "EHOSTUNREACH",
    "ENOTCACHED",
    "ERR_SOCKET_TIMEOUT",
];

/// A browser and the programs that drive it.
#[derive(Clone, Debug)]
pub struct Browser {
    node: PathBuf,
    chromium: PathBuf,
    packages: PathBuf,
    scripts: PathBuf,
}

impl Browser {
    /// Finds the programs, and installs the packages unless they are installed.
    ///
    /// # Errors
    /// [`Missing`] when a program is missing or the registry cannot be reached; or the packages cannot be installed.
    pub fn find() -> Result<Self> {
        let chromium = need("chromium", "apt-get install chromium")?;
        let node = need("node", "apt-get install nodejs")?;
        let npm = need("npm", "apt-get install npm")?;
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let scripts = root.join("crates/report/tests/browser");
        let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
        let packages = install(&npm, &scripts, &target.join("browser"))?;
        Ok(Self { node, chromium, packages, scripts })
    }

    /// The command that runs one of the scripts of `crates/report/tests/browser`.
    #[must_use]
    pub fn script(&self, name: &str) -> Command {
        self.run(&self.scripts.join(name))
    }

    /// The command that runs another script, which finds browser and packages by the same variables.
    #[must_use]
    pub fn run(&self, script: &Path) -> Command {
        let mut command = Command::new(&self.node);
        command
            .arg(script)
            .env("TOLLGATE_CHROMIUM", &self.chromium)
            .env("TOLLGATE_NPM", &self.packages)
            .stdin(Stdio::null());
        command
    }
}

/// The folder below `store` with the packages that the files in `from` pin.
fn install(npm: &Path, from: &Path, store: &Path) -> Result<PathBuf> {
    let mut hasher = DefaultHasher::new();
    for name in PINS {
        fs::read(from.join(name)).context(name)?.hash(&mut hasher);
    }
    cache::obtain(store, &format!("{:016x}", hasher.finish()), |folder| {
        for name in PINS {
            fs::copy(from.join(name), folder.join(name)).context(name)?;
        }
        let mut downloads = OsString::from("--cache=");
        downloads.push(store.join("npm"));
        let done = Command::new(npm)
            .args(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline"])
            .args(["--fetch-retries=1", "--fetch-timeout=60000"])
            .arg(downloads)
            .current_dir(folder)
            .stdin(Stdio::null())
            .output()
            .context("npm")?;
        let error = String::from_utf8_lossy(&done.stderr);
        if !done.status.success() && UNREACHED.iter().any(|word| error.contains(word)) {
            bail!(Missing("npm's registry cannot be reached, and the packages are not installed yet".into()));
        }
        ensure!(done.status.success(), "npm ci in crates/report/tests/browser failed: {}", error.trim());
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::{Missing, PINS, install};
    use anyhow::Result;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::path::{Path, PathBuf};

    /// A folder with pins, and a script in place of npm.
    fn place(name: &str, script: &str) -> (PathBuf, PathBuf) {
        let folder = tempfile::Builder::new().prefix(name).tempdir().expect("a folder").keep();
        for pin in PINS {
            fs::write(folder.join(pin), pin).expect("written");
        }
        let npm = folder.join("npm");
        fs::write(&npm, format!("#!/bin/sh\n{script}\n")).expect("written");
        fs::set_permissions(&npm, fs::Permissions::from_mode(0o755)).expect("executable");
        (folder, npm)
    }

    fn tried(folder: &Path, npm: &Path) -> Result<PathBuf> {
        install(npm, folder, &folder.join("cache"))
    }

    #[test]
    fn an_unreachable_registry_is_a_skip_and_a_bad_lockfile_is_an_error() {
        let (folder, npm) = place("unreached", "echo npm error code EAI_AGAIN >&2; exit 1");
        assert!(tried(&folder, &npm).expect_err("unreached").is::<Missing>());
        fs::remove_dir_all(folder).expect("removed");
        let (folder, npm) = place("broken", "echo npm error code EINTEGRITY >&2; exit 1");
        let error = tried(&folder, &npm).expect_err("broken");
        assert!(!error.is::<Missing>() && error.to_string().contains("EINTEGRITY"), "{error:?}");
        assert_eq!(fs::read_dir(folder.join("cache")).expect("a folder").count(), 0, "nothing unfinished");
        fs::remove_dir_all(folder).expect("removed");
    }

    #[test]
    fn packages_are_installed_once_for_each_set_of_pins() {
        let (folder, npm) = place("again", "mkdir node_modules; echo x >> ../../ran");
        let first = tried(&folder, &npm).expect("installed");
        assert_eq!(tried(&folder, &npm).expect("there"), first);
        let ran = || fs::read_to_string(folder.join("ran")).expect("written").lines().count();
        assert_eq!(ran(), 1);
        fs::write(folder.join(PINS[1]), "another").expect("written");
        assert_ne!(tried(&folder, &npm).expect("installed"), first);
        assert_eq!(ran(), 2);
        fs::remove_dir_all(folder).expect("removed");
    }
}
