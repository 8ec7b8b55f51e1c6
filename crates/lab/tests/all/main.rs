//! The tests of this crate, in one program: it is linked once. A test that needs a process of its own is a file beside.

#[path = "../common/mod.rs"]
mod common;
#[path = "../../../riscv/tests/common/mod.rs"]
mod machine;

mod bare;
mod bill;
mod boot;
mod cycles;
mod engines;
mod exec;
mod exec_views;
mod exercise;
mod kernel;
mod lockstep;
mod mistakes;
mod official;
mod own;
mod programs;
mod source;
