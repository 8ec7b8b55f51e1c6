//! Archives that do not depend on when and where they are made.

use anyhow::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tollgate_testkit::printed;

/// Packs `name` of `scratch` into a folder, as a whole or not at all.
///
/// # Errors
/// When a file cannot be written.
pub(super) fn write(scratch: &Path, name: &str, folder: &Path, time: u64) -> Result<PathBuf> {
    let (unfinished, archive) = (scratch.join("unfinished"), folder.join(format!("{name}.tar.gz")));
    tar(scratch, name, &unfinished, time)?;
    fs::rename(&unfinished, &archive).with_context(|| archive.display().to_string())?;
    Ok(archive)
}

/// Makes one archive of `name` in `folder`: entries sorted by name, owned by user 0, all of the same time.
fn tar(folder: &Path, name: &str, archive: &Path, time: u64) -> Result<()> {
    let mut tar = Command::new("tar");
    tar.args(["--format=ustar", "--sort=name", "--owner=0", "--group=0", "--numeric-owner"])
        .args([
            "--mode=u=rwX,go=rX",
            &format!("--mtime=@{time}"),
            "--use-compress-program=gzip --best --no-name",
        ])
        .arg("--create")
        .arg("--file")
        .arg(archive)
        .arg("--directory")
        .args([folder, Path::new(name)]);
    printed(&mut tar).map(drop)
}

#[cfg(test)]
mod tests {
    use super::tar;
    use std::fs;
    use std::path::Path;

    fn archive(folder: &Path, names: &[&str]) -> Vec<u8> {
        let tree = folder.join("tree");
        fs::create_dir_all(&tree).unwrap();
        for name in names {
            fs::write(tree.join(name), name).unwrap();
        }
        let out = folder.join("out.tar.gz");
        tar(folder, "tree", &out, 1_000_000_000).unwrap();
        fs::read(out).unwrap()
    }

    #[test]
    fn the_archive_does_not_depend_on_the_order_and_time_of_writing() {
        let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let first = archive(one.path(), &["a", "b", "c"]);
        let tree = other.path().join("tree");
        fs::create_dir_all(&tree).unwrap();
        let old = fs::File::create(tree.join("c")).unwrap();
        old.set_modified(std::time::UNIX_EPOCH).unwrap();
        assert_eq!(first, archive(other.path(), &["c", "b", "a"]));
        assert_ne!(first, archive(other.path(), &["d"]));
    }
}
