//! The page tables of a random program.

use super::super::common::Rng;
use super::{BASE, DATA, DATA_PAGES, Program, TABLES};
use tollgate_riscv::Extension;

impl Program<'_> {
    /// Values of `satp`: half of them for S-mode's code, half for U-mode's.
    pub(super) fn roots(&self) -> Vec<u64> {
        let page = |n: u64| (BASE + TABLES) / 4096 + n;
        if self.isa.is_rv64() {
            [(9, 4), (8, 0), (9, 5), (8, 1)].map(|(mode, n)| mode << 60 | n << 44 | page(n)).into()
        } else {
            [0, 1].map(|n| 1 << 31 | n << 22 | page(n)).into()
        }
    }

    /// Page tables: two roots, which map the image for U-mode or S-mode, and S-mode's handler once more; below them the same
    /// random entries. On RV64 two more levels are above, for Sv48.
    pub(super) fn tables(&mut self) -> Vec<u8> {
        const POINTER: u64 = 1;
        const LEAF: u64 = 0xcf;
        const USER: u64 = 0x10;
        let rv64 = self.isa.is_rv64();
        let page = |n: u64| ((BASE + TABLES) / 4096 + n) << 10;
        let (entries, size) = if rv64 { (512, 8) } else { (1024, 4) };
        let image = BASE >> 2;
        let mut pages = vec![vec![0_u64; entries]; 6];
        // Of small pages: all flags, and rarely a bit that must be zero.
        for entry in &mut pages[3] {
            let to = (BASE + DATA) / 4096 + self.rng.below(DATA_PAGES);
            let flags = self.rng.next() & 0xff | if self.rng.below(8) == 0 { 0 } else { 0x43 };
            let flags = flags | if self.rng.below(2) == 0 { 0xd7 } else { 0 };
            // Pages of shadow stacks.
            let shadow = self.isa.has(Extension::Zicfiss) && self.rng.below(3) == 0;
            *entry = to << 10 | if shadow { flags & 0x10 | 0xc5 } else { flags };
            if rv64 && self.rng.below(16) == 0 {
                *entry |= 1 << (54 + self.rng.below(10));
            }
        }
        let large = |rng: &mut Rng| image | 0xc3 | rng.next() & 0x1c;
        if rv64 {
            pages[2][0] = page(3) | POINTER;
            pages[2][1] = large(self.rng);
            // Not a multiple of its size, and a pointer with bits that it may not have.
            pages[2][2] = (image | LEAF) + (1 << 10);
            pages[2][3] = page(3) | POINTER | self.rng.pick(&[0x10, 0x40, 0x80]);
        }
        for (root, user) in [(0, USER), (1, 0)] {
            // (U-mode's roots come first, as their number does.)
            if rv64 {
                pages[root][0] = page(2) | POINTER;
                pages[root][1] = (image + (1 << 10)) | LEAF;
                pages[root][2] = image | LEAF | user;
                pages[root][3] = image | LEAF;
                pages[root + 4][0] = page(root as u64) | POINTER;
            } else {
                pages[root][0] = page(3) | POINTER;
                pages[root][1] = large(self.rng);
                pages[root][2] = (image | LEAF) + (1 << 10);
                pages[root][512] = image | LEAF | user;
                pages[root][768] = image | LEAF;
            }
        }
        pages.concat().into_iter().flat_map(|entry| entry.to_le_bytes().into_iter().take(size)).collect()
    }
}
