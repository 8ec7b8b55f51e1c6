//! What the state of extensions that most machines do not have permits: shadow stacks and landing pads (Zicfiss and Zicfilp),
//! state enables (Smstateen), overflow of counters (Sscofpmf) and pointer masking (Smmpm, Smnpm and Ssnpm).

use crate::extra_state::MLPE;
use crate::hart::{Hart, environment, interrupt, status};
use crate::hpm::EventCounts;
use crate::isa::{Extension, Isa};
use crate::privilege::Privilege;

/// `mstateen0`: custom state, `senvcfg`, and in each of the four S-mode's register of that number.
const CUSTOM: u64 = 1;
const ENVCFG: u64 = 1 << 62;
const SE: u64 = 1 << 63;
/// Of `mhpmevent`: a counter has overflowed, and does not count in M-mode, in S-mode, in U-mode.
const OF: u64 = 1 << 63;
const INHIBITS: [(Privilege, u64); 3] =
    [(Privilege::Machine, 1 << 62), (Privilege::Supervisor, 1 << 61), (Privilege::User, 1 << 60)];

impl Isa {
    fn has_one_of(&self, extensions: &[Extension]) -> bool {
        extensions.iter().any(|extension| self.has(*extension))
    }

    /// Whether pointers can be masked.
    pub(crate) fn masks_pointers(&self) -> bool {
        self.has_one_of(&[Extension::Smmpm, Extension::Smnpm, Extension::Ssnpm])
    }

    /// Whether a hart has state here.
    pub(crate) fn has_extra_state(&self) -> bool {
        let others = [Extension::Zicfiss, Extension::Zicfilp, Extension::Smstateen, Extension::Sscofpmf];
        self.masks_pointers() || self.has_one_of(&others)
    }

    /// Whether software-check exceptions exist.
    pub(crate) fn checks_software(&self) -> bool {
        self.has_one_of(&[Extension::Zicfiss, Extension::Zicfilp])
    }
}

impl Hart {
    /// Whether `menvcfg`, and for U-mode `senvcfg`, have one of these bits.
    pub(crate) fn environment_permits(&self, bits: u64) -> bool {
        let menvcfg = self.menvcfg & bits != 0;
        match self.privilege {
            Privilege::Machine => true,
            Privilege::Supervisor => menvcfg,
            Privilege::User => menvcfg && self.senvcfg & bits != 0,
        }
    }

    /// Whether this mode has a shadow stack (Zicfiss, 22.2: never M-mode).
    pub(crate) fn has_shadow_stack(&self) -> bool {
        self.privilege != Privilege::Machine && self.environment_permits(environment::SSE)
    }

    /// Whether a mode has landing pads (Zicfilp, 22.1).
    pub(crate) fn has_pads(&self, mode: Privilege) -> bool {
        self.isa.has(Extension::Zicfilp)
            && match mode {
                Privilege::Machine => self.extra.mseccfg & MLPE != 0,
                Privilege::Supervisor => self.menvcfg & environment::LPE != 0,
                Privilege::User => self.senvcfg & environment::LPE != 0,
            }
    }

    /// An indirect jump through a register, of which three are for returns and for jumps that software guards (Zicfilp, 22.1.3).
    pub(crate) fn jump_through(&mut self, register: u8) {
        if !matches!(register, 1 | 5 | 7) && self.has_pads(self.privilege) {
            self.extra.expects_pad = true;
        }
    }

    /// Whether an instruction is the landing pad that is expected: its label is zero, or that in `x7`.
    pub(crate) fn is_pad(&self, insn: &crate::insn::Insn) -> bool {
        let label = insn.imm as u64 & 0xffff_f000;
        insn.op == crate::insn::Op::Lpad
            && self.pc & 3 == 0
            && (label == 0 || label == self.x[7] & 0xffff_f000)
    }

    /// Takes the expectation of a landing pad to `xPELP` at a trap.
    pub(crate) fn stack_pad(&mut self, field: u64) {
        if self.isa.has(Extension::Zicfilp) {
            let expected = if std::mem::take(&mut self.extra.expects_pad) { field } else { 0 };
            self.mstatus = self.mstatus & !field | expected;
        }
    }

    /// The inverse, at a return to a mode.
    pub(crate) fn unstack_pad(&mut self, field: u64, to: Privilege) {
        if self.isa.has(Extension::Zicfilp) {
            self.extra.expects_pad = self.mstatus & field != 0 && self.has_pads(to);
            self.mstatus &= !field;
        }
    }

