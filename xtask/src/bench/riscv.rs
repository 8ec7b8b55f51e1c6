//! The speed of the RISC-V machine, with and without pipeline and caches, in processor time.

use super::figures::{Figure, at_least, at_most, number_after};
use anyhow::Result;
use std::process::Stdio;
use tollgate_testkit::workspace;

/// The programs of the example `mips`.
pub(super) fn programs() -> Result<Vec<Figure>> {
    // Enough steps to reach every part of the programs. To run them to their ends takes minutes.
    let text = example("mips", &["3", "--steps", "200000000"])?;
    let number = |words: &[&str]| number_after(&text, words).unwrap_or(f64::NAN);
    Ok(vec![
        at_least("integer mix under Sv39, MIPS", number(&["mix", "blocks"]), 600.0),
        at_least("five stages, caches, TLBs and ledger, MIPS", number(&["mix", "pipeline"]), 150.0),
        at_least("caches and TLBs counted, MIPS", number(&["mix", "counting"]), 250.0),
        at_most("start to first instructions, ms", number(&["start", "instructions:"]) / 1e3, 5.0),
    ])
}

/// The models of the example `cache`.
pub(super) fn cache() -> Result<Vec<Figure>> {
    let text = example("cache", &[])?;
    let number = |words: &[&str]| number_after(&text, words).unwrap_or(f64::NAN);
    let speed = |what, words: &[&str], bound| at_least(what, number(words), bound);
    Ok(vec![
        speed("functional, MIPS", &["functional"], 600.0),
        speed("instruction cache counted, MIPS", &["fetches", "64:4:64", "lru"], 250.0),
        speed("caches and TLBs counted, MIPS", &["caches", "and", "TLBs", "counted"], 250.0),
        speed("five stages, caches and TLBs, MIPS", &["five", "stages"], 150.0),
        at_most("sweep of 1,056 geometries over 1 M fetches, s", number(&["sweep", "fetches:"]), 10.0),
    ])
}

/// Runs an example of the room and prints its output.
fn example(name: &str, args: &[&str]) -> Result<String> {
    let mut cargo = workspace::cargo(&workspace::root()?);
    cargo.args(["run", "--release", "--quiet", "--package", "tollgate-riscv", "--example", name, "--"]);
    let output = cargo.args(args).stderr(Stdio::inherit()).output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    for line in text.lines() {
        println!("  {line}");
    }
    Ok(text)
}
