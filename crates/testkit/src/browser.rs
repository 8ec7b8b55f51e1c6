//! A real browser for tests of pages: Debian's Chromium, driven by Playwright from Node.
//!
//! The packages are pinned in `crates/report/tests/browser`. On first use npm installs them into a folder below `target/`
//! whose name contains the hash of the lock file. Nothing is installed elsewhere, and no browser is downloaded.

use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::program;

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

/// Why there is no browser.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoBrowser {
    /// A program is missing or the registry cannot be reached: the reason for a skip.
    Missing(String),
    /// The pinned packages cannot be installed.
    Broken(String),
}

impl fmt::Display for NoBrowser {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Missing(why) | Self::Broken(why)) = self;
        out.write_str(why)
    }
}

impl std::error::Error for NoBrowser {}

impl Browser {
    /// Finds the programs, and installs the packages unless they are installed.
    ///
    /// # Errors
    /// When a program is missing, the registry cannot be reached, or the packages cannot be installed.
    pub fn find() -> Result<Self, NoBrowser> {
        let need = |name: &str, package: &str| {
            program(name)
                .ok_or_else(|| NoBrowser::Missing(format!("{name} is missing: apt-get install {package}")))
        };
        let (chromium, node, npm) =
            (need("chromium", "chromium")?, need("node", "nodejs")?, need("npm", "npm")?);
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let scripts = root.join("crates/report/tests/browser");
        let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
        let packages = install(&npm, &scripts, &target.join("browser"))?;
        Ok(Self { node, chromium, packages, scripts })
    }

    /// The command that runs one of the scripts of `crates/report/tests/browser`.
    #[must_use]
    pub fn script(&self, name: &str) -> Command {
        let mut command = Command::new(&self.node);
        command
            .arg(self.scripts.join(name))
            .env("TOLLGATE_CHROMIUM", &self.chromium)
            .env("TOLLGATE_NPM", &self.packages)
            .stdin(Stdio::null());
        command
    }
}

/// The folder below `cache` with the packages that the files in `from` pin.
fn install(npm: &Path, from: &Path, cache: &Path) -> Result<PathBuf, NoBrowser> {
    let broken = |what: &str, error: io::Error| NoBrowser::Broken(format!("{what}: {error}"));
    let mut hasher = DefaultHasher::new();
    for name in PINS {
        fs::read(from.join(name)).map_err(|error| broken(name, error))?.hash(&mut hasher);
    }
    let folder = cache.join(format!("{:016x}", hasher.finish()));
    if folder.join("node_modules").is_dir() {
        return Ok(folder);
    }
    // Two tests may run this at the same time: each fills its own folder, and the first to finish renames it.
    let made = cache.join(format!("making-{}-{:?}", std::process::id(), std::thread::current().id()));
    fs::create_dir_all(&made).map_err(|error| broken("target/browser", error))?;
    for name in PINS {
        fs::copy(from.join(name), made.join(name)).map_err(|error| broken(name, error))?;
    }
    let mut store = OsString::from("--cache=");
    store.push(cache.join("npm"));
    let done = Command::new(npm)
        .args(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline"])
        .args(["--fetch-retries=1", "--fetch-timeout=60000"])
        .arg(store)
        .current_dir(&made)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| broken("npm", error))?;
    let error = String::from_utf8_lossy(&done.stderr);
    let result = if done.status.success() {
        match fs::rename(&made, &folder) {
            Err(error) if !folder.join("node_modules").is_dir() => Err(broken("target/browser", error)),
            _ => Ok(folder),
        }
    } else if UNREACHED.iter().any(|word| error.contains(word)) {
        Err(NoBrowser::Missing(
            "npm's registry cannot be reached, and the packages are not installed yet".into(),
        ))
    } else {
        Err(NoBrowser::Broken(format!("npm ci in crates/report/tests/browser failed: {}", error.trim())))
    };
    let _ = fs::remove_dir_all(&made);
    result
}

#[cfg(test)]
mod tests {
    use super::{NoBrowser, PINS, install};
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::path::{Path, PathBuf};

    /// A folder with pins, and a script in place of npm.
    fn place(name: &str, script: &str) -> (PathBuf, PathBuf) {
        let folder = std::env::temp_dir().join(format!("tollgate-testkit-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        for pin in PINS {
            fs::write(folder.join(pin), pin).expect("written");
        }
        let npm = folder.join("npm");
        fs::write(&npm, format!("#!/bin/sh\n{script}\n")).expect("written");
        fs::set_permissions(&npm, fs::Permissions::from_mode(0o755)).expect("executable");
        (folder, npm)
    }

    fn tried(folder: &Path, npm: &Path) -> Result<PathBuf, NoBrowser> {
        install(npm, folder, &folder.join("cache"))
    }

    #[test]
    fn an_unreachable_registry_is_a_skip_and_a_bad_lockfile_is_an_error() {
        let (folder, npm) = place("unreached", "echo npm error code EAI_AGAIN >&2; exit 1");
        assert!(matches!(tried(&folder, &npm), Err(NoBrowser::Missing(_))));
        fs::remove_dir_all(folder).expect("removed");
        let (folder, npm) = place("broken", "echo npm error code EINTEGRITY >&2; exit 1");
        let result = tried(&folder, &npm);
        assert!(matches!(&result, Err(NoBrowser::Broken(why)) if why.contains("EINTEGRITY")), "{result:?}");
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
