//! How long real kernels take to boot. Kernels are the user's: `TOLLGATE_LINUX` (Linux's Image, as Debian's linux-image for
//! riscv64 has it), `TOLLGATE_INITRD` (an initial RAM disk whose /init ends in a shell with the prompt `# `, with
//! `poweroff`), and `TOLLGATE_XV6` (the folder of a built xv6-riscv).

use super::figures::{Figure, at_least, at_most, skipped};
use crate::tool::Tool;
use anyhow::Result;
use std::env;
use std::ffi::OsString;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::process::Stdio;
use std::time::Instant;

/// The core of "five stages, caches and TLBs attached".
const CORE: &str = "rocket";

pub(super) fn boot(tool: &Tool) -> Result<Vec<Figure>> {
    let folder = tempfile::tempdir()?;
    let mut figures = match (env::var_os("TOLLGATE_LINUX"), env::var_os("TOLLGATE_INITRD")) {
        (Some(kernel), Some(initrd)) => linux(tool, folder.path(), &kernel, &initrd)?,
        _ => vec![skipped(
            "Linux",
            "TOLLGATE_LINUX and TOLLGATE_INITRD do not name Linux's Image for riscv64 and an initial RAM disk with a shell",
        )],
    };
    figures.push(match env::var_os("TOLLGATE_XV6") {
        Some(xv6) => xv6_to_its_shell(tool, folder.path(), Path::new(&xv6))?,
        None => skipped("xv6", "TOLLGATE_XV6 does not name the folder of a built xv6-riscv"),
    });
    Ok(figures)
}

fn linux(tool: &Tool, folder: &Path, kernel: &OsString, initrd: &OsString) -> Result<Vec<Figure>> {
    let snapshot = folder.join("shell.snap");
    let boots = |options: &[&str]| -> Vec<OsString> {
        let first: [OsString; 4] = ["--kernel".into(), kernel.clone(), "--initrd".into(), initrd.clone()];
        let append = ["--append".into(), "console=ttyS0".into()];
        first.into_iter().chain(append).chain(options.iter().map(Into::into)).collect()
    };
    let saves: Vec<OsString> =
        boots(&["--save-at", "# "]).into_iter().chain([snapshot.clone().into()]).collect();
    let (seconds, success) = timed(tool, folder, &saves, "")?;
    if !success {
        return Ok(vec![skipped(
            "Linux",
            "the kernel does not come to a prompt; run 'tollgate riscv boot' with it",
        )]);
    }
    let mut figures = vec![at_most("Linux to a prompt and saved, s", seconds, 4.0)];
    let profiled: Vec<OsString> =
        saves.iter().cloned().chain(["--core", CORE, "--no-save"].map(Into::into)).collect();
    let what = format!("Linux to a prompt on {CORE}, cycles by function, s");
    figures.push(at_most(&what, timed(tool, folder, &profiled, "")?.0, 25.0));
    let from: Vec<OsString> =
        ["--from".into(), snapshot.into(), "--max-instructions".into(), "1".into()].into();
    figures.push(at_most("a snapshot to its first instruction, s", timed(tool, folder, &from, "")?.0, 0.5));
    for harts in ["1", "2", "4"] {
        let (seconds, success) = timed(tool, folder, &boots(&["--harts", harts]), "poweroff -f\n")?;
        let what = format!("Linux on {harts} harts boots and switches off ({seconds:.1} s): 1 is yes");
        figures.push(at_least(&what, f64::from(u8::from(success)), 1.0));
    }
    Ok(figures)
}

fn xv6_to_its_shell(tool: &Tool, folder: &Path, xv6: &Path) -> Result<Figure> {
    let args: Vec<OsString> = vec![
        "--kernel".into(),
        xv6.join("kernel/kernel").into(),
        "--drive".into(),
        xv6.join("fs.img").into(),
        "--memory".into(),
        "128".into(),
        "--save-at".into(),
        "$ ".into(),
        folder.join("xv6.snap").into(),
    ];
    let (seconds, success) = timed(tool, folder, &args, "")?;
    Ok(match success {
        true => at_most("xv6 to its shell and saved, s", seconds, 0.5),
        false => skipped("xv6", "it does not come to a shell; run 'tollgate riscv boot' with it"),
    })
}

/// A boot with something typed: its seconds, and whether it succeeded.
fn timed(tool: &Tool, folder: &Path, args: &[OsString], typed: &str) -> Result<(f64, bool)> {
    let path = folder.join("typed");
    File::create(&path)?.write_all(typed.as_bytes())?;
    let mut command = tool.command(&["riscv", "boot"]);
    command.args(args).stdin(File::open(&path)?).stdout(Stdio::null()).stderr(Stdio::null());
    let started = Instant::now();
    let status = command.status()?;
    Ok((started.elapsed().as_secs_f64(), status.success()))
}
