//! `cargo xtask cross`: builds the static program for each architecture and tries it, under qemu-user where this machine
//! has another one.

mod cases;
mod table;
mod trial;

use crate::build::target::{self, Profile, STATIC, Target};
use crate::build::{TestProgram, tests, tollgate};
use crate::dist;
use anyhow::{Error, Result, ensure};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Instant;
use table::Table;
use tollgate_testkit::{Missing, Recorded, workspace};
use trial::{Here, Runner};

/// Build the static program for each architecture and try it, under qemu-user where this machine has another one
#[derive(clap::Args)]
pub struct Args {
    /// Only this architecture: x86_64, aarch64 or riscv64; may be repeated
    #[arg(long, value_name = "NAME")]
    arch: Vec<String>,
    /// Leave out the architectures for which Rust's standard library must be built from its source
    #[arg(long, conflicts_with = "arch")]
    prebuilt: bool,
}

/// The result of all architectures.
#[derive(Default)]
pub struct CrossReport {
    /// A sentence for each failure.
    pub failed: Vec<String>,
    /// Each architecture that could not be tried, and why.
    pub skipped: Vec<(&'static str, String)>,
}

impl CrossReport {
    /// Prints each failure.
    ///
    /// # Errors
    /// When there is one.
    pub fn result(&self) -> Result<()> {
        for failed in &self.failed {
            println!("FAILED: {failed}");
        }
        ensure!(self.failed.is_empty(), "{} failed, listed above", self.failed.len());
        Ok(())
    }

