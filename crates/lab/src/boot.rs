//! Boots a real kernel on the embedded machine: its console, its input, and how it ends.

#[cfg(unix)]
mod files;
mod input;
#[cfg(unix)]
mod terminal;
mod until;

use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::mpsc::{RecvTimeoutError, TryRecvError};
use std::time::{Duration, Instant};

use tollgate_record::number::count;
use tollgate_record::text::printable;
use tollgate_riscv::{
    Boot, BootError, Config, ConfigError, Firmware, Isa, Machine, MachineKind, Observer, Privilege,
    SnapshotError, Step, Stop, Storage, Trap,
};

use crate::trace::FirstTrap;

#[cfg(unix)]
pub use files::{DriveFile, input};
pub use input::Input;
#[cfg(unix)]
pub use terminal::Terminal;
pub use until::Until;

/// A kernel to boot, and its machine.
#[derive(Clone, Debug)]
pub struct BootJob {
    /// The machine's instructions.
    pub isa: Isa,
    /// How many harts.
    pub harts: usize,
    /// Its RAM.
    pub ram_bytes: u64,
    /// The kernel's file.
    pub kernel: Vec<u8>,
    /// The firmware; if `None`, what the kernel needs.
    pub firmware: Option<Firmware>,
    /// The initial RAM disk's file.
    pub initrd: Option<Vec<u8>>,
    /// The kernel's command line.
    pub append: String,
    /// Whether there is a network device.
    pub network: bool,
    /// When to stop a kernel that does not end.
    pub max_instructions: u64,
}

