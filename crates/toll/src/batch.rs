//! All elements of an array in one system call: one call for each element would take longer than what is counted.

use aya::Pod;
use aya::maps::MapData;
use aya::util::nr_cpus;
use std::ops::Add;
use std::os::fd::{AsFd, AsRawFd};
use std::{io, ptr};

/// `BPF_MAP_LOOKUP_BATCH` of linux/bpf.h.
const LOOKUP_BATCH: libc::c_int = 24;

/// The part of `union bpf_attr` that the command reads.
#[repr(C)]
struct Batch {
    in_batch: u64,
    out_batch: u64,
    keys: u64,
    values: u64,
    count: u32,
    map: u32,
    element_flags: u64,
    flags: u64,
}

/// Each element of a per-CPU array, summed over all CPUs. `None` where the kernel is older than 5.13.
pub(crate) fn sums<T: Pod + Default + Add<Output = T>>(map: &MapData) -> Option<Vec<T>> {
    let cpus = nr_cpus().ok()?;
    let values: Vec<T> = values_of(map, cpus)?;
    Some(values.chunks(cpus).map(|each| each.iter().fold(T::default(), |a, b| a + *b)).collect())
}

/// Each element of an array. `None` where the kernel is older than 5.6.
pub(crate) fn values<T: Pod + Default>(map: &MapData) -> Option<Vec<T>> {
    values_of(map, 1)
}

/// As many values of each element.
fn values_of<T: Pod + Default>(map: &MapData, each: usize) -> Option<Vec<T>> {
    // The kernel rounds each CPU's value up to eight bytes; the values here are as long as that.
    if !size_of::<T>().is_multiple_of(8) {
        return None;
    }
    let entries = map.info().ok()?.max_entries();
    let (mut keys, mut values) = (vec![0_u32; entries as usize], vec![T::default(); entries as usize * each]);
    let mut next = 0_u32;
    let mut batch = Batch {
        in_batch: 0,
        out_batch: ptr::from_mut(&mut next) as u64,
        keys: keys.as_mut_ptr() as u64,
        values: values.as_mut_ptr() as u64,
        count: entries,
        map: map.fd().as_fd().as_raw_fd() as u32,
        element_flags: 0,
        flags: 0,
    };
    // SAFETY: the kernel writes `entries` keys, `each` values for each of them, and one place in the map.
    let done = unsafe {
        libc::syscall(libc::SYS_bpf, LOOKUP_BATCH, ptr::from_mut(&mut batch), size_of::<Batch>()) == 0
            || io::Error::last_os_error().raw_os_error() == Some(libc::ENOENT)
    };
    // The kernel gives the elements in the order of their numbers, and says so with "no such entry" after the last.
    (done && batch.count == entries).then_some(values)
}
