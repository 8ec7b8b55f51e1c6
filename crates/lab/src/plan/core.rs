//! The core that `--core` names: a preset, or a file.

use std::fs;
use std::path::Path;

use tollgate_riscv::timing::Core;

use super::error::PlanError;

/// The suffix that adds a core's known fault.
const FAULT: &str = "+fault";

/// The core of that name.
pub(super) fn read(name: &str) -> Result<Core, PlanError> {
    let Some(plain) = name.strip_suffix(FAULT) else { return without_fault(name) };
    let core = without_fault(plain)?;
    if core.trap.return_fault == 0 {
        let why = "this core has no known fault; cva6-like has one, in its returns";
        return Err(PlanError::value("--core", name, why));
    }
    Ok(core.with_fault())
}

fn without_fault(name: &str) -> Result<Core, PlanError> {
    let is_file = Path::new(name).extension().is_some_and(|extension| extension == "toml");
    let core = if is_file {
        let text = fs::read_to_string(name).map_err(|error| PlanError::value("--core", name, error))?;
        Core::from_toml(&text)
    } else {
        Core::preset(name)
    };
    let mut core = core.map_err(|error| PlanError::value("--core", name, error))?;
    if core.name.is_empty() {
        core.name = name.to_owned();
    }
    Ok(core)
}
