//! The misses of a sweep over shapes of a cache, as a result has them.

use std::collections::BTreeMap;
use tollgate_record::Measurement;

/// Misses by line and ways, each over the number of sets.
pub(crate) type Sweep = BTreeMap<(u32, u32), Vec<(u32, f64)>>;

/// The sweep of a result; empty without one.
pub(crate) fn sweep(result: &Measurement) -> Sweep {
    let whole = |x: f64| (x.is_finite() && (1.0..=f64::from(u32::MAX)).contains(&x)).then_some(x as u32);
    let named = result.series.iter().filter_map(|series| Some((shape(&series.name)?, series)));
    named
        .map(|(shape, series)| {
            let points = series.points.iter().filter_map(|&[sets, misses]| Some((whole(sets)?, misses)));
            (shape, points.filter(|(_, misses)| misses.is_finite()).collect::<Vec<_>>())
        })
        .filter(|(_, points)| !points.is_empty())
        .collect()
}

/// `sweep/4-way/64-byte-lines`: ways and line.
fn shape(name: &str) -> Option<(u32, u32)> {
    let (ways, line) = name.strip_prefix("sweep/")?.split_once('/')?;
    Some((line.strip_suffix("-byte-lines")?.parse().ok()?, ways.strip_suffix("-way")?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::shape;

    #[test]
    fn shapes_are_read_from_their_names_and_nothing_else_is() {
        assert_eq!(shape("sweep/4-way/64-byte-lines"), Some((64, 4)));
        for name in ["miss-ratio", "sweep/", "sweep/x-way/4-byte-lines", "sweep/4-way/4-byte-lines<b>"] {
            assert_eq!(shape(name), None, "{name}");
        }
    }
}
