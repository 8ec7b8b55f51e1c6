//! A static program without a kernel: the machine translates its addresses, and the host answers its system calls.
//!
//! The program runs in user mode under Sv39. A trap goes to a few instructions in machine mode whose semihosting calls stop the
//! machine; the host then does what a small Linux would do. Those instructions are not part of the bill.

use std::collections::BTreeMap;

use tollgate_riscv::{Config, Machine, Privilege, Stop, aside};

use super::code::{Code, Object, PAGE};
use super::job::{Alone, Ended, ExecError, ExecJob, Limits, Outcome, Ran};
use super::tree::{Rooted, WORK};
use super::watch::Watch;
use crate::boot::KernelError;

const RAM: u64 = 0x8000_0000;
/// The calls of the code in machine mode: the program can begin, has trapped, and gets its result.
const START: u64 = 0x17f;
const TRAPPED: u64 = 0x180;
const RESULT: u64 = 0x181;
/// Tables and that code, at the end of RAM: three pages of tables, one of code.
const RESERVED: u64 = 16 * PAGE;
const STACK: u64 = 8 << 20;
/// Addresses below this one are not mapped, so that null pointers fault.
const FIRST: u64 = 16 * PAGE;
/// Where a program goes that can be anywhere.
const ANYWHERE: u64 = 1 << 20;
const SLICE: u64 = 1 << 20;
/// The most bytes of one read or write.
const MOST: u64 = 64 << 20;
/// The most bytes of output that nobody receives while the program runs.
const MOST_OUTPUT: usize = 256 << 20;

/// Numbers of control and status registers (privileged specification, chapter 2).
const MSCRATCH: u16 = 0x340;
const MEPC: u16 = 0x341;
const MCAUSE: u16 = 0x342;

/// Page table entries (privileged specification, 11.4): valid; and readable, writable, executable, for user mode, accessed, dirty.
const VALID: u64 = 1;
const ALL: u64 = 0xdf;

const fn csrw(number: u32, register: u32) -> u32 {
    number << 20 | register << 15 | 1 << 12 | 0x73
}
const fn load_a0(value: u64) -> u32 {
    (value as u32) << 20 | 10 << 7 | 0x13
}
/// `slli x0, x0, 0x1f; ebreak; srai x0, x0, 7`, a semihosting call.
const CALL: [u32; 3] = [0x01f0_1013, 0x0010_0073, 0x4070_5013];
const MRET: u32 = 0x3020_0073;
const SFENCE: u32 = 0x1200_0073;

/// Sets the machine up from a0 to a4, and lets the host set the program's registers.
const BEGIN: [u32; 12] = [
    csrw(0x180, 10), // satp
    SFENCE,
    csrw(0x341, 11), // mepc
    csrw(0x305, 12), // mtvec
    csrw(0x300, 13), // mstatus
    csrw(0x306, 14), // mcounteren
    csrw(0x106, 14), // scounteren
    load_a0(START),
    CALL[0],
    CALL[1],
    CALL[2],
    MRET,
];
/// The handler of traps: the host yields where to continue, then the result.
const HANDLER: [u32; 11] = [
    csrw(0x340, 10), // mscratch
    load_a0(TRAPPED),
    CALL[0],
    CALL[1],
    CALL[2],
    csrw(0x341, 10), // mepc
    load_a0(RESULT),
    CALL[0],
    CALL[1],
    CALL[2],
    MRET,
];

/// Linux's numbers of errors.
const ENOENT: i64 = -2;
const EBADF: i64 = -9;
const EAGAIN: i64 = -11;
const ENOMEM: i64 = -12;
const EFAULT: i64 = -14;
const ENOTTY: i64 = -25;
const EINVAL: i64 = -22;
const ENOSPC: i64 = -28;
const ENOSYS: i64 = -38;

