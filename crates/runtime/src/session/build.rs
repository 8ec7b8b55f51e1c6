//! Finds or builds what rows need.

use crate::cache::{BuildError, Cache};
use crate::needs::{self, Tried};
use crate::row::{Row, State};
use crate::sources::Sources;
use crate::table::Runtime;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

/// Finds or builds what the rows need. Runtimes of one folder share its build.
pub(super) fn build(
    rows: &mut [Row],
    (cache, sources): (&Cache, &Sources),
    stop: &AtomicBool,
    say: &mut dyn FnMut(String),
) -> Result<(), BuildError> {
    type Built = Result<PathBuf, State>;
    let mut by_runtime: BTreeMap<String, Built> = BTreeMap::new();
    let mut failed: BTreeMap<String, State> = BTreeMap::new();
    let mut tried = Tried::new();
    for row in rows {
        if row.state != State::Active || row.folder.is_some() {
            continue;
        }
        let name = row.name();
        let runtime = &row.runtime;
        if !by_runtime.contains_key(&runtime.id) {
            let built: Built = if let Some(missing) = needs::missing(runtime, &mut tried, stop) {
                Err(State::Skipped(missing.reason, missing.enable))
            } else if let Some(state) = failed.get(&build_of(runtime)) {
                Err(state.clone())
            } else {
                match cache.folder(runtime, sources, stop, say) {
                    Ok(folder) => Ok(folder),
                    Err(error @ (BuildError::Cache(..) | BuildError::Unsafe(..) | BuildError::Home(..))) => {
                        return Err(error);
                    }
                    Err(BuildError::Stopped) => return Ok(()),
                    Err(error) => {
                        row.state = State::Failed(error.to_string());
                        // The reason is long; the other rows of the build refer to it.
                        let state = State::Failed(format!("its build failed: see {name}"));
                        failed.insert(build_of(runtime), state.clone());
                        by_runtime.insert(runtime.id.clone(), Err(state));
                        continue;
                    }
                }
            };
            by_runtime.insert(runtime.id.clone(), built);
        }
        match by_runtime.get(&runtime.id) {
            Some(Ok(folder)) => row.folder = Some(folder.clone()),
            Some(Err(state)) => row.state = state.clone(),
            None => {}
        }
    }
    Ok(())
}

/// The key that runtimes with a common build share.
fn build_of(runtime: &Runtime) -> String {
    format!("{}\0{:?}", runtime.folder, runtime.build)
}
