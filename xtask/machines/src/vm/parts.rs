//! The parts of guests, obtained once for all cases: programs, kernel and busybox of each architecture.

use super::arch::Arch;
use super::console::INIT;
use super::debian::{Debian, Kernel, Line};
use crate::build::target::{Profile, Target};
use crate::build::{COUNTERS, tests, tollgate};
use anyhow::{Context, Result, ensure};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;
use tollgate_lab::initramfs::Archive;
use tollgate_testkit::{Missing, need};

/// The parts of one guest.
#[derive(Clone, Debug)]
pub(super) struct Parts {
    /// The image of the kernel.
    pub(super) kernel: PathBuf,
    /// The file system that all guests of the kernel share.
    pub(super) base: PathBuf,
}

/// A part, or one sentence that says why the cases that need it are skipped.
type OrSkip<T> = Result<T, String>;

/// Makes a missing program a reason to skip; other errors are failures.
fn or_skip<T>(part: Result<T>) -> Result<OrSkip<T>> {
    match part {
        Ok(part) => Ok(Ok(part)),
        Err(error) => error.downcast().map(|Missing(why)| Err(why)),
    }
}

/// Obtains each part once.
pub(super) struct Store<'a> {
    root: &'a Path,
    debian: Debian,
    /// Files of this run only.
    scratch: TempDir,
    programs: BTreeMap<&'static str, OrSkip<Vec<(String, PathBuf)>>>,
    parts: BTreeMap<(Line, &'static str), OrSkip<Parts>>,
}

impl<'a> Store<'a> {
    pub(super) fn new(root: &'a Path) -> Result<Self> {
        let cache = root.join("target/vm");
        std::fs::create_dir_all(&cache).with_context(|| format!("{} cannot be created", cache.display()))?;
        let scratch = tempfile::tempdir_in(&cache).context("no folder for the guests' file systems")?;
        let debian = Debian::new(&cache);
        Ok(Self { root, debian, scratch, programs: BTreeMap::new(), parts: BTreeMap::new() })
    }

    /// The parts of a guest.
    ///
    /// # Errors
    /// When our own program does not build, or the file system cannot be written: these are failures, not skips.
    pub(super) fn parts(&mut self, arch: &'static Arch, line: Line) -> Result<OrSkip<Parts>> {
        let key = (line, arch.debian);
        if !self.parts.contains_key(&key) {
            let parts = or_skip(self.made(arch, line))?;
            self.parts.insert(key, parts);
        }
        Ok(self.parts[&key].clone())
    }

    fn made(&mut self, arch: &'static Arch, line: Line) -> Result<Parts> {
        need(arch.emulator, &format!("apt-get install {}", arch.package))?;
        for name in ["apt-get", "apt-cache", "dpkg", "xz", "gzip"] {
            need(name, "guests are made from Debian's packages")?;
        }
        if !self.programs.contains_key(arch.debian) {
            let built = or_skip(programs(self.root, arch))?;
            self.programs.insert(arch.debian, built);
        }
        let programs = self.programs[arch.debian].as_ref().map_err(|why| Missing(why.clone()))?;
        let none = |error: anyhow::Error| Missing(format!("no guest to boot: {error:#}"));
        let kernel = self.debian.kernel(line, arch).map_err(none)?;
        let busybox = self.debian.busybox(arch).map_err(none)?;
        let base = self.scratch.path().join(format!("{}-{}.cpio.gz", line, arch.debian));
        write_base(&kernel, &busybox, programs, &base)?;
        Ok(Parts { kernel: kernel.image, base })
    }
}

/// Writes the file system that all guests of a kernel share, compressed: the smallest guest has no room for it twice while
/// it unpacks it.
///
/// # Errors
/// When something cannot be read or written.
fn write_base(kernel: &Kernel, busybox: &Path, programs: &[(String, PathBuf)], to: &Path) -> Result<()> {
    let read = |path: &Path| fs::read(path).with_context(|| format!("{} cannot be read", path.display()));
    let mut gzip = Command::new("gzip")
        .args(["-1", "--no-name", "--stdout"])
        .stdin(Stdio::piped())
        .stdout(File::create(to)?)
        .spawn()
        .context("gzip could not be started: apt-get install gzip")?;
    let mut archive = Archive::new(BufWriter::new(gzip.stdin.take().context("gzip has no standard input")?));
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

/// Our own programs: tollgate, and the test of the counters.
fn programs(root: &Path, arch: &Arch) -> Result<Vec<(String, PathBuf)>> {
    let target = Target::named(arch.ours).context("there is no such target")?;
    println!("  building for {}", target.triple);
    let mut programs = vec![("tollgate".to_owned(), tollgate(root, target, Profile::Dev)?)];
    if arch.has_counters {
        let counters = tests(root, target)?.into_iter().find(|test| test.name == COUNTERS);
        let counters = counters.context("cargo did not build the test of the counters")?;
        programs.push((counters.name, counters.program));
    }
    Ok(programs)
}
