//! The block device (virtio 1.2, section 5.2), copy on write: what the guest writes stays in memory.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::arrays::long_array;

use super::queue::{Broken, Chain, Part, Touched};

/// Where a drive's bytes come from.
pub trait Storage: Send {
    /// How many bytes there are.
    fn len(&self) -> u64;

    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Reads bytes, all of which exist.
    ///
    /// # Errors
    /// Any error is an I/O error to the guest.
    fn read(&mut self, at: u64, bytes: &mut [u8]) -> std::io::Result<()>;
}

impl Storage for Vec<u8> {
    fn len(&self) -> u64 {
        self.as_slice().len() as u64
    }

    fn read(&mut self, at: u64, bytes: &mut [u8]) -> std::io::Result<()> {
        let start = usize::try_from(at).unwrap_or(usize::MAX);
        let end = start.saturating_add(bytes.len());
        bytes.copy_from_slice(self.get(start..end).ok_or(std::io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }
}

pub(crate) const SECTOR: u64 = 512;

/// VIRTIO_BLK_F_FLUSH.
pub(crate) const FEATURES: u64 = 1 << 9;

/// Request types (5.2.6) and their results.
const IN: u64 = 0;
const OUT: u64 = 1;
const FLUSH: u64 = 4;
const GET_ID: u64 = 8;
const OK: u8 = 0;
const IO_ERROR: u8 = 1;
const UNSUPPORTED: u8 = 2;

/// The new contents of a sector.
#[derive(Serialize, Deserialize)]
pub(crate) struct Sector(#[serde(with = "long_array")] [u8; SECTOR as usize]);

/// The device: the drive, and the sectors that were written.
#[derive(Serialize, Deserialize)]
pub(crate) struct Block {
    #[serde(skip, default = "no_storage")]
    pub(crate) storage: Box<dyn Storage>,
    written: BTreeMap<u64, Sector>,
}

/// The drive's file is not in a snapshot.
fn no_storage() -> Box<dyn Storage> {
    Box::new(Vec::new())
}

impl Block {
    pub(crate) fn new(storage: Box<dyn Storage>) -> Self {
        Block { storage, written: BTreeMap::new() }
    }

    /// The capacity in sectors.
    pub(crate) fn sectors(&self) -> u64 {
        self.storage.len() / SECTOR
    }

    /// 5.2.4: the capacity comes first.
    pub(crate) fn config(&self) -> Vec<u8> {
        self.sectors().to_le_bytes().to_vec()
    }

    pub(crate) fn serve(&mut self, ram: &mut [u8], chain: &Chain, touched: Touched) -> Result<u32, Broken> {
        let header = *chain.readable.first().filter(|part| part.len == 16).ok_or(Broken)?;
        let word = |range| header.bytes(ram).map(|bytes| crate::map::from_le(&bytes[range]));
        let (kind, sector) = (word(0..4)?, word(8..16)?);
        let (status, data) = chain.writable.split_last().filter(|(last, _)| last.len == 1).ok_or(Broken)?;
        let mut written = 1_u32;
        let result = match kind {
            IN => {
                let result = self
                    .transfer(sector, data, |block, sector, part| block.read(sector, part.bytes_mut(ram)?))?;
                for part in data {
                    touched(part.address, part.len);
                    written = written.saturating_add(part.len as u32);
                }
                result
            }
            OUT => self.transfer(sector, &chain.readable[1..], |block, sector, part| {
                block.write(sector, part.bytes(ram)?);
                Ok(true)
            })?,
            FLUSH => OK,
            GET_ID => {
                let name = b"tollgate\0";
                if let Some(part) = data.first().filter(|part| part.len >= name.len() as u64) {
                    part.bytes_mut(ram)?[..name.len()].copy_from_slice(name);
                    written += name.len() as u32;
                }
                OK
            }
            _ => UNSUPPORTED,
        };
        status.bytes_mut(ram)?[0] = result;
        Ok(written)
    }

    /// Does `each` for the parts of a request, one behind the other on the drive; yields the status.
    fn transfer(
        &mut self,
        sector: u64,
        parts: &[Part],
        mut each: impl FnMut(&mut Self, u64, Part) -> Result<bool, Broken>,
    ) -> Result<u8, Broken> {
        let mut at = sector;
        for &part in parts {
            let end = at.checked_add(part.len / SECTOR);
            if part.len % SECTOR != 0 || end.is_none_or(|end| end > self.sectors()) {
                return Ok(IO_ERROR);
            }
            if !each(self, at, part)? {
                return Ok(IO_ERROR);
            }
            at += part.len / SECTOR;
        }
        Ok(OK)
    }

    fn read(&mut self, sector: u64, bytes: &mut [u8]) -> Result<bool, Broken> {
        if self.storage.read(sector * SECTOR, bytes).is_err() {
            return Ok(false);
        }
        let end = sector + bytes.len() as u64 / SECTOR;
        for (&at, written) in self.written.range(sector..end) {
            let place = ((at - sector) * SECTOR) as usize;
            bytes[place..place + SECTOR as usize].copy_from_slice(&written.0);
        }
        Ok(true)
    }

    fn write(&mut self, sector: u64, bytes: &[u8]) {
        for (at, chunk) in (sector..).zip(bytes.chunks_exact(SECTOR as usize)) {
            if let Ok(chunk) = chunk.try_into() {
                self.written.insert(at, Sector(chunk));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_saved_and_the_rest_is_the_files() {
        let mut block = Block::new(Box::new(vec![1; 1024]));
        block.write(1, &[7; 512]);
        let saved = postcard::to_stdvec(&block).unwrap();
        let mut restored: Block = postcard::from_bytes(&saved).unwrap();
        restored.storage = Box::new(vec![1; 1024]);
        let mut bytes = [0; 1024];
        assert!(restored.read(0, &mut bytes).is_ok_and(|done| done));
        assert_eq!((&bytes[..512], &bytes[512..]), (&[1; 512][..], &[7; 512][..]));
    }
}
