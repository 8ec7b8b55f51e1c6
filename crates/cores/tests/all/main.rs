//! The tests of this crate, in one program: it is linked once. A test that needs a process of its own is a file beside.

#[path = "../common/mod.rs"]
mod common;

mod cores;
mod cv32e40x;
mod equal;
mod hazards;
mod key_effects;
mod keys;
mod memory;
mod misread;
mod ripes;
mod rocket;
mod scoreboard;
mod small;
mod stacking;
mod variants;
mod vexriscv;
