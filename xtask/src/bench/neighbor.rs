//! Neighbors of a measurement: what keeps the other CPU, or the measured one, busy.

use crate::tool::Tool;
use anyhow::{Context, Result};
use std::process::{Child, Command, Stdio};

/// The CPUs that tollgate chooses.
pub(super) fn chosen_cpus(tool: &Tool) -> Result<tollgate_record::host::Cpu> {
    Ok(tool.run(&["run", "null", "--quick"])?.0.host.cpu)
}

/// What keeps another CPU busy.
#[derive(Clone, Copy)]
pub(super) enum Neighbor {
    /// A loop without memory.
    Spinner,
    /// Writes 64 MiB again and again, which floods the last-level cache.
    CacheFlood,
    /// Makes processes.
    ForkLoop,
}

/// Each kind by its name, and none.
pub(super) const NEIGHBORS: [(&str, Option<Neighbor>); 4] = [
    ("quiet", None),
    ("spinner", Some(Neighbor::Spinner)),
    ("cache-flood", Some(Neighbor::CacheFlood)),
    ("fork-loop", Some(Neighbor::ForkLoop)),
];

impl Neighbor {
    /// Starts it on one CPU, until what is returned is dropped.
    pub(super) fn on(self, cpu: usize) -> Result<Running> {
        let script = match self {
            Self::Spinner => "while :; do :; done",
            Self::CacheFlood => "exec dd if=/dev/zero of=/dev/null bs=64M 2>/dev/null",
            Self::ForkLoop => "while :; do (:); done",
        };
        let mut command = Command::new("taskset");
        command.args(["-c", &cpu.to_string(), "sh", "-c", script]).stdin(Stdio::null());
        Ok(Running(command.spawn().context("taskset could not be started: apt-get install util-linux")?))
    }
}

/// A neighbor that runs.
pub(super) struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // `taskset` replaces itself by the shell: what it forks ends by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
