//! A wheel around a static program that is built already, as for an architecture that is not this machine's. Maturin writes what
//! describes the package, Python's `wheel` packs it, and `advzip` compresses it better.

use anyhow::{Context, Result, ensure};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tollgate_testkit::{Missing, need, printed};

/// The tags of a wheel with a static program: it runs with either C library, and with any version of it. The numbers are the
/// oldest that installers know.
fn tags(arch: &str) -> [String; 2] {
    [format!("manylinux_2_17_{arch}"), format!("musllinux_1_2_{arch}")]
}

/// What makes wheels of a package.
pub(super) struct Packer {
    /// The sources of the module.
    pub(super) module: PathBuf,
    /// `maturin pep517 write-dist-info --metadata-directory`, in the folder of the package.
    pub(super) describe: Command,
    /// `python -m wheel pack`.
    pub(super) pack: Command,
    /// The time of all files, in seconds since 1970.
    pub(super) time: u64,
    /// The components of the program as CycloneDX, for a wheel that is published.
    pub(super) components: Option<String>,
}

/// Looks for what packs.
pub(super) fn needs() -> Result<(), Missing> {
    need("advzip", "apt-get install advancecomp").map(drop)
}

/// Packs a wheel into a folder.
///
/// # Errors
/// When a file cannot be written, or a tool fails or is [`Missing`].
pub(super) fn pack(mut tools: Packer, program: &Path, arch: &str, folder: &Path) -> Result<PathBuf> {
    needs()?;
    let place = tempfile::tempdir()?;
    let tree = place.path().join("tree");
    fs::create_dir(&tree)?;
    printed(tools.describe.arg(&tree))?;
    let info = fs::read_dir(&tree)?.next().context("maturin described no package")??.path();
    let name = info.file_stem().and_then(OsStr::to_str).context("a package without a name")?.to_owned();
    if let Some(components) = &tools.components {
        // PEP 770.
        fs::create_dir(info.join("sboms"))?;
        fs::write(info.join("sboms/tollgate.cdx.json"), components)?;
    }
    let about = info.join("WHEEL");
    fs::write(&about, tagged(&fs::read_to_string(&about)?, arch))?;
    let module = tree.join("tollgate_perf");
    fs::create_dir(&module)?;
    for entry in fs::read_dir(&tools.module)? {
        let path = entry?.path();
        if path.extension().is_some_and(|it| it == "py" || it == "typed") {
            fs::copy(&path, module.join(path.file_name().unwrap_or_default()))?;
        }
    }
    let scripts = tree.join(format!("{name}.data/scripts"));
    fs::create_dir_all(&scripts)?;
    fs::copy(program, scripts.join("tollgate")).with_context(|| program.display().to_string())?;
    fs::create_dir_all(folder)?;
    tools.pack.env("SOURCE_DATE_EPOCH", tools.time.to_string());
    printed(tools.pack.arg(&tree).arg("--dest-dir").arg(folder))?;
    let wheel = folder.join(format!("{name}-py3-none-{}.whl", tags(arch).join(".")));
    ensure!(wheel.is_file(), "{} was not packed", wheel.display());
    // By libdeflate at its best, which takes seconds; the other levels take minutes and gain nothing.
    printed(Command::new("advzip").args(["--recompress", "--quiet", "-2"]).arg(&wheel))?;
    Ok(wheel)
}

/// The description of a wheel for an architecture.
fn tagged(about: &str, arch: &str) -> String {
    let others =
        about.lines().filter(|line| !line.is_empty() && !line.starts_with("Tag: ")).map(str::to_owned);
    let tags = tags(arch).map(|tag| format!("Tag: py3-none-{tag}"));
    others.chain(tags).map(|line| line + "\n").collect()
}

/// Installs a wheel for each kind of system that its tags name, and calls the program; `runs` is what starts it here.
///
/// # Errors
/// When it is not accepted, or its program does not print the figures of `expected` for these arguments.
pub(super) fn check(
    wheel: &Path,
    arch: &str,
    runs: Option<&str>,
    args: &[&str],
    expected: &str,
) -> Result<()> {
    // As a platform that is named, pip takes one tag exactly.
    for system in tags(arch) {
        let place = tempfile::tempdir()?;
        printed(
            Command::new("pip3")
                .args([
                    "install",
                    "--quiet",
                    "--no-index",
                    "--no-deps",
                    "--only-binary",
                    ":all:",
                    "--platform",
                ])
                .arg(&system)
                .arg("--target")
                .arg(place.path())
                .arg(wheel),
        )
        .with_context(|| format!("{} is not for {system}", wheel.display()))?;
        ensure!(
            place.path().join("tollgate_perf/py.typed").is_file(),
            "the module is not in {}",
            wheel.display()
        );
        let program = place.path().join("bin/tollgate");
        let mut command = runs.map_or_else(|| Command::new(&program), Command::new);
        if runs.is_some() {
            command.arg(&program);
        }
        let said = printed(command.args(args).env("XDG_DATA_HOME", place.path()))?;
        ensure!(
            figures(&said) == figures(expected),
            "the program of {} prints {said}and not {expected}",
            wheel.display()
        );
    }
    Ok(())
}

/// What a command printed behind the paragraph about the host, which an emulator changes.
fn figures(said: &str) -> Option<&str> {
    said.split_once("\n\n").map(|(_, figures)| figures)
}

#[cfg(test)]
mod tests {
    use super::tagged;

    /// The format is that of the Python packaging guide, "Binary distribution format".
    #[test]
    fn a_wheel_for_another_machine_has_that_machines_tags_only() {
        let about =
            "Wheel-Version: 1.0\nGenerator: maturin\nRoot-Is-Purelib: false\nTag: py3-none-linux_x86_64\n";
        assert_eq!(
            tagged(about, "aarch64"),
            "Wheel-Version: 1.0\nGenerator: maturin\nRoot-Is-Purelib: false\nTag: py3-none-manylinux_2_17_aarch64\n\
             Tag: py3-none-musllinux_1_2_aarch64\n"
        );
    }
}
