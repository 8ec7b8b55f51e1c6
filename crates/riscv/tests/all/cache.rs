//! The cache model against plain models that follow the policies' definitions: lines with the times of their
//! arrival and last use, trees as trees, and no optimizations.

use std::collections::{HashMap, HashSet};

use proptest::prelude::*;
use tollgate_riscv::cache::{
    Cache, CacheError, Causes, Distances, Evicted, Geometry, MissCause, Policy, Sweep, WritePolicy,
};

/// A set of the plain model.
struct PlainSet {
    places: Vec<Option<PlainLine>>,
    tree: Tree,
}

#[derive(Clone)]
struct PlainLine {
    number: u64,
    came: u64,
    used: u64,
    dirty: bool,
}

/// A tree-PLRU tree as a tree.
enum Tree {
    Leaf(usize),
    Node { victim_right: bool, left: Box<Tree>, right: Box<Tree> },
}

impl Tree {
    fn of(ways: std::ops::Range<usize>) -> Self {
        if ways.len() == 1 {
            return Tree::Leaf(ways.start);
        }
        let middle = ways.start + ways.len() / 2;
        let (left, right) = (Tree::of(ways.start..middle), Tree::of(middle..ways.end));
        Tree::Node { victim_right: false, left: Box::new(left), right: Box::new(right) }
    }

    fn victim(&self) -> usize {
        match self {
            Tree::Leaf(way) => *way,
            Tree::Node { victim_right, left, right } => if *victim_right { right } else { left }.victim(),
        }
    }

    /// Whether the way is below, having turned all nodes above it.
    fn touch(&mut self, way: usize) -> bool {
        match self {
            Tree::Leaf(here) => *here == way,
            Tree::Node { victim_right, left, right } => {
                if left.touch(way) {
                    *victim_right = true;
                    return true;
                }
                if right.touch(way) {
                    *victim_right = false;
                    return true;
                }
                false
            }
        }
    }
}

/// The plain model of a cache.
struct Plain {
    geometry: Geometry,
    policy: Policy,
    write: WritePolicy,
    sets: Vec<PlainSet>,
    time: u64,
}

impl Plain {
    fn new(geometry: Geometry, policy: Policy, write: WritePolicy) -> Self {
        let ways = geometry.ways() as usize;
        let set = || PlainSet {
            places: vec![None; ways],
            // Only PLRU uses it, and only with a power of two.
            tree: Tree::of(0..ways),
        };
        Self { geometry, policy, write, sets: (0..geometry.sets()).map(|_| set()).collect(), time: 0 }
    }

    /// Whether it hit, and what was evicted.
    fn access(&mut self, address: u64, store: bool) -> (bool, Option<Evicted>) {
        self.time += 1;
        let time = self.time;
        let number = address / u64::from(self.geometry.line());
        let set = &mut self.sets[(number % u64::from(self.geometry.sets())) as usize];
        for way in 0..set.places.len() {
            if let Some(line) = &mut set.places[way]
                && line.number == number
            {
                line.used = time;
                line.dirty |= store && self.write.back;
                set.tree.touch(way);
                return (true, None);
            }
        }
        if store && !self.write.allocate {
            return (false, None);
        }
        let oldest = |key: fn(&PlainLine) -> u64| {
            let ways = set.places.iter().enumerate();
            ways.min_by_key(|(_, line)| line.as_ref().map_or(0, key)).expect("a way").0
        };
        let way = match (set.places.iter().position(Option::is_none), self.policy) {
            (Some(empty), _) => empty,
            (None, Policy::Lru) => oldest(|line| line.used),
            (None, Policy::Fifo) => oldest(|line| line.came),
            (None, Policy::Plru) => set.tree.victim(),
            (None, Policy::Random { .. }) => unreachable!("there is no plain model of chance"),
            (None, Policy::Lfsr | Policy::Lfsr16 { .. }) => {
                unreachable!("its choices do not depend on the lines")
            }
        };
        set.tree.touch(way);
        let new = PlainLine { number, came: time, used: time, dirty: store && self.write.back };
        let old = set.places[way].replace(new);
        let line = u64::from(self.geometry.line());
        (false, old.map(|old| Evicted { address: old.number * line, dirty: old.dirty }))
    }

    /// Removes a line; the others keep their times.
    fn invalidate(&mut self, address: u64) {
        let number = address / u64::from(self.geometry.line());
        let set = &mut self.sets[(number % u64::from(self.geometry.sets())) as usize];
        for place in &mut set.places {
            if place.as_ref().is_some_and(|line| line.number == number) {
                *place = None;
            }
        }
    }
}

