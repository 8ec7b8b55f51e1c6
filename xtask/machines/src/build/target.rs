//! The targets, one row each: what compiles for them, what links, and what runs their programs here.

use super::toolchain;
use anyhow::{Context, Result};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use tollgate_testkit::{Missing, need, workspace};

/// A profile of cargo.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Profile {
    /// Quick to build: for tests
    Dev,
    /// For users
    Dist,
}

impl Profile {
    /// Its name, and that of the folder that cargo writes into.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Dev => "cross",
            Self::Dist => "dist",
        }
    }
}

/// Links the C library into the program.
pub(crate) const STATIC: &str = "-C target-feature=+crt-static";

/// One target.
pub(crate) struct Target {
    /// The architecture as in `std::env::consts::ARCH`.
    pub(crate) arch: &'static str,
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
pub(crate) static TARGETS: &[Target] = &[
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

    /// The target of an architecture that was asked for.
    ///
    /// # Errors
    /// When there is none.
    pub(crate) fn known(arch: &str) -> Result<&'static Self> {
        let known = || TARGETS.iter().map(|target| target.arch).collect::<Vec<_>>().join(", ");
        Self::named(arch).with_context(|| format!("there is no target {arch}: give one of {}", known()))
    }

    /// Where a build of the program with a profile is.
    pub(crate) fn program(&self, root: &Path, profile: Profile) -> PathBuf {
        self.folder(root).join(self.triple).join(profile.name()).join("tollgate")
    }

    /// Whether Rust's standard library must be built from its source first, which takes as long as the program.
    pub(crate) fn builds_std(&self) -> bool {
        self.packaged.is_none() && !self.is_native()
    }

    /// The targets of these names, or all, in the order in which they are built.
    ///
    /// # Errors
    /// When there is no target of such a name.
    pub(crate) fn chosen(names: &[String]) -> Result<Vec<&'static Self>> {
        let mut targets: Vec<&Self> = names.iter().map(|name| Self::known(name)).collect::<Result<_>>()?;
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

    /// The program that takes debug symbols out of its programs. It is of the same package as the linker.
    pub(crate) fn objcopy(&self) -> Command {
        Command::new(self.linker.0.replace("gcc", "objcopy"))
    }

    /// The program that runs its programs; `None` on its own architecture.
    pub(crate) fn emulator(&self) -> Result<Option<&'static str>, Missing> {
        if self.is_native() {
            return Ok(None);
        }
        packaged(self.emulator).map(|()| Some(self.emulator.0))
    }

    /// Looks for what a build needs of this system beside the Rust toolchain.
    fn needs(&self) -> Result<(), Missing> {
        if !self.is_native() {
            packaged(self.linker)?;
        }
        packaged(self.c_library)
    }

    /// A cargo that builds static programs for this target, into its folder under `target/cross`.
    ///
    /// # Errors
    /// When the toolchain exists and cannot be used, or [`Missing`].
    pub(super) fn cargo(&self, root: &Path, command: &[&str], profile: Profile) -> Result<Command> {
        self.needs()?;
        let mut cargo = workspace::cargo(root);
        if !self.is_native() {
            let toolchain = toolchain::obtain(root, &packaged_libraries())?;
            cargo.env("RUSTC", toolchain.rustc()).env("LD_LIBRARY_PATH", toolchain.libraries());
            // For each target that shares the folder: a different environment would rebuild what runs on this machine.
            cargo.env("RUSTC_BOOTSTRAP", "1");
        }
        // Flags of the caller would replace ours, and a wrapper may support another compiler only.
        for name in ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER"] {
            cargo.env_remove(name);
        }
        cargo
            .args(command)
            .args(["--profile", profile.name(), "--target", self.triple, "--target-dir"])
            .arg(self.folder(root))
            .env(self.variable("RUSTFLAGS"), STATIC);
        if !self.is_native() {
            cargo.env(self.variable("LINKER"), self.linker.0);
        }
        if self.builds_std() {
            // With `test`, which only tests need: another list would build everything a second time for them.
            cargo.arg("-Zbuild-std=std,panic_abort,test");
        }
        Ok(cargo)
    }

    /// Where cargo builds for it: one folder for each compiler, so that what runs on this machine (procedural macros) is
    /// built once for all targets of that compiler.
    pub(crate) fn folder(&self, root: &Path) -> PathBuf {
        root.join("target/cross").join(if self.is_native() { "own" } else { "debian" })
    }

    /// The environment variable of a setting of cargo for this target.
    pub(crate) fn variable(&self, what: &str) -> OsString {
        format!("CARGO_TARGET_{}_{what}", self.triple.to_uppercase().replace('-', "_")).into()
    }
}

/// Fetches the toolchain if one of these targets needs it. [`Target::cargo`] reports the error, if there is one.
pub(crate) fn prepare(root: &Path, targets: &[&Target]) {
    if targets.iter().any(|target| !target.is_native() && target.needs().is_ok()) {
        drop(toolchain::obtain(root, &packaged_libraries()));
    }
}

/// Debian's names of the architectures whose standard library it has.
pub(super) fn packaged_libraries() -> Vec<&'static str> {
    TARGETS.iter().filter_map(|target| target.packaged).collect()
}

/// Looks for a program or file of a Debian package.
fn packaged((shown_by, package): (&str, &str)) -> Result<(), Missing> {
    need(shown_by, &format!("apt-get install {package}")).map(drop)
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
        let from_source: Vec<&str> =
            TARGETS.iter().filter(|target| target.builds_std()).map(|target| target.arch).collect();
        assert_eq!(from_source, if std::env::consts::ARCH == "riscv64" { vec![] } else { vec!["riscv64"] });
        let error = chosen(&["vax"]).err().unwrap().to_string();
        assert_eq!(error, "there is no target vax: give one of x86_64, aarch64, riscv64");
        let own = std::env::consts::ARCH;
        if Target::named(own).is_some() {
            assert_eq!(chosen(&[]).unwrap()[0].arch, own);
        }
    }
}
