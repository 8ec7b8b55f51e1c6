//! A program inside Linux: the first process of ours asks the machine for its files, starts it, and says how it ended.
//!
//! `guests/riscv/programs/exec_init.c` is that process. Its calls are semihosting calls with numbers of our own, at which the
//! machine stops: they take no instruction of the kernel, and the machine is at an exact place.

use std::ops::ControlFlow::{Break, Continue};
use std::time::Instant;

use tollgate_riscv::{Aside, Boot, Config, Firmware, Isa, Machine, MachineKind, Stop, aside};

use super::code::{Code, PAGE};
use super::job::{Ended, ExecError, ExecJob, Limits, Outcome, PassOn, Ran, TASK_BYTES};
use super::tree::Rooted;
use super::watch::Watch;
use crate::boot::{self, KernelError};
use crate::initramfs::Archive;
use crate::kernel::{self, Rules, kallsyms};
use crate::tier::Tier;

/// The first process.
static INIT: &[u8] = include_bytes!("../../guests/riscv/images/exec-init.elf");

/// The calls of the first process.
const READY: u64 = 0x100;
const FETCH: u64 = 0x101;
const BEGIN: u64 = 0x102;
const ENDED: u64 = 0x103;
const OUTPUT: u64 = 0x104;
const FAILED: u64 = 0x105;
const DONE: u64 = 0x106;

const RAM: u64 = 0x8000_0000;
/// The most instructions of a boot, and of what the first process does before and after the program.
const BOOT: u64 = 20_000_000_000;
const BEFORE: u64 = 20_000_000_000;
const AFTER: u64 = 4_000_000_000;
/// Bytes of the kernel's lines that are kept.
const CONSOLE: usize = 64 << 10;
/// Slices of a boot in which nothing retires, after which it does not go on.
const STUCK: u32 = 8;
/// Steps between two looks at budget and interruption.
const SLICE: u64 = 1 << 20;
/// Slices between two looks at the number of tasks.
const SLICES: u32 = 64;
/// Simulated nanoseconds in which a program only waits, after which nothing will wake it.
const LONGEST_WAIT: u64 = 300_000_000_000;
/// The kernel's command line: quiet, without the self-tests of its cryptography, and it ends when it panics.
const APPEND: &str = "console=ttyS0 rdinit=/init quiet cryptomgr.notests panic=-1";
const STVEC: u16 = 0x105;

/// A Linux whose first process is ready.
pub struct Ready {
    machine: Machine,
    symbols: Vec<kallsyms::Symbol>,
    rules: Rules,
    /// The kernel's name, as `linux-6.12.5`.
    pub(super) kernel: String,
}

/// What to boot.
pub struct Linux<'a> {
    /// Linux's `Image`.
    pub image: &'a [u8],
    /// The contents of `System.map`; if `None`, the image's own symbols count.
    pub map: Option<&'a str>,
    /// The rules of phases; if `None`, those of Linux.
    pub rules: Option<Rules>,
    /// The machine's instructions.
    pub isa: Isa,
    /// Its RAM.
    pub ram_bytes: u64,
    /// How many harts it has, at most 8. They take turns.
    pub harts: usize,
    /// Seed of all that is random in the machine.
    pub seed: u64,
}

