//! The targets, one row each: what compiles for them, what links, and what runs their programs here.

use super::toolchain::{self, NoToolchain};
use anyhow::{Result, bail};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use tollgate_testkit::{program, workspace};

/// A profile of cargo.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Profile {
    /// Quick to build: for tests
    Dev,
    /// For users
    Release,
}

impl Profile {
    /// Its name, and that of the folder that cargo writes into.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Dev => "cross",
            Self::Release => "release",
        }
    }
}

/// Links the C library into the program.
pub(super) const STATIC: &str = "-C target-feature=+crt-static";

/// One target.
pub struct Target {
    /// The architecture as in `std::env::consts::ARCH`.
    pub arch: &'static str,
    pub(crate) triple: &'static str,
    /// Debian's name of the architecture, if Debian has Rust's standard library for it. Otherwise the library is built
    /// from its source.
    packaged: Option<&'static str>,
    /// The static C library, and its package.
    c_library: (&'static str, &'static str),
    /// The C compiler, which links, and its package.
    linker: (&'static str, &'static str),
    /// The program that runs its programs on another architecture, and its package.
    emulator: (&'static str, &'static str),
}

/// Every target.
pub static TARGETS: &[Target] = &[
    Target {
        arch: "x86_64",
        triple: "x86_64-unknown-linux-gnu",
        packaged: Some("amd64"),
        c_library: ("/usr/lib/x86_64-linux-gnu/libc.a", "libc6-dev"),
        linker: ("x86_64-linux-gnu-gcc", "gcc"),
        emulator: ("qemu-x86_64", "qemu-user"),
    },
    Target {
        arch: "aarch64",
        triple: "aarch64-unknown-linux-gnu",
        packaged: Some("arm64"),
        c_library: ("/usr/aarch64-linux-gnu/lib/libc.a", "libc6-dev-arm64-cross"),
        linker: ("aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu"),
        emulator: ("qemu-aarch64", "qemu-user"),
    },
    Target {
        arch: "riscv64",
        triple: "riscv64gc-unknown-linux-gnu",
        packaged: None,
        c_library: ("/usr/riscv64-linux-gnu/lib/libc.a", "libc6-dev-riscv64-cross"),
        linker: ("riscv64-linux-gnu-gcc", "gcc-riscv64-linux-gnu"),
        emulator: ("qemu-riscv64", "qemu-user"),
    },
];

