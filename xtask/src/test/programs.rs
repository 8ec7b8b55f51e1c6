//! The test programs of the workspace: built in one call of cargo, run in two. Those that measure run alone.

use super::process::{finish, watch};
use super::summary::Session;
use anyhow::{Context, Result, ensure};
use cargo_metadata::{Artifact, Message};
use std::fs::{self, File};
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;
use tollgate_testkit::{SKIPS, workspace};

/// The crates whose tests measure this host, count what its kernel does, or wait for processes with a time limit, and which of
/// their programs; without names, all. They run when nothing else does. All other tests run beside the checks.
static MEASURING: &[(&str, &[&str])] = &[
    ("tollgate", &["book", "e2e"]),
    ("tollgate-boundary", &[]),
    ("tollgate-measure", &[UNIT]),
    ("tollgate-microvm", &[]),
    ("tollgate-runtime", &[]),
    ("tollgate-scan", &[]),
    ("tollgate-supervise", &[]),
    ("tollgate-toll", &[]),
];

/// The name here of the test program in a library or program.
const UNIT: &str = "unit tests";

/// A test program.
struct Program {
    package: String,
    name: String,
    /// The folder of its package, in which it runs.
    folder: PathBuf,
    path: PathBuf,
}

impl Program {
    fn of(artifact: Artifact) -> Option<Self> {
        let path = artifact.executable.filter(|_| artifact.profile.test)?;
        let folder = artifact.manifest_path.parent()?;
        let manifest = artifact.package_id.repr;
        // `path+file:///folder#name@version`, or `...#version` if the folder has the package's name.
        let (_, end) = manifest.rsplit_once('#')?;
        let package = end.split_once('@').map_or(folder.file_name()?, |(name, _)| name).to_owned();
        let name = if artifact.target.is_test() { artifact.target.name } else { UNIT.to_owned() };
        Some(Self { package, name, folder: folder.into(), path: path.into() })
    }

    fn measures(&self) -> bool {
        MEASURING.iter().any(|(package, names)| {
            *package == self.package && (names.is_empty() || names.contains(&self.name.as_str()))
        })
    }

    /// What `cargo test` would start, with at most so many tests at once; `RUST_TEST_THREADS`, if it is set, overrides that.
    fn command(&self, session: &Session, threads: usize) -> Command {
        let mut command = Command::new(&self.path);
        if std::env::var_os("RUST_TEST_THREADS").is_none() {
            command.env("RUST_TEST_THREADS", threads.to_string());
        }
        command
            .current_dir(&self.folder)
            .env("CARGO_MANIFEST_DIR", &self.folder)
            .env("TOLLGATE_ALL", if session.all { "1" } else { "0" })
            .env("TOLLGATE_FAST", if session.fast { "1" } else { "0" })
            .env(SKIPS, &session.skips);
        command
    }
}

/// Builds all test programs and writes their list.
pub(super) fn build(session: &mut Session) -> Result<()> {
    let list = File::create(&session.programs).context("the list of test programs")?;
    finish(
        workspace::cargo(&session.root)
            .args(["test", "--workspace", "--tests", "--no-run", "--quiet"])
            .arg("--message-format=json-render-diagnostics")
            .stdout(Stdio::from(list)),
    )
}

/// Runs the tests that do not measure, on all processors.
pub(super) fn test(session: &mut Session) -> Result<()> {
    run(session, false, std::thread::available_parallelism().map_or(1, usize::from))
}

/// Runs the tests that measure, at most two at a time: more of them would disturb each other.
pub(super) fn measure(session: &mut Session) -> Result<()> {
    run(session, true, std::thread::available_parallelism().map_or(1, usize::from).min(2))
}

/// Runs one program after the other and prints what each took.
fn run(session: &mut Session, measuring: bool, threads: usize) -> Result<()> {
    if fs::metadata(&session.programs).map_or(0, |list| list.len()) == 0 {
        build(session)?;
    }
    let environment = environment(&session.root)?;
    let mut times = Vec::new();
    let mut failed = Vec::new();
    for program in programs(&session.programs)?.iter().filter(|program| program.measures() == measuring) {
        let title = format!("{} {}", program.package, program.name);
        println!("     Running {title} ({})", program.path.display());
        let mut command = program.command(session, threads);
        let unset = environment.iter().filter(|(name, _)| std::env::var_os(name).is_none());
        command.envs(unset.map(|(name, value)| (name, value)));
        let start = Instant::now();
        let ended = watch(&mut command, &mut std::io::stdout(), |_| {})?;
        times.push((start.elapsed().as_secs_f64(), ended.cpu, title.clone()));
        if !ended.status.success() {
            failed.push(title);
        }
    }
    times.sort_by(|a, b| b.0.total_cmp(&a.0));
    println!("seconds, of which CPU");
    for (seconds, cpu, title) in times {
        println!("{seconds:7.1} {cpu:9.1}  {title}");
    }
    ensure!(failed.is_empty(), "tests failed: {}", failed.join(", "));
    Ok(())
}