/// What happens to a cache.
#[derive(Clone, Debug)]
enum Event {
    Access { address: u64, store: bool },
    Invalidate { address: u64 },
    Clear,
}

/// Streams with loops and strides in them, since wholly random ones hardly ever hit.
fn streams() -> impl Strategy<Value = Vec<Event>> {
    let address = prop_oneof![
        4 => 0_u64..512,
        2 => (0_u64..64).prop_map(|i| i * 256),
        1 => any::<u64>(),
    ];
    let event = prop_oneof![
        30 => (address.clone(), any::<bool>()).prop_map(|(address, store)| Event::Access { address, store }),
        2 => address.prop_map(|address| Event::Invalidate { address }),
        1 => Just(Event::Clear),
    ];
    prop::collection::vec(event, 1..600)
}

fn geometries() -> impl Strategy<Value = Geometry> {
    (0_u32..5, prop_oneof![1_u32..9, Just(16), Just(64)], 2_u32..7)
        .prop_map(|(sets, ways, line)| Geometry::new(1 << sets, ways, 1 << line).expect("a small cache"))
}

proptest! {
    /// Every outcome and every count, for each policy that is not random.
    #[test]
    fn the_model_does_what_the_plain_one_does(
        geometry in geometries(),
        stream in streams(),
        back: bool,
        allocate: bool,
    ) {
        let write = WritePolicy { back, allocate };
        for policy in [Policy::Lru, Policy::Fifo, Policy::Plru] {
            let mut cache = match Cache::new(geometry, policy, write) {
                Ok(cache) => cache,
                Err(error) => {
                    prop_assert_eq!(error, CacheError::Tree(geometry));
                    prop_assert!(policy == Policy::Plru && !geometry.ways().is_power_of_two());
                    continue;
                }
            };
            let mut plain = Plain::new(geometry, policy, write);
            let (mut misses, mut writebacks, mut through) = (0, 0, 0);
            for event in &stream {
                match *event {
                    Event::Access { address, store } => {
                        let there = cache.contains(address);
                        let outcome = cache.access(address, store);
                        let (hit, evicted) = plain.access(address, store);
                        prop_assert_eq!((outcome.hit, outcome.evicted), (hit, evicted), "{} {}", policy, event_text(event));
                        prop_assert_eq!(there, hit);
                        prop_assert_eq!(outcome.filled, !hit && (!store || allocate));
                        misses += u64::from(!hit);
                        writebacks += u64::from(evicted.is_some_and(|line| line.dirty));
                        through += u64::from(store && !back);
                    }
                    Event::Invalidate { address } => {
                        let gone = cache.invalidate(address);
                        writebacks += u64::from(gone.is_some_and(|line| line.dirty));
                        plain.invalidate(address);
                        prop_assert!(!cache.contains(address));
                    }
                    Event::Clear => {
                        let (lines, dirty) = cache.clear();
                        writebacks += dirty;
                        let there = plain.sets.iter().flat_map(|set| &set.places).flatten();
                        prop_assert_eq!(lines, there.clone().count() as u64);
                        prop_assert_eq!(dirty, there.filter(|line| line.dirty).count() as u64);
                        plain.sets = Plain::new(geometry, policy, write).sets;
                    }
                }
            }
            let counts = *cache.counts();
            prop_assert_eq!(counts.misses(), misses);
            prop_assert_eq!(counts.writebacks, writebacks);
            prop_assert_eq!(counts.writes_through, through);
            prop_assert_eq!(counts.hits() + counts.misses(), counts.accesses());
        }
    }

    /// Chance: every victim was there, nothing leaves a set that has room, and the same seed does the same.
    #[test]
    fn random_replacement_is_honest(geometry in geometries(), stream in streams(), seed: u64) {
        let policy = Policy::Random { seed };
        let mut cache = Cache::new(geometry, policy, WritePolicy::default()).expect("a cache");
        let mut again = cache.clone();
        let mut there: HashMap<u64, HashSet<u64>> = HashMap::new();
        for event in &stream {
            let Event::Access { address, store } = *event else { continue };
            let number = address / u64::from(geometry.line());
            let set = there.entry(number % u64::from(geometry.sets())).or_default();
            let outcome = cache.access(address, store);
            prop_assert_eq!(outcome, again.access(address, store));
            prop_assert_eq!(outcome.hit, set.contains(&number));
            prop_assert_eq!(outcome.evicted.is_some(), !outcome.hit && set.len() == geometry.ways() as usize);
            if let Some(line) = outcome.evicted {
                prop_assert!(set.remove(&(line.address / u64::from(geometry.line()))));
            }
            set.insert(number);
        }
    }

    /// One pass gives what a cache of each size would have missed.
    #[test]
    fn stack_distances_are_fully_associative_caches(lines in prop::collection::vec(0_u64..40, 1..400)) {
        let mut distances = Distances::default();
        let mut stack: Vec<u64> = Vec::new();
        for &line in &lines {
            let plain = stack.iter().position(|&other| other == line);
            prop_assert_eq!(distances.access(line), plain.map(|depth| depth as u64));
            if let Some(depth) = plain {
                stack.remove(depth);
            }
            stack.insert(0, line);
        }
        for size in 1..45 {
            let geometry = Geometry::new(1, size, 4).expect("a cache");
            let mut cache = Cache::new(geometry, Policy::Lru, WritePolicy::default()).expect("a cache");
            for &line in &lines {
                cache.access(line * 4, false);
            }
            prop_assert_eq!(distances.misses(u64::from(size)), cache.counts().misses());
        }
        let curve = distances.curve();
        prop_assert!(curve.iter().all(|&(size, misses)| distances.misses(size) == misses));
        prop_assert_eq!(curve.last().map(|last| last.1), Some(distances.first_uses()));
    }

    /// Every shape of a sweep misses what a cache of that shape misses.
    #[test]
    fn a_sweep_is_many_caches(stream in prop::collection::vec((0_u64..2048).prop_map(|a| a * 2), 1..400)) {
        let mut sweep = Sweep::new(&[4, 16, 64], 8, 5).expect("a sweep");
        for &address in &stream {
            sweep.access(address);
        }
        let mut shapes = 0;
        for (geometry, misses) in sweep.all() {
            let mut cache = Cache::new(geometry, Policy::Lru, WritePolicy::default()).expect("a cache");
            for &address in &stream {
                cache.access(address, false);
            }
            prop_assert_eq!(cache.counts().misses(), misses, "{}", geometry);
            shapes += 1;
        }
        prop_assert_eq!(shapes, 3 * 4 * 5);
    }

    /// The three causes are all misses, and they are what their definitions say.
    #[test]
    fn causes_add_up(geometry in geometries(), stream in prop::collection::vec(0_u64..4096, 1..400)) {
        let mut cache = Cache::new(geometry, Policy::Lru, WritePolicy::default()).expect("a cache");
        let full = Geometry::new(1, geometry.lines() as u32, geometry.line()).expect("a cache");
        let mut full = Cache::new(full, Policy::Lru, WritePolicy::default()).expect("a cache");
        let mut seen = HashSet::new();
        let mut causes = Causes::new(geometry);
        for &address in &stream {
            let hit = cache.access(address, false).hit;
            let full_hit = full.access(address, false).hit;
            let new = seen.insert(address / u64::from(geometry.line()));
            let expected = match (hit, new, full_hit) {
                (true, ..) => None,
                (false, true, _) => Some(MissCause::Compulsory),
                (false, false, true) => Some(MissCause::Conflict),
                (false, false, false) => Some(MissCause::Capacity),
            };
            prop_assert_eq!(causes.access(address, hit), expected);
        }
        let split = causes.split();
        prop_assert_eq!(split.misses(), cache.counts().misses());
        prop_assert_eq!(split.compulsory, seen.len() as u64);
        prop_assert_eq!(
            full.counts().misses() + split.conflict,
            split.misses() + split.better_than_full
        );
    }
}

