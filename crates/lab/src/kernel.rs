//! The bill of a crossing in a real kernel: a small first process of ours makes system calls, page faults, switches, and
//! the machine sees every instruction between the first trap and the last return.

mod crossings;
mod entry;
pub(crate) mod kallsyms;
mod probe;
mod rules;
mod sel4;
mod watch;
mod xv6;

use std::io;

use tollgate_cores::{Core, CoreError};
use tollgate_record::Measurement;
use tollgate_record::family::Caches;
use tollgate_record::text::printable;
use tollgate_riscv::{Elf, Firmware, Isa, Machine, Observer, Privilege, Stop, Trap};

use crate::boot::{self, BootJob, KernelError};
use crate::initramfs::Archive;
use crate::program::{self, Job, ProgramError};
use crossings::EVICTED;
pub use crossings::{CROSSINGS, Kind, System, crossing, known};
use entry::{What, entry_of};
pub use probe::{HEADER, Probe};
pub use rules::Rules;
use watch::{OnHart, Watch};

/// Makes the crossings: `guests/riscv/programs/probe.c`.
static PROBE: &[u8] = include_bytes!("../guests/riscv/images/probe.elf");
static PROBE_PK: &[u8] = include_bytes!("../guests/riscv/images/probe-pk.elf");
static PROBE_XV6: &[u8] = include_bytes!("../guests/riscv/images/probe-xv6.elf");
/// What it prints before it reads which ones.
const QUESTION: &[u8] = b"tollgate: which crossings?";
const RAM: u64 = 0x8000_0000;
const RAM_BYTES: u64 = 512 << 20;
/// As much as xv6 uses (PHYSTOP in kernel/memlayout.h).
const RAM_BYTES_XV6: u64 = 128 << 20;
const RAM_BYTES_PK: u64 = 128 << 20;
/// The bytes of the file that the program on riscv-pk reads one at a time.
const FILE_BYTES: usize = 4096;
/// Where Linux begins, and how much of the RAM behind may be its image.
pub(crate) const IMAGE: u64 = RAM + (2 << 20);
pub(crate) const IMAGE_BYTES: u64 = 128 << 20;
/// The most instructions of a boot of seL4, which takes a moment.
const BOOT_SEL4: u64 = 1 << 26;
/// Those of other boots, of the process's beginning, and of all crossings.
const BOOT: u64 = 20_000_000_000;
const BEGINNING: u64 = 1_000_000_000;
const WATCHED: u64 = 5_000_000_000;

/// What to count.
pub struct KernelJob {
    /// The crossings.
    pub crossings: Vec<&'static Kind>,
    /// The core whose cycles count.
    pub core: Option<Core>,
}

/// The files of a kernel.
#[derive(Default)]
pub struct Kernel {
    /// Linux's `Image`, or an ELF.
    pub image: Vec<u8>,
    /// The contents of `System.map`; if `None`, the image's own symbols count.
    pub map: Option<String>,
    /// The file system of xv6.
    pub drive: Option<Vec<u8>>,
    /// If `None`, those of the kernel whose trap handler is among the symbols.
    pub rules: Option<Rules>,
    /// The harts of its machine; 0 counts as 1.
    pub harts: usize,
    /// The first process; if `None`, ours.
    pub probe: Option<Probe>,
}

/// A machine whose first process waits for what it is to cross, and what is known of its kernel.
pub struct Ready {
    machine: Machine,
    symbols: Vec<kallsyms::Symbol>,
    rules: Rules,
    kernel: String,
    /// The name of a user's process, and where it began.
    probe: Option<(String, FirstCall)>,
}

