//! The reader of the guest's table, with valid tables, tables that are invalid in one place, and random ones.
#![allow(clippy::print_stdout, reason = "a failure can be repeated only with the printed seed")]

use std::time::{Duration, Instant};
use tollgate_microvm::{CAPACITY, Outcome, PHASES, Stamps, TABLE_BYTES, Table, TableError, phase};

const ROWS: usize = 64;
const SAMPLES: usize = ROWS + PHASES.len() * 64;

fn put(bytes: &mut [u8], at: usize, value: u32) {
    bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
}

fn sample(place: usize, number: usize, stamp: usize) -> usize {
    SAMPLES + (place * CAPACITY + number) * 16 + stamp * 4
}

/// A complete table: every phase done with three samples whose stamps lie 100 apart, across the wrap of 32 bits.
fn good() -> Vec<u8> {
    let mut bytes = vec![0; TABLE_BYTES];
    bytes[..8].copy_from_slice(b"TOLLTAB\0");
    for (at, value) in [(8, 2), (12, PHASES.len() as u32), (16, CAPACITY as u32), (20, 1), (24, 0b1101)] {
        put(&mut bytes, at, value);
    }
    for (place, meta) in PHASES.iter().enumerate() {
        for (at, value) in [(0, place as u32), (4, 1), (8, 3)] {
            put(&mut bytes, ROWS + place * 64 + at, value);
        }
        for number in 0..3 {
            for stamp in 0..4 {
                let between = match meta.stamps {
                    Stamps::Whole => stamp == 1 || stamp == 2,
                    Stamps::Answer => stamp == 1,
                    _ => false,
                };
                let value = if between { 0 } else { (u32::MAX - 150).wrapping_add(100 * stamp as u32) };
                put(&mut bytes, sample(place, number, stamp), value);
            }
        }
    }
    bytes
}

#[test]
fn a_right_table_is_read_whole() {
    let table = Table::parse(&good()).unwrap();
    assert!(table.finished && table.features.pcid && !table.features.deadline);
    assert!(table.features.hypervisor && table.features.amd);
    for (row, meta) in table.rows.iter().zip(&PHASES) {
        assert_eq!(row.meta, meta);
        let samples = row.samples().unwrap_or_else(|| panic!("{row:?}"));
        assert_eq!(samples.len(), 3);
        assert_eq!(samples[0][3].wrapping_sub(samples[0][0]), 300);
    }
}

#[test]
fn an_invalid_table_is_refused() {
    assert_eq!(Table::parse(&[]), Err(TableError::Length(0)));
    assert_eq!(Table::parse(&good()[1..]), Err(TableError::Length(TABLE_BYTES - 1)));
    assert_eq!(Table::parse(&vec![0; TABLE_BYTES]), Err(TableError::Magic));
    for (at, value, field) in [
        (8, 1, "version"),
        (12, 20, "number of phases"),
        (16, 255, "room for samples"),
        (20, 2, "mark of the end"),
        (24, 32, "set of features"),
        (28, 1, "set of features"),
        (32, CAPACITY as u32 + 1, "number of samples in a turn"),
    ] {
        let mut bytes = good();
        put(&mut bytes, at, value);
        match Table::parse(&bytes) {
            Err(TableError::Head { field: found, .. }) => assert_eq!(found, field),
            other => panic!("{field}: {other:?}"),
        }
    }
    let mut bytes = good();
    put(&mut bytes, 20, 0);
    assert_eq!(Table::parse(&bytes), Err(TableError::Unfinished));
    assert!(Table::parse_stopped(&bytes).is_ok());
}

