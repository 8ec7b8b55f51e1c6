//! The targets, one row each: what compiles for them, what links, and what runs their programs here.

use super::build::Profile;
use super::debian;
use crate::workspace;
use anyhow::Result;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use tollgate_testkit::program;

/// What has the C library linked into the program.
pub(super) const STATIC: &str = "-C target-feature=+crt-static";

/// One target.
pub(crate) struct Target {
    /// As tollgate names the architecture: `std::env::consts::ARCH`.
    pub(crate) arch: &'static str,
    pub(crate) triple: &'static str,
    /// Debian's name of the architecture, when it has a standard library for it; where there is none it is built
    /// from its source.
    packaged: Option<&'static str>,
    /// Where the C library is that a static program is linked with, and the package that has it.
    c_library: (&'static str, &'static str),
    /// The C compiler, which links, and its package.
    linker: (&'static str, &'static str),
    /// What runs its programs on another architecture, and its package.
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
    /// The target that tollgate names so.
    pub(crate) fn named(arch: &str) -> Option<&'static Self> {
        TARGETS.iter().find(|target| target.arch == arch)
    }

    /// Whether this machine runs its programs itself.
    pub(crate) fn is_native(&self) -> bool {
        self.arch == std::env::consts::ARCH
    }

    /// In which order the targets are built. This machine's own is first: the others are compared with it. Then those
    /// that take longest: they are tried while others are built.
    pub(super) fn turn(&self) -> impl Ord {
        (!self.is_native(), self.packaged.is_some())
    }

    /// The program that runs its programs: `Ok(None)` for none, on its own architecture; `Err` is the sentence that
    /// says which is missing.
    pub(crate) fn emulator(&self) -> Result<Option<&'static str>, String> {
        let (name, package) = self.emulator;
        match (self.is_native(), program(name)) {
            (true, _) => Ok(None),
            (false, Some(_)) => Ok(Some(name)),
            (false, None) => Err(missing(name, package)),
        }
    }

    /// What a build needs of this system and lacks; the toolchain is another matter.
    fn lacks(&self) -> Option<String> {
        let linker = (!self.is_native()).then_some(self.linker);
        linker
            .into_iter()
            .chain([self.c_library])
            .find(|(shown_by, _)| program(shown_by).is_none())
            .map(|(shown_by, package)| missing(shown_by, package))
    }

    /// A cargo that builds for this target, static, into its folder under `target/cross`: `Err` inside says what is
    /// missing and so skips.
    ///
    /// # Errors
    /// When the toolchain is there and cannot be used.
    pub(super) fn cargo(
        &self,
        root: &Path,
        command: &str,
        profile: Profile,
    ) -> Result<Result<Command, String>> {
        if let Some(lacks) = self.lacks() {
            return Ok(Err(lacks));
        }
        let mut cargo = workspace::cargo(root);
        if !self.is_native() {
            let toolchain = match debian::toolchain(root, &wanted()) {
                Ok(toolchain) => toolchain,
                Err(debian::Absent::Skip(why)) => return Ok(Err(why)),
                Err(debian::Absent::Broken(error)) => return Err(error),
            };
            cargo.env("RUSTC", toolchain.rustc()).env("LD_LIBRARY_PATH", toolchain.libraries());
            // For all that share a folder: what runs on this machine would be built anew where it differs.
            cargo.env("RUSTC_BOOTSTRAP", "1");
        }
        // Flags from outside would take the place of ours, and a wrapper may know another compiler only.
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
            // With what only tests need: everything else would be built again for them.
            cargo.arg("-Zbuild-std=std,panic_abort,test");
        }
        Ok(Ok(cargo))
    }

    /// Where cargo builds for it: one folder for each compiler, so that what runs on this machine, as procedural macros
    /// do, is built once for all of its targets.
    pub(super) fn folder(&self, root: &Path) -> PathBuf {
        root.join("target/cross").join(if self.is_native() { "own" } else { "debian" })
    }

    /// The environment variable by which cargo is told something about this target.
    pub(super) fn variable(&self, what: &str) -> OsString {
        format!("CARGO_TARGET_{}_{what}", self.triple.to_uppercase().replace('-', "_")).into()
    }
}

/// Has the toolchain there for those of the targets that need it; what hinders is said when it is used.
pub(super) fn prepare(root: &Path, targets: &[&Target]) {
    if targets.iter().any(|target| !target.is_native() && target.lacks().is_none()) {
        drop(debian::toolchain(root, &wanted()));
    }
}

/// What all targets together need of the toolchain.
fn wanted() -> debian::Wanted {
    debian::Wanted {
        architectures: TARGETS.iter().filter_map(|target| target.packaged).collect(),
        source: TARGETS.iter().any(|target| target.packaged.is_none()),
    }
}

fn missing(shown_by: &str, package: &str) -> String {
    format!("{shown_by} is missing: apt-get install {package}")
}

#[cfg(test)]
mod tests {
    use super::{TARGETS, Target};

    #[test]
    fn each_target_is_complete_and_stands_once() {
        for (index, target) in TARGETS.iter().enumerate() {
            assert!(target.triple.starts_with(target.arch), "{}", target.arch);
            assert!(target.emulator.0.ends_with(target.arch), "{}", target.arch);
            assert!(!TARGETS[..index].iter().any(|other| other.arch == target.arch), "{}", target.arch);
        }
        assert!(Target::named("vax").is_none());
    }

    #[test]
    fn cargo_reads_its_variables_by_these_names() {
        let name = TARGETS[2].variable("LINKER");
        assert_eq!(name, "CARGO_TARGET_RISCV64GC_UNKNOWN_LINUX_GNU_LINKER");
    }
}
