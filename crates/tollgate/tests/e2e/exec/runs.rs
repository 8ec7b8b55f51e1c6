//! How a command is executed, how often, and what its runs have in common.

use super::{SOURCES, ends, exec, kill, on_terminal};
use std::fs;
use std::io::Write;
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;
use tollgate_testkit::{skip, skip_case};

/// Files to execute: their bytes, the status and what standard error says. The statuses are those of `env`, and a test compares.
const FILES: &[(&str, i32, &str)] = &[
    ("echo hi from $1\nexit 4\n", 4, "hi from there"),
    ("", 0, ""),
    ("#!\nexit 6\n", 6, ""),
    ("#!/bin/sh\nexit 5\n", 5, ""),
    ("#!/no/such/interp\necho x\n", 127, "its interpreter '/no/such/interp' does not exist"),
    (
        "#!/bin/sh\r\necho x\n",
        127,
        "its interpreter '/bin/sh\\r' does not exist; its first line ends with a carriage return",
    ),
    ("#!/etc/passwd\n", 126, "its interpreter '/etc/passwd' is not executable"),
];

#[test]
fn a_file_is_executed_as_env_executes_it() {
    for (number, (text, status, says)) in FILES.iter().enumerate() {
        let dir = TempDir::new().unwrap();
        let name = format!("file{number}");
        let file = dir.path().join(&name);
        fs::write(&file, text).unwrap();
        fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let path = format!("{}:{}", dir.path().display(), std::env::var("PATH").unwrap());
        for program in [file.to_str().unwrap(), &name] {
            let env = Command::new("env").args([program, "there"]).env("PATH", &path).output().unwrap();
            assert_eq!(env.status.code(), Some(*status), "env {text:?}");
            for source in SOURCES {
                let mut command = exec(source, &[], dir.path());
                let output = command.args(["--", program, "there"]).env("PATH", &path).output().unwrap();
                let said = [output.stdout, output.stderr]
                    .map(|it| String::from_utf8_lossy(&it).into_owned())
                    .concat();
                assert_eq!(output.status.code(), Some(*status), "{source}: {text:?}: {said}");
                assert!(said.contains(says), "{source}: {text:?}: {said}");
            }
        }
    }
}

#[test]
fn a_command_that_costs_more_than_the_limit_is_1() {
    for (was, is, status) in [("0.01", "0.1", 1), ("0.1", "0.01", 0)] {
        let dir = TempDir::new().unwrap();
        // Twenty pairs, then a run that a signal ends, and with it the series.
        let [runs, ready, file] = ["runs", "ready", "script"].map(|name| dir.path().join(name));
        let text = format!(
            "echo >> {0}; trap 'exit 0' INT; sleep $1; [ $(wc -l < {0}) -le 40 ] || {{ echo > {1}; while :; do sleep 0.05; done; }}",
            runs.display(),
            ready.display()
        );
        fs::write(&file, text).unwrap();
        let other = format!("sh {} {was}", file.display());
        let options = ["--at-most", "1h", "--fail-above", "50", "--against", &other];
        let mut command = exec("none", &options, dir.path());
        let mut child = command.args(["--", "sh"]).arg(&file).arg(is).stderr(Stdio::piped()).spawn().unwrap();
        ends::until("twenty pairs", || ready.exists());
        kill(child.id(), "INT");
        let mut errors = String::new();
        std::io::Read::read_to_string(&mut child.stderr.take().unwrap(), &mut errors).unwrap();
        let bill = fs::read_to_string(dir.path().join("bill")).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(status), "{was}, {is}: {errors}{bill}");
        assert_eq!(errors.contains("for sure: exec/elapsed"), status == 1, "{was}, {is}: {errors}{bill}");
    }
}

#[test]
fn a_command_inherits_what_is_ignored_and_blocked() {
    for source in SOURCES {
        let dir = TempDir::new().unwrap();
        let words = ["grep", "-E", "^Sig(Ign|Blk)|^ShdPnd", "/proc/self/status"];
        let odd = |command: &mut Command| {
            // SAFETY: the child makes system calls only.
            unsafe {
                std::os::unix::process::CommandExt::pre_exec(command, || {
                    // `exec` of these tests does so too.
                    libc::signal(libc::SIGINT, libc::SIG_DFL);
                    for signal in [libc::SIGPIPE, libc::SIGXFSZ, libc::SIGCHLD, libc::SIGHUP, libc::SIGUSR2] {
                        libc::signal(signal, libc::SIG_IGN);
                    }
                    let mut set = std::mem::zeroed();
                    libc::sigemptyset(&mut set);
                    libc::sigaddset(&mut set, libc::SIGALRM);
                    libc::sigprocmask(libc::SIG_BLOCK, &set, std::ptr::null_mut());
                    Ok(())
                });
            }
        };
        let (mut with, mut without) = (exec(source, &[], dir.path()), Command::new(words[0]));
        odd(with.arg("--").args(words));
        odd(without.args(&words[1..]));
        let [with, without] = [with, without].map(|mut it| it.output().unwrap());
        let text = |output: &Output| String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(text(&without).contains("SigIgn:"), "{}", text(&without));
        assert_eq!(text(&with), text(&without), "{source}: {}", String::from_utf8_lossy(&with.stderr));
    }
}

