//! Counters from the kernel, by perf_event_open.

use super::{Counter, Counters, Event, Mode, Reading, Refused};
use crate::perf::{self, abi};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsRawFd;

/// The kernel's counters.
#[derive(Debug, Default)]
pub struct Kernel {
    /// Each group's files, its leader first.
    groups: Vec<Vec<File>>,
}

impl Kernel {
    /// No counters yet.
    pub fn new() -> Self {
        Self::default()
    }
}

impl Counters for Kernel {
    fn open(&mut self, group: &[Counter], task: i32) -> Result<usize, Refused> {
        let mut files: Vec<File> = Vec::with_capacity(group.len());
        for (at, counter) in group.iter().enumerate() {
            let leader = files.first().map_or(-1, |file| file.as_raw_fd());
            files.push(open(*counter, task, leader).map_err(|errno| Refused { counter: at, errno })?);
        }
        self.groups.push(files);
        Ok(self.groups.len() - 1)
    }

    fn read(&mut self, group: usize) -> io::Result<Reading> {
        let Some(files) = self.groups.get_mut(group) else { return Err(io::ErrorKind::NotFound.into()) };
        let count = files.len();
        let Some(leader) = files.first_mut() else { return Ok(Reading::default()) };
        // The number of counters, time enabled, time running, then the values.
        let mut bytes = vec![0; (3 + count) * 8];
        let got = leader.read(&mut bytes)?;
        if got < bytes.len() {
            // A pinned group that lost its place reads as end of file.
            return Ok(Reading { enabled: 1, running: 0, values: vec![0; count] });
        }
        let word = |at: usize| {
            let mut word = [0; 8];
            word.copy_from_slice(&bytes[at * 8..at * 8 + 8]);
            u64::from_ne_bytes(word)
        };
        Ok(Reading { enabled: word(1), running: word(2), values: (3..3 + count).map(word).collect() })
    }

    fn close(&mut self) {
        self.groups.clear();
    }
}

fn open(counter: Counter, task: i32, leader: i32) -> Result<File, i32> {
    let (kind, config) = code(counter.event);
    let mut attributes = perf::attributes(kind, config);
    attributes.read_format =
        (abi::PERF_FORMAT_GROUP | abi::PERF_FORMAT_TOTAL_TIME_ENABLED | abi::PERF_FORMAT_TOTAL_TIME_RUNNING)
            .into();
    attributes.set_exclude_kernel((counter.mode == Mode::User).into());
    attributes.set_exclude_user((counter.mode == Mode::Kernel).into());
    perf::open(&mut attributes, task, leader).map_err(|error| error.raw_os_error().unwrap_or(libc::EIO))
}

/// Type and configuration of an event, as perf_event_open(2) has them.
pub fn code(event: Event) -> (u32, u64) {
    let hardware = |id: u32| (abi::PERF_TYPE_HARDWARE, id.into());
    let software = |id: u32| (abi::PERF_TYPE_SOFTWARE, id.into());
    let load = |cache: u32, result: u32| {
        let op = abi::PERF_COUNT_HW_CACHE_OP_READ;
        (abi::PERF_TYPE_HW_CACHE, u64::from(cache | op << 8 | result << 16))
    };
    let (all, miss) = (abi::PERF_COUNT_HW_CACHE_RESULT_ACCESS, abi::PERF_COUNT_HW_CACHE_RESULT_MISS);
    match event {
        Event::Instructions => hardware(abi::PERF_COUNT_HW_INSTRUCTIONS),
        Event::Cycles => hardware(abi::PERF_COUNT_HW_CPU_CYCLES),
        Event::CacheReferences => hardware(abi::PERF_COUNT_HW_CACHE_REFERENCES),
        Event::CacheMisses => hardware(abi::PERF_COUNT_HW_CACHE_MISSES),
        Event::L1dLoads => load(abi::PERF_COUNT_HW_CACHE_L1D, all),
        Event::L1dLoadMisses => load(abi::PERF_COUNT_HW_CACHE_L1D, miss),
        Event::DtlbLoads => load(abi::PERF_COUNT_HW_CACHE_DTLB, all),
        Event::DtlbLoadMisses => load(abi::PERF_COUNT_HW_CACHE_DTLB, miss),
        Event::ContextSwitches => software(abi::PERF_COUNT_SW_CONTEXT_SWITCHES),
        Event::PageFaults => software(abi::PERF_COUNT_SW_PAGE_FAULTS),
        Event::Migrations => software(abi::PERF_COUNT_SW_CPU_MIGRATIONS),
    }
}
