//! The HdrHistogram of a record, read as what a stranger wrote.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;

/// No histogram of ours is larger; a larger one would cost memory and time that its writer chose.
const MOST: usize = 256 << 10;

/// The most significant digits that are read. One with five can ask for fifty megabytes.
const DIGITS: u64 = 3;

/// The largest value that a histogram is read up to: three days of nanoseconds. One that claims more claims room for it.
const HIGHEST: u64 = 1 << 48;

/// The bytes of the header: cookie, length of the payload, offset, significant digits (four each), lowest and highest
/// value, ratio (eight each).
const HEADER: usize = 40;

/// The histogram; `None` when it cannot be read, or would take more room than any of ours.
pub(crate) fn read(text: &str) -> Option<Histogram<u64>> {
    let bytes = STANDARD.decode(Some(text.trim()).filter(|text| text.len() <= MOST)?).ok()?;
    let header = bytes.get(..HEADER)?;
    let number = |at: usize, length: usize| {
        header[at..at + length].iter().fold(0, |n, byte| n << 8 | u64::from(*byte))
    };
    let (payload, offset, digits, lowest, highest) =
        (number(4, 4), number(8, 4), number(12, 4), number(16, 8), number(24, 8));
    let usual = payload == (bytes.len() - HEADER) as u64 && offset == 0 && lowest == 1;
    if !usual || !(1..=DIGITS).contains(&digits) || !(2..=HIGHEST).contains(&highest) {
        return None;
    }
    Deserializer::new().deserialize(&mut bytes.as_slice()).ok()
}

/// Each value that occurred, ascending, with how often; `None` when it cannot be read.
pub(crate) fn counts(text: &str) -> Option<Vec<(f64, u64)>> {
    let histogram = read(text)?;
    let counts = histogram.iter_recorded();
    // The value that stands for the bucket, and not its upper end.
    let value = |highest: u64| histogram.median_equivalent(highest) as f64;
    Some(counts.map(|it| (value(it.value_iterated_to()), it.count_at_value())).collect())
}

/// The value that at least the share `q` of all does not exceed.
pub(crate) fn quantile(counts: &[(f64, u64)], q: f64) -> f64 {
    let all: u128 = counts.iter().map(|(_, times)| u128::from(*times)).sum();
    let mut below = 0_u128;
    for (value, times) in counts {
        below += u128::from(*times);
        if below as f64 >= q * all as f64 {
            return *value;
        }
    }
    counts.last().map_or(f64::NAN, |(value, _)| *value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hdrhistogram::serialization::{Serializer, V2Serializer};
    use proptest::prelude::*;

    fn encoded(values: &[u64], digits: u8) -> Vec<u8> {
        let mut histogram = Histogram::<u64>::new(digits).unwrap();
        for value in values {
            histogram.record(*value).unwrap();
        }
        let mut bytes = Vec::new();
        V2Serializer::new().serialize(&histogram, &mut bytes).unwrap();
        bytes
    }

    #[test]
    fn what_was_recorded_is_read() {
        let text = STANDARD.encode(encoded(&[5, 5, 5, 100, 900], 3));
        let counts = counts(&text).unwrap();
        assert_eq!(counts, [(5.0, 3), (100.0, 1), (900.0, 1)]);
        assert_eq!([0.1, 0.5, 0.8, 0.99].map(|q| quantile(&counts, q)), [5.0, 5.0, 100.0, 900.0]);
    }

    #[test]
    fn what_is_none_is_refused() {
        for text in ["", "!", "AAAA", "HISTFAAAAA=="] {
            assert_eq!(counts(text), None, "{text}");
        }
        assert_eq!(counts(&STANDARD.encode(encoded(&[1], 5))), None, "five digits");
        assert_eq!(counts(&"A".repeat(MOST + 1)), None);
        // A claim of values that would take minutes to go through.
        for (place, byte) in [(23, 200), (24, 0x40), (11, 1), (7, 1)] {
            let mut bytes = encoded(&[1], 3);
            bytes[place] = byte;
            assert_eq!(counts(&STANDARD.encode(bytes)), None, "byte {place}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn damaged_ones_never_panic(values in prop::collection::vec(0..1_000_000_u64, 0..20), at in any::<prop::sample::Index>(), byte in any::<u8>(), cut in any::<prop::sample::Index>()) {
            let mut bytes = encoded(&values, 3);
            let place = at.index(bytes.len());
            bytes[place] = byte;
            counts(&STANDARD.encode(&bytes));
            counts(&STANDARD.encode(&bytes[..cut.index(bytes.len())]));
        }
    }
}