#[test]
fn a_command_runs_once_unless_it_is_to_be_repeated() {
    for (user, source, options, times) in [
        (65534, "auto", &[][..], 1),
        (65534, "ptrace", &[], 1),
        (0, "auto", &[], 1),
        (0, "ptrace", &[], 1),
        (0, "none", &["--repeat", "1"], 1),
        (0, "none", &["--repeat", "3"], 3),
        (0, "ptrace", &["--repeat", "3"], 3),
        (0, "auto", &["--repeat", "2"], 2),
    ] {
        // SAFETY: a call without arguments.
        if user != 0 && unsafe { libc::geteuid() } != 0 {
            skip_case!("another user", "it takes root to be somebody else");
            continue;
        }
        let dir = TempDir::new().unwrap();
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o777);
        fs::set_permissions(dir.path(), open).unwrap();
        let file = dir.path().join("runs");
        let script = format!("echo >> {}; read -r word; test \"$word\" = first", file.display());
        let mut command = exec(source, options, dir.path());
        command.args(["--json", "--", "sh", "-c", &script]);
        let input = dir.path().join("input");
        fs::write(&input, "first\nsecond\n").unwrap();
        command.stdin(fs::File::open(input).unwrap());
        if user != 0 {
            std::os::unix::process::CommandExt::uid(&mut command, user);
        }
        let output = command.output().unwrap();
        let how = format!("{user} {source} {options:?}: {}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(output.status.code(), Some(0), "{how}");
        assert_eq!(fs::read_to_string(file).unwrap().lines().count(), times, "{how}");
        let bill: serde_json::Value =
            serde_json::from_slice(&fs::read(dir.path().join("bill")).unwrap()).unwrap();
        let whole = &bill["results"][0];
        let repeats = whole["found"]["repeats"].as_array().map_or(1, Vec::len);
        assert_eq!((repeats, whole["samples"].as_u64()), (times, Some(times as u64)), "{how}");
        let says = |text: &str| whole["warnings"].to_string().contains(text);
        assert_eq!(
            says("--count ptrace counts them by name"),
            user != 0 && source == "auto",
            "{how}: {whole}"
        );
        assert_eq!(says("the stops of the tracer"), source == "ptrace" && times == 1, "{how}: {whole}");
    }
}

#[test]
fn several_runs_give_medians_and_what_they_differ_by() {
    let dir = TempDir::new().unwrap();
    // The runs make 1, 3 and 2 processes.
    let file = dir.path().join("runs");
    let script = format!(
        "echo >> {0}; case $(wc -l < {0}) in 1) n=1;; 2) n=3;; *) n=2;; esac; while [ $n -gt 0 ]; do (:); n=$((n-1)); done",
        file.display()
    );
    let output =
        exec("auto", &["--repeat", "3"], dir.path()).args(["--", "sh", "-c", &script]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let bill = fs::read_to_string(dir.path().join("bill")).unwrap();
    assert!(bill.contains("median of 3 runs"), "{bill}");
    let mut show = Command::new(env!("CARGO_BIN_EXE_tollgate"));
    show.args(["show", "latest", "--json", "--store"]).arg(dir.path().join("store"));
    let record: serde_json::Value = serde_json::from_slice(&show.output().unwrap().stdout).unwrap();
    let rows = record["results"].as_array().unwrap();
    let Some(row) = rows.iter().find(|row| row["probe"] == "exec/task/process") else {
        return skip!("new tasks are not counted here");
    };
    // wc is in a process of its own, too.
    let counts: Vec<u64> =
        row["found"]["counts"].as_array().unwrap().iter().map(|it| it.as_u64().unwrap()).collect();
    let [first, second, third] = counts[..] else { panic!("{row}") };
    assert_eq!((second - first, third - first, row["crossings"].as_u64()), (2, 1, Some(third)), "{row}");
    assert!(bill.contains("in all runs") && bill.contains(&format!("{first} to {second}")), "{bill}");
}

#[test]
fn control_c_ends_a_traced_command_with_a_bill_and_starts_no_other() {
    for options in [&[][..], &["--repeat", "4"]] {
        let dir = TempDir::new().unwrap();
        let file = dir.path().join("runs");
        let script = format!("echo >> {}; echo ready; exec sleep 1000", file.display());
        let mut command = exec("ptrace", options, dir.path());
        let (mut child, mut ours) = on_terminal(command.args(["--", "sh", "-c", &script]));
        let mut text = String::new();
        let mut bytes = [0; 256];
        while let Ok(count @ 1..) = std::io::Read::read(&mut ours, &mut bytes) {
            let ready = text.contains("ready");
            text.push_str(&String::from_utf8_lossy(&bytes[..count]));
            if !ready && text.contains("ready") {
                ours.write_all(&[3]).unwrap();
            }
        }
        assert_eq!(child.wait().unwrap().code(), Some(130), "{text}");
        assert_eq!(fs::read_to_string(&file).unwrap().lines().count(), 1, "{text}");
        let bill = fs::read_to_string(dir.path().join("bill")).unwrap();
        assert!(bill.contains("killed by signal 2") && bill.contains("programs executed"), "{bill}");
    }
}