    /// How many upper bits of the address of a load or store are ignored (Zjpm, 2.2 and 2.3).
    fn ignored_bits(&self) -> u32 {
        let configuration = match self.data_privilege() {
            Privilege::Machine => self.extra.mseccfg,
            _ if self.mstatus & status::MXR != 0 => 0,
            Privilege::Supervisor => self.menvcfg,
            Privilege::User => self.senvcfg,
        };
        match configuration & environment::PMM {
            environment::PMM => 16,
            0 => 0,
            _ => 7,
        }
    }

    /// Whether loads and stores ignore upper bits of their addresses now.
    pub(crate) fn ignores_bits(&self) -> bool {
        self.isa.masks_pointers() && self.ignored_bits() != 0
    }

    /// The address of a load or store as it is accessed, from what the instruction computed.
    #[inline(always)]
    pub(crate) fn effective(&self, va: u64) -> u64 {
        if self.isa.masks_pointers() { self.masked(va) } else { self.canonical(va) }
    }

    #[inline(never)]
    fn masked(&self, va: u64) -> u64 {
        let ignored = self.ignored_bits();
        // A physical address is extended by zeros, a virtual one by its sign (Zjpm, 2.2).
        let is_physical = self.data_privilege() == Privilege::Machine || self.satp >> 60 == 0;
        if is_physical { va << ignored >> ignored } else { ((va << ignored) as i64 >> ignored) as u64 }
    }

    /// The bits of `mstateen` of a number that exist.
    pub(crate) fn state_enables(&self, number: usize) -> u64 {
        let custom = self.isa.has_one_of(&[Extension::XTollBank, Extension::XTollStack]);
        let custom = if custom { CUSTOM } else { 0 };
        if number == 0 { SE | ENVCFG | custom } else { SE }
    }

    /// Whether state enables permit this mode a register (Smstateen, 3.1).
    pub(crate) fn state_permits(&self, csr: u16) -> bool {
        if !self.isa.has(Extension::Smstateen) || self.privilege == Privilege::Machine {
            return true;
        }
        let enabled = |number: usize, bit| self.extra.mstateen[number & 3] & bit != 0;
        match csr {
            crate::csr::SENVCFG => enabled(0, ENVCFG),
            0x10c..=0x10f => enabled(usize::from(csr), SE),
            crate::custom::TOLLBANK | crate::custom::STOLLSP => enabled(0, CUSTOM),
            _ => true,
        }
    }

    /// S-mode's register: a bit exists where `mstateen0` has it.
    pub(crate) fn supervisor_enables(&self) -> u64 {
        self.extra.sstateen0 & self.extra.mstateen[0] & CUSTOM
    }

    /// Interrupts that can be delegated to S-mode.
    pub(crate) fn supervisor_interrupts(&self) -> u64 {
        let overflow = if self.isa.has(Extension::Sscofpmf) { interrupt::LCOFI } else { 0 };
        interrupt::SUPERVISOR | overflow
    }

    /// Whether a counter can still raise its interrupt.
    pub(crate) fn awaits_overflow(&self) -> bool {
        self.isa.has(Extension::Sscofpmf) && self.mie & interrupt::LCOFI != 0
    }

    /// Counts events that happened in this mode; a counter that overflows for the first time raises an interrupt (Sscofpmf, 2).
    pub(crate) fn count_events(&mut self, more: &EventCounts) {
        if !self.isa.has(Extension::Sscofpmf) {
            return self.hpm.add(more);
        }
        let inhibit = INHIBITS.iter().find(|(mode, _)| *mode == self.privilege).map_or(0, |(_, bit)| *bit);
        for n in self.hpm.add_unless(more, self.extra.events.map(|flags| flags & inhibit != 0)) {
            if self.extra.events[n] & OF == 0 {
                self.extra.events[n] |= OF;
                self.mip |= interrupt::LCOFI;
            }
        }
    }

    /// `scountovf`: which counters have overflowed, of those that this mode may read.
    pub(crate) fn overflows(&self) -> u64 {
        let flags = self.extra.events.iter().rev().fold(0, |bits, flags| bits << 1 | flags >> 63) << 3;
        if self.privilege == Privilege::Machine { flags } else { flags & self.mcounteren }
    }
}
