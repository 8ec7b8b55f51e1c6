//! Array sizes chosen from the caches.

use super::need::Room;
use tollgate_record::host::Cache;

/// Footprints as multiples of a cache's size: wherever replacement and sharing put a knee, it is between two of them.
const AROUND: [f64; 4] = [0.5, 0.8, 1.25, 2.5];

/// Array sizes for rings of `procs` tasks whose footprints bracket every data cache of the host, and 0. Rings that
/// need more than a quarter of the room are left out.
pub fn sizes_around(procs: u32, caches: &[Cache], room: Option<Room>) -> Vec<u64> {
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
}
