//! Whether tollgate works on machines that are not this one: [`cross`] tries it on other architectures, [`vm`] on other
//! kernels and processors, and [`dist`] packs it for each. `build` compiles for an architecture.
#![allow(clippy::print_stdout, reason = "these commands print for the developer")]

pub mod build;
pub mod cross;
pub mod dist;
pub mod installs;
mod rows;
pub mod vm;
