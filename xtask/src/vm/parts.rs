//! What guests are made of, obtained once for all cases: programs, kernels and busybox of each architecture.

use super::arch::Arch;
use super::debian::{self, Kernel, Line};
use crate::cross::{self, Build, Profile, Target};
use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tollgate_testkit::program;

/// Everything that one guest is made of.
#[derive(Clone, Debug)]
pub(super) struct Parts {
    pub(super) kernel: Kernel,
    pub(super) busybox: PathBuf,
    /// Programs by their names in the guest's `/bin`.
    pub(super) programs: Vec<(&'static str, PathBuf)>,
}

/// Something that is there, or one sentence that says why the cases that need it are skipped.
type Had<T> = Result<T, String>;

/// Obtains each thing once.
pub(super) struct Store<'a> {
    root: &'a Path,
    cache: PathBuf,
    programs: BTreeMap<Arch, Had<Vec<(&'static str, PathBuf)>>>,
    kernels: BTreeMap<(Line, Arch), Had<Kernel>>,
    busyboxes: BTreeMap<Arch, Had<PathBuf>>,
}

impl<'a> Store<'a> {
    pub(super) fn new(root: &'a Path) -> Result<Self> {
        let cache = root.join("target/vm");
        std::fs::create_dir_all(&cache).with_context(|| format!("{} cannot be made", cache.display()))?;
        Ok(Self {
            root,
            cache,
            programs: BTreeMap::new(),
            kernels: BTreeMap::new(),
            busyboxes: BTreeMap::new(),
        })
    }

    /// The parts of a guest.
    ///
    /// # Errors
    /// When our own program does not build.
    pub(super) fn parts(&mut self, arch: Arch, line: Line) -> Result<Had<Parts>> {
        if program(arch.emulator()).is_none() {
            return Ok(Err(format!("{} is missing: apt-get install {}", arch.emulator(), arch.package())));
        }
        for name in ["apt-get", "apt-cache", "dpkg", "xz"] {
            if program(name).is_none() {
                return Ok(Err(format!("{name} is missing, with which Debian's kernels are had")));
            }
        }
        if !self.programs.contains_key(&arch) {
            let built = programs(self.root, &self.cache, arch)?;
            self.programs.insert(arch, built);
        }
        let cache = &self.cache;
        let kernel = self.kernels.entry((line, arch)).or_insert_with(|| {
            debian::kernel(cache, line, arch).map_err(|error| format!("no kernel to boot: {error:#}"))
        });
        let busybox = self.busyboxes.entry(arch).or_insert_with(|| {
            debian::busybox(cache, arch).map_err(|error| format!("no busybox for the guest: {error:#}"))
        });
        Ok((|| {
            Ok(Parts {
                kernel: kernel.clone()?,
                busybox: busybox.clone()?,
                programs: self.programs[&arch].clone()?,
            })
        })())
    }
}

/// Our own programs: the tool, and the test of the counters.
fn programs(root: &Path, cache: &Path, arch: Arch) -> Result<Had<Vec<(&'static str, PathBuf)>>> {
    let target = Target::named(arch.ours()).context("the targets have no such architecture")?;
    println!("  building for {}", target.triple);
    let tollgate = match cross::tollgate(root, target, Profile::Dev)? {
        Build::Done(program) => program,
        Build::Skipped(why) => return Ok(Err(why)),
    };
    let mut programs = vec![("tollgate", tollgate)];
    if arch == Arch::Arm64 {
        match test_program(root, target)? {
            Ok(program) => programs.push(("counters", program)),
            Err(why) => return Ok(Err(why)),
        }
    }
    for (name, program) in &mut programs {
        *program = stripped(program, &cache.join(format!("{name}-{}", arch.ours())), arch)?;
    }
    Ok(Ok(programs))
}

/// The program without its symbols: with them it would not fit into the smallest guest.
fn stripped(program: &Path, to: &Path, arch: Arch) -> Result<PathBuf> {
    let strip = arch.strip();
    let status = Command::new(strip).arg("-o").args([to, program]).status();
    let status = status.with_context(|| format!("{strip} could not be started: apt-get install binutils"))?;
    anyhow::ensure!(status.success(), "{strip} does not take {}: {status}", program.display());
    Ok(to.to_owned())
}

/// `crates/boundary/tests/counters.rs` as a static program.
fn test_program(root: &Path, target: &Target) -> Result<Had<PathBuf>> {
    let mut cargo = match target.cargo(root, "test")? {
        Ok(cargo) => cargo,
        Err(why) => return Ok(Err(why)),
    };
    let output = cargo
        .args(["--quiet", "--no-run", "--package", "tollgate-boundary", "--test", "counters"])
        .arg("--message-format=json")
        .stderr(Stdio::inherit())
        .output()
        .context("cargo could not be started")?;
    anyhow::ensure!(output.status.success(), "the test of the counters does not build for {}", target.triple);
    let text = String::from_utf8_lossy(&output.stdout);
    let program = text
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
        .filter_map(|message| Some(PathBuf::from(message["executable"].as_str()?)))
        .next_back();
    Ok(Ok(program.context("cargo names no program")?))
}
