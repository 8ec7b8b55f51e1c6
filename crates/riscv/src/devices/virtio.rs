//! Virtio over memory-mapped registers: the transport that block device, console, network device and entropy source share.
//!
//! Virtual I/O Device specification, version 1.2: 2.1 (status), 4.2.2 (registers), 4.2.3 (configuration). Only the modern
//! interface exists. What a driver gets wrong sets DEVICE_NEEDS_RESET (2.1.2) and stops the device.

pub(crate) mod block;
pub(crate) mod entropy;
pub(crate) mod queue;

use serde::{Deserialize, Serialize};

use super::console::Console;
use block::Block;
use entropy::Entropy;
use queue::{Broken, Queue};

const MAGIC: u32 = 0x7472_6976;
const VERSION: u32 = 2;
/// QEMU's, which xv6 looks for.
const VENDOR: u32 = 0x554d_4551;
const FEATURE_VERSION_1: u64 = 1 << 32;
/// The status bits that a driver sets last, and that the device sets.
const DRIVER_OK: u32 = 4;
const NEEDS_RESET: u32 = 0x40;

/// The device in a slot.
#[derive(Serialize, Deserialize)]
pub(crate) enum Device {
    Block(Block),
    Console,
    Entropy(Entropy),
    /// A network without other hosts: packets are discarded, and none arrive.
    Network,
}

impl Device {
    /// Section 5: the device types.
    fn id(&self) -> u32 {
        match self {
            Device::Network => 1,
            Device::Block(_) => 2,
            Device::Console => 3,
            Device::Entropy(_) => 4,
        }
    }

    fn features(&self) -> u64 {
        FEATURE_VERSION_1
            | match self {
                Device::Block(_) => block::FEATURES,
                Device::Network => FEATURE_MAC | FEATURE_STATUS,
                Device::Console | Device::Entropy(_) => 0,
            }
    }

    fn queues(&self) -> usize {
        if matches!(self, Device::Console | Device::Network) { 2 } else { 1 }
    }

    fn config(&self) -> Vec<u8> {
        match self {
            Device::Block(block) => block.config(),
            Device::Network => [&ADDRESS[..], &LINK_UP.to_le_bytes()].concat(),
            Device::Console | Device::Entropy(_) => Vec::new(),
        }
    }
}

/// A slot: the registers of the transport, and the device behind them.
#[derive(Serialize, Deserialize)]
pub(crate) struct Slot {
    pub(crate) device: Option<Device>,
    pub(crate) registers: Registers,
}

/// The registers that a driver writes.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Registers {
    status: u32,
    interrupt: u32,
    device_features_half: u32,
    driver_features_half: u32,
    driver_features: u64,
    selected: u32,
    queues: [Queue; 2],
    /// A bit for each queue that the driver notified.
    notified: u32,
}

/// The network device's configuration has an address and a state (5.1.3, 5.1.4).
const FEATURE_MAC: u64 = 1 << 5;
const FEATURE_STATUS: u64 = 1 << 16;
const LINK_UP: u16 = 1;
/// QEMU's first one.
const ADDRESS: [u8; 6] = [0x52, 0x54, 0x00, 0x12, 0x34, 0x56];

/// The queues of the console (5.3.2) and of the network device (5.1.2).
const RECEIVE: usize = 0;
const TRANSMIT: usize = 1;

impl Slot {
    pub(crate) fn new(device: Option<Device>) -> Self {
        Slot { device, registers: Registers::default() }
    }

    /// Whether its interrupt line is high.
    pub(crate) fn raised(&self) -> bool {
        self.registers.interrupt != 0
    }

    pub(crate) fn read(&self, offset: u64, size: u64) -> u64 {
        let r = &self.registers;
        let Some(device) = &self.device else {
            // An empty slot has the identifier 0 (4.2.2.1).
            return u64::from(match offset {
                0x00 => MAGIC,
                0x04 => VERSION,
                _ => 0,
            });
        };
        if offset >= 0x100 {
            let config = device.config();
            let byte = |i: u64| config.get((offset - 0x100 + i) as usize).copied().unwrap_or(0);
            return (0..size).rev().fold(0, |v, i| v << 8 | u64::from(byte(i)));
        }
        let half = |v: u64, which: u32| match which {
            0 => v as u32,
            1 => (v >> 32) as u32,
            _ => 0,
        };
        let selected = self.selected();
        u64::from(match offset {
            0x00 => MAGIC,
            0x04 => VERSION,
            0x08 => device.id(),
            0x0c => VENDOR,
            0x10 => half(device.features(), r.device_features_half),
            0x34 => selected.map_or(0, |_| queue::MOST),
            0x44 => selected.map_or(0, |n| u32::from(r.queues[n].ready)),
            0x60 => r.interrupt,
            0x70 => r.status,
            _ => 0,
        })
    }

