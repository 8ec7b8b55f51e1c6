//! Events of the kernel and of the processor, counted for a command and everything that it starts, from its execution on.

use crate::filter;
use perf_event_open_sys as sys;
use perf_event_open_sys::bindings as abi;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{FromRawFd, OwnedFd};
use tollgate_measure::counters::{self, Event, Mode, Reading, judge};

/// The events, in the order of [`Events::read`].
const EVENTS: [u32; 4] = [
    abi::PERF_COUNT_SW_PAGE_FAULTS_MIN,
    abi::PERF_COUNT_SW_PAGE_FAULTS_MAJ,
    abi::PERF_COUNT_SW_CPU_MIGRATIONS,
    abi::PERF_COUNT_SW_TASK_CLOCK,
];

/// Loads from the first data cache, and those that missed.
const LOADS: [Event; 2] = [Event::L1dLoads, Event::L1dLoadMisses];

/// Events that are open.
pub(crate) struct Events {
    kernel: Vec<File>,
    /// Empty where the processor's counters cannot be read.
    loads: Vec<File>,
}

/// Their counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct EventCounts {
    pub(crate) minor_faults: u64,
    pub(crate) major_faults: u64,
    pub(crate) migrations: u64,
    /// Nanoseconds on a CPU.
    pub(crate) cpu_ns: u64,
    /// Loads that missed the first data cache, where the processor counts them.
    pub(crate) misses: Option<u64>,
}

impl Events {
    /// For a child that has not executed its command; `None` where the kernel refuses.
    pub(crate) fn open(pid: libc::pid_t) -> Option<Self> {
        if filter::ends_events() {
            return None;
        }
        let open = |kind, config| open_counter(kind, config, pid);
        let kernel: io::Result<_> =
            EVENTS.iter().map(|event| open(abi::PERF_TYPE_SOFTWARE, (*event).into())).collect();
        let loads: io::Result<_> = LOADS
            .iter()
            .map(|event| {
                let (kind, config) = counters::code(*event);
                open(kind, config)
            })
            .collect();
        Some(Self { kernel: kernel.ok()?, loads: loads.unwrap_or_default() })
    }

    pub(crate) fn read(&mut self) -> Option<EventCounts> {
        let kernel: Vec<[u64; 3]> = self.kernel.iter_mut().map(read).collect::<Option<_>>()?;
        let &[[minor_faults, ..], [major_faults, ..], [migrations, ..], [cpu_ns, ..]] = kernel.as_slice()
        else {
            return None;
        };
        let loads: Option<Vec<[u64; 3]>> = self.loads.iter_mut().map(read).collect();
        Some(EventCounts {
            minor_faults,
            major_faults,
            migrations,
            cpu_ns,
            misses: loads.and_then(|loads| believed(&loads)),
        })
    }
}

/// Value, time enabled, time on a counter.
fn read(file: &mut File) -> Option<[u64; 3]> {
    let mut bytes = [[0; 8]; 3];
    file.read_exact(bytes.as_flattened_mut()).ok()?;
    Some(bytes.map(u64::from_ne_bytes))
}

/// The misses of both readings of [`LOADS`], if nothing speaks against them. A count for a part of the time limits nothing.
fn believed(loads: &[[u64; 3]]) -> Option<u64> {
    let &[all, misses] = loads else { return None };
    let reading = Reading {
        enabled: all[1].max(misses[1]),
        running: all[2].min(misses[2]),
        values: vec![all[0], misses[0]],
    };
    let group = LOADS.map(|event| counters::Counter { event, mode: Mode::Both });
    judge(&group, &[Reading::default()], &[reading], 1).ok()?;
    Some(misses[0])
}

fn open_counter(kind: u32, config: u64, pid: libc::pid_t) -> io::Result<File> {
    let mut attributes = abi::perf_event_attr {
        type_: kind,
        size: size_of::<abi::perf_event_attr>() as u32,
        config,
        read_format: (abi::PERF_FORMAT_TOTAL_TIME_ENABLED | abi::PERF_FORMAT_TOTAL_TIME_RUNNING).into(),
        ..Default::default()
    };
    attributes.set_disabled(1);
    attributes.set_enable_on_exec(1);
    attributes.set_inherit(1);
    open(&mut attributes, pid, -1)
}

/// An event of a task, on one CPU or on all (-1).
pub(crate) fn open(
    attributes: &mut abi::perf_event_attr,
    pid: libc::pid_t,
    cpu: libc::c_int,
) -> io::Result<File> {
    // SAFETY: the attributes are valid for the size that they state; the kernel only reads them.
    let fd = unsafe { sys::perf_event_open(attributes, pid, cpu, -1, abi::PERF_FLAG_FD_CLOEXEC.into()) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor was just opened and nothing else owns it.
    Ok(File::from(unsafe { OwnedFd::from_raw_fd(fd) }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recorded_misses_count_only_if_they_were_counted_all_the_time() {
        // Value, time enabled, time running, as perf_event_open(2) orders them.
        assert_eq!(believed(&[[90_000, 500, 500], [1_200, 500, 500]]), Some(1_200));
        // Multiplexed, never scheduled, more misses than loads, an event that stays at zero, no events.
        assert_eq!(believed(&[[90_000, 500, 500], [1_200, 500, 250]]), None);
        assert_eq!(believed(&[[0, 500, 0], [0, 500, 0]]), None);
        assert_eq!(believed(&[[900, 500, 500], [1_200, 500, 500]]), None);
        assert_eq!(believed(&[[0, 500, 500], [0, 500, 500]]), None);
        assert_eq!(believed(&[]), None);
    }
}
