//! A process of the same group, which reports the signals that the whole group has received. A signal to the group reaches
//! the command without
//! help; one that only tollgate received has to be passed on. What the kernel reports of a signal (sigaction(2), `si_pid`) does not
//! tell these apart.

use crate::inherited::ALL;
use crate::launch::pipe;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::{io, mem, ptr};

/// A descriptor from which blocked signals are read.
pub(crate) fn queue() -> io::Result<File> {
    let flags = libc::SFD_CLOEXEC | libc::SFD_NONBLOCK;
    let all = ALL;
    // SAFETY: the set is valid for the call and of the kernel's size; nothing else owns the descriptor.
    unsafe {
        let fd = libc::syscall(libc::SYS_signalfd4, -1, &raw const all, 8_usize, flags);
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(std::os::fd::FromRawFd::from_raw_fd(fd as RawFd))
    }
}

/// A signal as its receiver sees it.
#[derive(Clone, Copy)]
pub(crate) struct Received(pub(crate) libc::signalfd_siginfo);

impl PartialEq for Received {
    /// Whether both are from the same sender.
    fn eq(&self, other: &Self) -> bool {
        let origin = |it: &libc::signalfd_siginfo| (it.ssi_signo, it.ssi_code, it.ssi_pid, it.ssi_uid);
        origin(&self.0) == origin(&other.0)
    }
}

impl Received {
    const BYTES: usize = size_of::<libc::signalfd_siginfo>();

    /// The next one, unless there is none.
    pub(crate) fn next(from: &mut File) -> Option<Self> {
        let mut bytes = [0; Self::BYTES];
        from.read_exact(&mut bytes).ok()?;
        // SAFETY: plain numbers, of which any bits are valid.
        Some(Self(unsafe { mem::transmute::<[u8; Self::BYTES], libc::signalfd_siginfo>(bytes) }))
    }
}

/// The process.
pub(crate) struct Witness {
    pid: libc::pid_t,
    ask: File,
    answer: File,
}

/// The request for the received signals; a positive number is that of a process to watch.
const SIGNALS: libc::pid_t = 0;
/// The request that ends the watch.
const GOES_ON: libc::pid_t = -1;
/// How long the end of a stop may remain unseen.
const LOOK_MS: libc::c_int = 20;

impl Witness {
    /// Forks. All signals are blocked here. `timer` is when the time of the command is up.
    pub(crate) fn start(timer: RawFd) -> Option<Self> {
        let ([asked, ask], [answer, answers]) = (pipe().ok()?, pipe().ok()?);
        let queue = queue().ok()?;
        // SAFETY: a call without arguments.
        let parent = unsafe { libc::getpid() };
        // SAFETY: the child makes system calls only.
        match unsafe { libc::fork() } {
            -1 => None,
            0 => {
                // SAFETY: closes what belongs to this process alone.
                unsafe {
                    for fd in [ask.as_raw_fd(), answer.as_raw_fd(), 0, 1, 2] {
                        libc::close(fd);
                    }
                }
                serve(asked.as_raw_fd(), answers.as_raw_fd(), queue.as_raw_fd(), timer, parent)
            }
            pid => Some(Self { pid, ask: ask.into(), answer: answer.into() }),
        }
    }

    /// Adds the signals that the group has received since the last time.
    pub(crate) fn received(&mut self, signals: &mut Vec<Received>) {
        if self.request(SIGNALS).is_none() {
            return;
        }
        while let Some(signal) = Received::next(&mut self.answer).filter(|it| it.0.ssi_signo != 0) {
            signals.push(signal);
        }
    }

    /// Lets this process go on whenever it is stopped, once the command has gone on or its time is up, until [`Self::goes_on`]:
    /// `SIGCONT` may have been sent to the command alone, or before this process has stopped.
    pub(crate) fn watch_stopped(&mut self, command: libc::pid_t) {
        self.request(command);
    }

    /// Ends the watch: this process runs again.
    pub(crate) fn goes_on(&mut self) {
        self.request(GOES_ON);
    }

