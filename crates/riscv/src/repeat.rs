//! Whether a program repeats itself for ever: the same state twice, and nothing from outside that could change it.

use crate::csr::{MIE, MIP, SIE, SIP};
use crate::exception::AccessType;
use crate::hart::{Hart, interrupt};
use crate::insn::{Class, Insn, Op};
use crate::isa::Extension;
use crate::machine::{Machine, Step, Stop};
use crate::map::from_le;
use crate::mmu;
use crate::observer::Observer;
use crate::trap;

/// Instructions that a program repeats for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repeat {
    /// The lowest address of an instruction in it.
    pub pc: u64,
    /// Steps until the state is the same again.
    pub steps: u64,
    /// Whether a trap is among them.
    pub traps: bool,
}

/// States at the first address that are compared before a program counts as making progress.
const COMPARED: u32 = 32;
/// Words that a period writes and that are remembered.
const MOST_STORES: usize = 1024;

/// The effects of a period that matter.
struct Period {
    lowest: u64,
    /// The physical addresses of the words that it writes.
    stores: Vec<u64>,
    traps: bool,
    /// Control and status registers were accessed, or a trap was taken or returned: what is masked may change.
    changes_mode: bool,
    /// Something else than registers and RAM may make a difference.
    depends: bool,
}

impl Machine {
    /// Does at most `most` steps, and says whether the program repeats itself for ever: it comes to the same registers and
    /// memory twice in a row without a device, the time or an interrupt that could make a difference. Yields how it stopped,
    /// and the steps that it took.
    ///
    /// ```
    /// use tollgate_riscv::{Config, Machine};
    /// let mut machine = Machine::new(Config::default()).unwrap();
    /// // jal x0, 0
    /// machine.write_memory(0x8000_0000, &[0x6f, 0, 0, 0]).unwrap();
    /// let (_, steps, repeat) = machine.run_to_repeat(100, &mut ());
    /// assert_eq!((steps, repeat.unwrap().pc), (2, 0x8000_0000));
    /// ```
    pub fn run_to_repeat<O: Observer>(&mut self, most: u64, obs: &mut O) -> (Stop, u64, Option<Repeat>) {
        // Traps of that extension write to memory by themselves.
        let depends = self.harts() > 1 || self.hart.isa.has(Extension::XTollStack);
        let mut period =
            Period { lowest: u64::MAX, stores: Vec::new(), traps: false, changes_mode: false, depends };
        let (mut start, printed) = (self.hart.clone(), self.bus.console.bytes.len());
        let (mut compared, mut first, mut memory) = (0, None, Vec::new());
        for steps in 1..=most {
            if !period.depends {
                self.note(&mut period);
            }
            match self.step(obs) {
                Step::Stopped(stop) => return (stop, steps, None),
                Step::Waited => period.depends = true,
                Step::Trapped => (period.traps, period.changes_mode) = (true, true),
                Step::Retired => {}
            }
            if period.depends || compared > COMPARED {
                return (Stop::Budget, steps, None);
            }
            if self.hart.pc != start.pc {
                continue;
            }
            compared += 1;
            if !is_same(&self.hart, &start) {
                continue;
            }
            let now = self.contents(&period.stores);
            match first {
                // The first period may have changed memory; the second shows whether it continues to change.
                Some(length) if steps == 2 * length && now == memory => {
                    let quiet = self.is_undisturbed(&period) && self.bus.console.bytes.len() == printed;
                    let (pc, traps) = (self.hart.outside(period.lowest), period.traps);
                    return (
                        Stop::Budget,
                        steps,
                        Some(Repeat { pc, steps: length, traps }).filter(|_| quiet),
                    );
                }
                Some(_) => return (Stop::Budget, steps, None),
                None => (first, memory, start) = (Some(steps), now, self.hart.clone()),
            }
        }
        (Stop::Budget, most, None)
    }

