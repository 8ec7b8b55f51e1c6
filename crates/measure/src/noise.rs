//! The noise watch: what else happened on the measured CPU while we measured.
//!
//! Around each batch only two cheap things are read (`batch.rs`): whether the thread was pushed off its CPU, and
//! whether it ended on another. Around a longer span (a round, the whole run) the kernel's accounts are read
//! (`span.rs`): time stolen by the hypervisor, interrupts of devices, and time that the CPU spent on tasks which are
//! not ours. All of it is read outside the clock; what a system does not show is `None`.

mod batch;
mod interrupts;
mod own;
mod span;
mod stat;
mod warn;

use crate::clock::monotonic_ns;
use crate::host::files::Files;
use std::path::Path;

pub use batch::{BatchMark, BatchNoise};
pub use own::{OwnMark, ThreadTime};
pub use span::{CpuMark, CpuNoise, Mark, Share, SpanNoise};
pub use stat::CpuTimes;
pub use warn::warnings;

/// Watches the measured CPU and, where there is one, its peer.
pub struct Watch {
    files: Files,
    cpu: usize,
    peer: Option<usize>,
    tick_ns: u64,
    process: u32,
}

impl Watch {
    /// A watch of this machine, for the calling process and everything that it starts.
    #[must_use]
    pub fn new(cpu: usize, peer: Option<usize>) -> Self {
        // SAFETY: sysconf reads no memory of ours.
        let ticks = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
        let tick_ns = 1_000_000_000 / u64::try_from(ticks).ok().filter(|&hz| hz > 0).unwrap_or(100);
        Self { tick_ns, ..Self::recorded(Path::new("/"), cpu, peer, std::process::id()) }
    }

    /// A watch of a recorded tree, as `process` would have seen it, with the usual 100 ticks a second.
    #[must_use]
    pub fn recorded(root: &Path, cpu: usize, peer: Option<usize>, process: u32) -> Self {
        Self { files: Files::below(root), cpu, peer, tick_ns: 10_000_000, process }
    }

    /// The kernel's accounts now. It reads a file of every process of the system, so take it seconds apart, not around a
    /// batch. The time stamp is CLOCK_MONOTONIC.
    #[must_use]
    pub fn mark(&self) -> Mark {
        self.mark_at(monotonic_ns())
    }

    /// The kernel's accounts, with a time stamp (nanoseconds) of the caller.
    #[must_use]
    pub fn mark_at(&self, at_ns: u64) -> Mark {
        let stat = self.files.text("proc/stat").unwrap_or_default();
        let interrupts = self.files.text("proc/interrupts").unwrap_or_default();
        let one = |cpu| CpuMark {
            cpu,
            times: stat::parse(&stat, cpu),
            device_interrupts: interrupts::of_devices(&interrupts, cpu),
        };
        Mark {
            at_ns,
            measured: one(self.cpu),
            peer: self.peer.map(one),
            own: own::family(&self.files, self.process, self.tick_ns),
        }
    }

    /// The disturbances between two marks.
    #[must_use]
    pub fn span(&self, from: &Mark, to: &Mark) -> SpanNoise {
        span::between(from, to, self.tick_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_what_the_files_say() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("proc/stat", "cpu0 1 0 0 0 0 0 0 0 0 0\ncpu1 2 0 0 0 0 0 0 9 0 0\n");
        write("proc/interrupts", " CPU0 CPU1\n 1: 3 4 IO-APIC\nLOC: 5 6 Local timer\n");
        let mark = Watch::recorded(root.path(), 1, Some(0), 5).mark_at(3);
        assert_eq!((mark.at_ns, mark.own), (3, None));
        assert_eq!(mark.measured.times.unwrap().steal, 9);
        assert_eq!(mark.measured.device_interrupts, Some(4));
        assert_eq!(mark.peer.unwrap().times.unwrap().user, 1);
        assert_eq!(Watch::recorded(root.path(), 1, None, 5).mark_at(3).peer, None);
    }

    #[test]
    fn without_proc_nothing_is_known_and_nothing_is_warned_of() {
        let watch = Watch::recorded(Path::new("/nonexistent"), 1, Some(0), 1);
        let noise = watch.span(&watch.mark_at(0), &watch.mark_at(1_000_000_000));
        assert_eq!(noise.elapsed_ns, 1_000_000_000);
        assert_eq!(noise.measured, CpuNoise { cpu: 1, ..CpuNoise::default() });
        assert_eq!(noise.peer, Some(CpuNoise::default()));
        assert!(warnings(&noise, true).is_empty());
    }
}
