//! The bare x86-64 guest: a few files of assembly, one flat image.

use anyhow::{Context, Result, bail, ensure};
use std::path::Path;
use std::process::Command;
use std::{env, fs};

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
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../guests/x86");
    let work = env::temp_dir().join(format!("tollgate-guests-x86-{}", std::process::id()));
    let built = build(&root, &work);
    // Best effort: a folder left in the temporary directory does no harm.
    let _ = fs::remove_dir_all(&work);
    let (built, kept) = (built?, root.join("images/tolls.bin"));
    if !check {
        return fs::write(&kept, built).with_context(|| kept.display().to_string());
    }
    if fs::read(&kept).ok() != Some(built) {
        bail!(
            "guests/x86/images/tolls.bin differs from its sources; run `cargo xtask guests` and commit the result"
        );
    }
    Ok(())
}

fn build(root: &Path, work: &Path) -> Result<Vec<u8>> {
    fs::create_dir_all(work)?;
    let image = work.join("tolls.bin");
    let mut link = Command::new(COMPILER);
    link.current_dir(root).args(LINK).arg("-o").arg(&image);
    for source in SOURCES {
        let object = work.join(format!("{source}.o"));
        let mut compile = Command::new(COMPILER);
        compile.current_dir(root).args(["-Wall", "-Werror", "-c"]).arg(format!("{source}.S"));
        run(compile.arg("-o").arg(&object))?;
        link.arg(object);
    }
    run(&mut link)?;
    Ok(fs::read(&image)?)
}

fn run(command: &mut Command) -> Result<()> {
    let output =
        command.output().with_context(|| format!("cannot run {COMPILER}; install it with: {INSTALL}"))?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr).trim());
    Ok(())
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
