//! Runs the process that touches, and waits for it.

use crate::file::ScannedFile;
use crate::memory_limit::{Group, MemoryLimit};
use crate::touch::{Mark, TouchJob, Touched, Usage};
use crate::{ScanError, ScanPlan};
use std::io::{self, Read};
use std::os::fd::AsRawFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tollgate_supervise::{Ended, Patience, Tree};

/// How a scan ended.
pub(crate) struct ScanEnd {
    /// The report of the process, or the reason why there is none.
    pub(crate) touched: Result<Touched, String>,
    /// The kernel's counts from its start to its end.
    pub(crate) usage: Usage,
    /// The time from its start to its end.
    pub(crate) elapsed: Duration,
}

/// The time that a process has to end after a request to stop.
const LEAVE: Duration = Duration::from_secs(5);

/// Runs a scan to its end.
pub(crate) fn run(
    plan: &ScanPlan,
    bytes: u64,
    file: &ScannedFile,
    limit: Option<&MemoryLimit>,
    most_ns: u64,
    stop: &AtomicBool,
    so_far: &mut dyn FnMut(ScanEnd),
) -> Result<ScanEnd, ScanError> {
    let job = TouchJob {
        bytes,
        pattern: plan.pattern,
        advice: plan.advice,
        seed: plan.seed,
        cpu: plan.cpu,
        source: plan.source,
        parent: std::process::id(),
        most_ns,
    };
    let text = serde_json::to_string(&job).map_err(io::Error::from);
    let text = text.map_err(ScanError::system("write the job of the scan"))?;
    let group =
        limit.map(MemoryLimit::group).transpose().map_err(ScanError::system("make a control group"))?;
    let group = group.flatten();
    let words = limit.map_or_else(|| plan.toucher.clone(), |limit| limit.words(&plan.toucher));
    let command = || {
        let mut command = Command::new(words.first().cloned().unwrap_or_default());
        command.args(words.iter().skip(1)).arg(&text);
        let input = file.file.try_clone().map_or_else(|_| Stdio::null(), Stdio::from);
        command.stdin(input).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    };
    let start = Instant::now();
    let mut tree = match Tree::start(command, group.as_ref().map(Group::join)) {
        Ok(tree) => tree,
        Err(error) => {
            let why = match limit {
                Some(limit) => too_small(limit, group.as_ref(), &error.to_string()),
                None => error.to_string(),
            };
            return Ok(ScanEnd { touched: Err(why), usage: Usage::default(), elapsed: start.elapsed() });
        }
    };
    let output = listen(&mut tree, stop, &mut |marks| {
        let Some(last) = marks.last() else { return };
        let elapsed = Duration::from_nanos(last.ns);
        so_far(ScanEnd { touched: Ok(job.so_far(marks)), usage: last.usage, elapsed });
    });
    let Ended { status, usage } = tree.wait();
    let (elapsed, usage) = (start.elapsed(), Usage::of(&usage));
    let message = || {
        let mut text = String::new();
        if let Some(stderr) = &mut tree.stderr {
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

/// Reads the output of the process, reports its marks as they come, and forwards the request to stop. Returns
/// the last line.
fn listen(tree: &mut Tree, stop: &AtomicBool, report: &mut dyn FnMut(&[Mark])) -> Vec<u8> {
    let (mut output, mut marks) = (Vec::new(), Vec::new());
    let Some(mut stdout) = tree.stdout.take() else { return output };
    let mut patience = Patience::new(LEAVE);
    let mut asked: Option<Instant> = None;
    let mut buffer = [0_u8; 1 << 16];
    loop {
        let mut poll = libc::pollfd { fd: stdout.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one valid entry.
        let ready = unsafe { libc::poll(&mut poll, 1, 100) };
        if ready > 0 {
            match stdout.read(&mut buffer) {
                Ok(0) => return output,
                Ok(bytes) => {
                    output.extend_from_slice(&buffer[..bytes]);
                    while output.first() == Some(&b'[')
                        && let Some(end) = output.iter().position(|&byte| byte == b'\n')
                    {
                        let line: Vec<u8> = output.drain(..=end).collect();
                        marks.extend(serde_json::from_slice::<Vec<Mark>>(&line).unwrap_or_default());
                        report(&marks);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return output,
            }
        }
        match asked {
            None if stop.load(Ordering::Relaxed) => {
                tree.signal(libc::SIGTERM as u8);
                asked = Some(Instant::now());
            }
            Some(since) if since.elapsed() > LEAVE => {
                if patience.after(since.elapsed(), tree.id()).is_none() {
                    tree.end();
                }
                asked = Some(Instant::now());
            }
            _ => {}
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
