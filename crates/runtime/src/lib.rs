//! Fibers, coroutines and threads of other runtimes: programs of `runtimes/`, each in its own language, built on
//! first use, run in fresh processes, held to the protocol, and recorded as any other measurement is.
//!
//! [`Table`] is what `runtimes.toml` says; [`Cache`] builds a folder; [`process`] runs a program so that nothing
//! of it is left; [`transcript`] believes its output or says why not; [`session`] measures rows epoch by epoch.

pub mod cache;
pub mod needs;
pub mod process;
pub mod record;
pub mod room;
pub mod session;
mod sources;
pub mod table;
pub mod transcript;

pub use cache::Cache;
pub use room::Room;
pub use sources::Sources;
pub use table::{Kind, Mechanism, Runtime, Table, TableError};
