//! Whatever a program starts, and however its supervisor ends, nothing of it is left.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;
use std::{env, fs, io, ptr, thread};
use tollgate_supervise::{Patience, Prepare, Tree};

/// Starts a shell script whose standard output is piped.
fn start(script: &str) -> Tree {
    Tree::start(|| shell(script), None).unwrap()
}

fn shell(script: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script]).stdin(Stdio::null()).stdout(Stdio::piped());
    command
}

/// Prints the ids of two processes in sessions of their own, the second of which has lost its parent. Then the
/// script runs on.
const SCATTERED: &str = "setsid sleep 1000 & echo $!; sh -c 'setsid sleep 1001 & echo $!'; ";

/// The first lines that a program prints, as process ids.
fn ids(output: &mut impl BufRead, count: usize) -> Vec<i32> {
    let mut line = String::new();
    let mut next = || {
        line.clear();
        output.read_line(&mut line).unwrap();
        line.trim().parse().unwrap_or_else(|_| panic!("not a process id: {line:?}"))
    };
    (0..count).map(|_| next()).collect()
}

/// Whether a process lives that is a sleeper or about to become one.
fn lives(id: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    ["(sleep)", "(setsid)", "(sh)"].iter().any(|name| stat.contains(name)) && !stat.contains(") Z")
}

/// Waits until processes have ended, with a bound against hanging.
fn assert_gone(ids: &[i32]) {
    let gone = (0..6_000).any(|_| {
        let all = ids.iter().all(|&id| !lives(id));
        if !all {
            thread::sleep(Duration::from_millis(10));
        }
        all
    });
    assert!(gone, "left behind: {ids:?}");
}

#[test]
fn the_status_of_the_program_is_reported() {
    assert_eq!(start("exit 7").wait().status.code(), Some(7));
    assert_eq!(start("kill -SEGV $$").wait().status.signal(), Some(libc::SIGSEGV));
    let mut tree = start("sleep 1000");
    assert!(tree.ended().is_none());
    assert_eq!(tree.end().status.signal(), Some(libc::SIGKILL));
    assert_eq!(tree.ended().unwrap().status.signal(), Some(libc::SIGKILL), "it is remembered");
}

#[test]
fn what_the_program_used_is_reported() {
    let used = start("i=0; while [ $i -lt 200000 ]; do i=$((i + 1)); done").wait().usage;
    assert!(used.ru_utime.tv_sec > 0 || used.ru_utime.tv_usec > 0);
    assert!(used.ru_minflt > 0 && used.ru_maxrss > 0);
}

#[test]
fn a_program_that_cannot_be_executed_is_an_error() {
    let error = Tree::start(|| Command::new("/nonexistent/program"), None).err().unwrap();
    assert_eq!(error.kind(), io::ErrorKind::NotFound);
}

#[test]
fn a_program_that_is_still_being_written_gets_its_guard_all_the_same() {
    // The kernel does not execute a file that is open for writing (ETXTBSY of execve(2)).
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("busy-program");
    fs::write(&path, "#!/bin/sh\nsetsid sleep 1000 & echo $!; sleep 1001\n").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    let mut writer = Some(fs::OpenOptions::new().append(true).open(&path).unwrap());
    let mut calls = 0;
    let mut tree = Tree::start(
        || {
            calls += 1;
            if calls == 3 {
                writer = None;
            }
            let mut command = Command::new(&path);
            command.stdout(Stdio::piped());
            command
        },
        None,
    )
    .unwrap();
    let mut output = BufReader::new(tree.stdout.take().unwrap());
    let started = ids(&mut output, 1);
    tree.end();
    assert_gone(&started);
    // A child that another test has just forked has the file open until it executes its own program.
    assert!(calls >= 3, "{calls}");
}

#[test]
fn pipes_end_with_the_program() {
    let mut tree = start("read line; echo heard; sleep 1000 &");
    let mut text = String::new();
    tree.wait();
    // A guard or a sleeper that held the pipe would keep this waiting.
    tree.stdout.take().unwrap().read_to_string(&mut text).unwrap();
    assert_eq!(text, "heard\n");
}

