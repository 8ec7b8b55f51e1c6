//! One boot: runs the emulator with a time limit, reads its output, and ends it with all processes that it started.

use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

/// How a boot ended.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum End {
    /// The guest powered off or its kernel panicked: the emulator exited with status 0.
    Off,
    /// It was still running at the limit and was killed.
    Hung,
    /// The emulator itself failed.
    Emulator(String),
}

/// The result of a boot.
#[derive(Clone, Debug)]
pub(super) struct Booted {
    pub(super) end: End,
    /// Everything that the guest and the emulator printed.
    pub(super) console: String,
    pub(super) seconds: f64,
}

/// Runs the emulator until it ends or the limit is reached. No process of it is left afterwards.
///
/// # Errors
/// When it cannot be started.
pub(super) fn boot(mut command: Command, limit: Duration) -> io::Result<Booted> {
    let start = Instant::now();
    let (mut reader, writer) = io::pipe()?;
    command.stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer).process_group(0);
    // SAFETY: prctl is async-signal-safe and takes no pointers here.
    unsafe {
        command.pre_exec(|| match libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        });
    }
    let mut group = Group(command.spawn()?);
    // The command holds our copies of the writing end: while they are open, the output does not end.
    drop(command);
    let (sender, receiver) = mpsc::channel();
    let listener = std::thread::spawn(move || {
        let mut bytes = [0; 4096];
        while let Ok(count @ 1..) = reader.read(&mut bytes) {
            if sender.send(bytes[..count].to_vec()).is_err() {
                break;
            }
        }
    });
    let mut console = Vec::new();
    let hung = loop {
        match receiver.recv_timeout(limit.saturating_sub(start.elapsed())) {
            Ok(bytes) => console.extend(bytes),
            Err(RecvTimeoutError::Disconnected) => break false,
            Err(RecvTimeoutError::Timeout) => break true,
        }
    };
    let end = if hung { End::Hung } else { group.ended(limit.saturating_sub(start.elapsed())) };
    // Kills every process that may still hold the writing end, so that the listener ends.
    drop(group);
    console.extend(receiver.iter().flatten());
    let _ = listener.join();
    let console = String::from_utf8_lossy(&console).into_owned();
    Ok(Booted { end, console, seconds: start.elapsed().as_secs_f64() })
}

/// A process that leads its group; dropping it kills the group.
struct Group(Child);

impl Group {
    /// How the leader ended. Its output has ended before.
    fn ended(&mut self, patience: Duration) -> End {
        let start = Instant::now();
        loop {
            match self.0.try_wait() {
                Ok(Some(status)) if status.success() => return End::Off,
                Ok(Some(status)) => return End::Emulator(status.to_string()),
                Err(error) => return End::Emulator(error.to_string()),
                Ok(None) if start.elapsed() > patience => return End::Hung,
                Ok(None) => std::thread::sleep(Duration::from_millis(5)),
            }
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // The leader was not waited for before this call or right before it: its number is not in use by others.
        let group = self.0.id() as libc::pid_t;
        // SAFETY: takes no pointers; the group is the one of our child.
        unsafe { libc::kill(-group, libc::SIGKILL) };
        let _ = self.0.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::{End, boot};
    use std::process::Command;
    use std::time::Duration;

    fn shell(script: &str, seconds: u64) -> super::Booted {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        boot(command, Duration::from_secs(seconds)).expect("sh starts")
    }

    #[test]
    fn both_streams_are_kept_and_the_end_is_known() {
        let off = shell("echo out; echo err >&2", 60);
        assert_eq!((off.end, off.console.as_str()), (End::Off, "out\nerr\n"));
        let broken = shell("echo no such machine; exit 1", 60);
        assert!(matches!(&broken.end, End::Emulator(status) if status.contains('1')), "{broken:?}");
    }

    #[test]
    fn a_process_that_hangs_is_killed_with_its_children() {
        // The child keeps the pipe open.
        let hung = shell("sleep 1000 & echo $!; wait", 1);
        assert_eq!(hung.end, End::Hung);
        let child = hung.console.trim();
        // A killed process takes a while to disappear, and stays a zombie if its parent does not wait for it.
        let ended = || {
            let state = std::fs::read_to_string(format!("/proc/{child}/stat")).unwrap_or_default();
            state.is_empty() || state.contains(") Z ") || state.contains(") X ")
        };
        let seen = (0..6000).any(|_| {
            std::thread::sleep(Duration::from_millis(10));
            ended()
        });
        assert!(seen, "process {child} still runs");
    }

    #[test]
    fn a_child_that_is_left_behind_does_not_block_the_reader() {
        let left = shell("sleep 1000 & exit 0", 2);
        assert_eq!(left.end, End::Hung);
    }
}
