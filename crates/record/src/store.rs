//! The file store: one directory, one JSON file for each run, named by its id.
//!
//! A file is written beside its final name, synced and renamed, so that no reader ever sees half a
//! run and a killed process costs nothing that was saved before.

mod error;
mod id;

pub use error::StoreError;
pub use id::{new_id, rfc3339};

use crate::document;
use crate::{Run, Status, file, text, trust};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The largest file that is read, in bytes. A run of every probe is well under a megabyte.
pub const MOST_BYTES: u64 = 256 << 20;

/// How a file in the making is called. The dot hides it from listings.
const TEMPORARY: (&str, &str) = (".tollgate-", ".tmp");

/// A file in the making lives for milliseconds; one this old was left by a process that was killed.
const ABANDONED: Duration = Duration::from_secs(600);

/// The bytes that `check_writable` writes, as many as a small run has, so that a full disk is an error before measuring.
const TRIAL: usize = 64 << 10;

/// A directory of runs.
#[derive(Clone, Debug)]
pub struct Store {
    dir: PathBuf,
}

/// One file of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The file's name without its ending: what [`Store::load`] takes.
    pub id: String,
    /// Where it is.
    pub path: PathBuf,
    /// Its summary, or the reason why it cannot be read.
    pub content: Result<Summary, String>,
}

/// The line of a run in a listing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Start of the run, RFC 3339 in UTC.
    pub started: String,
    /// The command line after the program's name.
    pub command: Vec<String>,
    /// What its user calls the run; empty without a label.
    pub label: String,
    /// How many probes gave a figure.
    pub measured: usize,
    /// How many cannot be measured on that host.
    pub skipped: usize,
    /// How many should have worked and did not.
    pub failed: usize,
    /// False when the run was interrupted or is still going on.
    pub complete: bool,
    /// Node name of the host.
    pub host: String,
}

impl Summary {
    /// The summary of a run.
    pub fn of(run: &Run) -> Self {
        let count = |status| run.results.iter().filter(|result| result.status == status).count();
        Self {
            started: run.started.clone(),
            command: run.command.clone(),
            label: run.label.clone().unwrap_or_default(),
            measured: count(Status::Measured),
            skipped: count(Status::Skipped),
            failed: count(Status::Failed),
            complete: run.complete,
            host: run.host.name.clone(),
        }
    }
}

impl Entry {
    /// Its line in a listing, for scripts.
    pub fn document(&self) -> serde_json::Value {
        match &self.content {
            Ok(summary) => serde_json::json!({
                "id": self.id, "started": summary.started, "command": summary.command, "label": summary.label,
                "host": summary.host, "measured": summary.measured, "skipped": summary.skipped, "failed": summary.failed,
                "complete": summary.complete,
            }),
            Err(error) => serde_json::json!({ "id": self.id, "error": error.to_string() }),
        }
    }
}

/// Which runs of a store are wanted.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Text that the command contains.
    pub command: Option<String>,
    /// Text that the label contains.
    pub label: Option<String>,
    /// Text that the host's name contains.
    pub host: Option<String>,
    /// The first day, `YYYY-MM-DD` in UTC.
    pub since: Option<String>,
    /// The last day.
    pub until: Option<String>,
}

impl Filter {
    /// Whether an entry is wanted. A file that cannot be read is of any command, host and day.
    pub fn wants(&self, entry: &Entry) -> bool {
        let Ok(run) = &entry.content else { return true };
        let has =
            |text: &Option<String>, of: &str| text.as_ref().is_none_or(|text| of.contains(text.as_str()));
        let day = run.started.get(..10).unwrap_or_default();
        has(&self.command, &run.command.join(" "))
            && has(&self.label, &run.label)
            && has(&self.host, &run.host)
            && self.since.as_ref().is_none_or(|since| day >= since.as_str())
            && self.until.as_ref().is_none_or(|until| day <= until.as_str())
    }
}

impl Store {
    /// The store in `dir`, which need not exist before the first save. Files that a killed process
    /// left half-written are removed.
    ///
    /// # Errors
    /// [`StoreError::NotADirectory`] when something else has that name.
    pub fn open(dir: PathBuf) -> Result<Self, StoreError> {
        if fs::metadata(&dir).is_ok_and(|metadata| !metadata.is_dir()) {
            return Err(StoreError::NotADirectory(dir));
        }
        let store = Self { dir };
        store.sweep();
        Ok(store)
    }