#[test]
fn an_invalid_row_does_not_affect_the_others() {
    let place = phase("syscall-split").unwrap();
    let row = ROWS + place * 64;
    let whole = phase("syscall").unwrap();
    let answer = phase("irqfd-wake").unwrap();
    let cases: [(&str, usize, usize, u32, &str); 10] = [
        ("another phase's number", place, row, 3, "has the number 3"),
        ("too many samples", place, row + 8, 257, "257 samples"),
        ("done without a sample", place, row + 8, 0, "no sample"),
        ("an unknown status", place, row + 4, 5, "status 5"),
        ("unsupported, and it needs nothing", place, row + 4, 3, "status 3"),
        ("still going on at the end", place, row + 4, 4, "status 4"),
        ("a clock that ran backwards", place, sample(place, 1, 2), 0x8000_0000, "sample 1"),
        ("the last before the first", place, sample(place, 2, 3), u32::MAX - 400, "sample 2"),
        ("a stamp where none is taken", whole, sample(whole, 0, 1), 7, "sample 0"),
        ("a handler after the end", answer, sample(answer, 1, 3), u32::MAX - 100, "sample 1"),
    ];
    for (case, place, at, value, says) in cases {
        let mut bytes = good();
        put(&mut bytes, at, value);
        let table = Table::parse(&bytes).unwrap_or_else(|error| panic!("{case}: {error}"));
        match &table.rows[place].outcome {
            Outcome::Invalid(why) => assert!(why.contains(says), "{case}: {why}"),
            other => panic!("{case}: {other:?}"),
        }
        let others = table.rows.iter().enumerate().filter(|(other, _)| *other != place);
        assert!(others.into_iter().all(|(_, row)| row.samples().is_some()), "{case}");
    }
}

#[test]
fn a_fault_says_where_it_was() {
    let row = ROWS + phase("interrupt").unwrap() * 64;
    let mut bytes = good();
    for (at, value) in [(4, 2), (8, 7), (12, 13), (16, 0x42), (24, 0x10_0123)] {
        put(&mut bytes, row + at, value);
    }
    let table = Table::parse(&bytes).unwrap();
    let why = table.rows[phase("interrupt").unwrap()].why_not().unwrap();
    assert_eq!(why, "#GP (error code 0x42) at 0x100123 in the guest after 7 crossings");
}

/// SplitMix64.
struct Rng(u64);

impl Rng {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }
}

/// Whatever the guest writes, the reader returns, and accepted rows are usable. `TOLLGATE_FUZZ_SECONDS` sets the duration.
#[test]
fn damaged_tables_never_pass_for_figures() {
    let seconds = std::env::var("TOLLGATE_FUZZ_SECONDS").ok().and_then(|text| text.parse().ok());
    let until = seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds));
    let seed = if until.is_some() { u64::from(std::process::id()) } else { 5 };
    println!("seed {seed}");
    let (mut rng, good, mut round) = (Rng(seed), good(), 0);
    while until.map_or(round < 2000, |until| Instant::now() < until) {
        round += 1;
        let mut bytes = good.clone();
        if rng.below(20) == 0 {
            bytes.truncate(rng.below(TABLE_BYTES));
        }
        for _ in 0..rng.below(12) {
            // Half of the damage goes where the head and the rows are.
            let reach = if rng.below(2) == 0 { SAMPLES } else { TABLE_BYTES };
            let at = rng.below(reach.min(bytes.len().max(1)));
            let values = [0, 1, 2, 3, 4, 0x7f, 0x80, 0xff, rng.next() as u8];
            if let Some(byte) = bytes.get_mut(at) {
                *byte = values[rng.below(values.len())];
            }
        }
        for parsed in [Table::parse(&bytes), Table::parse_stopped(&bytes)] {
            let Ok(table) = parsed else { continue };
            assert_eq!(table.rows.len(), PHASES.len());
            for row in &table.rows {
                assert_eq!(row.samples().is_none(), row.why_not().is_some());
                let Some(samples) = row.samples() else { continue };
                assert!(!samples.is_empty() && samples.len() <= CAPACITY);
                // No accepted crossing runs backwards.
                assert!(samples.iter().all(|sample| sample[3].wrapping_sub(sample[0]) < 1 << 31));
            }
        }
    }
}
