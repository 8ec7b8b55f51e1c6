//! A cache as the timing model sees it.

use super::core::{CacheShape, CoreError, Replacement};

/// No line has this number.
const EMPTY: u64 = u64::MAX;

/// What an access did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) hit: bool,
    /// A line that was written to had to go: its address.
    pub(super) written_back: Option<u64>,
}

/// Lines with their numbers, each set most recent first.
#[derive(Clone, Debug)]
pub(super) struct Cache {
    shift: u32,
    mask: u64,
    ways: usize,
    /// Line number shifted up by one, and whether it was written to.
    lines: Vec<u64>,
    /// For PLRU a tree of bits for each set; for random the generator.
    trees: Vec<u64>,
    state: u64,
    replacement: Replacement,
    pub(super) write_through: bool,
    pub(super) no_write_allocate: bool,
    pub(super) accesses: u64,
    pub(super) misses: u64,
}

impl Cache {
    pub(super) fn new(shape: &CacheShape, key: &'static str) -> Result<Self, CoreError> {
        let (sets, ways, line) = shape.parts(key)?;
        Ok(Cache {
            shift: line.trailing_zeros(),
            mask: u64::from(sets) - 1,
            ways: ways as usize,
            lines: vec![EMPTY; sets as usize * ways as usize],
            trees: vec![0; if shape.replacement == Replacement::Plru { sets as usize } else { 0 }],
            state: shape.seed,
            replacement: shape.replacement,
            write_through: shape.write_through,
            no_write_allocate: shape.no_write_allocate,
            accesses: 0,
            misses: 0,
        })
    }

    pub(super) fn line_bytes(&self) -> u64 {
        1 << self.shift
    }

    pub(super) fn line(&self, address: u64) -> u64 {
        address >> self.shift
    }

    pub(super) fn clear(&mut self) {
        self.lines.fill(EMPTY);
        self.trees.fill(0);
    }

    #[inline]
    fn set(&self, line: u64) -> usize {
        (line & self.mask) as usize * self.ways
    }

    /// Whether the line is there and was used last in its set, so that a read of it changes nothing.
    #[inline]
    pub(super) fn is_first(&self, line: u64) -> bool {
        self.lines[self.set(line)] >> 1 == line
    }

    /// Whether the line is there.
    pub(super) fn contains(&self, line: u64) -> bool {
        let set = self.set(line);
        self.lines[set..set + self.ways].iter().any(|&l| l >> 1 == line)
    }

    /// One access to one line.
    #[inline]
    pub(super) fn access(&mut self, line: u64, store: bool) -> Answer {
        self.accesses += 1;
        let set = self.set(line);
        let dirty = u64::from(store && !self.write_through);
        if self.lines[set] >> 1 == line {
            self.lines[set] |= dirty;
            return Answer { hit: true, written_back: None };
        }
        self.access_further(set, line, store, dirty)
    }

    fn access_further(&mut self, set: usize, line: u64, store: bool, dirty: u64) -> Answer {
        let ways = &mut self.lines[set..set + self.ways];
        if let Some(at) = ways.iter().position(|&l| l >> 1 == line) {
            ways[at] |= dirty;
            if self.replacement == Replacement::Lru {
                ways[..=at].rotate_right(1);
            }
            return Answer { hit: true, written_back: None };
        }
        self.misses += 1;
        if store && self.no_write_allocate {
            return Answer { hit: false, written_back: None };
        }
        let victim = match self.replacement {
            _ if ways.contains(&EMPTY) => ways.iter().rposition(|&l| l == EMPTY).unwrap_or(0),
            Replacement::Random => {
                self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
                let mut z = self.state;
                z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
                z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
                ((z ^ z >> 31) % ways.len() as u64) as usize
            }
            _ => ways.len() - 1,
        };
        let old = ways[victim];
        ways[victim] = line << 1 | dirty;
        ways[..=victim].rotate_right(1);
        let written_back = (old != EMPTY && old & 1 != 0).then(|| old >> 1 << self.shift);
        Answer { hit: false, written_back }
    }
}
