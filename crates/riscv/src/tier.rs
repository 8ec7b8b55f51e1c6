//! A second tier for hot code: what a translator to host code receives and promises.
//!
//! The block engine samples itself: every so many instructions, the block that comes next counts one more. A block that was
//! met [`HOT`] times, or more often for some observers, is the entry of a [`Region`], which a [`Translator`] may translate. From then on the engine runs the
//! translation when execution arrives at the entry in a context in which it may run.
//!
//! A region depends on the bytes of one physical page and its virtual address, like a block. After everything that drops blocks,
//! a translation is compared with memory before it is used again. Whatever a translation cannot do, it leaves to the
//! interpreter, before the instruction.
//!
//! Translations are made for what an observer receives ([`Reports`]): a [`Counter`] accesses that are not quiet, an observer of
//! blocks runs of instructions and their accesses, as from the interpreter. Observers of single instructions do without
//! translations.

pub use crate::counter::{Counter, Kind, LineView, Passed, Quiet, Reported, Sight, View};
pub use crate::log::{LOG, Log, ROOM};

use std::collections::VecDeque;

use crate::alu::{
    carryless, deinterleave, div, div32, divu32, interleave, look_up, or_combine, rem, rem32, remu32,
    reverse_bytes_bits, sext32,
};
use crate::bus::Bus;
use crate::fold::Map;
use crate::fp::{Compare, F16, F32, F64, Fpu, NAN_BOX, NAN_BOX_HALF, Rounding, classify, sign_inject};
use crate::insn::{Insn, Op};
use crate::isa::Xlen;
use crate::jump::boxed;
use crate::log::LONGEST_BLOCK;
use crate::mmu::PAGE;
use crate::observer::BlockInsn;
use crate::privilege::Privilege;
use crate::table::instruction_table;

/// The most instructions in a region, and so the most that a translation retires between two checks of its limit.
pub const LARGEST_REGION: usize = 512;

/// The most in a region for an observer of runs: not many more than in the longest block. Its blocks overlap, and larger regions took
/// longer to translate than they gained.
pub(crate) const LARGEST_WITH_RUNS: usize = 128;
const _: () = assert!(LARGEST_WITH_RUNS >= LONGEST_BLOCK as usize && LARGEST_WITH_RUNS <= LARGEST_REGION);

/// Instructions from one sample of the block engine to the next.
pub const SAMPLE: u64 = 1 << 15;

/// Samples of a block after which it is the entry of a region. With two, what may be translated at a boot of Linux is used up by
/// code that is seldom executed.
pub const HOT: u8 = 4;

/// The same for an observer of runs: it takes longer over them than the machine, which gains less, and loses its translations more
/// often ([`Tier::move_places`]).
const HOT_WITH_RUNS: u8 = 8;

/// Instructions that may be translated at once, before samples have to pay: a translator takes as long for one as the engine for
/// some ten thousand, so code that is spread widely would cost more than it gains. A sample pays for one instruction.
const ADVANCE: i64 = 2048;

/// Regions that a translator may have begun at once.
const MOST_BEGUN: usize = 16;

/// Code to translate: instructions of one page that the entry leads to by branches and direct jumps.
#[derive(Clone, Debug)]
pub struct Region {
    /// The address of the first instruction.
    pub entry: u64,
    /// All of them, from each place to which one of them jumps. Each run has another first address.
    pub runs: Vec<Run>,
    /// The width of the registers. On RV32 they and addresses are sign-extended to 64 bits.
    pub xlen: Xlen,
    /// Bits that are zero in the address of every instruction of this machine. A jump to another address traps, and does not
    /// retire.
    pub target_mask: u64,
    /// The value of `frm` with which this may run; `None` if floating point is the interpreter's there.
    pub rounding: Option<u8>,
    /// Whether a translation may do misaligned accesses in a page.
    pub misaligned: bool,
    /// The physical address of RAM.
    pub ram_base: u64,
    /// The reports for the observer.
    pub reports: Reports,
}

impl Region {
    /// Its instructions; some may be in several runs.
    pub fn insns(&self) -> impl Iterator<Item = &BlockInsn> {
        self.runs.iter().flat_map(|run| &run.insns)
    }
}

/// Instructions one after the other: each is where the one before goes, unless that is a branch that is taken.
#[derive(Clone, Debug)]
pub struct Run {
    /// The place of the first one in the engine's memory; the others follow. Only for [`Reports::Runs`].
    pub place: u16,
    /// The instructions.
    pub insns: Vec<BlockInsn>,
}