/// Runs the program to its end.
pub(super) fn run(
    rooted: &Rooted,
    job: &ExecJob,
    name: &str,
    alone: Alone,
    limits: &Limits<'_>,
) -> Result<Ran, ExecError> {
    let (path, object) = rooted
        .objects
        .iter()
        .find(|(path, ..)| rooted.tree.is_same(path, &rooted.program))
        .map(|(path, object, _)| (path, object))
        .ok_or_else(|| ExecError::Alone(format!("{}: not a program", rooted.program)))?;
    if let Some(interpreter) = &object.interpreter {
        return Err(ExecError::Dynamic(job.program.clone(), interpreter.clone()));
    }
    let file = rooted.tree.file(path).unwrap_or_default();
    let mut machine = Machine::new(Config {
        isa: alone.isa,
        ram_bytes: alone.ram_bytes,
        misaligned: true,
        coherent_code: true,
        ..Config::default()
    })
    .map_err(KernelError::from)?;
    machine.semihost();
    let mut process =
        Process::load(&mut machine, object, file, rooted, job, name, alone).ok_or_else(|| {
            ExecError::Alone(format!("{}: does not fit into the machine's memory", job.program))
        })?;
    let mut code = Code::new(vec![("proxied".into(), 0)], 0..0);
    let number = code.add(object, None, false);
    for load in object.loads.iter().filter(|load| load.executable) {
        let first = load.address & !(PAGE - 1);
        for at in (first..load.address + load.file_bytes).step_by(PAGE as usize) {
            let offset = (load.offset & !(PAGE - 1)) + (at - first);
            code.place((RAM + process.bias + at) >> 12, number, offset);
        }
    }
    let mut watch = Watch::new(code, None, None, job.core.as_ref(), &machine.code(), 1)?;
    job.views.attach(&mut watch)?;
    let (mut left, before) = (limits.instructions, machine.instret());
    let ended = aside(&mut watch, |watch| {
        loop {
            let budget = SLICE.min(left);
            let retired = machine.instret();
            let stop = machine.run(budget, watch);
            // A call ends the slice early.
            left -= if stop == Stop::Budget { budget } else { (machine.instret() - retired).min(budget) };
            match stop {
                Stop::Semihosting { call } if machine.privilege() == Privilege::Machine => match call {
                    RESULT => machine.answer_semihosting(process.result as u64),
                    _ => {
                        let ended = process.trapped(&mut machine);
                        process.pass_on(limits);
                        if let Some(ended) = ended {
                            break ended;
                        }
                    }
                },
                Stop::Budget if (limits.interrupted)() => break Ended::Stopped(Outcome::Interrupted),
                Stop::Budget if left == 0 => break Ended::Stopped(Outcome::Budget),
                Stop::Budget => {}
                _ => break Ended::Stopped(Outcome::Waits),
            }
        }
    });
    let mut ran = Ran::new(watch, machine.instret() - before);
    ran.ended = ended;
    [ran.output, ran.errors] = process.output;
    ran.console = process.unknown.map_or_else(String::new, |number| {
        let name = super::calls::name(number).map_or_else(|| number.to_string(), str::to_owned);
        format!("  the system call {name} is not answered without a kernel; give one with --kernel")
    });
    Ok(ran)
}

/// What a small kernel keeps about its only process.
struct Process {
    /// Where a program that can be anywhere is.
    bias: u64,
    /// The end of the heap, where it began, and the lowest mapping above it.
    heap: [u64; 2],
    mappings: u64,
    /// The least address that the stack may have.
    stack: u64,
    input: Vec<u8>,
    read: usize,
    output: [Vec<u8>; 2],
    files: BTreeMap<String, Vec<u8>>,
    /// Open files from number 3 up: the name, and the position.
    open: BTreeMap<u64, (String, usize)>,
    random: u64,
    program: String,
    /// What the call that is being answered yields.
    result: i64,
    /// The first call that was not answered.
    unknown: Option<u64>,
}

