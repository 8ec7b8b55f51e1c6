//! One boot: the emulator with a time limit, read while it runs, and ended with all that it started.

use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

/// How a boot ended.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum End {
    /// The guest switched itself off, or its kernel panicked: the emulator left with status 0.
    Off,
    /// It was still running at the limit, and was killed.
    Hung,
    /// The emulator itself failed.
    Emulator(String),
}

/// What a boot left.
#[derive(Clone, Debug)]
pub(super) struct Booted {
    pub(super) end: End,
    /// Everything that the guest and the emulator printed.
    pub(super) console: String,
    pub(super) seconds: f64,
}

/// Runs the emulator until it ends or `limit` is over. Nothing of it is left afterwards.
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
    // The command holds our copies of the writing end, without which the output never ends.
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
    // Ends whoever may still hold the writing end, and with it the listener.
    drop(group);
    console.extend(receiver.iter().flatten());
    let _ = listener.join();
    let console = String::from_utf8_lossy(&console).into_owned();
    Ok(Booted { end, console, seconds: start.elapsed().as_secs_f64() })
}

/// A process that leads its group; dropping it kills the group.
struct Group(Child);

impl Group {
    /// How it ended, when its output is at its end.
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
        // The leader is not waited for yet, or was just now and left nothing: its number is not another's.
        let group = self.0.id() as libc::pid_t;
        // SAFETY: a signal to a group of our own making.
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
    fn both_streams_are_kept_and_the_end_is_told() {
        let off = shell("echo out; echo err >&2", 60);
        assert_eq!((off.end, off.console.as_str()), (End::Off, "out\nerr\n"));
        let broken = shell("echo no such machine; exit 1", 60);
        assert!(matches!(&broken.end, End::Emulator(status) if status.contains('1')), "{broken:?}");
    }

    #[test]
    fn what_hangs_is_ended_with_its_children() {
        // The child outlives its parent and keeps the pipe.
        let hung = shell("sleep 1000 & echo $!; wait", 1);
        assert_eq!(hung.end, End::Hung);
        let child = hung.console.trim();
        // The kernel takes its time over a killed process, and where nobody collects it a zombie stays.
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
    fn a_child_that_is_left_behind_does_not_keep_us() {
        let left = shell("sleep 1000 & exit 0", 2);
        assert_eq!(left.end, End::Hung);
    }
}
