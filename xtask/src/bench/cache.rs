//! The speed of counting caches, by processor time.

use super::figures::{Figure, number_after};
use crate::workspace;
use anyhow::Result;
use std::process::Stdio;

/// Runs the example that measures it.
pub(super) fn cache() -> Result<Vec<Figure>> {
    let mut cargo = workspace::cargo(&workspace::root()?);
    cargo.args(["run", "--release", "--quiet", "--package", "tollgate-riscv", "--example", "cache"]);
    let output = cargo.stderr(Stdio::inherit()).output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    for line in text.lines() {
        println!("  {line}");
    }
    let number = |words: &[&str]| number_after(&text, words).unwrap_or(f64::NAN);
    Ok(vec![
        Figure::at_least("instruction cache counted, MIPS", number(&["fetches", "64:4:64", "lru"]), 250.0),
        Figure::at_most(
            "sweep of 1,056 geometries over 1 M fetches, s",
            number(&["sweep", "fetches:"]),
            10.0,
        ),
    ])
}