impl Process {
    /// Puts the program, its tables, its arguments and the code in machine mode into RAM; `None` if there is no room.
    fn load(
        machine: &mut Machine,
        object: &Object,
        file: &[u8],
        rooted: &Rooted,
        job: &ExecJob,
        name: &str,
        alone: Alone,
    ) -> Option<Self> {
        let end = alone.ram_bytes;
        let bias = if object.movable { ANYWHERE } else { 0 };
        let top = end.checked_sub(RESERVED)?;
        let stack = top.checked_sub(STACK)?;
        let mut heap = FIRST;
        for load in &object.loads {
            let at = load.address.checked_add(bias)?;
            let past = at.checked_add(load.memory_bytes)?;
            if at < FIRST || past > stack {
                return None;
            }
            let from = usize::try_from(load.offset).ok()?;
            let bytes = file.get(from..from.checked_add(usize::try_from(load.file_bytes).ok()?)?)?;
            machine.write_memory(RAM + at, bytes).ok()?;
            heap = heap.max(past.next_multiple_of(PAGE));
        }
        let tables = RAM + top;
        let [root, middle, lowest, stub] = [0, 1, 2, 3].map(|n| tables + n * PAGE);
        let pointer = |to: u64| ((to >> 12) << 10 | VALID).to_le_bytes();
        machine.write_memory(root, &pointer(middle)).ok()?;
        // Pages of 2 MiB, the first of them in pages of 4 KiB.
        machine.write_memory(middle, &pointer(lowest)).ok()?;
        for n in 1..(end >> 21).min(512) {
            let entry = ((RAM + (n << 21)) >> 12) << 10 | ALL;
            machine.write_memory(middle + 8 * n, &entry.to_le_bytes()).ok()?;
        }
        for n in FIRST / PAGE..512 {
            let entry = ((RAM + n * PAGE) >> 12) << 10 | ALL;
            machine.write_memory(lowest + 8 * n, &entry.to_le_bytes()).ok()?;
        }
        let words = |list: &[u32]| list.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<_>>();
        machine.write_memory(stub, &words(&BEGIN)).ok()?;
        machine.write_memory(stub + 64, &words(&HANDLER)).ok()?;
        let arguments: Vec<&str> =
            std::iter::once(name).chain(job.arguments.iter().map(String::as_str)).collect();
        let environment: Vec<&str> = job.environment.iter().map(String::as_str).collect();
        let sp = place_words(machine, top, object, bias, [&arguments, &environment], alone.seed)?;
        machine.set_pc(stub);
        for (register, value) in [
            (10, 8 << 60 | root >> 12),
            (11, object.entry.wrapping_add(bias)),
            (12, stub + 64),
            // Floating point and vectors on, and user mode before (3.1.6).
            (13, 1 << 13 | 1 << 9),
            (14, 7),
        ] {
            machine.set_x(register, value);
        }
        let started = machine.run(64, &mut ());
        if started != (Stop::Semihosting { call: START }) {
            return None;
        }
        for register in 1..32 {
            machine.set_x(register, 0);
        }
        machine.set_x(2, sp);
        machine.answer_semihosting(0);
        // What is left of the code in machine mode.
        while machine.privilege() == Privilege::Machine {
            machine.run(1, &mut ());
        }
        let files = job.files.iter().filter_map(|path| {
            let name = path.to_string_lossy().into_owned();
            let at = if path.is_absolute() { name.clone() } else { format!("{WORK}/{name}") };
            Some((name, rooted.tree.file(&at)?.to_vec()))
        });
        Some(Self {
            bias,
            heap: [heap, heap],
            mappings: stack,
            stack,
            input: job.input.clone(),
            read: 0,
            output: [Vec::new(), Vec::new()],
            files: files.collect(),
            open: BTreeMap::new(),
            random: alone.seed,
            program: rooted.program.clone(),
            result: 0,
            unknown: None,
        })
    }

    /// Does what the trap asks for; how the program ended, if it did.
    fn trapped(&mut self, machine: &mut Machine) -> Option<Ended> {
        let (cause, pc) = (machine.csr(MCAUSE)?, machine.csr(MEPC)?);
        let first = machine.csr(MSCRATCH)?;
        let signal = match cause {
            8 => 0,
            2 => 4,
            3 => 5,
            0 | 4 | 6 => 7,
            _ => 11,
        };
        if signal > 0 {
            return Some(Ended::Killed(signal));
        }
        let mut a = [0; 6];
        for (n, value) in a.iter_mut().enumerate() {
            *value = if n == 0 { first } else { machine.x(10 + n as u8) };
        }
        match self.call(machine, machine.x(17), a) {
            Ok(result) => self.result = result,
            Err(ended) => return Some(ended),
        }
        machine.answer_semihosting(pc.wrapping_add(4));
        None
    }

    /// Passes on what the program has written.
    fn pass_on(&mut self, limits: &Limits<'_>) {
        let Some(pass_on) = limits.output else { return };
        for (file, text) in self.output.iter_mut().enumerate().filter(|(_, text)| !text.is_empty()) {
            (pass_on.to)(file, text);
            text.clear();
        }
    }