    /// Records the effects of the next instruction.
    fn note(&self, period: &mut Period) {
        let hart = &self.hart;
        let look = |va: u64, access: AccessType, mode| mmu::look_up(hart, &self.bus, va, access, mode).ok();
        let half = |va: u64| {
            let pa = look(hart.canonical(va), AccessType::Fetch, hart.privilege)?;
            self.bus.ram_slice(pa, 2).map(from_le)
        };
        let word = half(hart.pc).and_then(|low| match low & 3 {
            3 => half(hart.pc.wrapping_add(2)).map(|high| low | high << 16),
            _ => Some(low),
        });
        period.lowest = period.lowest.min(hart.pc);
        // An instruction that cannot be fetched or decoded traps.
        let Some(insn) = word.and_then(|word| self.decoder.decode(word as u32)) else { return };
        let Insn { op, rs1, imm, .. } = insn;
        let base = hart.x[usize::from(rs1)];
        let (va, store) = match insn.row().class {
            Class::Load | Class::FpLoad => (base.wrapping_add(imm as u64), false),
            Class::Store | Class::FpStore => (base.wrapping_add(imm as u64), true),
            Class::LoadReserved => (base, false),
            Class::Amo | Class::StoreConditional => (base, true),
            Class::Csr => {
                // Counters, the time, the entropy source, and pending or enabled interrupts.
                let number = imm as u16;
                let counts = matches!(number >> 8, 0xb | 0xc) || number == 0x15;
                period.depends |= counts || [MIE, MIP, SIE, SIP].contains(&number);
                period.changes_mode = true;
                return;
            }
            Class::System => {
                let simple = [Op::Ecall, Op::Ebreak, Op::FenceI, Op::Sret, Op::Mret, Op::Wfi, Op::SfenceVma];
                period.depends |= !simple.contains(&op);
                period.changes_mode |= matches!(op, Op::Sret | Op::Mret);
                return;
            }
            // Their accesses are not followed, and their registers are not compared.
            Class::Vector | Class::VectorLoad | Class::VectorStore => {
                period.depends = true;
                return;
            }
            _ => return,
        };
        let access = if store { AccessType::Store } else { AccessType::Load };
        for va in [va, va.wrapping_add(7)] {
            // An address that cannot be translated traps, or is outside of the access.
            let Some(pa) = look(hart.effective(va), access, hart.data_privilege()) else { continue };
            let place = pa & !7;
            period.depends |= self.bus.ram_slice(pa, 1).is_none() || period.stores.len() > MOST_STORES;
            if store && !period.stores.contains(&place) {
                period.stores.push(place);
            }
        }
    }

    /// The contents of memory where the period writes.
    fn contents(&self, stores: &[u64]) -> Vec<Option<u64>> {
        stores.iter().map(|&place| self.bus.ram_read(place, 8)).collect()
    }

    /// Whether the host does nothing, and no interrupt can come in between.
    fn is_undisturbed(&self, period: &Period) -> bool {
        let commands = self.bus.htif.as_ref().is_some_and(|htif| {
            htif.due.is_some() || period.stores.iter().any(|&place| htif.is_command(place, 8))
        });
        let (enabled, scheduled) = (self.hart.mie, self.next_event != u64::MAX);
        let from_outside = interrupt::MTI | interrupt::STI | interrupt::MEI | interrupt::SEI;
        let none_comes = enabled & self.hart.mip == 0 && (enabled & from_outside == 0 || !scheduled);
        let none_is_taken = trap::are_masked(&self.hart) && !period.changes_mode;
        !commands && (none_comes || none_is_taken)
    }
}

/// Whether two states differ in nothing but counters.
fn is_same(one: &Hart, other: &Hart) -> bool {
    let state = |hart: &Hart| postcard::to_stdvec(&Hart { retired: 0, ..hart.clone() }).ok();
    one.x[..32] == other.x[..32] && one.extra == other.extra && state(one) == state(other)
}
