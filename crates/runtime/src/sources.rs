//! The files of `runtimes/`: embedded in the binary, or in a folder.

use std::path::{Path, PathBuf};
use std::{fs, io};
use tollgate_record::file;

/// The largest file of a runtime that is read.
const MOST_BYTES: u64 = 64 << 20;

/// Every file of `runtimes/` with its path below it.
static EMBEDDED: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/files.rs"));

/// Files that builds leave.
const NOT_SOURCES: [&str; 5] = ["target", "build", "node_modules", "__pycache__", ".venv"];

/// Where the table and the folders of the runtimes come from.
#[derive(Clone, Debug)]
pub enum Sources {
    /// Embedded in the binary.
    Embedded,
    /// A folder that has a `runtimes.toml`.
    Folder(PathBuf),
}

/// One file: its path below the runtime's folder, and its bytes.
pub(crate) type File = (PathBuf, Vec<u8>);

impl Sources {
    /// The text of `runtimes.toml`.
    ///
    /// # Errors
    /// A folder without it.
    pub fn table(&self) -> io::Result<String> {
        match self {
            Self::Folder(folder) => {
                let bytes = file::read_trusted(&folder.join("runtimes.toml"), MOST_BYTES)?;
                String::from_utf8(bytes).map_err(io::Error::other)
            }
            Self::Embedded => {
                let file = EMBEDDED.iter().find(|(name, _)| *name == "runtimes.toml");
                let bytes = file.map(|(_, bytes)| bytes.to_vec()).unwrap_or_default();
                String::from_utf8(bytes).map_err(io::Error::other)
            }
        }
    }

    /// The files of one runtime's folder, in the order of their names.
    ///
    /// # Errors
    /// A folder that is missing or cannot be read, or that another user can change: builds execute it.
    pub fn files(&self, folder: &str) -> io::Result<Vec<(PathBuf, Vec<u8>)>> {
        let mut files = Vec::new();
        match self {
            Self::Folder(root) => walk(&root.join(folder), Path::new(""), &mut files)?,
            Self::Embedded => {
                let own = EMBEDDED.iter().filter_map(|(name, bytes)| {
                    let name = name.strip_prefix(folder)?.strip_prefix('/')?;
                    Some((PathBuf::from(name), bytes.to_vec()))
                });
                files.extend(own);
            }
        }
        if files.is_empty() {
            return Err(io::Error::new(
                io::ErrorKind::NotFound,
                format!("there are no files in runtimes/{folder}"),
            ));
        }
        files.sort();
        Ok(files)
    }
}

fn walk(folder: &Path, below: &Path, files: &mut Vec<File>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        if NOT_SOURCES.iter().any(|not| *not == name)
            || Path::new(&name).extension().is_some_and(|it| it == "class")
        {
            continue;
        }
        if entry.file_type()?.is_dir() {
            walk(&entry.path(), &below.join(&name), files)?;
        } else {
            files.push((below.join(&name), file::read_trusted(&entry.path(), MOST_BYTES)?));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_binary_contains_the_files_of_the_folder() {
        let folder = Sources::Folder(concat!(env!("CARGO_MANIFEST_DIR"), "/../../runtimes").into());
        assert_eq!(Sources::Embedded.table().unwrap(), folder.table().unwrap());
        assert_eq!(Sources::Embedded.files("rust").unwrap(), folder.files("rust").unwrap());
        for nowhere in [&folder, &Sources::Embedded] {
            assert!(nowhere.files("nowhere").is_err());
        }
    }

    #[test]
    fn files_of_builds_are_not_sources() {
        let files = Sources::Embedded.files("rust").unwrap();
        assert!(files.iter().any(|(name, _)| name == Path::new("src/main.rs")));
        assert!(files.iter().all(|(name, _)| !name.starts_with("target")));
    }
}
