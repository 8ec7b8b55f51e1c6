//! Commands as processes of their own: their output line by line, how they end, and the processor time they used.

use anyhow::{Context, Result, bail, ensure};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use tollgate_testkit::Missing;

/// The exit status of a command that cannot run here because something is missing, as of a skipped test of Automake.
pub(crate) const MISSING: u8 = 77;

/// How a process ended.
pub(super) struct Ended {
    pub(super) status: ExitStatus,
    /// Processor seconds of the process and of all descendants that were waited for.
    pub(super) cpu: f64,
}

/// Runs a command, writes its output immediately, and calls `line` for each line.
pub(super) fn watch(command: &mut Command, out: &mut dyn Write, mut line: impl FnMut(&str)) -> Result<Ended> {
    let (reader, writer) = std::io::pipe().context("no pipe could be made: raise the limit on open files")?;
    let child = start(command.stdout(writer.try_clone()?).stderr(writer))?;
    // The command holds our copies of the writing end: while they are open, the output does not end.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut reader = BufReader::new(reader);
    let mut bytes = Vec::new();
    while reader.read_until(b'\n', &mut bytes)? > 0 {
        out.write_all(&bytes)?;
        line(String::from_utf8_lossy(&bytes).trim_end());
        bytes.clear();
    }
    wait(&child)
}

/// Waits for a process, as the standard library does, and asks what it used.
fn wait(child: &Child) -> Result<Ended> {
    let mut status = 0;
    // SAFETY: all zeroes is a valid `rusage`; both places are valid for writing.
    let (usage, ended) = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        let ended = libc::wait4(child.id().cast_signed(), &mut status, 0, &mut usage);
        (usage, ended)
    };
    ensure!(ended > 0, std::io::Error::last_os_error());
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 * 1e-6;
    Ok(Ended { status: ExitStatus::from_raw(status), cpu: seconds(usage.ru_utime) + seconds(usage.ru_stime) })
}

pub(super) fn start(command: &mut Command) -> Result<Child> {
    let name = command.get_program().to_owned();
    command.spawn().with_context(|| format!("{} could not be started", name.display()))
}

/// Runs a command that prints for itself.
pub(super) fn finish(command: &mut Command) -> Result<()> {
    let status = start(command)?.wait()?;
    ensure!(status.success(), "{status}");
    Ok(())
}

/// What a command of this program says by its exit status and the last line of its output.
pub(super) fn outcome(status: ExitStatus, output: &[u8]) -> Result<()> {
    match status.code() {
        Some(0) => Ok(()),
        Some(code) if code == i32::from(MISSING) => Err(Missing(reason(output)).into()),
        Some(1) => bail!(reason(output)),
        _ => bail!("{status}"),
    }
}

/// The last line, without its `error: `.
fn reason(output: &[u8]) -> String {
    let text = String::from_utf8_lossy(output);
    let last = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it gave no reason");
    last.trim_start_matches("error: ").to_owned()
}

#[cfg(test)]
mod tests {
    use super::{Command, Missing, outcome, reason, watch};

    #[test]
    fn both_streams_are_read_to_their_end() {
        let (mut shown, mut lines) = (Vec::new(), Vec::new());
        let mut command = Command::new("sh");
        command.args(["-c", "echo out; echo err >&2; printf last; exit 3"]);
        let ended = watch(&mut command, &mut shown, |line| lines.push(line.to_owned()));
        assert_eq!(ended.expect("sh runs").status.code(), Some(3));
        assert_eq!(lines, ["out", "err", "last"]);
        assert_eq!(shown, b"out\nerr\nlast");
    }

    /// The processor time of a descendant is known to the kernel, so no clock judges here: without it the sum would be zero.
    #[test]
    fn the_processor_time_of_descendants_counts() {
        let mut command = Command::new("sh");
        command.args(["-c", "sh -c 'n=0; while [ $n -lt 200000 ]; do n=$((n + 1)); done'; true"]);
        assert!(watch(&mut command, &mut Vec::new(), |_| {}).expect("sh runs").cpu > 0.0);
    }

    #[test]
    fn a_missing_program_is_named() {
        let mut command = Command::new("no-such-program-anywhere");
        let error = watch(&mut command, &mut Vec::new(), |_| {}).map(drop).expect_err("it is missing");
        assert!(error.to_string().contains("no-such-program-anywhere"), "{error}");
    }

    #[test]
    fn what_is_missing_or_failed_is_the_last_line() {
        let said = b"  pip3 install\nerror: pip cannot reach its registry\n\n";
        assert_eq!(reason(said), "pip cannot reach its registry");
        assert_eq!(reason(b""), "it gave no reason");
        for (code, missing) in [("77", true), ("1", false)] {
            let mut command = Command::new("sh");
            let status = command.args(["-c", &format!("exit {code}")]).status().expect("sh runs");
            let error = outcome(status, said).expect_err("it did not end well");
            assert_eq!(error.to_string(), "pip cannot reach its registry");
            assert_eq!(error.is::<Missing>(), missing);
        }
    }
}