    /// Where runs are kept unless told otherwise: `tollgate` under `XDG_DATA_HOME`, which is
    /// `~/.local/share` when unset. `None` when there is no home directory either.
    pub fn default_dir() -> Option<PathBuf> {
        default_dir(std::env::var_os("XDG_DATA_HOME"), std::env::var_os("HOME"))
    }

    /// The directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Writes the run under its id, in place of an earlier state of the same run.
    ///
    /// # Errors
    /// An unusable id, a directory that cannot be written, a full disk.
    pub fn save(&self, run: &Run) -> Result<PathBuf, StoreError> {
        if !id::is_valid(&run.id) {
            return Err(StoreError::BadId(run.id.clone()));
        }
        let text = document::to_json(run).map_err(|cause| self.unwritable(io::Error::other(cause)))?;
        let path = self.dir.join(format!("{}.json", run.id));
        self.write(&path, text.as_bytes()).map_err(|cause| self.unwritable(cause))?;
        Ok(path)
    }

    /// Tries the directory out, so that a run that could not be saved is not begun.
    ///
    /// # Errors
    /// As [`Store::save`].
    pub fn check_writable(&self) -> Result<(), StoreError> {
        Self::temporary(&self.dir)
            .and_then(|mut file| file.write_all(&vec![b' '; TRIAL]))
            .map_err(|cause| self.unwritable(cause))
    }

    /// Removes the runs of these ids, or of the only ids that begin so. All are found before one is removed.
    ///
    /// # Errors
    /// Whatever keeps one from being found or removed.
    pub fn remove(&self, wanted: &[String]) -> Result<Vec<Entry>, StoreError> {
        let ids = self.ids()?;
        let unknown = |id: &String| StoreError::UnknownId(id.clone(), self.dir.clone(), None);
        let found = wanted.iter().map(|id| self.named(id, &ids)?.ok_or_else(|| unknown(id)));
        let paths: BTreeSet<_> = found.collect::<Result<_, _>>()?;
        let entries: Vec<_> = ids.iter().filter(|(_, path)| paths.contains(path)).map(entry).collect();
        for Entry { path, .. } in &entries {
            fs::remove_file(path).map_err(|cause| self.unwritable(cause))?;
        }
        Ok(entries)
    }