    /// The numbers are those of Linux on riscv64 (include/uapi/asm-generic/unistd.h).
    fn call(&mut self, machine: &mut Machine, number: u64, a: [u64; 6]) -> Result<i64, Ended> {
        Ok(match number {
            93 | 94 => return Err(Ended::Exited(a[0] as u8)),
            64 => self.write(machine, a[0], a[1], a[2]),
            63 => self.read(machine, a[0], a[1], a[2], None),
            67 => self.read(machine, a[0], a[1], a[2], Some(a[3])),
            65 | 66 => self.vector(machine, number == 66, a),
            56 => self.openat(machine, a[1], a[2]),
            57 => self.open.remove(&a[0]).map_or(if a[0] < 3 { 0 } else { EBADF }, |_| 0),
            62 => self.seek(a[0], a[1] as i64, a[2]),
            80 => self.stat(machine, a[0], a[1]),
            79 => match text(machine, a[1]) {
                Some(path) if path.is_empty() => self.stat(machine, a[0], a[2]),
                Some(path) => match self.files.get(&path).map(Vec::len) {
                    Some(bytes) => put_stat(machine, a[2], 0o100_644, bytes as u64),
                    None => ENOENT,
                },
                None => EFAULT,
            },
            78 => self.read_link(machine, a),
            29 => ENOTTY,
            25 | 101 | 115 | 134 | 135 | 132 | 215 | 226 | 233 | 99 | 124 => 0,
            214 => self.brk(a[0]),
            222 => self.map(machine, a),
            216 => self.remap(machine, a),
            172 | 178 | 96 => 1000,
            173 => 1,
            174..=177 => 0,
            // A lock that nobody else can hold.
            98 if a[1] & 0x7f == 0 => EAGAIN,
            98 => 0,
            261 => put(machine, a[3], &[STACK.to_le_bytes(), STACK.to_le_bytes()].concat()),
            278 => {
                let bytes: Vec<u8> = std::iter::repeat_with(|| self.next_random() as u8)
                    .take(a[1].min(MOST) as usize)
                    .collect();
                if put(machine, a[0], &bytes) == 0 { bytes.len() as i64 } else { EFAULT }
            }
            113 => put(machine, a[1], &time(machine, 1)),
            169 => put(machine, a[0], &time(machine, 1000)),
            114 => put(machine, a[1], &[0u64.to_le_bytes(), 1u64.to_le_bytes()].concat()),
            160 => put(machine, a[0], &names()),
            17 => match put(machine, a[0], format!("{WORK}\0").as_bytes()) {
                0 => WORK.len() as i64 + 1,
                error => error,
            },
            48 | 439 => match text(machine, a[1]) {
                Some(path) if self.files.contains_key(&path) => 0,
                _ => ENOENT,
            },
            129..=131 => {
                let signal = if number == 131 { a[2] } else { a[1] };
                match signal {
                    0 => 0,
                    signal => return Err(Ended::Killed(signal as u8)),
                }
            }
            // The C library works without these.
            258 | 293 => ENOSYS,
            number => {
                self.unknown = self.unknown.or(Some(number));
                ENOSYS
            }
        })
    }

    fn write(&mut self, machine: &Machine, file: u64, at: u64, bytes: u64) -> i64 {
        let Some(text) = get(machine, at, bytes.min(MOST)) else { return EFAULT };
        match file {
            1 | 2 if self.output[file as usize - 1].len() + text.len() > MOST_OUTPUT => ENOSPC,
            1 | 2 => {
                self.output[file as usize - 1].extend(&text);
                text.len() as i64
            }
            _ => EBADF,
        }
    }

    fn read(&mut self, machine: &mut Machine, file: u64, at: u64, bytes: u64, place: Option<u64>) -> i64 {
        let (source, position) = match (file, self.open.get_mut(&file)) {
            (0, _) => (self.input.as_slice(), &mut self.read),
            (_, Some((name, position))) => (self.files.get(name).map_or(&[][..], Vec::as_slice), position),
            _ => return EBADF,
        };
        let from = place.map_or(*position, |place| place as usize).min(source.len());
        let now = &source[from..source.len().min(from.saturating_add(bytes.min(MOST) as usize))];
        let count = now.len();
        if place.is_none() {
            *position = from + count;
        }
        let now = now.to_vec();
        if put(machine, at, &now) == 0 { count as i64 } else { EFAULT }
    }

    fn vector(&mut self, machine: &mut Machine, writes: bool, a: [u64; 6]) -> i64 {
        let mut sum = 0;
        for n in 0..a[2].min(1024) {
            let Some(block) = get(machine, a[1] + 16 * n, 16) else { return EFAULT };
            let [at, bytes] =
                [0, 8].map(|n| u64::from_le_bytes(block[n..n + 8].try_into().unwrap_or_default()));
            let done = if writes {
                self.write(machine, a[0], at, bytes)
            } else {
                self.read(machine, a[0], at, bytes, None)
            };
            if done < 0 {
                return done;
            }
            sum += done;
        }
        sum
    }

