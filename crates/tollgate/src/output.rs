//! Where results go, and in which style.

use crate::cli::{Output, StoreArgs};
use anyhow::{Context, bail};
use std::fs;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use tollgate_record::Store;
use tollgate_report::Style;

/// Where a command's result goes: standard output or a file. Checked before anything is measured.
pub(crate) struct Sink<'a> {
    out: &'a Output,
}

impl<'a> Sink<'a> {
    pub(crate) fn open(out: &'a Output) -> anyhow::Result<Self> {
        if let Some(path) = &out.out {
            temporary_beside(path)?;
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
            let mut file = temporary_beside(path)?;
            file.write_all(text.as_bytes())
                .and_then(|()| file.as_file().sync_all())
                .with_context(|| unwritable(path))?;
            file.persist(path).with_context(|| unwritable(path))?;
            return Ok(());
        }
        let mut stdout = io::stdout().lock();
        match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
            // A reader that has seen enough (`| head`) is no failure.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            done => done.context("standard output cannot be written"),
        }
    }
}

fn unwritable(path: &Path) -> String {
    format!("--out {} cannot be written; choose a path in a directory that can", path.display())
}

fn temporary_beside(path: &Path) -> anyhow::Result<tempfile::NamedTempFile> {
    if path.is_dir() {
        bail!("--out {} is a directory; add a file name", path.display());
    }
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    // A file that is there keeps its permissions; a new one gets the usual ones.
    if let Ok(there) = fs::metadata(path) {
        builder.permissions(there.permissions());
    } else {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(fs::Permissions::from_mode(0o644));
    }
    builder.tempfile_in(directory).with_context(|| unwritable(path))
}

/// The store that was asked for, or the usual one; `None` when there is no place for it.
pub(crate) fn store(args: &StoreArgs) -> anyhow::Result<Option<Store>> {
    match args.store.clone().or_else(Store::default_dir) {
        Some(directory) => Ok(Some(Store::open(directory)?)),
        None => Ok(None),
    }
}
