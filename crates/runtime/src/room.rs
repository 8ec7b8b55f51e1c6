//! Whether a number of tasks fits into memory, calculated before anything starts.

use crate::table::{Mechanism, Runtime};
use tollgate_record::number::bytes;

/// The memory that may be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// Bytes.
    pub bytes: u64,
    /// The origin of the number: `--memory`, `half of the available memory`.
    pub bound: &'static str,
}

impl Room {
    /// Half of the available memory, or of the control group's limit, whichever is less.
    pub fn of(available: Option<u64>, cgroup: Option<u64>) -> Option<Self> {
        let available =
            available.map(|bytes| Self { bytes: bytes / 2, bound: "half of the available memory" });
        let cgroup =
            cgroup.map(|bytes| Self { bytes: bytes / 2, bound: "half of the control group's memory limit" });
        available.into_iter().chain(cgroup).min_by_key(|room| room.bytes)
    }

    /// The bytes that a runtime needs for a number of tasks; `None` if they exceed 64 bits.
    pub fn need(runtime: &Runtime, mechanism: &Mechanism, tasks: u64) -> Option<u64> {
        tasks.checked_mul(mechanism.task_bytes)?.checked_add(runtime.base_bytes)
    }

    /// Why a number of tasks does not fit, with the calculation; `None` if it fits.
    pub fn refuse(self, runtime: &Runtime, mechanism: &Mechanism, tasks: u64) -> Option<String> {
        let need = Self::need(runtime, mechanism, tasks);
        if need.is_some_and(|need| need <= self.bytes) {
            return None;
        }
        let fits = self.bytes.saturating_sub(runtime.base_bytes) / mechanism.task_bytes.max(1);
        Some(format!(
            "{}/{}: {tasks} tasks of {} and {} for the process need {}, but {} is {}; {}",
            runtime.id,
            mechanism.id,
            bytes(mechanism.task_bytes as f64),
            bytes(runtime.base_bytes as f64),
            need.map_or("more than 16 EiB".into(), |need| bytes(need as f64)),
            self.bound,
            bytes(self.bytes as f64),
            match fits {
                0 | 1 => "allow more with --memory".to_owned(),
                fits => format!("use at most {fits} tasks, or more --memory"),
            }
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Sources, Table};

    #[test]
    fn what_does_not_fit_is_refused_with_the_arithmetic() {
        let table = Table::parse(&Sources::Embedded.table().unwrap()).unwrap();
        let mut runtime = table.runtimes[0].clone();
        runtime.base_bytes = 8 << 20;
        let mechanism = Mechanism { task_bytes: 8192, ..runtime.mechanisms[0].clone() };
        let room = Room { bytes: (8 << 20) + 100 * 8192, bound: "--memory" };
        assert_eq!(room.refuse(&runtime, &mechanism, 100), None);
        let why = room.refuse(&runtime, &mechanism, 101).unwrap();
        assert!(why.contains("101 tasks of 8 KiB and 8 MiB for the process need 8.8 MiB"), "{why}");
        assert!(why.contains("--memory is 8.8 MiB; use at most 100 tasks"), "{why}");
        assert!(room.refuse(&runtime, &mechanism, u64::MAX).unwrap().contains("more than 16 EiB"));
        let tight = Room { bytes: 1, bound: "--memory" };
        assert!(tight.refuse(&runtime, &mechanism, 2).unwrap().contains("allow more with --memory"));
    }

    #[test]
    fn the_tighter_bound_counts() {
        assert_eq!(Room::of(Some(100), Some(80)).unwrap().bytes, 40);
        assert!(Room::of(Some(100), Some(300)).unwrap().bound.contains("available"));
        assert_eq!(Room::of(None, None), None);
    }
}
