//! The guard: a process that waits, and ends its descendants when its supervisor closes the socket or dies.
//!
//! It runs in a child of a program that may have several threads: it allocates nothing and takes no lock.

use crate::descendants;
use std::os::fd::RawFd;
use std::{io, mem, ptr};

/// The guard's first message: the process id of the program.
pub(crate) type Started = libc::pid_t;

/// The guard's message when the program has ended.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Report {
    pub(crate) status: libc::c_int,
    pub(crate) usage: libc::rusage,
}

/// Splits the calling process, which has just been forked. The new half returns and becomes the program; the old
/// half becomes its guard, serves `link`, and never returns.
pub(crate) fn split(link: RawFd) -> io::Result<()> {
    // SAFETY: sigset_t is plain data, which the calls fill; the calls touch nothing else, and fork is called in a
    // process with one thread. The half that returns calls nothing but system calls until it executes the program.
    unsafe {
        let (mut all, mut before): (libc::sigset_t, libc::sigset_t) = mem::zeroed();
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut before);
        let guard = libc::getpid();
        let adopts = libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1) == 0;
        let program = if adopts { libc::fork() } else { -1 };
        match program {
            0 => {
                libc::setpgid(0, 0);
                let bound = libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) == 0;
                libc::pthread_sigmask(libc::SIG_SETMASK, &before, ptr::null_mut());
                if bound && libc::getppid() == guard {
                    Ok(())
                } else {
                    Err(io::Error::from_raw_os_error(libc::ESRCH))
                }
            }
            -1 => {
                let error = io::Error::last_os_error();
                libc::pthread_sigmask(libc::SIG_SETMASK, &before, ptr::null_mut());
                Err(error)
            }
            program => serve(link, program),
        }
    }
}

extern "C" fn wake(_: libc::c_int) {}

/// Waits for the end of the program or of the supervisor, ends what is left, and exits.
fn serve(link: RawFd, program: libc::pid_t) -> ! {
    // SAFETY: plain system calls on values of this frame. `program` is a child that only this function waits for,
    // so its id, which is its group's, is not reused before the last wait.
    unsafe {
        libc::setpgid(program, program);
        close_all_but(link);
        libc::prctl(libc::PR_SET_NAME, c"tollgate-guard".as_ptr());
        let mut action: libc::sigaction = mem::zeroed();
        action.sa_sigaction = wake as *const () as usize;
        libc::sigaction(libc::SIGCHLD, &action, ptr::null_mut());
        let mut awake: libc::sigset_t = mem::zeroed();
        libc::sigfillset(&mut awake);
        libc::sigdelset(&mut awake, libc::SIGCHLD);
        send(link, &program);
        while !has_ended(program) {
            let mut poll = libc::pollfd { fd: link, events: libc::POLLIN, revents: 0 };
            if libc::ppoll(&mut poll, 1, ptr::null(), &awake) <= 0 {
                continue;
            }
            let mut signal = 0_u8;
            if libc::read(link, (&raw mut signal).cast(), 1) != 1 {
                break;
            }
            libc::kill(program, libc::c_int::from(signal));
        }
        // The program is not reaped yet, so the group is still its own.
        libc::kill(-program, libc::SIGKILL);
        libc::kill(program, libc::SIGKILL);
        let mut report: Report = mem::zeroed();
        libc::wait4(program, &mut report.status, libc::__WALL, &mut report.usage);
        send(link, &report);
        descendants::end();
        libc::_exit(0)
    }
}

/// Whether the program has ended; it is left unreaped. Other children that have ended are reaped.
fn has_ended(program: libc::pid_t) -> bool {
    loop {
        // SAFETY: siginfo_t is plain data for which all zeroes is valid, and valid for writing.
        let ended = unsafe {
            let mut info: libc::siginfo_t = mem::zeroed();
            let options = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT | libc::__WALL;
            if libc::waitid(libc::P_ALL, 0, &mut info, options) == 0 { info.si_pid() } else { program }
        };
        match ended {
            0 => return false,
            ended if ended == program => return true,
            // SAFETY: an adopted child that has ended; no status is wanted.
            orphan => unsafe { libc::waitpid(orphan, ptr::null_mut(), libc::__WALL) },
        };
    }
}

/// Sends a value to the supervisor, which may be gone.
fn send<T: Copy>(link: RawFd, value: &T) {
    // SAFETY: the value is valid for its size; it is small, so that the socket takes it whole.
    unsafe { libc::send(link, ptr::from_ref(value).cast(), size_of::<T>(), libc::MSG_NOSIGNAL) };
}

/// Closes what was inherited: pipes that are held open here would never end for their readers.
fn close_all_but(kept: RawFd) {
    // Where close_range is missing: descriptors beyond this are not expected.
    const MOST: RawFd = 1 << 16;
    let kept = kept as libc::c_uint;
    // SAFETY: closes descriptors of this process, none of which is used again.
    unsafe {
        let below = kept == 0 || libc::syscall(libc::SYS_close_range, 0, kept - 1, 0) == 0;
        if !below || libc::syscall(libc::SYS_close_range, kept + 1, libc::c_uint::MAX, 0) != 0 {
            for descriptor in (0..MOST).filter(|&descriptor| descriptor != kept as RawFd) {
                libc::close(descriptor);
            }
        }
    }
}
