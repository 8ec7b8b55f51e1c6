//! Notes the commit, target and compiler of the binary, for the record and for `tollgate --version --verbose`.

use std::path::Path;
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
