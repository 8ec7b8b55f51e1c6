//! How long real kernels take to boot, and whether they work. Kernels are the user's: `TOLLGATE_LINUX` (Linux's Image, as
//! Debian's linux-image for riscv64 has it), `TOLLGATE_INITRD` (an initial RAM disk whose /init ends in a shell with the
//! prompt `# `, with busybox), and `TOLLGATE_XV6` (the folder of a built xv6-riscv).

use super::figures::{Figure, at_least, at_most, skipped};
use crate::tool::Tool;
use anyhow::Result;
use std::env;
use std::ffi::OsString;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;
use tollgate_testkit::program;

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
    match env::var_os("TOLLGATE_XV6") {
        Some(xv6) => figures.extend(self::xv6(tool, folder.path(), Path::new(&xv6))?),
        None => figures.push(skipped("xv6", "TOLLGATE_XV6 does not name the folder of a built xv6-riscv")),
    }
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
    let Booted { seconds, success, .. } = boots_with(tool, folder, &saves, "")?;
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
    figures.push(at_most(&what, boots_with(tool, folder, &profiled, "")?.seconds, 25.0));
    let from: Vec<OsString> =
        ["--from".into(), snapshot.into(), "--max-instructions".into(), "1".into()].into();
    figures.push(at_most(
        "a snapshot to its first instruction, s",
        boots_with(tool, folder, &from, "")?.seconds,
        0.5,
    ));
    figures.push(beside_qemu(tool, folder, &boots(&[]))?);
    for harts in ["1", "2", "4"] {
        let booted = boots_with(tool, folder, &boots(&["--harts", harts]), &smoke(harts))?;
        let what =
            format!("Linux on {harts} harts boots and switches off ({:.1} s): 1 is yes", booted.seconds);
        figures.push(at_least(&what, f64::from(u8::from(booted.success)), 1.0));
        let passed: Vec<&str> =
            booted.console.lines().filter_map(|line| line.strip_prefix("works: ")).collect();
        let failed = SMOKE.iter().map(|(name, _)| *name).filter(|name| !passed.contains(name));
        let failed = failed.map(|name| format!(", not {name}")).collect::<String>();
        let what = format!("what works of {} on {harts} harts{failed}", SMOKE.len());
        figures.push(at_least(&what, passed.len() as f64, SMOKE.len() as f64));
    }
    Ok(figures)
}

/// What works in a kernel that works; a condition of the shell each. HARTS is their number.
const SMOKE: [(&str, &str); 18] = [
    ("arithmetic", "[ $((6 * 7)) = 42 ]"),
    ("fork", "i=0; while [ $i -lt 50 ] && (exit 0); do i=$((i + 1)); done; [ $i = 50 ]"),
    ("exec", "/bin/busybox true"),
    ("pipe", "[ $(seq 1000 | sort -rn | head -n 1) = 1000 ]"),
    ("fifo", "mkfifo /tmp/fifo; (echo word > /tmp/fifo &); [ $(cat /tmp/fifo) = word ]"),
    ("signal", "sh -c 'trap \"exit 7\" USR1; kill -USR1 $$; sleep 1'; [ $? = 7 ]"),
    ("death by signal", "sh -c 'kill -SEGV $$'; [ $? = 139 ]"),
    ("preemption", "(while :; do :; done) & p=$!; sleep 0.1; kill $p; wait $p; [ $? = 143 ]"),
    ("sleep", "a=$(date +%s); sleep 2; [ $(($(date +%s) - a)) -ge 2 ]"),
    ("real-time clock", "[ $(date +%Y) = 2026 ]"),
    ("floating point", "[ $(awk 'BEGIN { printf \"%.3f\", 22 / 7 }') = 3.143 ]"),
    ("large memory", "dd if=/dev/zero of=/dev/null bs=64M count=2"),
    (
        "file system",
        "mkdir -p /tmp/t; mount -t tmpfs t /tmp/t && head -c 300000 /dev/urandom > /tmp/t/a && cp /tmp/t/a /tmp/t/b \
                     && cmp /tmp/t/a /tmp/t/b && umount /tmp/t",
    ),
    // FIPS 180-2, appendix B.1.
    ("digest", "[ $(printf abc | sha256sum | cut -c1-8) = ba7816bf ]"),
    (
        "random numbers",
        "[ $(head -c 16 /dev/urandom | md5sum | cut -c1-32) != $(head -c 16 /dev/urandom | md5sum | cut -c1-32) ]",
    ),
    ("network to itself", "ip link set lo up && ping -c 1 127.0.0.1"),
    ("harts", "[ $(nproc) = HARTS ]"),
    ("no complaints", "! dmesg | grep -iE 'WARNING:|BUG:|Oops|stall|segfault'"),
];

