//! Counts and times in the kernel: loads the programs of `guests/bpf/toll.c` and reads their sums.

mod stacks;
mod tasks;

use self::stacks::{MAPS_PERIOD, SITES, Stacks};
use self::tasks::{BORN, SLOTS, UNKNOWN};
use crate::attach::Process;
use crate::batch;
use crate::calibrate::{Overhead, Pair, Yardstick};
use crate::count::Counts;
use crate::filter;
use crate::rings::{Rings, Wanted};
use crate::sites::Sites;
use crate::snapshot::Snapshot;
use crate::start::StartError;
use crate::sums::Sums;
use crate::timeline::Timeline;
use crate::watch::Counter;
use crate::windows::{self, Clusters, Windows};
use aya::maps::{Map, MapData, PerCpuArray, PerCpuValues};
use aya::programs::perf_event::{PerfEventScope, PerfTypeId, SamplePolicy};
use aya::programs::raw_trace_point::RawTracePointLinkId;
use aya::programs::{Program, ProgramError};
use aya::util::online_cpus;
use aya::{Btf, Ebpf, EbpfError, EbpfLoader, Pod, include_bytes_aligned};
use perf_event_open_sys::bindings::{PERF_COUNT_SW_PAGE_FAULTS_MAJ, PERF_COUNT_SW_PAGE_FAULTS_MIN};
use std::time::Duration;
use std::{fs, io, mem};
use tollgate_record::Estimate;

static OBJECT: &[u8] = include_bytes_aligned!("../guests/bpf/images/toll.o");

/// Each program, its attachment, and whether counting is impossible without it. Optional ones do not exist on
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

/// The loaded programs. They are attached until this is dropped.
pub(crate) struct Bpf {
    ebpf: Ebpf,
    /// The counts before the command.
    before: Snapshot,
    counts: Counts,
    timeline: Option<Timeline>,
    stacks: Option<Stacks>,
    windows: Option<Windows>,
    /// The calls when the last window was added to `clusters`.
    windowed: Vec<Sums>,
    clusters: Vec<Clusters>,
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
        let stacks = stacks.then(Stacks::default);
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
        let mut overhead = overhead.spanned(&Overhead { bare: overhead.bare, counted, inside });
        if let Some(windows) = self.windows.as_mut().filter(|_| unseen > 0.0) {
            windows.see(&mut self.ebpf, false).ok()?;
            tasks::enter(&mut self.ebpf, yardstick.pid, UNKNOWN).ok()?;
            overhead.counted = overhead.counted.mixed(&yardstick.measure()?, unseen);
        }
        Some(overhead)
    }

    /// A call and a fault while they are counted, and what of each is between its stamps.
    fn measure(&mut self, yardstick: &mut Yardstick) -> Option<[Pair; 2]> {
        let before = self.snapshot();
        tasks::enter(&mut self.ebpf, yardstick.pid, UNKNOWN).ok()?;
        let counted = yardstick.measure()?;
        // Its sums are complete when it has left its CPU.
        yardstick.rest();
        tasks::leave(&mut self.ebpf, yardstick.pid).ok()?;
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

    /// The counts until now.
    fn finish(&mut self) -> Counts {
        self.end_window();
        let remaining = tasks::remaining(&self.ebpf);
        let mut counts = self.snapshot().minus(&self.before).counts();
        counts.windows = self.windows.as_ref().map_or(0, Windows::count);
        tasks::add(&mut counts, &remaining);
        counts
    }

    /// Counts the tasks of a process, which run already, from now on.
    pub(crate) fn join(&mut self, process: &Process) -> Result<(), StartError> {
        let tasks = process.tasks();
        if let (Some(stacks), Some(first)) = (&mut self.stacks, tasks.first()) {
            // Tasks and mappings that its first thread adds from now on; other threads' mappings are those of now.
            stacks.rings = Rings::open(*first, Wanted { stacks: true, now: true, ..Wanted::default() }).ok();
            tasks.iter().for_each(|task| stacks.images.read(*task));
        }
        let what = "count the process by BPF";
        tasks::join(&mut self.ebpf, process, tasks)
            .map_err(|error| StartError::System { what, error: io::Error::other(error) })
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

    /// The counts.
    pub(crate) fn take_counts(&mut self) -> Counts {
        mem::take(&mut self.counts)
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

impl Counter for Bpf {
    fn attach(&mut self, pid: libc::pid_t) -> Result<(), StartError> {
        if let Some(stacks) = &mut self.stacks {
            // Without the kernel's reports the places are addresses only.
            stacks.rings = Rings::open(pid, Wanted { stacks: true, ..Wanted::default() }).ok();
        }
        let what = "count the command by BPF";
        tasks::enter(&mut self.ebpf, pid, BORN)
            .map_err(|error| StartError::System { what, error: io::Error::other(error) })
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
        if let Some(stacks) = &mut self.stacks {
            stacks.ended(&self.ebpf);
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
