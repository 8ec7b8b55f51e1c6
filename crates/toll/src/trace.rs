//! Counts under ptrace, which stops the program before and after each system call (ptrace(2)). A seccomp filter would stop it once,
//! and would refuse every call of what the command leaves running.

use crate::call::Call;
use crate::count::{Counts, Kind, Tally};
use crate::images::Images;
use crate::sites::{Place, Sites};
use crate::stack::stack_of;
use crate::start::StartError;
use crate::watch::{Counter, next_change};
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};
use std::{fs, io, mem, ptr, thread};

/// Marks the stops at calls, and follows new tasks. All go on untraced when this process ends.
const OPTIONS: libc::c_int = libc::PTRACE_O_TRACESYSGOOD
    | libc::PTRACE_O_TRACEFORK
    | libc::PTRACE_O_TRACEVFORK
    | libc::PTRACE_O_TRACECLONE
    | libc::PTRACE_O_TRACEEXEC;

/// The signal of a stop at a call.
const AT_CALL: libc::c_int = libc::SIGTRAP | 0x80;

/// The 32-bit architectures of x86-64 and arm64 (linux/audit.h).
const AUDIT_ARCH_I386: u32 = 0x4000_0003;
const AUDIT_ARCH_ARM: u32 = 0x4000_0028;

/// Signals whose default is to be ignored (signal(7)).
pub(crate) const IGNORED: [libc::c_int; 4] = [libc::SIGCHLD, libc::SIGCONT, libc::SIGURG, libc::SIGWINCH];

/// The tracer of a run.
#[derive(Default)]
pub(crate) struct Tracer {
    calls: BTreeMap<Call, u64>,
    one_byte: BTreeMap<Call, u64>,
    counts: Counts,
    executed: bool,
    tasks: BTreeSet<libc::pid_t>,
    /// Of these, the first threads of the command's processes.
    processes: BTreeSet<libc::pid_t>,
    /// New tasks that were announced once, by the one that started them or by themselves. Either may be killed before.
    announced: BTreeSet<libc::pid_t>,
    /// Where calls came from, if that is wanted.
    stacks: Option<Stacks>,
}

#[derive(Default)]
struct Stacks {
    images: Images,
    places: BTreeMap<(Place, Call), u64>,
}

impl Tracer {
    pub(crate) fn new(stacks: bool) -> Self {
        Self { stacks: stacks.then(Stacks::default), ..Self::default() }
    }

    /// The counts, and the call sites if they are wanted.
    pub(crate) fn counts(mut self) -> (Counts, Option<Sites>) {
        for (call, count) in self.calls {
            let tally = self.counts.at(Kind::Call, call.name());
            tally.count += count;
            tally.one_byte = Some(self.one_byte.get(&call).copied().unwrap_or(0));
        }
        let sites = self.stacks.map(|Stacks { images, places }| {
            let sites = places.into_iter().map(|((place, call), count)| {
                (place, Kind::Call, call.name(), Tally { count, ..Tally::default() })
            });
            Sites::of(sites, &images)
        });
        (self.counts, sites)
    }

    /// A task began. A clone can begin a process, too, if its end sends another signal than SIGCHLD or none.
    fn announced(&mut self, task: libc::pid_t) {
        if self.announced.remove(&task) {
            return;
        }
        self.announced.insert(task);
        let is_process = is_first(task);
        if is_process {
            self.processes.insert(task);
        }
        self.counts.at(Kind::Task, if is_process { "process" } else { "thread" }).count += 1;
    }

    /// A process was killed by the one signal at which it does not stop.
    pub(crate) fn killed(&mut self) {
        self.counts.at(Kind::Signal, signal_name(libc::SIGKILL)).count += 1;
    }

    fn call(&mut self, pid: libc::pid_t) {
        // SAFETY: plain data that the call fills up to the size that it is given.
        let info = unsafe {
            let mut info: libc::ptrace_syscall_info = mem::zeroed();
            libc::ptrace(libc::PTRACE_GET_SYSCALL_INFO, pid, size_of_val(&info), &raw mut info);
            info
        };
        if info.op != libc::PTRACE_SYSCALL_INFO_ENTRY {
            return;
        }
        // SAFETY: the kind of stop says that this part is filled.
        let (number, bytes) = unsafe { (info.u.entry.nr, info.u.entry.args[2]) };
        let call = Call::new(number, [AUDIT_ARCH_I386, AUDIT_ARCH_ARM].contains(&info.arch));
        *self.calls.entry(call).or_default() += 1;
        *self.one_byte.entry(call).or_default() += u64::from(bytes == 1 && call.moves());
        if let Some(stacks) = &mut self.stacks {
            stacks.take(pid, call, info.instruction_pointer, info.stack_pointer);
        }
    }

    fn event(&mut self, pid: libc::pid_t, event: libc::c_int) {
        match event {
            libc::PTRACE_EVENT_FORK | libc::PTRACE_EVENT_VFORK | libc::PTRACE_EVENT_CLONE => {
                self.announced(message(pid));
            }
            libc::PTRACE_EVENT_EXEC => {
                if !mem::replace(&mut self.executed, true) {
                    // Counts before the execution of the program are ours.
                    let (tasks, stacks) = (mem::take(&mut self.tasks), mem::take(&mut self.stacks));
                    *self = Self { executed: true, tasks, stacks, ..Self::default() };
                    if let Some(stacks) = &mut self.stacks {
                        stacks.places.clear();
                    }
                    self.calls.insert(Call::native(libc::SYS_execve), 1);
                }
                self.counts.at(Kind::Exec, "exec").count += 1;
                if let Some(stacks) = &mut self.stacks {
                    stacks.images.executed(pid);
                }
                // A thread that executes takes the number of the first one.
                let before = message(pid);
                if before != pid {
                    self.tasks.remove(&before);
                }
            }
            _ => {}
        }
    }
}

