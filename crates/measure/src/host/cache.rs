//! The caches that one CPU can reach.

use super::files::Files;
use tollgate_record::host::Cache;

/// The caches of a CPU, in the order of the system's list; empty if it lists none.
pub(super) fn read(files: &Files, cpu: usize) -> Vec<Cache> {
    let directory = format!("sys/devices/system/cpu/cpu{cpu}/cache");
    files
        .numbered(&directory, "index")
        .into_iter()
        .filter_map(|index| {
            let path = |name: &str| format!("{directory}/index{index}/{name}");
            Some(Cache {
                level: files.number(&path("level"))?,
                kind: files.word(&path("type"))?,
                // Some firmware describes a cache without its size; such an entry is ignored.
                bytes: bytes(&files.word(&path("size"))?)?,
                line_bytes: files.number(&path("coherency_line_size")),
                ways: files.number(&path("ways_of_associativity")).filter(|&ways: &u32| ways > 0),
                shared_by: files.cpus(&path("shared_cpu_list")),
            })
        })
        .collect()
}

/// `48K`, `2M`: bytes.
fn bytes(text: &str) -> Option<u64> {
    let (digits, unit) = match text.as_bytes().last()? {
        b'K' => (&text[..text.len() - 1], 1 << 10),
        b'M' => (&text[..text.len() - 1], 1 << 20),
        b'G' => (&text[..text.len() - 1], 1 << 30),
        _ => (text, 1),
    };
    digits.parse::<u64>().ok()?.checked_mul(unit).filter(|&bytes| bytes > 0)
}

#[cfg(test)]
mod tests {
    use super::bytes;

    #[test]
    fn sizes() {
        assert_eq!(bytes("48K"), Some(49_152));
        assert_eq!(bytes("2M"), Some(2 << 20));
        for wrong in ["", "K", "-1K", "0K", "99999999999999999999K", "18446744073709551615G", "\u{e9}"] {
            assert_eq!(bytes(wrong), None, "{wrong}");
        }
    }
}
