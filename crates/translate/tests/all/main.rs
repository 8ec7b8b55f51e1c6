//! The tests of this crate, in one program: it is linked once. A test that needs a process of its own is a file beside.

#[path = "../../../riscv/tests/common/mod.rs"]
mod common;
#[path = "../translated/mod.rs"]
mod translated;

mod counting;
mod equal;
mod guests;
mod regions;
mod runs;
