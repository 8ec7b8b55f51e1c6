//! Semihosting: calls of a program to its debugger, for which it needs no device.
//!
//! "RISC-V Semihosting", 1.0, says how a call looks and where its arguments are; "Semihosting for AArch32 and AArch64", 2.0, by
//! Arm what each call does. RV64 has the arguments of AArch64.

use crate::exception::AccessType;
use crate::machine::{Machine, Stop};
use crate::map::from_le;
use crate::mmu;

/// The instructions around the `ebreak` of a call: `slli x0, x0, 0x1f` and `srai x0, x0, 7`, all three uncompressed.
const BEFORE: u32 = 0x01f0_1013;
const EBREAK: u32 = 0x0010_0073;
const BEHIND: u32 = 0x4070_5013;

const OPEN: u64 = 0x01;
const CLOSE: u64 = 0x02;
const WRITEC: u64 = 0x03;
const WRITE0: u64 = 0x04;
const WRITE: u64 = 0x05;
const IS_TTY: u64 = 0x09;
const ERRNO: u64 = 0x13;
const EXIT: u64 = 0x18;
const EXIT_EXTENDED: u64 = 0x20;

/// The calls by number.
const NAMES: [(u64, &str); 24] = [
    (OPEN, "SYS_OPEN"),
    (CLOSE, "SYS_CLOSE"),
    (WRITEC, "SYS_WRITEC"),
    (WRITE0, "SYS_WRITE0"),
    (WRITE, "SYS_WRITE"),
    (0x06, "SYS_READ"),
    (0x07, "SYS_READC"),
    (0x08, "SYS_ISERROR"),
    (IS_TTY, "SYS_ISTTY"),
    (0x0a, "SYS_SEEK"),
    (0x0c, "SYS_FLEN"),
    (0x0d, "SYS_TMPNAM"),
    (0x0e, "SYS_REMOVE"),
    (0x0f, "SYS_RENAME"),
    (0x10, "SYS_CLOCK"),
    (0x11, "SYS_TIME"),
    (0x12, "SYS_SYSTEM"),
    (ERRNO, "SYS_ERRNO"),
    (0x15, "SYS_GET_CMDLINE"),
    (0x16, "SYS_HEAPINFO"),
    (EXIT, "SYS_EXIT"),
    (EXIT_EXTENDED, "SYS_EXIT_EXTENDED"),
    (0x30, "SYS_ELAPSED"),
    (0x31, "SYS_TICKFREQ"),
];

/// The name of a semihosting call.
pub fn semihosting_name(call: u64) -> Option<&'static str> {
    NAMES.iter().find(|(number, _)| *number == call).map(|(_, name)| *name)
}

/// The reason that a program gives when it ends by itself (`ADP_Stopped_ApplicationExit`).
const APPLICATION_EXIT: u64 = 0x2_0026;
/// All reasons begin like this.
const REASONS: u64 = 0x2_0000;
/// The name of the console for [`OPEN`], and the handle that it gets, which is not zero.
const CONSOLE: &[u8] = b":tt";
const HANDLE: u64 = 1;
/// The file that lists optional features; there are none.
const FEATURES: &[u8] = b":semihosting-features";
/// The longest text of one call.
const MOST: u64 = 1 << 20;

impl Machine {
    /// Answers semihosting calls: those that write to the console, and those that end the program.
    pub fn semihost(&mut self) {
        self.semihosting = true;
    }

    /// The semihosting call that an `ebreak` at this address is: its number, which is in `a0`.
    pub fn semihosting_call(&self, pc: u64) -> Option<u64> {
        let word = |va: u64| -> Option<u32> {
            let bytes = self.read_virtual(va, 4, AccessType::Fetch)?;
            Some(from_le(&bytes) as u32)
        };
        let code = [(pc.wrapping_sub(4), BEFORE), (pc, EBREAK), (pc.wrapping_add(4), BEHIND)];
        code.iter().all(|&(at, expected)| word(at) == Some(expected)).then(|| self.x(10))
    }

    /// Continues behind a call that has stopped the machine ([`Stop::Semihosting`]), with this result in `a0`.
    pub fn answer_semihosting(&mut self, result: u64) {
        if matches!(self.stopped, Some(Stop::Semihosting { .. })) {
            self.stopped = None;
            self.set_x(10, result);
        }
    }

