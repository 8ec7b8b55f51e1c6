//! Built runtimes, each in a folder of the cache whose name contains a digest of everything that went into it.
//!
//! A folder appears whole or not at all: it is built under another name and then renamed.

use crate::process::{self, Limits};
use crate::sources::{File, Sources};
use crate::table::Runtime;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
use std::{fs, io};
use tempfile::TempDir;
use tollgate_record::{file, trust};

/// The place of built runtimes.
#[derive(Clone, Debug)]
pub struct Cache {
    dir: PathBuf,
    versions: Arc<Mutex<Versions>>,
}

/// The output of version commands, by their words and variables: several runtimes have the same tools, and some of these
/// take a third of a second to start.
type Versions = BTreeMap<(Vec<String>, BTreeMap<String, String>), Vec<u8>>;

/// How a user names the directory: not all commands have an option for it.
pub const NAMED: &str = "XDG_CACHE_HOME=DIR (or --cache DIR of 'tollgate switch')";

/// Why a runtime could not be built.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// The cache is not writable.
    #[error("the cache {0} cannot be written: {1}; name another directory with {named}", named = NAMED)]
    Cache(PathBuf, #[source] io::Error),
    /// Another user could change what is executed.
    #[error("the cache {0} is not safe: {1}; the directory is named with {named}", named = NAMED)]
    Unsafe(PathBuf, #[source] io::Error),
    /// Another user could change what compilers and interpreters execute.
    #[error(
        "HOME={0} is not safe, and compilers and interpreters execute what it contains: {1}; set HOME to a directory of your own"
    )]
    Home(PathBuf, #[source] io::Error),
    /// The sources cannot be read.
    #[error("the sources cannot be read: {0}")]
    Sources(io::Error),
    /// A command could not be started.
    #[error("'{0}' cannot be started: {1}")]
    NotStarted(String, io::Error),
    /// A command failed; with the last lines of its standard error.
    #[error("'{0}' failed: {1}{said}", said = last_words(.2))]
    Failed(String, process::Fate, Vec<String>),
    /// The user wants to stop.
    #[error("the build was stopped")]
    Stopped,
}

/// Variables that a build does not inherit: another target directory or other flags, and backtraces, which hide the
/// reason for a failure.
const NOT_INHERITED: [&str; 8] = [
    "CARGO_TARGET_DIR",
    "CARGO_BUILD_TARGET_DIR",
    "RUSTFLAGS",
    "CARGO_ENCODED_RUSTFLAGS",
    "MAKEFLAGS",
    "CARGO",
    "RUST_BACKTRACE",
    "RUST_LIB_BACKTRACE",
];

/// Milliseconds that one command of a build may take: a first build fetches dependencies. What it waits for a CPU beside
/// other load does not count.
const BUILD_MS: u64 = 600_000;

impl Cache {
    /// A cache in this directory. The first build creates it.
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        Self { dir: dir.into(), versions: Arc::default() }
    }

    /// `tollgate/runtimes` in the XDG cache directory; `None` without a home.
    pub fn default_dir() -> Option<PathBuf> {
        default_dir(std::env::var_os("XDG_CACHE_HOME"), std::env::var_os("HOME"))
    }

    /// The directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The folder in which the runtime is built, after building it if it does not exist. `tell` receives each step
    /// of a build.
    ///
    /// # Errors
    /// A cache that cannot be written, sources that cannot be read, a command that fails.
    pub fn folder(
        &self,
        runtime: &Runtime,
        sources: &Sources,
        stop: &AtomicBool,
        tell: &mut dyn FnMut(String),
    ) -> Result<PathBuf, BuildError> {
        let files = sources.files(&runtime.folder).map_err(BuildError::Sources)?;
        let unwritable = |source| BuildError::Cache(self.dir.clone(), source);
        let refused = |source: io::Error| match trust::is_untrusted(&source) {
            true => BuildError::Unsafe(self.dir.clone(), source),
            false => unwritable(source),
        };
        // Everything below is executed. From here on the path has no links that could change.
        let dir = trust::make(&self.dir).map_err(refused)?;
        check_home()?;
        let ready = dir.join(format!("{}-{}", runtime.folder, self.key(runtime, &files, stop)?));
        if ready.symlink_metadata().is_ok() {
            return trust::tree(&ready).map_err(refused);
        }
        let (making, _held) = begin(&dir, &runtime.folder).map_err(|error| unwritable(file::plain(error)))?;
        for (name, bytes) in &files {
            let path = making.path().join(name);
            let parent = path.parent().unwrap_or(making.path());
            fs::create_dir_all(parent).and_then(|()| fs::write(&path, bytes)).map_err(unwritable)?;
        }
        tell(format!("building {} in {}", runtime.folder, self.dir.display()));
        for words in &runtime.build {
            tell(format!("building {}: {}", runtime.folder, words.join(" ")));
            checked(words, runtime, Some(making.path()), stop)?;
        }
        match fs::rename(making.path(), &ready) {
            Ok(()) => {
                // It has its final name and must not be removed.
                let _ = making.keep();
                Ok(ready)
            }
            // Another process finished the same build first.
            Err(_) if ready.is_dir() => trust::tree(&ready).map_err(refused),
            Err(error) => Err(unwritable(error)),
        }
    }

    /// A digest of the files, the commands, and the versions of the toolchain.
    fn key(&self, runtime: &Runtime, files: &[File], stop: &AtomicBool) -> Result<String, BuildError> {
        let mut digest = Sha256::new();
        let mut part = |bytes: &[u8]| {
            digest.update((bytes.len() as u64).to_le_bytes());
            digest.update(bytes);
        };
        for (name, bytes) in files {
            part(name.as_os_str().as_encoded_bytes());
            part(bytes);
        }
        for words in &runtime.build {
            part(words.join("\0").as_bytes());
        }
        for (name, value) in &runtime.env {
            part(format!("{name}={value}").as_bytes());
        }
        for words in &runtime.version {
            part(&self.version(words, runtime, stop)?);
        }
        Ok(digest.finalize().iter().take(10).map(|byte| format!("{byte:02x}")).collect())
    }

    /// The output of a version command.
    fn version(&self, words: &[String], runtime: &Runtime, stop: &AtomicBool) -> Result<Vec<u8>, BuildError> {
        let mut versions = self.versions.lock().unwrap_or_else(PoisonError::into_inner);
        let asked = (words.to_vec(), runtime.env.clone());
        if let Some(known) = versions.get(&asked) {
            return Ok(known.clone());
        }
        let printed = checked(words, runtime, None, stop)?;
        versions.insert(asked, printed.clone());
        Ok(printed)
    }
}

