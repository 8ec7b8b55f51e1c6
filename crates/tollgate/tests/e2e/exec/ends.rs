//! Whatever ends `tollgate exec`, nothing of it is left running or attached.

use super::{exec, kill};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;
use tollgate_testkit::skip_case;

/// Waits until something is so. It is a matter of milliseconds; a minute means that it will not be.
pub(super) fn until(what: &str, is: impl Fn() -> bool) {
    for _ in 0..6_000 {
        if is() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("not within a minute: {what}");
}

/// Ends a process with the test, whatever becomes of it.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        _ = self.0.kill();
        _ = self.0.wait();
    }
}

/// A process that has ended is gone, or waits for its parent.
fn is_running(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    !stat.is_empty() && !stat.contains(") Z ") && !stat.contains(") X ")
}

/// The children of all threads of a process.
fn children(pid: u32) -> Vec<String> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let lists = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    lists.flat_map(|list| list.split_whitespace().map(str::to_owned).collect::<Vec<_>>()).collect()
}

/// The BPF programs that a process holds, by their numbers in the kernel.
fn programs(pid: u32) -> BTreeSet<u32> {
    let infos = fs::read_dir(format!("/proc/{pid}/fdinfo")).into_iter().flatten().flatten();
    let texts = infos.filter_map(|info| fs::read_to_string(info.path()).ok());
    let of = |text: String| text.lines().find_map(|line| line.strip_prefix("prog_id:")?.trim().parse().ok());
    texts.filter_map(of).collect()
}

/// Whether the kernel still has a BPF program.
fn is_loaded(id: u32) -> bool {
    const GET_BY_ID: libc::c_int = 13;
    let attributes = [id, 0, 0];
    // SAFETY: the kernel reads three numbers; a descriptor that it returns is closed.
    unsafe {
        let fd = libc::syscall(libc::SYS_bpf, GET_BY_ID, attributes.as_ptr(), size_of_val(&attributes));
        fd >= 0 && libc::close(fd as libc::c_int) == 0
    }
}

/// Kills tollgate when it counts, and waits until all that it had started and loaded is gone.
fn killed(name: &str, command: &mut Command, counts: impl Fn(u32) -> bool) {
    let mut tollgate = Ended(command.stdin(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    let pid = tollgate.0.id();
    until(&format!("{name}: counting"), || counts(pid) || !is_running(&pid.to_string()));
    if !is_running(&pid.to_string()) {
        skip_case!(name, "refused here");
        return;
    }
    let (children, programs) = (children(pid), programs(pid));
    kill(pid, "KILL");
    tollgate.0.wait().unwrap();
    for child in children {
        until(&format!("{name}: process {child} has ended"), || !is_running(&child));
    }
    for program in programs {
        until(&format!("{name}: BPF program {program} is gone"), || !is_loaded(program));
    }
}

/// A command that writes a file when it runs, in which its number is.
fn endless(dir: &Path) -> [String; 3] {
    let file = dir.join("pid").display().to_string();
    ["sh".into(), "-c".into(), format!("echo $$ > {file}.new; mv {file}.new {file}; exec sleep 1000")]
}

#[test]
fn sigkill_leaves_no_process_and_no_program() {
    for source in super::SOURCES {
        let dir = TempDir::new().unwrap();
        let file = dir.path().join("pid");
        killed(source, exec(source, &[], dir.path()).arg("--").args(endless(dir.path())), |_| file.exists());
        let pid = fs::read_to_string(&file).unwrap();
        until(&format!("{source}: the command has ended"), || !is_running(pid.trim()));
    }
}

#[test]
fn sigkill_between_two_commands_leaves_no_process_and_no_program() {
    for source in super::SOURCES {
        let dir = TempDir::new().unwrap();
        let (file, script) = (dir.path().join("pid"), dir.path().join("script"));
        fs::write(&script, &endless(dir.path())[2]).unwrap();
        let other = format!("sh {}", script.display());
        let mut command = exec(source, &["--against", &other], dir.path());
        killed(source, command.args(["--", "sh"]).arg(&script), |_| file.exists());
        let pid = fs::read_to_string(&file).unwrap();
        until(&format!("{source}: the command has ended"), || !is_running(pid.trim()));
    }
}

#[test]
fn sigkill_leaves_a_process_that_ran_already_as_it_was() {
    let other = Ended(Command::new("sleep").arg("1000").spawn().unwrap());
    let pid = other.0.id().to_string();
    let mut command = Command::new(env!("CARGO_BIN_EXE_tollgate"));
    command.args(["exec", "--price", "none", "--no-save", "--stacks", "--pid", &pid]);
    killed("--pid", &mut command, |tollgate| programs(tollgate).len() > 10);
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    assert!(stat.contains(") S "), "{stat}");
}

#[test]
fn control_c_between_two_commands_ends_both_and_compares_what_there_is() {
    // The fifth run is the first that does not end.
    let script = |dir: &Path| {
        let (runs, ready) = (dir.join("runs"), dir.join("ready"));
        let file = dir.join("script");
        let (runs, ready) = (runs.display(), ready.display());
        let text =
            format!("echo >> {runs}; [ $(wc -l < {runs}) -lt 5 ] || {{ echo > {ready}; exec sleep 1000; }}");
        fs::write(&file, text).unwrap();
        file
    };
    for source in ["none", "auto"] {
        let dir = TempDir::new().unwrap();
        let file = script(dir.path());
        let other = format!("sh {}", file.display());
        let mut command = exec(source, &["--against", &other, "--at-most", "1h"], dir.path());
        let mut tollgate = Ended(command.args(["--", "sh"]).arg(&file).spawn().unwrap());
        until(source, || dir.path().join("ready").exists());
        kill(tollgate.0.id(), "INT");
        assert_eq!(tollgate.0.wait().unwrap().code(), Some(130), "{source}");
        let text = fs::read_to_string(dir.path().join("bill")).unwrap();
        assert!(text.contains("elapsed"), "{source}: {text}");
        assert_eq!(fs::read_to_string(dir.path().join("runs")).unwrap().lines().count(), 5, "{source}");
    }
}
