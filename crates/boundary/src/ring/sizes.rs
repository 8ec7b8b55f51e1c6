//! The numbers of tasks and the array sizes that a person types, and array sizes chosen from the caches.

use super::need::Room;
use tollgate_record::host::Cache;
use tollgate_record::parse::bytes;

/// Footprints as multiples of a cache's size: wherever replacement and sharing put a knee, it is between two of them.
const AROUND: [f64; 4] = [0.5, 0.8, 1.25, 2.5];

/// Array sizes for rings of `procs` tasks whose footprints bracket every data cache of the host, and 0. Rings that
/// need more than a quarter of the room are left out.
fn sizes_around(procs: u32, caches: &[Cache], room: Option<Room>) -> Vec<u64> {
    let most = room.map_or(u64::MAX, |room| room.bytes / 4);
    let data = caches.iter().filter(|cache| cache.kind != "Instruction");
    let footprints = data.flat_map(|cache| AROUND.map(|share| cache.bytes as f64 * share));
    let each = |footprint: f64| ((footprint / f64::from(procs) / 1024.0).round() as u64).max(1) * 1024;
    let fits = |size: &u64| size.saturating_mul(procs.into()) <= most;
    let mut sizes: Vec<u64> = std::iter::once(0).chain(footprints.map(each)).filter(fits).collect();
    if sizes.len() < 2 {
        // The host does not describe its caches.
        sizes = [0, 4, 16, 64, 256, 1024].map(|kib| kib << 10).into();
    }
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

/// Which sizes were asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sizes {
    /// Those that bracket each cache of the host.
    Auto,
    /// These, in bytes.
    These(Vec<u64>),
}

impl Sizes {
    /// Parses sizes with commas between them, or `auto`.
    ///
    /// # Errors
    /// A size that is not one.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.trim() == "auto" {
            return Ok(Self::Auto);
        }
        let sizes: Result<Vec<u64>, String> = text.split(',').map(|size| bytes(size, 1)).collect();
        Ok(Self::These(sizes?))
    }

    /// The sizes for a ring of `procs` tasks.
    pub fn of(&self, procs: u32, caches: &[Cache], room: Option<Room>) -> Vec<u64> {
        match self {
            Self::These(sizes) => sizes.clone(),
            Self::Auto => sizes_around(procs, caches, room),
        }
    }
}

/// The largest ring.
const MOST_PROCS: u32 = 1_000_000;

/// Parses a number of tasks: at least two, because one does not switch.
///
/// # Errors
/// A text that is not a number of tasks from 2 to 1,000,000.
pub fn procs(text: &str) -> Result<u32, String> {
    let why = match text.trim().parse::<i64>() {
        Err(_) => "a number of tasks is a whole number from 2, for example 8".into(),
        Ok(procs) if procs < 2 => {
            format!("a ring needs at least 2 tasks, because {procs} cannot switch: try 2")
        }
        Ok(procs) => match u32::try_from(procs).ok().filter(|&procs| procs <= MOST_PROCS) {
            Some(procs) => return Ok(procs),
            None => format!("a ring has at most {MOST_PROCS} tasks, for example 10000"),
        },
    };
    Err(why)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache(level: u32, kind: &str, bytes: u64) -> Cache {
        Cache { level, kind: kind.into(), bytes, ..Cache::default() }
    }

    #[test]
    fn auto_brackets_every_data_cache() {
        let caches = [cache(1, "Data", 48 << 10), cache(1, "Instruction", 1), cache(2, "Unified", 1 << 20)];
        for procs in [2_u32, 8, 32] {
            let sizes = sizes_around(procs, &caches, None);
            assert_eq!(sizes[0], 0);
            for bytes in [48 << 10, 1 << 20] {
                let footprint = |size: &u64| size * u64::from(procs);
                assert!(sizes.iter().any(|size| *size > 0 && footprint(size) < bytes), "{procs}: {sizes:?}");
                assert!(sizes.iter().any(|size| footprint(size) > bytes), "{procs}: {sizes:?}");
            }
        }
        let room = Room { bytes: 4 << 20, bound: "available memory" };
        assert!(sizes_around(2, &caches, Some(room)).iter().all(|size| size * 2 <= 1 << 20));
        assert!(sizes_around(2, &[], None).len() > 2);
    }

    #[test]
    fn sizes_are_read() {
        assert_eq!(
            Sizes::parse("0,16K,1m,2G,100,16KB"),
            Ok(Sizes::These(vec![0, 16 << 10, 1 << 20, 2 << 30, 100, 16_000]))
        );
        assert_eq!(Sizes::parse("auto"), Ok(Sizes::Auto));
        for wrong in ["", "K", "abc", "-1", "+1", "1.5K", "1,,2", "99999999999G", "\u{e9}"] {
            assert!(Sizes::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn two_or_more() {
        assert_eq!(procs("2"), Ok(2));
        assert_eq!(procs("10000"), Ok(10_000));
        for wrong in ["0", "1", "-1", "x", "", "2.5", "1000001", "99999999999999999999"] {
            let why = procs(wrong).expect_err(wrong);
            assert!(why.contains("2") || why.contains("10000"), "{wrong}: {why}");
        }
    }
}
