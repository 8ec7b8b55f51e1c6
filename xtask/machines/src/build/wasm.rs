//! Building for browsers: WebAssembly without a system, by Debian's compiler, which has the source of the standard library.

use super::target::packaged_libraries;
use super::{check_private, renamed_folders, toolchain};
use anyhow::{Context, Result, ensure};
use std::path::{Path, PathBuf};
use std::process::Command;
use tollgate_testkit::{printed, workspace};

const TRIPLE: &str = "wasm32-unknown-unknown";
const PROFILE: &str = "wasm";

/// Builds a package's module.
///
/// # Errors
/// When it does not compile, or [`Missing`](tollgate_testkit::Missing).
pub fn module(root: &Path, package: &str) -> Result<PathBuf> {
    let toolchain = toolchain::obtain(root, &packaged_libraries())?;
    // Debian's compiler has no linker for this target, and every Rust toolchain has one.
    let sysroot = printed(Command::new("rustc").args(["--print", "sysroot"]).current_dir(root))?;
    let host = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let linker = Path::new(sysroot.trim()).join("lib/rustlib").join(host).join("bin/rust-lld");
    ensure!(linker.exists(), "{} is missing: this Rust has no linker for WebAssembly", linker.display());
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from).join("page");
    let mut cargo = workspace::cargo(root);
    for name in ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER"] {
        cargo.env_remove(name);
    }
    let status = cargo
        .env("RUSTC", toolchain.rustc())
        .env("LD_LIBRARY_PATH", toolchain.libraries())
        // The standard library is built with the module, and ends it when it panics.
        .env("RUSTC_BOOTSTRAP", "1")
        .env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", linker)
        .env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS", renamed_folders(root))
        .args(["build", "--quiet", "--target", TRIPLE, "-Zbuild-std=std,panic_abort", "--profile", PROFILE])
        .args(["--package", package, "--lib", "--target-dir"])
        .arg(&target)
        .status()
        .context("cargo could not be started")?;
    ensure!(status.success(), "{package} does not build for {TRIPLE}: {status}");
    let name = package.replace('-', "_");
    let module = target.join(TRIPLE).join(PROFILE).join(format!("{name}.wasm"));
    check_private(root, &module)?;
    Ok(module)
}
