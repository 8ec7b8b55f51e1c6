//! The model of one cache.

use std::cell::Cell;

use super::geometry::{CacheError, Geometry};
use super::policy::{Choices, Policy, Register, Register16, WritePolicy};
use crate::counter::LineView;

/// A place is the number of its line, shifted, with these two bits; an empty one is zero.
const VALID: u64 = 1;
const DIRTY: u64 = 2;
const LINE_SHIFT: u32 = 2;

/// A line that was evicted or invalidated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Evicted {
    /// Its first address.
    pub address: u64,
    /// Whether it was written since it was loaded, so that it has to be written to memory.
    pub dirty: bool,
}

/// The effects of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Whether the line was there.
    pub hit: bool,
    /// Whether the line was brought in: on every miss but that of a store which does not allocate.
    pub filled: bool,
    /// The line that it displaced.
    pub evicted: Option<Evicted>,
}

/// The result of an access: a smaller form of [`Outcome`].
#[derive(Clone, Copy, Debug)]
pub enum Found {
    /// It hit.
    Hit,
    /// It hit, and is the first store to the line since that was brought in or written back.
    Soiled,
    /// It missed, and brought nothing in.
    NotFilled,
    /// It missed, and the new line displaced what was in its place: 0 is nothing.
    Filled(u64),
}

const HIT: Outcome = Outcome { hit: true, filled: false, evicted: None };

/// The counts of a cache since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Counts {
    /// Loads and fetches.
    pub reads: u64,
    /// Stores.
    pub writes: u64,
    /// Reads that missed.
    pub read_misses: u64,
    /// Stores that missed.
    pub write_misses: u64,
    /// Lines that were brought in.
    pub fills: u64,
    /// Lines that another line displaced.
    pub evictions: u64,
    /// Dirty lines among them, and among the lines that [`Cache::invalidate`] and [`Cache::clear`] removed.
    pub writebacks: u64,
    /// Stores that went to memory at once.
    pub writes_through: u64,
}

impl Counts {
    /// Reads and stores.
    pub fn accesses(&self) -> u64 {
        self.reads + self.writes
    }

    /// Accesses that missed.
    pub fn misses(&self) -> u64 {
        self.read_misses + self.write_misses
    }

    /// Accesses that hit.
    pub fn hits(&self) -> u64 {
        self.accesses() - self.misses()
    }

    /// Hits as a share of the accesses; `None` without any.
    pub fn hit_rate(&self) -> Option<f64> {
        (self.accesses() > 0).then(|| self.hits() as f64 / self.accesses() as f64)
    }
}

/// The replacement state of a set.
#[derive(Clone, Debug)]
enum Order {
    /// Most recently used first.
    Lru,
    /// Most recently loaded first.
    Fifo,
    /// The tree's bits for each set. Node 1 is the root and node `n` has the children `2n` and `2n + 1`; bit `n`
    /// is set when the victim is on the side of the higher ways.
    Plru(Vec<u64>),
    Random(Choices),
    Lfsr(Register),
    Lfsr16(Register16),
}

/// One cache. It is deterministic: the same accesses to equal caches have the same outcomes.
#[derive(Clone, Debug)]
pub struct Cache {
    geometry: Geometry,
    policy: Policy,
    write: WritePolicy,
    /// All sets one after the other. In LRU and FIFO the order in a set is the policy's, with the empty places
    /// at its end; in the others a line stays in its place.
    places: Vec<u64>,
    ways: usize,
    set_mask: u64,
    shift: u32,
    /// For each set a copy of the place of its line that was accessed last: to access it again changes nothing but its
    /// dirty bit, in any policy. 0 when there is none.
    latest: Vec<u64>,
    /// In which way each of those is.
    latest_ways: Vec<u32>,
    /// How many places are empty.
    empty: u64,
    order: Order,
    counts: Counts,
}

