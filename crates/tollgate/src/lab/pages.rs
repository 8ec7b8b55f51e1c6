//! The files of the lab's page: part of this program, or of a folder. They are all in memory, so that no request and no name in an
//! archive can reach another file.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;
use tollgate_record::file;

use crate::args::Usage;

/// The page that was built into this program; empty if there was none.
static EMBEDDED: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/page.rs"));

/// The largest page, and the most files. (Ours has a dozen files and a few MiB.)
const MOST_BYTES: u64 = 64 << 20;
const MOST_FILES: usize = 1000;
const MOST_FOLDERS: usize = 8;

/// The first file of the page.
pub(super) const INDEX: &str = "index.html";

/// Files by their names, with slashes between folders.
pub(super) struct Pages(BTreeMap<String, Cow<'static, [u8]>>);

impl Pages {
    /// The page of a folder, else the one in this program, else the one beside it.
    pub(super) fn open(folder: Option<&Path>) -> Result<Self> {
        if let Some(folder) = folder {
            return Self::read(folder);
        }
        if !EMBEDDED.is_empty() {
            let files = EMBEDDED.iter().map(|(name, bytes)| ((*name).to_owned(), Cow::Borrowed(*bytes)));
            return Ok(Self(files.collect()));
        }
        let program = std::env::current_exe().ok();
        let beside = program.as_deref().and_then(Path::parent);
        let places = beside.map(|it| [it.join("page"), it.join("../share/tollgate/page")]);
        match places.iter().flatten().find(|folder| folder.join(INDEX).is_file()) {
            Some(folder) => Self::read(folder),
            None => Err(Usage::error(
                "this program was built without the lab's page: give the folder of a page (of a release, or of 'cargo xtask page')",
            )),
        }
    }

    fn read(folder: &Path) -> Result<Self> {
        let mut pages = Self(BTreeMap::new());
        let mut left = MOST_BYTES;
        pages.add(folder, "", 0, &mut left)?;
        match pages.0.contains_key(INDEX) {
            true => Ok(pages),
            false => {
                Err(Usage::file(folder, format!("not the lab's page: there is no {INDEX} in it")).into())
            }
        }
    }

    /// Adds the files of a folder. Links are not followed.
    fn add(&mut self, folder: &Path, prefix: &str, depth: usize, left: &mut u64) -> Result<()> {
        let of_folder = |why: &dyn std::fmt::Display| Usage::file(folder, why);
        let entries = fs::read_dir(folder).map_err(|error| of_folder(&error))?;
        for entry in entries {
            let entry = entry.map_err(|error| of_folder(&error))?;
            let (path, kind): (PathBuf, _) =
                (entry.path(), entry.file_type().map_err(|error| of_folder(&error))?);
            let Some(name) = entry.file_name().to_str().map(|name| format!("{prefix}{name}")) else {
                continue;
            };
            if name.starts_with('.') || self.0.len() >= MOST_FILES || depth >= MOST_FOLDERS {
                continue;
            }
            if kind.is_dir() {
                self.add(&path, &format!("{name}/"), depth + 1, left)?;
            } else if kind.is_file() {
                let bytes = file::read(&path, *left).map_err(|error| Usage::file(&path, error))?;
                *left -= bytes.len() as u64;
                self.0.insert(name, Cow::Owned(bytes));
            }
        }
        Ok(())
    }

    pub(super) fn get(&self, name: &str) -> Option<&[u8]> {
        self.0.get(name).map(AsRef::as_ref)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.0.iter().map(|(name, bytes)| (name.as_str(), bytes.as_ref()))
    }
}

/// The media type of a file, by the end of its name.
pub(super) fn media_type(name: &str) -> &'static str {
    match name.rsplit_once('.').map_or("", |(_, end)| end) {
        "html" => "text/html; charset=utf-8",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "json" | "map" => "application/json",
        "webmanifest" => "application/manifest+json",
        "wasm" => "application/wasm",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "ico" => "image/x-icon",
        "woff2" => "font/woff2",
        "txt" | "md" => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}
