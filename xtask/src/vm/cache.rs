//! Folders that are made once: whole under their name, or not there at all.

use anyhow::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};

/// The folder `name` below `root`, which `make` fills when it is not there yet. What a failed or killed `make` left is
/// never under that name.
///
/// # Errors
/// What `make` says, or the file system.
pub(super) fn obtain(root: &Path, name: &str, make: impl FnOnce(&Path) -> Result<()>) -> Result<PathBuf> {
    let whole = root.join(name);
    if whole.is_dir() {
        return Ok(whole);
    }
    fs::create_dir_all(root).with_context(|| format!("{} cannot be made", root.display()))?;
    // Removed when this function ends, however it ends.
    let part = tempfile::Builder::new().prefix(&format!(".{name}.")).tempdir_in(root)?;
    make(part.path())?;
    match fs::rename(part.path(), &whole) {
        Ok(()) => Ok(whole),
        // Somebody else was faster.
        Err(_) if whole.is_dir() => Ok(whole),
        Err(error) => Err(error).with_context(|| format!("{} cannot be put into place", whole.display())),
    }
}

#[cfg(test)]
mod tests {
    use super::obtain;
    use anyhow::bail;
    use std::fs;

    #[test]
    fn what_was_half_made_is_not_there() {
        let root = tempfile::tempdir().unwrap();
        let half = obtain(root.path(), "kernel", |folder| {
            fs::write(folder.join("image"), "half")?;
            bail!("the line went dead")
        });
        assert_eq!(half.unwrap_err().to_string(), "the line went dead");
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 0);

        let whole =
            obtain(root.path(), "kernel", |folder| Ok(fs::write(folder.join("image"), "all")?)).unwrap();
        assert_eq!(fs::read_to_string(whole.join("image")).unwrap(), "all");
        // It is not made twice.
        let again = obtain(root.path(), "kernel", |_| bail!("nobody asks")).unwrap();
        assert_eq!(again, whole);
    }
}