/// The reports of translated code for an observer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reports {
    /// There is none.
    #[default]
    Nothing,
    /// How much retired, and accesses that are not quiet.
    Counts(Sight),
    /// Which runs of instructions retired, by a [`Log`].
    Runs {
        /// Also their accesses.
        accesses: bool,
        /// Also the operands of those that are [`Op::by_operands`].
        operands: bool,
    },
}

/// A page that loads, or stores, may go to.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct TlbEntry {
    /// The page's virtual address. An access of so many bytes matches if its address without the bits of the offset, but
    /// with those that must be zero for alignment, equals it.
    pub tag: u64,
    /// The addend that makes an address in the page an index of RAM.
    pub addend: u64,
}

/// Entries of a [`Tlb`].
pub const TLB_ENTRIES: usize = 1024;

/// The pages of one context, indexed by the lowest bits of the page number.
pub type Tlb = [TlbEntry; TLB_ENTRIES];

/// Where a translation begins: at an address in a context.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Start {
    /// The address.
    pub pc: u64,
    /// The context in which it may run.
    pub context: u32,
    /// The number that [`Translator::translate`] yielded.
    pub number: u32,
}

impl Start {
    /// No instruction has this address.
    const NOWHERE: Start = Start { pc: 1, context: 0, number: 0 };
}

/// Entries of [`Starts`].
pub const STARTS: usize = 1 << 14;

/// Translations, each at the place of its address: half of it, modulo the length.
pub type Starts = [Start; STARTS];

fn place(pc: u64) -> usize {
    (pc >> 1) as usize & (STARTS - 1)
}

/// The registers of a translation.
#[derive(Debug)]
pub struct Registers<'a> {
    /// The integer registers; the first 32 count, and register 0 is zero.
    pub x: &'a mut [u64; 256],
    /// The floating-point registers; the first 32 count.
    pub f: &'a mut [u64; 256],
    /// The floating-point flags.
    pub fflags: &'a mut u8,
    /// The physical address that `lr` has reserved.
    pub reservation: &'a mut Option<u64>,
    /// RAM.
    pub ram: &'a mut [u8],
    /// Where loads may go.
    pub loads: &'a Tlb,
    /// Where stores may go.
    pub stores: &'a Tlb,
    /// Where else a translation may go on, if the context matches.
    pub starts: &'a Starts,
    /// The context.
    pub context: u32,
    /// Instructions retired so far.
    pub retired: u64,
    /// A translation checks this on each backward jump and before it goes on in another one, and leaves if more have retired.
    pub limit: u64,
    /// The observer, if code was translated for one.
    pub observed: Option<Observed<'a>>,
}

/// The observer of a run of translations.
pub enum Observed<'a> {
    /// One that counts.
    Counter {
        /// The observer.
        counter: &'a mut dyn Counter,
        /// The mode.
        privilege: Privilege,
    },
    /// One that receives runs of instructions.
    Runs {
        /// An empty log.
        log: Log<'a>,
        /// Who it is for.
        receiver: &'a mut dyn Receiver,
    },
}

/// An observer that receives runs of instructions.
pub trait Receiver {
    /// Receives the log once so many instructions have retired: before more than [`ROOM`] and a run do since it did so before, and
    /// at the end.
    fn receive(&mut self, log: &Log<'_>, retired: u64);
}

impl std::fmt::Debug for Observed<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Observed::Counter { counter, privilege } => write!(f, "{:?} in {privilege:?}", counter.sight()),
            Observed::Runs { log, .. } => log.fmt(f),
        }
    }
}

/// How a translation was left: all instructions before `pc` retired, and no other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exit {
    /// The instruction that is next.
    pub pc: u64,
    /// Instructions retired, with those before the translation was entered.
    pub retired: u64,
    /// Whether the interpreter has to do the next instruction.
    pub interpret: bool,
}

/// The result of a translation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Translation {
    /// It is not translated.
    Refused,
    /// It is translated, and has this number.
    Ready(u16),
    /// [`Translator::finished`] will say.
    Later,
}

impl Translation {
    /// Its number, if it is translated.
    pub fn number(self) -> Option<u16> {
        match self {
            Translation::Ready(number) => Some(number),
            Translation::Refused | Translation::Later => None,
        }
    }
}

/// Makes host code of regions.
pub trait Translator {
    /// Translates a region, or begins to.
    fn translate(&mut self, region: Region) -> Translation;

    /// The result of the next region that was begun, in the order of [`translate`](Self::translate), if it is finished.
    fn finished(&mut self) -> Option<Translation> {
        None
    }