/// Why there is no bill.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages describe the variants")]
pub enum BillError {
    #[error("{0}")]
    Kernel(#[from] KernelError),
    #[error("{0}")]
    Core(#[from] CoreError),
    #[error("{0}")]
    Program(#[from] ProgramError),
    #[error("no symbols in the image; give its System.map with --symbols")]
    NoSymbols,
    #[error("no line of it is an address, a letter and a name")]
    NotAMap,
    #[error("the symbols are not the kernel's: there is no {0}")]
    NoEntry(String),
    #[error("no rules are known for this kernel: give a file of rules with --rules")]
    NoRules,
    #[error("xv6 has its first process on a drive: give its file system, fs.img, with --drive")]
    NoDrive,
    #[error("interrupted before the kernel's first process was ready; nothing was measured")]
    Interrupted,
    #[error("only xv6 has its first process on a drive: leave --drive out")]
    Drive,
    #[error("not a file system of xv6 with a file init of {0} bytes or more in its root")]
    NotXv6(usize),
    #[error("a bill is of one hart, and only our first process of Linux stays on one: leave --harts out")]
    Harts,
    #[error("{0} needs another hart: boot the kernel with --harts {1}")]
    OneHart(&'static str, usize),
    #[error("this kernel boots in a moment, so its machine is not saved: leave --save out")]
    NotSaved,
    #[error(
        "seL4 refused a call of the root task (probe-sel4.c, line {line}: error {error}): build release 13 or later for RV64 and one \
         hart, without MCS scheduling"
    )]
    RootTask { line: u64, error: u64 },
    #[error(
        "seL4 did not start the root task: build it for one hart and a platform with RAM from {RAM:#x} on and at most 4 GiB, such as \
         spike; the kernel's last lines:\n{0}"
    )]
    NoRootTask(String),
    #[error("a saved machine is Linux's; boot this kernel with --kernel")]
    NotLinux,
    #[error("'{0}' is not a crossing of this kernel's first process: give some of {1}, or all")]
    NoSuchCrossing(String, String),
    #[error("the kernel did not start the first process; its last lines:\n{0}")]
    NoProcess(String),
    #[error(
        "the machine does not wait for the crossings to make; save one that does by \
         `tollgate riscv bill --kernel Image --save FILE`"
    )]
    NotAsking,
    #[error("the first process did not make its crossings '{0}'; the kernel's last lines:\n{1}")]
    NoCrossings(&'static str, String),
    #[error("not a static program for Linux on RISC-V: {0}")]
    Probe(String),
    #[error("a first process of your own runs on Linux only: leave --probe out")]
    ProbeOnLinux,
    #[error(
        "it marked no crossing with a trap in it: include crossing.h, and write CROSSING_BEGINS(1) before and CROSSING_ENDS() \
         behind what is to be billed"
    )]
    NoMarks,
    #[error("it ended {0}; the kernel's last lines:\n{1}")]
    ProbeEnded(String, String),
    #[error("the instructions of a crossing do not add up: {counted} by function, {retired} by the counter")]
    Sum { counted: u64, retired: u64 },
}

impl Ready {
    /// Boots a kernel until its first process waits.
    ///
    /// # Errors
    /// A kernel that does not start the process, or whose symbols or rules are not known.
    pub fn boot(kernel: Kernel, isa: Isa, interrupted: &dyn Fn() -> bool) -> Result<Self, BillError> {
        let Kernel { image, map, drive, rules, harts, probe } = kernel;
        let symbols = symbols(&image, map.as_deref())?;
        let rules = rules_for(rules, &symbols)?;
        if let Some(probe) = &probe {
            if rules.system != System::Linux {
                return Err(BillError::ProbeOnLinux);
            }
            if harts > 1 {
                return Err(BillError::Harts);
            }
            probe.check().map_err(BillError::Probe)?;
        }
        let drive = match (rules.system, drive) {
            (System::Linux | System::Pk | System::Sel4, Some(_)) => return Err(BillError::Drive),
            (System::Xv6 | System::Pk | System::Sel4, _) if harts > 1 => return Err(BillError::Harts),
            (System::Linux | System::Pk | System::Sel4, None) => None,
            (System::Xv6, None) => return Err(BillError::NoDrive),
            (System::Xv6, Some(mut drive)) => {
                xv6::install(&mut drive, PROBE_XV6).ok_or(BillError::NotXv6(PROBE_XV6.len()))?;
                Some(drive)
            }
        };
        if rules.system == System::Sel4 {
            let machine = rooted(sel4::prepare(image, isa)?, interrupted)?;
            return Ok(Self { machine, symbols, rules, kernel: "seL4".into(), probe: None });
        }
        if rules.system == System::Pk {
            let machine = asking(proxied(image, isa)?, interrupted)?;
            return Ok(Self { machine, symbols, rules, kernel: "riscv-pk".into(), probe: None });
        }
        let storage = || drive.clone().map(|drive| Box::new(drive) as _);
        let is_linux = rules.system == System::Linux;
        let name = if is_linux { version(&image) } else { "xv6".into() };
        let init = probe.as_ref().map_or(PROBE, |probe| &probe.program);
        let mut machine = boot::prepare(
            &BootJob {
                isa,
                harts: harts.max(1),
                ram_bytes: if is_linux { RAM_BYTES } else { RAM_BYTES_XV6 },
                kernel: image,
                firmware: is_linux.then_some(Firmware::BuiltIn),
                initrd: is_linux.then(|| archive(init)).transpose().map_err(KernelError::Output)?,
                // Without the self-tests of its cryptography, which would run beside the crossings.
                append: if is_linux {
                    "console=ttyS0 rdinit=/init cryptomgr.notests".into()
                } else {
                    String::new()
                },
                network: false,
                max_instructions: 0,
            },
            storage(),
        )?;
        let probe = match probe {
            Some(probe) => Some((probe.name, begun(&mut machine, interrupted)?)),
            None => {
                machine = asking(machine, interrupted)?;
                // xv6 does nothing in the background, and its scheduler never waits.
                if is_linux {
                    settle(&mut machine);
                }
                None
            }
        };
        // As a restored machine begins, with no translations that a core's model has not seen.
        let snapshot = machine.save().map_err(KernelError::from)?;
        let machine = Machine::restore(&snapshot, storage()).map_err(KernelError::from)?;
        Ok(Self { machine, symbols, rules, kernel: name, probe })
    }

