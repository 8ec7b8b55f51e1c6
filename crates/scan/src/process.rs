//! Runs the process that touches, and waits for it.

use crate::file::ScannedFile;
use crate::memory_limit::{Group, MemoryLimit};
use crate::touch::{TouchJob, Touched, Usage};
use crate::{ScanError, ScanPlan};
use std::io::Read;
use std::os::fd::AsRawFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use std::{io, mem};

/// How a scan ended.
pub(crate) struct ScanEnd {
    /// What the process reported, or why it reported nothing.
    pub(crate) touched: Result<Touched, String>,
    /// What the kernel counted from its start to its end.
    pub(crate) usage: Usage,
    /// The time from its start to its end.
    pub(crate) elapsed: Duration,
}

/// How long a process that was asked to end may take.
const LEAVE: Duration = Duration::from_secs(5);

/// Runs a scan to its end.
pub(crate) fn run(
    plan: &ScanPlan,
    bytes: u64,
    file: &ScannedFile,
    limit: Option<&MemoryLimit>,
    stop: &AtomicBool,
) -> Result<ScanEnd, ScanError> {
    let job = TouchJob {
        bytes,
        pattern: plan.pattern,
        advice: plan.advice,
        seed: plan.seed,
        cpu: plan.cpu,
        source: plan.source,
        parent: std::process::id(),
    };
    let job = serde_json::to_string(&job).map_err(io::Error::from);
    let job = job.map_err(ScanError::system("write the job of the scan"))?;
    let (mut command, group) = match limit {
        Some(limit) => limit.command(&plan.toucher).map_err(ScanError::system("make a control group"))?,
        None => (crate::memory_limit::plain_command(&plan.toucher), None),
    };
    let input = file.file.try_clone().map_err(ScanError::system("share the scanned file"))?;
    command.arg(job).stdin(input).stdout(Stdio::piped()).stderr(Stdio::piped());
    // In a process group of its own it does not receive the terminal's Ctrl-C: it is asked to end, and then
    // reports how far it has come.
    command.process_group(0);
    let start = Instant::now();
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => {
            let why = match limit {
                Some(limit) => too_small(limit, group.as_ref(), &error.to_string()),
                None => error.to_string(),
            };
            return Ok(ScanEnd { touched: Err(why), usage: Usage::default(), elapsed: start.elapsed() });
        }
    };
    let output = listen(&mut child, stop);
    let (status, usage) = wait(&child).map_err(ScanError::system("wait for the scan"))?;
    let elapsed = start.elapsed();
    let message = || {
        let mut text = String::new();
        if let Some(stderr) = &mut child.stderr {
            let _ = stderr.read_to_string(&mut text);
        }
        text.trim().trim_start_matches("tollgate: ").to_owned()
    };
    let touched = match serde_json::from_slice::<Touched>(&output) {
        Ok(touched) if status.success() => Ok(touched),
        _ => Err(why(status, limit, group.as_ref(), message)),
    };
    Ok(ScanEnd { touched, usage, elapsed })
}

/// Reads all that the process prints, and passes on that it should stop.
fn listen(child: &mut Child, stop: &AtomicBool) -> Vec<u8> {
    let mut output = Vec::new();
    let Some(mut stdout) = child.stdout.take() else { return output };
    let id = child.id() as libc::pid_t;
    let mut asked: Option<Instant> = None;
    let mut buffer = [0_u8; 1 << 16];
    loop {
        let mut poll = libc::pollfd { fd: stdout.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one valid entry.
        let ready = unsafe { libc::poll(&mut poll, 1, 100) };
        if ready > 0 {
            match stdout.read(&mut buffer) {
                Ok(0) => return output,
                Ok(bytes) => output.extend_from_slice(&buffer[..bytes]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return output,
            }
        }
        if stop.load(Ordering::Relaxed) {
            let signal = match asked {
                None => Some(libc::SIGTERM),
                Some(since) if since.elapsed() > LEAVE => Some(libc::SIGKILL),
                Some(_) => None,
            };
            asked.get_or_insert_with(Instant::now);
            if let Some(signal) = signal {
                // SAFETY: the child is ours and has not been waited for.
                unsafe { libc::kill(id, signal) };
            }
        }
    }
}

/// Waits for the process, and reads what it used.
fn wait(child: &Child) -> io::Result<(ExitStatus, Usage)> {
    let mut status = 0;
    // SAFETY: rusage is plain data for which all zeroes is valid.
    let mut usage: libc::rusage = unsafe { mem::zeroed() };
    loop {
        // SAFETY: both are valid places to write to, and nobody else waits for this child.
        if unsafe { libc::wait4(child.id() as libc::pid_t, &mut status, 0, &mut usage) } >= 0 {
            return Ok((ExitStatus::from_raw(status), Usage::of(&usage)));
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

/// Why there is no result.
fn why(
    status: ExitStatus,
    limit: Option<&MemoryLimit>,
    group: Option<&Group>,
    message: impl FnOnce() -> String,
) -> String {
    match (status.signal(), limit) {
        (Some(libc::SIGKILL), Some(limit)) => too_small(limit, group, "it was killed"),
        (Some(signal), _) => format!("the scan was ended by signal {signal}"),
        (None, _) => match message() {
            text if text.is_empty() => format!("the scan gave no result ({status})"),
            text => text,
        },
    }
}

/// The memory limit as the likely reason for an end.
fn too_small(limit: &MemoryLimit, group: Option<&Group>, what: &str) -> String {
    let mib = limit.bytes >> 20;
    if group.is_some_and(|group| group.killed() > 0) {
        format!(
            "--memory-limit {mib}M is too small to run at all: the kernel killed the scan; give 16M or more"
        )
    } else {
        format!("the scan under --memory-limit {mib}M did not run ({what}); try 16M or more")
    }
}