fn event_text(event: &Event) -> String {
    format!("{event:?}")
}

/// Lines are renumbered when times run out, and no distance changes.
#[test]
fn distances_survive_their_renumbering() {
    let mut distances = Distances::default();
    // 700 lines around and around, with one line between: each was used 700 others ago, the one 1 ago.
    for round in 0..20 {
        for line in 0..700 {
            let expected = (round > 0).then_some(700);
            assert_eq!(distances.access(line), expected, "{round} {line}");
            let first = round == 0 && line == 0;
            assert_eq!(distances.access(9_999), (!first).then_some(1), "{round} {line}");
        }
    }
    assert_eq!(distances.first_uses(), 701);
}

/// The tree of a set of four, by hand: after a b c d the tree points at a; using a turns it to c.
#[test]
fn plru_is_not_lru() {
    let order = |policy| {
        let mut cache = Cache::new("1:4:4".parse().unwrap(), policy, WritePolicy::default()).unwrap();
        for line in [0, 1, 2, 3, 0, 4] {
            cache.access_line(line, false);
        }
        let mut left: Vec<u64> = cache.content_lines().map(|line| line.address / 4).collect();
        left.sort_unstable();
        left
    };
    assert_eq!(order(Policy::Lru), [0, 2, 3, 4]);
    assert_eq!(order(Policy::Plru), [0, 1, 3, 4]);
    assert_eq!(order(Policy::Fifo), [1, 2, 3, 4]);
}

