//! Where results go, and in which style.

use crate::cli::{Output, StoreArgs, Usage};
use anyhow::Context;
use std::fmt::Display;
use std::fs::{self, OpenOptions, Permissions};
use std::io::{self, IsTerminal, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tollgate_record::Store;
use tollgate_report::Style;

/// A line on standard error. That nobody reads it is no reason to fail.
pub(crate) fn say(line: impl Display) {
    let _ = writeln!(io::stderr(), "{line}");
}

/// Where a command's result goes: standard output or a file. Checked before anything is measured.
pub(crate) struct Sink<'a> {
    out: &'a Output,
}

impl<'a> Sink<'a> {
    pub(crate) fn open(out: &'a Output) -> anyhow::Result<Self> {
        if let Some(path) = &out.out {
            check(path)?;
        }
        Ok(Self { out })
    }

    /// Whether JSON was asked for.
    pub(crate) fn json(&self) -> bool {
        self.out.json
    }

    /// The style of text for where it goes: NO_COLOR and the locale are heeded.
    pub(crate) fn style(&self) -> Style {
        let terminal = self.out.out.is_none() && io::stdout().is_terminal();
        let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
            .iter()
            .find_map(|name| std::env::var(name).ok().filter(|value| !value.is_empty()));
        let width = terminal_size::terminal_size().map(|(terminal_size::Width(width), _)| usize::from(width));
        Style {
            width: width.filter(|_| terminal).unwrap_or(80),
            color: terminal && !set("NO_COLOR") && std::env::var_os("TERM").is_none_or(|term| term != "dumb"),
            unicode: locale.is_some_and(|locale| locale.to_uppercase().replace('-', "").contains("UTF8")),
        }
    }

    /// Delivers the result, whole or not at all.
    pub(crate) fn deliver(&self, text: &str) -> anyhow::Result<()> {
        if let Some(path) = &self.out.out {
            return write(path, text).with_context(|| format!("--out {} cannot be written", path.display()));
        }
        let mut stdout = io::stdout().lock();
        match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
            // A reader that has seen enough (`| head`) is no failure.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            done => done.context("standard output cannot be written (--out FILE writes to a file)"),
        }
    }
}

/// Refuses a path that nothing can be written to, before anything is measured.
fn check(path: &Path) -> anyhow::Result<()> {
    if path.is_dir() {
        let text = format!("--out {} is a directory; add a file name: --out {0}/run.json", path.display());
        return Err(Usage::error(text.replace("//", "/")));
    }
    // A pipe whose writer has gone is at its end for the reader: what is no file is not tried out.
    if is_special(path) {
        return Ok(());
    }
    temporary_beside(&target(path)).map(drop).map_err(|error| {
        let (path, error) = (path.display(), plain(&error));
        Usage::error(format!(
            "--out {path} cannot be written: {error}; choose a file in a directory that is there and writable"
        ))
    })
}

/// Writes a file whole or not at all. What is no file (a device, a pipe) is written to and stays what it
/// is.
fn write(path: &Path, text: &str) -> io::Result<()> {
    if is_special(path) {
        return OpenOptions::new().write(true).open(path)?.write_all(text.as_bytes());
    }
    let path = target(path);
    let mut file = temporary_beside(&path)?;
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}

fn is_special(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|there| !there.is_file())
}

/// What a symbolic link points to is written, not the link.
fn target(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.into())
}

/// The system's words without the name of the file in the making, which tells the reader nothing.
fn plain(error: &io::Error) -> String {
    let said = error.to_string();
    said.split_once(" at path ").map_or(said.clone(), |(what, _)| what.into())
}

fn temporary_beside(path: &Path) -> io::Result<tempfile::NamedTempFile> {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // As any file that the user makes: a new one gets the usual permissions, one that is there keeps its own.
    let permissions =
        fs::metadata(path).map_or_else(|_| Permissions::from_mode(0o666), |there| there.permissions());
    tempfile::Builder::new().permissions(permissions).tempfile_in(directory)
}

/// The store that was asked for, or the usual one; `None` when there is no place for it. One that cannot
/// be a store is an error of the command line.
pub(crate) fn store(args: &StoreArgs) -> anyhow::Result<Option<Store>> {
    match args.store.clone().or_else(Store::default_dir) {
        Some(directory) => Ok(Some(Store::open(directory).map_err(Usage::error)?)),
        None => Ok(None),
    }
}
