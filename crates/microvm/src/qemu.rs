//! The guest under QEMU's translator: the image is its kernel, and it writes its table to the debug port.

use crate::image::DUMP;
use crate::{Image, Params, RunError, Stays, Table, Visit};
use std::fs;
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;
use tempfile::{NamedTempFile, tempfile};
use tollgate_record::trust;
use tollgate_supervise::{Patience, Tree};

/// The program's name.
pub const PROGRAM: &str = "qemu-system-x86_64";
/// isa-debug-exit turns the 0x10 that the guest writes into this.
const WELL: i32 = 0x10 << 1 | 1;

/// Runs the guest once under `program` (looked for on PATH when it is a bare name), for at most `patience`. With
/// `counting`, its clock advances by one for each instruction.
///
/// # Errors
/// [`RunError::NotHere`] without the program; the others if it or the guest failed. A guest that hangs gives nothing
/// here, because it writes its table at its end.
pub fn run(program: &Path, counting: bool, params: &Params, patience: Duration) -> Result<Visit, RunError> {
    // The emulator opens both by their names.
    let named = || {
        trust::temporary().and_then(NamedTempFile::new_in).map_err(RunError::host("make a temporary file"))
    };
    let mut kernel = named()?;
    let image = Image::new(params, DUMP);
    kernel.write_all(image.bytes()).map_err(RunError::host("write the guest's image"))?;
    let table = named()?;
    let mut said = tempfile().map_err(RunError::host("make a temporary file"))?;
    let sink = said.try_clone().map_err(RunError::host("share a temporary file"))?;

    let command = || {
        let mut command = Command::new(program);
        command.args(["-accel", "tcg", "-m", "16", "-nodefaults", "-display", "none", "-no-reboot"]);
        command.args(["-device", "isa-debug-exit,iobase=0xf4,iosize=4", "-chardev"]);
        command.arg(format!("file,id=table,path={}", table.path().display().to_string().replace(',', ",,")));
        command.args(["-device", "isa-debugcon,iobase=0xe9,chardev=table"]);
        if counting {
            command.args(["-icount", "shift=0"]);
        }
        command.arg("-kernel").arg(kernel.path());
        let stderr = sink.try_clone().map_or_else(|_| Stdio::null(), Stdio::from);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(stderr);
        command
    };
    let status = wait(program, command, patience)?;
    if status.code() != Some(WELL) {
        let mut text = String::new();
        // The output only explains the error, so a failure to read it is ignored.
        let _ = said.seek(SeekFrom::Start(0)).and_then(|_| said.read_to_string(&mut text));
        let last = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("QEMU printed nothing");
        return Err(RunError::Ended(format!("ended QEMU with {status}: {}", last.trim())));
    }
    let bytes = fs::read(table.path()).map_err(RunError::host("read the guest's table"))?;
    Ok(Visit { table: Table::parse(&bytes)?, stays: Stays::default() })
}

fn wait(
    program: &Path,
    command: impl FnMut() -> Command,
    patience: Duration,
) -> Result<ExitStatus, RunError> {
    let mut tree = Tree::start(command, None).map_err(|error| match error.kind() {
        ErrorKind::NotFound => RunError::not_here(
            format!("{} is not installed", program.display()),
            "apt-get install qemu-system-x86",
        ),
        ErrorKind::PermissionDenied => {
            RunError::not_here(format!("{} is not executable", program.display()), "permission to execute it")
        }
        _ => RunError::host("start QEMU")(error),
    })?;
    let ended = tree.wait_patiently(Patience::new(patience));
    ended.map(|ended| ended.status).ok_or(RunError::Hung(patience.as_millis()))
}
