//! The choice of a command line: runtimes, their mechanisms, the user's own programs, numbers of tasks.

use crate::needs;
use crate::row::Chosen;
use crate::sources::Sources;
use crate::table::{Runtime, Table};
use std::path::{Path, PathBuf};

/// The numbers of tasks of a growth curve.
const GROWTH: [u64; 11] = [2, 10, 50, 200, 1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000];

/// The same for a rough answer.
const QUICK_GROWTH: [u64; 3] = [2, 1_000, 30_000];

/// The numbers of tasks of a growth curve.
pub fn growth(is_quick: bool) -> &'static [u64] {
    if is_quick { &QUICK_GROWTH } else { &GROWTH }
}

/// The mechanisms that were named, and the programs. Without either: all that are measured by default.
///
/// # Errors
/// The table, the name or the program that is wrong, with the option that named it.
pub fn choose(names: &[String], programs: &[PathBuf], sources: &Sources) -> Result<Vec<Chosen>, String> {
    let mut chosen: Vec<Chosen> = Vec::new();
    if programs.is_empty() || !names.is_empty() {
        let mut table = table(sources)?;
        table.runtimes.retain(|runtime| !runtime.is_border());
        let places = table.select(names).map_err(|error| error.to_string())?;
        chosen.extend(places.into_iter().map(|(runtime, mechanism)| {
            let runtime = &table.runtimes[runtime];
            (runtime.clone(), runtime.mechanisms[mechanism].clone(), None)
        }));
    }
    for program in programs {
        chosen.push(own_program(program).map_err(|why| format!("--program {}: {why}", program.display()))?);
    }
    Ok(chosen)
}

/// Every border between two languages, in the order of the table.
///
/// # Errors
/// An invalid table.
pub fn borders(sources: &Sources) -> Result<Vec<Chosen>, String> {
    let runtimes = table(sources)?.runtimes.into_iter().filter(Runtime::is_border);
    let rows = |runtime: Runtime| {
        let mechanisms = runtime.mechanisms.clone();
        mechanisms.into_iter().map(move |mechanism| (runtime.clone(), mechanism, None))
    };
    Ok(runtimes.flat_map(rows).collect())
}

fn table(sources: &Sources) -> Result<Table, String> {
    let text = sources.table().map_err(|error| match sources {
        Sources::Embedded => error.to_string(),
        Sources::Folder(folder) => {
            format!("--runtimes {}: {error}; name the folder that has a runtimes.toml", folder.display())
        }
    })?;
    Table::parse(&text).map_err(|error| error.to_string())
}

/// A program that speaks the protocol and is in no table.
fn own_program(path: &Path) -> Result<Chosen, String> {
    let absolute = std::path::absolute(path).map_err(|error| error.to_string())?;
    let here = std::env::current_dir().map_err(|error| format!("there is no working directory: {error}"))?;
    if needs::find(&absolute.to_string_lossy()).is_none() {
        return Err("there is no program that may be run; give the path of one: --program ./mine".into());
    }
    let runtime = Runtime::own(&absolute);
    let mechanism = runtime.mechanisms[0].clone();
    Ok((runtime, mechanism, Some(here)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_alone_leaves_the_table_out_and_a_name_adds_to_it() {
        let sh = [PathBuf::from("/bin/sh")];
        let names = |chosen: Vec<Chosen>| -> Vec<String> {
            chosen
                .into_iter()
                .map(|(runtime, mechanism, _)| format!("{}/{}", runtime.id, mechanism.id))
                .collect()
        };
        assert_eq!(names(choose(&[], &sh, &Sources::Embedded).unwrap()), ["sh/yield"]);
        let both = names(choose(&["tokio/channel".into()], &sh, &Sources::Embedded).unwrap());
        assert_eq!(both, ["tokio/channel", "sh/yield"]);
    }

    #[test]
    fn borders_are_not_runtimes_that_switch() {
        let borders = borders(&Sources::Embedded).unwrap();
        assert!(borders.iter().any(|(runtime, ..)| runtime.id == "cgo"));
        let switches = choose(&[], &[], &Sources::Embedded).unwrap();
        assert!(switches.iter().all(|(runtime, ..)| !runtime.is_border()));
        let named = choose(&["cgo".into()], &[], &Sources::Embedded).unwrap_err();
        assert!(named.starts_with("there is no runtime 'cgo'"), "{named}");
    }

    #[test]
    fn what_is_wrong_is_named_with_its_option() {
        let wrong =
            |names: &[String], programs: &[PathBuf], sources| choose(names, programs, &sources).unwrap_err();
        let nowhere = wrong(&[], &[], Sources::Folder("/nowhere".into()));
        assert!(nowhere.starts_with("--runtimes /nowhere: No such file"), "{nowhere}");
        let program = wrong(&[], &["/nowhere/mine".into()], Sources::Embedded);
        assert!(program.starts_with("--program /nowhere/mine: there is no program"), "{program}");
        assert!(
            wrong(&["nosuch".into()], &[], Sources::Embedded).starts_with("there is no runtime 'nosuch'")
        );
    }
}