impl Cache {
    /// An empty cache.
    ///
    /// # Errors
    /// Tree-PLRU with a number of ways that is not a power of two or over 64.
    pub fn new(geometry: Geometry, policy: Policy, write: WritePolicy) -> Result<Self, CacheError> {
        let ways = geometry.ways() as usize;
        let order = match policy {
            Policy::Lru => Order::Lru,
            Policy::Fifo => Order::Fifo,
            Policy::Plru if ways.is_power_of_two() && ways <= 64 => {
                Order::Plru(vec![0; geometry.sets() as usize])
            }
            Policy::Plru => return Err(CacheError::Tree(geometry)),
            Policy::Random { seed } => Order::Random(Choices::new(seed)),
            Policy::Lfsr if ways.is_power_of_two() && (2..=8).contains(&ways) => {
                Order::Lfsr(Register::new(ways))
            }
            Policy::Lfsr16 { moves } if ways.is_power_of_two() && (2..=64).contains(&ways) => {
                Order::Lfsr16(Register16::new(moves))
            }
            Policy::Lfsr | Policy::Lfsr16 { .. } => return Err(CacheError::Register(geometry)),
        };
        Ok(Self {
            geometry,
            policy,
            write,
            places: vec![0; geometry.sets() as usize * ways],
            ways,
            set_mask: u64::from(geometry.sets()) - 1,
            shift: geometry.line_shift(),
            latest: vec![0; geometry.sets() as usize],
            latest_ways: vec![0; geometry.sets() as usize],
            empty: geometry.lines(),
            order,
            counts: Counts::default(),
        })
    }

    /// Its shape.
    pub fn geometry(&self) -> Geometry {
        self.geometry
    }

    /// The replacement policy.
    pub fn policy(&self) -> Policy {
        self.policy
    }

    /// How stores are handled.
    pub fn write_policy(&self) -> WritePolicy {
        self.write
    }

    /// The counts so far.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Reads or writes at an address. Make a separate access for bytes in the next line.
    #[inline(always)]
    pub fn access(&mut self, address: u64, store: bool) -> Outcome {
        self.access_line(address >> self.shift, store)
    }

    /// The same with the number of a line: its address over the line's length, or any key below 2^62 that identifies
    /// one, such as a page with an address-space number above it. The lowest bits choose the set. For other calls
    /// the line has the address `line * geometry.line()`.
    #[inline(always)]
    pub fn access_line(&mut self, line: u64, store: bool) -> Outcome {
        let found = self.look_for(line, store);
        self.outcome(found)
    }

    #[inline(always)]
    fn outcome(&self, found: Found) -> Outcome {
        match found {
            Found::Hit | Found::Soiled => HIT,
            Found::NotFilled => Outcome { hit: false, filled: false, evicted: None },
            Found::Filled(old) => Outcome { hit: false, filled: true, evicted: self.content(old) },
        }
    }

    /// The same with a smaller result than an [`Outcome`].
    #[inline(always)]
    pub fn look_for(&mut self, line: u64, store: bool) -> Found {
        let wanted = line << LINE_SHIFT | VALID;
        self.counts.reads += u64::from(!store);
        self.counts.writes += u64::from(store);
        let set = (line & self.set_mask) as usize;
        match self.latest.get_mut(set) {
            Some(latest) if *latest & !DIRTY == wanted => {
                if store && !self.write.back {
                    self.counts.writes_through += 1;
                } else if store && *latest == wanted {
                    *latest |= DIRTY;
                    self.places[set * self.ways + self.latest_ways[set] as usize] |= DIRTY;
                    return Found::Soiled;
                }
                Found::Hit
            }
            _ => self.find(wanted, set, store),
        }
    }

    /// [`access_noted`](Self::access_noted) with a smaller result.
    #[inline(always)]
    pub fn look_for_noted(&mut self, noted: u64) -> Found {
        self.look_again(noted >> LINE_SHIFT << self.shift, noted & DIRTY != 0)
    }

    /// [`look_for`](Self::look_for) without counting reads and writes, for what [`is_latest`](Self::is_latest) did not find. Only for
    /// caches that write back.
    #[inline(always)]
    pub fn look_again(&mut self, address: u64, store: bool) -> Found {
        let line = address >> self.shift;
        let (set, wanted) = ((line & self.set_mask) as usize, line << LINE_SHIFT | VALID);
        match self.order {
            Order::Lru if self.write.allocate => {
                self.find_and_move(wanted, set, store, u64::from(store) * DIRTY)
            }
            _ => self.find(wanted, set, store),
        }
    }

    /// The rest of an access that translated code noted ([`report_noted`](crate::tier::Counter::report_noted)). It is not counted among
    /// reads and writes. Only for caches that write back and allocate.
    pub fn access_noted(&mut self, noted: u64) -> Outcome {
        let found = self.look_for_noted(noted);
        self.outcome(found)
    }

    /// Whether an access finds the line that the last one in that set found, and a store a dirty one, so that nothing changes.
    /// The caller counts such a hit ([`count_hits`](Self::count_hits)). Only for caches that write back.
    #[inline(always)]
    pub fn is_latest(&self, address: u64, store: bool) -> bool {
        let line = address >> self.shift;
        let Some(latest) = self.latest.get((line & self.set_mask) as usize) else { return false };
        // A load finds a clean line as well.
        *latest | (u64::from(!store) * DIRTY) == line << LINE_SHIFT | VALID | DIRTY
    }

