//! The page of the lab in Chromium: speed of the machine, of steps forwards and back, and the sizes of what is loaded.

use super::figures::{Figure, at_least, at_most, number_after};
use anyhow::{Context, Result, ensure};
use std::process::Stdio;
use tollgate_testkit::{Browser, workspace};

/// A program like CoreMark: lists, matrices, state machines.
const PROGRAM: &str = "guests/riscv/bench/mix.elf";

/// Builds the page, and measures it in the browser.
pub(super) fn speed() -> Result<Vec<Figure>> {
    let root = workspace::root()?;
    let out = root.join("target/page/site");
    crate::page::built(&root, &out, None)?;
    let script = root.join("crates/page/web/tools/bench.mjs");
    let ran =
        Browser::find()?.run(&script).arg(&out).arg(root.join(PROGRAM)).stderr(Stdio::inherit()).output()?;
    let text = String::from_utf8_lossy(&ran.stdout);
    ensure!(ran.status.success(), "the page could not be measured: {text}");
    let number = |name: &str| number_after(&text, &[name]).with_context(|| format!("no figure {name}"));
    Ok(vec![
        at_least("functional, million instructions a second", number("functional")?, 200.0),
        at_least("rocket and caches, million instructions a second", number("rocket")?, 15.0),
        at_most("a step with pipeline and caches, ms", number("step")?, 50.0),
        at_most("back by 100,000 cycles, ms", number("back")?, 200.0),
        at_most("interactive, ms", number("interactive")?, 2000.0),
        at_most("first view, compressed, MB", number("first")?, 0.7),
        at_most("everything, compressed, MB", number("all")?, 1.6),
    ])
}
