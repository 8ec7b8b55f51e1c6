//! A process that does nothing but use a CPU.

use anyhow::{Context, Result};
use std::process::{Child, Command, Stdio};

/// A busy loop on one CPU; ended when dropped.
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
        // `taskset` and `sh -c` both become the loop, so that this is the one process there is.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
