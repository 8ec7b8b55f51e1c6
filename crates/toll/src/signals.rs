//! Passes the signals of this process to the command, so that it receives each exactly as it would without tollgate.
//!
//! While [`Signals`] is held, every signal is blocked and read by a thread of its own (signalfd(2)). What the command has already is
//! not sent again: signals to the process group, which [`Witness`] tells apart, and what the command or its descendants send.

use crate::inherited::{ALL, Inherited, mask};
use crate::start::StartError;
use crate::witness::{Received, Witness, queue, readable};
use std::cell::RefCell;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::JoinHandle;
use std::time::Duration;
use std::{mem, ptr, thread};

/// How long a command may take to end after SIGTERM; then SIGKILL is sent.
const GRACE: Duration = Duration::from_secs(2);
/// How long a signal to the group may take from one of its processes to another.
const SPREADS_MS: libc::c_int = 1;
/// Signals that ask for the end of a series of runs, too.
const END: [libc::c_int; 4] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT];
/// Signals that stop a process by default (signal(7)).
const STOP: [libc::c_int; 3] = [libc::SIGTSTP, libc::SIGTTIN, libc::SIGTTOU];
/// Signals whose default is to be ignored (signal(7)).
const IGNORED: [libc::c_int; 4] = [libc::SIGCHLD, libc::SIGCONT, libc::SIGURG, libc::SIGWINCH];

thread_local! {
    /// The signals that this thread holds.
    static HELD: RefCell<Weak<Held>> = const { RefCell::new(Weak::new()) };
}

/// While it lives, no signal ends or stops this process by itself once a command has begun: hold it until the bill is printed.
pub struct Signals {
    held: Arc<Held>,
}

/// The state until the last [`Signals`] of a thread is dropped.
struct Held {
    shared: Arc<Shared>,
    inherited: Inherited,
    reader: Option<JoinHandle<()>>,
}

/// State that both threads use.
struct Shared {
    /// The command, as a descriptor that never means another process.
    command: Mutex<Option<OwnedFd>>,
    witness: Mutex<Option<Witness>>,
    timer: File,
    /// Has bytes when a signal has asked for the end.
    end: File,
    /// Has bytes when the thread is to end.
    close: File,
    /// Signals that were ignored from the start, which do not end a series.
    ignored: u64,
    has_begun: AtomicBool,
    is_interrupted: AtomicBool,
    /// Held from the reading of signals to the end of their handling.
    reading: Mutex<()>,
    /// How often the command was ended because its time was up.
    ended: AtomicU32,
}

impl Signals {
    /// Holds the signals of this process; a second time in the same thread it shares what the first has set up. Until a command has
    /// begun, signals have their usual effect.
    ///
    /// # Errors
    /// The kernel refuses a descriptor or a thread.
    pub fn hold() -> Result<Self, StartError> {
        if let Some(held) = HELD.with_borrow(Weak::upgrade) {
            return Ok(Self { held });
        }
        let held = Arc::new(Held::start()?);
        HELD.set(Arc::downgrade(&held));
        Ok(Self { held })
    }

    /// The settings that the command inherits, as they were before.
    pub(crate) fn inherited(&self) -> Inherited {
        self.held.inherited
    }

