//! What becomes of a probe whose peer process is killed: an error that says so, no hang, no orphan.
//! A program of its own: the peer must be its only child.

use std::{fs, ptr, thread, time::Duration};
use tollgate_boundary::PROBES;
use tollgate_measure::{Refusal, Site, placement};

/// The only child of this process.
fn child() -> i32 {
    let own = std::process::id().to_string();
    let parent_of = |pid: &str| -> Option<String> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // After the name, which is in parentheses and may hold anything: state, parent.
        stat.rsplit_once(')')?.1.split_whitespace().nth(1).map(Into::into)
    };
    let names = fs::read_dir("/proc").expect("/proc is mounted").flatten();
    let mut pids = names.filter_map(|entry| entry.file_name().into_string().ok());
    let found = pids.find(|pid| parent_of(pid).as_ref() == Some(&own));
    found.expect("a peer process").parse().expect("a number")
}

fn kill(pid: i32) {
    // SAFETY: integers only; the child is not reaped before its probe is dropped.
    unsafe { libc::kill(pid, libc::SIGKILL) };
}

/// Two of `spawn` have one that makes the children.
fn has_a_peer_process(id: &str) -> bool {
    id.starts_with("process/") || ["spawn/fork", "spawn/posix_spawn"].contains(&id)
}

#[test]
fn a_killed_peer_is_an_error_and_not_a_hang() {
    let cpu = *placement::allowed().expect("the mask can be read").last().expect("a CPU");
    let everywhere = placement::allowed().expect("the mask can be read");
    for probe in PROBES.iter().filter(|probe| has_a_peer_process(probe.meta().id)) {
        let id = probe.meta().id;
        for killed_in_the_middle in [false, true] {
            // On a thread of its own, as the killer must be free to run elsewhere.
            let failed = thread::scope(|scope| {
                let measuring = scope.spawn(|| {
                    placement::pin(cpu).expect("the CPU is in our mask");
                    let mut crossing = probe.open(&Site { cpu, peer: None }).ok()?;
                    let pid = child();
                    if killed_in_the_middle {
                        scope.spawn(move || {
                            thread::sleep(Duration::from_millis(30));
                            kill(pid);
                        });
                    } else {
                        kill(pid);
                        // Until it is dead: it is not reaped by this.
                        // SAFETY: the status is not asked for.
                        unsafe {
                            let how = libc::WEXITED | libc::WNOWAIT | libc::__WALL;
                            let mut info = std::mem::zeroed();
                            libc::waitid(libc::P_PID, pid as u32, &mut info, how);
                        }
                    }
                    let first = crossing.prepare(1 << 40).and_then(|()| crossing.cross(1 << 40));
                    let second = crossing.cross(1);
                    Some((pid, first, second))
                });
                measuring.join().expect("no panic")
            });
            let Some((pid, first, second)) = failed else { continue };
            for outcome in [first, second] {
                let expected = format!("the peer process {pid} was killed by signal 9");
                assert_eq!(outcome, Err(Refusal::Failed(expected)), "{id}");
            }
            // SAFETY: no status is asked for.
            let left = unsafe { libc::waitpid(-1, ptr::null_mut(), libc::WNOHANG | libc::__WALL) };
            assert_eq!(left, -1, "{id} leaves a child behind");
        }
    }
    assert_eq!(placement::allowed().expect("the mask can be read"), everywhere);
}
