//! Counts and times in the kernel: loads the programs of `guests/bpf/toll.c` and reads their sums.

use crate::count::{Counts, Kind, Stamped, Tally, call_name};
use crate::start::StartError;
use crate::trace::signal_name;
use crate::watch::Counter;
use aya::maps::{HashMap, Map, MapData, PerCpuArray};
use aya::programs::perf_event::{PerfEventScope, PerfTypeId, SamplePolicy};
use aya::programs::{Program, ProgramError};
use aya::util::online_cpus;
use aya::{Btf, Ebpf, EbpfError, Pod, include_bytes_aligned};
use perf_event_open_sys::bindings::{PERF_COUNT_SW_PAGE_FAULTS_MAJ, PERF_COUNT_SW_PAGE_FAULTS_MIN};
use std::{fs, io};

static OBJECT: &[u8] = include_bytes_aligned!("../../../guests/bpf/images/toll.o");

/// Each program, what it is attached to, and whether counting is impossible without it. What is optional does not exist on
/// every architecture and in every configuration.
const PROGRAMS: &[(&str, &str, bool)] = &[
    ("sched_switch", "sched_switch", true),
    ("process_fork", "sched_process_fork", true),
    ("process_exec", "sched_process_exec", true),
    ("sched_waking", "sched_waking", true),
    ("signal_deliver", "signal_deliver", true),
    ("page_fault_user", "page_fault_user", false),
    ("page_fault_kernel", "page_fault_kernel", false),
    ("rss_stat", "rss_stat", true),
    ("page_alloc", "mm_page_alloc", true),
    ("fault_minor", "minor", true),
    ("fault_major", "major", true),
    ("irq_entry", "irq_handler_entry", false),
    ("irq_exit", "irq_handler_exit", false),
    ("timer_entry", "local_timer_entry", false),
    ("timer_exit", "local_timer_exit", false),
    ("sys_enter", "sys_enter", true),
    ("sys_exit", "sys_exit", true),
];

/// `struct task` of the program, of which only the mode of a new one is written.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Task {
    times: [u64; 7],
    numbers: [u32; 2],
    flags: [u8; 8],
}

/// `struct tally` of the program.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Sums {
    count: u64,
    ns: u64,
    off: u64,
    errors: u64,
    one_byte: u64,
    switches: u64,
}

// SAFETY: plain data without padding, in which every bit pattern is valid.
unsafe impl Pod for Task {}
// SAFETY: plain data without padding, in which every bit pattern is valid.
unsafe impl Pod for Sums {}

/// `enum total` of the program.
#[derive(Clone, Copy)]
#[repr(u32)]
enum Total {
    Cpu,
    User,
    Interrupt,
    Preempted,
    Voluntary,
    Involuntary,
    Moved,
    WokenHere,
    WokenThere,
    Processes,
    Threads,
    Execs,
    Ended,
    Interrupts,
    Birth,
}

/// `enum fault` of the program.
const FAULTS: [&str; 7] = ["anonymous", "zero page", "copy on write", "file", "major", "huge", "protection"];
const CALLS: u32 = 1024;
const SIGNALS: u32 = 65;

/// The loaded programs. They are attached until this is dropped.
pub(crate) struct Bpf {
    ebpf: Ebpf,
    counts: Counts,
}

