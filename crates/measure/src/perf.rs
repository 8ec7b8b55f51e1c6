//! Opens perf events: the one place that calls perf_event_open.

use perf_event_open_sys as sys;
use std::fs::File;
use std::io;
use std::os::fd::FromRawFd;

pub(crate) use perf_event_open_sys::bindings as abi;

/// The attributes of an event that does not count hypervisors.
pub(crate) fn attributes(kind: u32, config: u64) -> abi::perf_event_attr {
    let size = size_of::<abi::perf_event_attr>() as u32;
    let mut attributes = abi::perf_event_attr { type_: kind, size, config, ..Default::default() };
    attributes.set_exclude_hv(1);
    attributes
}

/// Opens an event of one task (0 for the caller) on any CPU, in the group of `leader` (-1 for a group of its own).
///
/// # Errors
/// The system's refusal.
pub(crate) fn open(attributes: &mut abi::perf_event_attr, task: i32, leader: i32) -> io::Result<File> {
    let flags = abi::PERF_FLAG_FD_CLOEXEC.into();
    // SAFETY: the attributes are valid for the size that they state; the kernel only reads them.
    match unsafe { sys::perf_event_open(attributes, task, -1, leader, flags) } {
        // SAFETY: the descriptor was just opened and nothing else owns it.
        fd @ 0.. => Ok(unsafe { File::from_raw_fd(fd) }),
        _ => Err(io::Error::last_os_error()),
    }
}