    /// The file of that id, or of the only id that begins so.
    fn named<'i>(&self, id: &str, ids: &'i [(String, PathBuf)]) -> Result<Option<&'i PathBuf>, StoreError> {
        if let Some((_, path)) = ids.iter().find(|(known, _)| known == id) {
            return Ok(Some(path));
        }
        let matching: Vec<_> = ids.iter().filter(|(known, _)| id::begins(known, id)).collect();
        match matching.as_slice() {
            _ if id.is_empty() => Ok(None),
            [] => Ok(None),
            [(_, path)] => Ok(Some(path)),
            several => {
                let ids = several.iter().map(|(id, _)| id.clone()).collect();
                Err(StoreError::Ambiguous(id.into(), ids))
            }
        }
    }

    /// The run of that id, of the only id that begins so, the newest (`latest`), the one in the file of that path, or the
    /// only one with that label.
    ///
    /// # Errors
    /// Whatever keeps it from being found or read.
    pub fn load(&self, wanted: &str) -> Result<Run, StoreError> {
        read(&self.find(wanted)?)
    }

    /// Gives a run a label in place of an earlier one, or none for an empty text, and returns the run.
    ///
    /// # Errors
    /// Whatever keeps the run from being found, read or written.
    pub fn label(&self, wanted: &str, label: &str) -> Result<Run, StoreError> {
        let path = self.find(wanted)?;
        let mut run = read(&path)?;
        run.label = Some(label.trim().to_owned()).filter(|label| !label.is_empty());
        let text = document::to_json(&run).map_err(|cause| self.unwritable(io::Error::other(cause)))?;
        self.write(&path, text.as_bytes()).map_err(|cause| self.unwritable(cause))?;
        Ok(run)
    }

    /// The file of a run, see [`Store::load`].
    fn find(&self, wanted: &str) -> Result<PathBuf, StoreError> {
        let path = Path::new(wanted);
        if wanted.contains('/')
            || path.extension().is_some_and(|extension| extension == "json") && path.exists()
        {
            return Ok(path.into());
        }
        let ids = self.ids()?;
        if wanted == "latest" {
            return ids
                .into_iter()
                .next_back()
                .map(|it| it.1)
                .ok_or_else(|| StoreError::Empty(self.dir.clone()));
        }
        let wanted_id = wanted.strip_suffix(".json").unwrap_or(wanted);
        if let Some(path) = self.named(wanted_id, &ids)? {
            return Ok(path.clone());
        }
        if path.is_file() {
            return Ok(path.into());
        }
        let entries: Vec<Entry> = ids.iter().map(entry).collect();
        let label =
            |entry: &Entry| entry.content.as_ref().map_or_else(|_| String::new(), |run| run.label.clone());
        let labels: Vec<(&Entry, String)> =
            entries.iter().map(|it| (it, label(it))).filter(|(_, label)| !label.is_empty()).collect();
        let labeled: Vec<&Entry> =
            labels.iter().filter(|(_, label)| label == wanted).map(|(it, _)| *it).collect();
        match labeled.as_slice() {
            [] => {}
            [entry] => return Ok(entry.path.clone()),
            several => {
                return Err(StoreError::Ambiguous(
                    wanted.into(),
                    several.iter().map(|it| it.id.clone()).collect(),
                ));
            }
        }
        let names =
            ids.iter().map(|(id, _)| id).chain(labels.iter().map(|(_, label)| label)).map(String::as_str);
        let nearest = text::nearest(wanted_id, names.chain(["latest"])).map(str::to_owned);
        if wanted_id != wanted && nearest.is_none() {
            return Err(StoreError::NoSuchFile(wanted.into(), self.dir.clone()));
        }
        Err(StoreError::UnknownId(wanted.into(), self.dir.clone(), nearest))
    }

    /// The newest runs, at most so many, whose figures another user cannot have written: their files and this directory
    /// belong to this user or root.
    ///
    /// # Errors
    /// [`StoreError::Unreadable`] with who could change the directory, or why it cannot be read.
    pub fn trusted(&self, most: usize) -> Result<Vec<Run>, StoreError> {
        match trust::check(&self.dir) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(StoreError::Unreadable(self.dir.clone(), error)),
            Ok(_) => {}
        }
        let mut paths = self.files()?;
        paths.sort_by(|a, b| b.0.cmp(&a.0));
        let open = |(_, path): (String, PathBuf)| {
            parsed(&path, MOST_BYTES, file::read_trusted(&path, MOST_BYTES)).ok()
        };
        Ok(paths.into_iter().take(most).filter_map(open).collect())
    }

    /// The shortest beginning of an id, of eight characters at least, that selects this run among those in the store.
    pub fn shortest_prefix<'i>(&self, id: &'i str) -> &'i str {
        let others: Vec<String> = self.files().unwrap_or_default().into_iter().map(|(id, _)| id).collect();
        let selects = |prefix: &str| others.iter().all(|other| other == id || !id::begins(other, prefix));
        let lengths = id::USUAL_PREFIX..id.len();
        lengths.filter_map(|length| id.get(..length)).find(|prefix| selects(prefix)).unwrap_or(id)
    }

    /// Every run, oldest first. A file that cannot be read is listed with the reason.
    ///
    /// # Errors
    /// [`StoreError::Unreadable`] when the directory itself cannot be read; one that does not exist
    /// holds no run.
    pub fn list(&self) -> Result<Vec<Entry>, StoreError> {
        Ok(self.ids()?.iter().map(entry).collect())
    }

    /// The id and path of every run file, in the order in which the runs began. A file that was given another name
    /// is read for that; one that cannot be read comes first.
    fn ids(&self) -> Result<Vec<(String, PathBuf)>, StoreError> {
        let mut ids = self.files()?;
        ids.sort_by_cached_key(|(id, path)| {
            let began = || id::started_ms(&read(path).ok()?.started);
            (id::time_ms(id).or_else(began), id.clone())
        });
        Ok(ids)
    }

    /// The paths of all run files, by name. None of them is read.
    ///
    /// # Errors
    /// As [`Store::list`].
    pub fn paths(&self) -> Result<Vec<PathBuf>, StoreError> {
        let mut paths: Vec<PathBuf> = self.files()?.into_iter().map(|(_, path)| path).collect();
        paths.sort();
        Ok(paths)
    }

    /// The id and path of every run file.
    fn files(&self) -> Result<Vec<(String, PathBuf)>, StoreError> {
        let unreadable = |cause| StoreError::Unreadable(self.dir.clone(), cause);
        let files = match fs::read_dir(&self.dir) {
            Ok(files) => files,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(unreadable(error)),
        };
        let mut ids = Vec::new();
        for file in files {
            let path = file.map_err(unreadable)?.path();
            let hidden = path.file_name().is_none_or(|name| name.as_encoded_bytes().starts_with(b"."));
            // A pipe in the store would block its reader.
            let is_run = path.extension().is_some_and(|extension| extension == "json") && path.is_file();
            if let Some(stem) = path.file_stem().filter(|_| is_run && !hidden) {
                ids.push((stem.to_string_lossy().into_owned(), path));
            }
        }
        Ok(ids)
    }

    fn write(&self, path: &Path, text: &[u8]) -> io::Result<()> {
        // Beside its final name, which may be outside of the store.
        let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut file = Self::temporary(dir)?;
        file.write_all(text)?;
        file.as_file().sync_all()?;
        file.persist(path).map_err(|error| error.error)?;
        // The rename outlives a power cut only once the directory is synced; not every file system can.
        if let Ok(dir) = File::open(dir) {
            let _ = dir.sync_all();
        }
        Ok(())
    }

    /// A new hidden file in the directory, removed unless it is renamed.
    fn temporary(dir: &Path) -> io::Result<tempfile::NamedTempFile> {
        fs::create_dir_all(dir)?;
        file::temporary(dir, TEMPORARY, None)
    }

    /// Removes what killed processes left. Nothing depends on it, so errors do not count.
    fn sweep(&self) {
        let Ok(files) = fs::read_dir(&self.dir) else { return };
        for file in files.flatten() {
            let name = file.file_name();
            let name = name.to_string_lossy();
            let ours = name.starts_with(TEMPORARY.0) && name.ends_with(TEMPORARY.1);
            let age =
                file.metadata().and_then(|m| m.modified()).map(|time| time.elapsed().unwrap_or_default());
            if ours && age.is_ok_and(|age| age > ABANDONED) {
                let _ = fs::remove_file(file.path());
            }
        }
    }

    fn unwritable(&self, cause: io::Error) -> StoreError {
        let dir = self.dir.clone();
        let cause = file::plain(cause);
        match cause.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => StoreError::Full(dir, cause),
            _ => StoreError::Unwritable(dir, cause),
        }
    }
}

