//! Memory and swap.

use super::files::{Files, value};
use tollgate_record::Host;

/// Reads sizes and the choice of transparent huge pages.
pub(super) fn read(files: &Files, host: &mut Host) {
    let info = files.text("proc/meminfo").unwrap_or_default();
    host.memory_bytes = bytes(&info, "MemTotal");
    host.memory_available_bytes = bytes(&info, "MemAvailable");
    host.swap_bytes = bytes(&info, "SwapTotal");
    host.swap_used_bytes =
        host.swap_bytes.zip(bytes(&info, "SwapFree")).map(|(total, free)| total.saturating_sub(free));
    host.free_page_reporting = free_page_reporting(files);
    host.transparent_huge_pages =
        files.text("sys/kernel/mm/transparent_hugepage/enabled").and_then(|line| chosen(&line));
}

/// Whether a balloon device of this guest reports free pages to its host, which takes them back.
fn free_page_reporting(files: &Files) -> Option<bool> {
    /// The device number of a virtio balloon, and the number of the feature's bit.
    const BALLOON: &str = "0x0005";
    const REPORTING: usize = 5;
    let devices = "sys/bus/virtio/devices";
    files
        .names(devices)
        .iter()
        .filter(|name| files.word(&format!("{devices}/{name}/device")).as_deref() == Some(BALLOON))
        .filter_map(|name| files.word(&format!("{devices}/{name}/features")))
        .map(|bits| bits.as_bytes().get(REPORTING) == Some(&b'1'))
        .reduce(|one, other| one || other)
}

/// A line of meminfo, `MemTotal:  16 kB`, in bytes.
fn bytes(info: &str, key: &str) -> Option<u64> {
    value(info, key)?.strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// The word in brackets of `always [madvise] never`.
fn chosen(line: &str) -> Option<String> {
    let (_, rest) = line.split_once('[')?;
    let (word, _) = rest.split_once(']')?;
    Some(word.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_make_no_sense_are_no_fact() {
        assert_eq!(bytes("MemTotal:   2 kB\n", "MemTotal"), Some(2048));
        for wrong in ["", "MemTotal:", "MemTotal: kB", "MemTotal: 18446744073709551615 kB", "MemTotal: 5 MB"]
        {
            assert_eq!(bytes(wrong, "MemTotal"), None, "{wrong}");
        }
        assert_eq!(chosen("always [madvise] never\n").as_deref(), Some("madvise"));
        assert_eq!(chosen("always madvise] never"), None);
    }
}
