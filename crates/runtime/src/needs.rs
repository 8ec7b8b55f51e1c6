//! The programs and files that a runtime needs, checked before it is built.

use crate::process::{self, Limits};
use crate::table::{Need, Runtime};
use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;

/// A missing tool, and the command that installs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// `g++ is missing`.
    pub reason: String,
    /// `apt-get install g++`, or other commands.
    pub enable: String,
}

/// Which commands of needs succeeded: several runtimes have the same.
pub type Tried = BTreeMap<Vec<String>, bool>;

/// The missing tool of a runtime on this machine; `None` if everything is present.
pub fn missing(runtime: &Runtime, tried: &mut Tried, stop: &AtomicBool) -> Option<Missing> {
    let absent: Vec<&Need> = runtime.needs.iter().filter(|need| !is_there(need, tried, stop)).collect();
    if absent.is_empty() {
        return None;
    }
    let what = |need: &&Need| match (&need.program, &need.file, &need.command) {
        (Some(program), _, _) => program.clone(),
        (_, Some(file), _) => file.display().to_string(),
        (_, _, Some(command)) => format!("what '{}' looks for", command.join(" ")),
        _ => String::new(),
    };
    let whats: Vec<String> = absent.iter().map(what).collect();
    let named =
        |of: fn(&Need) -> &str| absent.iter().map(move |need| of(need)).filter(|name| !name.is_empty());
    let mut packages: Vec<&str> = named(|need| &need.package).collect();
    packages.dedup();
    let packages = (!packages.is_empty()).then(|| format!("apt-get install {}", packages.join(" ")));
    let mut commands: Vec<String> =
        packages.into_iter().chain(named(|need| &need.install).map(Into::into)).collect();
    commands.dedup();
    let verb = if whats.len() == 1 { "is" } else { "are" };
    Some(Missing {
        reason: format!("{} {verb} missing", whats.join(" and ")),
        enable: commands.join(", then "),
    })
}

fn is_there(need: &Need, tried: &mut Tried, stop: &AtomicBool) -> bool {
    if let Some(program) = &need.program {
        return find(program).is_some();
    }
    if let Some(file) = &need.file {
        return file.exists();
    }
    let Some(words) = &need.command else { return false };
    *tried.entry(words.clone()).or_insert_with(|| succeeds(words, stop))
}

fn succeeds(words: &[String], stop: &AtomicBool) -> bool {
    let [program, rest @ ..] = words else { return false };
    let command = || {
        let mut command = Command::new(program);
        command.args(rest);
        command
    };
    let limits = Limits { patience_ms: 30_000, ..Limits::default() };
    process::run(command, &limits, stop).is_ok_and(|done| done.fate.is_none())
}

/// The path of a program on `PATH`, or of one that is given by its path.
pub fn find(name: &str) -> Option<PathBuf> {
    let runs =
        |file: &Path| file.metadata().is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0);
    if name.contains('/') {
        return Some(PathBuf::from(name)).filter(|file| runs(file));
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| runs(file))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Sources, Table};

    #[test]
    fn what_is_missing_is_named_with_its_package() {
        let table = Table::parse(&Sources::Embedded.table().unwrap()).unwrap();
        let mut runtime = table.runtimes[0].clone();
        let need =
            |program: Option<&str>, file: Option<&str>, command: Option<&[&str]>, package: &str| Need {
                program: program.map(Into::into),
                file: file.map(Into::into),
                command: command.map(|words| words.iter().map(|word| (*word).into()).collect()),
                package: package.into(),
                install: String::new(),
            };
        runtime.needs = vec![
            need(Some("sh"), None, None, "dash"),
            need(None, Some("/etc"), None, "base"),
            need(None, None, Some(&["sh", "-c", "exit 0"]), "dash"),
        ];
        let go = AtomicBool::new(false);
        assert_eq!(missing(&runtime, &mut Tried::new(), &go), None);
        runtime.needs.push(need(Some("no-such-program"), None, None, "a-package"));
        runtime.needs.push(need(None, None, Some(&["sh", "-c", "exit 3"]), "b-package"));
        let found = missing(&runtime, &mut Tried::new(), &go).unwrap();
        assert!(found.reason.starts_with("no-such-program and what 'sh -c exit 3' looks for are missing"));
        assert_eq!(found.enable, "apt-get install a-package b-package");
        let mut installed = need(Some("no-such-program"), None, None, "");
        installed.install = "make install".into();
        runtime.needs.push(installed.clone());
        let found = missing(&runtime, &mut Tried::new(), &go).unwrap();
        assert_eq!(found.enable, "apt-get install a-package b-package, then make install");
        runtime.needs = vec![installed];
        assert_eq!(missing(&runtime, &mut Tried::new(), &go).unwrap().enable, "make install");
    }
}
