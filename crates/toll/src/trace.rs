//! Counts under ptrace: a seccomp filter stops the program once at each system call (ptrace(2), seccomp(2)).

use crate::call::Call;
use crate::count::{Counts, Kind, Tally};
use crate::images::Images;
use crate::launch::Prepare;
use crate::sites::{Place, Sites};
use crate::stack::stack_of;
use crate::start::StartError;
use crate::watch::{Counter, next_change};
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};
use std::{fs, io, mem, ptr, thread};

/// Stops at calls, follows new tasks, and ends all of them with this process.
const OPTIONS: libc::c_int = libc::PTRACE_O_TRACESECCOMP
    | libc::PTRACE_O_TRACEFORK
    | libc::PTRACE_O_TRACEVFORK
    | libc::PTRACE_O_TRACECLONE
    | libc::PTRACE_O_TRACEEXEC
    | libc::PTRACE_O_EXITKILL;

/// The 32-bit architectures of x86-64 and arm64 (linux/audit.h).
const AUDIT_ARCH_I386: u32 = 0x4000_0003;
const AUDIT_ARCH_ARM: u32 = 0x4000_0028;

/// Signals whose default is to be ignored (signal(7)).
pub(crate) const IGNORED: [libc::c_int; 4] = [libc::SIGCHLD, libc::SIGCONT, libc::SIGURG, libc::SIGWINCH];

/// The counting pass.
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

    /// What was counted, and where it came from if that was wanted.
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
        if info.op != libc::PTRACE_SYSCALL_INFO_SECCOMP {
            return;
        }
        // SAFETY: the kind of stop says that this part is filled.
        let (number, bytes) = unsafe { (info.u.seccomp.nr, info.u.seccomp.args[2]) };
        let call = Call::new(number, [AUDIT_ARCH_I386, AUDIT_ARCH_ARM].contains(&info.arch));
        *self.calls.entry(call).or_default() += 1;
        *self.one_byte.entry(call).or_default() += u64::from(bytes == 1 && call.moves());
        if let Some(stacks) = &mut self.stacks {
            stacks.take(pid, call, info.instruction_pointer, info.stack_pointer);
        }
    }

    fn event(&mut self, pid: libc::pid_t, event: libc::c_int) {
        match event {
            libc::PTRACE_EVENT_SECCOMP => self.call(pid),
            libc::PTRACE_EVENT_FORK | libc::PTRACE_EVENT_VFORK | libc::PTRACE_EVENT_CLONE => {
                self.announced(message(pid));
            }
            libc::PTRACE_EVENT_EXEC => {
                if !mem::replace(&mut self.executed, true) {
                    // What was before is ours; the program begins with its execution.
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
    fn prepare(&self) -> Prepare<'_> {
        &|| {
            quiet()?;
            stop_at_calls()
        }
    }

    fn attach(&mut self, pid: libc::pid_t) -> Result<(), StartError> {
        request(libc::PTRACE_SEIZE, pid, OPTIONS)
            .map_err(|error| StartError::System { what: "trace the command", error })
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
            0 => {
                if is_delivered(pid, signal) {
                    self.counts.at(Kind::Signal, signal_name(signal)).count += 1;
                }
                (libc::PTRACE_CONT, signal)
            }
            // Stopped by a signal as a group: it stays stopped.
            libc::PTRACE_EVENT_STOP if signal != libc::SIGTRAP => (libc::PTRACE_LISTEN, 0),
            event => {
                self.event(pid, event);
                (libc::PTRACE_CONT, 0)
            }
        };
        // A task that was killed meanwhile cannot be continued, and its end is reported.
        let _ = request(what, pid, signal);
    }

    fn ended(&mut self, pid: libc::pid_t) {
        self.tasks.remove(&pid);
        self.counts.left_running = self.tasks.len() as u64;
        end_traced();
    }
}

/// How long the end of what was left behind may take. What takes longer ends with this process.
const GRACE: Duration = Duration::from_secs(2);

/// Ends every task that this thread traces. Without a tracer the filter would fail every call of it, and a task whose first
/// stop nobody has seen yet would stay stopped, with the locks that it holds.
fn end_traced() {
    // SAFETY: a call without arguments.
    let tracer = unsafe { libc::gettid() };
    let started = Instant::now();
    loop {
        let traced = traced_by(tracer);
        if traced.is_empty() || started.elapsed() > GRACE {
            break;
        }
        for pid in traced {
            // SAFETY: a task that is traced, so that its id is its own until its end is reported to this thread.
            unsafe { libc::kill(pid, libc::SIGKILL) };
        }
        while next_change(libc::WNOHANG).is_some() {}
        thread::sleep(Duration::from_millis(1));
    }
}

/// The processes that a thread traces.
fn traced_by(tracer: libc::pid_t) -> Vec<libc::pid_t> {
    let mine = format!("\nTracerPid:\t{tracer}\n");
    let names = fs::read_dir("/proc").into_iter().flatten().flatten().map(|entry| entry.file_name());
    let pids = names.filter_map(|name| name.to_str()?.parse::<libc::pid_t>().ok());
    pids.filter(|pid| fs::read_to_string(format!("/proc/{pid}/status")).is_ok_and(|it| it.contains(&mine)))
        .collect()
}

/// What the kernel says with an event: the task that is new, or that has executed a program.
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

/// In the child: the counting pass prints nothing, and reads a file from its beginning as the other pass does.
fn quiet() -> io::Result<()> {
    // SAFETY: system calls on descriptors and on strings that end with a zero byte.
    unsafe {
        let mut stat: libc::stat = mem::zeroed();
        let is_file = libc::fstat(0, &mut stat) == 0 && stat.st_mode & libc::S_IFMT == libc::S_IFREG;
        let input = if is_file { c"/proc/self/fd/0" } else { c"/dev/null" };
        let (input, output) =
            (libc::open(input.as_ptr(), libc::O_RDONLY), libc::open(c"/dev/null".as_ptr(), libc::O_WRONLY));
        let done = input >= 0
            && output >= 0
            && [(input, 0), (output, 1), (output, 2)].iter().all(|&(from, to)| libc::dup2(from, to) == to);
        if !done {
            return Err(io::Error::last_os_error());
        }
        libc::close(input);
        libc::close(output);
        Ok(())
    }
}

/// In the child: a filter that stops at every call. A process without privileges gives up those of set-uid programs.
fn stop_at_calls() -> io::Result<()> {
    const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;
    let mut code = [libc::sock_filter { code: RETURN, jt: 0, jf: 0, k: libc::SECCOMP_RET_TRACE }];
    let filter = libc::sock_fprog { len: code.len() as u16, filter: code.as_mut_ptr() };
    let install = || {
        // SAFETY: the filter is valid for the call, which copies it.
        unsafe { libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const filter) == 0 }
    };
    // SAFETY: an option of this process that takes numbers.
    let unprivileged = || unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 };
    if install() || (unprivileged() && install()) { Ok(()) } else { Err(io::Error::last_os_error()) }
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
