//! Physical memory and what is mapped into it.

use serde::{Deserialize, Serialize};

use crate::clic_state::Sources;
use crate::devices::clint::Clint;
use crate::devices::console::Console;
use crate::devices::finisher::Finisher;
use crate::devices::plic::Plic;
use crate::devices::rtc::Rtc;
use crate::devices::uart::Uart;
use crate::devices::virtio::Slot;
use crate::htif::Htif;
pub(crate) use crate::map::RAM_BASE;
use crate::map::{
    CLIC_BASE, CLIC_SIZE, CLINT_BASE, CLINT_SIZE, FINISHER_BASE, FINISHER_SIZE, PLIC_BASE, PLIC_SIZE,
    PLIC_SIZE_OF_SPIKE, ROM_BASE, ROM_SIZE, RTC_BASE, RTC_SIZE, RTC_SOURCE, TICK_NS, UART_BASE, UART_SIZE,
    UART_SOURCE, UART_SOURCE_OF_SPIKE, VIRTIO_BASE, VIRTIO_SLOTS, VIRTIO_SOURCE, VIRTIO_STRIDE, from_le,
    put_le,
};

/// Bytes of a cache block, as the device tree says.
pub(crate) const CACHE_BLOCK: u64 = 64;

/// Everything that has a physical address.
pub(crate) struct Bus {
    pub(crate) ram: Vec<u8>,
    /// Its first address.
    pub(crate) ram_base: u64,
    pub(crate) rom: Vec<u8>,
    pub(crate) clint: Clint,
    /// Only with `smclic`.
    pub(crate) clic: Option<Box<Sources>>,
    pub(crate) uart: Uart,
    pub(crate) plic: Plic,
    /// Devices of QEMU's `virt` alone.
    pub(crate) virt: Option<Box<Virt>>,
    pub(crate) htif: Option<Htif>,
    /// A device was written: interrupts, time or the end of the run may have changed.
    pub(crate) device_written: bool,
    pub(crate) console: Console,
    /// A bit for each page of RAM from which instructions were decoded; empty where instruction fetches need not be
    /// coherent with stores.
    pub(crate) code_pages: Vec<u64>,
    /// Those of them that were written, some perhaps more than once.
    pub(crate) code_written: Vec<u64>,
}

/// The devices that only QEMU's `virt` has. All of them are in a snapshot.
#[derive(Serialize, Deserialize)]
pub(crate) struct Virt {
    pub(crate) finisher: Finisher,
    pub(crate) rtc: Rtc,
    pub(crate) slots: [Slot; VIRTIO_SLOTS],
}

impl Bus {
    /// A range of RAM; `None` unless all of it exists.
    pub(crate) fn ram_slice(&self, pa: u64, len: u64) -> Option<&[u8]> {
        let start = usize::try_from(pa.checked_sub(self.ram_base)?).ok()?;
        self.ram.get(start..start.checked_add(usize::try_from(len).ok()?)?)
    }

    pub(crate) fn ram_slice_mut(&mut self, pa: u64, len: u64) -> Option<&mut [u8]> {
        let start = usize::try_from(pa.checked_sub(self.ram_base)?).ok()?;
        self.ram.get_mut(start..start.checked_add(usize::try_from(len).ok()?)?)
    }

    pub(crate) fn ram_read(&self, pa: u64, size: u64) -> Option<u64> {
        self.ram_slice(pa, size).map(from_le)
    }

    /// Writes RAM; returns false, and does nothing, for addresses outside.
    pub(crate) fn ram_write(&mut self, pa: u64, size: u64, value: u64) -> bool {
        match self.ram_slice_mut(pa, size) {
            Some(bytes) => {
                put_le(bytes, value);
                if !self.code_pages.is_empty() {
                    self.note_code_write(pa, size);
                }
                true
            }
            None => false,
        }
    }

    /// How much of the read-only memory there is: Spike's is as long as what is in it, in whole pages.
    fn rom_size(&self) -> u64 {
        if self.virt.is_some() { ROM_SIZE } else { (self.rom.len() as u64).next_multiple_of(4096) }
    }

