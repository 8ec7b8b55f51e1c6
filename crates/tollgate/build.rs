//! Notes the commit, target and compiler of the binary, for the record and for `tollgate --version --verbose`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

fn main() {
    println!("cargo:rerun-if-changed=../../.git/HEAD");
    println!("cargo:rerun-if-changed=../../.git/logs/HEAD");
    println!("cargo:rerun-if-env-changed=TOLLGATE_COMMIT");
    // A package of sources is not a clone: the builder names the commit, or the file that cargo puts into a published crate.
    let commit = env::var("TOLLGATE_COMMIT").ok().or_else(published).or_else(cloned);
    let commit = commit.as_deref().map_or("unknown", str::trim);
    println!("cargo:rustc-env=TOLLGATE_COMMIT={}", commit.get(..12).unwrap_or(commit));
    println!("cargo:rustc-env=TOLLGATE_TARGET={}", env::var("TARGET").unwrap_or_default());
    println!("cargo:rustc-env=TOLLGATE_PROFILE={}", profile().unwrap_or_default());
    let compiler = printed(Command::new(env::var_os("RUSTC").unwrap_or_default()).arg("--version"));
    println!("cargo:rustc-env=TOLLGATE_COMPILER={}", compiler.as_deref().map_or("rustc", str::trim));
    embed_page();
}

/// Writes a list of the page's files, each with its bytes: those of the folder that `TOLLGATE_PAGE` names, else those that
/// `cargo xtask page` left; none if there is no page yet.
fn embed_page() {
    println!("cargo:rerun-if-env-changed=TOLLGATE_PAGE");
    let made =
        Path::new(&env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default()).join("../../target/page/site");
    let folder = env::var_os("TOLLGATE_PAGE").map_or(made, PathBuf::from);
    let mut files = Vec::new();
    if folder.join("index.html").is_file() {
        println!("cargo:rerun-if-changed={}", folder.display());
        collect(&folder, "", &mut files);
    }
    files.sort();
    let rows = files.iter().map(|(name, path)| format!("({name:?}, include_bytes!({path:?}).as_slice()),\n"));
    let text = format!("&[\n{}]", rows.collect::<String>());
    let out = env::var_os("OUT_DIR").map(PathBuf::from).unwrap_or_default().join("page.rs");
    if let Err(error) = fs::write(&out, text) {
        println!("cargo:warning={}: {error}", out.display());
    }
}

/// The files below a folder: names with slashes, and paths.
fn collect(folder: &Path, prefix: &str, files: &mut Vec<(String, PathBuf)>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => collect(&entry.path(), &format!("{name}/"), files),
            Ok(kind) if kind.is_file() => files.push((name, entry.path())),
            _ => {}
        }
    }
}

/// The commit of a published crate. Looked for before a clone: a crate's sources may be inside of another project's.
fn published() -> Option<String> {
    let text = fs::read_to_string(".cargo_vcs_info.json").ok()?;
    let (_, rest) = text.split_once("\"sha1\"")?;
    rest.split('"').nth(1).map(str::to_owned)
}

fn cloned() -> Option<String> {
    printed(Command::new("git").args(["rev-parse", "--short=12", "HEAD"]))
}

/// The profile as cargo names its folder, `target/[TARGET/]PROFILE/build/PACKAGE/out`: `PROFILE` has only `debug` and `release`.
fn profile() -> Option<String> {
    let out = env::var_os("OUT_DIR")?;
    Some(Path::new(&out).ancestors().nth(3)?.file_name()?.to_string_lossy().into_owned())
}

fn printed(command: &mut Command) -> Option<String> {
    let output = command.output().ok().filter(|output| output.status.success())?;
    String::from_utf8(output.stdout).ok()
}
