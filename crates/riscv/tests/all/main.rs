//! The tests of this crate, in one program: it is linked once. A test that needs a process of its own is a file beside.

#[path = "../common/mod.rs"]
mod common;

mod asm;
mod asm_gnu;
mod asm_hostile;
mod bits;
mod boot;
mod cache;
mod clic;
mod code;
mod control_flow;
mod csr;
mod custom;
mod engines;
mod extensions;
mod host;
mod hostile;
mod loader;
mod objdump;
mod official;
mod permissions;
mod pk;
mod qemu;
mod small;
mod snapshot;
mod traps;
mod vectors;
mod zcmp;
