//! The book in `docs`, held to the program: its structure, its commands, the outputs that it shows, and the
//! lists that are generated. `TOLLGATE_BLESS=1 cargo test -p tollgate --test book` rewrites outputs and lists.

mod commands;
mod generated;
mod outputs;
mod pages;
mod structure;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const PROGRAM: &str = env!("CARGO_BIN_EXE_tollgate");

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn blesses() -> bool {
    std::env::var_os("TOLLGATE_BLESS").is_some()
}

/// Runs a line by a shell that finds `tollgate` on its path and keeps everything that it saves below `home`.
fn shell(line: &str, home: &Path) -> Output {
    let program = Path::new(PROGRAM).parent().unwrap();
    let mut command = Command::new("/bin/sh");
    command.args(["-c", line]).current_dir(home).stdin(Stdio::null()).env_clear();
    command.env("HOME", home).env("LANG", "C.UTF-8").env("COLUMNS", "80");
    command.env("PATH", format!("{}:/usr/bin:/bin", program.display()));
    command.output().unwrap()
}

/// Compares a page with what it should be, or writes it when asked to.
fn hold(path: &Path, is: &str, should_be: &str) {
    if is == should_be {
        return;
    }
    if blesses() {
        fs::write(path, should_be).unwrap();
        return;
    }
    let first = is.lines().zip(should_be.lines()).position(|(a, b)| a != b).unwrap_or(0);
    panic!(
        "{} differs from the program at line {}:\n  page     {:?}\n  program  {:?}\n\
         TOLLGATE_BLESS=1 cargo test -p tollgate --test book rewrites it",
        path.display(),
        first + 1,
        is.lines().nth(first).unwrap_or_default(),
        should_be.lines().nth(first).unwrap_or_default(),
    );
}
