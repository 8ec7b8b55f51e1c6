//! The file system of a case, and the command line of its emulator.

use super::case::Case;
use super::initramfs::Archive;
use super::parts::Parts;
use anyhow::{Context, Result};
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::Command;

/// Writes the file system of a guest: the one that all guests of its kernel share, and the scripts of its case.
///
/// # Errors
/// When something cannot be read or written.
pub(super) fn file_system(case: &Case, parts: &Parts, to: &Path) -> Result<()> {
    let mut out = BufWriter::new(File::create(to)?);
    let base = fs::read(&parts.base).with_context(|| parts.base.display().to_string())?;
    out.write_all(&base)?;
    // An archive begins at a multiple of four (buffer-format.rst).
    out.write_all(&[0; 3][..base.len().next_multiple_of(4) - base.len()])?;
    let mut archive = Archive::new(out);
    for (at, script) in case.scripts.iter().enumerate() {
        archive.file(&format!("case/{at:02}-{}", script.name), 0o644, script.line.as_bytes())?;
    }
    archive.finish()?;
    Ok(())
}

/// The emulator's command line.
pub(super) fn emulator(case: &Case, parts: &Parts, file_system: &Path) -> Command {
    let arch = case.arch;
    let mut command = Command::new(arch.emulator);
    command
        .args(["-M", arch.board, "-cpu", case.cpu, "-accel", "tcg"])
        .args(["-smp", &case.cpus.to_string(), "-m", &case.memory_mib.to_string()])
        .args(["-nodefaults", "-no-user-config", "-display", "none", "-serial", "stdio", "-no-reboot"])
        .args(case.machine)
        .arg("-kernel")
        .arg(&parts.kernel)
        .arg("-initrd")
        .arg(file_system)
        .arg("-append")
        .arg(format!("console={} rdinit=/init panic=-1 quiet {}", arch.console, case.boot));
    command
}