impl Ready {
    /// Boots a kernel until its first process asks for a program.
    ///
    /// # Errors
    /// A file that is not a kernel, or one that does not start the process.
    pub fn boot(linux: Linux<'_>, interrupted: &dyn Fn() -> bool) -> Result<Self, ExecError> {
        let Linux { image, map, rules, isa, ram_bytes, harts, seed } = linux;
        let config = Config {
            isa,
            machine: MachineKind::Virt,
            ram_bytes,
            harts,
            bootargs: APPEND.into(),
            misaligned: true,
            coherent_code: true,
            ..Config::default()
        };
        let mut machine = Machine::new(config).map_err(KernelError::from)?;
        // (Auto refuses nothing; the counts are the same without translations.)
        _ = Tier::Auto.prepare(&mut machine);
        let initrd = archive().map_err(KernelError::Output)?;
        machine
            .boot(Boot {
                kernel: image,
                firmware: Some(Firmware::BuiltIn),
                initrd: Some(&initrd),
                drive: None,
                console: false,
                network: false,
                seed,
            })
            .map_err(KernelError::from)?;
        machine.semihost();
        let symbols = kernel::symbols(image, map)?;
        let rules = kernel::rules_for(rules, &symbols)?;
        let mut console = Vec::new();
        let mut without_progress = 0;
        for _ in 0..BOOT / SLICE {
            let before = (machine.instret(), machine.elapsed());
            match machine.run(SLICE, &mut ()) {
                Stop::Semihosting { call: READY } => {
                    return Ok(Self { machine, symbols, rules, kernel: kernel::version(image) });
                }
                // A jump to itself, or traps whose handler traps.
                Stop::Budget if machine.is_caught() || without_progress == STUCK => break,
                Stop::Budget if interrupted() => return Err(ExecError::Interrupted),
                Stop::Budget => {}
                _ => break,
            }
            let is_stuck = (machine.instret(), machine.elapsed()) == before;
            without_progress = if is_stuck { without_progress + 1 } else { 0 };
            console.extend(machine.take_console());
            if boot::gave_up(&console) {
                break;
            }
        }
        console.extend(machine.take_console());
        Err(ExecError::NoProcess(kernel::last_lines(&console)))
    }

    /// Continues a machine that was [saved](Self::save).
    ///
    /// # Errors
    /// What is not a snapshot, or one of another machine.
    pub fn restore(
        snapshot: &[u8],
        map: Option<&str>,
        rules: Option<Rules>,
        most_bytes: u64,
    ) -> Result<Self, ExecError> {
        let mut machine = Machine::restore_within(most_bytes, snapshot, None).map_err(KernelError::from)?;
        _ = Tier::Auto.prepare(&mut machine);
        machine.semihost();
        if machine.run(1, &mut ()) != (Stop::Semihosting { call: READY }) {
            return Err(ExecError::NotReady);
        }
        let bytes = kernel::IMAGE_BYTES.min(machine.config().ram_bytes.saturating_sub(kernel::IMAGE - RAM));
        let image = machine.read_memory(kernel::IMAGE, bytes).unwrap_or_default();
        let symbols = kernel::symbols(image, map)?;
        let rules = kernel::rules_for(rules, &symbols)?;
        Ok(Self { kernel: kernel::version(image), symbols, rules, machine })
    }

    /// The machine as a file.
    ///
    /// # Errors
    /// Those of [`Machine::save`].
    pub fn save(&mut self) -> Result<Vec<u8>, ExecError> {
        Ok(self.machine.save().map_err(KernelError::from)?)
    }