/// Refuses a home of another user, which `sudo -E` keeps: cargo takes programs from its settings, Python modules.
fn check_home() -> Result<(), BuildError> {
    let Some(home) = std::env::var_os("HOME").map(PathBuf::from) else { return Ok(()) };
    match trust::check(&home) {
        Err(error) if trust::is_untrusted(&error) => Err(BuildError::Home(home, error)),
        _ => Ok(()),
    }
}

/// The name of a folder during a build.
const BUILDING: &str = ".tollgate-building-";

/// A folder to build in, locked for as long as this process lives. What builds left that were killed is removed.
fn begin(dir: &Path, name: &str) -> io::Result<(TempDir, fs::File)> {
    // Others do not look for unlocked folders while this one is new. A file system without locks keeps them.
    let locked = fs::File::open(dir)?;
    let _ = locked.lock();
    for entry in fs::read_dir(dir)?.flatten() {
        let is_ours = entry.file_name().as_encoded_bytes().starts_with(BUILDING.as_bytes());
        let is_free = || fs::File::open(entry.path()).is_ok_and(|folder| folder.try_lock().is_ok());
        if is_ours && is_free() {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
    let making = tempfile::Builder::new().prefix(&format!("{BUILDING}{name}-")).tempdir_in(dir)?;
    let held = fs::File::open(making.path())?;
    let _ = held.lock();
    Ok((making, held))
}

/// Runs a command and returns what it printed.
fn checked(
    words: &[String],
    runtime: &Runtime,
    folder: Option<&Path>,
    stop: &AtomicBool,
) -> Result<Vec<u8>, BuildError> {
    let limits = Limits { patience_ms: BUILD_MS, lines: 1_000_000, ..Limits::default() };
    let line = words.join(" ");
    let done = process::run(|| command(words, runtime, folder), &limits, stop)
        .map_err(|error| BuildError::NotStarted(line.clone(), error))?;
    match done.fate {
        None => Ok(done.stdout),
        Some(process::Fate::Stopped) => Err(BuildError::Stopped),
        Some(fate) => {
            // Some compilers complain on their standard output.
            let stdout: Vec<String> = String::from_utf8_lossy(&done.stdout).lines().map(Into::into).collect();
            let said = if done.stderr.is_empty() { stdout } else { done.stderr };
            Err(BuildError::Failed(line, fate, reason(&said)))
        }
    }
}

/// Lines of a failed command that are shown.
const REASON_LINES: usize = 4;

/// The lines of a compiler's output that explain its failure: those from the first error on, or the last ones.
fn reason(lines: &[String]) -> Vec<String> {
    let is_error = |line: &String| {
        let line = line.to_ascii_lowercase();
        line.starts_with("error") || line.contains(" error:") || line.contains(" error[")
    };
    let last = lines.len().saturating_sub(REASON_LINES);
    let first = lines.iter().position(is_error).unwrap_or(last);
    lines[first..].iter().take(REASON_LINES).cloned().collect()
}

/// A command in a runtime's folder.
pub(crate) fn command(words: &[String], runtime: &Runtime, folder: Option<&Path>) -> Command {
    let program = words.first().map_or("", String::as_str);
    // A path is relative to the folder, whatever the working directory is.
    let program: OsString = match folder {
        Some(folder) if program.contains('/') => folder.join(program).into(),
        _ => program.into(),
    };
    let mut command = Command::new(program);
    command.args(words.iter().skip(1)).envs(&runtime.env);
    for name in NOT_INHERITED {
        command.env_remove(name);
    }
    if let Some(folder) = folder {
        command.current_dir(folder);
    }
    command
}

/// The last lines of output, to append to an error.
pub(crate) fn last_words(lines: &[String]) -> String {
    const MOST: usize = 8;
    let lines = &lines[lines.len().saturating_sub(MOST)..];
    let text: Vec<String> =
        lines.iter().map(|line| tollgate_record::text::printable(line).into_owned()).collect();
    if text.is_empty() { String::new() } else { format!("; its last output: {}", text.join(" | ")) }
}

fn default_dir(cache: Option<OsString>, home: Option<OsString>) -> Option<PathBuf> {
    let absolute = |value: Option<OsString>| value.map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = absolute(cache).or_else(|| Some(absolute(home)?.join(".cache")))?;
    Some(cache.join("tollgate/runtimes"))
}

#[cfg(test)]
#[path = "cache_tests.rs"]
mod tests;
