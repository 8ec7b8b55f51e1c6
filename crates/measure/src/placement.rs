//! Where things run: pinning that is read back, and the choice of CPUs.

mod choose;
mod stack;

use std::{fs, io, mem, thread};

pub(crate) use choose::list;
pub use choose::{PlacementError, choose};
pub use stack::on_stack;

/// Leaves a measured CPU to other programs: the calling thread moves to the other CPUs that it may use, if there are
/// any. A failure does no harm, because the programs pin themselves. A filter may end the process that makes the call:
/// find that out first ([`crate::host::attempts`]).
pub fn leave(measured: usize, allowed: &[usize]) {
    let others: Vec<usize> = allowed.iter().copied().filter(|&cpu| cpu != measured).collect();
    if others.is_empty() {
        return;
    }
    // SAFETY: cpu_set_t is plain data for which all zeroes is the empty set; every CPU was reported by the kernel
    // in a set of this size.
    unsafe {
        let mut set: libc::cpu_set_t = mem::zeroed();
        others.iter().for_each(|&cpu| libc::CPU_SET(cpu, &mut set));
        libc::sched_setaffinity(0, mem::size_of_val(&set), &set);
    }
}

/// Pins the calling thread to one CPU and reads the result back.
///
/// # Errors
/// The system's refusal, or a sentence when the mask that the kernel reports differs.
pub fn pin(cpu: usize) -> io::Result<()> {
    // SAFETY: cpu_set_t is plain data for which all zeroes is the empty set.
    let mut set: libc::cpu_set_t = unsafe { mem::zeroed() };
    if cpu >= libc::CPU_SETSIZE as usize {
        return Err(io::Error::other(format!(
            "cpu {cpu} is beyond the {} that this system's call can name",
            libc::CPU_SETSIZE
        )));
    }
    // SAFETY: `cpu` is below CPU_SETSIZE, checked above.
    unsafe { libc::CPU_SET(cpu, &mut set) };
    // SAFETY: the set is valid for its size; 0 is the calling thread.
    if unsafe { libc::sched_setaffinity(0, mem::size_of_val(&set), &set) } != 0 {
        let error = io::Error::last_os_error();
        // The affinity that is read back decides: a thread that may use only this CPU is pinned, by whatever means (a
        // cpuset, or `taskset` outside of the sandbox that refuses the call).
        if !allowed().is_ok_and(|allowed| allowed == [cpu]) {
            return Err(io::Error::new(error.kind(), format!("pin to cpu {cpu}: {error}")));
        }
    }
    let (got, on) = (allowed()?, current());
    if got != [cpu] || on != Some(cpu) {
        let on = on.map_or_else(|| "an unknown one".to_owned(), |on| on.to_string());
        return Err(io::Error::other(format!(
            "pinned to cpu {cpu}, but the kernel reports {got:?}, running on {on}"
        )));
    }
    Ok(())
}

/// The CPU that the calling thread runs on; `None` where the kernel does not say.
#[must_use]
pub fn current() -> Option<usize> {
    // SAFETY: sched_getcpu has no arguments and touches no memory of ours.
    usize::try_from(unsafe { libc::sched_getcpu() }).ok()
}

/// The CPUs that the calling thread may run on, in order.
///
/// # Errors
/// The system's refusal (a seccomp filter, say).
pub fn allowed() -> io::Result<Vec<usize>> {
    // SAFETY: cpu_set_t is plain data for which all zeroes is the empty set.
    let mut set: libc::cpu_set_t = unsafe { mem::zeroed() };
    // SAFETY: the set is valid for its size; 0 is the calling thread.
    if unsafe { libc::sched_getaffinity(0, mem::size_of_val(&set), &mut set) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: every index is below CPU_SETSIZE.
    Ok((0..libc::CPU_SETSIZE as usize).filter(|&cpu| unsafe { libc::CPU_ISSET(cpu, &set) }).collect())
}

/// How two CPUs relate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// Two hardware threads of one core.
    Sibling,
    /// Two cores.
    OtherCore,
    /// It is not known.
    Unknown,
}

impl Relation {
    /// As the record names it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sibling => "smt-sibling",
            Self::OtherCore => "other-core",
            Self::Unknown => "unknown",
        }
    }
}

/// How two CPUs relate, by the groups of CPUs that share a core (as the record lists them).
pub fn relation_in(cores: &[Vec<usize>], cpu: usize, other: usize) -> Relation {
    match cores.iter().find(|core| core.contains(&cpu)) {
        Some(core) if core.contains(&other) => Relation::Sibling,
        Some(_) => Relation::OtherCore,
        None => Relation::Unknown,
    }
}

/// Another hardware thread of the CPU's core that this process may use. The calling thread may be pinned already, so a new
/// one tries.
pub fn sibling(cpu: usize) -> Option<usize> {
    let file = |name| format!("/sys/devices/system/cpu/cpu{cpu}/topology/{name}");
    let texts = ["core_cpus_list", "thread_siblings_list"].map(|name| fs::read_to_string(file(name)).ok());
    let others =
        parse_cpu_list(&texts.into_iter().flatten().next()?).into_iter().filter(|other| *other != cpu);
    let may_be_used = |other: &usize| {
        let other = *other;
        let tried = thread::Builder::new().stack_size(64 << 10).spawn(move || pin(other).is_ok());
        tried.is_ok_and(|thread| thread.join().unwrap_or(false))
    };
    others.into_iter().find(may_be_used)
}

/// Reads the kernel's list format, `0-3,8`. Invalid parts are left out.
///
/// ```
/// assert_eq!(tollgate_measure::placement::parse_cpu_list("0-2,5\n"), [0, 1, 2, 5]);
/// ```
pub fn parse_cpu_list(text: &str) -> Vec<usize> {
    let mut cpus = Vec::new();
    for part in text.trim().split(',') {
        let mut ends = part.splitn(2, '-').map(|end| end.trim().parse::<usize>());
        match (ends.next(), ends.next()) {
            (Some(Ok(one)), None) => cpus.push(one),
            (Some(Ok(low)), Some(Ok(high))) if high < 65_536 => cpus.extend(low..=high),
            _ => {}
        }
    }
    cpus
}
