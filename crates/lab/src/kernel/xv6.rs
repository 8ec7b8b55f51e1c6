//! Our own process instead of the first one of xv6: its file system is changed in memory.

/// A block, the file system's magic number, and the root's number.
const BLOCK: usize = 1024;
const MAGIC: u32 = 0x1020_3040;
const ROOT: usize = 1;
/// Blocks of a file that its inode names itself.
const DIRECT: usize = 12;

/// An xv6 file system, whose layout is that of `kernel/fs.h`.
struct FileSystem<'a> {
    image: &'a mut [u8],
}

impl FileSystem<'_> {
    fn word(&self, at: usize) -> Option<u32> {
        Some(u32::from_le_bytes(*self.image.get(at..)?.first_chunk()?))
    }

    /// Where an inode is: two bytes each of type, major, minor, links, four bytes of size, the blocks.
    fn inode(&self, number: usize) -> Option<usize> {
        if self.word(BLOCK)? != MAGIC {
            return None;
        }
        (self.word(BLOCK + 24)? as usize).checked_mul(BLOCK)?.checked_add(64 * number)
    }

    fn size(&self, inode: usize) -> Option<usize> {
        Some(self.word(inode + 8)? as usize)
    }

    /// Where a block of a file is.
    fn block(&self, inode: usize, n: usize) -> Option<usize> {
        (self.word(inode + 12 + 4 * n)? as usize).checked_mul(BLOCK)
    }

    /// The inode of a file in the root.
    fn find(&self, name: &[u8]) -> Option<usize> {
        let root = self.inode(ROOT)?;
        let entries = self.size(root)?.min(DIRECT * BLOCK) / 16;
        (0..entries).find_map(|n| {
            let at = self.block(root, 16 * n / BLOCK)?.checked_add(16 * n % BLOCK)?;
            let entry = self.image.get(at..)?.first_chunk::<16>()?;
            let is_it = entry[2..].split(|byte| *byte == 0).next()? == name;
            is_it.then(|| self.inode(usize::from(u16::from_le_bytes([entry[0], entry[1]]))))?
        })
    }

    /// Replaces the contents of a file that is not shorter.
    fn replace(&mut self, name: &[u8], contents: &[u8]) -> Option<()> {
        let inode = self.find(name)?;
        if contents.len() > self.size(inode)?.min(DIRECT * BLOCK) {
            return None;
        }
        for (n, piece) in contents.chunks(BLOCK).enumerate() {
            let at = self.block(inode, n)?;
            self.image.get_mut(at..at.checked_add(piece.len())?)?.copy_from_slice(piece);
        }
        let size = (contents.len() as u32).to_le_bytes();
        self.image.get_mut(inode + 8..inode + 12)?.copy_from_slice(&size);
        Some(())
    }
}

/// Puts a program in the place of `/init`; `None` if the image is not a file system of xv6 with one that is as large.
pub(super) fn install(image: &mut [u8], program: &[u8]) -> Option<()> {
    FileSystem { image }.replace(b"init", program)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file system with `init` of one block, by `kernel/fs.h`.
    fn image() -> Vec<u8> {
        let mut image = vec![0; 8 * BLOCK];
        let mut put = |at: usize, bytes: &[u8]| image[at..at + bytes.len()].copy_from_slice(bytes);
        put(BLOCK, &MAGIC.to_le_bytes());
        put(BLOCK + 24, &2_u32.to_le_bytes());
        // The root: three entries in block 4; init: inode 3, block 5.
        put(2 * BLOCK + 64 + 8, &48_u32.to_le_bytes());
        put(2 * BLOCK + 64 + 12, &4_u32.to_le_bytes());
        put(4 * BLOCK, b"\x01\0.");
        put(4 * BLOCK + 16, b"\x02\0initial");
        put(4 * BLOCK + 32, b"\x03\0init");
        put(2 * BLOCK + 3 * 64 + 8, &600_u32.to_le_bytes());
        put(2 * BLOCK + 3 * 64 + 12, &5_u32.to_le_bytes());
        image
    }

    #[test]
    fn the_first_process_is_replaced_and_nothing_else() {
        let (before, mut after) = (image(), image());
        install(&mut after, &[7; 500]).unwrap();
        assert_eq!(after[5 * BLOCK..5 * BLOCK + 500], [7; 500]);
        assert_eq!(after[2 * BLOCK + 3 * 64 + 8..][..4], 500_u32.to_le_bytes());
        let changed = before.iter().zip(&after).filter(|(a, b)| a != b).count();
        // The size's two bytes and the contents.
        assert_eq!(changed, 502);
    }

    #[test]
    fn what_is_no_file_system_is_not_changed() {
        assert_eq!(install(&mut image(), &[7; 601]), None);
        assert_eq!(install(&mut vec![0; 4096], &[7]), None);
        assert_eq!(install(&mut [], &[7]), None);
        let mut cut = image();
        cut.truncate(5 * BLOCK);
        assert_eq!(install(&mut cut, &[7; 500]), None);
        for at in 0..3 * BLOCK {
            // No block number leads out of the image.
            let mut wrong = image();
            wrong[at] = 0xff;
            let _ = install(&mut wrong, &[7; 500]);
        }
    }
}
