//! A process that keeps a CPU busy.

use anyhow::{Context, Result};
use std::process::{Child, Command, Stdio};

/// A busy loop on one CPU, which ends when this is dropped.
pub(crate) struct Spinner {
    child: Child,
}

impl Spinner {
    pub(crate) fn on(cpu: u64) -> Result<Self> {
        let mut command = Command::new("taskset");
        command.args(["-c", &cpu.to_string(), "sh", "-c", "while :; do :; done"]).stdin(Stdio::null());
        let child = command.spawn().context("taskset could not be started: apt-get install util-linux")?;
        Ok(Self { child })
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        // `taskset` replaces itself by the shell: the child is the only process.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