impl Stacks {
    fn take(&mut self, pid: libc::pid_t, call: Call, instruction: u64, pointer: u64) {
        let image = self.images.current(pid);
        if self.images.find(pid, image, instruction).is_none() {
            // New code, or the first call of a task.
            self.images.read(pid);
        }
        let (frames, top) = stack_of(pid, instruction, pointer);
        *self.places.entry((Place { pid, image, frames, top }, call)).or_default() += 1;
    }
}

impl Counter for Tracer {
    fn traces(&self) -> bool {
        true
    }

    fn attach(&mut self, pid: libc::pid_t) -> Result<(), StartError> {
        request(libc::PTRACE_SEIZE, pid, OPTIONS)
            .map_err(|error| StartError::Refused { what: "trace the command", error })
    }

    fn changed(&mut self, pid: libc::pid_t, status: libc::c_int) {
        if !libc::WIFSTOPPED(status) {
            if !self.tasks.remove(&pid) {
                self.announced(pid);
            }
            if self.processes.remove(&pid)
                && libc::WIFSIGNALED(status)
                && libc::WTERMSIG(status) == libc::SIGKILL
            {
                self.killed();
            }
            return;
        }
        if self.tasks.insert(pid) {
            self.announced(pid);
        }
        let (signal, event) = (libc::WSTOPSIG(status), status >> 16);
        let (what, signal) = match event {
            0 if signal == AT_CALL => {
                self.call(pid);
                (libc::PTRACE_SYSCALL, 0)
            }
            0 => {
                if is_delivered(pid, signal) {
                    self.counts.at(Kind::Signal, signal_name(signal)).count += 1;
                }
                (libc::PTRACE_SYSCALL, signal)
            }
            // Stopped by a signal as a group: it stays stopped.
            libc::PTRACE_EVENT_STOP if signal != libc::SIGTRAP => (libc::PTRACE_LISTEN, 0),
            event => {
                self.event(pid, event);
                (libc::PTRACE_SYSCALL, 0)
            }
        };
        // A task that was killed meanwhile cannot be continued, and its end is reported.
        let _ = request(what, pid, signal);
    }

    fn ended(&mut self, pid: libc::pid_t) {
        self.tasks.remove(&pid);
        // New tasks, which have not stopped yet, as well.
        self.tasks.extend(mem::take(&mut self.announced));
        self.tasks.retain(|task| request(libc::PTRACE_INTERRUPT, *task, 0).is_ok());
        self.counts.left_running = self.tasks.len() as u64;
        release(mem::take(&mut self.tasks));
    }
}

/// The time that tasks which were left behind may take to stop. Slower ones continue when this process ends.
const GRACE: Duration = Duration::from_secs(2);

/// Lets go of tasks when they stop. They go on untraced.
fn release(mut tasks: BTreeSet<libc::pid_t>) {
    let started = Instant::now();
    while !tasks.is_empty() && started.elapsed() < GRACE {
        let Some((pid, status, _)) = next_change(libc::WNOHANG) else {
            thread::sleep(Duration::from_millis(1));
            continue;
        };
        tasks.remove(&pid);
        if !libc::WIFSTOPPED(status) {
            continue;
        }
        let (signal, event) = (libc::WSTOPSIG(status), status >> 16);
        if [libc::PTRACE_EVENT_FORK, libc::PTRACE_EVENT_VFORK, libc::PTRACE_EVENT_CLONE].contains(&event) {
            tasks.insert(message(pid));
        }
        let is_delivery = event == 0 && signal != AT_CALL;
        let _ = request(libc::PTRACE_DETACH, pid, if is_delivery { signal } else { 0 });
    }
}

/// The kernel's message with an event: the task that is new, or that has executed a program.
fn message(pid: libc::pid_t) -> libc::pid_t {
    let mut message: libc::c_ulong = 0;
    // SAFETY: the number is valid for the call to fill.
    unsafe { libc::ptrace(libc::PTRACE_GETEVENTMSG, pid, ptr::null_mut::<u8>(), &raw mut message) };
    message as libc::pid_t
}

/// Whether a task is the first one of its process.
fn is_first(tid: libc::pid_t) -> bool {
    fs::read_to_string(format!("/proc/{tid}/status"))
        .is_ok_and(|it| it.contains(&format!("\nTgid:\t{tid}\n")))
}

fn request(what: libc::c_uint, pid: libc::pid_t, data: libc::c_int) -> io::Result<()> {
    // SAFETY: requests without an address, whose data is a number.
    let done = unsafe { libc::ptrace(what, pid, ptr::null_mut::<libc::c_void>(), data as libc::c_long) };
    if done == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Whether a signal is delivered also to a program that is not traced: a tracer sees ignored ones, too.
fn is_delivered(pid: libc::pid_t, signal: libc::c_int) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let has = |key: &str| {
        let mask = status.lines().find_map(|line| line.strip_prefix(key));
        let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
        mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
    };
    has("SigCgt:") || !(has("SigIgn:") || IGNORED.contains(&signal))
}

/// `SIGTERM`, or the number of one that has no name here.
pub(crate) fn signal_name(signal: libc::c_int) -> String {
    const NAMES: [&str; 31] = [
        "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV", "USR2", "PIPE",
        "ALRM", "TERM", "STKFLT", "CHLD", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "URG", "XCPU", "XFSZ",
        "VTALRM", "PROF", "WINCH", "IO", "PWR", "SYS",
    ];
    let name = usize::try_from(signal - 1).ok().and_then(|at| NAMES.get(at));
    name.map_or_else(|| format!("signal {signal}"), |name| format!("SIG{name}"))
}