    /// Adds an error: what is missing is a reason to skip.
    fn add(&mut self, target: &Target, error: &Error) {
        match error.downcast_ref::<Missing>() {
            Some(Missing(why)) => self.skipped.push((target.arch, why.clone())),
            None => self.failed.push(format!("{}: {error:#}", target.arch)),
        }
    }
}

impl Args {
    /// Builds and tries the programs.
    ///
    /// # Errors
    /// When one fails. An architecture that cannot be tried here is skipped with its reason.
    pub fn run(&self) -> Result<()> {
        let root = workspace::root()?;
        let targets = if self.prebuilt { prebuilt()? } else { Target::chosen(&self.arch)? };
        let report = try_all(&root, &targets)?;
        for (arch, why) in &report.skipped {
            println!("{arch}: skipped: {why}");
        }
        report.result()
    }
}

/// A program that this command builds.
pub struct CrossProgram {
    /// The architecture as in `std::env::consts::ARCH`.
    pub arch: &'static str,
    /// Where it is, or why it cannot be used.
    pub program: Result<PathBuf, String>,
    /// What runs it here; `None` on its own architecture.
    pub emulator: Option<&'static str>,
}

/// The programs that were built.
pub fn programs(root: &Path) -> Vec<CrossProgram> {
    let one = |target: &Target| {
        let program = target.program(root, Profile::Dev);
        let built =
            if program.is_file() { Ok(program) } else { Err("run cargo xtask cross first".to_owned()) };
        let (program, emulator) = match target.emulator() {
            Ok(emulator) => (built, emulator),
            Err(Missing(why)) => (Err(why), None),
        };
        CrossProgram { arch: target.arch, program, emulator }
    };
    target::TARGETS.iter().map(one).collect()
}

/// How [`try_prebuilt`] builds the program for this machine.
pub struct OwnBuild {
    /// The target's triple.
    pub triple: &'static str,
    /// The profile of cargo.
    pub profile: &'static str,
    /// The variables for cargo: the folder, and the flags that make the program static.
    pub environment: [(OsString, OsString); 2],
}

/// What another tool needs to build it alike, so that it finds all dependencies built. It replaces the program.
///
/// # Errors
/// When this machine's architecture is not one of the targets.
pub fn own_build(root: &Path) -> Result<OwnBuild> {
    let target = Target::known(std::env::consts::ARCH)?;
    let folder = ("CARGO_TARGET_DIR".into(), target.folder(root).into());
    let flags = (target.variable("RUSTFLAGS"), STATIC.into());
    Ok(OwnBuild { triple: target.triple, profile: Profile::Dev.name(), environment: [folder, flags] })
}

/// Builds what [`try_prebuilt`] tries.
///
/// # Errors
/// When this machine's architecture is not one of the targets.
pub fn build_prebuilt(root: &Path) -> Result<CrossReport> {
    Ok(build_all(root, &prebuilt()?))
}

/// Builds the programs and the tests of some targets, and prints where the programs are.
fn build_all(root: &Path, targets: &[&'static Target]) -> CrossReport {
    let mut report = CrossReport::default();
    let (sender, built) = mpsc::channel();
    std::thread::scope(|scope| {
        scope.spawn(|| target::prepare(root, targets));
        scope.spawn(move || build(root, targets, &sender));
        for (target, built) in built {
            match built {
                Ok(Built::Program(program)) => println!("{}: {}", target.arch, program.display()),
                Ok(Built::Tests(_)) => {}
                Err(error) => report.add(target, &error),
            }
        }
    });
    report
}

/// What the thread that builds sends to the one that tries.
enum Built {
    Program(PathBuf),
    Tests(Vec<TestProgram>),
}

/// The targets whose standard library is there already.
fn prebuilt() -> Result<Vec<&'static Target>> {
    let mut targets = Target::chosen(&[])?;
    targets.retain(|target| !target.builds_std());
    Ok(targets)
}

/// Builds and tries the programs of the architectures whose standard library is there already; the report has the others as
/// skipped.
///
/// # Errors
/// When the documentation cannot be read or written.
pub fn try_prebuilt(root: &Path) -> Result<CrossReport> {
    let mut report = try_all(root, &prebuilt()?)?;
    let others = target::TARGETS.iter().filter(|target| target.builds_std());
    report.skipped.extend(others.map(|it| {
        (it.arch, format!("its standard library is built from source: cargo xtask cross --arch {}", it.arch))
    }));
    Ok(report)
}

/// Builds the programs of these targets and tries each while the next is built; a failure does not stop the others. Prints the
/// table of what was measured, and compares it with the recorded one.
///
/// # Errors
/// When the documentation cannot be read or written.
fn try_all(root: &Path, targets: &[&'static Target]) -> Result<CrossReport> {
    let mut report = CrossReport::default();
    let (mut table, mut here) = (Table::default(), Here::new());
    std::thread::scope(|scope| {
        let (sender, built) = mpsc::channel();
        scope.spawn(|| target::prepare(root, targets));
        scope.spawn(move || build(root, targets, &sender));
        for (target, built) in built {
            let tried = built.and_then(|built| match built {
                Built::Program(program) => {
                    try_program(root, target, &program, &mut here, &mut table, &mut report)
                }
                Built::Tests(tests) => try_tests(target, &tests),
            });
            if let Err(error) = tried {
                report.add(target, &error);
            }
        }
    });
    if table.is_empty() {
        return Ok(report);
    }
    println!("{}", table.markdown());
    let recorded = table::recorded();
    if Recorded::is_blessing() {
        recorded.write(&table.markdown()).map_err(Error::msg)?;
        return Ok(report);
    }
    let drift = table.drift(&recorded.text().map_err(Error::msg)?);
    if !drift.is_empty() {
        let list = drift.join("; ");
        report.failed.push(format!("the page differs (cargo xtask bless architectures): {list}"));
    }
    Ok(report)
}

/// Builds everything of some targets, one after the other.
fn build(root: &Path, targets: &[&'static Target], to: &mpsc::Sender<(&'static Target, Result<Built>)>) {
    for &target in targets {
        // Whether it was built; `None` when the receiver is gone, because trying has panicked.
        let timed = |what, build: &dyn Fn() -> Result<Built>| {
            let begun = Instant::now();
            let built = build();
            println!("  {:<8} {what:<22} {:5.1} s", target.arch, begun.elapsed().as_secs_f64());
            let succeeded = built.is_ok();
            to.send((target, built)).ok().map(|()| succeeded)
        };
        let Some(succeeded) = timed("built", &|| tollgate(root, target, Profile::Dev).map(Built::Program))
        else {
            return;
        };
        if succeeded && !target.is_native() {
            timed("tests built", &|| tests(root, target).map(Built::Tests));
        }
    }
}

fn try_program(
    root: &Path,
    target: &'static Target,
    program: &Path,
    here: &mut Here,
    table: &mut Table,
    report: &mut CrossReport,
) -> Result<()> {
    // Packs the archive too, whose checks are the same for this quick build.
    let own = target.is_native().then_some(program);
    if let Err(error) = dist::pack(root, &root.join("target/cross/dist"), target, program, own) {
        report.add(target, &error.context("its archive"));
    }
    let (rows, wrong) = Runner::new(target)?.cases(program, here)?;
    table.add(target.arch, rows);
    report.failed.extend(wrong);
    Ok(())
}

/// Runs the unit tests. Where they cannot run, the program was skipped with the reason.
fn try_tests(target: &'static Target, tests: &[TestProgram]) -> Result<()> {
    let Ok(runner) = Runner::new(target) else { return Ok(()) };
    let run = tests.iter().map(|tests| runner.unit_tests(tests));
    let failed: Vec<String> = run.filter_map(Result::err).map(|error| format!("{error:#}")).collect();
    ensure!(failed.is_empty(), "unit tests: {}", failed.join("; "));
    Ok(())
}