    /// Runs a translation from its entry, and then the translations that it jumps to. Does nothing and yields `None` if no translation
    /// has this number, or if RAM is smaller than a translation can check.
    fn run(&mut self, number: u16, registers: Registers<'_>) -> Option<Exit>;

    /// Whether there is no room for another translation until [`clear`](Self::clear).
    fn is_full(&self) -> bool;

    /// Drops all translations, and regions that were begun. None of their numbers is run again until it is yielded anew.
    fn clear(&mut self);
}

/// The state of a region.
struct Known {
    translation: Translation,
    /// The physical addresses and the bits of its instructions.
    code: Vec<(u64, u32)>,
    /// The time of [`Tier::doubts`] at which memory contained this code; `None` if its page was written since.
    checked: Option<u64>,
}

impl Known {
    /// Whether memory contains the code that was translated.
    fn is_current(&self, bus: &Bus) -> bool {
        let size = |word: u32| if word & 3 == 3 { 4 } else { 2 };
        self.code.iter().all(|&(pa, word)| bus.ram_read(pa, size(word)) == Some(word.into()))
    }
}

/// The translator with what is known of its code.
pub(crate) struct Tier {
    translator: Box<dyn Translator>,
    /// Instructions from one sample to the next.
    every: u64,
    /// Instructions retired at which the next one is due.
    pub(crate) due: u64,
    /// Translations by address and context, as `Arena::jumps` has blocks.
    pub(crate) starts: Box<Starts>,
    /// By the key of the entry's block.
    regions: Map<(u64, u64), Known>,
    /// Which regions were found in each physical page.
    pages: Map<u64, Vec<(u64, u64)>>,
    /// How often code may have changed.
    doubts: u64,
    samples: Map<(u64, u64), u8>,
    /// Regions that were begun, in that order.
    begun: VecDeque<(u64, u64)>,
    /// One that is translated since it was sampled.
    ready: Option<(u64, u64)>,
    /// Instructions that may be translated now; negative after a large region.
    credit: i64,
    /// For what observer code is translated.
    pub(crate) reports: Reports,
}

impl Tier {
    pub(crate) fn new(translator: Box<dyn Translator>, every: u64) -> Self {
        Self {
            translator,
            every,
            due: every,
            starts: boxed(Start::NOWHERE),
            regions: Map::default(),
            pages: Map::default(),
            doubts: 0,
            samples: Map::default(),
            begun: VecDeque::new(),
            ready: None,
            credit: ADVANCE,
            reports: Reports::Nothing,
        }
    }

    /// Translates for an observer that receives this, from now on.
    #[inline]
    pub(crate) fn translate_for(&mut self, reports: Reports) {
        if self.reports != reports {
            self.reports = reports;
            self.clear();
        }
    }

    /// The engine's memory of instructions is used anew: runs have other places.
    pub(crate) fn move_places(&mut self) {
        if matches!(self.reports, Reports::Runs { .. }) {
            self.clear();
        }
    }

    /// Forgets at which address in which context a translation begins.
    pub(crate) fn forget_starts(&mut self) {
        self.starts.fill(Start::NOWHERE);
    }

    /// Code may have changed: no region is entered before it has been compared with memory. (What was a start was one in a
    /// context that has ended.)
    pub(crate) fn doubt(&mut self) {
        self.doubts += 1;
    }

    /// The same of the code of one physical page, which may run on in the contexts that there are.
    pub(crate) fn doubt_page(&mut self, page: u64) {
        for key in self.pages.get(&page).into_iter().flatten() {
            if let Some(known) = self.regions.get_mut(key) {
                known.checked = None;
                self.starts[place(key.0)] = Start::NOWHERE;
            }
        }
    }

    pub(crate) fn clear(&mut self) {
        self.translator.clear();
        self.forget_starts();
        self.regions.clear();
        self.pages.clear();
        self.samples.clear();
        self.begun.clear();
        self.ready = None;
    }

    /// The translation at an address in a context.
    #[inline(always)]
    pub(crate) fn at(&self, pc: u64, context: u32) -> Option<u16> {
        let start = self.starts[place(pc)];
        (start.pc == pc && start.context == context).then_some(start.number as u16)
    }

    /// Enters the translation of a block that may run in a context; false if there is none.
    pub(crate) fn enter(&mut self, key: (u64, u64), context: u32, bus: &Bus) -> bool {
        let Some(known) = self.regions.get_mut(&key).filter(|known| known.translation != Translation::Later)
        else {
            return false;
        };
        if known.checked != Some(self.doubts) {
            if !known.is_current(bus) {
                self.regions.remove(&key);
                return false;
            }
            known.checked = Some(self.doubts);
        }
        let Some(number) = known.translation.number() else { return false };
        self.starts[place(key.0)] = Start { pc: key.0, context, number: number.into() };
        true
    }

