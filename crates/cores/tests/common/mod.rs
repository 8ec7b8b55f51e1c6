//! The assembler and random programs of the machine's tests, and stage diagrams.
#![allow(dead_code, unused_imports)]

pub(crate) mod diagram;
#[path = "../../../riscv/tests/common/mod.rs"]
mod machine;
pub(crate) mod small_cores;

pub(crate) use machine::*;
