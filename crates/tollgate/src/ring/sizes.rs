//! Sizes of arrays: a list, or chosen from the caches.

use tollgate_boundary::ring::Room;
use tollgate_record::host::Cache;

/// Which sizes were asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Sizes {
    /// Those that bracket each cache of the host.
    Auto,
    /// These, in bytes.
    These(Vec<u64>),
}

impl Sizes {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        if text.trim() == "auto" {
            return Ok(Self::Auto);
        }
        let sizes: Result<Vec<u64>, String> = text.split(',').map(|size| bytes(size, 1)).collect();
        Ok(Self::These(sizes?))
    }

    /// The sizes for a ring of so many tasks.
    pub(crate) fn of(&self, procs: u32, caches: &[Cache], room: Option<Room>) -> Vec<u64> {
        match self {
            Self::These(sizes) => sizes.clone(),
            Self::Auto => auto(procs, caches, room.map_or(u64::MAX, |room| room.bytes / 4)),
        }
    }
}

/// Footprints that stand to each cache's size as these do, so that a knee lies between two of them wherever
/// replacement and sharing put it.
const AROUND: [f64; 4] = [0.5, 0.8, 1.25, 2.5];

/// Sizes whose footprints bracket every data cache, and none. What needs more than `most` is left out.
fn auto(procs: u32, caches: &[Cache], most: u64) -> Vec<u64> {
    let data = caches.iter().filter(|cache| cache.kind != "Instruction");
    let footprints = data.flat_map(|cache| AROUND.map(|share| cache.bytes as f64 * share));
    let each = |footprint: f64| ((footprint / f64::from(procs) / 1024.0).round() as u64).max(1) * 1024;
    let fits = |size: &u64| size.saturating_mul(procs.into()) <= most;
    let mut sizes: Vec<u64> = std::iter::once(0).chain(footprints.map(each)).filter(fits).collect();
    if sizes.len() < 2 {
        // A host that tells nothing of its caches.
        sizes = [0, 4, 16, 64, 256, 1024].map(|kib| kib << 10).into();
    }
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

/// `64K`, `1M`, `2G`, or a number of `unit` bytes.
pub(crate) fn bytes(text: &str, unit: u64) -> Result<u64, String> {
    let text = text.trim();
    let wrong = || format!("'{text}' is no size: a whole number from 0, with K, M or G, for example 64K");
    let (digits, unit) = match text.char_indices().last() {
        Some((at, 'k' | 'K')) => (&text[..at], 1 << 10),
        Some((at, 'm' | 'M')) => (&text[..at], 1 << 20),
        Some((at, 'g' | 'G')) => (&text[..at], 1 << 30),
        _ => (text, unit),
    };
    if !digits.starts_with(|c: char| c.is_ascii_digit()) {
        return Err(wrong());
    }
    let number: u64 = digits.parse().map_err(|_| wrong())?;
    number.checked_mul(unit).ok_or_else(|| format!("{text} is more than an address can name; try 64K"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read() {
        assert_eq!(
            Sizes::parse("0,16K,1m,2G,100"),
            Ok(Sizes::These(vec![0, 16 << 10, 1 << 20, 2 << 30, 100]))
        );
        assert_eq!(Sizes::parse("auto"), Ok(Sizes::Auto));
        assert_eq!(bytes("64", 1024), Ok(65_536));
        for wrong in ["", "K", "abc", "-1", "+1", "1.5K", "16KB", "1,,2", "99999999999G", "\u{e9}"] {
            assert!(Sizes::parse(wrong).is_err(), "{wrong}");
        }
    }

    fn cache(level: u32, kind: &str, bytes: u64) -> Cache {
        Cache { level, kind: kind.into(), bytes, ..Cache::default() }
    }

    #[test]
    fn auto_brackets_every_data_cache() {
        let caches = [cache(1, "Data", 48 << 10), cache(1, "Instruction", 1), cache(2, "Unified", 1 << 20)];
        for procs in [2_u32, 8, 32] {
            let sizes = auto(procs, &caches, u64::MAX);
            assert_eq!(sizes[0], 0);
            for bytes in [48 << 10, 1 << 20] {
                let footprint = |size: &u64| size * u64::from(procs);
                assert!(sizes.iter().any(|size| *size > 0 && footprint(size) < bytes), "{procs}: {sizes:?}");
                assert!(sizes.iter().any(|size| footprint(size) > bytes), "{procs}: {sizes:?}");
            }
        }
        assert!(auto(2, &caches, 1 << 20).iter().all(|size| size * 2 <= 1 << 20));
        assert!(auto(2, &[], u64::MAX).len() > 2);
    }
}
