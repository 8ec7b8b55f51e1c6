//! Two custom extensions for experiments on what a trap costs: a banked register file and hardware stacking.
//!
//! Neither is standard. Both are made so that a small in-order core could have them: no state but what is
//! described here, no sequence that software could see half done. A machine has one or the other, never both.
//!
//! # `xtollbank`: a banked register file
//!
//! There are two banks of `x1` to `x31`; `x0` is zero in both. One CSR, **`tollbank`** (0x5C0, read and
//! written in S- and M-mode), says which is in use:
//!
//! | bit | name | meaning |
//! |---|---|---|
//! | 0 | B | the bank in use |
//! | 1 | SPB | the bank in use before the last trap into S-mode |
//! | 3 | MPB | the bank in use before the last trap into M-mode |
//! | 8 | EN | traps switch banks |
//!
//! * A trap into mode *x* copies B to *x*PB. Then, if EN is set and the trap comes from a less privileged mode,
//!   B becomes 1. A nested trap does not switch: its handler saves registers as it always did, and keeps *x*PB
//!   where it keeps *x*PP.
//! * `mret` and `sret` copy *x*PB to B, and clear *x*PB.
//! * **`toll.mvfrom rd, rs`** (custom-0, funct3 0) copies register `rs` of the bank *not* in use to `rd` of the
//!   bank in use; **`toll.mvto rd, rs`** (custom-0, funct3 1) copies `rs` of the bank in use to `rd` of the
//!   other. So a handler reads a system call's arguments and writes its result, and a kernel saves a task's
//!   registers when it really switches tasks. Illegal in U-mode. Bits 31:20 are zero.
//! * A write to `tollbank` with another B takes effect for the next instruction. Reset clears the CSR.
//!
//! The handler's bank keeps its contents between traps, so that `sp`, `gp` and `tp` need no loading either.
//! Floating-point registers are not banked.
//!
//! # `xtollstack`: hardware stacking
//!
//! As on Cortex-M, a trap stores the caller-saved registers, and the return loads them. Each mode has a
//! CSR, **`stollsp`** (0x5C1, for traps into S-mode) and **`mtollsp`** (0x7C1, for traps into M-mode):
//!
//! | bits | meaning |
//! |---|---|
//! | 0 | EN: traps into this mode stack |
//! | 1 | FR: a frame is at the stack pointer, and the next return from this mode loads it |
//! | 3:2 | zero |
//! | rest | the stack pointer, a *physical* address that is a multiple of 16 |
//!
//! * A trap into the mode, if EN is set: the stack pointer goes down by the size of a frame, the registers
//!   `ra, t0 t1 t2, a0 .. a7, t3 .. t6` (16 words of the register width, in this order) and then the old value of
//!   the CSR (word 16) are stored there, and FR is set. Registers keep their values. A frame is 144 bytes on
//!   RV64 and 80 on RV32: 17 words, rounded up to a multiple of 16.
//! * `mret` or `sret`, if FR is set: the 16 registers are loaded from the frame, and the CSR from word 16, which
//!   unwinds nested traps. If FR is clear, nothing is loaded: so a kernel enters its first task.
//! * A handler changes what the interrupted program will see by writing to the frame, and switches tasks by
//!   writing another task's frame address with EN and FR.
//! * The words bypass translation and PMP, as a debug module's accesses do. If the frame is not wholly in RAM,
//!   a trap stores nothing and clears FR, which its handler can check, and a return loads nothing and clears FR.
//!
//! Every word is reported to an observer as an access of kind [`crate::AccessKind::Stacking`], 17 for a trap
//! and 17 for a return. Neither extension costs instructions. In the timing model a word takes the data port for a
//! cycle (plus the wait of a load or store), charged as structural and, where its line misses, as data miss.

use crate::bus::Bus;
use crate::hart::Hart;
use crate::isa::Extension;
use crate::observer::{Access, AccessKind, AnyObserver};
use crate::privilege::Privilege;

pub(crate) const TOLLBANK: u16 = 0x5c0;
pub(crate) const STOLLSP: u16 = 0x5c1;
pub(crate) const MTOLLSP: u16 = 0x7c1;

const BANK: u64 = 1;
const BANK_ENABLE: u64 = 1 << 8;
const BANK_MASK: u64 = BANK | 1 << 1 | 1 << 3 | BANK_ENABLE;
const STACK_ENABLE: u64 = 1;
const STACK_FRAME: u64 = 2;

/// `ra`, the temporaries and the arguments.
const CALLER_SAVED: [u8; 16] = [1, 5, 6, 7, 10, 11, 12, 13, 14, 15, 16, 17, 28, 29, 30, 31];

