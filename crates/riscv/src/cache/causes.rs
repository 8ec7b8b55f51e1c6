//! Why an access missed (Hill 1987): the line is new, the cache is too small, or its sets are.

use super::distances::Distances;
use super::geometry::Geometry;

/// Why an access missed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MissCause {
    /// The line was never used before: no cache can help.
    Compulsory,
    /// A fully associative LRU cache of the same size would have missed as well.
    Capacity,
    /// It would have hit: the set was too small, or the policy chose the wrong victim.
    Conflict,
}

/// Misses by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Split {
    /// Lines that were new.
    pub compulsory: u64,
    /// More lines than fit.
    pub capacity: u64,
    /// More lines than fit in a set.
    pub conflict: u64,
    /// Accesses that hit although the fully associative cache would have missed. They do not count as misses, and
    /// show that LRU is not the best possible policy.
    pub better_than_full: u64,
}

impl Split {
    /// All misses.
    pub fn misses(&self) -> u64 {
        self.compulsory + self.capacity + self.conflict
    }
}

/// Classifies the misses of a cache by cause.
#[derive(Clone, Debug)]
pub struct Causes {
    shift: u32,
    lines: u64,
    distances: Distances,
    split: Split,
}

impl Causes {
    /// For a cache of this shape, whatever its policy.
    pub fn new(geometry: Geometry) -> Self {
        Self {
            shift: geometry.line_shift(),
            lines: geometry.lines(),
            distances: Distances::default(),
            split: Split::default(),
        }
    }

    /// Records whether an access hit or missed in the cache. Call it for each access.
    pub fn access(&mut self, address: u64, hit: bool) -> Option<MissCause> {
        let distance = self.distances.access(address >> self.shift);
        let full_hit = distance.is_some_and(|distance| distance < self.lines);
        if hit {
            self.split.better_than_full += u64::from(!full_hit);
            return None;
        }
        let (cause, count) = match distance {
            None => (MissCause::Compulsory, &mut self.split.compulsory),
            Some(_) if full_hit => (MissCause::Conflict, &mut self.split.conflict),
            Some(_) => (MissCause::Capacity, &mut self.split.capacity),
        };
        *count += 1;
        Some(cause)
    }

    /// Misses by cause so far.
    pub fn split(&self) -> Split {
        self.split
    }

    /// The stack distances, which give the miss-ratio curve for lines of this length.
    pub fn distances(&self) -> &Distances {
        &self.distances
    }
}
