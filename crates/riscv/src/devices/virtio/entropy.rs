//! The entropy device (virtio 1.2, section 5.4). Its bytes come from a seed, so that two runs are the same.

use serde::{Deserialize, Serialize};

use super::queue::{Broken, Chain, Touched};

/// SplitMix64 (Steele, Lea and Flood, 2014).
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Entropy(pub(crate) u64);

impl Entropy {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    pub(crate) fn serve(&mut self, ram: &mut [u8], chain: &Chain, touched: Touched) -> Result<u32, Broken> {
        let mut written = 0_u32;
        for part in &chain.writable {
            for chunk in part.bytes_mut(ram)?.chunks_mut(8) {
                let word = self.next().to_le_bytes();
                chunk.copy_from_slice(&word[..chunk.len()]);
            }
            touched(part.address, part.len);
            written = written.saturating_add(part.len as u32);
        }
        Ok(written)
    }
}
