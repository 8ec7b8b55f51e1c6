//! `cargo xtask cross`: builds the static program for every architecture and tries it, under qemu-user where this
//! machine is another.

mod apt;
mod build;
mod cases;
mod debian;
mod rows;
mod table;
mod target;
mod trial;
mod units;

pub(crate) use apt::Apt;
pub(crate) use build::{Build, COUNTERS, Profile, TestProgram, tests, tollgate};
pub(crate) use target::{TARGETS, Target};
pub(crate) use trial::is_static;

use crate::workspace;
use anyhow::{Result, bail, ensure};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Instant;
use table::Table;
use trial::{Here, Runner};

/// Build the static program for each architecture and try it, under qemu-user where this machine is another
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Only this architecture: x86_64, aarch64 or riscv64; may be repeated
    #[arg(long, value_name = "NAME")]
    arch: Vec<String>,
    /// Build only, and print where each program is
    #[arg(long)]
    build_only: bool,
    /// Write the table of what is measured into docs/reference/architectures.md
    #[arg(long, conflicts_with_all = ["arch", "build_only"])]
    write: bool,
}

/// What came of all architectures.
#[derive(Default)]
pub(crate) struct Outcome {
    /// A sentence for everything that went wrong.
    pub(crate) failed: Vec<String>,
    /// Architecture, and why it could not be tried.
    pub(crate) skipped: Vec<(&'static str, String)>,
}

impl Args {
    /// Builds and tries.
    ///
    /// # Errors
    /// When one of them fails; what cannot be tried here is skipped with its reason.
    pub(crate) fn run(&self) -> Result<()> {
        let root = workspace::root()?;
        let targets = chosen(&self.arch)?;
        let outcome =
            if self.build_only { build_all(&root, &targets) } else { try_all(&root, &targets, self.write)? };
        for (arch, why) in &outcome.skipped {
            println!("{arch}: skipped: {why}");
        }
        for failed in &outcome.failed {
            println!("FAILED: {failed}");
        }
        if !outcome.failed.is_empty() {
            bail!("{} failed, listed above", outcome.failed.len());
        }
        Ok(())
    }
}

/// Builds the programs of some targets and says where they are.
fn build_all(root: &Path, targets: &[&'static Target]) -> Outcome {
    let mut outcome = Outcome::default();
    for target in targets {
        match tollgate(root, target, Profile::Dev) {
            Ok(Build::Done(program)) => println!("{}: {}", target.arch, program.display()),
            Ok(Build::Skipped(why)) => outcome.skipped.push((target.arch, why)),
            Err(error) => outcome.failed.push(format!("build [{}]: {error:#}", target.arch)),
        }
    }
    outcome
}

/// What the builder hands to who tries it.
enum Built {
    Program(Build<PathBuf>),
    Tests(Build<Vec<TestProgram>>),
}

/// Builds the programs of some targets and tries each while the next is built; the others go on when one fails.
/// Prints the table of what was measured, and compares the one in the documentation with it or writes it there.
pub(crate) fn try_all(root: &Path, targets: &[&'static Target], write: bool) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let (mut table, mut here) = (Table::default(), Here::new());
    std::thread::scope(|scope| {
        let (sender, built) = mpsc::channel();
        scope.spawn(|| target::prepare(root, targets));
        scope.spawn(move || build(root, targets, &sender));
        for (target, built) in built {
            let tried = built.and_then(|built| match built {
                Built::Program(program) => {
                    try_program(root, target, program, &mut here, &mut table, &mut outcome)
                }
                Built::Tests(tests) => try_tests(target, tests),
            });
            if let Err(error) = tried {
                outcome.failed.push(format!("{}: {error:#}", target.arch));
            }
        }
    });
    if table.is_empty() {
        return Ok(outcome);
    }
    println!("{}", table.markdown());
    if write {
        table::write(root, &table)?;
    } else {
        let drift = table::drift(root, &table)?;
        if !drift.is_empty() {
            let list = drift.join("; ");
            outcome.failed.push(format!(
                "docs/reference/architectures.md says otherwise (cargo xtask cross --write): {list}"
            ));
        }
    }
    Ok(outcome)
}

/// Builds everything of some targets, one after the other.
fn build(root: &Path, targets: &[&'static Target], to: &mpsc::Sender<(&'static Target, Result<Built>)>) {
    for &target in targets {
        // Whether it could be built; nothing when nobody listens, as when trying has panicked.
        let timed = |what, build: &dyn Fn() -> Result<Built>| {
            let begun = Instant::now();
            let built = build();
            println!("  {:<8} {what:<22} {:5.1} s", target.arch, begun.elapsed().as_secs_f64());
            let well = built.is_ok();
            to.send((target, built)).ok().map(|()| well)
        };
        let Some(well) = timed("built", &|| tollgate(root, target, Profile::Dev).map(Built::Program)) else {
            return;
        };
        if well && !target.is_native() {
            timed("tests built", &|| tests(root, target).map(Built::Tests));
        }
    }
}

fn try_program(
    root: &Path,
    target: &'static Target,
    program: Build<PathBuf>,
    here: &mut Here,
    table: &mut Table,
    outcome: &mut Outcome,
) -> Result<()> {
    let program = match program {
        Build::Done(program) => program,
        Build::Skipped(why) => {
            outcome.skipped.push((target.arch, why));
            return Ok(());
        }
    };
    // The archive is packed from what was built for the tests; its checks are the same.
    let own = target.is_native().then_some(&*program);
    let folder = root.join("target/cross/dist");
    if let Err(error) = crate::dist::pack(root, &folder, target, &program, own) {
        outcome.failed.push(format!("archive [{}]: {error:#}", target.arch));
    }
    let runner = match Runner::new(target) {
        Ok(runner) => runner,
        Err(why) => {
            outcome.skipped.push((target.arch, why));
            return Ok(());
        }
    };
    let (rows, wrong) = runner.cases(&program, here)?;
    table.add(target.arch, rows);
    outcome.failed.extend(wrong);
    Ok(())
}

/// What cannot be tried was said of the program.
fn try_tests(target: &'static Target, tests: Build<Vec<TestProgram>>) -> Result<()> {
    let (Build::Done(tests), Ok(runner)) = (tests, Runner::new(target)) else { return Ok(()) };
    let failed: Vec<String> = tests
        .iter()
        .filter(|tests| units::are_in(tests))
        .filter_map(|tests| units::run(&runner, tests).err())
        .map(|error| format!("{error:#}"))
        .collect();
    ensure!(failed.is_empty(), "unit tests: {}", failed.join("; "));
    Ok(())
}

/// The targets of these names, or all, in the order in which they are built.
pub(crate) fn chosen(names: &[String]) -> Result<Vec<&'static Target>> {
    let mut targets: Vec<&Target> = Vec::new();
    for name in names {
        let Some(target) = Target::named(name) else {
            let known: Vec<&str> = TARGETS.iter().map(|target| target.arch).collect();
            bail!("there is no target {name}: give one of {}", known.join(", "));
        };
        targets.push(target);
    }
    if targets.is_empty() {
        targets = TARGETS.iter().collect();
    }
    targets.sort_by_key(|target| target.turn());
    Ok(targets)
}

#[cfg(test)]
mod tests {
    use super::chosen;

    #[test]
    fn targets_are_chosen_by_name_and_this_machines_is_first() {
        assert_eq!(chosen(&[]).unwrap().len(), 3);
        assert_eq!(chosen(&["riscv64".to_owned()]).unwrap()[0].arch, "riscv64");
        let error = chosen(&["vax".to_owned()]).err().unwrap().to_string();
        assert_eq!(error, "there is no target vax: give one of x86_64, aarch64, riscv64");
        let own = std::env::consts::ARCH;
        if super::Target::named(own).is_some() {
            assert_eq!(chosen(&[]).unwrap()[0].arch, own);
        }
    }
}
