//! Building for an architecture: the static program and test programs.

pub(crate) mod apt;
pub(crate) mod target;
mod toolchain;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use target::{Profile, STATIC, Target};
#[cfg(doc)]
use tollgate_testkit::Missing;

/// The packages and the test to build. The program and the tests use the same list: cargo resolves the features of shared
/// dependencies for the packages that are chosen, and another choice would build them a second time.
const CHOSEN: &[&str] =
    &["--package=tollgate", "--package=tollgate-measure", "--package=tollgate-boundary", "--test", COUNTERS];

/// The unit tests of two libraries (the program has none), and [`COUNTERS`].
const TEST_PROGRAMS: usize = 3;

/// The test that also runs in guests: it needs hardware counters.
pub(crate) const COUNTERS: &str = "counters";

/// Builds the static program `tollgate` for a target.
///
/// # Errors
/// When it does not compile, or [`Missing`].
pub(crate) fn tollgate(root: &Path, target: &Target, profile: Profile) -> Result<PathBuf> {
    let mut cargo = target.cargo(root, "build", profile)?;
    cargo.args(["--quiet", "--bin", "tollgate"]);
    match profile {
        Profile::Dev => cargo.args(CHOSEN),
        // The folder of the sources is private, and would make two builds of the same sources differ.
        Profile::Dist => cargo
            .args(["--package", "tollgate"])
            .env(target.variable("RUSTFLAGS"), format!("{STATIC} --remap-path-prefix={}=.", root.display())),
    };
    let status = cargo.status().context("cargo could not be started")?;
    ensure!(status.success(), "tollgate does not build for {}: {status}", target.triple);
    Ok(target.program(root, profile))
}

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
    let mut cargo = target.cargo(root, "test", Profile::Dev)?;
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
    use super::test_program;
    use std::path::Path;

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
