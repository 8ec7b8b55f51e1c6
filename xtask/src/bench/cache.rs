//! The speed of the RISC-V machine with and without caches, in processor time.

use super::figures::{Figure, number_after};
use anyhow::Result;
use std::process::Stdio;
use tollgate_testkit::workspace;

/// Runs the example that measures the speed.
pub(super) fn cache() -> Result<Vec<Figure>> {
    let mut cargo = workspace::cargo(&workspace::root()?);
    cargo.args(["run", "--release", "--quiet", "--package", "tollgate-riscv", "--example", "cache"]);
    let output = cargo.stderr(Stdio::inherit()).output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    for line in text.lines() {
        println!("  {line}");
    }
    let number = |words: &[&str]| number_after(&text, words).unwrap_or(f64::NAN);
    let speed = |what, words: &[&str], bound| Figure::at_least(what, number(words), bound);
    Ok(vec![
        speed("functional, MIPS", &["functional"], 600.0),
        speed("instruction cache counted, MIPS", &["fetches", "64:4:64", "lru"], 250.0),
        speed("caches and TLBs counted, MIPS", &["caches", "and", "TLBs", "counted"], 250.0),
        speed("five stages, caches and TLBs, MIPS", &["five", "stages"], 150.0),
        Figure::at_most(
            "sweep of 1,056 geometries over 1 M fetches, s",
            number(&["sweep", "fetches:"]),
            10.0,
        ),
    ])
}
