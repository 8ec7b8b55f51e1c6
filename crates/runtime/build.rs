//! Puts the files of `runtimes/` into the crate, so that an installed binary can build the runtimes
//! without them.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// Files that builds leave.
const NOT_SOURCES: [&str; 5] = ["target", "build", "node_modules", "__pycache__", ".venv"];

fn main() -> io::Result<()> {
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default()).join("../../runtimes");
    let mut files = Vec::new();
    walk(&root, &mut files)?;
    files.sort();
    let mut text = String::from("&[\n");
    for file in &files {
        let name = file.strip_prefix(&root).map_err(io::Error::other)?;
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

fn walk(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    println!("cargo::rerun-if-changed={}", folder.display());
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        if NOT_SOURCES.iter().any(|not| *not == name)
            || Path::new(&name).extension().is_some_and(|it| it == "class")
        {
            continue;
        }
        if entry.file_type()?.is_dir() {
            walk(&entry.path(), files)?;
        } else {
            files.push(entry.path());
        }
    }
    Ok(())
}
