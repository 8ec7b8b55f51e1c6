//! Building for an architecture: the static program and test programs.

pub(crate) mod apt;
pub(crate) mod target;
mod toolchain;
pub mod wasm;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use target::{Profile, STATIC, Target};
#[cfg(doc)]
use tollgate_testkit::Missing;
use tollgate_testkit::{need, printed};

/// The packages and the test to build. The program and the tests use the same list: cargo resolves the features of shared
/// dependencies for the packages that are chosen, and another choice would build them a second time.
const CHOSEN: &[&str] =
    &["--package=tollgate", "--package=tollgate-measure", "--package=tollgate-boundary", "--test", COUNTERS];

/// The same for this machine's own architecture, where the tests are not built, and the wheel's program is: by that list.
const CHOSEN_HERE: &[&str] = &["--package=tollgate"];

/// The unit tests of two libraries (the program has none), and [`COUNTERS`].
const TEST_PROGRAMS: usize = 3;

/// The test that also runs in guests: it needs hardware counters.
pub(crate) const COUNTERS: &str = "counters";

/// Builds the static program `tollgate` for a target.
///
/// # Errors
/// When it does not compile, or [`Missing`].
pub(crate) fn tollgate(root: &Path, target: &Target, profile: Profile) -> Result<PathBuf> {
    // The list of packages in the program is for `cargo audit bin`.
    let command: &[&str] = if profile == Profile::Dist { &["auditable", "rustc"] } else { &["build"] };
    if profile == Profile::Dist {
        need("cargo-auditable", "cargo install cargo-auditable --locked")?;
    }
    let mut cargo = target.cargo(root, command, profile)?;
    cargo.args(["--quiet", "--bin", "tollgate"]);
    match profile {
        Profile::Dev => cargo.args(if target.is_native() { CHOSEN_HERE } else { CHOSEN }),
        Profile::Dist => cargo
            .args(["--package", "tollgate"])
            .env(target.variable("RUSTFLAGS"), format!("{STATIC} {}", renamed_folders(root)))
            // The page is beside the program: within it, what is left in a builder's folder would be part of it.
            .env("TOLLGATE_PAGE", "")
            .args(["--", BUILD_ID, NO_UNWIND_INDEX, NO_UNWIND])
            .args((target.arch == "x86_64").then_some(PACKED_RELOCATIONS)),
    };
    let status = cargo.status().context("cargo could not be started")?;
    ensure!(status.success(), "tollgate does not build for {}: {status}", target.triple);
    let program = target.program(root, profile);
    if profile == Profile::Dev {
        return Ok(program);
    }
    check_private(root, &program)?;
    if target.is_native() {
        check_errors(&program)?;
    }
    prepared(target, &program, program.parent().unwrap_or(root))
}

/// A program as users get it, with its debug symbols beside it ([`debug_symbols`]).
///
/// # Errors
/// When a tool fails, or a file cannot be written.
pub(crate) fn prepared(target: &Target, program: &Path, folder: &Path) -> Result<PathBuf> {
    fs::create_dir_all(folder)?;
    let stripped = folder.join("tollgate.stripped");
    let symbols = debug_symbols(&stripped);
    printed(target.objcopy().arg("--only-keep-debug").args([program, &symbols]))?;
    let link = format!("--add-gnu-debuglink={}", symbols.display());
    printed(target.objcopy().args(["--strip-all", &link]).args([program, &stripped]))?;
    Ok(stripped)
}

/// The debug symbols of a program as users get it.
pub(crate) fn debug_symbols(program: &Path) -> PathBuf {
    program.with_extension("debug")
}

/// The folders of the sources and of the packages, each with its name in the program. They are private, and would make two builds of the
/// same sources differ.
fn private_folders(root: &Path) -> Vec<(PathBuf, &'static str)> {
    let packages = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let packages = packages.or_else(|| Some(Path::new(&std::env::var_os("HOME")?).join(".cargo")));
    [(root.to_owned(), ".")].into_iter().chain(packages.map(|it| (it, "cargo"))).collect()
}

/// Options of the compiler that rename the builder's folders.
fn renamed_folders(root: &Path) -> String {
    let options = private_folders(root)
        .into_iter()
        .map(|(folder, name)| format!("--remap-path-prefix={}={name}", folder.display()));
    options.collect::<Vec<_>>().join(" ")
}

/// Checks that a built file contains no folder of its builder.
///
/// # Errors
/// When it contains one, or cannot be read.
fn check_private(root: &Path, file: &Path) -> Result<()> {
    let bytes = fs::read(file).with_context(|| file.display().to_string())?;
    for (folder, _) in private_folders(root) {
        let path = regex::bytes::Regex::new(&format!(
            "(?-u){}/[ -~]{{0,80}}",
            regex::escape(&folder.display().to_string())
        ))?;
        if let Some(found) = path.find(&bytes) {
            bail!("{} contains a path of its builder: {}", file.display(), found.as_bytes().escape_ascii());
        }
    }
    Ok(())
}

