//! Fibers, coroutines and threads of other runtimes: programs of `runtimes/`, each in its own language, built on
//! first use, run in fresh processes, checked against the protocol, and recorded like any other measurement.
//!
//! [`Table`] is `runtimes.toml`; [`Cache`] builds a folder; [`process`] runs a program and ends
//! everything that it started; [`transcript`] accepts its output or gives the reason for a refusal; [`session`] measures rows
//! epoch by epoch.

pub mod cache;
pub mod choice;
pub mod needs;
mod pace;
pub mod process;
pub mod record;
pub mod room;
mod row;
pub mod session;
mod sources;
pub mod table;
pub mod transcript;

pub use cache::Cache;
pub use room::Room;
pub use sources::Sources;
pub use table::{Kind, Mechanism, Runtime, Table, TableError};