    /// The queue that the queue registers are about.
    fn selected(&self) -> Option<usize> {
        let n = self.registers.selected as usize;
        self.device.as_ref().filter(|device| n < device.queues()).map(|_| n)
    }

    pub(crate) fn write(&mut self, offset: u64, value: u32) {
        let selected = self.selected();
        let Some(device) = &self.device else { return };
        let (features, queues) = (device.features(), device.queues());
        let r = &mut self.registers;
        let low = |v: &mut u64| *v = *v & !0xffff_ffff | u64::from(value);
        let high = |v: &mut u64| *v = *v & 0xffff_ffff | u64::from(value) << 32;
        let chosen = selected.and_then(|n| r.queues.get_mut(n));
        match (offset, chosen) {
            (0x14, _) => r.device_features_half = value,
            (0x20, _) => match r.driver_features_half {
                0 => r.driver_features = (r.driver_features & !0xffff_ffff | u64::from(value)) & features,
                1 => {
                    let wanted = r.driver_features & 0xffff_ffff | u64::from(value) << 32;
                    r.driver_features = wanted & features;
                }
                _ => {}
            },
            (0x24, _) => r.driver_features_half = value,
            (0x30, _) => r.selected = value,
            (0x38, Some(queue)) => queue.size = value.min(queue::MOST),
            (0x44, Some(queue)) => queue.ready = value & 1 != 0,
            (0x50, _) if (value as usize) < queues => r.notified |= 1 << value,
            (0x64, _) => r.interrupt &= !value,
            // Writing 0 resets the device (4.2.3.1).
            (0x70, _) if value == 0 => *r = Registers::default(),
            (0x70, _) => r.status = value | r.status & NEEDS_RESET,
            (0x80, Some(queue)) => low(&mut queue.descriptors),
            (0x84, Some(queue)) => high(&mut queue.descriptors),
            (0x90, Some(queue)) => low(&mut queue.available),
            (0x94, Some(queue)) => high(&mut queue.available),
            (0xa0, Some(queue)) => low(&mut queue.used),
            (0xa4, Some(queue)) => high(&mut queue.used),
            _ => {}
        }
    }

    /// Serves what was notified, and passes input on. `touched` receives each address that the device writes to.
    pub(crate) fn serve(&mut self, ram: &mut [u8], console: &mut Console, touched: &mut dyn FnMut(u64, u64)) {
        let Some(device) = &mut self.device else { return };
        let r = &mut self.registers;
        if r.status & (DRIVER_OK | NEEDS_RESET) != DRIVER_OK {
            r.notified = 0;
            return;
        }
        let notified = std::mem::take(&mut r.notified);
        let result = match device {
            Device::Block(block) if notified & 1 != 0 => {
                r.queues[0].serve(ram, touched, |ram, chain, touched| block.serve(ram, chain, touched))
            }
            Device::Entropy(entropy) if notified & 1 != 0 => {
                r.queues[0].serve(ram, touched, |ram, chain, touched| entropy.serve(ram, chain, touched))
            }
            Device::Network if notified >> TRANSMIT & 1 != 0 => {
                r.queues[TRANSMIT].serve(ram, touched, |_, _, _| Ok(0))
            }
            Device::Console => transfer(&mut r.queues, notified, ram, console, touched),
            _ => Ok(false),
        };
        match result {
            Ok(true) => r.interrupt |= 1,
            Ok(false) => {}
            Err(Broken) => {
                // 2.1.2: a configuration change notification tells the driver.
                r.status |= NEEDS_RESET;
                r.interrupt |= 2;
            }
        }
    }
}

/// The console (5.3): bytes from the transmit queue, and typed bytes into the receive queue.
fn transfer(
    queues: &mut [Queue; 2],
    notified: u32,
    ram: &mut [u8],
    console: &mut Console,
    touched: &mut dyn FnMut(u64, u64),
) -> Result<bool, Broken> {
    let mut used = false;
    if notified >> TRANSMIT & 1 != 0 {
        used |= queues[TRANSMIT].serve(ram, touched, |ram, chain, _| {
            for part in &chain.readable {
                console.write(part.bytes(ram)?);
            }
            Ok(0)
        })?;
    }
    while console.has_input() {
        let taken = queues[RECEIVE].serve_one(ram, touched, &mut |ram, chain, touched| {
            let mut written = 0;
            for part in &chain.writable {
                let place = part.bytes_mut(ram)?;
                for byte in place {
                    let Some(typed) = console.read() else { break };
                    *byte = typed;
                    written += 1;
                }
                touched(part.address, part.len);
            }
            Ok(written)
        })?;
        if !taken {
            break;
        }
        used = true;
    }
    Ok(used)
}

#[cfg(test)]
mod tests;