/// The line of a file in a listing.
fn entry((id, path): &(String, PathBuf)) -> Entry {
    let content = match read(path) {
        Ok(run) => Ok(Summary::of(&run)),
        // The list shows the path already.
        Err(StoreError::Document(_, cause)) => Err(cause.to_string()),
        Err(error) => Err(error.to_string()),
    };
    Entry { id: id.clone(), path: path.clone(), content }
}

/// The run in a file, wherever it is.
///
/// # Errors
/// [`StoreError::Unreadable`], [`StoreError::TooLarge`] or [`StoreError::Document`].
pub fn read(path: &Path) -> Result<Run, StoreError> {
    read_at_most(path, MOST_BYTES)
}

fn read_at_most(path: &Path, most: u64) -> Result<Run, StoreError> {
    parsed(path, most, file::read(path, most))
}

fn parsed(path: &Path, most: u64, text: io::Result<Vec<u8>>) -> Result<Run, StoreError> {
    let text = text.map_err(|cause| match cause.kind() {
        io::ErrorKind::FileTooLarge => StoreError::TooLarge(path.into(), most),
        _ => StoreError::Unreadable(path.into(), cause),
    })?;
    document::from_json(&text).map_err(|cause| StoreError::Document(path.into(), cause))
}

/// By the rule of the XDG base directories: a relative path in the variable does not count.
fn default_dir(data: Option<OsString>, home: Option<OsString>) -> Option<PathBuf> {
    let absolute = |value: Option<OsString>| value.map(PathBuf::from).filter(|path| path.is_absolute());
    let data = absolute(data).or_else(|| Some(absolute(home)?.join(".local/share")))?;
    Some(data.join("tollgate"))
}

#[cfg(test)]
mod tests;