    /// Continues a machine with Linux that was [saved](Self::save).
    ///
    /// # Errors
    /// What is not a snapshot, or one of a kernel without symbols.
    pub fn restore(snapshot: &[u8], map: Option<&str>, rules: Option<Rules>) -> Result<Self, BillError> {
        let machine = Machine::restore_within(RAM_BYTES, snapshot, None).map_err(KernelError::from)?;
        let bytes = IMAGE_BYTES.min(machine.config().ram_bytes.saturating_sub(IMAGE - RAM));
        let image = machine.read_memory(IMAGE, bytes).unwrap_or_default();
        let symbols = symbols(image, map)?;
        let rules = rules_for(rules, &symbols)?;
        if rules.system != System::Linux {
            return Err(BillError::NotLinux);
        }
        Ok(Self { symbols, rules, kernel: version(image), machine, probe: None })
    }

    /// What its first process can cross, if there are harts enough.
    pub fn crossings(&self) -> &'static [Kind] {
        self.rules.system.crossings()
    }

    /// The harts of its machine.
    pub fn harts(&self) -> usize {
        self.machine.config().harts
    }

    /// The machine as a file.
    ///
    /// # Errors
    /// Those of [`Machine::save`], or the kernel is xv6.
    pub fn save(&mut self) -> Result<Vec<u8>, BillError> {
        if self.rules.system != System::Linux {
            return Err(BillError::NotSaved);
        }
        Ok(self.machine.save().map_err(KernelError::from)?)
    }

    /// Lets the process make its crossings, and bills them: each with warm caches and, with a core, after they were evicted.
    /// Interrupted, it bills those that were made until then. A process of the user's makes all of its own, warm.
    ///
    /// # Errors
    /// A process that does not make them, or symbols that are not the kernel's.
    pub fn measure(
        mut self,
        job: &KernelJob,
        interrupted: &dyn Fn() -> bool,
    ) -> Result<Vec<Measurement>, BillError> {
        let rules = self.rules;
        let system = rules.system;
        let harts = self.machine.config().harts;
        if let Some(kind) = job.crossings.iter().find(|kind| kind.harts > harts) {
            return Err(BillError::OneHart(kind.name, kind.harts));
        }
        let entry = rules.entry(&self.symbols).ok_or_else(|| BillError::NoEntry(rules.entry.clone()))?;
        let marks: Vec<String> = job.crossings.iter().map(|kind| kind.mark().to_string()).collect();
        let line = format!("{}\n", marks.join(" "));

        let begun = self.probe.as_ref().map(|(_, first)| first.clone());
        let mut first = begun.unwrap_or_else(|| FirstCall::new(Some(system.first_call())));
        let mut console = Vec::new();
        let machine = &mut self.machine;
        if system == System::Sel4 {
            sel4::ask(machine, job.crossings.iter().map(|kind| kind.mark()))?;
        }
        // In short pieces: the crossings begin a moment after the first call.
        let begins = |first: &FirstCall, _: &[u8]| first.handler.is_some();
        if first.handler.is_none()
            && !run(machine, BEGINNING, 1 << 14, &mut first, &mut console, line.as_bytes(), begins)
        {
            return Err(BillError::NotAsking);
        }
        let bias = first.handler.unwrap_or_default().wrapping_sub(entry);
        let moved = rules.moved(&self.symbols);
        let symbols = self.symbols.into_iter().chain(moved);
        let symbols = symbols.map(|(name, address)| (name, address.wrapping_add(bias))).collect();
        let watch = Watch::new(symbols, rules, job.core.as_ref(), &machine.code(), self.probe.is_some())?;
        let mut watch = OnHart::new(first.hart, watch);
        run(machine, WATCHED, 1 << 20, &mut watch, &mut console, &[], |on, console| {
            on.watch.done || boot::gave_up(console) || interrupted()
        });
        let watch = watch.watch;

        if let Some((counted, retired)) = watch.wrong {
            return Err(BillError::Sum { counted, retired });
        }
        let isa = machine.config().isa.to_string();
        if let Some((name, _)) = &self.probe {
            if let Some(how) = probe::failure(&console) {
                return Err(BillError::ProbeEnded(how, last_lines(&console)));
            }
            let bills = probe::bills(job.core.as_ref(), name, (&self.kernel, &isa), &watch);
            return if bills.is_empty() && !interrupted() { Err(BillError::NoMarks) } else { Ok(bills) };
        }
        let mut results = Vec::new();
        for &kind in &job.crossings {
            let found = watch.crossings.get(&kind.mark()).map_or(&[][..], Vec::as_slice);
            let evicted = if kind.interrupt.is_none() { EVICTED } else { 0 };
            let missing = || BillError::NoCrossings(kind.name, last_lines(&console));
            if found.len() < kind.warm + evicted && interrupted() {
                continue;
            }
            let warm = found.len().checked_sub(evicted).filter(|&warm| warm >= kind.warm);
            let (warm, evicted) = found.split_at(warm.ok_or_else(missing)?);
            // The first half warms the caches.
            let warm = &warm[warm.len() / 2..];
            let beside = if harts > 1 { format!("; one of {harts} harts") } else { String::new() };
            let about = |caches| match caches {
                Caches::Warm => format!("{}; warm, the median one{beside}", kind.about),
                _ => {
                    format!(
                        "{}; after the program read {}, the median one{beside}",
                        kind.about,
                        system.evicts()
                    )
                }
            };
            let entry = |caches, bills| {
                let what = What { name: kind.name, per: kind.per, call: kind.call };
                entry_of(job.core.as_ref(), &self.kernel, &isa, &what, (caches, about(caches)), bills, &watch)
            };
            results.push(entry(Caches::Warm, warm).ok_or_else(missing)?);
            if job.core.is_some() && !evicted.is_empty() {
                results.extend(entry(Caches::Evicted, evicted));
            }
        }
        Ok(results)
    }
}

