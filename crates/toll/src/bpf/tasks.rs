//! The tasks that the programs count: their slots, and which tasks have one.

use crate::accounts::TaskAccount;
use crate::attach::Process;
use crate::batch;
use crate::clock::kernel_ns;
use crate::count::{Accounted, Counts};
use aya::maps::{Array, Map, MapData, MapError};
use aya::{Ebpf, Pod};
use std::time::Duration;

/// `struct task` of the program.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(super) struct Task {
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
/// The tasks of a process are listed as often until all are known.
const LISTINGS: usize = 16;
/// As many milliseconds may the end of a task arrive late.
const ENDINGS: usize = 50;
/// Modes of a task in the program: its next execution begins the command, or it is in the middle of something.
pub(super) const BORN: u8 = 0;
const USER: u8 = 1;
pub(super) const UNKNOWN: u8 = 4;
const UNSEEN: u8 = 5;
/// Slots of tasks in the program.
pub(super) const SLOTS: u32 = 65_536;
/// Places in [`Task`].
const SINCE: usize = 0;
const USER_NS: usize = 1;
const ON_SINCE: usize = 6;
const MODE: usize = 0;
const OFF: usize = 3;
/// It ran or waited when counting began, and has shown neither yet.
const OFF_UNSEEN: u8 = 3;

/// Counts the tasks of a process, which run already, from now on.
pub(super) fn join(ebpf: &mut Ebpf, process: &Process, mut tasks: Vec<libc::pid_t>) -> Result<(), MapError> {
    // A task that was not entered yet may have started others meanwhile.
    for _ in 0..LISTINGS {
        let mut is_new = false;
        for task in tasks {
            is_new |= join_task(ebpf, task)?;
        }
        if !is_new {
            break;
        }
        tasks = process.tasks();
    }
    Ok(())
}

/// Whether this task was not counted before.
fn join_task(ebpf: &mut Ebpf, tid: libc::pid_t) -> Result<bool, MapError> {
    if map(ebpf)?.get(&(tid as u32 % SLOTS), 0)?.tid == tid as u32 {
        return Ok(false);
    }
    let before = TaskAccount::of(tid);
    enter_from(ebpf, tid, UNKNOWN, before.unwrap_or_default())?;
    if TaskAccount::of(tid).is_none() {
        // It has ended, so that its number may be another task's soon.
        leave(ebpf, tid)?;
    }
    Ok(true)
}

pub(super) fn enter(ebpf: &mut Ebpf, pid: libc::pid_t, mode: u8) -> Result<(), MapError> {
    enter_from(ebpf, pid, mode, TaskAccount::default())
}

fn enter_from(ebpf: &mut Ebpf, pid: libc::pid_t, mode: u8, before: TaskAccount) -> Result<(), MapError> {
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
    map(ebpf)?.set(pid as u32 % SLOTS, task, 0)
}

pub(super) fn leave(ebpf: &mut Ebpf, pid: libc::pid_t) -> Result<(), MapError> {
    let mut free = Task::default();
    // A program that is looking at the slot right now charges nothing.
    (free.times[SINCE], free.times[ON_SINCE]) = (kernel_ns(), kernel_ns());
    map(ebpf)?.set(pid as u32 % SLOTS, free, 0)
}

fn map(ebpf: &mut Ebpf) -> Result<Array<&mut MapData, Task>, MapError> {
    let name = "tasks";
    Array::try_from(ebpf.map_mut(name).ok_or(MapError::InvalidName { name: name.into() })?)
}

/// All slots of tasks, most of which are free.
fn slots(ebpf: &Ebpf) -> Vec<Task> {
    let batch = ebpf.map("tasks").and_then(|map| match map {
        Map::Array(map) => batch::values(map),
        _ => None,
    });
    let each = || {
        let map = Array::<&MapData, Task>::try_from(ebpf.map("tasks")?).ok()?;
        Some(map.iter().filter_map(Result::ok).collect())
    };
    batch.or_else(each).unwrap_or_default()
}

/// The tasks that are still there, with what the kernel has accounted for each. A process can be waited for before it has
/// left its CPU for the last time, so that its end arrives a moment later.
pub(super) fn remaining(ebpf: &Ebpf) -> Vec<(Task, TaskAccount)> {
    let mut remaining = Vec::new();
    for _ in 0..ENDINGS {
        let is_counted = |task: &Task| task.tid != 0 && task.flags[MODE] != BORN;
        let accounts =
            slots(ebpf).into_iter().filter(is_counted).map(|it| (it, TaskAccount::of(it.tid as i32)));
        let (there, ended): (Vec<_>, Vec<_>) = accounts.partition(|(_, account)| account.is_some());
        remaining = there.into_iter().filter_map(|(task, account)| Some((task, account?))).collect();
        if ended.is_empty() {
            break;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    remaining
}

/// Adds the time of these tasks since they were switched to, which is not in the sums yet, and the kernel's accounts of
/// them.
pub(super) fn add(counts: &mut Counts, remaining: &[(Task, TaskAccount)]) {
    if let Some(accounted) = &mut counts.accounted {
        accounted.add(remaining);
    }
    let now = kernel_ns();
    for (task, _) in remaining.iter().filter(|(task, _)| task.flags[OFF] == 0) {
        let Some(stamped) = &mut counts.stamped else { break };
        stamped.cpu_ns += now.saturating_sub(task.times[ON_SINCE]);
        stamped.user_ns += task.times[USER_NS] as i64;
        if [USER, UNKNOWN, UNSEEN].contains(&task.flags[MODE]) {
            stamped.user_ns += now.saturating_sub(task.times[SINCE]) as i64;
        }
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