/// Why a kernel was not booted, or not to its end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages describe the variants")]
pub enum KernelError {
    #[error("{0}")]
    Boot(#[from] BootError),
    #[error("{0}")]
    Machine(#[from] ConfigError),
    #[error("{0}")]
    Snapshot(#[from] SnapshotError),
    #[error("cannot write the kernel's output: {0}")]
    Output(#[from] io::Error),
}

/// How a boot ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BootEnding {
    /// The kernel switched the machine off, with this status.
    PoweredOff(i32),
    /// It asked for a reset.
    Rebooted,
    /// Its instructions were used up.
    Budget,
    /// It reached the point at which it was to be stopped.
    Reached,
    /// Somebody interrupted it.
    Interrupted,
    /// It waits for input, and there is no more.
    NoInput,
    /// It does nothing but trap; the first of these traps.
    Stuck(Trap),
    /// It is at an instruction that jumps to itself, and takes no interrupts; the pc.
    Caught(u64),
    /// It printed that it gives up, and nothing since.
    Panicked,
}

/// How a kernel ran.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BootOutcome {
    /// How it ended.
    pub ending: BootEnding,
    /// Instructions that retired, on all harts.
    pub instructions: u64,
    /// Simulated nanoseconds.
    pub simulated_ns: u64,
    /// How many harts there were.
    pub harts: usize,
    /// The last lines on the console.
    pub last_lines: Vec<String>,
}

impl BootOutcome {
    /// Whether the kernel switched the machine off by itself.
    pub fn is_success(&self) -> bool {
        matches!(self.ending, BootEnding::PoweredOff(0) | BootEnding::Rebooted)
    }

    /// How it ended and after how many instructions, as a sentence; the kernel's last lines follow if it failed.
    pub fn verdict(&self) -> String {
        let count = count(self.instructions);
        let ms = self.simulated_ns / 1_000_000;
        let harts = match self.harts {
            1 => String::new(),
            n => format!(" on {n} harts that took turns of 10,000 instructions"),
        };
        let after = format!("after {count} instructions{harts}, {ms} ms of simulated time");
        let what = match &self.ending {
            BootEnding::PoweredOff(0) => return format!("powered off {after}"),
            BootEnding::Rebooted => return format!("the kernel asked for a reboot {after}"),
            BootEnding::PoweredOff(status) => format!("the kernel ended with status {status} {after}"),
            BootEnding::Reached => return format!("stopped {after}"),
            BootEnding::Budget => {
                format!("stopped: the kernel has not ended {after}; --max-instructions gives it more")
            }
            BootEnding::Interrupted => format!("interrupted {after}"),
            BootEnding::NoInput => {
                format!("stopped {after}: the kernel waits, nothing can wake it, and the input has ended")
            }
            BootEnding::Stuck(Trap { cause, epc, tval, handler, .. }) => format!(
                "stopped {after}: {cause} at {epc:#x} (tval {tval:#x}), and the handler at {handler:#x} does nothing but trap \
                 again"
            ),
            BootEnding::Caught(pc) => format!(
                "stopped {after}: the instruction at {pc:#x} jumps to itself, and interrupts are disabled"
            ),
            BootEnding::Panicked => format!("stopped {after}: the kernel panicked"),
        };
        let mut text = what;
        if !self.last_lines.is_empty() {
            text.push_str("; the kernel's last lines:");
            for line in &self.last_lines {
                text.push_str("\n  ");
                text.push_str(line);
            }
        }
        text
    }
}

/// Steps between two looks at console and input: a few milliseconds.
const SLICE: u64 = 1 << 20;
/// Slices in which nothing retires, after which a guest counts as stuck.
const STUCK: u32 = 8;
/// Slices in which a kernel that gave up prints nothing and runs no program, after which it is believed.
const SILENT: u32 = 16;
/// The longest that an idle machine waits for input before it looks for an interruption.
const LOOK: Duration = Duration::from_millis(50);
const LAST_LINES: usize = 8;
const LAST_BYTES: usize = 4096;

/// A machine with a kernel, before its first instruction.
///
/// # Errors
/// A file that is not a kernel, or does not fit.
pub fn prepare(job: &BootJob, drive: Option<Box<dyn Storage>>) -> Result<Machine, KernelError> {
    let config = Config {
        isa: job.isa,
        machine: MachineKind::Virt,
        ram_bytes: job.ram_bytes,
        harts: job.harts,
        bootargs: job.append.clone(),
        // As QEMU does it, which kernels of its machine expect.
        misaligned: true,
        coherent_code: true,
        ..Config::default()
    };
    let mut machine = Machine::new(config)?;
    machine.boot(Boot {
        kernel: &job.kernel,
        firmware: job.firmware.clone(),
        initrd: job.initrd.as_deref(),
        drive,
        console: job.append.contains("console=hvc"),
        network: job.network,
        seed: 0,
    })?;
    Ok(machine)
}

/// An observer that also acts when the machine pauses.
pub(crate) trait Watching: Observer {
    /// Passes on what was collected.
    fn pause(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Watching for () {}

/// Runs a prepared machine until the kernel ends, it reaches `until`, its instructions are used up, or `interrupted`
/// says so.
///
/// # Errors
/// The console cannot be written.
pub fn run(
    machine: &mut Machine,
    max_instructions: u64,
    until: Option<&Until>,
    input: &Input,
    console: &mut dyn Write,
    interrupted: &dyn Fn() -> bool,
) -> Result<BootOutcome, KernelError> {
    run_watched(machine, (max_instructions, until, &mut |_| true), input, console, interrupted, &mut ())
}

/// The most instructions, the point to stop at, and a closure to call there, which returns whether the machine stops.
pub type Limits<'a> = (u64, Option<&'a Until>, &'a mut dyn FnMut(&mut Machine) -> bool);

/// The same, watched.
pub(crate) fn run_watched<W: Watching>(
    machine: &mut Machine,
    (max_instructions, until, reached): Limits<'_>,
    input: &Input,
    console: &mut dyn Write,
    interrupted: &dyn Fn() -> bool,
    watch: &mut W,
) -> Result<BootOutcome, KernelError> {
    let pending = input.first.iter().copied().collect();
    let mut run = Run {
        left: max_instructions,
        until,
        found: false,
        pending,
        open: true,
        tail: Vec::new(),
        silent: None,
        first: FirstTrap::default(),
    };
    let ending = run.drive(machine, reached, input, console, interrupted, watch)?;
    let text = String::from_utf8_lossy(&run.tail).into_owned();
    let lines: Vec<String> = text
        .lines()
        .map(str::trim_end)
        .filter(|l| !l.is_empty())
        .map(|line| printable(line).into_owned())
        .collect();
    Ok(BootOutcome {
        ending,
        instructions: machine.instret(),
        simulated_ns: machine.elapsed(),
        harts: machine.config().harts,
        last_lines: lines[lines.len().saturating_sub(LAST_LINES)..].to_vec(),
    })
}

/// Steps until an instruction at an address is the next one; yields how it stopped, and after how many steps. (Only single
/// steps stop there exactly.)
fn step_to<O: Observer>(machine: &mut Machine, address: u64, budget: u64, watch: &mut O) -> (Stop, u64) {
    for steps in 0..budget {
        if machine.pc() == address {
            return (Stop::Budget, steps);
        }
        if let Step::Stopped(stop) = machine.step(watch) {
            return (stop, steps);
        }
    }
    (Stop::Budget, budget)
}

/// Whether a kernel printed that it gives up: Linux that does not reboot after it (kernel/panic.c), or xv6 (kernel/printf.c).
pub(crate) fn gave_up(console: &[u8]) -> bool {
    let text = String::from_utf8_lossy(console);
    text.lines().any(|line| line.contains("---[ end Kernel panic") || line.starts_with("panic: "))
}

struct Run<'a> {
    left: u64,
    until: Option<&'a Until>,
    /// Whether the text of `until` was printed.
    found: bool,
    /// Typed, and not yet accepted by the machine.
    pending: VecDeque<u8>,
    /// Whether more input may come.
    open: bool,
    tail: Vec<u8>,
    /// Slices since the kernel gave up.
    silent: Option<u32>,
    first: FirstTrap,
}

impl Run<'_> {
    fn drive<W: Watching>(
        &mut self,
        machine: &mut Machine,
        reached: &mut dyn FnMut(&mut Machine) -> bool,
        input: &Input,
        console: &mut dyn Write,
        interrupted: &dyn Fn() -> bool,
        watch: &mut W,
    ) -> Result<BootEnding, KernelError> {
        let mut without_progress = 0;
        loop {
            while self.open {
                match input.bytes.try_recv() {
                    Ok(bytes) => self.pending.extend(bytes),
                    Err(TryRecvError::Empty) => break,
                    Err(TryRecvError::Disconnected) => self.open = false,
                }
            }
            self.type_in(machine);
            let (instret, elapsed, began) = (machine.instret(), machine.elapsed(), Instant::now());
            let budget = self.until.map_or(SLICE, |until| until.ahead(machine)).min(SLICE).min(self.left);
            let (stop, steps) = match self.until {
                Some(&Until::Address(address)) => step_to(machine, address, budget, watch),
                _ => (machine.run(budget, &mut (&mut self.first, &mut *watch)), budget),
            };
            self.left -= steps;
            watch.pause()?;
            self.show(machine, console)?;
            if self.found || self.until.is_some_and(|until| until.is_reached(machine)) {
                if reached(machine) {
                    return Ok(BootEnding::Reached);
                }
                (self.until, self.found) = (None, false);
            }
            if interrupted() {
                return Ok(BootEnding::Interrupted);
            }
            let retired = machine.instret() - instret;
            without_progress =
                if retired == 0 && machine.elapsed() == elapsed { without_progress + 1 } else { 0 };
            self.silent =
                self.silent.filter(|_| machine.privilege() != Privilege::User).map(|slices| slices + 1);
            match stop {
                Stop::Exit { code } => return Ok(BootEnding::PoweredOff(code)),
                Stop::Reboot => return Ok(BootEnding::Rebooted),
                Stop::Idle if self.open => self.wait(input, LOOK),
                Stop::Idle if self.pending.is_empty() => return Ok(BootEnding::NoInput),
                _ if self.left == 0 => return Ok(BootEnding::Budget),
                _ if machine.is_caught() => return Ok(BootEnding::Caught(machine.pc())),
                _ if self.silent >= Some(SILENT) => return Ok(BootEnding::Panicked),
                _ if without_progress >= STUCK => match self.first.first {
                    Some(trap) => return Ok(BootEnding::Stuck(trap)),
                    // It waits for another hart.
                    None => without_progress = 0,
                },
                _ => {}
            }
            // Most of the slice was skipped by waiting: a person would see timers run ahead.
            let simulated = Duration::from_nanos(machine.elapsed().wrapping_sub(elapsed));
            if input.person && self.open && simulated > Duration::from_nanos(2 * retired) {
                self.wait(input, simulated.saturating_sub(began.elapsed()).min(LOOK));
            }
        }
    }

    /// Passes on as many typed bytes as the machine has room for.
    fn type_in(&mut self, machine: &mut Machine) {
        if !self.pending.is_empty() {
            let taken = machine.type_in(self.pending.make_contiguous());
            self.pending.drain(..taken);
        }
    }

    /// Waits for something typed.
    fn wait(&mut self, input: &Input, longest: Duration) {
        match input.bytes.recv_timeout(longest) {
            Ok(bytes) => self.pending.extend(bytes),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => self.open = false,
        }
    }

    fn show(&mut self, machine: &mut Machine, console: &mut dyn Write) -> io::Result<()> {
        let written = machine.take_console();
        if written.is_empty() {
            return Ok(());
        }
        if let Some(Until::Text(text)) = self.until {
            let seen = [&self.tail[self.tail.len().saturating_sub(text.len())..], &written].concat();
            self.found |= seen.windows(text.len()).any(|found| found == text.as_bytes());
        }
        self.tail.extend(&written[written.len().saturating_sub(LAST_BYTES)..]);
        self.tail.drain(..self.tail.len().saturating_sub(LAST_BYTES));
        self.silent = gave_up(&self.tail).then_some(0);
        console.write_all(&written)?;
        console.flush()
    }
}
