//! Ends all descendants of the calling process, which must be a subreaper with one thread. Allocates nothing.

use std::{mem, ptr};

/// The most processes of a 64-bit kernel (PID_MAX_LIMIT of linux/threads.h).
const MOST_PROCESSES: libc::pid_t = 1 << 22;

/// Kills children until none is left. The children of a killed child become ours, so that all descendants end.
pub(crate) fn end() {
    loop {
        let left = loop {
            // SAFETY: no status is wanted; what has ended is reaped.
            match unsafe { libc::waitpid(-1, ptr::null_mut(), libc::WNOHANG | libc::__WALL) } {
                -1 => break false,
                0 => break true,
                _ => {}
            }
        };
        if !left {
            return;
        }
        if !kill_listed() {
            (1..MOST_PROCESSES).for_each(kill_child);
        }
        let pause = libc::timespec { tv_sec: 0, tv_nsec: 1_000_000 };
        // SAFETY: a valid time; the time that is left is not wanted.
        unsafe { libc::nanosleep(&pause, ptr::null_mut()) };
    }
}

/// Kills the children that the kernel lists; false where it does not list them (no `/proc`, or no
/// CONFIG_PROC_CHILDREN).
fn kill_listed() -> bool {
    // SAFETY: the path ends with a zero byte.
    let list =
        unsafe { libc::open(c"/proc/thread-self/children".as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC) };
    if list < 0 {
        return false;
    }
    let (mut buffer, mut id) = ([0_u8; 512], 0);
    loop {
        // SAFETY: the buffer is valid for its length.
        let read = unsafe { libc::read(list, buffer.as_mut_ptr().cast(), buffer.len()) };
        if read <= 0 {
            break;
        }
        for byte in &buffer[..read as usize] {
            if byte.is_ascii_digit() {
                id = id * 10 + libc::pid_t::from(byte - b'0');
            } else {
                kill_child(mem::take(&mut id));
            }
        }
    }
    // SAFETY: our own descriptor, closed once.
    unsafe { libc::close(list) };
    true
}

/// Kills a process if it is a child of ours. A child keeps its id until it is reaped, and only we reap it.
fn kill_child(id: libc::pid_t) {
    // SAFETY: siginfo_t is plain data for which all zeroes is valid; `kill` only reaches a child of ours.
    unsafe {
        let mut info: libc::siginfo_t = mem::zeroed();
        let options = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT | libc::__WALL;
        if id > 0 && libc::waitid(libc::P_PID, id as libc::id_t, &mut info, options) == 0 {
            libc::kill(id, libc::SIGKILL);
        }
    }
}
