//! The book in `docs`, held to the program: its structure, its commands, the outputs that it shows, the figures that its
//! prose quotes, and the lists that are generated. `cargo xtask bless book` rewrites outputs and lists. A program of its
//! own: its pages measure.

mod commands;
mod figures;
mod generated;
mod outputs;
mod pages;
mod runs;
mod structure;

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const PROGRAM: &str = env!("CARGO_BIN_EXE_tollgate");

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Runs a line by a shell that finds `tollgate` on its path and keeps everything that it saves below `home`.
fn shell(line: &str, home: &Path) -> Output {
    shell_in(home, line, home)
}

/// The same in another directory.
fn shell_in(directory: &Path, line: &str, home: &Path) -> Output {
    let program = Path::new(PROGRAM).parent().unwrap();
    let mut command = Command::new("/bin/sh");
    command.args(["-c", line]).current_dir(directory).stdin(Stdio::null()).env_clear();
    command.env("HOME", home).env("LANG", "C.UTF-8").env("COLUMNS", "80");
    command.env("PATH", format!("{}:/usr/bin:/bin", program.display()));
    command.output().unwrap()
}
