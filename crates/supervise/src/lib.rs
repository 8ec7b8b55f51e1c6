//! One process supervisor: it starts a program, watches it, and ends it with everything that it started.
//!
//! [`Tree::start`] puts a guard between this process and the program. The guard is a fork of this process that waits.
//! It is the parent and the subreaper (`PR_SET_CHILD_SUBREAPER`) of the program, so that all descendants of the
//! program stay its own, whatever process group or session they move to. When this process closes the guard's socket,
//! or the kernel closes it because this process was killed, the guard kills its descendants until none is left.
//!
//! The guard needs no rights and no `/proc`. Where it cannot be started (no process, descriptor or `fork` is left
//! for it), the program is started without it: its process group is then killed at the end, and what has left
//! that group is not found.
//!
//! [`Patience`] decides when silence means a hang, [`Interrupt`] what a signal does to this process.

mod descendants;
mod guard;
mod interrupt;
mod patience;
mod stop;
mod tree;

pub use interrupt::Interrupt;
pub use patience::Patience;
pub use stop::Stop;
pub use tree::{Ended, Prepare, Tree, end_first, end_with_parent};