    /// Does the call; `false` if the machine does not answer calls, or there is no call at the pc.
    pub(crate) fn does_semihosting(&mut self) -> bool {
        if !self.semihosting {
            return false;
        }
        let Some(call) = self.semihosting_call(self.hart.pc) else { return false };
        match self.answer(call) {
            Some(result) => self.set_x(10, result),
            None => self.stopped = self.stopped.or(Some(Stop::Semihosting { call })),
        }
        true
    }

    /// The result of a call; `None` if it is not done, or has ended the program.
    fn answer(&mut self, call: u64) -> Option<u64> {
        const FAILED: u64 = u64::MAX;
        let at = self.x(11);
        match call {
            OPEN => {
                let name =
                    self.read_virtual(self.word(at, 0)?, self.word(at, 2)?.min(MOST), AccessType::Load)?;
                match &name[..] {
                    CONSOLE => Some(HANDLE),
                    FEATURES => Some(FAILED),
                    _ => None,
                }
            }
            CLOSE | ERRNO => Some(0),
            IS_TTY => Some(1),
            WRITEC => {
                let byte = self.read_virtual(at, 1, AccessType::Load)?;
                self.bus.console.write(&byte);
                Some(self.x(10))
            }
            WRITE0 => {
                let text = self.text_at(at);
                self.bus.console.write(&text);
                Some(self.x(10))
            }
            WRITE => {
                let (text, len) = (self.word(at, 1)?, self.word(at, 2)?);
                let Some(bytes) = self.read_virtual(text, len.min(MOST), AccessType::Load) else {
                    return Some(len);
                };
                self.bus.console.write(&bytes);
                // How many were not written.
                Some(len - bytes.len() as u64)
            }
            EXIT | EXIT_EXTENDED => {
                self.stopped = Some(Stop::Exit { code: self.exit_status(call, at) });
                None
            }
            _ => None,
        }
    }

    /// The status with which a program ends. The calls with a block of arguments have the reason and a status in it, SYS_EXIT
    /// of RV32 has the reason alone in `a1`. Programs for RV64 that do the same are common.
    fn exit_status(&self, call: u64, at: u64) -> i32 {
        let is_reason = |value: u64| value & !0xff == REASONS;
        let has_block = call == EXIT_EXTENDED || self.hart.isa.is_rv64();
        match (self.word(at, 0), self.word(at, 1)) {
            (Some(reason), Some(status)) if has_block && is_reason(reason) => match reason {
                APPLICATION_EXIT => status as i32,
                _ => 1,
            },
            _ => i32::from(at != APPLICATION_EXIT),
        }
    }

    /// A word of the block of arguments.
    fn word(&self, block: u64, n: u64) -> Option<u64> {
        let size = if self.hart.isa.is_rv64() { 8 } else { 4 };
        let bytes = self.read_virtual(block.wrapping_add(n * size), size, AccessType::Load)?;
        Some(from_le(&bytes))
    }

    /// The bytes from an address up to a zero.
    pub(crate) fn text_at(&self, address: u64) -> Vec<u8> {
        let byte = |n| self.read_virtual(address.wrapping_add(n), 1, AccessType::Load);
        (0..MOST).map_while(byte).flatten().take_while(|&byte| byte != 0).collect()
    }

    /// Bytes at a virtual address in the current mode; `None` unless all of them are in RAM.
    pub(crate) fn read_virtual(&self, va: u64, len: u64, access: AccessType) -> Option<Vec<u8>> {
        let mode = if access == AccessType::Fetch { self.hart.privilege } else { self.hart.data_privilege() };
        let mut bytes = Vec::new();
        while (bytes.len() as u64) < len {
            let at = self.hart.canonical(va.wrapping_add(bytes.len() as u64));
            let pa = mmu::look_up(&self.hart, &self.bus, at, access, mode).ok()?;
            let here = (mmu::PAGE - at % mmu::PAGE).min(len - bytes.len() as u64);
            bytes.extend(self.bus.ram_slice(pa, here)?);
        }
        Some(bytes)
    }
}
