//! Computes whether a ring fits into memory, before anything is allocated.

use super::spec::Spec;
use tollgate_record::number::bytes;

/// Memory that a task needs besides its array, roughly: page tables, kernel stack, the pages that it copies from its
/// parent.
const PER_PROCESS: u64 = 200 << 10;
const PER_THREAD: u64 = 40 << 10;

/// The memory that a run may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// Bytes.
    pub bytes: u64,
    /// The origin of that bound: `available memory`, `the control group's memory limit`.
    pub bound: &'static str,
}

impl Room {
    /// The tighter of what is available and what the control group allows.
    pub fn of(available: Option<u64>, cgroup: Option<u64>) -> Option<Self> {
        let available = available.map(|bytes| Self { bytes, bound: "available memory" });
        let cgroup = cgroup.map(|bytes| Self { bytes, bound: "the control group's memory limit" });
        available.into_iter().chain(cgroup).min_by_key(|room| room.bytes)
    }
}

/// Why the ring does not fit, with the arithmetic; `None` if it does.
pub fn too_large(spec: &Spec, room: Room) -> Option<String> {
    let (kind, each) = if spec.threads { ("threads", PER_THREAD) } else { ("processes", PER_PROCESS) };
    let procs = u64::from(spec.procs);
    // One more array: the hot run beside the ring has its own.
    let arrays = spec.bytes.checked_mul(procs + 1);
    let need = arrays.and_then(|arrays| arrays.checked_add(procs * each));
    if need.is_some_and(|need| need <= room.bytes) {
        return None;
    }
    let total = need.map_or("more than 16 EiB".into(), |need| bytes(need as f64));
    let fits = (room.bytes / (procs + 1)).saturating_sub(each);
    Some(format!(
        "{procs} {kind} with {} each, one more array for the hot run, and {} for each of the {kind} need {total}, \
         but {} is {}; {}",
        bytes(spec.bytes as f64),
        bytes(each as f64),
        room.bound,
        bytes(room.bytes as f64),
        match fits >> 10 {
            0 => "use fewer --procs".to_owned(),
            kib => format!("use a --size of at most {kib}K, or fewer --procs"),
        }
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(procs: u32, bytes: u64) -> Spec {
        Spec::like_lmbench(procs, bytes, 0)
    }

    #[test]
    fn the_arithmetic_is_shown() {
        let room = Room { bytes: 8 << 30, bound: "available memory" };
        assert_eq!(too_large(&spec(8, 1 << 20), room), None);
        let text = too_large(&spec(63, 1 << 40), room).expect("64 TiB do not fit");
        assert_eq!(
            text,
            "63 processes with 1 TiB each, one more array for the hot run, and 200 KiB for each of the processes \
             need 64.0 TiB, but available memory is 8 GiB; use a --size of at most 130872K, or fewer --procs"
        );
        assert!(too_large(&spec(u32::MAX, u64::MAX), room).is_some_and(|text| text.contains("16 EiB")));
        let empty = too_large(&spec(1_000_000, 0), room).expect("tasks take memory too");
        assert!(empty.ends_with("use fewer --procs"), "{empty}");
    }

    #[test]
    fn the_tighter_bound_counts() {
        let room = Room::of(Some(10), Some(5)).expect("both are known");
        assert_eq!((room.bytes, room.bound), (5, "the control group's memory limit"));
        assert_eq!(Room::of(None, None), None);
        assert_eq!(Room::of(Some(3), None).map(|room| room.bytes), Some(3));
    }
}
