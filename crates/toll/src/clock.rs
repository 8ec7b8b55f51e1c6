//! The clock of programs in the kernel.

use std::fs;
use std::os::unix::fs::MetadataExt;
use tollgate_measure::clock::monotonic_ns;

/// The monotonic clock as the kernel has it: that of this process may be in a time namespace, which shifts it.
pub(crate) fn kernel_ns() -> u64 {
    // The offsets are those of children, which may be in another one than this process.
    let [own, children] = ["time", "time_for_children"].map(|it| fs::metadata(format!("/proc/self/ns/{it}")));
    let is_own = own.and_then(|own| Ok(own.ino() == children?.ino())).unwrap_or(false);
    let offsets = if is_own { fs::read_to_string("/proc/self/timens_offsets") } else { Ok(String::new()) };
    let offsets = offsets.unwrap_or_default();
    monotonic_ns().wrapping_sub_signed(offset(&offsets))
}

/// Nanoseconds by which a time namespace is ahead (time_namespaces(7)).
fn offset(offsets: &str) -> i64 {
    let monotonic = offsets.lines().find_map(|line| line.strip_prefix("monotonic"));
    let mut numbers = monotonic.into_iter().flat_map(str::split_whitespace).map(|it| it.parse().unwrap_or(0));
    let (seconds, ns): (i64, i64) = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    seconds.saturating_mul(1_000_000_000).saturating_add(ns)
}

#[cfg(test)]
mod tests {
    use super::offset;

    #[test]
    fn a_namespace_may_be_ahead_or_behind() {
        assert_eq!(
            offset("monotonic       86400         5\nboottime        86400         0\n"),
            86_400_000_000_005
        );
        assert_eq!(offset("monotonic         -10         0\nboottime  0 0\n"), -10_000_000_000);
        assert_eq!(offset(""), 0);
    }
}
