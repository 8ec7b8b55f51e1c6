//! Rings of perf events in which the kernel writes what happens to a command and everything that it starts: one for each CPU,
//! since only such events may be inherited.

use crate::events;
use perf_event_open_sys as sys;
use perf_event_open_sys::bindings as abi;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::{mem, ptr};
use tollgate_measure::clock::monotonic_ns;

/// The records that the kernel is to report.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Wanted<'a> {
    /// Samples of these tracepoints, by their ids.
    pub(crate) points: &'a [u64],
    /// Code mappings, and the call chain of each sample.
    pub(crate) stacks: bool,
    /// From now on, not from the execution of the command on.
    pub(crate) now: bool,
}

/// Something that happened to a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) time: u64,
    pub(crate) pid: libc::pid_t,
    pub(crate) tid: libc::pid_t,
    pub(crate) what: What,
}

/// The kind of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// A tracepoint, with the words after its common fields and where it came from. Of a call: whether it is by the 32-bit ABI.
    Point {
        id: u16,
        words: [u64; 7],
        is_compat: bool,
        stack: Option<Box<Stack>>,
    },
    /// A new process of this parent, or a new thread.
    Process(libc::pid_t),
    Thread,
    Exit,
    Exec,
    /// Code was mapped.
    Map {
        start: u64,
        bytes: u64,
        offset: u64,
        path: String,
    },
    /// It left the CPU because it waited, or because the scheduler decided so.
    Voluntary,
    Involuntary,
    /// As many records did not fit.
    Lost(u64),
}

/// Where a sample came from: the return addresses by frame pointers, the innermost place first, and the word on top of the stack.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stack {
    pub(crate) frames: Vec<u64>,
    pub(crate) top: u64,
}

/// The rings of one command.
pub(crate) struct Rings {
    rings: Vec<Ring>,
    /// Further events that write into them, and all that count samples.
    events: Vec<File>,
    /// Read, and younger than the last reading began: another ring may have an older one.
    early: Vec<Record>,
    layout: Layout,
}

/// All rings together have at most this many bytes.
const BYTES: usize = 64 << 20;
/// One has at most this many.
const MOST: usize = 8 << 20;
/// Frames of a stack that are kept.
pub(crate) const FRAMES: u16 = 64;
/// The registers of the program in a sample (`asm/perf_regs.h`): of x86-64 bx, cx, si, di, bp and ip, of arm64 pc, because the
/// kernel refuses to sample none.
const REGISTERS: &[u32] = if cfg!(target_arch = "x86_64") {
    &[1, 2, 4, 5, 6, 8]
} else if cfg!(target_arch = "aarch64") {
    &[32]
} else {
    &[]
};
/// Whether the word on top of the stack is wanted.
const STACK_TOP: bool = cfg!(target_arch = "x86_64");

impl Rings {
    /// For a child that has not executed its command.
    pub(crate) fn open(pid: libc::pid_t, wanted: Wanted<'_>) -> io::Result<Self> {
        let cpus = aya::util::online_cpus().map_err(|(_, error)| error)?;
        let layout = Layout { stacks: wanted.stacks };
        let mut all = Self { rings: Vec::new(), events: Vec::new(), early: Vec::new(), layout };
        for cpu in &cpus {
            let open = |attributes: &mut abi::perf_event_attr| {
                events::open(attributes, pid, i32::try_from(*cpu).unwrap_or(-1))
            };
            let mut tracking = layout.attributes(abi::PERF_TYPE_SOFTWARE, abi::PERF_COUNT_SW_DUMMY.into());
            tracking.set_enable_on_exec((!wanted.now).into());
            tracking.set_disabled((!wanted.now).into());
            tracking.set_task(1);
            tracking.set_comm(1);
            tracking.set_comm_exec(1);
            tracking.set_context_switch((!wanted.points.is_empty()).into());
            tracking.set_mmap(wanted.stacks.into());
            tracking.set_mmap2(wanted.stacks.into());
            let ring = Ring::map(open(&mut tracking)?, MOST.min(BYTES / cpus.len()))?;
            for point in wanted.points {
                let mut sampled = layout.attributes(abi::PERF_TYPE_TRACEPOINT, *point);
                sampled.__bindgen_anon_1.sample_period = 1;
                sampled.set_enable_on_exec((!wanted.now).into());
                sampled.set_disabled((!wanted.now).into());
                let event = open(&mut sampled)?;
                // SAFETY: two descriptors of events of the same task and CPU.
                if unsafe { sys::ioctls::SET_OUTPUT(event.as_raw_fd(), ring.event.as_raw_fd()) } < 0 {
                    return Err(io::Error::last_os_error());
                }
                all.events.push(event);
            }
            all.rings.push(ring);
        }
        Ok(all)
    }

