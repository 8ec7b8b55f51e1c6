//! Access to a machine's registers, memory and console, as for a debugger.

use crate::config::Config;
use crate::csr::Illegal;
use crate::decode::Decoder;
use crate::exception::AccessType;
use crate::hart::status;
use crate::machine::{Machine, MemoryError};
use crate::mmu;
use crate::privilege::Privilege;

impl Machine {
    /// The program counter.
    pub fn pc(&self) -> u64 {
        self.hart.outside(self.hart.pc)
    }

    /// Sets the program counter, as a debugger does.
    pub fn set_pc(&mut self, pc: u64) {
        self.hart.pc = self.hart.canonical(pc) & !1;
    }

    /// An integer register, zero-extended on RV32; 0 for numbers over 31.
    pub fn x(&self, register: u8) -> u64 {
        if register < 32 { self.hart.outside(self.hart.x[usize::from(register)]) } else { 0 }
    }

    /// Sets an integer register.
    pub fn set_x(&mut self, register: u8, value: u64) {
        if register < 32 {
            let value = self.hart.canonical(value);
            self.hart.set_x(register, value);
        }
    }

    /// The bits of a floating-point register, single precision NaN-boxed; 0 for numbers over 31.
    pub fn f(&self, register: u8) -> u64 {
        if register < 32 { self.hart.f[usize::from(register)] } else { 0 }
    }

    /// A control and status register as M-mode would read it; `None` where there is none.
    pub fn csr(&self, address: u16) -> Option<u64> {
        match self.hart.csr_read(address, self.mtime()) {
            Ok(v) => Some(self.hart.outside(v)),
            Err(Illegal) => None,
        }
    }

    /// Whether a program on Spike's machine can reach the host: it has a symbol `tohost` in RAM.
    pub fn has_htif(&self) -> bool {
        self.bus.htif.is_some()
    }

    /// The privilege mode.
    pub fn privilege(&self) -> Privilege {
        self.hart.privilege
    }

    /// Instructions that all harts retired since reset. An instruction that traps, `ecall` among them, does not retire.
    pub fn instret(&self) -> u64 {
        // The placeholder in the running hart's place has retired nothing.
        self.turns.parked.iter().fold(self.hart.retired, |sum, core| sum.wrapping_add(core.hart.retired))
    }

    /// The configuration of the machine.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The guest's output on its console and standard streams.
    pub fn console(&self) -> &[u8] {
        &self.bus.console.bytes
    }

    /// Removes and returns the console's bytes, which makes room for more.
    pub fn take_console(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.bus.console.bytes)
    }

    /// Console bytes that were dropped because the limit was reached.
    pub fn console_dropped(&self) -> u64 {
        self.bus.console.dropped
    }

    /// RAM at a physical address.
    pub fn read_memory(&self, address: u64, len: u64) -> Result<&[u8], MemoryError> {
        self.bus.ram_slice(address, len).ok_or(MemoryError { address, len })
    }

    /// Writes RAM at a physical address, as a debugger does: observers do not see it, and code is fetched again.
    pub fn write_memory(&mut self, address: u64, bytes: &[u8]) -> Result<(), MemoryError> {
        let len = bytes.len() as u64;
        self.bus.ram_slice_mut(address, len).ok_or(MemoryError { address, len })?.copy_from_slice(bytes);
        self.engine.flush_blocks();
        Ok(())
    }

    /// The physical address of a virtual one for a load in the current mode, if there is one.
    pub fn translate(&self, va: u64) -> Option<u64> {
        let va = self.hart.effective(va);
        mmu::look_up(&self.hart, &self.bus, va, AccessType::Load, self.hart.data_privilege()).ok()
    }

    /// The decoder of its instructions.
    pub fn decoder(&self) -> &Decoder {
        &self.decoder
    }

    /// Whether floating point is on (`mstatus.FS`).
    pub fn fp_enabled(&self) -> bool {
        self.hart.mstatus & status::FS != 0
    }
}
