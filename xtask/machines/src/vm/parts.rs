//! The parts of guests, obtained once for all cases: programs, kernel and busybox of each architecture.

use super::arch::Arch;
use super::console::INIT;
use super::debian::{Debian, Kernel, Line};
use super::initramfs::Archive;
use crate::build::target::{Profile, Target};
use crate::build::{Build, COUNTERS, tests, tollgate};
use anyhow::{Context, Result, ensure};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fs::{self, File};
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;
use tollgate_testkit::program;

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

/// Obtains each part once.
pub(super) struct Store<'a> {
    root: &'a Path,
    debian: Debian,
    /// Files of this run only.
    scratch: TempDir,
    programs: BTreeMap<Arch, OrSkip<Vec<(String, PathBuf)>>>,
    parts: BTreeMap<(Line, Arch), OrSkip<Parts>>,
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
    pub(super) fn parts(&mut self, arch: Arch, line: Line) -> Result<OrSkip<Parts>> {
        if program(arch.emulator()).is_none() {
            return Ok(Err(format!("{} is missing: apt-get install {}", arch.emulator(), arch.package())));
        }
        for name in ["apt-get", "apt-cache", "dpkg", "xz", "gzip"] {
            if program(name).is_none() {
                return Ok(Err(format!("{name} is missing: guests are made from Debian's packages")));
            }
        }
        if !self.programs.contains_key(&arch) {
            let built = programs(self.root, arch)?;
            self.programs.insert(arch, built);
        }
        let programs = match &self.programs[&arch] {
            Ok(programs) => programs,
            Err(why) => return Ok(Err(why.clone())),
        };
        let parts = match self.parts.entry((line, arch)) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => {
                let packages =
                    self.debian.kernel(line, arch).and_then(|k| Ok((k, self.debian.busybox(arch)?)));
                new.insert(match packages {
                    Ok((kernel, busybox)) => {
                        let name = format!("{}-{}.cpio.gz", line.name(), arch.debian());
                        let base = self.scratch.path().join(name);
                        write_base(&kernel, &busybox, programs, &base)?;
                        Ok(Parts { kernel: kernel.image, base })
                    }
                    Err(error) => Err(format!("no guest to boot: {error:#}")),
                })
            }
        };
        Ok(parts.clone())
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
fn programs(root: &Path, arch: Arch) -> Result<OrSkip<Vec<(String, PathBuf)>>> {
    let target = Target::named(arch.ours()).context("there is no such target")?;
    println!("  building for {}", target.triple);
    let program = match tollgate(root, target, Profile::Dev)? {
        Build::Done(program) => program,
        Build::Skipped(why) => return Ok(Err(why)),
    };
    let mut programs = vec![("tollgate".to_owned(), program)];
    if arch == Arch::Arm64 {
        let built = match tests(root, target)? {
            Build::Done(built) => built,
            Build::Skipped(why) => return Ok(Err(why)),
        };
        let counters = built.into_iter().find(|test| test.name == COUNTERS);
        let counters = counters.context("cargo did not build the test of the counters")?;
        programs.push((counters.name, counters.program));
    }
    Ok(Ok(programs))
}