    /// The records since the last reading, in the order of time.
    pub(crate) fn read(&mut self) -> Vec<Record> {
        let before = monotonic_ns();
        self.collect();
        let later = self.early.partition_point(|record| record.time < before);
        let rest = self.early.split_off(later);
        mem::replace(&mut self.early, rest)
    }

    /// The rest, once nothing is added any more.
    pub(crate) fn finish(&mut self) -> Vec<Record> {
        self.collect();
        mem::take(&mut self.early)
    }

    /// How many samples there should have been.
    pub(crate) fn samples(&mut self) -> u64 {
        let mut count = |event: &mut File| {
            let mut bytes = [0; 8];
            event.read_exact(&mut bytes).map_or(0, |()| u64::from_ne_bytes(bytes))
        };
        self.events.iter_mut().map(&mut count).sum()
    }

    fn collect(&mut self) {
        for ring in &mut self.rings {
            let bytes = ring.take();
            self.early.extend(self.layout.records(&bytes));
        }
        self.early.sort_by_key(|record| record.time);
    }
}

/// The memory that the kernel fills.
struct Ring {
    event: File,
    memory: *mut u8,
    bytes: usize,
    page: usize,
}

impl Ring {
    /// Maps as much as is permitted, up to `most`.
    fn map(event: File, most: usize) -> io::Result<Self> {
        // SAFETY: a question without memory.
        let page = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096);
        let mut bytes = (most / page).max(1).next_power_of_two() * page;
        loop {
            let access = libc::PROT_READ | libc::PROT_WRITE;
            // SAFETY: a new mapping of the event's own pages.
            let memory = unsafe {
                libc::mmap(ptr::null_mut(), page + bytes, access, libc::MAP_SHARED, event.as_raw_fd(), 0)
            };
            if memory != libc::MAP_FAILED {
                return Ok(Self { event, memory: memory.cast(), bytes, page });
            }
            let error = io::Error::last_os_error();
            if bytes == page {
                return Err(error);
            }
            bytes /= 2;
        }
    }

    /// The bytes that the kernel has written since the last time.
    fn take(&mut self) -> Vec<u8> {
        // SAFETY: the first page of the mapping is this structure. The kernel writes the head after the data, and overwrites
        // nothing before the tail has passed it.
        unsafe {
            let control = self.memory.cast::<abi::perf_event_mmap_page>();
            let head = AtomicU64::from_ptr(&raw mut (*control).data_head).load(Ordering::Acquire);
            let tail = AtomicU64::from_ptr(&raw mut (*control).data_tail);
            let from = tail.load(Ordering::Relaxed);
            let (data, bytes) = (self.memory.add(self.page), head.wrapping_sub(from) as usize);
            let mut taken = vec![0; bytes.min(self.bytes)];
            let at = from as usize % self.bytes;
            let first = taken.len().min(self.bytes - at);
            ptr::copy_nonoverlapping(data.add(at), taken.as_mut_ptr(), first);
            ptr::copy_nonoverlapping(data, taken.as_mut_ptr().add(first), taken.len() - first);
            tail.store(head, Ordering::Release);
            taken
        }
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: the mapping of this ring, which nothing uses any more.
        unsafe { libc::munmap(self.memory.cast(), self.page + self.bytes) };
    }
}

/// The fields of a sample.
#[derive(Clone, Copy, Debug, Default)]
struct Layout {
    stacks: bool,
}

