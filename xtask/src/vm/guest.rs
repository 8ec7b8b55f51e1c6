//! From a case to a running guest: the files that it finds, and the emulator's command line.

use super::case::Case;
use super::console::INIT;
use super::initramfs::Archive;
use super::parts::Parts;
use anyhow::{Context, Result};
use std::fs::{self, File};
use std::io::BufWriter;
use std::path::Path;
use std::process::Command;

/// Writes the guest's file system.
///
/// # Errors
/// When something cannot be read or written.
pub(super) fn file_system(case: &Case, parts: &Parts, to: &Path) -> Result<()> {
    let read = |path: &Path| fs::read(path).with_context(|| format!("{} cannot be read", path.display()));
    let mut archive = Archive::new(BufWriter::new(File::create(to)?));
    for folder in ["bin", "case", "dev", "etc", "mod", "proc", "sys", "tmp"] {
        archive.directory(folder)?;
    }
    archive.file("init", 0o755, INIT.as_bytes())?;
    archive.file(
        "etc/passwd",
        0o644,
        b"root:x:0:0:root:/tmp:/bin/sh\nnobody:x:65534:65534:nobody:/tmp:/bin/sh\n",
    )?;
    archive.file("etc/group", 0o644, b"root:x:0:\nnogroup:x:65534:\n")?;
    archive.file("bin/busybox", 0o755, &read(&parts.busybox)?)?;
    for (name, path) in &parts.programs {
        archive.file(&format!("bin/{name}"), 0o755, &read(path)?)?;
    }
    for (name, path) in parts.kernel.loadable() {
        archive.file(&format!("mod/{name}"), 0o644, &read(&path)?)?;
    }
    for (at, script) in case.scripts.iter().enumerate() {
        archive.file(&format!("case/{at:02}-{}", script.name), 0o644, script.line.as_bytes())?;
    }
    archive.finish()?;
    Ok(())
}

/// The emulator's command line.
pub(super) fn emulator(case: &Case, parts: &Parts, file_system: &Path) -> Command {
    let arch = case.arch;
    let mut command = Command::new(arch.emulator());
    command
        .args(["-M", arch.board(), "-cpu", case.cpu, "-accel", "tcg"])
        .args(["-smp", &case.cpus.to_string(), "-m", &case.memory_mib.to_string()])
        .args(["-nodefaults", "-no-user-config", "-display", "none", "-serial", "stdio", "-no-reboot"])
        .args(case.machine)
        .arg("-kernel")
        .arg(&parts.kernel.image)
        .arg("-initrd")
        .arg(file_system)
        .arg("-append")
        .arg(format!("console={} rdinit=/init panic=-1 quiet {}", arch.console(), case.boot));
    command
}