    /// Reads memory or a device; `None` is an access fault. `time` is `mtime`.
    pub(crate) fn read(&mut self, pa: u64, size: u64, time: u64) -> Option<u64> {
        if let Some(v) = self.ram_read(pa, size) {
            return Some(v);
        }
        if pa & (size - 1) != 0 {
            return None;
        }
        if let Some(offset) = within(pa, ROM_BASE, self.rom_size()) {
            let byte = |i: u64| self.rom.get((offset + i) as usize).copied().unwrap_or(0);
            return Some((0..size).rev().fold(0, |v, i| v << 8 | u64::from(byte(i))));
        }
        if let Some(offset) = within(pa, CLINT_BASE, CLINT_SIZE) {
            return self.clint.read(offset, size, time);
        }
        if let (Some(clic), Some(offset)) = (&self.clic, within(pa, CLIC_BASE, CLIC_SIZE)) {
            return Some(clic.read(offset, size));
        }
        if let Some(offset) = self.uart_register(pa, size)? {
            // Reading may lower the interrupt, as claiming one does.
            self.device_written = true;
            return Some(self.uart.read(offset, &mut self.console));
        }
        if let Some(offset) = within(pa, PLIC_BASE, self.plic_size()) {
            self.device_written = true;
            return Some(u64::from(self.plic.read(offset & !3)) >> (8 * (offset & 3)));
        }
        let virt = self.virt.as_mut()?;
        if let Some((slot, offset)) = slot(pa) {
            return Some(virt.slots[slot].read(offset, size));
        }
        if let Some(offset) = within(pa, RTC_BASE, RTC_SIZE) {
            return Some(u64::from(virt.rtc.read(offset, time.wrapping_mul(TICK_NS))));
        }
        within(pa, FINISHER_BASE, FINISHER_SIZE).map(|_| 0)
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
        if let (Some(clic), Some(offset)) = (&mut self.clic, within(pa, CLIC_BASE, CLIC_SIZE)) {
            clic.write(offset, size, value);
            return Some(());
        }
        if let Some(offset) = self.uart_register(pa, size)? {
            self.uart.write(offset, value as u8, &mut self.console);
            return Some(());
        }
        if let Some(offset) = within(pa, PLIC_BASE, self.plic_size()) {
            self.plic.write(offset, value as u32);
            return Some(());
        }
        let virt = self.virt.as_mut()?;
        if let Some((slot, offset)) = slot(pa) {
            virt.slots[slot].write(offset, value as u32);
        } else if let Some(offset) = within(pa, RTC_BASE, RTC_SIZE) {
            virt.rtc.write(offset, value as u32, time.wrapping_mul(TICK_NS));
        } else if let Some(offset) = within(pa, FINISHER_BASE, FINISHER_SIZE) {
            virt.finisher.write(offset, value as u32);
        } else {
            return None;
        }
        Some(())
    }

    /// The register of the serial port at an address, `Some(None)` for other addresses. Spike's port repeats its eight registers
    /// and refuses accesses wider than a byte (`reg-io-width` in the device tree).
    fn uart_register(&self, pa: u64, size: u64) -> Option<Option<u64>> {
        match (within(pa, UART_BASE, UART_SIZE), &self.virt) {
            (Some(_), None) if size != 1 => None,
            (Some(offset), None) => Some(Some(offset & 7)),
            (offset, _) => Some(offset),
        }
    }

    fn plic_size(&self) -> u64 {
        if self.virt.is_some() { PLIC_SIZE } else { PLIC_SIZE_OF_SPIKE }
    }

    /// Lets the devices act, and passes their interrupt lines to the controller. `ns` is the machine's time.
    pub(crate) fn serve_devices(&mut self, ns: u64) {
        let mut level = 0;
        if let Some(virt) = &mut self.virt {
            let (pages, written) = (&mut self.code_pages, &mut self.code_written);
            for (n, slot) in virt.slots.iter_mut().enumerate() {
                slot.serve(&mut self.ram, &mut self.console, &mut |address, len| {
                    written.extend(code_in(pages, address, len));
                });
                level |= u64::from(slot.raised()) << (VIRTIO_SOURCE + n as u32);
            }
            virt.rtc.tick(ns);
            level |= u64::from(virt.rtc.raised()) << RTC_SOURCE;
        }
        let source = if self.virt.is_some() { UART_SOURCE } else { UART_SOURCE_OF_SPIKE };
        level |= u64::from(self.uart.raised(&self.console)) << source;
        let anew = u64::from(self.uart.is_anew(&mut self.console)) << source;
        self.plic.set_level(level, anew);
    }

    /// Whether instructions were decoded from a page.
    pub(crate) fn is_code(&self, page: u64) -> bool {
        code_in(&self.code_pages, page, 1).next().is_some()
    }

    /// Notes that instructions are decoded from a page; whether none were before, and it matters.
    pub(crate) fn note_code(&mut self, page: u64) -> bool {
        let n = page.wrapping_sub(RAM_BASE) >> 12;
        match self.code_pages.get_mut((n / 64) as usize) {
            Some(word) if *word >> (n % 64) & 1 == 0 => {
                *word |= 1 << (n % 64);
                true
            }
            _ => false,
        }
    }

    /// Nothing is decoded from a page any more.
    pub(crate) fn forget_code(&mut self, page: u64) {
        let n = page.wrapping_sub(RAM_BASE) >> 12;
        if let Some(word) = self.code_pages.get_mut((n / 64) as usize) {
            *word &= !(1 << (n % 64));
        }
    }

    /// Notes that a page with decoded instructions is written.
    fn note_code_write(&mut self, pa: u64, len: u64) {
        let before = self.code_written.len();
        self.code_written.extend(code_in(&self.code_pages, pa, len));
        self.device_written |= self.code_written.len() > before;
    }
}

/// The pages of a range from which instructions were decoded.
fn code_in(pages: &[u64], address: u64, len: u64) -> impl Iterator<Item = u64> {
    let page = |pa: u64| pa.wrapping_sub(RAM_BASE) >> 12;
    let end = if pages.is_empty() || len == 0 { page(address) } else { page(address + (len - 1)) + 1 };
    (page(address)..end)
        .filter(|n| pages.get((n / 64) as usize).is_some_and(|word| word >> (n % 64) & 1 != 0))
        .map(|n| RAM_BASE + (n << 12))
}

/// The virtio slot at an address, and the offset in it.
fn slot(pa: u64) -> Option<(usize, u64)> {
    let offset = within(pa, VIRTIO_BASE, VIRTIO_STRIDE * VIRTIO_SLOTS as u64)?;
    Some(((offset / VIRTIO_STRIDE) as usize, offset % VIRTIO_STRIDE))
}

fn within(pa: u64, base: u64, size: u64) -> Option<u64> {
    pa.checked_sub(base).filter(|&o| o < size)
}