    /// From here on signals go to this child, which ends after `limit`, until the guard is dropped.
    pub(crate) fn forward_to(&self, pid: libc::pid_t, limit: Option<Duration>) -> Forwarding<'_> {
        let shared = &*self.held.shared;
        // SAFETY: a child that has not been waited for; nothing else owns the descriptor.
        let command = unsafe {
            let fd = libc::syscall(libc::SYS_pidfd_open, pid, 0) as libc::c_int;
            (fd >= 0).then(|| OwnedFd::from_raw_fd(fd))
        };
        *locked(&shared.command) = command;
        shared.ended.store(0, Ordering::Relaxed);
        self.begin();
        if let Some(limit) = limit {
            shared.expire_after(limit);
        }
        Forwarding { shared }
    }

    /// From here on a signal that would end this process asks for the end of counting.
    pub(crate) fn begin(&self) {
        self.held.shared.has_begun.store(true, Ordering::Relaxed);
    }

    /// Whether a signal has asked for the end since a command has begun.
    #[must_use]
    pub fn was_interrupted(&self) -> bool {
        let shared = &*self.held.shared;
        // The command can end by a signal before the thread has read it.
        let _reading = locked(&shared.reading);
        let end = END.into_iter().fold(0, |set, signal| set | bit(signal)) & !shared.ignored;
        shared.is_interrupted.load(Ordering::Relaxed) || pending() & end != 0
    }

    /// Can be read from when a signal has asked for the end.
    pub(crate) fn end(&self) -> &File {
        &self.held.shared.end
    }

    /// Stops this process because the command was stopped, so that the shell sees the job stopped.
    pub(crate) fn stop_with(&self, command: libc::pid_t, signal: libc::c_int) {
        if let Some(witness) = &mut *locked(&self.held.shared.witness) {
            witness.watch_stopped(command);
        }
        take_default(signal);
        if let Some(witness) = &mut *locked(&self.held.shared.witness) {
            witness.goes_on();
        }
    }
}

/// A process that this one starts for itself has the signals of one that nothing holds.
pub(crate) fn restore_in(command: &mut Command) {
    let Some(held) = HELD.with_borrow(Weak::upgrade) else { return };
    let inherited = held.inherited;
    // SAFETY: the child makes system calls only.
    unsafe {
        command.pre_exec(move || {
            inherited.restore();
            Ok(())
        });
    }
}

/// Forwards signals to one command.
pub(crate) struct Forwarding<'s> {
    shared: &'s Shared,
}

impl Forwarding<'_> {
    /// Whether the command was ended because its time was up.
    pub(crate) fn time_was_up(&self) -> bool {
        self.shared.ended.load(Ordering::Relaxed) > 0
    }
}

impl Drop for Forwarding<'_> {
    fn drop(&mut self) {
        self.shared.expire_after(Duration::ZERO);
        *locked(&self.shared.command) = None;
    }
}

impl Held {
    fn start() -> Result<Self, StartError> {
        // SAFETY: actions are plain data that the call fills; the sets are those of this thread.
        let (child, ignored) = unsafe {
            let mut child: libc::sigaction = mem::zeroed();
            // A parent that ignores SIGCHLD cannot wait for its children. Stops of a traced command come without it.
            let mut action: libc::sigaction = mem::zeroed();
            (action.sa_sigaction, action.sa_flags) = (libc::SIG_DFL, libc::SA_NOCLDSTOP);
            libc::sigaction(libc::SIGCHLD, &action, &mut child);
            let is_ignored = |signal: &libc::c_int| {
                let mut action: libc::sigaction = mem::zeroed();
                libc::sigaction(*signal, ptr::null(), &mut action) == 0
                    && action.sa_sigaction == libc::SIG_IGN
            };
            (child, END.into_iter().filter(is_ignored).fold(0, |set, signal| set | bit(signal)))
        };
        let inherited = Inherited { mask: mask(libc::SIG_BLOCK, ALL), child };
        let started = Shared::new(ignored).and_then(|shared| {
            let (shared, queue) = (Arc::new(shared), queue()?);
            let reader = Arc::clone(&shared);
            let reader = thread::Builder::new().name("signals".into()).spawn(move || reader.read(queue))?;
            // The first thread of a program lets the C library unblock the two signals that it uses itself.
            mask(libc::SIG_BLOCK, ALL);
            Ok((shared, reader))
        });
        match started {
            Ok((shared, reader)) => Ok(Self { shared, inherited, reader: Some(reader) }),
            Err(error) => {
                inherited.restore();
                Err(StartError::System { what: "read signals", error })
            }
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let _ = (&self.shared.close).write_all(&1_u64.to_ne_bytes());
        if let Some(reader) = self.reader.take() {
            let _ = reader.join();
        }
        *locked(&self.shared.witness) = None;
        self.inherited.restore();
    }
}

impl Shared {
    fn new(ignored: u64) -> std::io::Result<Self> {
        let owned = |fd: libc::c_int| match fd {
            -1 => Err(std::io::Error::last_os_error()),
            // SAFETY: a new descriptor, which nothing else owns.
            fd => Ok(unsafe { File::from_raw_fd(fd) }),
        };
        // SAFETY: numbers and flags.
        let (timer, event) = unsafe {
            let flags = libc::TFD_CLOEXEC | libc::TFD_NONBLOCK;
            let timer = owned(libc::timerfd_create(libc::CLOCK_MONOTONIC, flags))?;
            (timer, || owned(libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK)))
        };
        let witness = Mutex::new(Witness::start(timer.as_raw_fd()));
        Ok(Self {
            command: Mutex::new(None),
            witness,
            timer,
            end: event()?,
            close: event()?,
            ignored,
            has_begun: AtomicBool::new(false),
            is_interrupted: AtomicBool::new(false),
            reading: Mutex::new(()),
            ended: AtomicU32::new(0),
        })
    }