    fn openat(&mut self, machine: &Machine, at: u64, flags: u64) -> i64 {
        let Some(path) = text(machine, at) else { return EFAULT };
        if flags & 3 != 0 || !self.files.contains_key(&path) {
            return ENOENT;
        }
        let number = (3..).find(|number| !self.open.contains_key(number)).unwrap_or(3);
        self.open.insert(number, (path, 0));
        number as i64
    }

    fn seek(&mut self, file: u64, offset: i64, whence: u64) -> i64 {
        let Some((name, position)) = self.open.get_mut(&file) else {
            return if file < 3 { -29 } else { EBADF };
        };
        let from = match whence {
            0 => 0,
            1 => *position as i64,
            _ => self.files.get(name).map_or(0, Vec::len) as i64,
        };
        match usize::try_from(from.saturating_add(offset)) {
            Ok(to) => {
                *position = to;
                to as i64
            }
            Err(_) => EINVAL,
        }
    }

    fn stat(&mut self, machine: &mut Machine, file: u64, at: u64) -> i64 {
        match (file, self.open.get(&file)) {
            // Standard streams are files, as they are under a kernel.
            (0..=2, _) => put_stat(machine, at, 0o100_600, 0),
            (_, Some((name, _))) => {
                let bytes = self.files.get(name).map_or(0, Vec::len);
                put_stat(machine, at, 0o100_644, bytes as u64)
            }
            _ => EBADF,
        }
    }

    fn read_link(&mut self, machine: &mut Machine, a: [u64; 6]) -> i64 {
        match text(machine, a[1]) {
            Some(path) if path == "/proc/self/exe" => {
                let name = self.program.as_bytes();
                let bytes = name[..name.len().min(a[3] as usize)].to_vec();
                if put(machine, a[2], &bytes) == 0 { bytes.len() as i64 } else { EFAULT }
            }
            _ => ENOENT,
        }
    }

    fn brk(&mut self, to: u64) -> i64 {
        if to >= self.heap[1] && to <= self.mappings {
            self.heap[0] = to;
        }
        self.heap[0] as i64
    }

    /// Mappings grow downwards from the stack, and are not used again.
    fn map(&mut self, machine: &mut Machine, a: [u64; 6]) -> i64 {
        const FIXED: u64 = 0x10;
        const ANONYMOUS: u64 = 0x20;
        let Some(bytes) = a[1].checked_next_multiple_of(PAGE).filter(|&bytes| bytes > 0) else {
            return EINVAL;
        };
        let at = if a[3] & FIXED != 0 {
            a[0]
        } else {
            match self.mappings.checked_sub(bytes).filter(|&at| at >= self.heap[0].next_multiple_of(PAGE)) {
                Some(at) => at,
                None => return ENOMEM,
            }
        };
        if at < FIRST || at.checked_add(bytes).is_none_or(|end| end > self.stack) {
            return ENOMEM;
        }
        self.mappings = self.mappings.min(at);
        let mut content = vec![0; bytes as usize];
        if a[3] & ANONYMOUS == 0 {
            let Some((name, _)) = self.open.get(&a[4]) else { return EBADF };
            let file = self.files.get(name).map_or(&[][..], Vec::as_slice);
            let here = file.get(a[5] as usize..).unwrap_or_default();
            let here = &here[..here.len().min(content.len())];
            content[..here.len()].copy_from_slice(here);
        }
        if put(machine, at, &content) == 0 { at as i64 } else { ENOMEM }
    }

    fn remap(&mut self, machine: &mut Machine, a: [u64; 6]) -> i64 {
        const MAY_MOVE: u64 = 1;
        if a[2] <= a[1] {
            return a[0] as i64;
        }
        if a[3] & MAY_MOVE == 0 {
            return ENOMEM;
        }
        let at = self.map(machine, [0, a[2], 3, 0x22, u64::MAX, 0]);
        match get(machine, a[0], a[1]) {
            Some(bytes) if at > 0 => {
                put(machine, at as u64, &bytes);
                at
            }
            Some(_) => at,
            None => EFAULT,
        }
    }

