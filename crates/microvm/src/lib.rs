//! A bare guest: a long-mode image with no operating system in it that times crossings one by one.
//!
//! The same image ([`Image`], built from `guests/x86`) runs under KVM ([`kvm`]) and under QEMU's emulation
//! ([`qemu`]). It runs [`PHASES`] one after another, continues after those that fault, and writes a table
//! that [`Table::parse`] reads and checks. [`hardware`] turns the table into rows of a record; [`Engine`] and
//! [`Visit::ring_ratio`] decide whether their figures are the processor's.

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod doorbell;
mod engine;
mod error;
pub mod hardware;
mod image;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod kick;
#[cfg_attr(not(all(target_os = "linux", target_arch = "x86_64")), path = "kvm_elsewhere.rs")]
pub mod kvm;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod memory;
mod phases;
pub mod qemu;
mod table;
mod visit;

pub use engine::{EMULATED_RATIO, Engine};
pub use error::RunError;
pub use image::{Image, Params, Sabotage};
pub use phases::{IN_TURNS, PHASES, PhaseMeta, Stamps, phase};
pub use table::{CAPACITY, Features, Outcome, Row, Sample, TABLE_BYTES, Table, TableError};
pub use visit::{Stays, Visit};