    /// Starts the program and watches it until its end.
    pub(super) fn run(
        mut self,
        rooted: &Rooted,
        words: &[u8],
        job: &ExecJob,
        limits: &Limits<'_>,
    ) -> Result<Ran, ExecError> {
        let harts = self.machine.config().harts;
        if harts > 1 && job.views.drmemtrace.is_some() {
            return Err(ExecError::Harts(harts));
        }
        let archive = rooted.tree.archive().map_err(KernelError::Output)?;
        let mut sources = [&archive[..], words, &job.input[..]];
        let machine = &mut self.machine;
        let mut console = Vec::new();
        machine.answer_semihosting(0);
        let before = Limits { instructions: BEFORE, output: None, ..*limits };
        until(machine, &mut console, &before, |machine, call| match call {
            FETCH => {
                fetch(machine, &mut sources)?;
                Ok(false)
            }
            FAILED => Err(refused(machine, &rooted.program)),
            call => Ok(call == BEGIN),
        })?;
        let handler = machine.csr(STVEC).unwrap_or(0) & !3;
        let (code, init) = code(machine, &self.symbols, &self.rules, handler, rooted)?;
        let rules = Some(self.rules.clone());
        let mut watch = Watch::new(code, rules, Some(init), job.core.as_ref(), &machine.code(), harts)?;
        job.views.attach(&mut watch)?;
        machine.answer_semihosting(0);
        let before = machine.instret();
        let mut left = limits.instructions;
        let mut idle = 0;
        let mut stream = limits.output.map(Stream::new);
        let most_tasks = machine.config().ram_bytes / TASK_BYTES;
        let mut some_slices = |watch: &mut Aside<Watch>| {
            for _ in 0..SLICES {
                let budget = SLICE.min(left);
                let (retired, elapsed) = (machine.instret(), machine.elapsed());
                let stop = machine.run(budget, watch);
                left -= budget;
                // An instruction takes a nanosecond, so it waited for most of the time.
                let (retired, elapsed) = (machine.instret() - retired, machine.elapsed() - elapsed);
                idle = if elapsed > 20 * retired { idle + elapsed } else { 0 };
                console.extend(machine.take_console());
                keep_last(&mut console);
                if let Some(stream) = stream.as_mut().filter(|_| stop == Stop::Budget) {
                    stream.look(machine, &rooted.program);
                }
                let outcome = match stop {
                    Stop::Budget if (limits.interrupted)() => Outcome::Interrupted,
                    Stop::Budget if left == 0 => Outcome::Budget,
                    Stop::Budget if idle > LONGEST_WAIT => Outcome::Waits,
                    Stop::Budget if boot::gave_up(&console) => Outcome::KernelEnded,
                    Stop::Budget => continue,
                    Stop::Semihosting { .. } => return Break(None),
                    Stop::Idle => Outcome::Waits,
                    _ => Outcome::KernelEnded,
                };
                return Break(Some(outcome));
            }
            Continue(())
        };
        let stop = loop {
            // The observer lags behind the machine, and has seen everything here: so the same program stops at the same place.
            match aside(&mut watch, &mut some_slices) {
                Break(stop) => break stop,
                Continue(()) if watch.alive() > most_tasks => break Some(Outcome::Tasks(watch.alive())),
                Continue(()) => {}
            }
        };
        let instructions = machine.instret() - before;
        let mut ran = Ran::new(watch, instructions);
        if stop == Some(Outcome::KernelEnded) {
            return Err(ExecError::KernelEnded(kernel::last_lines(&console)));
        }
        let mut end = End::default();
        if stop.is_some() {
            end.interrupt(machine, &mut console, &rooted.program).ok();
        } else {
            // The call at which the watched run has stopped.
            let call = stopped_at(machine);
            if !end.handle(machine, call, &rooted.program)? {
                machine.answer_semihosting(0);
                end.finish(machine, &mut console, &rooted.program)?;
            }
        }
        let End { status, mut output } = end;
        ran.ended = match (stop, status) {
            (Some(outcome), _) => Ended::Stopped(outcome),
            (None, Some(status)) => Ended::of_wait(status),
            (None, None) => return Err(ExecError::KernelEnded(kernel::last_lines(&console))),
        };
        if let Some(stream) = stream {
            for (text, passed) in output.iter_mut().zip(stream.passed) {
                text.drain(..passed.min(text.len()));
            }
        }
        [ran.output, ran.errors] = output;
        // What was typed is not a line of the guest.
        let lines = kernel::last_lines(&console);
        let own: Vec<&str> = lines.lines().filter(|line| line.trim() != "^C").collect();
        ran.console = own.join("\n");
        ran.kernel = Some(self.kernel.clone());
        Ok(ran)
    }
}

/// What the first process reports of a program that has ended.
#[derive(Default)]
struct End {
    /// The status that `wait` gave it.
    status: Option<u64>,
    /// Standard output and standard error.
    output: [Vec<u8>; 2],
}

impl End {
    /// Does what a call of the first process asks for; whether it is the last one.
    fn handle(&mut self, machine: &Machine, call: u64, program: &str) -> Result<bool, ExecError> {
        let block = machine.x(11);
        match call {
            FAILED => return Err(refused(machine, program)),
            ENDED => self.status = word(machine, block, 0),
            OUTPUT => {
                let [file, at, bytes] = [0, 1, 2].map(|n| word(machine, block, n).unwrap_or(0));
                let text = read(machine, at, bytes).unwrap_or_default();
                self.output[usize::from(file == 2)].extend(text);
            }
            call => return Ok(call == DONE),
        }
        Ok(false)
    }