/// Why the programs do not run here, in one sentence.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BpfError {
    #[error("BPF counts by the process ids of the whole machine, and this is a container with its own")]
    Namespace,
    #[error("BPF is refused: {0}; it needs root, or CAP_BPF and CAP_PERFMON")]
    Load(#[from] EbpfError),
    #[error("the kernel does not describe its types (BTF): {0}")]
    Btf(#[from] aya::BtfError),
    #[error("BPF program {0} is refused: {1}")]
    Program(&'static str, ProgramError),
    #[error("a BPF map is refused: {0}")]
    Map(#[from] aya::maps::MapError),
}

impl Bpf {
    /// Loads and attaches the programs. They count nothing before a task is entered.
    pub(crate) fn open() -> Result<Self, BpfError> {
        // The number of the first namespace is fixed (PROC_PID_INIT_INO of linux/proc_ns.h).
        if fs::read_link("/proc/self/ns/pid").is_ok_and(|it| it.as_os_str() != "pid:[4026531836]") {
            return Err(BpfError::Namespace);
        }
        let mut ebpf = Ebpf::load(OBJECT)?;
        let btf = Btf::from_sys_fs()?;
        for &(name, point, needed) in PROGRAMS {
            let program = ebpf.program_mut(name).ok_or(ProgramError::NotLoaded);
            let attached = program.and_then(|program| attach(program, point, &btf));
            if let Some(error) = attached.err().filter(|_| needed) {
                return Err(BpfError::Program(name, error));
            }
        }
        Ok(Self { ebpf, counts: Counts::default() })
    }

    /// Counts this task from its next execution on.
    pub(crate) fn follow(&mut self, pid: libc::pid_t) -> Result<(), BpfError> {
        let tasks =
            self.ebpf.map_mut("tasks").ok_or(aya::maps::MapError::InvalidName { name: "tasks".into() })?;
        HashMap::<_, u32, Task>::try_from(tasks)?.insert(pid as u32, Task::default(), 0)?;
        Ok(())
    }

    /// What was counted.
    pub(crate) fn counts(self) -> Counts {
        self.counts
    }

    fn map(&self, name: &str) -> Option<&Map> {
        self.ebpf.map(name)
    }

    fn sums(&self, map: &str, at: u32) -> Sums {
        let array = self.map(map).and_then(|map| PerCpuArray::<&MapData, Sums>::try_from(map).ok());
        let values = array.and_then(|array| array.get(&at, 0).ok());
        values.iter().flat_map(|values| values.iter()).fold(Sums::default(), |a, b| Sums {
            count: a.count + b.count,
            ns: a.ns + b.ns,
            off: a.off + b.off,
            errors: a.errors + b.errors,
            one_byte: a.one_byte + b.one_byte,
            switches: a.switches + b.switches,
        })
    }

    fn number(&self, map: &str, at: u32) -> u64 {
        let array = self.map(map).and_then(|map| PerCpuArray::<&MapData, u64>::try_from(map).ok());
        array.and_then(|array| array.get(&at, 0).ok()).map_or(0, |values| values.iter().sum())
    }

    fn read(&self) -> Counts {
        let mut counts = Counts::default();
        for (kind, map, number) in
            [(Kind::Call, "calls", CALLS), (Kind::Fault, "faults", FAULTS.len() as u32)]
        {
            for at in 0..number {
                let sums = self.sums(map, at);
                if sums.count == 0 {
                    continue;
                }
                let is_call = kind == Kind::Call;
                let name = match FAULTS.get(at as usize).filter(|_| !is_call) {
                    Some(name) => (*name).to_owned(),
                    None if at == CALLS - 1 => "unknown calls".into(),
                    None => call_name(at.into()),
                };
                let moves = is_call && ["read", "write"].contains(&name.as_str());
                *counts.at(kind, name) = Tally {
                    count: sums.count,
                    errors: is_call.then_some(sums.errors),
                    one_byte: moves.then_some(sums.one_byte),
                    kernel_ns: Some(sums.ns),
                    waiting_ns: Some(sums.off),
                };
            }
        }
        for signal in 1..SIGNALS {
            counts.add(Kind::Signal, &signal_name(signal as libc::c_int), self.number("signals", signal));
        }
        let total = |which: Total| self.number("totals", which as u32);
        for (kind, name, which) in [
            (Kind::Switch, "voluntary", Total::Voluntary),
            (Kind::Switch, "involuntary", Total::Involuntary),
            (Kind::Switch, "to another CPU", Total::Moved),
            (Kind::Wake, "on the same CPU", Total::WokenHere),
            (Kind::Wake, "on another CPU", Total::WokenThere),
            (Kind::Task, "process", Total::Processes),
            (Kind::Task, "thread", Total::Threads),
            (Kind::Exec, "exec", Total::Execs),
            (Kind::Interrupt, "interrupt", Total::Interrupts),
        ] {
            counts.add(kind, name, total(which));
        }
        counts.stamped = Some(Stamped {
            cpu_ns: total(Total::Cpu),
            user_ns: total(Total::User),
            interrupts_ns: total(Total::Interrupt),
            preempted_ns: total(Total::Preempted),
            birth_ns: total(Total::Birth),
        });
        let began = 1 + total(Total::Processes) + total(Total::Threads);
        counts.left_running = began.saturating_sub(total(Total::Ended));
        counts
    }
}

impl Counter for Bpf {
    fn attach(&mut self, pid: libc::pid_t) -> Result<(), StartError> {
        let what = "count the command by BPF";
        self.follow(pid).map_err(|error| StartError::System { what, error: io::Error::other(error) })
    }

    fn ended(&mut self, _: libc::pid_t) {
        self.counts = self.read();
    }
}

fn attach(program: &mut Program, point: &str, btf: &Btf) -> Result<(), ProgramError> {
    match program {
        Program::RawTracePoint(it) => {
            it.load()?;
            it.attach(point)?;
        }
        Program::BtfTracePoint(it) => {
            it.load(point, btf)?;
            it.attach()?;
        }
        Program::PerfEvent(it) => {
            it.load()?;
            let event = match point {
                "major" => PERF_COUNT_SW_PAGE_FAULTS_MAJ,
                _ => PERF_COUNT_SW_PAGE_FAULTS_MIN,
            };
            // Whose fault it is the program decides.
            for cpu in online_cpus().map_err(|(_, error)| ProgramError::IOError(error))? {
                let scope = PerfEventScope::AllProcessesOneCpu { cpu };
                it.attach(PerfTypeId::Software, event.into(), scope, SamplePolicy::Period(1), false)?;
            }
        }
        _ => return Err(ProgramError::UnexpectedProgramType),
    }
    Ok(())
}
