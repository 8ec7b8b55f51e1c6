//! Stack distances: every size of fully associative LRU cache in one pass (Mattson and others, 1970).

use std::collections::HashMap;

/// How many other lines were used since a line was used last, counted over a stream of accesses.
///
/// A fully associative LRU cache of `n` lines hits exactly the accesses whose distance is below `n`. Each access
/// takes O(log n) steps for n different lines: a binary indexed tree over the times of last use counts the times
/// between two moments, and the lines are renumbered when the times run out.
///
/// ```
/// use tollgate_riscv::cache::Distances;
/// let mut distances = Distances::default();
/// // a b c a: two other lines since the first a.
/// assert_eq!([1, 2, 3, 1].map(|line| distances.access(line)), [None, None, None, Some(2)]);
/// assert_eq!((distances.misses(2), distances.misses(3)), (4, 3));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Distances {
    /// The time of each line's last use, from 1.
    last: HashMap<u64, u32>,
    /// The line used at each time, so that lines can be renumbered.
    at: Vec<u64>,
    /// Binary indexed tree: which times are some line's last.
    tree: Vec<u32>,
    newest: Option<u64>,
    histogram: Vec<u64>,
    first_uses: u64,
    accesses: u64,
}

const FIRST_SPAN: usize = 1024;

impl Distances {
    /// Records an access to a line and returns its distance; `None` for a line that was never used before.
    pub fn access(&mut self, line: u64) -> Option<u64> {
        self.accesses += 1;
        if self.newest == Some(line) {
            self.histogram[0] += 1;
            return Some(0);
        }
        self.newest = Some(line);
        if self.at.len() + 1 >= self.tree.len() {
            self.renumber();
        }
        let now = self.at.len() as u32 + 1;
        self.at.push(line);
        let distance = match self.last.insert(line, now) {
            None => {
                self.first_uses += 1;
                if self.histogram.is_empty() {
                    self.histogram.push(0);
                }
                None
            }
            Some(before) => {
                let later = self.last.len() as u64 - self.up_to(before);
                self.add(before, false);
                let place = later as usize;
                if place >= self.histogram.len() {
                    self.histogram.resize(place + 1, 0);
                }
                self.histogram[place] += 1;
                Some(later)
            }
        };
        self.add(now, true);
        distance
    }

    /// Gives the lines the times 1, 2, 3 ... in their order, with as many times free again.
    fn renumber(&mut self) {
        let mut lines: Vec<(u32, u64)> = self.last.iter().map(|(&line, &time)| (time, line)).collect();
        lines.sort_unstable();
        self.at = lines.iter().map(|&(_, line)| line).collect();
        self.tree = vec![0; (2 * lines.len()).max(FIRST_SPAN) + 1];
        for (time, &(_, line)) in (1..).zip(&lines) {
            self.last.insert(line, time);
            self.add(time, true);
        }
    }

    fn add(&mut self, time: u32, here: bool) {
        let mut i = time as usize;
        while let Some(count) = self.tree.get_mut(i) {
            *count = if here { *count + 1 } else { *count - 1 };
            i += i & i.wrapping_neg();
        }
    }

    /// How many lines were last used at `time` or before.
    fn up_to(&self, time: u32) -> u64 {
        let (mut i, mut sum) = (time as usize, 0);
        while i > 0 {
            sum += u64::from(self.tree[i]);
            i &= i - 1;
        }
        sum
    }

    /// How many accesses there were.
    pub fn accesses(&self) -> u64 {
        self.accesses
    }

    /// How many different lines were used: the compulsory misses.
    pub fn first_uses(&self) -> u64 {
        self.first_uses
    }

    /// Accesses by distance, the first for distance 0; first uses are not included.
    pub fn histogram(&self) -> &[u64] {
        &self.histogram
    }

    /// The misses of a fully associative LRU cache with this number of lines.
    pub fn misses(&self, lines: u64) -> u64 {
        let from = usize::try_from(lines).unwrap_or(usize::MAX).min(self.histogram.len());
        self.first_uses + self.histogram[from..].iter().sum::<u64>()
    }

    /// The miss-ratio curve: the size in lines wherever it changes, and the misses at it, from one line on.
    pub fn curve(&self) -> Vec<(u64, u64)> {
        let mut left = self.accesses;
        let mut out = Vec::new();
        for (distance, &count) in self.histogram.iter().enumerate() {
            left -= count;
            if count > 0 || distance == 0 {
                out.push((distance as u64 + 1, left));
            }
        }
        out
    }
}
