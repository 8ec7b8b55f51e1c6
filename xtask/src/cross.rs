//! `cargo xtask cross`: builds the static program for every architecture and tries it, under qemu-user where this
//! machine is another.

mod apt;
mod build;
mod debian;
mod target;

pub(crate) use apt::Apt;
pub(crate) use build::{Build, Profile, tollgate};
pub(crate) use target::{TARGETS, Target};

use crate::workspace;
use anyhow::{Result, bail};

/// Build the static program for each architecture and try it, under qemu-user where this machine is another
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Only this architecture: x86_64, aarch64 or riscv64; may be repeated
    #[arg(long, value_name = "NAME")]
    arch: Vec<String>,
    /// Build only, and print where each program is
    #[arg(long)]
    build_only: bool,
}

impl Args {
    /// Builds and tries.
    ///
    /// # Errors
    /// When one of them fails; what cannot be tried here is skipped with its reason.
    pub(crate) fn run(&self) -> Result<()> {
        let root = workspace::root()?;
        let mut failed = Vec::new();
        for target in chosen(&self.arch)? {
            match tollgate(&root, target, Profile::Dev) {
                Ok(Build::Done(program)) => println!("{}: {}", target.arch, program.display()),
                Ok(Build::Skipped(why)) => println!("{}: skipped: {why}", target.arch),
                Err(error) => {
                    println!("{}: FAILED: {error:#}", target.arch);
                    failed.push(target.arch);
                }
            }
        }
        if !failed.is_empty() {
            bail!("failed: {}", failed.join(", "));
        }
        Ok(())
    }
}

/// The targets of these names, or all.
pub(crate) fn chosen(names: &[String]) -> Result<Vec<&'static Target>> {
    if names.is_empty() {
        return Ok(TARGETS.iter().collect());
    }
    let mut targets = Vec::new();
    for name in names {
        let Some(target) = Target::named(name) else {
            let known: Vec<&str> = TARGETS.iter().map(|target| target.arch).collect();
            bail!("there is no target {name}: give one of {}", known.join(", "));
        };
        targets.push(target);
    }
    Ok(targets)
}

#[cfg(test)]
mod tests {
    use super::chosen;

    #[test]
    fn targets_are_chosen_by_name() {
        assert_eq!(chosen(&[]).unwrap().len(), 3);
        assert_eq!(chosen(&["riscv64".to_owned()]).unwrap()[0].arch, "riscv64");
        let error = chosen(&["vax".to_owned()]).err().unwrap().to_string();
        assert_eq!(error, "there is no target vax: give one of x86_64, aarch64, riscv64");
    }
}