/// Runs until the process begins, and says on which hart and where the kernel takes its traps: its first page is mapped when
/// its first instruction traps.
fn begun(machine: &mut Machine, interrupted: &dyn Fn() -> bool) -> Result<FirstCall, BillError> {
    let (mut first, mut console) = (FirstCall::new(None), Vec::new());
    let ends = |first: &FirstCall, console: &[u8]| {
        first.handler.is_some() || boot::gave_up(console) || interrupted()
    };
    // In short pieces: its first crossing may come soon.
    run(machine, BOOT, 1 << 10, &mut first, &mut console, &[], ends);
    match first.handler {
        Some(_) => Ok(first),
        None if interrupted() => Err(BillError::Interrupted),
        None => Err(BillError::NoProcess(last_lines(&console))),
    }
}

/// The proxy kernel with the program that crosses, and the files that it opens.
fn proxied(image: Vec<u8>, isa: Isa) -> Result<Machine, BillError> {
    let job = Job {
        isa,
        ram_bytes: RAM_BYTES_PK,
        program: PROBE_PK.to_vec().into(),
        proxy_kernel: Some(image),
        arguments: vec!["/init".into()],
        files: vec![("/dev/zero".into(), vec![0; FILE_BYTES])],
        ..Job::default()
    };
    let mut machine = program::boot(&job)?.machine;
    machine.open_input();
    Ok(machine)
}