    /// Runs the first process to its end.
    fn finish(
        &mut self,
        machine: &mut Machine,
        console: &mut Vec<u8>,
        program: &str,
    ) -> Result<(), ExecError> {
        let limits = Limits { instructions: AFTER, interrupted: &|| false, output: None };
        until(machine, console, &limits, |machine, call| self.handle(machine, call, program))
    }

    /// Ends the program by ^C, at which the first process kills it and reports its output.
    fn interrupt(
        &mut self,
        machine: &mut Machine,
        console: &mut Vec<u8>,
        program: &str,
    ) -> Result<(), ExecError> {
        machine.type_in(&[3]);
        self.finish(machine, console, program)
    }
}

/// Passes on the output of a program that still runs. The first process reports it only when the program has ended, because
/// to report it earlier would take time of the hart; so the program is ended in a copy of the machine.
struct Stream<'a> {
    pass_on: PassOn<'a>,
    /// Bytes of each output that were passed on.
    passed: [usize; 2],
    next: Instant,
}

impl<'a> Stream<'a> {
    fn new(pass_on: PassOn<'a>) -> Self {
        Self { pass_on, passed: [0; 2], next: Instant::now() + pass_on.every }
    }

    /// Looks for new output, if it is time to.
    fn look(&mut self, machine: &mut Machine, program: &str) {
        let start = Instant::now();
        if start < self.next {
            return;
        }
        if let Some(output) = written(machine, program) {
            for (file, text) in output.iter().enumerate() {
                if let Some(new) = text.get(self.passed[file]..).filter(|new| !new.is_empty()) {
                    (self.pass_on.to)(file, new);
                    self.passed[file] = text.len();
                }
            }
        }
        // Copies take at most a twentieth of the time.
        self.next = Instant::now() + self.pass_on.every.max(20 * start.elapsed());
    }
}

/// What the program has written until now.
fn written(machine: &mut Machine, program: &str) -> Option<[Vec<u8>; 2]> {
    let copy = machine.save().ok()?;
    let mut copy = Machine::restore(&copy, None).ok()?;
    copy.semihost();
    let mut end = End::default();
    end.interrupt(&mut copy, &mut Vec::new(), program).ok()?;
    Some(end.output)
}

/// Drops what is too old to be among the last lines.
fn keep_last(console: &mut Vec<u8>) {
    if console.len() > 2 * CONSOLE {
        console.drain(..console.len() - CONSOLE);
    }
}

/// An initial RAM disk with the first process.
fn archive() -> std::io::Result<Vec<u8>> {
    let mut archive = Archive::new(Vec::new());
    archive.directory("dev")?;
    archive.device("dev/console", [5, 1])?;
    archive.file("init", 0o755, INIT)?;
    archive.finish()
}

/// The call at which the machine stopped.
fn stopped_at(machine: &mut Machine) -> u64 {
    match machine.run(1, &mut ()) {
        Stop::Semihosting { call } => call,
        _ => 0,
    }
}

/// Runs until a call of which `handle` says that it is the last one.
fn until(
    machine: &mut Machine,
    console: &mut Vec<u8>,
    limits: &Limits<'_>,
    mut handle: impl FnMut(&mut Machine, u64) -> Result<bool, ExecError>,
) -> Result<(), ExecError> {
    for _ in 0..limits.instructions / SLICE {
        let stop = machine.run(SLICE, &mut ());
        console.extend(machine.take_console());
        keep_last(console);
        match stop {
            Stop::Semihosting { call } => {
                if handle(machine, call)? {
                    return Ok(());
                }
                machine.answer_semihosting(machine.x(10));
            }
            Stop::Budget if (limits.interrupted)() => return Err(ExecError::Interrupted),
            Stop::Budget => {}
            _ => break,
        }
    }
    Err(ExecError::KernelEnded(kernel::last_lines(console)))
}