/// Checks that a program ends with a sentence also if backtraces are asked for, which it cannot take.
///
/// # Errors
/// When it does not.
fn check_errors(program: &Path) -> Result<()> {
    for switch in ["RUST_BACKTRACE", "RUST_LIB_BACKTRACE"] {
        let mut show = Command::new(program);
        let output = show.args(["show", "/nonexistent"]).env(switch, "1").output().context("the program")?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(
            output.status.code() == Some(2) && said.starts_with("tollgate: ") && said.lines().count() == 1,
            "with {switch}=1 an error ends the program with {} and says: {said}",
            output.status
        );
    }
    Ok(())
}

/// By this a debugger finds the symbols of a program.
const BUILD_ID: &str = "-Clink-arg=-Wl,--build-id=sha1";

/// Relocations as bits, of which thousands take a few bytes. They need glibc 2.36 where the program is built; the linkers of
/// other targets ignore them with a warning.
const PACKED_RELOCATIONS: &str = "-Clink-arg=-Wl,-z,pack-relative-relocs";

/// Leaves the tables for unwinding out. The path is relative to the workspace, where cargo starts the compiler: cargo names the compiler's
/// files by these options, so a folder in them would make two builds differ.
const NO_UNWIND: &str = "-Clink-arg=-Wl,-T,packaging/no-unwind.ld";

/// The index of the tables for unwinding, which [`NO_UNWIND`] leaves out.
const NO_UNWIND_INDEX: &str = "-Clink-arg=-Wl,--no-eh-frame-hdr";

/// A static program with tests.
pub(crate) struct TestProgram {
    /// As cargo names it: `tollgate_measure`, or [`COUNTERS`].
    pub(crate) name: String,
    pub(crate) program: PathBuf,
    /// The folder of its package, in which cargo would run it.
    pub(crate) folder: PathBuf,
}

/// Builds the unit tests of the rooms whose code differs between architectures, and the test of the counters.
///
/// # Errors
/// When one does not compile, cargo builds another number of them, or [`Missing`].
pub(crate) fn tests(root: &Path, target: &Target) -> Result<Vec<TestProgram>> {
    let mut cargo = target.cargo(root, &["test"], Profile::Dev)?;
    cargo.args(["--quiet", "--no-run", "--message-format=json", "--lib"]).args(CHOSEN);
    let output = cargo.stderr(Stdio::inherit()).output().context("cargo could not be started")?;
    ensure!(output.status.success(), "the tests do not build for {}: {}", target.triple, output.status);
    let text = String::from_utf8_lossy(&output.stdout);
    let programs: Vec<TestProgram> = text.lines().filter_map(test_program).collect();
    // A test that was not built would not run, and nothing would fail.
    ensure!(programs.len() == TEST_PROGRAMS, "cargo built {} of {TEST_PROGRAMS} tests", programs.len());
    Ok(programs)
}

/// The program that a message of cargo announces, if it announces one.
fn test_program(message: &str) -> Option<TestProgram> {
    let message: Value = serde_json::from_str(message).ok()?;
    Some(TestProgram {
        name: message["target"]["name"].as_str()?.to_owned(),
        program: message["executable"].as_str()?.into(),
        folder: Path::new(message["manifest_path"].as_str()?).parent()?.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::{check_private, renamed_folders, test_program};
    use std::fs;
    use std::path::Path;

    #[test]
    fn a_path_of_the_builder_is_found_and_renamed() {
        let folder = tempfile::tempdir().unwrap();
        let (root, file) = (folder.path().join("clone"), folder.path().join("program"));
        let option = format!("--remap-path-prefix={}=.", root.display());
        assert!(renamed_folders(&root).split(' ').any(|it| it == option));
        fs::write(&file, b"\xff./crates/a.rs\0cargo/registry/b.rs\0").unwrap();
        check_private(&root, &file).unwrap();
        fs::write(
            &file,
            [b"\xff", root.join("crates/a.rs").display().to_string().as_bytes(), b"\0rest"].concat(),
        )
        .unwrap();
        let error = check_private(&root, &file).unwrap_err().to_string();
        assert!(error.ends_with("/clone/crates/a.rs"), "{error}");
    }

    /// Messages as in the Cargo book, "External tools", shortened.
    #[test]
    fn only_messages_with_an_executable_are_test_programs() {
        let artifact = |executable| {
            format!(
                r#"{{"reason":"compiler-artifact","manifest_path":"/w/crates/measure/Cargo.toml",
                "target":{{"kind":["lib"],"name":"tollgate_measure"}},"executable":{executable}}}"#
            )
        };
        let found = test_program(&artifact(r#""/w/target/deps/tollgate_measure-1""#)).unwrap();
        assert_eq!(
            (found.name.as_str(), &*found.folder),
            ("tollgate_measure", Path::new("/w/crates/measure"))
        );
        assert_eq!(found.program, Path::new("/w/target/deps/tollgate_measure-1"));
        assert!(test_program(&artifact("null")).is_none());
        assert!(test_program(r#"{"reason":"build-finished","success":true}"#).is_none());
        assert!(test_program("warning: not JSON").is_none());
    }
}
