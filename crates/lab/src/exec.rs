//! A program of the user's inside a real kernel, or alone: every instruction between its `execve` and its end, charged to the
//! program, its libraries and the kernel.
//!
//! The figures are exact: the same program on the same kernel takes the same instructions, and on a core the same cycles, on every
//! host and every time.

mod bill;
mod calls;
mod code;
mod crossing;
mod drmemtrace;
mod inlined;
mod job;
mod linux;
mod parked;
mod proxy;
mod task;
mod timeline;
mod tree;
mod watch;

use std::path::Path;

use sha2::{Digest, Sha256};

pub use code::ObjectError;
pub use job::{Alone, Ended, ExecError, ExecJob, Limits, Outcome, PassOn, Ran, Views};
pub use linux::{Linux, Ready};
pub use tree::TreeError;

use tree::Rooted;

/// A program with all its files.
pub struct Prepared {
    job: ExecJob,
    rooted: Rooted,
}

impl Prepared {
    /// Collects the files of a program.
    ///
    /// # Errors
    /// What is missing, by name; a program for another machine.
    pub fn new(job: ExecJob) -> Result<Self, ExecError> {
        let rooted = tree::collect(&job.program, job.root.as_deref(), &job.sysroot, &job.files)?;
        Ok(Self { job, rooted })
    }

    /// The program, as it was named.
    #[must_use]
    pub fn program(&self) -> &str {
        &self.job.program
    }

    /// The SHA-256 of the program's file.
    #[must_use]
    pub fn program_hash(&self) -> String {
        hash(self.rooted.tree.file(&self.rooted.program).unwrap_or_default())
    }

    /// That of all its files: their paths, modes and contents.
    #[must_use]
    pub fn files_hash(&self) -> String {
        hash(&self.rooted.tree.archive().unwrap_or_default())
    }

    /// Runs it inside of Linux.
    ///
    /// # Errors
    /// The program cannot be started, or the kernel ended.
    pub fn run(&self, ready: Ready, limits: &Limits<'_>) -> Result<Ran, ExecError> {
        let Self { job, rooted } = self;
        let mut words = format!("{}\0", tree::WORK).into_bytes();
        let arguments = std::iter::once(self.name()).chain(job.arguments.iter().map(String::as_str));
        for (kind, word) in
            arguments.map(|word| ('a', word)).chain(job.environment.iter().map(|word| ('e', word.as_str())))
        {
            words.extend(format!("{kind}{word}\0").bytes());
        }
        ready.run(rooted, &words, job, limits)
    }

    /// Runs a static program without a kernel; its calls are answered by the host.
    ///
    /// # Errors
    /// A program that is not static, or cannot be loaded.
    pub fn run_alone(&self, machine: Alone, limits: &Limits<'_>) -> Result<Ran, ExecError> {
        proxy::run(&self.rooted, &self.job, self.name(), machine, limits)
    }

    /// The program's name in the guest.
    fn name(&self) -> &str {
        let given = &self.job.program;
        // Who names a program without a slash names one in the search path, and the kernel has none.
        if given.contains('/') && !Path::new(given).is_absolute() { given } else { &self.rooted.program }
    }
}

/// SHA-256 in hexadecimal.
#[must_use]
pub fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