#[test]
fn preparations_are_made_in_the_program_only() {
    let prepare = || {
        // SAFETY: takes a number and changes only the calling process.
        unsafe { libc::umask(0o123) };
        Ok(())
    };
    let mut tree = Tree::start(|| shell("umask"), Some(Arc::new(prepare))).unwrap();
    let mut text = String::new();
    tree.stdout.take().unwrap().read_to_string(&mut text).unwrap();
    assert_eq!(text.trim(), "0123");
    let refuse = || Err(io::Error::from_raw_os_error(libc::EXDEV));
    let error = Tree::start(|| shell("exit 0"), Some(Arc::new(refuse))).err().unwrap();
    assert_eq!(error.raw_os_error(), Some(libc::EXDEV));
}

#[test]
fn a_program_that_hangs_is_waited_for_as_long_as_was_said() {
    let patience = |milliseconds| Patience::new(Duration::from_millis(milliseconds));
    assert_eq!(start("exit 3").wait_patiently(patience(600_000)).unwrap().status.code(), Some(3));
    let mut tree = start("sleep 1000");
    assert!(tree.wait_patiently(patience(50)).is_none());
    assert!(lives(tree.id() as i32));
}

#[test]
fn when_memory_is_out_the_program_ends_before_its_supervisor() {
    let score = |process: &str| fs::read_to_string(format!("/proc/{process}/oom_score_adj"));
    let before = score("self").unwrap();
    let mut tree = start("cat /proc/self/oom_score_adj");
    let mut text = String::new();
    tree.stdout.take().unwrap().read_to_string(&mut text).unwrap();
    assert_eq!(text, "1000\n");
    assert_eq!(score("self").unwrap(), before);
}

#[test]
fn a_signal_reaches_the_program() {
    let mut tree = start("trap 'echo asked; exit 3' TERM; echo ready; while :; do sleep 0.01; done");
    let mut output = BufReader::new(tree.stdout.take().unwrap());
    let mut line = String::new();
    output.read_line(&mut line).unwrap();
    tree.signal(libc::SIGTERM as u8);
    assert_eq!(tree.wait().status.code(), Some(3));
}

#[test]
fn descendants_in_other_groups_and_sessions_end_with_the_tree() {
    let mut tree = start(&format!("{SCATTERED} sleep 1002"));
    let ids = ids(&mut BufReader::new(tree.stdout.take().unwrap()), 2);
    assert!(ids.iter().all(|&id| lives(id)));
    tree.end();
    assert!(ids.iter().all(|&id| !lives(id)), "the end has waited for them");
}

#[test]
fn descendants_end_when_the_program_ends_by_itself() {
    let mut tree = start(&format!("{SCATTERED} exit 0"));
    let ids = ids(&mut BufReader::new(tree.stdout.take().unwrap()), 2);
    assert!(tree.wait().status.success());
    assert!(ids.iter().all(|&id| !lives(id)), "the wait has waited for them");
}

#[test]
fn without_a_guard_the_process_group_ends() {
    let mut tree = Tree::unguarded(shell("sleep 1000 & echo $!; sleep 1001"), None).unwrap();
    let ids = ids(&mut BufReader::new(tree.stdout.take().unwrap()), 1);
    assert!(tree.ended().is_none());
    assert_eq!(tree.end().status.signal(), Some(libc::SIGKILL));
    assert!(!lives(ids[0]));
}

#[test]
fn a_guard_that_is_killed_takes_the_program_along() {
    let mut tree = start("sleep 1000 & echo $!; echo $PPID; exec sleep 1001");
    let ids = ids(&mut BufReader::new(tree.stdout.take().unwrap()), 2);
    // SAFETY: the guard is a child of this process that has not been reaped.
    unsafe { libc::kill(ids[1], libc::SIGKILL) };
    assert_eq!(tree.wait().status.signal(), Some(libc::SIGKILL));
    assert_gone(&[ids[0], tree.id() as i32]);
}

