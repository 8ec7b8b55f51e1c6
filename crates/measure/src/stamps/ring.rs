//! Parses the kernel's ring of samples. The bytes are not trusted.

/// A sample: `PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelStamp {
    /// CLOCK_MONOTONIC_RAW in nanoseconds.
    pub ns: u64,
    /// The address that faulted, 0 for events without one.
    pub address: u64,
}

/// The records of a ring.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Taken {
    /// The samples, in the order in which they were taken.
    pub stamps: Vec<KernelStamp>,
    /// Samples that the kernel says it had no room for.
    pub lost: u64,
    /// Whether the bytes ended in the middle of a record or had an invalid one.
    pub broken: bool,
}

/// `struct perf_event_header`: type, misc, size (perf_event_open(2)).
const HEADER: usize = 8;
const RECORD_LOST: u32 = 2;
const RECORD_SAMPLE: u32 = 9;

/// Takes the records in `bytes` apart. Records of other kinds are skipped; nothing after a record of
/// invalid length is read.
pub fn parse(mut bytes: &[u8]) -> Taken {
    let mut taken = Taken::default();
    while !bytes.is_empty() {
        let Some((kind, record, rest)) = split(bytes) else {
            taken.broken = true;
            break;
        };
        let word = |at: usize| {
            let part = record.get(HEADER + at * 8..HEADER + at * 8 + 8)?;
            Some(u64::from_ne_bytes(part.try_into().ok()?))
        };
        match kind {
            RECORD_SAMPLE => match (word(0), word(1)) {
                (Some(ns), Some(address)) => taken.stamps.push(KernelStamp { ns, address }),
                _ => taken.broken = true,
            },
            // The event's number, then how many.
            RECORD_LOST => taken.lost = taken.lost.saturating_add(word(1).unwrap_or(1)),
            _ => {}
        }
        bytes = rest;
    }
    taken
}

/// The first record's kind, its bytes, and what follows it.
fn split(bytes: &[u8]) -> Option<(u32, &[u8], &[u8])> {
    let kind = u32::from_ne_bytes(bytes.get(..4)?.try_into().ok()?);
    let size = u16::from_ne_bytes(bytes.get(6..8)?.try_into().ok()?).into();
    // Records are whole words, and the next one begins where this one ends.
    (size >= HEADER && size % 8 == 0 && size <= bytes.len()).then(|| {
        let (record, rest) = bytes.split_at(size);
        (kind, record, rest)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn record(kind: u32, words: &[u64]) -> Vec<u8> {
        let size = (HEADER + words.len() * 8) as u16;
        let mut bytes = [kind.to_ne_bytes().to_vec(), vec![2, 0], size.to_ne_bytes().to_vec()].concat();
        bytes.extend(words.iter().flat_map(|word| word.to_ne_bytes()));
        bytes
    }

    #[test]
    fn samples_in_order_and_the_lost_counted() {
        let bytes = [
            record(RECORD_SAMPLE, &[1_000, 0x7000]),
            record(RECORD_LOST, &[3, 17]),
            // PERF_RECORD_THROTTLE, with three words.
            record(5, &[1, 2, 3]),
            record(RECORD_SAMPLE, &[2_000, 0x8000]),
        ]
        .concat();
        let stamps =
            vec![KernelStamp { ns: 1_000, address: 0x7000 }, KernelStamp { ns: 2_000, address: 0x8000 }];
        assert_eq!(parse(&bytes), Taken { stamps, lost: 17, broken: false });
    }

    #[test]
    fn a_record_that_cannot_be_ends_the_reading() {
        let good = record(RECORD_SAMPLE, &[5, 6]);
        let one = vec![KernelStamp { ns: 5, address: 6 }];
        for (size, why) in [
            (0u16, "no length"),
            (4, "shorter than its header"),
            (20, "no whole words"),
            (4096, "past the end"),
        ] {
            let mut bad = record(RECORD_SAMPLE, &[7, 8]);
            bad[6..8].copy_from_slice(&size.to_ne_bytes());
            let bytes = [good.clone(), bad].concat();
            assert_eq!(parse(&bytes), Taken { stamps: one.clone(), lost: 0, broken: true }, "{why}");
        }
        let short = record(RECORD_SAMPLE, &[7]);
        assert_eq!(
            parse(&[good.clone(), short].concat()),
            Taken { stamps: one.clone(), lost: 0, broken: true }
        );
        assert!(parse(&good[..good.len() - 3]).broken);
        assert_eq!(parse(&[]), Taken::default());
    }

    proptest! {
        #[test]
        fn any_bytes_at_all(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            let taken = parse(&bytes);
            prop_assert!(taken.stamps.len() * 24 <= bytes.len());
        }

        #[test]
        fn any_bytes_after_good_ones(tail in prop::collection::vec(any::<u8>(), 0..64), ns in any::<u64>()) {
            let bytes = [record(RECORD_SAMPLE, &[ns, 1]), tail].concat();
            prop_assert_eq!(parse(&bytes).stamps[0], KernelStamp { ns, address: 1 });
        }
    }
}