    /// For each set, which accesses change nothing but counts, in the form of [`Quiet::lines`](crate::tier::Quiet::lines): those
    /// to the line that was accessed last, and stores to it if it is dirty.
    pub fn quiet(&mut self) -> &[Cell<u64>] {
        Cell::from_mut(&mut *self.latest).as_slice_of_cells()
    }

    /// The view of its lines for translations.
    pub fn line_view(&self) -> LineView {
        let WritePolicy { back, allocate } = self.write;
        LineView { shift: self.shift, count: self.geometry.sets(), fills: back && allocate }
    }

    /// Counts reads and writes that are hits, and change nothing else.
    #[inline(always)]
    pub fn count_hits(&mut self, reads: u64, writes: u64) {
        self.counts.reads += reads;
        self.counts.writes += writes;
    }

    /// Uncounts an access, which [`count_hits`](Self::count_hits) will count.
    pub fn count_again(&mut self, store: bool) {
        self.counts.reads -= u64::from(!store);
        self.counts.writes -= u64::from(store);
    }

    /// The rest of an access.
    #[inline(never)]
    fn find(&mut self, wanted: u64, set: usize, store: bool) -> Found {
        if store && !self.write.back {
            self.counts.writes_through += 1;
        }
        let dirt = if store && self.write.back { DIRTY } else { 0 };
        if matches!(self.order, Order::Lru) && (!store || self.write.allocate) {
            return self.find_and_move(wanted, set, store, dirt);
        }
        let (number, set) = (set, &mut self.places[set * self.ways..][..self.ways]);
        let latest = &mut self.latest[number];
        let latest_way = &mut self.latest_ways[number];
        if let Some(way) = set.iter().position(|place| place & !DIRTY == wanted) {
            let clean = set[way] & DIRTY == 0;
            set[way] |= dirt;
            (*latest, *latest_way) = (set[way], way as u32);
            match &mut self.order {
                Order::Lru => {
                    move_to_front(&mut set[..=way]);
                    *latest_way = 0;
                }
                Order::Fifo | Order::Random(_) | Order::Lfsr(_) | Order::Lfsr16(_) => {}
                Order::Plru(trees) => point_away(&mut trees[number], way, self.ways),
            }
            return if dirt > 0 && clean { Found::Soiled } else { Found::Hit };
        }
        if store && !self.write.allocate {
            self.counts.write_misses += 1;
            return Found::NotFilled;
        }
        let empty = match self.empty {
            0 => None,
            _ => set.iter().position(|&place| place == 0),
        };
        let way = match &mut self.order {
            Order::Lru | Order::Fifo => {
                move_to_front(set);
                0
            }
            Order::Plru(trees) => {
                let tree = &mut trees[number];
                let way = empty.unwrap_or_else(|| pointed_at(*tree, self.ways));
                point_away(tree, way, self.ways);
                way
            }
            Order::Random(choices) => empty.unwrap_or_else(|| choices.below(self.ways)),
            Order::Lfsr(register) => empty.unwrap_or_else(|| register.next(self.ways)),
            Order::Lfsr16(register) => register.next(self.ways),
        };
        (*latest, *latest_way) = (wanted | dirt, way as u32);
        let old = std::mem::replace(&mut set[way], *latest);
        self.fill(old, store)
    }

    /// The same in an order of use, if the line is brought in.
    #[inline(always)]
    fn find_and_move(&mut self, wanted: u64, number: usize, store: bool, dirt: u64) -> Found {
        let set = &mut self.places[number * self.ways..][..self.ways];
        // (With a constant number of ways there is no loop.)
        let (way, old) = match <&mut [u64; 4]>::try_from(&mut *set) {
            Ok(set) => put_first(set, wanted, dirt),
            Err(_) => put_first(set, wanted, dirt),
        };
        self.latest[number] = set[0];
        if way.is_some() {
            return if dirt > old & DIRTY { Found::Soiled } else { Found::Hit };
        }
        self.fill(old, store)
    }

    /// Counts a line that was brought in, and yields what was in its place.
    #[inline(always)]
    fn fill(&mut self, old: u64, store: bool) -> Found {
        self.counts.write_misses += u64::from(store);
        self.counts.read_misses += u64::from(!store);
        self.counts.fills += 1;
        self.counts.evictions += u64::from(old != 0);
        self.empty -= u64::from(old == 0);
        self.counts.writebacks += u64::from(old & DIRTY != 0);
        Found::Filled(old)
    }