impl Layout {
    fn attributes(self, kind: u32, config: u64) -> abi::perf_event_attr {
        let mut attributes = abi::perf_event_attr {
            type_: kind,
            size: size_of::<abi::perf_event_attr>() as u32,
            config,
            clockid: libc::CLOCK_MONOTONIC,
            ..Default::default()
        };
        let mut sampled = abi::PERF_SAMPLE_TID | abi::PERF_SAMPLE_TIME | abi::PERF_SAMPLE_RAW;
        if self.stacks {
            sampled |= abi::PERF_SAMPLE_CALLCHAIN;
            attributes.set_exclude_callchain_kernel(1);
            attributes.sample_max_stack = FRAMES;
            if STACK_TOP {
                sampled |= abi::PERF_SAMPLE_STACK_USER;
                attributes.sample_stack_user = 8;
            }
        }
        if !REGISTERS.is_empty() {
            sampled |= abi::PERF_SAMPLE_REGS_USER;
            attributes.sample_regs_user = REGISTERS.iter().map(|register| 1 << register).sum();
        }
        // Raw data is of tracepoints; others would have to be permitted to have it.
        if kind != abi::PERF_TYPE_TRACEPOINT {
            sampled &= !abi::PERF_SAMPLE_RAW;
            attributes.set_exclude_kernel(1);
        }
        attributes.sample_type = sampled.into();
        attributes.set_sample_id_all(1);
        attributes.set_use_clockid(1);
        attributes.set_inherit(1);
        attributes
    }

    /// The records of a reading; what is incomplete or unknown is left out.
    fn records(self, bytes: &[u8]) -> impl Iterator<Item = Record> {
        let mut rest = bytes;
        std::iter::from_fn(move || {
            loop {
                let length = usize::from(u16::from_ne_bytes(rest.get(6..8)?.try_into().ok()?));
                if length < 8 || rest.len() < length {
                    return None;
                }
                let (record, after) = rest.split_at(length);
                rest = after;
                if let Some(record) = self.record(record) {
                    return Some(record);
                }
            }
        })
    }

    fn record(self, bytes: &[u8]) -> Option<Record> {
        let kind = half(bytes, 0)?;
        let flags = u32::from(u16::from_ne_bytes(bytes.get(4..6)?.try_into().ok()?));
        if kind == abi::PERF_RECORD_SAMPLE {
            return self.sample(bytes);
        }
        // Others end with the task and the time.
        let end = bytes.len().checked_sub(16)?;
        let (task, tid) = (half(bytes, end)? as libc::pid_t, half(bytes, end + 4)? as libc::pid_t);
        let time = word(bytes, end + 8)?;
        let has = |flag| flags & flag != 0;
        let (pid, what) = match kind {
            abi::PERF_RECORD_FORK => {
                let (pid, parent) = (half(bytes, 8)? as libc::pid_t, half(bytes, 12)? as libc::pid_t);
                (pid, if pid == parent { What::Thread } else { What::Process(parent) })
            }
            abi::PERF_RECORD_EXIT => (half(bytes, 8)? as libc::pid_t, What::Exit),
            abi::PERF_RECORD_COMM if has(abi::PERF_RECORD_MISC_COMM_EXEC) => {
                (half(bytes, 8)? as libc::pid_t, What::Exec)
            }
            abi::PERF_RECORD_MMAP2 => {
                let name = bytes.get(72..end)?;
                let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
                let path = String::from_utf8_lossy(name).into_owned();
                let (start, bytes_of, offset) = (word(bytes, 16)?, word(bytes, 24)?, word(bytes, 32)?);
                (half(bytes, 8)? as libc::pid_t, What::Map { start, bytes: bytes_of, offset, path })
            }
            abi::PERF_RECORD_SWITCH if has(abi::PERF_RECORD_MISC_SWITCH_OUT) => {
                let preempted = has(abi::PERF_RECORD_MISC_SWITCH_OUT_PREEMPT);
                (task, if preempted { What::Involuntary } else { What::Voluntary })
            }
            abi::PERF_RECORD_LOST => (task, What::Lost(word(bytes, 16)?)),
            _ => return None,
        };
        Some(Record { time, pid, tid, what })
    }