/// Passes on the next bytes of a source; the result is their number.
fn fetch(machine: &mut Machine, sources: &mut [&[u8]; 3]) -> Result<(), ExecError> {
    let block = machine.x(11);
    let [what, at, bytes] = [0, 1, 2].map(|n| word(machine, block, n).unwrap_or(u64::MAX));
    let source = sources.get_mut(what as usize).ok_or(ExecError::NotReady)?;
    let (now, rest) = source.split_at(source.len().min(bytes as usize));
    write(machine, at, now).ok_or(ExecError::NotReady)?;
    *source = rest;
    machine.set_x(10, now.len() as u64);
    Ok(())
}

/// The pieces of an area of the current address space that are in one page each: physical address and length.
fn pieces(machine: &Machine, at: u64, bytes: u64) -> Option<Vec<(u64, u64)>> {
    let mut pieces = Vec::new();
    let mut done = 0;
    while done < bytes {
        let va = at.wrapping_add(done);
        let here = (PAGE - va % PAGE).min(bytes - done);
        pieces.push((machine.translate(va)?, here));
        done += here;
    }
    Some(pieces)
}

fn read(machine: &Machine, at: u64, bytes: u64) -> Option<Vec<u8>> {
    let mut all = Vec::new();
    for (pa, bytes) in pieces(machine, at, bytes)? {
        all.extend(machine.read_memory(pa, bytes).ok()?);
    }
    Some(all)
}

fn write(machine: &mut Machine, at: u64, bytes: &[u8]) -> Option<()> {
    let mut rest = bytes;
    for (pa, length) in pieces(machine, at, bytes.len() as u64)? {
        let (here, behind) = rest.split_at(length as usize);
        machine.write_memory(pa, here).ok()?;
        rest = behind;
    }
    Some(())
}

fn word(machine: &Machine, block: u64, number: u64) -> Option<u64> {
    let bytes = read(machine, block.wrapping_add(8 * number), 8)?;
    Some(u64::from_le_bytes(bytes.try_into().ok()?))
}

/// Why the first process could not start the program.
fn refused(machine: &Machine, program: &str) -> ExecError {
    let block = machine.x(11);
    let [step, error] = [0, 1].map(|n| word(machine, block, n).unwrap_or(0));
    match (step, error) {
        (1, 12 | 28) => ExecError::NoRoom,
        (1, error) => ExecError::Unpack(error),
        (_, error) => ExecError::Refused { program: program.to_owned(), error },
    }
}

/// The code in memory: the kernel's, at the place that its trap handler tells, and that of all files.
fn code(
    machine: &Machine,
    symbols: &[kallsyms::Symbol],
    rules: &Rules,
    handler: u64,
    rooted: &Rooted,
) -> Result<(Code, u32), ExecError> {
    let entry = rules.entry(symbols).ok_or_else(|| kernel::BillError::NoEntry(rules.entry.clone()))?;
    let bias = handler.wrapping_sub(entry);
    let mut functions: Vec<(String, u64)> = symbols
        .iter()
        .cloned()
        .chain(rules.moved(symbols))
        .map(|(name, address)| (name, address.wrapping_add(bias)))
        .collect();
    // Of several names for one place the first one holds, or the one that the rules have for the entry.
    functions.sort_by_key(|(name, address)| (*address, *name != rules.entry));
    let first = functions.first().map_or(0, |first| first.1);
    let last = functions.last().map_or(first, |last| last.1);
    let mut code = Code::new(functions, kernel::IMAGE..kernel::IMAGE + last.wrapping_sub(first));
    let object = super::code::Object::parse(INIT).map_err(|_| ExecError::NotReady)?;
    let init = code.add(&object, Some("init"), false);
    let mut files = vec![(init, INIT)];
    for (path, object, loader) in &rooted.objects {
        let own = *path == rooted.program || rooted.tree.is_same(path, &rooted.program);
        let name = path.rsplit('/').next().filter(|_| !own);
        let number = code.add(object, name, *loader);
        files.extend(rooted.tree.file(path).map(|bytes| (number, bytes)));
    }
    let ram = machine.read_memory(RAM, machine.config().ram_bytes).unwrap_or_default();
    code.find(&files, ram, RAM);
    Ok((code, init))
}
