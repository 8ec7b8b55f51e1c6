//! What guests are made of, obtained once for all cases: programs, kernels and busybox of each architecture.

use super::arch::Arch;
use super::debian::{Debian, Line};
use super::guest;
use crate::cross::{self, Build, Profile, Target};
use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::{Path, PathBuf};
use tempfile::TempDir;
use tollgate_testkit::program;

/// Everything that one guest is made of.
#[derive(Clone, Debug)]
pub(super) struct Parts {
    /// The kernel's image.
    pub(super) kernel: PathBuf,
    /// The file system of all its guests, as [`guest::base`] writes it.
    pub(super) base: PathBuf,
}

/// Something that is there, or one sentence that says why the cases that need it are skipped.
type Had<T> = Result<T, String>;

/// Obtains each thing once.
pub(super) struct Store<'a> {
    root: &'a Path,
    debian: Debian,
    /// What is of this run only.
    scratch: TempDir,
    programs: BTreeMap<Arch, Had<Vec<(String, PathBuf)>>>,
    parts: BTreeMap<(Line, Arch), Had<Parts>>,
}

impl<'a> Store<'a> {
    pub(super) fn new(root: &'a Path) -> Result<Self> {
        let cache = root.join("target/vm");
        std::fs::create_dir_all(&cache).with_context(|| format!("{} cannot be made", cache.display()))?;
        let scratch = tempfile::tempdir_in(&cache).context("no folder for the guests' file systems")?;
        let debian = Debian::new(&cache);
        Ok(Self { root, debian, scratch, programs: BTreeMap::new(), parts: BTreeMap::new() })
    }

    /// The parts of a guest.
    ///
    /// # Errors
    /// When our own program does not build, or the file system cannot be written: that is no reason to skip.
    pub(super) fn parts(&mut self, arch: Arch, line: Line) -> Result<Had<Parts>> {
        if program(arch.emulator()).is_none() {
            return Ok(Err(format!("{} is missing: apt-get install {}", arch.emulator(), arch.package())));
        }
        for name in ["apt-get", "apt-cache", "dpkg", "xz", "gzip"] {
            if program(name).is_none() {
                return Ok(Err(format!(
                    "{name} is missing, with which guests are made of Debian's packages"
                )));
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
            Entry::Occupied(had) => had.into_mut(),
            Entry::Vacant(new) => {
                let packages =
                    self.debian.kernel(line, arch).and_then(|k| Ok((k, self.debian.busybox(arch)?)));
                new.insert(match packages {
                    Ok((kernel, busybox)) => {
                        let name = format!("{}-{}.cpio.gz", line.name(), arch.debian());
                        let base = self.scratch.path().join(name);
                        guest::base(&kernel, &busybox, programs, &base)?;
                        Ok(Parts { kernel: kernel.image, base })
                    }
                    Err(error) => Err(format!("no guest to boot: {error:#}")),
                })
            }
        };
        Ok(parts.clone())
    }
}

/// Our own programs: the tool, and the test of the counters.
fn programs(root: &Path, arch: Arch) -> Result<Had<Vec<(String, PathBuf)>>> {
    let target = Target::named(arch.ours()).context("the targets have no such architecture")?;
    println!("  building for {}", target.triple);
    let tollgate = match cross::tollgate(root, target, Profile::Dev)? {
        Build::Done(program) => program,
        Build::Skipped(why) => return Ok(Err(why)),
    };
    let mut programs = vec![("tollgate".to_owned(), tollgate)];
    if arch == Arch::Arm64 {
        let tests = match cross::tests(root, target)? {
            Build::Done(tests) => tests,
            Build::Skipped(why) => return Ok(Err(why)),
        };
        let counters = tests.into_iter().find(|tests| tests.name == cross::COUNTERS);
        let counters = counters.context("cargo did not build the test of the counters")?;
        programs.push((counters.name, counters.program));
    }
    Ok(Ok(programs))
}
