//! From a case to a running guest: the files that it finds, and the emulator's command line.

use super::case::Case;
use super::console::INIT;
use super::debian::Kernel;
use super::initramfs::Archive;
use super::parts::Parts;
use anyhow::{Context, Result, ensure};
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Writes what the guests of a kernel find, all but their case: compressed, since the smallest of them has no room for it
/// twice while it unpacks it.
///
/// # Errors
/// When something cannot be read or written.
pub(super) fn base(kernel: &Kernel, busybox: &Path, programs: &[(String, PathBuf)], to: &Path) -> Result<()> {
    let read = |path: &Path| fs::read(path).with_context(|| format!("{} cannot be read", path.display()));
    let mut gzip = Command::new("gzip")
        .args(["-1", "--no-name", "--stdout"])
        .stdin(Stdio::piped())
        .stdout(File::create(to)?)
        .spawn()
        .context("gzip could not be started: apt-get install gzip")?;
    let mut archive = Archive::new(BufWriter::new(gzip.stdin.take().context("gzip reads nothing")?));
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
    archive.file("bin/busybox", 0o755, &read(busybox)?)?;
    for (name, path) in programs {
        archive.file(&format!("bin/{name}"), 0o755, &read(path)?)?;
    }
    for (name, path) in kernel.loadable() {
        archive.file(&format!("mod/{name}"), 0o644, &read(&path)?)?;
    }
    drop(archive.finish()?);
    let status = gzip.wait()?;
    ensure!(status.success(), "gzip failed: {status}");
    Ok(())
}

/// Writes a guest's file system: that of all guests of its kernel, and the scripts of its case.
///
/// # Errors
/// When something cannot be read or written.
pub(super) fn file_system(case: &Case, parts: &Parts, to: &Path) -> Result<()> {
    let mut out = BufWriter::new(File::create(to)?);
    let base = fs::read(&parts.base).with_context(|| parts.base.display().to_string())?;
    out.write_all(&base)?;
    // The next archive begins at a multiple of four (buffer-format.rst).
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
    let mut command = Command::new(arch.emulator());
    command
        .args(["-M", arch.board(), "-cpu", case.cpu, "-accel", "tcg"])
        .args(["-smp", &case.cpus.to_string(), "-m", &case.memory_mib.to_string()])
        .args(["-nodefaults", "-no-user-config", "-display", "none", "-serial", "stdio", "-no-reboot"])
        .args(case.machine)
        .arg("-kernel")
        .arg(&parts.kernel)
        .arg("-initrd")
        .arg(file_system)
        .arg("-append")
        .arg(format!("console={} rdinit=/init panic=-1 quiet {}", arch.console(), case.boot));
    command
}