fn programs(list: &Path) -> Result<Vec<Program>> {
    let list = BufReader::new(File::open(list).context("the list of test programs")?);
    let messages = Message::parse_stream(list).collect::<std::io::Result<Vec<_>>>()?;
    let mut programs: Vec<Program> = messages
        .into_iter()
        .filter_map(|message| match message {
            Message::CompilerArtifact(artifact) => Program::of(artifact),
            _ => None,
        })
        .collect();
    programs.sort_by(|a, b| (&a.package, &a.name).cmp(&(&b.package, &b.name)));
    Ok(programs)
}

/// The variables of `.cargo/config.toml`, which `cargo test` sets unless the caller has.
fn environment(root: &Path) -> Result<Vec<(String, String)>> {
    let file = root.join(".cargo/config.toml");
    let text = fs::read_to_string(&file).with_context(|| file.display().to_string())?;
    let config: toml::Table = toml::from_str(&text).with_context(|| file.display().to_string())?;
    let variables = config.get("env").and_then(toml::Value::as_table).into_iter().flatten();
    let text = |(name, value): (&String, &toml::Value)| Some((name.clone(), value.as_str()?.to_owned()));
    Ok(variables.filter_map(text).collect())
}

#[cfg(test)]
mod tests {
    use super::{MEASURING, UNIT, environment, programs};
    use tollgate_testkit::workspace;

    #[test]
    fn every_program_that_measures_exists() {
        let crates = workspace::root().expect("the tests run in the repository").join("crates");
        for (package, names) in MEASURING {
            let folder = crates.join(package.strip_prefix("tollgate-").unwrap_or(package));
            assert!(folder.join("Cargo.toml").is_file(), "{package}");
            for name in names.iter().filter(|name| **name != UNIT) {
                let [file, main] = ["", "/main"].map(|end| folder.join(format!("tests/{name}{end}.rs")));
                assert!(file.is_file() || main.is_file(), "{package}: {name}");
            }
        }
    }

    #[test]
    fn the_programs_are_those_that_cargo_has_built_as_tests() {
        let artifact = |package: &str, kind: &str, name: &str, is_test: bool| {
            let folder = package.split('#').next().unwrap_or_default();
            serde_json::json!({
                "reason": "compiler-artifact",
                "package_id": format!("path+file://{package}"),
                "manifest_path": format!("{folder}/Cargo.toml"),
                "target": {
                    "kind": [kind], "crate_types": ["bin"], "name": name, "src_path": "a.rs", "edition": "2024",
                    "doc": false, "doctest": false, "test": true,
                },
                "profile": {
                    "opt_level": "0", "debuginfo": 1, "debug_assertions": true, "overflow_checks": true,
                    "test": is_test,
                },
                "features": [], "filenames": [], "executable": format!("/w/target/{name}"), "fresh": true,
            })
        };
        let lines = [
            artifact("/w/xtask#0.1.0", "bin", "xtask", true),
            artifact("/w/crates/toll#tollgate-toll@0.1.0", "bin", "toll-programs", false),
            artifact("/w/crates/lab#tollgate-lab@0.1.0", "test", "all", true),
            artifact("/w/crates/toll#tollgate-toll@0.1.0", "lib", "tollgate_toll", true),
        ];
        let list = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(list.path(), lines.map(|line| format!("{line}\n")).concat()).expect("written");
        let found = programs(list.path()).expect("a list");
        let found = found.iter().map(|it| (it.package.as_str(), it.name.as_str(), it.measures()));
        assert_eq!(
            found.collect::<Vec<_>>(),
            [("tollgate-lab", "all", false), ("tollgate-toll", UNIT, true), ("xtask", UNIT, false)]
        );
    }

    /// Random tests would differ from run to run.
    #[test]
    fn the_tests_get_the_variables_of_cargo() {
        let root = workspace::root().expect("the tests run in the repository");
        let variables = environment(&root).expect("a file");
        assert!(variables.iter().any(|(name, _)| name == "PROPTEST_RNG_SEED"), "{variables:?}");
    }
}
