//! The tests of this crate, in one program: it is linked once. A test that needs a process of its own is a file beside.

#[path = "../common/mod.rs"]
mod common;

mod schema;
mod store;
