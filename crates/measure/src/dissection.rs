//! The plan of a bill: what single crossings record, and how the parts of a crossing follow from it.

use serde::{Deserialize, Serialize};
use tollgate_record::Evidence;

/// The plan of a dissected crossing: its spans, and how its parts follow from them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Dissection {
    /// How many lanes of spans there are.
    pub lanes: usize,
    /// The parts of the bill.
    pub parts: Vec<Part>,
    /// The sum of the parts.
    pub total: Term,
    /// Lanes of whole crossings that were made while something recorded, with the name of what did; none
    /// where stamping changes nothing but for the clock.
    pub instrumented: Vec<(usize, String)>,
    /// Lanes with one stamp of the kernel's, and which way they go: 1 into the kernel, -1 out of it. How far
    /// its clock may be from ours widens what they give, and drops out of the difference of two.
    pub mapped: Vec<(usize, i8)>,
}

/// Something that was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Term {
    /// The crossing as it is, by batches, with nothing recorded.
    Batches,
    /// A lane of spans.
    Lane(usize),
}

/// A part of a bill: a sum of terms with signs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Part {
    /// Its name.
    pub name: String,
    /// How it is known.
    pub evidence: Evidence,
    /// Terms to add (1) and to subtract (-1).
    pub terms: Vec<(i8, Term)>,
}

impl Part {
    /// A part that is a lane.
    pub fn lane(name: impl Into<String>, evidence: Evidence, lane: usize) -> Self {
        Self::sum(name, evidence, &[(1, Term::Lane(lane))])
    }

    /// A part that is a sum.
    pub fn sum(name: impl Into<String>, evidence: Evidence, terms: &[(i8, Term)]) -> Self {
        Self { name: name.into(), evidence, terms: terms.into() }
    }
}
