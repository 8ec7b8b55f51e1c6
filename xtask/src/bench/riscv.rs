//! The speed of the RISC-V machine, with and without pipeline and caches, in processor time.

use super::figures::{Figure, at_least, at_most, number_after};
use anyhow::Result;
use std::process::Stdio;
use tollgate_testkit::workspace;

/// The figures of the example `speed` of the machine.
pub(super) fn speed() -> Result<Vec<Figure>> {
    let mut cargo = workspace::cargo(&workspace::root()?);
    cargo.args(["run", "--release", "--quiet", "--package", "tollgate-riscv", "--example", "speed"]);
    let output = cargo.stderr(Stdio::inherit()).output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    for line in text.lines() {
        println!("  {line}");
    }
    let number = |words: &[&str]| number_after(&text, words).unwrap_or(f64::NAN);
    let speed = |what, words: &[&str], bound| at_least(what, number(words), bound);
    Ok(vec![
        speed("functional, integer mix under Sv39, MIPS", &["functional"], 600.0),
        speed("instruction cache counted, MIPS", &["fetches", "64:4:64", "lru"], 250.0),
        speed("caches and TLBs counted, MIPS", &["caches", "and", "TLBs", "counted"], 250.0),
        speed("five stages, caches, TLBs and ledger, MIPS", &["five", "stages"], 150.0),
        at_most("start to first instructions, ms", number(&["start", "instructions:"]) / 1e3, 5.0),
        at_most("sweep of 1,056 geometries over 1 M fetches, s", number(&["sweep", "fetches:"]), 10.0),
    ])
}