#[test]
fn a_shift_register_chooses_by_its_lowest_bits() {
    // Four ways: 1111, and with feedback to the two highest bits 1011, 1001, 1000, 0100, 0010, 0001, 1100. Eight: ff,
    // and with taps fa 85, b8, 5c, 2e, 17.
    for (geometry, ways, choices) in
        [("1:4:4", 4, &[3, 3, 1, 0, 0, 2, 1, 0][..]), ("1:8:4", 8, &[7, 5, 0, 4, 6, 7])]
    {
        let mut cache = Cache::new(geometry.parse().unwrap(), Policy::Lfsr, WritePolicy::default()).unwrap();
        let mut places: Vec<u64> = (0..ways).map(|line| line * 4).collect();
        for &address in &places {
            assert_eq!(cache.access(address, false).evicted, None, "an empty place comes first");
        }
        for (n, &way) in (ways..).zip(choices) {
            let evicted = cache.access(n * 4, false).evicted.expect("the set is full").address;
            assert_eq!(evicted, std::mem::replace(&mut places[way], n * 4));
            // A hit moves nothing.
            assert!(cache.access(n * 4, false).hit);
        }
    }
    let error = Cache::new("1:3:4".parse().unwrap(), Policy::Lfsr, WritePolicy::default()).unwrap_err();
    assert!(error.to_string().contains("2, 4 or 8 ways"));
}

#[test]
fn a_shift_register_of_16_bits_chooses_also_while_there_are_empty_places() {
    // 0001, 0002, 0004 and so on to 0400, whose bit is fed back: 0801, 1002; then 2005 and 400b.
    let choices = [1, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 1, 3];
    for moves in [0, 9] {
        let policy = Policy::Lfsr16 { moves };
        let mut cache = Cache::new("1:4:4".parse().unwrap(), policy, WritePolicy::default()).unwrap();
        let mut places = [None; 4];
        for (n, &way) in (0..).zip(&choices[moves as usize..]) {
            let outcome = cache.access(n * 4, false);
            let evicted = places[way].replace(n * 4);
            assert_eq!(outcome.evicted.map(|line| line.address), evicted, "{n}");
            // Hits change nothing, although they reorder the places.
            for line in places.into_iter().flatten().rev() {
                assert!(cache.access(line, false).hit);
            }
        }
    }
}

/// Each way of a full set is evicted about equally often, and another seed chooses otherwise.
#[test]
fn random_choices_are_even() {
    let run = |seed| {
        let policy = Policy::Random { seed };
        let mut cache = Cache::new("1:5:4".parse().unwrap(), policy, WritePolicy::default()).unwrap();
        let mut before: Vec<u64> = Vec::new();
        let mut places = [0_u32; 5];
        for line in 0..50_005_u64 {
            if let Some(gone) = cache.access_line(line, false).evicted {
                let place = before.iter().position(|&old| old == gone.address).expect("it was there");
                places[place] += 1;
            }
            before = cache.content_lines().map(|line| line.address).collect();
        }
        places
    };
    let places = run(7);
    // Chi-squared with four degrees of freedom: 18.5 is passed by chance once in a thousand seeds.
    let chi: f64 = places.iter().map(|&n| (f64::from(n) - 10_000.0).powi(2) / 10_000.0).sum();
    assert!(chi < 18.5, "{places:?}: {chi}");
    assert_eq!(places, run(7));
    assert_ne!(places, run(8));
}

/// A TLB is a cache of pages, with the address space in the key.
#[test]
fn pages_of_two_address_spaces_do_not_meet() {
    let mut tlb = Cache::new("1:4:4096".parse().unwrap(), Policy::Lru, WritePolicy::default()).unwrap();
    let key = |space: u64, va: u64| space << 36 | va >> 12;
    assert!(!tlb.access_line(key(1, 0x8000_1000), false).hit);
    assert!(!tlb.access_line(key(2, 0x8000_1000), false).hit);
    assert!(tlb.access_line(key(1, 0x8000_1fff), false).hit);
    let gone = tlb.invalidate_where(|line| line.address >> 48 == 1);
    assert_eq!(gone.len(), 1);
    assert!(!tlb.access_line(key(1, 0x8000_1000), false).hit);
    assert!(tlb.access_line(key(2, 0x8000_1000), false).hit);
}