/// Lines to type that try all of it and switch off.
fn smoke(harts: &str) -> String {
    let line = |(name, condition): &(&str, &str)| {
        let condition = condition.replace("HARTS", harts);
        // The line itself, as the terminal shows it, must not look like the answer.
        format!("if {condition}; then echo 'works':' {name}'; fi\n")
    };
    SMOKE.iter().map(line).chain(["poweroff -f\n".into()]).collect()
}

/// A boot and power-off here and under QEMU, whose console takes what is typed only when it listens.
fn beside_qemu(tool: &Tool, folder: &Path, boots: &[OsString]) -> Result<Figure> {
    const WHAT: &str = "Linux boots and switches off, times as long as under QEMU";
    let Some(qemu) = program("qemu-system-riscv64") else {
        return Ok(skipped(WHAT, "qemu-system-riscv64 is missing: apt-get install qemu-system-misc"));
    };
    let ours = boots_with(tool, folder, boots, "poweroff -f\n")?;
    let mut command = Command::new(qemu);
    command.args(["-machine", "virt", "-m", "512", "-nographic", "-no-reboot"]);
    command.args(boots.iter().map(|word| match word.to_str() {
        Some("--kernel") => "-kernel".into(),
        Some("--initrd") => "-initrd".into(),
        Some("--append") => "-append".into(),
        _ => word.clone(),
    }));
    let theirs = booted(command, folder, &format!("{}poweroff -f\n", "\n".repeat(64)))?;
    Ok(match ours.success && theirs.success {
        true => at_most(
            &format!("{WHAT} ({:.1} s, {:.1} s)", ours.seconds, theirs.seconds),
            ours.seconds / theirs.seconds,
            1.0 / 1.2,
        ),
        false => skipped(WHAT, "it does not do so in both"),
    })
}

fn xv6(tool: &Tool, folder: &Path, xv6: &Path) -> Result<Vec<Figure>> {
    let args: Vec<OsString> = vec![
        "--kernel".into(),
        xv6.join("kernel/kernel").into(),
        "--drive".into(),
        xv6.join("fs.img").into(),
        "--memory".into(),
        "128".into(),
    ];
    let until = |text: &str| -> Vec<OsString> {
        let point = ["--save-at".into(), text.into(), folder.join("xv6.snap").into()];
        args.iter().cloned().chain(point).collect()
    };
    let Booted { seconds, success, .. } = boots_with(tool, folder, &until("$ "), "")?;
    if !success {
        return Ok(vec![skipped("xv6", "it does not come to a shell; run 'tollgate riscv boot' with it")]);
    }
    let tests = boots_with(tool, folder, &until("ALL TESTS PASSED"), "usertests -q\n")?;
    let what = format!("xv6 passes 'usertests -q' ({:.0} s): 1 is yes", tests.seconds);
    Ok(vec![
        at_most("xv6 to its shell and saved, s", seconds, 0.5),
        at_least(&what, f64::from(u8::from(tests.success)), 1.0),
    ])
}

/// How a boot went.
struct Booted {
    seconds: f64,
    success: bool,
    console: String,
}

/// A boot here with something typed.
fn boots_with(tool: &Tool, folder: &Path, args: &[OsString], typed: &str) -> Result<Booted> {
    let mut command = tool.command(&["riscv", "boot"]);
    command.args(args);
    booted(command, folder, typed)
}

fn booted(mut command: Command, folder: &Path, typed: &str) -> Result<Booted> {
    let path = folder.join("typed");
    File::create(&path)?.write_all(typed.as_bytes())?;
    command.stdin(File::open(&path)?).stderr(Stdio::null());
    let started = Instant::now();
    let output = command.output()?;
    let seconds = started.elapsed().as_secs_f64();
    let console = String::from_utf8_lossy(&output.stdout).replace('\r', "");
    Ok(Booted { seconds, success: output.status.success(), console })
}