    /// Once after this time; zero switches it off.
    fn expire_after(&self, time: Duration) {
        let none = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        let value = libc::timespec {
            tv_sec: time.as_secs().try_into().unwrap_or(libc::time_t::MAX),
            tv_nsec: time.subsec_nanos().into(),
        };
        let timer = libc::itimerspec { it_interval: none, it_value: value };
        // SAFETY: a valid timer.
        unsafe { libc::timerfd_settime(self.timer.as_raw_fd(), 0, &timer, ptr::null_mut()) };
    }

    /// The thread that reads all signals.
    fn read(&self, mut queue: File) {
        mask(libc::SIG_SETMASK, ALL);
        loop {
            let mut poll = [&queue, &self.timer, &self.close].map(|file| readable(file.as_raw_fd()));
            // SAFETY: valid entries.
            unsafe { libc::poll(poll.as_mut_ptr(), poll.len() as libc::nfds_t, -1) };
            if poll[2].revents != 0 {
                return;
            }
            let mut expired = [0; 8];
            if poll[1].revents != 0 && (&self.timer).read_exact(&mut expired).is_ok() {
                self.time_is_up();
            }
            if poll[0].revents != 0 {
                self.take(&mut queue);
            }
        }
    }

    /// Takes the signals that have arrived. The witness is asked before and after, so that it has seen each that the group has.
    fn take(&self, queue: &mut File) {
        let _reading = locked(&self.reading);
        let mut group = Vec::new();
        let witnessed = |group: &mut Vec<Received>| {
            if let Some(witness) = &mut *locked(&self.witness) {
                witness.received(group);
            }
        };
        loop {
            witnessed(&mut group);
            let mine: Vec<Received> = std::iter::from_fn(|| Received::next(queue)).collect();
            witnessed(&mut group);
            mine.iter().for_each(|signal| self.handle(signal, group.contains(signal)));
            group.retain(|signal| !mine.contains(signal));
            if mine.is_empty() || group.is_empty() {
                return;
            }
            // A signal that only the witness has received is on its way here.
            let mut poll = [readable(queue.as_raw_fd())];
            // SAFETY: a valid entry.
            unsafe { libc::poll(poll.as_mut_ptr(), 1, SPREADS_MS) };
        }
    }

