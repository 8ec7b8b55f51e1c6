//! Processes that a scene made, known by a mark in their environment.

use std::fs;
use std::time::{Duration, Instant};

/// The variable that marks them.
pub(crate) const MARK: &str = "TOLLGATE_TEST_MARK";

/// Longest wait for something that must happen: a limit against hanging, not an expectation.
pub(crate) const LIMIT: Duration = Duration::from_secs(150);

/// A process that carries the mark.
#[derive(Debug)]
pub(crate) struct Process {
    pub(crate) id: i32,
    pub(crate) parent: i32,
    pub(crate) command: String,
}

impl Process {
    pub(crate) fn is_worker(&self) -> bool {
        self.command.contains(" worker --parent ")
    }
}

/// Every living process whose environment has the mark.
pub(crate) fn marked(mark: &str) -> Vec<Process> {
    let needle = format!("{MARK}={mark}\0");
    let Ok(all) = fs::read_dir("/proc") else { return Vec::new() };
    all.flatten()
        .filter_map(|entry| {
            let id: i32 = entry.file_name().to_str()?.parse().ok()?;
            let text = |name| fs::read(entry.path().join(name)).ok();
            let environment = text("environ")?;
            if !environment.windows(needle.len()).any(|part| part == needle.as_bytes()) {
                return None;
            }
            let stat = String::from_utf8_lossy(&text("stat")?).into_owned();
            // The name in brackets may hold anything, blanks and brackets too.
            let mut fields = stat[stat.rfind(')')? + 1..].split_whitespace();
            let (state, parent) = (fields.next()?, fields.next()?.parse().ok()?);
            let command = String::from_utf8_lossy(&text("cmdline")?).replace('\0', " ");
            (state != "Z" && state != "X").then_some(Process { id, parent, command })
        })
        .collect()
}

/// Sends a signal; false when there is no such process any more.
pub(crate) fn signal(id: i32, signal: i32) -> bool {
    assert!(id > 1, "never a group, never everybody");
    // SAFETY: takes integers only.
    unsafe { libc::kill(id, signal) == 0 }
}

/// Waits until `look` finds something.
pub(crate) fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(start.elapsed() < LIMIT, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
