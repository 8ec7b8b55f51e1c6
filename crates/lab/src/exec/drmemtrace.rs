//! A trace of instructions and accesses in the format of DynamoRIO's drmemtrace, with the kernel in it.
//!
//! The records are `trace_entry_t` of DynamoRIO's `clients/drcachesim/common/trace_entry.h`, version 7, as its readers receive
//! them: a type, a size and a value in 12 bytes. The file is one core's: its threads take turns in it. DynamoRIO has no number
//! for RISC-V among its file types, so the file names no architecture; the encodings are in it.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use tollgate_riscv::{Cause, Class, Insn, Op, Raised, Trap, Walk};

use super::code::PAGE;

/// Types of records (`trace_type_t`).
mod kind {
    pub(super) const READ: u16 = 0;
    pub(super) const WRITE: u16 = 1;
    pub(super) const INSTR: u16 = 10;
    pub(super) const DIRECT_JUMP: u16 = 11;
    pub(super) const INDIRECT_JUMP: u16 = 12;
    pub(super) const DIRECT_CALL: u16 = 14;
    pub(super) const INDIRECT_CALL: u16 = 15;
    pub(super) const RETURN: u16 = 16;
    pub(super) const THREAD: u16 = 22;
    pub(super) const THREAD_EXIT: u16 = 23;
    pub(super) const PID: u16 = 24;
    pub(super) const HEADER: u16 = 25;
    pub(super) const FOOTER: u16 = 26;
    pub(super) const MARKER: u16 = 28;
    pub(super) const ENCODING: u16 = 47;
    pub(super) const TAKEN_JUMP: u16 = 48;
    pub(super) const UNTAKEN_JUMP: u16 = 49;
}

/// What a marker says (`trace_marker_type_t`), which is in its size.
mod marker {
    pub(super) const KERNEL_EVENT: u16 = 0;
    pub(super) const KERNEL_XFER: u16 = 1;
    pub(super) const TIMESTAMP: u16 = 2;
    pub(super) const CPU_ID: u16 = 3;
    pub(super) const FILETYPE: u16 = 9;
    pub(super) const CACHE_LINE_SIZE: u16 = 10;
    pub(super) const VERSION: u16 = 12;
    pub(super) const PHYSICAL_ADDRESS: u16 = 15;
    pub(super) const VIRTUAL_ADDRESS: u16 = 17;
    pub(super) const PAGE_SIZE: u16 = 18;
    pub(super) const SYSCALL: u16 = 25;
    pub(super) const SYSCALL_TRACE_START: u16 = 27;
    pub(super) const SYSCALL_TRACE_END: u16 = 28;
    pub(super) const BRANCH_TARGET: u16 = 29;
}

const VERSION: u64 = 7;
/// File types (`offline_file_type_t`): encodings, numbers of system calls, the kernel's code of them, one core.
const ENCODINGS: u64 = 0x200;
const SYSCALL_NUMBERS: u64 = 0x400;
const KERNEL_SYSCALLS: u64 = 0x1000;
const CORE_SHARDED: u64 = 0x1_0000;
/// That of all preset cores.
const LINE: u64 = 64;
/// Microseconds from 1601, where the format's time begins, to 2026.
const EPOCH: u64 = 13_411_699_200_000_000;
/// Instructions that are recorded; some 30 bytes each.
const MOST: u64 = 100_000_000;
const LINKS: [u8; 2] = [1, 5];

/// An instruction as it ran.
pub(super) struct Executed<'a> {
    pub(super) pc: u64,
    pub(super) pa: u64,
    pub(super) insn: &'a Insn,
    pub(super) word: u32,
    pub(super) next_pc: u64,
    pub(super) taken: bool,
}

/// An access to memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reference {
    pub(super) va: u64,
    pub(super) pa: u64,
    pub(super) size: u8,
    pub(super) store: bool,
}