/// The bit in `tollbank` that remembers the bank before a trap into `mode`.
fn previous_bank(mode: Privilege) -> u64 {
    if mode == Privilege::Machine { 1 << 3 } else { 1 << 1 }
}

impl Hart {
    /// Writes `tollbank`, switching banks when B changes.
    pub(crate) fn set_tollbank(&mut self, value: u64) {
        let value = value & BANK_MASK;
        if (value ^ self.custom.tollbank) & BANK != 0 {
            self.x[1..32].swap_with_slice(&mut self.custom.other[1..32]);
        }
        self.custom.tollbank = value;
    }

    /// The extensions' part of a trap from `from` into `to`.
    pub(crate) fn custom_trap(
        &mut self,
        bus: &mut Bus,
        from: Privilege,
        to: Privilege,
        obs: &mut AnyObserver<'_>,
    ) {
        if self.isa.has(Extension::XTollBank) {
            let old = self.custom.tollbank;
            let saved = previous_bank(to);
            let mut new = if old & BANK != 0 { old | saved } else { old & !saved };
            if old & BANK_ENABLE != 0 && from < to {
                new |= BANK;
            }
            self.set_tollbank(new);
        }
        if self.isa.has(Extension::XTollStack) {
            self.push_frame(bus, to, obs);
        }
    }

    /// The extensions' part of a return from `mode`.
    pub(crate) fn custom_return(&mut self, bus: &mut Bus, mode: Privilege, obs: &mut AnyObserver<'_>) {
        if self.isa.has(Extension::XTollBank) {
            let old = self.custom.tollbank;
            let saved = previous_bank(mode);
            let new = old & !(saved | BANK) | u64::from(old & saved != 0);
            self.set_tollbank(new);
        }
        if self.isa.has(Extension::XTollStack) {
            self.pop_frame(bus, mode, obs);
        }
    }

    fn word(&self) -> u64 {
        if self.isa.is_rv64() { 8 } else { 4 }
    }

    fn frame_size(&self) -> u64 {
        (17 * self.word()).next_multiple_of(16)
    }

    fn tollsp(&mut self, mode: Privilege) -> &mut u64 {
        if mode == Privilege::Machine { &mut self.custom.mtollsp } else { &mut self.custom.stollsp }
    }

    fn push_frame(&mut self, bus: &mut Bus, mode: Privilege, obs: &mut AnyObserver<'_>) {
        let old = *self.tollsp(mode);
        if old & STACK_ENABLE == 0 {
            return;
        }
        let word = self.word();
        let frame = self.outside((old & !15).wrapping_sub(self.frame_size()));
        if bus.ram_slice(frame, self.frame_size()).is_none() {
            *self.tollsp(mode) = old & !STACK_FRAME;
            return;
        }
        let values = CALLER_SAVED.map(|r| self.x[usize::from(r)]);
        for (i, value) in values.into_iter().chain([old]).enumerate() {
            let at = frame + i as u64 * word;
            bus.ram_write(at, word, value);
            report(obs, at, word, value, true);
        }
        *self.tollsp(mode) = self.canonical(frame) | STACK_ENABLE | STACK_FRAME;
    }

    fn pop_frame(&mut self, bus: &Bus, mode: Privilege, obs: &mut AnyObserver<'_>) {
        let csr = *self.tollsp(mode);
        if csr & STACK_FRAME == 0 {
            return;
        }
        let word = self.word();
        let frame = self.outside(csr & !15);
        if bus.ram_slice(frame, self.frame_size()).is_none() {
            *self.tollsp(mode) = csr & !STACK_FRAME;
            return;
        }
        let mut read = |i: usize| {
            let at = frame + i as u64 * word;
            let value = bus.ram_read(at, word).unwrap_or(0);
            report(obs, at, word, value, false);
            value
        };
        for (i, r) in CALLER_SAVED.into_iter().enumerate() {
            self.x[usize::from(r)] = if word == 8 { read(i) } else { read(i) as i32 as u64 };
        }
        let saved = read(CALLER_SAVED.len());
        self.set_tollsp(mode, saved);
    }

    /// Writes `stollsp` or `mtollsp`.
    pub(crate) fn set_tollsp(&mut self, mode: Privilege, value: u64) {
        *self.tollsp(mode) = self.canonical(value & !0xc);
    }
}

fn report(obs: &mut AnyObserver<'_>, at: u64, word: u64, value: u64, store: bool) {
    obs.access(|| Access { kind: AccessKind::Stacking, store, va: at, pa: at, size: word as u8, value });
}
