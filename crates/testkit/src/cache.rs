//! Folders that are made once. A folder either is complete or does not exist.

use anyhow::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};

/// The folder `name` below `root`. If it does not exist, `make` fills a temporary one, which is renamed when complete: a
/// `make` that fails or is killed leaves nothing under that name.
///
/// # Errors
/// The error of `make`, or of the file system.
pub fn obtain(root: &Path, name: &str, make: impl FnOnce(&Path) -> Result<()>) -> Result<PathBuf> {
    let complete = root.join(name);
    if complete.is_dir() {
        return Ok(complete);
    }
    let unfinished = temporary(root, name)?;
    make(unfinished.path())?;
    match fs::rename(unfinished.path(), &complete) {
        // Another process may have been faster.
        Err(error) if !complete.is_dir() => {
            Err(error).with_context(|| format!("{} cannot be put into place", complete.display()))
        }
        _ => Ok(complete),
    }
}

fn temporary(root: &Path, name: &str) -> Result<tempfile::TempDir> {
    fs::create_dir_all(root).with_context(|| format!("{} cannot be created", root.display()))?;
    let folder = tempfile::Builder::new().prefix(&format!(".{name}.")).tempdir_in(root);
    folder.with_context(|| format!("no temporary folder in {}", root.display()))
}

#[cfg(test)]
mod tests {
    use super::obtain;
    use anyhow::{Result, bail};
    use std::fs;
    use std::path::Path;

    #[test]
    fn an_unfinished_folder_is_removed_and_a_complete_one_is_kept() {
        let root = tempfile::tempdir().unwrap();
        let half: Result<_> = obtain(root.path(), "kernel", |folder: &Path| {
            fs::write(folder.join("image"), "half")?;
            bail!("the line went dead")
        });
        assert_eq!(half.unwrap_err().to_string(), "the line went dead");
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 0);

        let make = |folder: &Path| -> Result<()> { Ok(fs::write(folder.join("image"), "all")?) };
        let complete = obtain(root.path(), "kernel", make).unwrap();
        assert_eq!(fs::read_to_string(complete.join("image")).unwrap(), "all");
        let again: Result<_> = obtain(root.path(), "kernel", |_| bail!("it is not made again"));
        assert_eq!(again.unwrap(), complete);
    }
}