impl Target {
    /// The target of an architecture.
    pub(crate) fn named(arch: &str) -> Option<&'static Self> {
        TARGETS.iter().find(|target| target.arch == arch)
    }

    /// The targets of these names, or all, in the order in which they are built.
    ///
    /// # Errors
    /// When there is no target of such a name.
    pub(crate) fn chosen(names: &[String]) -> Result<Vec<&'static Self>> {
        let mut targets: Vec<&Self> = Vec::new();
        for name in names {
            let Some(target) = Self::named(name) else {
                let known: Vec<&str> = TARGETS.iter().map(|target| target.arch).collect();
                bail!("there is no target {name}: give one of {}", known.join(", "));
            };
            targets.push(target);
        }
        if targets.is_empty() {
            targets = TARGETS.iter().collect();
        }
        // This machine's own comes first: the others are compared with it. Then those that take longest to build: they
        // are tried while others are built.
        targets.sort_by_key(|target| (!target.is_native(), target.packaged.is_some()));
        Ok(targets)
    }

    /// Whether this machine runs its programs without an emulator.
    pub(crate) fn is_native(&self) -> bool {
        self.arch == std::env::consts::ARCH
    }

    /// The program that runs its programs: `Ok(None)` on its own architecture; `Err` is the sentence that says which
    /// program is missing.
    pub(crate) fn emulator(&self) -> Result<Option<&'static str>, String> {
        let (name, package) = self.emulator;
        match (self.is_native(), program(name)) {
            (true, _) => Ok(None),
            (false, Some(_)) => Ok(Some(name)),
            (false, None) => Err(install(name, package)),
        }
    }

    /// What a build needs of this system beside the Rust toolchain and does not find.
    fn missing(&self) -> Option<String> {
        let linker = (!self.is_native()).then_some(self.linker);
        linker
            .into_iter()
            .chain([self.c_library])
            .find(|(shown_by, _)| program(shown_by).is_none())
            .map(|(shown_by, package)| install(shown_by, package))
    }

    /// A cargo that builds static programs for this target, into its folder under `target/cross`. The inner `Err` is a
    /// reason to skip: the sentence that says what is missing.
    ///
    /// # Errors
    /// When the toolchain exists and cannot be used.
    pub(super) fn cargo(
        &self,
        root: &Path,
        command: &str,
        profile: Profile,
    ) -> Result<Result<Command, String>> {
        if let Some(missing) = self.missing() {
            return Ok(Err(missing));
        }
        let mut cargo = workspace::cargo(root);
        if !self.is_native() {
            let toolchain = match toolchain::obtain(root, &libraries()) {
                Ok(toolchain) => toolchain,
                Err(NoToolchain::Skip(why)) => return Ok(Err(why)),
                Err(NoToolchain::Broken(error)) => return Err(error),
            };
            cargo.env("RUSTC", toolchain.rustc()).env("LD_LIBRARY_PATH", toolchain.libraries());
            // For each target that shares the folder: a different environment would rebuild what runs on this machine.
            cargo.env("RUSTC_BOOTSTRAP", "1");
        }
        // Flags of the caller would replace ours, and a wrapper may support another compiler only.
        for name in ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER"] {
            cargo.env_remove(name);
        }
        cargo
            .args([command, "--profile", profile.name(), "--target", self.triple, "--target-dir"])
            .arg(self.folder(root))
            .env(self.variable("RUSTFLAGS"), STATIC);
        if !self.is_native() {
            cargo.env(self.variable("LINKER"), self.linker.0);
        }
        if self.packaged.is_none() && !self.is_native() {
            // With `test`, which only tests need: another list would build everything a second time for them.
            cargo.arg("-Zbuild-std=std,panic_abort,test");
        }
        Ok(Ok(cargo))
    }

    /// Where cargo builds for it: one folder for each compiler, so that what runs on this machine (procedural macros) is
    /// built once for all targets of that compiler.
    pub(super) fn folder(&self, root: &Path) -> PathBuf {
        root.join("target/cross").join(if self.is_native() { "own" } else { "debian" })
    }

    /// The environment variable of a setting of cargo for this target.
    pub(super) fn variable(&self, what: &str) -> OsString {
        format!("CARGO_TARGET_{}_{what}", self.triple.to_uppercase().replace('-', "_")).into()
    }
}

/// Fetches the toolchain if one of these targets needs it. [`Target::cargo`] reports the error, if there is one.
pub(crate) fn prepare(root: &Path, targets: &[&Target]) {
    if targets.iter().any(|target| !target.is_native() && target.missing().is_none()) {
        drop(toolchain::obtain(root, &libraries()));
    }
}

/// The standard libraries of all targets.
fn libraries() -> toolchain::Libraries {
    toolchain::Libraries {
        architectures: TARGETS.iter().filter_map(|target| target.packaged).collect(),
        source: TARGETS.iter().any(|target| target.packaged.is_none()),
    }
}

fn install(shown_by: &str, package: &str) -> String {
    format!("{shown_by} is missing: apt-get install {package}")
}

#[cfg(test)]
mod tests {
    use super::{TARGETS, Target};

    #[test]
    fn each_target_is_complete_and_listed_once() {
        for (index, target) in TARGETS.iter().enumerate() {
            assert!(target.triple.starts_with(target.arch), "{}", target.arch);
            assert!(target.emulator.0.ends_with(target.arch), "{}", target.arch);
            assert!(!TARGETS[..index].iter().any(|other| other.arch == target.arch), "{}", target.arch);
        }
        assert!(Target::named("vax").is_none());
    }

    #[test]
    fn a_setting_of_cargo_has_the_triple_in_its_name() {
        let name = TARGETS[2].variable("LINKER");
        assert_eq!(name, "CARGO_TARGET_RISCV64GC_UNKNOWN_LINUX_GNU_LINKER");
    }

    #[test]
    fn targets_are_chosen_by_name_and_this_machines_is_first() {
        let chosen = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
            Target::chosen(&names)
        };
        assert_eq!(chosen(&[]).unwrap().len(), 3);
        assert_eq!(chosen(&["riscv64"]).unwrap()[0].arch, "riscv64");
        let error = chosen(&["vax"]).err().unwrap().to_string();
        assert_eq!(error, "there is no target vax: give one of x86_64, aarch64, riscv64");
        let own = std::env::consts::ARCH;
        if Target::named(own).is_some() {
            assert_eq!(chosen(&[]).unwrap()[0].arch, own);
        }
    }
}