    /// Counts a sample of the block with this key when `now` instructions have retired. The first time that the block is hot,
    /// translates the region that `region` finds.
    pub(crate) fn sample(&mut self, key: (u64, u64), now: u64, region: impl FnOnce() -> Option<Region>) {
        // The previous sample was due `every` instructions before this one, or earlier.
        let passed = 1 + now.saturating_sub(self.due) / self.every.max(1);
        self.credit = self.credit.saturating_add(passed as i64).min(ADVANCE);
        self.due = now.saturating_add(self.every);
        let samples = self.samples.entry(key).or_default();
        *samples = samples.saturating_add(1);
        let hot = if matches!(self.reports, Reports::Runs { .. }) { HOT_WITH_RUNS } else { HOT };
        // (What is known was compared with memory when its block was found.)
        let is_new = *samples >= hot && !self.regions.contains_key(&key);
        if !is_new || self.credit <= 0 || self.begun.len() >= MOST_BEGUN {
            return;
        }
        if self.translator.is_full() {
            self.clear();
        }
        let region = region();
        let page = key.1 & !(PAGE - 1);
        let insns = region.iter().flat_map(Region::insns);
        let code: Vec<_> = insns.map(|insn| (page | insn.pc & (PAGE - 1), insn.word)).collect();
        let length = code.len() as i64;
        let translation = region.map_or(Translation::Refused, |region| self.translator.translate(region));
        self.regions.insert(key, Known { translation, code, checked: Some(self.doubts) });
        let keys = self.pages.entry(page).or_default();
        if !keys.contains(&key) {
            keys.push(key);
        }
        if translation == Translation::Later {
            self.begun.push_back(key);
        } else {
            self.credit -= length;
            self.ready = translation.number().map(|_| key);
        }
    }

    /// The key of the next block that has a translation since it was sampled.
    pub(crate) fn finished(&mut self) -> Option<(u64, u64)> {
        while self.ready.is_none() && !self.begun.is_empty() {
            let translation = self.translator.finished()?;
            let key = self.begun.pop_front()?;
            if let Some(known) = self.regions.get_mut(&key) {
                known.translation = translation;
            }
            self.ready = translation.number().map(|_| key);
        }
        self.ready.take()
    }

    /// Runs a translation.
    #[inline]
    pub(crate) fn run<'a>(
        &'a mut self,
        number: u16,
        registers: impl FnOnce(&'a Starts) -> Registers<'a>,
    ) -> Option<Exit> {
        self.translator.run(number, registers(&self.starts))
    }
}

/// The table's row of an instruction on registers as a function.
macro_rules! result {
    (AluImm $fpu:ident $values:ident |$a:ident, $b:ident| $x:expr) => {{
        let [$a, $b, _] = $values;
        $x
    }};
    (AluReg $($rest:tt)*) => {
        result!(AluImm $($rest)*)
    };
    (FpFp $fpu:ident $values:ident |$e:ident, $a:ident, $b:ident, $c:ident| $x:expr) => {{
        let ($e, [$a, $b, $c]) = ($fpu, $values);
        $x
    }};
    (FpInt $fpu:ident $values:ident |$e:ident, $a:ident, $b:ident| $x:expr) => {{
        let ($e, [$a, $b, _]) = ($fpu, $values);
        $x
    }};
    (IntFp $fpu:ident $values:ident |$e:ident, $a:ident| $x:expr) => {{
        let ($e, [$a, ..]) = ($fpu, $values);
        $x
    }};
    ($class:ident $($rest:tt)*) => {
        0
    };
}

macro_rules! define {
    ($($section:ident { $($class:ident {
        $($op:ident $m:literal $w:ident $e:ident $f:ident $b:literal $($size:literal)? $($call:ident)? $(|$($arg:ident),+| $x:expr)?;)*
    })* })*) => {
        /// The result of an arithmetic instruction from its operands: registers, or a register and an immediate. The `rounding`
        /// mode is as [`rounding`] yields it. 0 for other instructions.
        pub fn result(op: Op, rounding: u8, flags: &mut u8, values: [u64; 3]) -> u64 {
            let rounding = Rounding::from_bits(rounding).unwrap_or(Rounding::NearestEven);
            let mut fpu = Fpu { rounding, flags: *flags };
            let e = &mut fpu;
            let value = match op {
                $($($(Op::$op => result!($class e values $(|$($arg),+| $x)?),)*)*)*
            };
            *flags = fpu.flags;
            value
        }
    };
}
instruction_table!(define);

/// The rounding mode of a floating-point instruction where `frm` contains `dynamic`; `None` if it is illegal.
pub fn rounding(insn: &Insn, dynamic: u8) -> Option<u8> {
    let mode = match insn.rm {
        _ if !insn.row().format.has_rounding() => 0,
        7 => dynamic,
        mode => mode,
    };
    Rounding::from_bits(mode).map(|_| mode)
}