#[test]
fn guard_and_program_end_before_their_supervisor_when_memory_is_out() {
    let score = |of: &str| format!("cat /proc/{of}/oom_score_adj");
    let scores = |mut tree: Tree| {
        let text = io::read_to_string(tree.stdout.take().unwrap()).unwrap();
        text.lines().map(|line| line.parse().unwrap()).collect::<Vec<i32>>()
    };
    assert_eq!(scores(start(&format!("{}; {}", score("self"), score("$PPID")))), [1000, 1000]);
    let prepare: Prepare = Arc::new(|| Ok(()));
    assert_eq!(scores(Tree::unguarded(shell(&score("self")), Some(prepare)).unwrap()), [1000]);
}

/// Set in the process that plays the supervisor.
const SUPERVISOR: &str = "TOLLGATE_TEST_SUPERVISOR";

/// Not a test of its own: the supervisor that the tests below start and kill.
#[test]
fn supervisor() {
    if env::var_os(SUPERVISOR).is_none() {
        return;
    }
    let script = format!("{SCATTERED} echo $$; exec sleep 1003 >/dev/null");
    let mut command = || {
        let mut command = shell(&script);
        command.stdout(Stdio::inherit());
        command
    };
    let mut tree = Tree::start(&mut command, None).unwrap();
    tree.wait();
}

/// Starts a supervisor, kills it when its program runs, and expects that nothing is left.
fn kill_the_supervisor(place: Option<fn() -> io::Result<()>>) -> Result<(), String> {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", "supervisor", "--nocapture", "--quiet"]).env(SUPERVISOR, "1");
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    if let Some(place) = place {
        // SAFETY: the places make system calls only.
        unsafe { command.pre_exec(place) };
    }
    let mut supervisor = command.spawn().map_err(|error| error.to_string())?;
    let output = BufReader::new(supervisor.stdout.take().unwrap());
    let ids: Vec<i32> = output.lines().filter_map(|line| line.unwrap().trim().parse().ok()).take(3).collect();
    assert_eq!(ids.len(), 3);
    supervisor.kill().unwrap();
    supervisor.wait().unwrap();
    assert_gone(&ids);
    Ok(())
}

#[test]
fn sigkill_of_the_supervisor_leaves_nothing() {
    kill_the_supervisor(None).unwrap();
}

#[test]
fn sigkill_of_the_supervisor_leaves_nothing_without_proc() {
    fn hide() -> io::Result<()> {
        let done = |result: libc::c_int| {
            if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
        };
        let none = ptr::null();
        // SAFETY: every string ends in a zero byte; what is null may be null with these flags.
        unsafe {
            done(libc::unshare(libc::CLONE_NEWNS))?;
            done(libc::mount(none, c"/".as_ptr(), none, libc::MS_REC | libc::MS_PRIVATE, ptr::null()))?;
            done(libc::mount(c"none".as_ptr(), c"/proc".as_ptr(), c"tmpfs".as_ptr(), 0, ptr::null()))
        }
    }
    if let Err(why) = kill_the_supervisor(Some(hide)) {
        tollgate_testkit::skip!("/proc cannot be hidden: {why}");
    }
}

#[test]
fn sigkill_of_a_supervisor_without_rights_leaves_nothing() {
    // SAFETY: no arguments.
    if unsafe { libc::geteuid() } != 0 {
        return tollgate_testkit::skip!("only root can start a program as somebody else");
    }
    fn nobody() -> io::Result<()> {
        // SAFETY: takes numbers.
        if unsafe { libc::setgid(65_534) != 0 || libc::setuid(65_534) != 0 } {
            return Err(io::Error::last_os_error());
        }
        Ok(())
    }
    if let Err(why) = kill_the_supervisor(Some(nobody)) {
        tollgate_testkit::skip!("nobody cannot start this test: {why}");
    }
}
