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
#[derive(Clone, Copy)]
pub(crate) struct Sink<'a> {
    out: &'a Output,
}

impl<'a> Sink<'a> {
    pub(crate) fn open(out: &'a Output) -> anyhow::Result<Self> {
        Self::named(out, "run.json")
    }

    /// The same for what is usually called so; the name is told to who gives a directory.
    pub(crate) fn named(out: &'a Output, usual: &str) -> anyhow::Result<Self> {
        if let Some(path) = &out.out {
            check(path, usual)?;
        }
        Ok(Self { out })
    }

    /// Refuses to put a result in the place of a record that it is made from.
    pub(crate) fn keeps(&self, records: &[impl AsRef<Path>]) -> anyhow::Result<()> {
        let Some(path) = &self.out.out else { return Ok(()) };
        let Ok(there) = fs::canonicalize(path) else { return Ok(()) };
        let same = |record: &Path| fs::canonicalize(record).is_ok_and(|record| record == there);
        if there.is_file() && records.iter().any(|record| same(record.as_ref())) {
            let path = path.display();
            return Err(Usage::error(format!(
                "--out {path} is the record itself, which would be lost; choose another file"
            )));
        }
        Ok(())
    }

    /// Whether JSON was asked for.
    pub(crate) fn json(&self) -> bool {
        self.out.json
    }

    /// The style of text for where it goes.
    pub(crate) fn style(&self) -> Style {
        let place = if self.out.out.is_some() {
            Place::File
        } else if io::stdout().is_terminal() {
            Place::Terminal
        } else {
            Place::Pipe
        };
        let width = terminal_size::terminal_size().map(|(terminal_size::Width(width), _)| usize::from(width));
        style(place, width, |name| std::env::var(name).ok())
    }

    /// Delivers the result, whole or not at all.
    pub(crate) fn deliver(&self, text: &str) -> anyhow::Result<()> {
        if let Some(path) = &self.out.out {
            return write(path, text).map_err(|error| {
                let what = match error.kind() {
                    io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                        "; make room there, or choose a file on another disk"
                    }
                    _ => "; choose a file in a directory that is there and writable",
                };
                anyhow::anyhow!("--out {} cannot be written: {}{what}", path.display(), plain(&error))
            });
        }
        let mut stdout = io::stdout().lock();
        match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
            // A reader that has seen enough (`| head`) is no failure.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            done => done.context("standard output cannot be written (--out FILE writes to a file)"),
        }
    }
}

/// Where text goes.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    Terminal,
    /// Standard output that is no terminal.
    Pipe,
    /// The file of `--out`.
    File,
}

/// The style, as the environment wants it. `NO_COLOR` comes before everything, then `CLICOLOR_FORCE` (colours
/// also where standard output is no terminal), then `CLICOLOR=0` and a terminal that is `dumb`. A file of `--out`
/// has no colours. Characters beyond ASCII need a locale that says UTF-8.
fn style(place: Place, width: Option<usize>, variable: impl Fn(&str) -> Option<String>) -> Style {
    let value = |name: &str| variable(name).filter(|value| !value.is_empty());
    let terminal = place == Place::Terminal;
    let color = if place == Place::File || value("NO_COLOR").is_some() {
        false
    } else if value("CLICOLOR_FORCE").is_some_and(|value| value != "0") {
        true
    } else {
        let dumb = value("TERM").is_some_and(|term| term == "dumb");
        terminal && !dumb && value("CLICOLOR").is_none_or(|value| value != "0")
    };
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(|name| value(name));
    Style {
        width: width.filter(|_| terminal).unwrap_or(80),
        color,
        unicode: locale.is_some_and(|locale| locale.to_uppercase().replace('-', "").contains("UTF8")),
    }
}

/// Refuses a path that nothing can be written to, before anything is measured.
fn check(path: &Path, usual: &str) -> anyhow::Result<()> {
    if path.is_dir() {
        let text = format!("--out {} is a directory; add a file name: --out {0}/{usual}", path.display());
        return Err(Usage::error(text.replace("//", "/")));
    }
    // A pipe whose writer has gone is at its end for the reader: what is no file is not tried out.
    if is_special(path) {
        return Ok(());
    }
    temporary_beside(&target(path)).map(drop).map_err(|error| {
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let missing = parent.filter(|parent| fs::metadata(parent).is_err_and(|e| e.kind() == io::ErrorKind::NotFound));
        let (path, error) = (path.display(), plain(&error));
        if let Some(parent) = missing {
            return Usage::error(format!(
                "--out {path} cannot be written: there is no directory {0}; make it with 'mkdir -p {0}', or choose a file in \
                 a directory that is there",
                parent.display()
            ));
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn of(place: Place, variables: &[(&str, &str)]) -> Style {
        style(place, Some(132), |name| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn colours_are_where_they_are_seen_or_forced() {
        use Place::{File, Pipe, Terminal};
        for (place, variables, color) in [
            (Terminal, &[][..], true),
            (Pipe, &[], false),
            (File, &[], false),
            (Terminal, &[("TERM", "xterm-256color")], true),
            (Terminal, &[("TERM", "dumb")], false),
            (Terminal, &[("NO_COLOR", "1")], false),
            (Terminal, &[("NO_COLOR", "")], true),
            (Terminal, &[("CLICOLOR", "0")], false),
            (Terminal, &[("CLICOLOR", "1")], true),
            (Pipe, &[("CLICOLOR_FORCE", "1")], true),
            (Pipe, &[("CLICOLOR_FORCE", "0")], false),
            (File, &[("CLICOLOR_FORCE", "1")], false),
            (Terminal, &[("CLICOLOR_FORCE", "1"), ("TERM", "dumb")], true),
            (Pipe, &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")], false),
        ] {
            assert_eq!(of(place, variables).color, color, "{variables:?}");
        }
    }

    #[test]
    fn the_width_is_that_of_the_terminal_only() {
        assert_eq!(of(Place::Terminal, &[]).width, 132);
        assert_eq!(of(Place::Pipe, &[]).width, 80);
        assert_eq!(of(Place::File, &[]).width, 80);
    }

    #[test]
    fn characters_beyond_ascii_need_a_locale_that_has_them() {
        for (variables, unicode) in [
            (&[][..], false),
            (&[("LANG", "C")], false),
            (&[("LANG", "C.UTF-8")], true),
            (&[("LANG", "de_DE.utf8")], true),
            (&[("LANG", "de_DE.UTF-8"), ("LC_ALL", "C")], false),
            (&[("LANG", "C"), ("LC_CTYPE", "en_US.UTF-8")], true),
            (&[("LANG", "en_US.UTF-8"), ("LC_ALL", "")], true),
        ] {
            assert_eq!(of(Place::Pipe, variables).unicode, unicode, "{variables:?}");
        }
    }
}