/// seL4, until the root task waits for what it is to cross.
fn rooted(mut machine: Machine, interrupted: &dyn Fn() -> bool) -> Result<Machine, BillError> {
    let mut first = FirstCall::new(Some(System::Sel4.first_call()));
    let mut console = Vec::new();
    let ends = |first: &FirstCall, _: &[u8]| first.handler.is_some() || interrupted();
    run(&mut machine, BOOT_SEL4, 1 << 16, &mut first, &mut console, &[], ends);
    match (first.handler, sel4::failure(&machine)?) {
        (None, _) if interrupted() => Err(BillError::Interrupted),
        (None, _) => Err(BillError::NoRootTask(last_lines(&console))),
        (Some(_), Some((line, error))) => Err(BillError::RootTask { line, error }),
        (Some(_), None) => Ok(machine),
    }
}

/// Runs until the first process asks.
fn asking(mut machine: Machine, interrupted: &dyn Fn() -> bool) -> Result<Machine, BillError> {
    let mut console = Vec::new();
    let asks = |console: &[u8]| console.windows(QUESTION.len()).any(|text| text == QUESTION);
    let ends = |(): &(), console: &[u8]| asks(console) || boot::gave_up(console) || interrupted();
    if !run(&mut machine, BOOT, 1 << 20, &mut (), &mut console, &[], ends) || !asks(&console) {
        let why =
            if interrupted() { BillError::Interrupted } else { BillError::NoProcess(last_lines(&console)) };
        return Err(why);
    }
    Ok(machine)
}

/// The symbols of an image, or of its map, in the order of their addresses.
pub(crate) fn symbols(image: &[u8], map: Option<&str>) -> Result<Vec<kallsyms::Symbol>, BillError> {
    match map {
        Some(map) => from_map(map).ok_or(BillError::NotAMap),
        None => match Elf::parse(image) {
            Ok(elf) if !elf.symbols.is_empty() => {
                Ok(elf.symbols.into_iter().map(|symbol| (symbol.name, symbol.address)).collect())
            }
            _ => kallsyms::read(image).ok_or(BillError::NoSymbols),
        },
    }
}

/// The rules that were given, or those that are known for a kernel with these symbols.
pub(crate) fn rules_for(given: Option<Rules>, symbols: &[kallsyms::Symbol]) -> Result<Rules, BillError> {
    let rules = given.or_else(|| Rules::detect(symbols)).ok_or(BillError::NoRules)?;
    match rules.entry(symbols) {
        Some(_) => Ok(rules),
        None => Err(BillError::NoEntry(rules.entry)),
    }
}

/// Lets the kernel finish what it does in the background after a boot, until the machine only waits.
fn settle(machine: &mut Machine) {
    for _ in 0..BOOT >> 20 {
        let (instret, elapsed) = (machine.instret(), machine.elapsed());
        let stop = machine.run(1 << 20, &mut ());
        // An instruction takes a nanosecond, so it waited for 99 % of the time.
        let waited = machine.elapsed() - elapsed > 100 * (machine.instret() - instret);
        if stop != Stop::Budget || waited {
            return;
        }
    }
}

/// Runs in slices until `done`, the end or the budget, and types in `typed` as the machine takes it; whether it is done.
fn run<O: Observer>(
    machine: &mut Machine,
    budget: u64,
    slice: u64,
    observer: &mut O,
    console: &mut Vec<u8>,
    mut typed: &[u8],
    done: impl Fn(&O, &[u8]) -> bool,
) -> bool {
    for _ in 0..budget / slice {
        if !typed.is_empty() {
            typed = &typed[machine.type_in(typed).min(typed.len())..];
        }
        let stop = machine.run(slice, observer);
        console.extend(machine.take_console());
        console.drain(..console.len().saturating_sub(4096));
        if done(observer, console) {
            return true;
        }
        if stop != Stop::Budget {
            return false;
        }
    }
    false
}

/// The last lines of a console, for a message; those from a panic on, which comes before the calls that led to it.
pub(crate) fn last_lines(console: &[u8]) -> String {
    let text = String::from_utf8_lossy(console).into_owned();
    let lines: Vec<String> = text
        .lines()
        .map(|line| printable(line.trim_end()).into_owned())
        .filter(|line| !line.is_empty())
        .collect();
    let panics = lines.iter().position(|line| line.contains("Kernel panic"));
    let from = panics.unwrap_or(lines.len().saturating_sub(8));
    let lines: Vec<String> = lines[from..].iter().take(8).map(|line| format!("  {line}")).collect();
    lines.join("\n")
}

