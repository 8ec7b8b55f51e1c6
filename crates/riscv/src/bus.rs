//! Physical memory and what is mapped into it.

use crate::device::{Clint, Console, Finisher, Uart};
use crate::htif::Htif;

/// Where RAM begins, in both memory maps.
pub(crate) const RAM_BASE: u64 = 0x8000_0000;
/// Where the read-only memory with the device tree begins.
pub(crate) const ROM_BASE: u64 = 0x1000;
pub(crate) const ROM_SIZE: u64 = 0xf000;
pub(crate) const CLINT_BASE: u64 = 0x200_0000;
pub(crate) const CLINT_SIZE: u64 = 0x10000;
pub(crate) const UART_BASE: u64 = 0x1000_0000;
pub(crate) const UART_SIZE: u64 = 0x100;
pub(crate) const FINISHER_BASE: u64 = 0x10_0000;
pub(crate) const FINISHER_SIZE: u64 = 0x1000;

/// Bytes of a cache block, as the device tree says.
pub(crate) const CACHE_BLOCK: u64 = 64;

/// Everything that has a physical address.
pub(crate) struct Bus {
    pub(crate) ram: Vec<u8>,
    pub(crate) rom: Vec<u8>,
    pub(crate) clint: Clint,
    pub(crate) uart: Option<Uart>,
    pub(crate) finisher: Option<Finisher>,
    pub(crate) htif: Option<Htif>,
    /// A device was written: interrupts, time or the end of the run may have changed.
    pub(crate) device_written: bool,
    pub(crate) console: Console,
}

/// Assembles up to eight little-endian bytes.
pub(crate) fn from_le(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |v, &b| v << 8 | u64::from(b))
}

impl Bus {
    /// A range of RAM; `None` unless all of it exists.
    pub(crate) fn ram_slice(&self, pa: u64, len: u64) -> Option<&[u8]> {
        let start = usize::try_from(pa.checked_sub(RAM_BASE)?).ok()?;
        self.ram.get(start..start.checked_add(usize::try_from(len).ok()?)?)
    }

    pub(crate) fn ram_slice_mut(&mut self, pa: u64, len: u64) -> Option<&mut [u8]> {
        let start = usize::try_from(pa.checked_sub(RAM_BASE)?).ok()?;
        self.ram.get_mut(start..start.checked_add(usize::try_from(len).ok()?)?)
    }

    pub(crate) fn ram_read(&self, pa: u64, size: u64) -> Option<u64> {
        self.ram_slice(pa, size).map(from_le)
    }

    /// Writes RAM; returns false, and does nothing, for addresses outside.
    pub(crate) fn ram_write(&mut self, pa: u64, size: u64, value: u64) -> bool {
        match self.ram_slice_mut(pa, size) {
            Some(bytes) => {
                bytes.copy_from_slice(&value.to_le_bytes()[..size as usize]);
                true
            }
            None => false,
        }
    }

    /// Reads memory or a device; `None` is an access fault. `time` is `mtime`.
    pub(crate) fn read(&mut self, pa: u64, size: u64, time: u64) -> Option<u64> {
        if let Some(v) = self.ram_read(pa, size) {
            return Some(v);
        }
        if pa & (size - 1) != 0 {
            return None;
        }
        if let Some(offset) = within(pa, ROM_BASE, ROM_SIZE) {
            let byte = |i: u64| self.rom.get((offset + i) as usize).copied().unwrap_or(0);
            return Some((0..size).rev().fold(0, |v, i| v << 8 | u64::from(byte(i))));
        }
        if let Some(offset) = within(pa, CLINT_BASE, CLINT_SIZE) {
            return self.clint.read(offset, size, time);
        }
        if let (Some(uart), Some(offset)) = (&mut self.uart, within(pa, UART_BASE, UART_SIZE)) {
            return Some(uart.read(offset));
        }
        if let (Some(_), Some(_)) = (&self.finisher, within(pa, FINISHER_BASE, FINISHER_SIZE)) {
            return Some(0);
        }
        None
    }

    /// Writes memory or a device; `None` is an access fault.
    pub(crate) fn write(&mut self, pa: u64, size: u64, value: u64, time: u64) -> Option<()> {
        if self.ram_write(pa, size, value) {
            if let Some(htif) = &mut self.htif
                && htif.noticed(pa, size)
            {
                self.device_written = true;
            }
            return Some(());
        }
        if pa & (size - 1) != 0 {
            return None;
        }
        self.device_written = true;
        if let Some(offset) = within(pa, CLINT_BASE, CLINT_SIZE) {
            return self.clint.write(offset, size, value, time);
        }
        if let (Some(uart), Some(offset)) = (&mut self.uart, within(pa, UART_BASE, UART_SIZE)) {
            uart.write(offset, value as u8, &mut self.console);
            return Some(());
        }
        if let (Some(finisher), Some(offset)) = (&mut self.finisher, within(pa, FINISHER_BASE, FINISHER_SIZE))
        {
            finisher.write(offset, value as u32);
            return Some(());
        }
        None
    }
}

fn within(pa: u64, base: u64, size: u64) -> Option<u64> {
    pa.checked_sub(base).filter(|&o| o < size)
}
