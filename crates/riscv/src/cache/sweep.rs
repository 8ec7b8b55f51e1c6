//! Many geometries at once: LRU has the inclusion property, so one stack for each set covers every number of ways
//! (all-associativity simulation, Hill and Smith 1989).

use super::geometry::{CacheError, Geometry};

/// Counts the misses of LRU caches of many shapes in one pass over a stream.
///
/// For each length of line and each number of sets there is one stack of lines for each set. Where a line is
/// found in its stack is the number of ways that it takes to hit. A line that is on top of its stack is on top of
/// every finer one too, so most accesses are over after the first few.
///
/// ```
/// use tollgate_riscv::cache::{Geometry, Sweep};
/// let mut sweep = Sweep::new(&[8, 16], 16, 4).unwrap();
/// for _ in 0..10 {
///     for address in (0..56).step_by(4) {
///         sweep.access(address);
///     }
/// }
/// let misses = |text: &str| sweep.misses(text.parse::<Geometry>().unwrap());
/// assert_eq!(misses("8:1:8"), Some(7));
/// assert_eq!(misses("4:1:8"), Some(7 + 9 * 6));
/// assert_eq!(misses("32:1:8"), None);
/// ```
#[derive(Clone, Debug)]
pub struct Sweep {
    most_sets: u32,
    most_ways: u32,
    accesses: u64,
    lengths: Vec<Length>,
}

/// All numbers of sets for one length of line.
#[derive(Clone, Debug)]
struct Length {
    line: u32,
    shift: u32,
    /// The line of the access before.
    newest: u64,
    /// For 1, 2, 4 ... sets.
    levels: Vec<Level>,
}

/// One number of sets.
#[derive(Clone, Debug)]
struct Level {
    mask: u64,
    /// The stacks, most recently used first; 0 is empty, and a line is kept as its number plus 1.
    stacks: Vec<u64>,
    /// Accesses by depth, from 1: those on top are not included. The last one counts what was not found.
    depths: Vec<u64>,
}

/// The most that a sweep may keep, in lines over all levels.
const MOST: u64 = 1 << 24;

impl Sweep {
    /// For these lengths of line in bytes, 1, 2, 4 ... up to `most_sets` sets (a power of two), and 1, 2, 3 ... up
    /// to `most_ways` ways.
    ///
    /// # Errors
    /// A shape that [`Geometry::new`] refuses, or a sweep that would take more than 128 MiB.
    pub fn new(lines: &[u32], most_sets: u32, most_ways: u32) -> Result<Self, CacheError> {
        for &line in lines {
            Geometry::new(most_sets, most_ways, line)?;
        }
        if lines.len() as u64 * 2 * u64::from(most_sets) * u64::from(most_ways) > MOST {
            return Err(CacheError::TooLarge(format!("{most_sets}:{most_ways} in {} lengths", lines.len())));
        }
        let ways = most_ways as usize;
        let levels: Vec<Level> = (0..=most_sets.trailing_zeros())
            .map(|log| Level { mask: (1 << log) - 1, stacks: vec![0; ways << log], depths: vec![0; ways] })
            .collect();
        let length = |&line: &u32| Length {
            line,
            shift: line.trailing_zeros(),
            newest: u64::MAX,
            levels: levels.clone(),
        };
        Ok(Self { most_sets, most_ways, accesses: 0, lengths: lines.iter().map(length).collect() })
    }

    /// Records an access.
    #[inline]
    pub fn access(&mut self, address: u64) {
        self.accesses += 1;
        let ways = self.most_ways as usize;
        for length in &mut self.lengths {
            let line = address >> length.shift;
            if line == length.newest {
                continue;
            }
            length.newest = line;
            for level in &mut length.levels {
                if level.use_line(line, ways) {
                    break;
                }
            }
        }
    }

    /// How many accesses were recorded.
    pub fn accesses(&self) -> u64 {
        self.accesses
    }

    /// The misses of a cache of this shape; `None` if the sweep does not cover it.
    pub fn misses(&self, geometry: Geometry) -> Option<u64> {
        if geometry.sets() > self.most_sets || geometry.ways() > self.most_ways {
            return None;
        }
        let length = self.lengths.iter().find(|length| length.line == geometry.line())?;
        let level = length.levels.get(geometry.sets().trailing_zeros() as usize)?;
        // A line at depth d hits with more than d ways.
        Some(level.depths[geometry.ways() as usize - 1..].iter().sum())
    }

    /// Every shape that it covers, with its misses.
    pub fn all(&self) -> impl Iterator<Item = (Geometry, u64)> {
        let shapes = self.lengths.iter().flat_map(move |length| {
            (0..=self.most_sets.trailing_zeros()).flat_map(move |log| {
                (1..=self.most_ways).filter_map(move |ways| Geometry::new(1 << log, ways, length.line).ok())
            })
        });
        shapes.filter_map(|shape| Some((shape, self.misses(shape)?)))
    }
}

impl Level {
    /// Brings a line to the top of its stack; returns whether it was there already.
    #[inline]
    fn use_line(&mut self, line: u64, ways: usize) -> bool {
        let start = (line & self.mask) as usize * ways;
        let Some(stack) = self.stacks.get_mut(start..start + ways) else { return true };
        let wanted = line.wrapping_add(1);
        let mut carried = wanted;
        for (depth, place) in stack.iter_mut().enumerate() {
            std::mem::swap(place, &mut carried);
            if carried == wanted {
                if depth > 0 {
                    self.depths[depth - 1] += 1;
                }
                return depth == 0;
            }
        }
        self.depths[ways - 1] += 1;
        false
    }
}
