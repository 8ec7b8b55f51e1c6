//! Counts and times in the kernel: loads the programs of `guests/bpf/toll.c` and reads their sums.

use crate::accounts::TaskAccount;
use crate::attach::Process;
use crate::batch;
use crate::calibrate::{Pair, Yardstick};
use crate::clock::kernel_ns;
use crate::count::{Accounted, Counts, Kind};
use crate::filter;
use crate::images::Images;
use crate::rings::{Rings, Wanted};
use crate::sites::{Place, Sites};
use crate::snapshot::{FAULTS, Snapshot, call_name};
use crate::start::StartError;
use crate::sums::Sums;
use crate::timeline::Timeline;
use crate::watch::Counter;
use crate::windows::{self, Clusters, Windows};
use aya::maps::{Array, HashMap, Map, MapData, MapError, PerCpuArray, PerCpuValues, StackTraceMap};
use aya::programs::perf_event::{PerfEventScope, PerfTypeId, SamplePolicy};
use aya::programs::raw_trace_point::RawTracePointLinkId;
use aya::programs::{Program, ProgramError};
use aya::util::online_cpus;
use aya::{Btf, Ebpf, EbpfError, EbpfLoader, Pod, include_bytes_aligned};
use perf_event_open_sys::bindings::{PERF_COUNT_SW_PAGE_FAULTS_MAJ, PERF_COUNT_SW_PAGE_FAULTS_MIN};
use std::time::Duration;
use std::{fs, io, mem};
use tollgate_record::Estimate;

static OBJECT: &[u8] = include_bytes_aligned!("../../../guests/bpf/images/toll.o");

/// Each program, what it is attached to, and whether counting is impossible without it. What is optional does not exist on
/// every architecture and in every configuration.
const PROGRAMS: &[(&str, &str, bool)] = &[
    ("sched_switch", "sched_switch", true),
    ("process_fork", "sched_process_fork", true),
    ("process_exec", "sched_process_exec", true),
    ("sched_waking", "sched_waking", true),
    ("signal_generate", "signal_generate", true),
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
    (windows::PROGRAM, windows::PROGRAM, true),
    ("sys_exit", "sys_exit", true),
];

/// `struct task` of the program.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Task {
    times: [u64; 8],
    numbers: [u32; 2],
    flags: [u8; 8],
    tid: u32,
    random: u32,
    who: u64,
    base_ran: u64,
    base_switches: u32,
    base_faults: u32,
    executor: u32,
    pad: u32,
}

// SAFETY: plain data without padding, in which every bit pattern is valid.
unsafe impl Pod for Task {}
// SAFETY: plain data without padding, in which every bit pattern is valid.
unsafe impl Pod for SiteKey {}

/// `struct site` of the program.
#[repr(C)]
#[derive(Clone, Copy)]
struct SiteKey {
    pid: u32,
    image: u32,
    /// The element of a call, or [`IS_FAULT`] and a kind of fault.
    boundary: u32,
    /// Negative where the stack is not known; with [`SKIPPED`] without its innermost frame.
    stack: i32,
    instruction: u64,
    caller: u64,
}

const IS_FAULT: u32 = 1 << 16;
const SKIPPED: u32 = 1 << 30;
/// As many call sites and stacks are told apart.
const SITES: u32 = 1 << 14;
/// The tasks of a process are listed as often until all are known.
const LISTINGS: usize = 16;
/// As many milliseconds may the end of a task arrive late.
const ENDINGS: usize = 50;
/// The kernel's reports of mapped code are read as often while the command runs.
const MAPS_PERIOD: Duration = Duration::from_millis(50);

/// What is kept for the call sites.
struct Stacks {
    rings: Option<Rings>,
    images: Images,
    yardstick: libc::pid_t,
    sites: Sites,
}

impl Stacks {
    fn read(&mut self) {
        for record in self.rings.iter_mut().flat_map(Rings::read) {
            self.images.apply(&record);
        }
    }
}

/// Modes of a task in the program: its next execution begins the command, or it is in the middle of something.
const BORN: u8 = 0;
const USER: u8 = 1;
const UNKNOWN: u8 = 4;
const UNSEEN: u8 = 5;
/// Slots of tasks in the program.
const SLOTS: u32 = 65_536;
/// Places in [`Task`].
const SINCE: usize = 0;
const USER_NS: usize = 1;
const ON_SINCE: usize = 6;
const MODE: usize = 0;
const OFF: usize = 3;
/// It ran or waited when counting began, and has shown neither yet.
const OFF_UNSEEN: u8 = 3;

