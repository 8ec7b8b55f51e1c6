//! Sweeps and fleets of the Python package, and the size of its wheel.

use super::figures::{Figure, at_least, at_most};
use crate::python::Package;
use crate::tool::Tool;
use anyhow::{Context, Result};
use serde_json::Value;
use tollgate_testkit::{printed, workspace};

/// What a part of `python/tools/bench_fleet.py` measures with the release program.
pub(super) fn part(tool: &Tool, name: &str) -> Result<Vec<Figure>> {
    let package = Package::ready(&workspace::root()?)?;
    let mut script = package.python(&["tools/bench_fleet.py", name]);
    let text = printed(script.env("TOLLGATE_PROGRAM", tool.command(&[]).get_program()))?;
    text.lines().map(figure).collect()
}

/// The size of the wheel.
pub(super) fn wheel() -> Result<Vec<Figure>> {
    let bytes = Package::ready(&workspace::root()?)?.wheel_bytes()?;
    Ok(vec![at_most("the wheel, MB", bytes as f64 / 1e6, 6.0)])
}

fn figure(line: &str) -> Result<Figure> {
    let found: Value = serde_json::from_str(line).with_context(|| format!("not a figure: {line}"))?;
    let name = found["name"].as_str().context("a figure without a name")?;
    let value = found["value"].as_f64().context("a figure without a value")?;
    match (found["most"].as_f64(), found["least"].as_f64()) {
        (Some(most), _) => Ok(at_most(name, value, most)),
        (None, Some(least)) => Ok(at_least(name, value, least)),
        (None, None) => Ok(format!("{name}: {value:.3}")),
    }
}