/// Waits for the call that the process begins with.
#[derive(Clone)]
struct FirstCall {
    /// If `None`, any trap of the process.
    number: Option<u64>,
    /// Whose turn it is, until the call: whose it was.
    hart: usize,
    /// Where the kernel takes traps.
    handler: Option<u64>,
}

impl FirstCall {
    fn new(number: Option<u64>) -> Self {
        Self { number, hart: 0, handler: None }
    }
}

impl Observer for FirstCall {
    const TRAP: bool = true;

    fn hart(&mut self, hart: usize) {
        if self.handler.is_none() {
            self.hart = hart;
        }
    }

    fn trap(&mut self, trap: &Trap) {
        let is_it = self
            .number
            .is_none_or(|number| trap.cause.code() == 8 && !trap.cause.is_interrupt() && trap.a7 == number);
        if trap.from == Privilege::User && self.handler.is_none() && is_it {
            self.handler = Some(trap.handler);
        }
    }
}

/// An initial RAM disk with a first process.
fn archive(init: &[u8]) -> io::Result<Vec<u8>> {
    let mut archive = Archive::new(Vec::new());
    archive.directory("dev")?;
    for (path, number) in [("dev/console", [5, 1]), ("dev/null", [1, 3]), ("dev/zero", [1, 5])] {
        archive.device(path, number)?;
    }
    archive.file("init", 0o755, init)?;
    archive.finish()
}

/// The functions of a `System.map`.
pub(crate) fn from_map(text: &str) -> Option<Vec<kallsyms::Symbol>> {
    let line = |line: &str| {
        let mut words = line.split_whitespace();
        let address = u64::from_str_radix(words.next()?, 16).ok()?;
        let kind = words.next()?;
        matches!(kind, "t" | "T" | "w" | "W").then(|| Some((words.next()?.to_owned(), address)))?
    };
    let mut symbols: Vec<_> = text.lines().filter_map(line).collect();
    symbols.sort_by_key(|symbol| symbol.1);
    Some(symbols).filter(|symbols| !symbols.is_empty())
}

/// What the image calls itself, such as `linux-6.12.5`.
pub(crate) fn version(image: &[u8]) -> String {
    const BANNER: &[u8] = b"Linux version ";
    let at = image.windows(BANNER.len()).position(|window| window == BANNER);
    let rest = at.map_or(&[][..], |at| &image[at + BANNER.len()..]);
    let word: String =
        rest.iter().map(|&byte| char::from(byte)).take_while(char::is_ascii_graphic).take(64).collect();
    if word.is_empty() { "linux".into() } else { format!("linux-{word}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_map_is_read_as_far_as_it_is_one() {
        let map =
            "ffffffff80000000 T _start\nffffffff80000100 d data\nffffffff80000040 t helper\nnot a line\n";
        let found = from_map(map).unwrap();
        assert_eq!(
            found,
            [("_start".into(), 0xffff_ffff_8000_0000), ("helper".into(), 0xffff_ffff_8000_0040)]
        );
        assert_eq!(from_map("ffffffff80000000 B The_real_System.map_is_elsewhere"), None);
        assert_eq!(from_map(""), None);
    }

    #[test]
    fn the_archive_is_what_cpio_reads() {
        let Some(_) = tollgate_testkit::program("cpio") else {
            return tollgate_testkit::skip!("cpio is missing: apt-get install cpio");
        };
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("initrd");
        std::fs::write(&path, archive(PROBE).unwrap()).unwrap();
        let list = std::process::Command::new("cpio").args(["-itv", "-F"]).arg(&path).output().unwrap();
        let text = String::from_utf8_lossy(&list.stdout).into_owned();
        for expected in ["drwxr-xr-x", "crw-rw-rw-", "1,   5", "dev/zero", "-rwxr-xr-x", " init"] {
            assert!(text.contains(expected), "{expected}: {text}");
        }
        assert_eq!(text.lines().count(), 5, "{text}");
    }

    #[test]
    fn a_version_is_the_banner_s_third_word() {
        assert_eq!(version(b"\0\0Linux version 6.12.5-x (gcc)"), "linux-6.12.5-x");
        assert_eq!(version(b"nothing"), "linux");
    }
}