/// The loaded programs. They are attached until this is dropped.
pub(crate) struct Bpf {
    ebpf: Ebpf,
    /// What was counted before the command.
    before: Snapshot,
    counts: Counts,
    timeline: Option<Timeline>,
    stacks: Option<Stacks>,
    windows: Option<Windows>,
    /// The calls when the last window was added to `clusters`.
    windowed: Vec<Sums>,
    clusters: Vec<Clusters>,
}

/// What counting adds to a call and a fault.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Overhead {
    /// Without counting.
    pub(crate) bare: Pair,
    /// While they are counted.
    pub(crate) counted: Pair,
    /// What of that is between the two stamps of each.
    pub(crate) inside: Pair,
}

impl Overhead {
    /// With what the same measurements gave after the command: the machine may have changed its speed meanwhile.
    fn spanned(&self, counted: &Pair, inside: &Pair) -> Self {
        Self { bare: self.bare, counted: self.counted.spanned(counted), inside: self.inside.spanned(inside) }
    }
}

/// Why the programs do not run here, in one sentence.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BpfError {
    #[error("BPF counts by the process ids of the whole machine, and this is a container with its own")]
    Namespace,
    #[error("a filter of this sandbox ends the process that loads BPF programs or opens events (SIGSYS)")]
    Filter,
    #[error("BPF is refused: {}; it needs root, or CAP_BPF and CAP_PERFMON", reason(.0))]
    Load(#[from] EbpfError),
    #[error("the kernel does not describe its types (BTF): {0}")]
    Btf(#[from] aya::BtfError),
    #[error("BPF program {0} is refused: {1}")]
    Program(&'static str, ProgramError),
}

/// The kernel's words for the last cause, which says most.
fn reason(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.last().map_or_else(String::new, ToString::to_string)
}

impl Bpf {
    /// Loads and attaches the programs. They count nothing before a task is entered.
    pub(crate) fn open(stacks: bool) -> Result<Self, BpfError> {
        // The number of the first namespace is fixed (PROC_PID_INIT_INO of linux/proc_ns.h).
        if fs::read_link("/proc/self/ns/pid").is_ok_and(|it| it.as_os_str() != "pid:[4026531836]") {
            return Err(BpfError::Namespace);
        }
        if filter::ends_bpf() || filter::ends_events() {
            return Err(BpfError::Filter);
        }
        let btf = Btf::from_sys_fs()?;
        let mut loader = EbpfLoader::new();
        loader.btf(Some(&btf));
        if stacks {
            loader.set_global("WALK", &1_u32, true).set_max_entries("places", SLOTS);
            loader.set_max_entries("sites", SITES).set_max_entries("stacks", SITES);
        }
        let exits_alone = windows::are_possible();
        loader.set_global("EXITS_ALONE", if exits_alone { &1_u32 } else { &0_u32 }, true);
        let mut ebpf = loader.load(OBJECT)?;
        let mut windows = None;
        for &(name, point, needed) in PROGRAMS {
            let program = ebpf.program_mut(name).ok_or(ProgramError::NotLoaded);
            match program.and_then(|program| attach(program, point, &btf)) {
                Ok(link) if name == windows::PROGRAM => windows = link.map(Windows::new),
                Err(error) if needed => return Err(BpfError::Program(name, error)),
                _ => {}
            }
        }
        // Where a call came from is known at its entry.
        let windows = windows.filter(|_| exits_alone && !stacks);
        let stacks = stacks.then(|| Stacks {
            rings: None,
            images: Images::default(),
            yardstick: 0,
            sites: Sites::default(),
        });
        Ok(Self {
            ebpf,
            before: Snapshot::default(),
            counts: Counts::default(),
            timeline: None,
            stacks,
            windows,
            windowed: Vec::new(),
            clusters: Vec::new(),
        })
    }

    /// Measures what counting adds, before the command.
    pub(crate) fn calibrate(&mut self, yardstick: &mut Yardstick, bare: Pair) -> Option<Overhead> {
        let [counted, inside] = self.measure(yardstick)?;
        self.before = self.snapshot();
        if let Some(windows) = &mut self.windows {
            windows.start(&self.ebpf, counted.call.estimate - bare.call.estimate);
            self.windowed = self.before.calls.clone();
            self.clusters = vec![Clusters::default(); self.windowed.len()];
        }
        if let Some(stacks) = &mut self.stacks {
            stacks.yardstick = yardstick.pid;
        }
        Some(Overhead { bare, counted, inside })
    }

    /// Measures the same after the command, of whose calls this share was counted by their exits alone.
    pub(crate) fn calibrate_again(
        &mut self,
        yardstick: &mut Yardstick,
        overhead: &Overhead,
        unseen: f64,
    ) -> Option<Overhead> {
        if let Some(windows) = &mut self.windows {
            windows.end(&mut self.ebpf).ok()?;
        }
        let [counted, inside] = self.measure(yardstick)?;
        let mut overhead = overhead.spanned(&counted, &inside);
        if let Some(windows) = self.windows.as_mut().filter(|_| unseen > 0.0) {
            windows.see(&mut self.ebpf, false).ok()?;
            self.enter(yardstick.pid, UNKNOWN).ok()?;
            overhead.counted = overhead.counted.mixed(&yardstick.measure()?, unseen);
        }
        Some(overhead)
    }

    /// A call and a fault while they are counted, and what of each is between its stamps.
    fn measure(&mut self, yardstick: &mut Yardstick) -> Option<[Pair; 2]> {
        let before = self.snapshot();
        self.enter(yardstick.pid, UNKNOWN).ok()?;
        let counted = yardstick.measure()?;
        // Its sums are complete when it has left its CPU.
        yardstick.rest();
        self.leave(yardstick.pid).ok()?;
        let between = self.snapshot().minus(&before);
        let each = |sums: &[Sums], at: usize| {
            let ns = sums.get(at).map(|it| it.tally().kernel_ns.unwrap_or(0) as f64 / it.count.max(1) as f64);
            ns.map(Estimate::point)
        };
        let inside = Pair {
            call: each(&between.calls, libc::SYS_getppid as usize)?,
            fault: each(&between.faults, 0)?,
        };
        Some([counted, inside])
    }

    /// Counts the tasks of a process, which run already, from now on.
    pub(crate) fn join(&mut self, process: &Process) -> Result<(), StartError> {
        let mut tasks = process.tasks();
        if let (Some(stacks), Some(first)) = (&mut self.stacks, tasks.first()) {
            // What its first thread starts and maps from now on; other threads' mappings are those of now.
            stacks.rings = Rings::open(*first, Wanted { stacks: true, now: true, ..Wanted::default() }).ok();
            tasks.iter().for_each(|task| stacks.images.read(*task));
        }
        // A task that was not entered yet may have started others meanwhile.
        for _ in 0..LISTINGS {
            let mut is_new = false;
            for task in tasks {
                let entered = self.join_task(task);
                is_new |= entered.map_err(|error| StartError::System {
                    what: "count the process by BPF",
                    error: io::Error::other(error),
                })?;
            }
            if !is_new {
                break;
            }
            tasks = process.tasks();
        }
        Ok(())
    }

    /// Whether this task was not counted before.
    fn join_task(&mut self, tid: libc::pid_t) -> Result<bool, MapError> {
        if self.tasks()?.get(&(tid as u32 % SLOTS), 0)?.tid == tid as u32 {
            return Ok(false);
        }
        let before = TaskAccount::of(tid);
        self.enter_from(tid, UNKNOWN, before.unwrap_or_default())?;
        if TaskAccount::of(tid).is_none() {
            // It has ended, so that its number may be another task's soon.
            self.leave(tid)?;
        }
        Ok(true)
    }

    /// The tasks that are still there, with what the kernel has accounted for each. A process can be waited for before it has
    /// left its CPU for the last time, so that its end arrives a moment later.
    fn remaining(&self) -> Vec<(Task, TaskAccount)> {
        let mut remaining = Vec::new();
        for _ in 0..ENDINGS {
            let is_counted = |task: &Task| task.tid != 0 && task.flags[MODE] != BORN;
            let accounts =
                self.slots().into_iter().filter(is_counted).map(|it| (it, TaskAccount::of(it.tid as i32)));
            let (there, ended): (Vec<_>, Vec<_>) = accounts.partition(|(_, account)| account.is_some());
            remaining = there.into_iter().filter_map(|(task, account)| Some((task, account?))).collect();
            if ended.is_empty() {
                break;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        remaining
    }

    /// What was counted until now.
    fn finish(&mut self) -> Counts {
        self.end_window();
        let remaining = self.remaining();
        let mut counts = self.snapshot().minus(&self.before).counts();
        counts.windows = self.windows.as_ref().map_or(0, Windows::count);
        if let Some(accounted) = &mut counts.accounted {
            accounted.add(&remaining);
        }
        let now = kernel_ns();
        // What a task did since it came to its CPU is not in the sums yet.
        for (task, _) in remaining.iter().filter(|(task, _)| task.flags[OFF] == 0) {
            let Some(stamped) = &mut counts.stamped else { break };
            stamped.cpu_ns += now.saturating_sub(task.times[ON_SINCE]);
            stamped.user_ns += task.times[USER_NS] as i64;
            if [USER, UNKNOWN, UNSEEN].contains(&task.flags[MODE]) {
                stamped.user_ns += now.saturating_sub(task.times[SINCE]) as i64;
            }
        }
        counts
    }

    /// From now on calls are timed in windows only.
    pub(crate) fn start_windows(&mut self) {
        if let Some(windows) = &mut self.windows {
            windows.always(&mut self.ebpf);
        }
    }

    /// From now on the counts are read once in a period.
    pub(crate) fn start_timeline(&mut self) {
        self.timeline = Some(Timeline::start());
    }

    /// The readings.
    pub(crate) fn take_timeline(&mut self) -> Option<Timeline> {
        self.timeline.take()
    }

    /// Where it crossed from, if that was wanted.
    pub(crate) fn take_sites(&mut self) -> Option<Sites> {
        self.stacks.take().map(|stacks| stacks.sites)
    }

    /// The call sites until now.
    fn sites(&self, stacks: &Stacks) -> Option<Sites> {
        let sites = HashMap::<&MapData, SiteKey, Sums>::try_from(self.ebpf.map("sites")?).ok()?;
        let frames = StackTraceMap::<&MapData>::try_from(self.ebpf.map("stacks")?).ok()?;
        let places =
            sites.iter().filter_map(Result::ok).filter(|(key, _)| key.pid != stacks.yardstick as u32);
        let places = places.map(|(key, sums)| {
            let found = |id: u32| Some((id & SKIPPED != 0, frames.get(&(id & !SKIPPED), 0).ok()?));
            let walked = u32::try_from(key.stack).ok().and_then(found).map(|(skipped, stack)| {
                let innermost = skipped.then_some(key.instruction);
                innermost.into_iter().chain(stack.frames().iter().map(|frame| frame.ip)).collect()
            });
            let place = Place {
                pid: key.pid as libc::pid_t,
                image: key.image,
                frames: walked.unwrap_or_else(|| vec![key.instruction]),
                top: key.caller,
            };
            let (kind, name) = match key.boundary.checked_sub(IS_FAULT) {
                Some(fault) => {
                    (Kind::Fault, FAULTS.get(fault as usize).copied().unwrap_or_default().to_owned())
                }
                None => (Kind::Call, call_name(key.boundary as usize)),
            };
            (place, kind, name, sums.tally())
        });
        Some(Sites::of(places, &stacks.images))
    }

    /// What was counted.
    pub(crate) fn take_counts(&mut self) -> Counts {
        mem::take(&mut self.counts)
    }

    fn enter(&mut self, pid: libc::pid_t, mode: u8) -> Result<(), MapError> {
        self.enter_from(pid, mode, TaskAccount::default())
    }

    fn enter_from(&mut self, pid: libc::pid_t, mode: u8, before: TaskAccount) -> Result<(), MapError> {
        let mut task = Task {
            tid: pid as u32,
            base_ran: before.ran_ns,
            base_switches: before.switches as u32,
            base_faults: before.faults as u32,
            ..Task::default()
        };
        (task.flags[MODE], task.flags[OFF]) = (mode, OFF_UNSEEN);
        // A task that turns out to be on a CPU is so from now on, as far as it is counted.
        (task.times[SINCE], task.times[ON_SINCE]) = (kernel_ns(), kernel_ns());
        self.tasks()?.set(pid as u32 % SLOTS, task, 0)
    }

    fn leave(&mut self, pid: libc::pid_t) -> Result<(), MapError> {
        let mut free = Task::default();
        // A program that is looking at the slot right now charges nothing.
        (free.times[SINCE], free.times[ON_SINCE]) = (kernel_ns(), kernel_ns());
        self.tasks()?.set(pid as u32 % SLOTS, free, 0)
    }

    fn tasks(&mut self) -> Result<Array<&mut MapData, Task>, MapError> {
        let name = "tasks";
        Array::try_from(self.ebpf.map_mut(name).ok_or(MapError::InvalidName { name: name.into() })?)
    }

    /// All slots of tasks, most of which are free.
    fn slots(&self) -> Vec<Task> {
        let batch = self.ebpf.map("tasks").and_then(|map| match map {
            Map::Array(map) => batch::values(map),
            _ => None,
        });
        let each = || {
            let map = Array::<&MapData, Task>::try_from(self.ebpf.map("tasks")?).ok()?;
            Some(map.iter().filter_map(Result::ok).collect())
        };
        batch.or_else(each).unwrap_or_default()
    }

    fn snapshot(&self) -> Snapshot {
        Snapshot {
            calls: self.array("calls"),
            faults: self.array("faults"),
            signals: self.array("signals"),
            totals: self.array("totals"),
            clusters: self.clusters.clone(),
        }
    }

    /// Adds the calls of the last window, which are over now.
    fn end_window(&mut self) {
        let calls = self.array::<Sums>("calls");
        for ((now, before), clusters) in calls.iter().zip(&self.windowed).zip(&mut self.clusters) {
            let of = *now - *before;
            clusters.add(of.windowed, of.windowed_ns);
        }
        self.windowed = calls;
    }

    /// Each element of a map, summed over all CPUs.
    fn array<T: Pod + Default + std::ops::Add<Output = T>>(&self, name: &str) -> Vec<T> {
        let batch = self.ebpf.map(name).and_then(|map| match map {
            Map::PerCpuArray(map) => batch::sums(map),
            _ => None,
        });
        if let Some(sums) = batch {
            return sums;
        }
        let map = self.ebpf.map(name).and_then(|map| PerCpuArray::<&MapData, T>::try_from(map).ok());
        let sum = |values: PerCpuValues<T>| values.iter().fold(T::default(), |a, b| a + *b);
        map.iter().flat_map(|map| map.iter()).map(|values| values.map(sum).unwrap_or_default()).collect()
    }
}

impl Accounted {
    /// Adds what tasks that have not ended were charged since they are counted.
    fn add(&mut self, remaining: &[(Task, TaskAccount)]) {
        for (task, account) in remaining {
            self.ran_ns += account.ran_ns.saturating_sub(task.base_ran);
            self.switches += account.switches.saturating_sub(task.base_switches.into());
            self.faults += account.faults.saturating_sub(task.base_faults.into());
            self.running += u64::from(task.flags[OFF] == 0);
        }
    }
}

impl Counter for Bpf {
    fn attach(&mut self, pid: libc::pid_t) -> Result<(), StartError> {
        if let Some(stacks) = &mut self.stacks {
            // Without the kernel's reports the places are addresses only.
            stacks.rings = Rings::open(pid, Wanted { stacks: true, ..Wanted::default() }).ok();
        }
        let what = "count the command by BPF";
        self.enter(pid, BORN).map_err(|error| StartError::System { what, error: io::Error::other(error) })
    }

    fn period(&self) -> Option<Duration> {
        let maps = self.stacks.as_ref().map(|_| MAPS_PERIOD);
        let windows = self.windows.as_ref().map(Windows::period);
        self.timeline.as_ref().map(Timeline::period).or(maps).or(windows)
    }

    fn sample(&mut self) {
        if let Some(stacks) = &mut self.stacks {
            stacks.read();
        }
        if self.timeline.is_none() {
            if self.windows.as_ref().is_some_and(Windows::are_apart) {
                self.end_window();
            }
            if let Some(windows) = &mut self.windows {
                windows.sample(&mut self.ebpf);
            }
            return;
        }
        let counts = self.snapshot().minus(&self.before).counts();
        if let Some(timeline) = &mut self.timeline {
            timeline.read(&counts);
        }
    }

    fn ended(&mut self, _: libc::pid_t) {
        self.counts = self.finish();
        if let Some(mut stacks) = self.stacks.take() {
            let rest = stacks.rings.take().map(|mut rings| rings.finish()).unwrap_or_default();
            rest.iter().for_each(|record| stacks.images.apply(record));
            stacks.sites = self.sites(&stacks).unwrap_or_default();
            self.stacks = Some(stacks);
        }
        if let Some(timeline) = &mut self.timeline {
            timeline.read(&self.counts);
        }
    }
}

/// Loads and attaches, with the link of what may be detached again.
fn attach(
    program: &mut Program,
    point: &str,
    btf: &Btf,
) -> Result<Option<RawTracePointLinkId>, ProgramError> {
    match program {
        Program::RawTracePoint(it) => {
            it.load()?;
            return it.attach(point).map(Some);
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
    Ok(None)
}
