//! Puts the files of `runtimes/` into the crate, so that an installed binary can build the runtimes
//! without them.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// Files that builds leave.
const NOT_SOURCES: [&str; 5] = ["target", "build", "node_modules", "__pycache__", ".venv"];

/// The folders with the files. Cargo leaves folders that have a manifest out of a published crate: `packages` has links to what is
/// in these, and to their manifests by another name.
const FOLDERS: [&str; 2] = ["runtimes", "packages"];

fn main() -> io::Result<()> {
    let package = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let mut files = BTreeMap::new();
    for folder in FOLDERS {
        walk(&package.join(folder), Path::new(""), &mut files)?;
    }
    let mut text = String::from("&[\n");
    for (name, file) in &files {
        let _ = writeln!(
            text,
            "({:?}, include_bytes!({:?}) as &[u8]),",
            name.to_string_lossy(),
            file.to_string_lossy()
        );
        println!("cargo::rerun-if-changed={}", file.display());
    }
    text.push(']');
    fs::write(PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default()).join("files.rs"), text)
}

/// Finds the files of a folder, by their names below `runtimes/`.
fn walk(folder: &Path, below: &Path, files: &mut BTreeMap<PathBuf, PathBuf>) -> io::Result<()> {
    println!("cargo::rerun-if-changed={}", folder.display());
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default();
        if NOT_SOURCES.iter().any(|not| *not == name) || path.extension().is_some_and(|it| it == "class") {
            continue;
        }
        if path.is_dir() {
            walk(&path, &below.join(name), files)?;
        } else {
            let name = if name == "manifest.toml" { "Cargo.toml".as_ref() } else { name };
            files.insert(below.join(name), path);
        }
    }
    Ok(())
}