    fn sample(self, bytes: &[u8]) -> Option<Record> {
        let (pid, tid) = (half(bytes, 8)? as libc::pid_t, half(bytes, 12)? as libc::pid_t);
        let time = word(bytes, 16)?;
        let (mut at, mut stack) = (24, None);
        if self.stacks {
            let count = word(bytes, at)? as usize;
            // Above this bound are the kernel's marks, not addresses.
            let frames = (0..count).map_while(|n| word(bytes, at + 8 + 8 * n));
            let frames = frames.filter(|frame| *frame < abi::PERF_CONTEXT_MAX).collect();
            at += 8 + 8 * count;
            stack = Some(Box::new(Stack { frames, top: 0 }));
        }
        let length = half(bytes, at)? as usize;
        let raw = bytes.get(at + 4..at + 4 + length)?;
        let id = u16::from_ne_bytes(raw.get(..2)?.try_into().ok()?);
        let words = [8, 16, 24, 32, 40, 48, 56].map(|at| word(raw, at).unwrap_or(0));
        at += 4 + length;
        let mut is_compat = false;
        if !REGISTERS.is_empty() {
            let abi = word(bytes, at).unwrap_or(0);
            let values = |number: usize| word(bytes, at + 8 + 8 * number).unwrap_or(0);
            is_compat =
                abi == u64::from(abi::PERF_SAMPLE_REGS_ABI_32) || (abi > 0 && is_int80(&words, values));
            at += 8 + if abi == 0 { 0 } else { 8 * REGISTERS.len() };
        }
        if let (Some(stack), true) = (&mut stack, STACK_TOP) {
            // How many bytes of the stack there is room for; these.
            stack.top =
                word(bytes, at).filter(|room| *room >= 8).and_then(|_| word(bytes, at + 8)).unwrap_or(0);
        }
        Some(Record { time, pid, tid, what: What::Point { id, words, is_compat, stack } })
    }
}

/// Whether a 64-bit program of x86-64 made a call by `int $0x80`, by its registers of [`REGISTERS`]. Its arguments are in bx, cx,
/// dx, si, di and bp. The other way in, `syscall`, leaves the address of the next instruction in cx (but for FRED).
fn is_int80(words: &[u64; 7], register: impl Fn(usize) -> u64) -> bool {
    let [bx, cx, si, di, bp, ip] = [0, 1, 2, 3, 4, 5].map(register);
    let [_, first, second, _, fourth, fifth, sixth] = *words;
    cfg!(target_arch = "x86_64") && cx != ip && [first, second, fourth, fifth, sixth] == [bx, cx, si, di, bp]
}

