//! The bare x86-64 guest: a few files of assembly, one flat image.

use anyhow::Result;
use std::fs;
use std::path::Path;
use std::process::Command;
use tollgate_testkit::need;

/// GCC for x86-64, by its name on every architecture of Debian.
pub(super) const COMPILER: &str = "x86_64-linux-gnu-gcc";
const INSTALL: &str = "apt-get install gcc (on x86-64) or gcc-x86-64-linux-gnu (elsewhere)";

/// In their order in the image.
const SOURCES: &[&str] = &["image", "boot", "phases"];
const LINK: &[&str] = &[
    "-nostdlib",
    "-static",
    "-no-pie",
    "-Wl,-T,link.ld",
    "-Wl,--oformat=binary",
    "-Wl,--build-id=none",
    "-Wl,-z,noexecstack",
    "-Wl,--no-warn-rwx-segments",
];

/// Builds `images/tolls.bin`, or with `check` compares it with what its sources give.
pub(super) fn guests(check: bool) -> Result<()> {
    need(COMPILER, INSTALL)?;
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../guests/x86");
    let work = tempfile::tempdir()?;
    let image = work.path().join("tolls.bin");
    let mut link = Command::new(COMPILER);
    link.current_dir(&root).args(LINK).arg("-o").arg(&image);
    for source in SOURCES {
        let object = work.path().join(format!("{source}.o"));
        let mut command = Command::new(COMPILER);
        command.current_dir(&root).args(["-Wall", "-Werror", "-c"]).arg(format!("{source}.S"));
        super::compile(command.arg("-o").arg(&object))?;
        link.arg(object);
    }
    super::compile(&mut link)?;
    super::keep(&root, check, &[("tolls.bin".to_owned(), fs::read(&image)?)])
}

#[cfg(test)]
mod tests {
    use super::{COMPILER, INSTALL, guests};

    #[test]
    fn the_image_agrees_with_its_sources() {
        if tollgate_testkit::program(COMPILER).is_none() {
            return tollgate_testkit::skip!("{COMPILER} is missing: {INSTALL}");
        }
        guests(true).expect("the image agrees");
    }
}
