//! Which core: a preset's name, or a file.

use std::fs;
use std::path::Path;

use anyhow::Result;
use tollgate_riscv::timing::Core;

use crate::args::Usage;

/// What is written behind a core's name to have it with its known fault.
const FAULT: &str = "+fault";

/// The core that `--core` names.
pub(super) fn read(name: &str) -> Result<Core> {
    match name.strip_suffix(FAULT) {
        None => sound(name),
        Some(plain) => {
            let core = sound(plain)?;
            if core.trap.return_fault == 0 {
                let why = "this core has no known fault (cva6-like has: its returns)";
                return Err(Usage::error(format!("--core {name}: {why}")));
            }
            Ok(core.with_fault())
        }
    }
}

/// The core as it should be.
fn sound(name: &str) -> Result<Core> {
    let is_file = Path::new(name).extension().is_some_and(|extension| extension == "toml");
    let core = if is_file {
        let text = fs::read_to_string(name).map_err(|e| Usage::error(format!("--core {name}: {e}")))?;
        Core::from_toml(&text)
    } else {
        Core::preset(name)
    };
    let mut core = core.map_err(|e| Usage::error(format!("--core {name}: {e}")))?;
    if core.name.is_empty() {
        core.name = name.to_owned();
    }
    Ok(core)
}