/// Writes a trace.
pub(crate) struct Recorder {
    out: BufWriter<File>,
    failed: Option<io::Error>,
    instructions: u64,
    /// Instructions beyond the limit.
    dropped: u64,
    /// The encodings that the reader has, by address.
    encodings: HashMap<u64, u32>,
    /// The physical pages that it has, by process and virtual page.
    pages: HashMap<(u32, u64), u64>,
    /// The physical pages that the machine found, by address space and virtual page.
    found: HashMap<(u64, u64), u64>,
    satp: u64,
    /// The thread and the process of the latest records.
    thread: Option<(u32, u32)>,
    threads: Vec<u32>,
    /// Per thread: calls by number, and other traps, that have not returned.
    open: HashMap<u32, Vec<Option<u64>>>,
    /// The address of the latest instruction.
    pc: u64,
}

impl Recorder {
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        let mut recorder = Self {
            out: BufWriter::with_capacity(1 << 20, File::create(path)?),
            failed: None,
            instructions: 0,
            dropped: 0,
            encodings: HashMap::new(),
            pages: HashMap::new(),
            found: HashMap::new(),
            satp: 0,
            thread: None,
            threads: Vec::new(),
            open: HashMap::new(),
            pc: 0,
        };
        recorder.record(kind::HEADER, 0, VERSION);
        recorder.mark(marker::VERSION, VERSION);
        recorder.mark(marker::FILETYPE, ENCODINGS | SYSCALL_NUMBERS | KERNEL_SYSCALLS | CORE_SHARDED);
        Ok(recorder)
    }

    fn record(&mut self, kind: u16, size: u16, value: u64) {
        let mut bytes = [0; 12];
        bytes[..2].copy_from_slice(&kind.to_le_bytes());
        bytes[2..4].copy_from_slice(&size.to_le_bytes());
        bytes[4..].copy_from_slice(&value.to_le_bytes());
        if self.failed.is_none() {
            self.failed = self.out.write_all(&bytes).err();
        }
    }

    fn mark(&mut self, what: u16, value: u64) {
        self.record(kind::MARKER, what, value);
    }

    /// An instruction takes a nanosecond.
    fn time(&mut self) {
        self.mark(marker::TIMESTAMP, EPOCH + self.instructions / 1000);
        self.mark(marker::CPU_ID, 0);
    }

    /// The records that follow are this thread's; numbers of the format begin at 1.
    fn thread(&mut self, task: u32, group: u32) {
        if self.thread.replace((task, group)) == Some((task, group)) {
            return;
        }
        self.record(kind::THREAD, 0, u64::from(task) + 1);
        self.record(kind::PID, 0, u64::from(group) + 1);
        if self.threads.is_empty() {
            self.mark(marker::CACHE_LINE_SIZE, LINE);
            self.mark(marker::PAGE_SIZE, PAGE);
        }
        if !self.threads.contains(&task) {
            self.threads.push(task);
        }
        self.time();
    }

    /// Records where a page is, unless the trace has it.
    fn page(&mut self, va: u64, pa: u64) {
        let process = self.thread.map_or(0, |thread| thread.1);
        if self.pages.insert((process, va / PAGE), pa / PAGE) != Some(pa / PAGE) {
            self.mark(marker::PHYSICAL_ADDRESS, pa & !(PAGE - 1));
            self.mark(marker::VIRTUAL_ADDRESS, va & !(PAGE - 1));
        }
    }

    /// The machine found a page.
    pub(super) fn walk(&mut self, walk: &Walk) {
        self.found.insert((self.satp, walk.va / PAGE), walk.pa / PAGE);
    }

    pub(super) fn address_space(&mut self, satp: u64) {
        self.satp = satp;
    }

    /// Records where an instruction is, which may be in two pages.
    fn place(&mut self, pc: u64, pa: u64, length: u16) {
        self.page(pc, pa);
        let last = pc.wrapping_add(u64::from(length) - 1);
        if last / PAGE != pc / PAGE
            && let Some(&page) = self.found.get(&(self.satp, last / PAGE))
        {
            self.page(last, page * PAGE);
        }
    }

    fn encoding(&mut self, pc: u64, word: u32, length: u16) {
        if self.encodings.insert(pc, word) != Some(word) {
            self.record(kind::ENCODING, length, u64::from(word));
        }
    }

    /// An instruction of a thread, with its accesses.
    pub(super) fn instruction(
        &mut self,
        (task, group): (u32, u32),
        executed: &Executed<'_>,
        accesses: impl Iterator<Item = Reference>,
    ) {
        if self.instructions >= MOST {
            self.dropped += 1;
            return;
        }
        let &Executed { pc, pa, insn, word, next_pc, taken } = executed;
        self.thread(task, group);
        self.place(pc, pa, insn.len.into());
        let accesses: Vec<Reference> = accesses.collect();
        for access in &accesses {
            self.page(access.va, access.pa);
        }
        let calls = LINKS.contains(&insn.rd);
        let of = match insn.row().class {
            Class::Branch if taken => kind::TAKEN_JUMP,
            Class::Branch => kind::UNTAKEN_JUMP,
            Class::Jump if calls => kind::DIRECT_CALL,
            Class::Jump => kind::DIRECT_JUMP,
            Class::JumpReg if calls => kind::INDIRECT_CALL,
            Class::JumpReg if LINKS.contains(&insn.rs1) => kind::RETURN,
            Class::JumpReg => kind::INDIRECT_JUMP,
            Class::System if matches!(insn.op, Op::Sret | Op::Mret) => kind::INDIRECT_JUMP,
            _ => kind::INSTR,
        };
        if matches!(of, kind::INDIRECT_JUMP | kind::INDIRECT_CALL | kind::RETURN) {
            self.mark(marker::BRANCH_TARGET, next_pc);
        }
        self.encoding(pc, word, insn.len.into());
        self.record(of, insn.len.into(), pc);
        for Reference { va, size, store, .. } in accesses {
            self.record(if store { kind::WRITE } else { kind::READ }, size.into(), va);
        }
        self.instructions += 1;
        self.pc = pc;
    }

    /// A thread traps.
    pub(super) fn trap(&mut self, (task, group): (u32, u32), trap: &Trap) {
        let call = (trap.cause == Cause::UserEcall).then_some(trap.a7);
        if self.instructions >= MOST {
            return;
        }
        self.thread(task, group);
        // It was fetched, and does not retire. As in DynamoRIO's traces, it is the instruction in front of the event, and comes
        // again if it is executed again.
        if let Some(raised) = trap.raised_by {
            let (Raised { pa, word }, length) = (raised, raised.length().into());
            self.place(trap.epc, pa, length);
            self.encoding(trap.epc, word, length);
            self.record(kind::INSTR, length, trap.epc);
        }
        match call {
            Some(number) => {
                self.time();
                self.mark(marker::SYSCALL, number);
                self.mark(marker::SYSCALL_TRACE_START, number);
            }
            None => self.mark(marker::KERNEL_EVENT, trap.epc),
        }
        self.open.entry(task).or_default().push(call);
    }

    /// A thread has returned from its latest trap, or from all.
    pub(super) fn returned(&mut self, task: u32, all: bool) {
        while let Some(call) = self.open.get_mut(&task).and_then(Vec::pop) {
            if self.instructions < MOST {
                match call {
                    Some(number) => {
                        self.mark(marker::SYSCALL_TRACE_END, number);
                        self.time();
                    }
                    None => self.mark(marker::KERNEL_XFER, self.pc),
                }
            }
            if !all {
                break;
            }
        }
    }

    /// Ends the trace; yields the number of instructions beyond the limit.
    pub(super) fn finish(mut self) -> io::Result<u64> {
        let last = self.thread.map(|thread| thread.0);
        for task in std::mem::take(&mut self.threads) {
            if last != Some(task) {
                self.record(kind::THREAD, 0, u64::from(task) + 1);
            }
            self.record(kind::THREAD_EXIT, 0, u64::from(task) + 1);
        }
        self.record(kind::FOOTER, 0, 0);
        match self.failed {
            Some(error) => Err(error),
            None => self.out.flush().map(|()| self.dropped),
        }
    }
}