    /// Does what a signal asks for. The group has the command in it, unless that has left it by itself.
    fn handle(&self, received: &Received, to_group: bool) {
        let (signal, info) = (received.0.ssi_signo as libc::c_int, &received.0);
        // The kernel's own SIGCHLD is about a child of this process.
        if signal == libc::SIGCHLD && info.ssi_code > 0 {
            return;
        }
        let is_of_command = info.ssi_code <= 0 && is_own(info.ssi_pid as libc::pid_t);
        let is_heard = !is_of_command && self.ignored & bit(signal) == 0;
        let has_begun = self.has_begun.load(Ordering::Relaxed);
        match &*locked(&self.command) {
            Some(command) => {
                if is_heard && END.contains(&signal) {
                    self.interrupt();
                }
                if !to_group && !is_of_command {
                    send(command, signal, info);
                }
            }
            None if (STOP.contains(&signal) || !has_begun) && !IGNORED.contains(&signal) => {
                take_default(signal);
            }
            None if is_heard && !IGNORED.contains(&signal) => self.interrupt(),
            None => {}
        }
    }

    fn interrupt(&self) {
        self.is_interrupted.store(true, Ordering::Relaxed);
        let _ = (&self.end).write_all(&1_u64.to_ne_bytes());
    }

    fn time_is_up(&self) {
        let Some(command) = &*locked(&self.command) else { return };
        let is_first = self.ended.fetch_add(1, Ordering::Relaxed) == 0;
        send_plain(command, if is_first { libc::SIGTERM } else { libc::SIGKILL });
        if is_first {
            self.expire_after(GRACE);
        }
    }
}

/// A panic of another thread leaves a valid value: each is replaced whole.
fn locked<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The signals that have arrived and were not read.
fn pending() -> u64 {
    let mut signals = 0_u64;
    // SAFETY: the set is valid for the call, and of the kernel's size.
    unsafe { libc::syscall(libc::SYS_rt_sigpending, &raw mut signals, 8_usize) };
    signals
}

fn bit(signal: libc::c_int) -> u64 {
    1 << (signal - 1)
}

/// Lets a signal have its default effect on this process.
fn take_default(signal: libc::c_int) {
    let before = mask(libc::SIG_UNBLOCK, bit(signal));
    // SAFETY: a signal to this thread, which is delivered before the call returns.
    unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), libc::gettid(), signal) };
    mask(libc::SIG_SETMASK, before);
}

/// Whether a process is this one, or descends from it as the command does.
fn is_own(mut pid: libc::pid_t) -> bool {
    let own = std::process::id() as libc::pid_t;
    while pid > 1 && pid != own {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        // The name before the state can contain anything.
        let parent = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(1)?.parse().ok());
        pid = parent.unwrap_or(0);
    }
    pid == own
}

/// The argument of rt_sigqueueinfo(2), which sends a signal with a value.
#[repr(C)]
struct Info {
    signal: libc::c_int,
    errno: libc::c_int,
    code: libc::c_int,
    fields: Fields,
    rest: [u8; 128 - 3 * size_of::<libc::c_int>() - size_of::<Fields>()],
}

#[repr(C)]
struct Fields {
    pid: libc::pid_t,
    uid: libc::uid_t,
    value: usize,
}

/// Passes a signal on, with its value if the sender gave one.
fn send(command: &OwnedFd, signal: libc::c_int, info: &libc::signalfd_siginfo) {
    // The kernel lets nobody speak in its own name, or in that of kill(2) and tgkill(2).
    if !(-4..=-1).contains(&info.ssi_code) {
        return send_plain(command, signal);
    }
    let info = Info {
        signal,
        errno: info.ssi_errno,
        code: info.ssi_code,
        fields: Fields { pid: info.ssi_pid as libc::pid_t, uid: info.ssi_uid, value: info.ssi_ptr as usize },
        rest: [0; _],
    };
    // SAFETY: a descriptor of a process, and information as long as the kernel reads.
    unsafe { libc::syscall(libc::SYS_pidfd_send_signal, command.as_raw_fd(), signal, &raw const info, 0) };
}

fn send_plain(command: &OwnedFd, signal: libc::c_int) {
    let none = ptr::null::<libc::siginfo_t>();
    // SAFETY: a descriptor of a process; there is no further information.
    unsafe { libc::syscall(libc::SYS_pidfd_send_signal, command.as_raw_fd(), signal, none, 0) };
}
