//! Split virtqueues (virtio 1.2, section 2.7), read without trusting the driver.

use serde::{Deserialize, Serialize};

use crate::map::RAM_BASE;

/// The most descriptors of a queue.
pub(crate) const MOST: u32 = 256;
/// The most bytes of a chain; drivers split larger requests.
const MOST_BYTES: u64 = 8 << 20;

const DESCRIPTOR: u64 = 16;
const NEXT: u64 = 1;
const WRITE: u64 = 2;

/// A driver's violation of the specification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Broken;

/// A queue's registers, and how far the device has come.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Queue {
    pub(crate) size: u32,
    pub(crate) ready: bool,
    pub(crate) descriptors: u64,
    pub(crate) available: u64,
    pub(crate) used: u64,
    /// Entries of the available ring that were taken, and of the used ring that were written.
    taken: u16,
    done: u16,
}

/// A buffer in RAM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) address: u64,
    pub(crate) len: u64,
}

impl Part {
    fn range(self, ram: &[u8]) -> Result<std::ops::Range<usize>, Broken> {
        let start = self.address.checked_sub(RAM_BASE).ok_or(Broken)?;
        let end = start.checked_add(self.len).filter(|&end| end <= ram.len() as u64).ok_or(Broken)?;
        Ok(start as usize..end as usize)
    }

    pub(crate) fn bytes(self, ram: &[u8]) -> Result<&[u8], Broken> {
        let range = self.range(ram)?;
        Ok(&ram[range])
    }

    pub(crate) fn bytes_mut(self, ram: &mut [u8]) -> Result<&mut [u8], Broken> {
        let range = self.range(ram)?;
        Ok(&mut ram[range])
    }
}

/// The buffers of a request: those that the device reads, then those that it writes.
pub(crate) struct Chain {
    pub(crate) readable: Vec<Part>,
    pub(crate) writable: Vec<Part>,
}

/// Receives the address and length of each range that a device writes.
pub(crate) type Touched<'a> = &'a mut dyn FnMut(u64, u64);
/// Serves one chain, and yields how many bytes were written.
type Serve<'a> = dyn FnMut(&mut [u8], &Chain, Touched) -> Result<u32, Broken> + 'a;

fn read<const N: usize>(ram: &[u8], address: u64) -> Result<u64, Broken> {
    let bytes = Part { address, len: N as u64 }.bytes(ram)?;
    Ok(bytes.iter().rev().fold(0, |v, &byte| v << 8 | u64::from(byte)))
}

/// The place of an entry of a table; addresses may be anything.
fn at(base: u64, offset: u64) -> Result<u64, Broken> {
    base.checked_add(offset).ok_or(Broken)
}

impl Queue {
    /// Serves every chain that is available now; whether the driver is to be interrupted.
    pub(crate) fn serve(
        &mut self,
        ram: &mut [u8],
        touched: Touched,
        mut serve: impl FnMut(&mut [u8], &Chain, Touched) -> Result<u32, Broken>,
    ) -> Result<bool, Broken> {
        let mut some = false;
        // A driver can have no more chains under way than there are descriptors.
        for _ in 0..self.size {
            if !self.serve_one(ram, touched, &mut serve)? {
                break;
            }
            some = true;
        }
        // 2.7.7: the driver may ask for no interrupts.
        Ok(some && read::<2>(ram, self.available)? & 1 == 0)
    }

    /// Serves the next chain, if there is one.
    pub(crate) fn serve_one(
        &mut self,
        ram: &mut [u8],
        touched: Touched,
        serve: &mut Serve,
    ) -> Result<bool, Broken> {
        if !self.ready || self.size == 0 {
            return Ok(false);
        }
        if !self.size.is_power_of_two() {
            return Err(Broken);
        }
        let size = self.size as u16;
        let available = read::<2>(ram, at(self.available, 2)?)? as u16;
        if available == self.taken {
            return Ok(false);
        }
        let slot = u64::from(self.taken % size);
        let head = read::<2>(ram, at(self.available, 4 + 2 * slot)?)?;
        let chain = self.chain(ram, head)?;
        let written = serve(ram, &chain, touched)?;
        let slot = u64::from(self.done % size);
        let element = Part { address: at(self.used, 4 + 8 * slot)?, len: 8 };
        element.bytes_mut(ram)?.copy_from_slice(&(head | u64::from(written) << 32).to_le_bytes());
        self.taken = self.taken.wrapping_add(1);
        self.done = self.done.wrapping_add(1);
        let index = Part { address: at(self.used, 2)?, len: 2 };
        index.bytes_mut(ram)?.copy_from_slice(&self.done.to_le_bytes());
        Ok(true)
    }

    /// Collects the descriptors from `head` on.
    fn chain(&self, ram: &[u8], head: u64) -> Result<Chain, Broken> {
        let mut chain = Chain { readable: Vec::new(), writable: Vec::new() };
        let (mut index, mut bytes) = (head, 0);
        // A chain with more links than there are descriptors is a loop (2.7.5.3).
        for _ in 0..self.size {
            if index >= u64::from(self.size) {
                return Err(Broken);
            }
            let place = at(self.descriptors, index * DESCRIPTOR)?;
            let part = Part { address: read::<8>(ram, place)?, len: read::<4>(ram, at(place, 8)?)? };
            let flags = read::<2>(ram, at(place, 12)?)?;
            bytes += part.len;
            part.bytes(ram)?;
            if bytes > MOST_BYTES || flags & !(NEXT | WRITE) != 0 {
                return Err(Broken);
            }
            match flags & WRITE {
                // 2.7.4.2: what the device reads comes first.
                0 if !chain.writable.is_empty() => return Err(Broken),
                0 => chain.readable.push(part),
                _ => chain.writable.push(part),
            }
            if flags & NEXT == 0 {
                return Ok(chain);
            }
            index = read::<2>(ram, at(place, 14)?)?;
        }
        Err(Broken)
    }
}
