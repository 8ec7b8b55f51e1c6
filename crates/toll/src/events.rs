//! Software events of the kernel, counted for a command and everything that it starts, from its execution on.

use crate::filter;
use perf_event_open_sys as sys;
use perf_event_open_sys::bindings as abi;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{FromRawFd, OwnedFd};

/// What is counted, in the order of [`Events::read`].
const EVENTS: [u32; 3] = [
    abi::PERF_COUNT_SW_PAGE_FAULTS_MIN,
    abi::PERF_COUNT_SW_PAGE_FAULTS_MAJ,
    abi::PERF_COUNT_SW_CPU_MIGRATIONS,
];

/// Events that are open.
pub(crate) struct Events(Vec<File>);

/// What they have counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct EventCounts {
    pub(crate) minor_faults: u64,
    pub(crate) major_faults: u64,
    pub(crate) migrations: u64,
}

impl Events {
    /// For a child that has not executed its command; `None` where the kernel refuses.
    pub(crate) fn open(pid: libc::pid_t) -> Option<Self> {
        if filter::ends_events() {
            return None;
        }
        let files: io::Result<Vec<File>> = EVENTS.iter().map(|event| open_counter(*event, pid)).collect();
        files.ok().map(Self)
    }

    pub(crate) fn read(&mut self) -> Option<EventCounts> {
        let mut values = [0; EVENTS.len()];
        for (value, file) in values.iter_mut().zip(&mut self.0) {
            let mut bytes = [0; 8];
            file.read_exact(&mut bytes).ok()?;
            *value = u64::from_ne_bytes(bytes);
        }
        let [minor_faults, major_faults, migrations] = values;
        Some(EventCounts { minor_faults, major_faults, migrations })
    }
}

fn open_counter(event: u32, pid: libc::pid_t) -> io::Result<File> {
    let mut attributes = abi::perf_event_attr {
        type_: abi::PERF_TYPE_SOFTWARE,
        size: size_of::<abi::perf_event_attr>() as u32,
        config: event.into(),
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
