//! A program receives every signal exactly as often as without tollgate.

use super::{SOURCES, exec, on_terminal};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use tempfile::TempDir;
use tollgate_testkit::{skip, skip_case};

/// The signals of Linux that a process can handle.
fn all() -> impl Iterator<Item = libc::c_int> {
    (1..=64).filter(|signal| ![libc::SIGKILL, libc::SIGSTOP].contains(signal))
}

/// The program that says what it receives; `None` without a compiler.
fn counting(dir: &Path) -> Option<PathBuf> {
    let program = dir.join("counting");
    let mut cc = Command::new(tollgate_testkit::program("cc")?);
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/e2e/exec/counting.c");
    assert!(cc.args(["-O1", "-w", "-o"]).arg(&program).arg(source).status().unwrap().success());
    Some(program)
}

/// `tollgate exec` in a group of its own, and what its command says.
struct Counting {
    tollgate: Child,
    lines: BufReader<ChildStdout>,
}

impl Counting {
    fn start(source: &str, program: &Path, dir: &Path) -> Self {
        let mut command = exec(source, &[], dir);
        command.arg("--").arg(program).process_group(0).stdout(Stdio::piped());
        let mut tollgate = command.spawn().unwrap();
        let lines = BufReader::new(tollgate.stdout.take().unwrap());
        let mut counting = Self { tollgate, lines };
        assert!(counting.line().starts_with("ready"), "{source}");
        counting
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        line
    }

    /// The number of tollgate's process.
    fn pid(&self) -> libc::pid_t {
        self.tollgate.id() as libc::pid_t
    }

    /// Whether the next line says this signal, and no other before.
    fn expect(&mut self, signal: libc::c_int, value: libc::c_int, how: &str) {
        assert_eq!(self.line(), format!("got {signal} {value}\n"), "{how}");
    }

    /// Ends the program, which must have received nothing else, and checks that there is a bill.
    fn end(mut self, dir: &Path, how: &str) {
        send(self.pid(), libc::SIGRTMAX());
        self.expect(libc::SIGRTMAX(), 0, how);
        let mut rest = String::new();
        self.lines.read_to_string(&mut rest).unwrap();
        assert_eq!((rest.as_str(), self.tollgate.wait().unwrap().code()), ("", Some(0)), "{how}");
        let bill = fs::read_to_string(dir.join("bill")).unwrap();
        assert!(bill.contains("exit status 0"), "{how}: {bill}");
    }
}

fn send(pid: libc::pid_t, signal: libc::c_int) {
    // SAFETY: a process or group of this test, which waits for it later.
    assert_eq!(unsafe { libc::kill(pid, signal) }, 0, "{pid}: {signal}");
}

#[test]
fn every_signal_arrives_once() {
    let dir = TempDir::new().unwrap();
    let Some(program) = counting(dir.path()) else {
        return skip!("cc is missing: apt-get install gcc libc6-dev");
    };
    for source in SOURCES {
        let mut counting = Counting::start(source, &program, dir.path());
        let pid = counting.pid();
        for signal in all().filter(|signal| *signal != libc::SIGRTMAX()) {
            send(pid, signal);
            counting.expect(signal, 0, &format!("{source}: to tollgate"));
            send(-pid, signal);
            counting.expect(signal, 0, &format!("{source}: to the group"));
        }
        for value in all().filter(|signal| ![libc::SIGUSR1, libc::SIGRTMAX()].contains(signal)) {
            let how = format!("{source}: {value} from the program to its group and to tollgate");
            let value_of = libc::sigval { sival_ptr: value as usize as *mut libc::c_void };
            // SAFETY: a process of this test, which waits for it later.
            assert_eq!(unsafe { libc::sigqueue(pid, libc::SIGUSR1, value_of) }, 0);
            counting.expect(libc::SIGUSR1, value, &how);
            counting.expect(value, 0, &how);
        }
        counting.end(dir.path(), source);
    }
}

#[test]
fn what_a_terminal_sends_arrives_once() {
    let dir = TempDir::new().unwrap();
    let Some(program) = counting(dir.path()) else {
        return skip!("cc is missing: apt-get install gcc libc6-dev");
    };
    for source in ["none", "ptrace", "auto"] {
        let mut command = exec(source, &[], dir.path());
        let (mut tollgate, terminal) = on_terminal(command.arg("--").arg(&program));
        let mut keys = terminal.try_clone().unwrap();
        let mut lines = BufReader::new(terminal);
        let mut said = |end: &str| {
            let mut line = String::new();
            while !line.ends_with(end) {
                assert!(lines.read_line(&mut line).is_ok_and(|bytes| bytes > 0), "{source}: {line}");
            }
            line
        };
        said("\n");
        let mut all = String::new();
        for (key, signal) in [(3, libc::SIGINT), (28, libc::SIGQUIT), (26, libc::SIGTSTP)] {
            keys.write_all(&[key]).unwrap();
            all += &said(&format!("got {signal} 0\r\n"));
        }
        let size = libc::winsize { ws_row: 10, ws_col: 20, ws_xpixel: 0, ws_ypixel: 0 };
        // SAFETY: a terminal of this test, and a valid size.
        unsafe { libc::ioctl(std::os::fd::AsRawFd::as_raw_fd(&keys), libc::TIOCSWINSZ, &raw const size) };
        all += &said(&format!("got {} 0\r\n", libc::SIGWINCH));
        send(tollgate.id() as libc::pid_t, libc::SIGRTMAX());
        all += &said("got 64 0\r\n");
        assert_eq!(all.matches("got").count(), 5, "{source}: {all}");
        assert_eq!(tollgate.wait().unwrap().code(), Some(0), "{source}: {all}");
    }
}

/// Waits until a child has stopped or ended, and returns its status.
fn changed(child: &Child) -> libc::c_int {
    let mut status = 0;
    // SAFETY: a child of this test, and a valid status.
    unsafe { libc::waitpid(child.id() as libc::pid_t, &mut status, libc::WUNTRACED) };
    status
}

#[test]
fn tollgate_stops_and_goes_on_with_its_command() {
    for source in SOURCES {
        // To tollgate, to the command alone, to the group; for a tracer the command's own state does not tell that it may go on.
        for continued in ["tollgate", "command", "group"] {
            if (source, continued) == ("ptrace", "command") {
                skip_case!("ptrace", "a traced command that goes on looks like one that is stopped");
                continue;
            }
            let dir = TempDir::new().unwrap();
            let script = "echo ready $$; kill -STOP $$; exit 3";
            let mut command = exec(source, &[], dir.path());
            command.args(["--", "sh", "-c", script]).process_group(0).stdout(Stdio::piped());
            #[expect(clippy::zombie_processes, reason = "`changed` waits for it")]
            let mut tollgate = command.spawn().unwrap();
            let mut line = String::new();
            BufReader::new(tollgate.stdout.take().unwrap()).read_line(&mut line).unwrap();
            let command: libc::pid_t = line.trim().strip_prefix("ready ").unwrap().parse().unwrap();
            let how = format!("{source}: {continued}");
            let status = changed(&tollgate);
            assert!(
                libc::WIFSTOPPED(status) && libc::WSTOPSIG(status) == libc::SIGSTOP,
                "{how}: {status:#x}"
            );
            let pid = tollgate.id() as libc::pid_t;
            send(
                if continued == "tollgate" {
                    pid
                } else if continued == "group" {
                    -pid
                } else {
                    command
                },
                libc::SIGCONT,
            );
            let status = changed(&tollgate);
            assert!(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 3, "{how}: {status:#x}");
        }
    }
}