    /// SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
    fn next_random(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.random)
    }
}

fn mix(seed: u64) -> u64 {
    let z = (seed ^ seed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

/// Arguments, environment and what the kernel tells a program, at the top of its stack (the ABI of processes); the stack pointer.
fn place_words(
    machine: &mut Machine,
    top: u64,
    object: &Object,
    bias: u64,
    lists: [&[&str]; 2],
    seed: u64,
) -> Option<u64> {
    /// Keys of the auxiliary vector (getauxval(3)).
    const KEYS: [u64; 6] = [3, 4, 5, 6, 9, 25];
    let mut strings: Vec<u8> =
        [mix(seed), mix(seed ^ 1)].iter().flat_map(|word| word.to_le_bytes()).collect();
    let mut at = Vec::new();
    for list in lists {
        for word in list {
            at.push(strings.len() as u64);
            strings.extend(word.bytes());
            strings.push(0);
        }
        at.push(u64::MAX);
    }
    let base = top.checked_sub(strings.len() as u64)? & !15;
    let mut words = vec![lists[0].len() as u64];
    words.extend(at.iter().map(|&at| if at == u64::MAX { 0 } else { base + at }));
    let (headers, count) = object.headers;
    let values = [headers + bias, 56, count, PAGE, object.entry + bias, base];
    words.extend(KEYS.iter().zip(values).flat_map(|(key, value)| [*key, value]));
    words.extend([0, 0]);
    let sp = base.checked_sub(8 * words.len() as u64)? & !15;
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    machine.write_memory(RAM + base, &strings).ok()?;
    machine.write_memory(RAM + sp, &bytes).ok()?;
    Some(sp)
}

fn get(machine: &Machine, at: u64, bytes: u64) -> Option<Vec<u8>> {
    if bytes == 0 {
        return Some(Vec::new());
    }
    let inside = at >= FIRST && at.checked_add(bytes)? <= machine.config().ram_bytes - RESERVED;
    inside.then(|| machine.read_memory(RAM + at, bytes).ok().map(<[u8]>::to_vec))?
}

/// 0, or the error.
fn put(machine: &mut Machine, at: u64, bytes: &[u8]) -> i64 {
    if bytes.is_empty() {
        return 0;
    }
    let end = at.checked_add(bytes.len() as u64);
    let inside = at >= FIRST && end.is_some_and(|end| end <= machine.config().ram_bytes - RESERVED);
    if inside && machine.write_memory(RAM + at, bytes).is_ok() { 0 } else { EFAULT }
}

fn text(machine: &Machine, at: u64) -> Option<String> {
    let mut bytes = Vec::new();
    loop {
        let byte = get(machine, at + bytes.len() as u64, 1)?[0];
        if byte == 0 || bytes.len() > 4096 {
            return Some(String::from_utf8_lossy(&bytes).into_owned());
        }
        bytes.push(byte);
    }
}

/// Seconds, and the rest in nanoseconds divided by `unit`: an instruction is a nanosecond, and the machine starts in 2026.
fn time(machine: &Machine, unit: u64) -> Vec<u8> {
    const START: u64 = 1_767_225_600;
    let ns = machine.elapsed();
    [START + ns / 1_000_000_000, ns % 1_000_000_000 / unit]
        .iter()
        .flat_map(|word| word.to_le_bytes())
        .collect()
}

/// `struct stat` of riscv64 (include/uapi/asm-generic/stat.h).
fn put_stat(machine: &mut Machine, at: u64, mode: u32, bytes: u64) -> i64 {
    let mut stat = vec![0; 128];
    stat[8..16].copy_from_slice(&1u64.to_le_bytes());
    stat[16..20].copy_from_slice(&mode.to_le_bytes());
    stat[20..24].copy_from_slice(&1u32.to_le_bytes());
    stat[48..56].copy_from_slice(&bytes.to_le_bytes());
    stat[56..60].copy_from_slice(&4096u32.to_le_bytes());
    stat[64..72].copy_from_slice(&bytes.div_ceil(512).to_le_bytes());
    put(machine, at, &stat)
}

/// `struct utsname`.
fn names() -> Vec<u8> {
    let fields = ["Linux", "tollgate", "6.12.0", "#1", "riscv64", ""];
    fields
        .iter()
        .flat_map(|field| {
            let mut bytes = field.as_bytes().to_vec();
            bytes.resize(65, 0);
            bytes
        })
        .collect()
}
