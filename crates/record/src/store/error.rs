//! The errors of a store. Each sentence says what happened and what to do.

use crate::document::DocumentError;
use crate::text::{printable, short, suggestion};
use std::io;
use std::path::{Path, PathBuf};

/// Why a run could not be saved, found or read. The sentence includes the cause, so that the cause is not a
/// [`std::error::Error::source`] as well: a chain of errors would print it twice.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The path of the store is that of something else.
    #[error("the store {} is not a directory; name another with --store DIR", show(.0))]
    NotADirectory(PathBuf),
    /// The directory cannot be made or written.
    #[error(
        "cannot write to the store {}: {}; name another directory with --store DIR, or keep nothing with --no-save",
        show(.0),
        .1
    )]
    Unwritable(PathBuf, io::Error),
    /// The disk or the user's share of it is full.
    #[error(
        "the disk of the store {} is full: {}; free some space, name another directory with --store DIR, or keep nothing with --no-save",
        show(.0),
        .1
    )]
    Full(PathBuf, io::Error),
    /// A file or the directory cannot be read.
    #[error("cannot read {}: {}{}", show(.0), .1, hint(.1))]
    Unreadable(PathBuf, io::Error),
    /// A file of more bytes than any run can be.
    #[error("{} is larger than {} MiB, which no run is; is it the right file?", show(.0), .1 >> 20)]
    TooLarge(PathBuf, u64),
    /// The file was read and is not a run.
    #[error("cannot use {}: {}", show(.0), .1)]
    Document(PathBuf, DocumentError),
    /// No run of that id in the directory; with the id most like it, if any is.
    #[error(
        "no run is called `{}` in {}{}; `tollgate show` lists them",
        short(.0, 60),
        show(.1),
        suggestion(.2.as_deref())
    )]
    UnknownId(String, PathBuf, Option<String>),
    /// Neither a file of that name nor a run of that id in the directory.
    #[error(
        "there is no file '{}', and no run of that id in {}; `tollgate show` lists the runs",
        short(.0, 200),
        show(.1)
    )]
    NoSuchFile(String, PathBuf),
    /// These ids begin so.
    #[error("`{}` could be any of {} runs: {}; give more of the id", short(.0, 60), .1.len(), several(.1))]
    Ambiguous(String, Vec<String>),
    /// `latest` of nothing.
    #[error("there is no run in {} yet; `tollgate` measures one, and --store DIR looks elsewhere", show(.0))]
    Empty(PathBuf),
    /// An id that cannot be a file name.
    #[error(
        "`{}` cannot be the id of a run; an id has 1 to 100 letters, digits, `-`, `_` and `.`, and does not begin with a dot",
        short(.0, 60)
    )]
    BadId(String),
}

fn show(path: &Path) -> String {
    printable(&path.to_string_lossy()).into_owned()
}

fn several(ids: &[String]) -> String {
    const SHOWN: usize = 5;
    let mut text = ids.iter().take(SHOWN).map(|id| printable(id)).collect::<Vec<_>>().join(", ");
    if ids.len() > SHOWN {
        text.push_str(&format!(" and {} more", ids.len() - SHOWN));
    }
    text
}

fn hint(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::PermissionDenied => "; ask its owner, or read it as the user who measured",
        io::ErrorKind::NotFound => "; give the path of a file, or an id that `tollgate show` lists",
        io::ErrorKind::IsADirectory => "; give the path of one file in it",
        _ => "",
    }
}