fn half(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn word(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A record as linux/perf_event.h defines it: a header, and words.
    fn bytes(kind: u32, flags: u32, words: &[u64]) -> Vec<u8> {
        let mut bytes = kind.to_ne_bytes().to_vec();
        bytes.extend((flags as u16).to_ne_bytes());
        bytes.extend((8 + 8 * words.len() as u16).to_ne_bytes());
        bytes.extend(words.iter().flat_map(|word| word.to_ne_bytes()));
        bytes
    }

    /// Two halves of a word, in the order in which they are in memory.
    fn pair(first: u32, second: u32) -> u64 {
        let (first, second) = (first.to_ne_bytes(), second.to_ne_bytes());
        let word: Vec<u8> = [first, second].concat();
        u64::from_ne_bytes(word.try_into().unwrap())
    }

    #[test]
    fn records_are_read_as_the_kernel_defines_them() {
        let (task, time) = (pair(7, 8), 99);
        let mut ring = bytes(abi::PERF_RECORD_FORK, 0, &[pair(20, 7), pair(20, 8), 5, task, time]);
        ring.extend(bytes(abi::PERF_RECORD_FORK, 0, &[pair(7, 7), pair(21, 8), 5, task, time]));
        ring.extend(bytes(abi::PERF_RECORD_COMM, 0, &[task, 0x61, task, time]));
        ring.extend(bytes(abi::PERF_RECORD_COMM, abi::PERF_RECORD_MISC_COMM_EXEC, &[task, 0x61, task, time]));
        let out = abi::PERF_RECORD_MISC_SWITCH_OUT;
        ring.extend(bytes(abi::PERF_RECORD_SWITCH, 0, &[task, time]));
        ring.extend(bytes(abi::PERF_RECORD_SWITCH, out, &[task, time]));
        let preempted = out | abi::PERF_RECORD_MISC_SWITCH_OUT_PREEMPT;
        ring.extend(bytes(abi::PERF_RECORD_SWITCH, preempted, &[task, time]));
        ring.extend(bytes(abi::PERF_RECORD_LOST, 0, &[1, 12, task, time]));
        let name = u64::from_ne_bytes(*b"/a\0\0\0\0\0\0");
        ring.extend(bytes(
            abi::PERF_RECORD_MMAP2,
            0,
            &[task, 0x1000, 0x2000, 0x3000, 0, 0, 0, 0, name, task, time],
        ));
        ring.extend(bytes(abi::PERF_RECORD_EXIT, 0, &[pair(20, 7), pair(20, 8), 5, task, time]));
        // The tracepoint's own bytes: their number, its id, a common word, and its fields.
        let raw = [pair(44, 314), pair(0, 39), pair(0, 1), pair(0, 2), pair(0, 3), 0];
        ring.extend(bytes(abi::PERF_RECORD_SAMPLE, 0, &[&[task, time], &raw[..]].concat()));
        // A truncated record at the end is not read.
        ring.extend(&bytes(abi::PERF_RECORD_SWITCH, out, &[task, time])[..16]);
        let layout = Layout::default();
        let records: Vec<Record> = layout.records(&ring).collect();
        let what: Vec<(libc::pid_t, What)> = records.iter().map(|it| (it.pid, it.what.clone())).collect();
        let map = What::Map { start: 0x1000, bytes: 0x2000, offset: 0x3000, path: "/a".into() };
        let words = [39, 1, 2, 3, 0, 0, 0].map(|it| pair(it, 0));
        let point = What::Point { id: 314, words, is_compat: false, stack: None };
        let expected = [
            (20, What::Process(7)),
            (7, What::Thread),
            (7, What::Exec),
            (7, What::Voluntary),
            (7, What::Involuntary),
            (7, What::Lost(12)),
            (7, map),
            (20, What::Exit),
            (7, point),
        ];
        assert_eq!(what, expected);
        assert!(records.iter().all(|record| record.time == 99));
    }

    #[test]
    fn a_sample_with_its_stack_has_the_addresses_of_the_program() {
        let user = u64::MAX - 511; // PERF_CONTEXT_USER
        let mut words = vec![pair(7, 8), 99, 3, user, 0x401000, 0x402000, pair(12, 314), pair(0, 0)];
        if !REGISTERS.is_empty() {
            words.push(2);
            words.extend(REGISTERS.iter().map(|_| 0));
        }
        if STACK_TOP {
            words.extend([8, 0x403000, 8]);
        }
        let layout = Layout { stacks: true };
        let records: Vec<Record> = layout.records(&bytes(abi::PERF_RECORD_SAMPLE, 0, &words)).collect();
        let What::Point { id: 314, stack: Some(stack), .. } = &records[0].what else { panic!("{records:?}") };
        assert_eq!(stack.frames, [0x401000, 0x402000]);
        assert_eq!(stack.top, if STACK_TOP { 0x403000 } else { 0 });
    }

    #[test]
    fn a_call_of_a_64_bit_program_shows_its_way_in_by_its_registers() {
        if !cfg!(target_arch = "x86_64") {
            return tollgate_testkit::skip!("only x86-64 has int $0x80");
        }
        // The number, then six arguments: bx, cx, dx, si, di, bp of int $0x80, or di, si, dx, r10, r8, r9.
        let registers = |cx| move |at: usize| [1, cx, 4, 5, 6, 0x401000][at];
        assert!(is_int80(&[64, 1, 2, 3, 4, 5, 6], registers(2)));
        assert!(!is_int80(&[110, 5, 4, 3, 10, 8, 9], registers(2)), "without an address in cx (FRED)");
        assert!(!is_int80(&[110, 5, 4, 3, 10, 8, 9], registers(0x401000)));
        // Registers that are all alike.
        assert!(is_int80(&[64, 0, 0, 0, 0, 0, 0], |at| [0, 0, 0, 0, 0, 0x401000][at]));
        assert!(!is_int80(&[110, 0, 0, 0, 0, 0, 0], |at| [0, 0x401000, 0, 0, 0, 0x401000][at]));
    }

    #[test]
    fn random_bytes_are_no_reason_to_panic() {
        proptest::proptest!(|(bytes: Vec<u8>, stacks: bool)| {
            Layout { stacks }.records(&bytes).for_each(drop);
        });
    }
}
