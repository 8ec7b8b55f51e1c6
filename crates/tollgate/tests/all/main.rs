//! The tests of this crate, in one program: it is linked once. A test that needs a process of its own is a file beside.

mod compare;
mod exact;
mod exec;
mod icache;
mod lab;
mod pairs;
mod pipeline;
mod riscv;
