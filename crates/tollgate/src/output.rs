//! Where results go, and in which style.

use crate::args::{Detail, Output, StoreArgs, Usage};
use anyhow::Context;
use serde::Serialize;
use std::fmt::Display;
use std::fs;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use tollgate_progress::ReaderGone;
use tollgate_record::{Run, Store, document, file, text};
use tollgate_report::{Place, Style, view};

/// The error of what writes to standard output: [`ReaderGone`] if that is why.
pub(crate) fn reader_gone(error: impl Into<anyhow::Error>) -> anyhow::Error {
    let error = error.into();
    if ReaderGone::is_cause_of(error.as_ref()) { ReaderGone.into() } else { error }
}

/// Prints lines on standard error, whatever names and texts of others are in them. A closed standard error is not an error.
pub(crate) fn say(lines: impl Display) {
    let _ = writeln!(io::stderr(), "{}", text::inert(&lines.to_string()));
}

/// Prints the error of a wrong command line, or a help that was asked for: in color, unless foreign text is in it.
pub(crate) fn print_usage(error: &clap::Error) {
    let text = error.render().to_string();
    let printed = if text::inert(&text) == text {
        error.print()
    } else {
        say(text.trim_end());
        Ok(())
    };
    if printed.is_err_and(|error| ReaderGone::is_cause_of(&error)) && !error.use_stderr() {
        ReaderGone::end_process();
    }
}

/// Text for people, in which nothing but our own colors steers a terminal.
fn inert(text: String) -> String {
    text::inert(&text).into_owned()
}

/// The destination of a command's result: standard output or a file. Checked before anything is measured.
#[derive(Clone)]
pub(crate) struct Sink {
    json: bool,
    markdown: bool,
    out: Option<PathBuf>,
    /// Write to standard error, because standard output belongs to another program.
    aside: bool,
    detail: Detail,
}

impl Sink {
    pub(crate) fn open(output: &Output) -> anyhow::Result<Self> {
        Ok(Self {
            json: output.json,
            markdown: output.markdown,
            ..Self::text(output.out.clone(), "run.json")?
        })
    }

    /// For text only; `usual` is suggested if the file is a directory.
    pub(crate) fn text(out: Option<PathBuf>, usual: &str) -> anyhow::Result<Self> {
        if let Some(path) = &out {
            check(path, usual)?;
        }
        Ok(Self { json: false, markdown: false, out, aside: false, detail: Detail::default() })
    }

    /// The same with the requested detail of a run.
    pub(crate) fn with(self, detail: Detail) -> Self {
        Self { detail, ..self }
    }

    /// The same for a command whose standard output belongs to the program that it runs.
    pub(crate) fn aside(&mut self) {
        self.aside = true;
    }

    /// Refuses to put a result in the place of a record that it is made from.
    pub(crate) fn keeps(&self, records: &[impl AsRef<Path>]) -> anyhow::Result<()> {
        let Some(path) = &self.out else { return Ok(()) };
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
        self.json
    }

    /// The style of text for where it goes.
    pub(crate) fn style(&self) -> Style {
        let place = if self.out.is_some() {
            Place::File
        } else if if self.aside { io::stderr().is_terminal() } else { io::stdout().is_terminal() } {
            Place::Terminal
        } else {
            Place::Pipe
        };
        let width = terminal_size::terminal_size().map(|(terminal_size::Width(width), _)| usize::from(width));
        let Detail { warnings, all } = self.detail;
        if self.markdown {
            return Style { warnings, all, ..Style::MARKDOWN };
        }
        Style { warnings, all, ..Style::of_environment(place, width, |name| std::env::var(name).ok()) }
    }

    /// Delivers a run: its view, or its record if JSON was asked for.
    pub(crate) fn deliver_run(&self, run: &Run) -> anyhow::Result<ExitCode> {
        self.deliver(&if self.json { document::to_json(run)? } else { inert(view(run, &self.style())) })
    }

    /// Delivers a result as text, or as JSON if that was asked for.
    pub(crate) fn deliver_either(
        &self,
        result: &impl Serialize,
        text: impl FnOnce(&Style) -> String,
    ) -> anyhow::Result<ExitCode> {
        self.deliver(&if self.json { document::pretty(result)? } else { inert(text(&self.style())) })
    }

    /// Delivers the result, whole or not at all.
    pub(crate) fn deliver(&self, bytes: impl AsRef<[u8]>) -> anyhow::Result<ExitCode> {
        let bytes = bytes.as_ref();
        if let Some(path) = &self.out {
            return file::replace(path, bytes).map(|()| ExitCode::SUCCESS).map_err(|error| {
                let what = match error.kind() {
                    io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                        "; make room there, or choose a file on another disk"
                    }
                    _ => "; choose a file in a directory that is there and writable",
                };
                anyhow::anyhow!("--out {} cannot be written: {error}{what}", path.display())
            });
        }
        if self.aside {
            let _ = io::stderr().write_all(bytes);
            return Ok(ExitCode::SUCCESS);
        }
        let mut stdout = io::stdout().lock();
        match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Err(ReaderGone.into()),
            done => done.context("standard output cannot be written (--out FILE writes to a file)")?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Refuses a path that nothing can be written to, before anything is measured.
fn check(path: &Path, usual: &str) -> anyhow::Result<()> {
    if path.is_dir() {
        let text = format!("--out {} is a directory; add a file name: --out {0}/{usual}", path.display());
        return Err(Usage::error(text.replace("//", "/")));
    }
    file::check_replaceable(path).map_err(|error| {
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let missing = parent.filter(|parent| fs::metadata(parent).is_err_and(|e| e.kind() == io::ErrorKind::NotFound));
        let path = path.display();
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

/// The store that was named, or the usual one; `None` if there is no home directory. A path that is not a directory is a
/// usage error.
pub(crate) fn store(args: &StoreArgs) -> anyhow::Result<Option<Store>> {
    match args.store.clone().or_else(Store::default_dir) {
        Some(directory) => Ok(Some(Store::open(directory).map_err(Usage::error)?)),
        None => Ok(None),
    }
}

/// The store to read from.
pub(crate) fn existing_store(args: &StoreArgs) -> anyhow::Result<Store> {
    store(args)?.context("there is no home directory to look in; name one with --store DIR")
}