    fn request(&mut self, number: libc::pid_t) -> Option<()> {
        self.ask.write_all(&number.to_ne_bytes()).ok()
    }
}

impl Drop for Witness {
    fn drop(&mut self) {
        // SAFETY: a child that has not been waited for; no status is wanted.
        unsafe {
            libc::kill(self.pid, libc::SIGKILL);
            libc::waitpid(self.pid, ptr::null_mut(), libc::__WALL);
        }
    }
}

/// The forked half. It makes system calls only, and ends with its parent.
fn serve(asked: RawFd, answers: RawFd, queue: RawFd, timer: RawFd, parent: libc::pid_t) -> ! {
    let (mut watched, mut poll) = (0, [asked, timer].map(readable));
    // SAFETY: system calls on descriptors of this process and on values of this function.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        loop {
            let (descriptors, time) = if watched == 0 { (1, -1) } else { (2, LOOK_MS) };
            libc::poll(poll.as_mut_ptr(), descriptors, time);
            if poll[0].revents == 0 {
                // One that comes while the parent is about to stop itself is lost, so it is repeated until the parent says that
                // it goes on.
                if watched != 0 && (poll[1].revents != 0 || !is_stopped(watched)) {
                    if is_stopped(parent) {
                        libc::kill(parent, libc::SIGCONT);
                    }
                    if poll[1].revents != 0 {
                        libc::poll(poll.as_mut_ptr(), 1, LOOK_MS);
                    }
                }
                continue;
            }
            let mut number: libc::pid_t = 0;
            if libc::read(asked, (&raw mut number).cast(), size_of_val(&number))
                != size_of_val(&number) as isize
            {
                libc::_exit(0);
            }
            if number != SIGNALS {
                watched = number.max(0);
                continue;
            }
            let mut info: libc::signalfd_siginfo = mem::zeroed();
            let size = size_of_val(&info);
            while libc::read(queue, (&raw mut info).cast(), size) == size as isize {
                libc::write(answers, (&raw const info).cast(), size);
            }
            info = mem::zeroed();
            libc::write(answers, (&raw const info).cast(), size);
        }
    }
}

/// An entry of poll(2).
pub(crate) fn readable(fd: RawFd) -> libc::pollfd {
    libc::pollfd { fd, events: libc::POLLIN, revents: 0 }
}

/// Whether a process is stopped, by its state in `/proc/PID/stat`. Makes system calls only.
fn is_stopped(pid: libc::pid_t) -> bool {
    let (mut path, mut at) = ([0_u8; 32], 0);
    let mut put = |bytes: &[u8]| {
        path[at..at + bytes.len()].copy_from_slice(bytes);
        at += bytes.len();
    };
    put(b"/proc/");
    let mut digits = [0; 10];
    let (mut first, mut left) = (digits.len(), pid);
    while left > 0 {
        first -= 1;
        digits[first] = b'0' + (left % 10) as u8;
        left /= 10;
    }
    put(&digits[first..]);
    put(b"/stat");
    let mut text = [0; 512];
    // SAFETY: the path ends with a zero byte; the text has room for as much as is read.
    let length = unsafe {
        let fd = libc::open(path.as_ptr().cast(), libc::O_RDONLY | libc::O_CLOEXEC);
        let length = libc::read(fd, text.as_mut_ptr().cast(), text.len());
        libc::close(fd);
        usize::try_from(length).unwrap_or(0)
    };
    // The name before the state can contain anything.
    let end = text[..length].iter().rposition(|byte| *byte == b')');
    end.and_then(|end| text.get(end + 2)).is_some_and(|state| [b'T', b't'].contains(state))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_of_a_process_is_read_without_memory() {
        let mut child = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
        let pid = child.id() as libc::pid_t;
        assert!(!is_stopped(pid));
        let mut status = 0;
        // SAFETY: a child that has not been waited for.
        unsafe {
            libc::kill(pid, libc::SIGSTOP);
            libc::waitpid(pid, &mut status, libc::WUNTRACED);
        }
        assert!(is_stopped(pid));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!is_stopped(pid));
    }
}
