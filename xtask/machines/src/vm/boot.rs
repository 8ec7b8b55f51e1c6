//! One boot: writes the file system of a case, runs the emulator with a time limit, reads its output, and ends it with all
//! processes that it started.

use super::cases::Case;
use super::parts::Parts;
use anyhow::{Context, Result};
use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use tollgate_lab::initramfs::Archive;
use tollgate_supervise::{Patience, Tree};

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

/// Boots a case once.
///
/// # Errors
/// When its file system cannot be written, or the emulator cannot be started.
pub(super) fn boot_once(case: &Case, parts: &Parts, limit: Duration) -> Result<Booted> {
    let folder = tempfile::tempdir().context("no folder for the guest's file system")?;
    let file_system: &Path = &folder.path().join("initramfs");
    file_system_of(case, parts, file_system)?;
    boot(|| emulator(case, parts, file_system), limit)
        .with_context(|| format!("{} could not be started", case.arch.emulator))
}

/// Writes the file system of a guest: the one that all guests of its kernel share, and the scripts of its case.
///
/// # Errors
/// When something cannot be read or written.
fn file_system_of(case: &Case, parts: &Parts, to: &Path) -> Result<()> {
    let mut out = BufWriter::new(File::create(to)?);
    let base = fs::read(&parts.base).with_context(|| parts.base.display().to_string())?;
    out.write_all(&base)?;
    // An archive begins at a multiple of four (buffer-format.rst).
    out.write_all(&[0; 3][..base.len().next_multiple_of(4) - base.len()])?;
    let mut archive = Archive::new(out);
    for (at, script) in case.scripts.iter().enumerate() {
        archive.file(&format!("case/{at:02}-{}", script.name), 0o644, script.line.as_bytes())?;
    }
    archive.finish()?;
    Ok(())
}

/// The emulator's command line.
fn emulator(case: &Case, parts: &Parts, file_system: &Path) -> Command {
    let arch = case.arch;
    let mut command = Command::new(arch.emulator);
    command
        .args(["-M", arch.board, "-cpu", case.cpu, "-accel", "tcg"])
        .args(["-smp", &case.cpus.to_string(), "-m", &case.memory_mib.to_string()])
        .args(["-nodefaults", "-no-user-config", "-display", "none", "-serial", "stdio", "-no-reboot"])
        .args(case.machine)
        .arg("-kernel")
        .arg(&parts.kernel)
        .arg("-initrd")
        .arg(file_system)
        .arg("-append")
        // As tmpfs, the default, the root may fill half of the memory only (init/do_mounts.c of the kernel), which is
        // too little for the program in the smallest guest.
        .arg(format!("console={} rdinit=/init rootfstype=ramfs panic=-1 quiet {}", arch.console, case.boot));
    command
}

/// Runs the emulator until it ends or the limit is reached, in which time that others had the CPU does not count. No process of it is left afterwards.
///
/// # Errors
/// When it cannot be started.
fn boot(command: impl Fn() -> Command, limit: Duration) -> io::Result<Booted> {
    let start = Instant::now();
    let (mut reader, writer) = io::pipe()?;
    let copy = || writer.try_clone().map_or_else(|_| Stdio::null(), Stdio::from);
    let both = || {
        let mut command = command();
        command.stdin(Stdio::null()).stdout(copy()).stderr(copy());
        command
    };
    let mut tree = Tree::start(both, None)?;
    // While a copy of the writing end is open here, the output does not end.
    drop(writer);
    let listener = std::thread::spawn(move || {
        let mut console = Vec::new();
        // After an error, what was read until then is the console.
        let _ = reader.read_to_end(&mut console);
        console
    });
    let end = match tree.wait_patiently(Patience::new(limit)) {
        Some(ended) if ended.status.success() => End::Off,
        Some(ended) => End::Emulator(ended.status.to_string()),
        None => End::Hung,
    };
    // Ends every process that may still hold the writing end, so that the listener ends.
    drop(tree);
    let console = listener.join().unwrap_or_default();
    let console = String::from_utf8_lossy(&console).into_owned();
    Ok(Booted { end, console, seconds: start.elapsed().as_secs_f64() })
}

#[cfg(test)]
mod tests {
    use super::{End, boot};
    use std::process::Command;
    use std::time::Duration;

    fn shell(script: &str, seconds: u64) -> super::Booted {
        let command = || {
            let mut command = Command::new("sh");
            command.args(["-c", script]);
            command
        };
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
        // It is ended with the program that started it, so the output ends too.
        let left = shell("sleep 1000 & exit 0", 600);
        assert_eq!(left.end, End::Off);
    }
}