    /// The first address of a dirty line that was in a place.
    #[inline(always)]
    pub fn dirty(&self, place: u64) -> Option<u64> {
        (place & DIRTY != 0).then_some(place >> LINE_SHIFT << self.shift)
    }

    /// The line that was evicted from a place; counts its write-back.
    fn evicted(&mut self, old: u64) -> Option<Evicted> {
        let evicted = self.content(old)?;
        self.counts.writebacks += u64::from(evicted.dirty);
        Some(evicted)
    }

    fn content(&self, place: u64) -> Option<Evicted> {
        let line = Evicted { address: place >> LINE_SHIFT << self.shift, dirty: place & DIRTY != 0 };
        (place != 0).then_some(line)
    }

    /// Whether the line of an address is there. Nothing changes and nothing is counted.
    pub fn contains(&self, address: u64) -> bool {
        let line = address >> self.shift;
        let start = (line & self.set_mask) as usize * self.ways;
        let wanted = line << LINE_SHIFT | VALID;
        self.places[start..start + self.ways].iter().any(|place| place & !DIRTY == wanted)
    }

    /// The lines that are in it, set by set.
    pub fn content_lines(&self) -> impl Iterator<Item = Evicted> {
        self.places.iter().filter_map(|&place| self.content(place))
    }

    /// Removes the line of an address. A dirty one is counted as written back.
    pub fn invalidate(&mut self, address: u64) -> Option<Evicted> {
        let line = address >> self.shift;
        let number = (line & self.set_mask) as usize;
        let wanted = line << LINE_SHIFT | VALID;
        let set = &mut self.places[number * self.ways..][..self.ways];
        let way = set.iter().position(|place| place & !DIRTY == wanted)?;
        let old = std::mem::take(&mut set[way]);
        self.latest[number] = 0;
        self.empty += 1;
        if matches!(self.order, Order::Lru | Order::Fifo) {
            set[way..].rotate_left(1);
        }
        self.evicted(old)
    }

    /// Removes and returns every line for which `gone` returns true. Dirty ones are counted as written back.
    pub fn invalidate_where(&mut self, mut gone: impl FnMut(&Evicted) -> bool) -> Vec<Evicted> {
        let leaving: Vec<Evicted> = self.content_lines().filter(|line| gone(line)).collect();
        for line in &leaving {
            self.invalidate(line.address);
        }
        leaving
    }

    /// Removes every line; returns how many there were, and how many of them were dirty and count as written
    /// back. The order of a policy starts again, the choices of a random one continue.
    pub fn clear(&mut self) -> (u64, u64) {
        let (lines, dirty) = self
            .content_lines()
            .fold((0, 0), |(lines, dirty), line| (lines + 1, dirty + u64::from(line.dirty)));
        self.places.fill(0);
        self.latest.fill(0);
        self.empty = self.geometry.lines();
        if let Order::Plru(trees) = &mut self.order {
            trees.fill(0);
        }
        self.counts.writebacks += dirty;
        (lines, dirty)
    }
}

/// Puts a line first; each of the others takes the place of the one before, until its old place: in one pass, since most accesses
/// that need it miss. Yields in which way it was, and what was there, or, if it was in none, what was last.
#[inline(always)]
fn put_first(set: &mut [u64], wanted: u64, dirt: u64) -> (Option<usize>, u64) {
    let mut leaving = wanted | dirt;
    for (way, place) in set.iter_mut().enumerate() {
        leaving = std::mem::replace(place, leaving);
        if leaving & !DIRTY == wanted {
            set[0] |= leaving & DIRTY;
            return (Some(way), leaving);
        }
    }
    (None, leaving)
}

/// Moves the last element to the front. (The library's rotation is optimized for long slices.)
#[inline(always)]
fn move_to_front(set: &mut [u64]) {
    if let Some(&last) = set.last() {
        for i in (1..set.len()).rev() {
            set[i] = set[i - 1];
        }
        set[0] = last;
    }
}

/// Turns the bits on the way to `way` away from it.
fn point_away(tree: &mut u64, way: usize, ways: usize) {
    let mut node = way + ways;
    while node > 1 {
        let parent = node / 2;
        let high = (node & 1) as u64;
        *tree = *tree & !(1 << parent) | (1 - high) << parent;
        node = parent;
    }
}

/// The way that the bits lead to.
fn pointed_at(tree: u64, ways: usize) -> usize {
    let mut node = 1;
    while node < ways {
        node = 2 * node + (tree >> node & 1) as usize;
    }
    node - ways
}
