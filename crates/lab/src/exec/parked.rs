//! The state of a hart in the exact bill, saved while another hart runs.

use std::ops::Range;

use tollgate_cores::Timed;
use tollgate_riscv::Privilege;

use super::crossing::Step;
use super::drmemtrace::Reference;
use super::task::{NOTHING, Part, RUNS};

/// The state of a hart while another one runs.
pub(super) struct Parked {
    pub(super) now: u32,
    pub(super) next: Option<u64>,
    pub(super) alone: Vec<Reference>,
    pub(super) returns_to: Privilege,
    pub(super) last: Step,
    /// Each hart decodes code for itself, and numbers its runs.
    pub(super) epoch: u64,
    pub(super) runs: Vec<(u64, Range<u32>)>,
    pub(super) parts: Vec<Part>,
    /// Instructions of each key.
    pub(super) instructions: Vec<u64>,
    pub(super) clock: Option<Timed<(), ()>>,
    /// Cycles that were charged to paths, and what pays for the next ones: a key and a path.
    pub(super) at: u64,
    pub(super) owner: (u32, u32),
}

impl Parked {
    pub(super) fn new(task: u32, clock: Option<Timed<(), ()>>) -> Self {
        Self {
            now: task,
            next: None,
            alone: Vec::new(),
            returns_to: Privilege::User,
            last: Step::Own,
            epoch: NOTHING,
            runs: vec![(NOTHING, 0..0); RUNS],
            parts: Vec::new(),
            instructions: Vec::new(),
            clock,
            at: 0,
            owner: (u32::MAX, u32::MAX),
        }
    }
}
