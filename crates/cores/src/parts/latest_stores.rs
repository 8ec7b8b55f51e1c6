//! Which of the latest stores a load overlaps with.

/// The latest stores, the last one in the lower half: each one's address, and its size in the highest bits.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LatestStores(u64);

impl LatestStores {
    /// With which of them a load overlaps, within a page. The lowest bit is for the latest. A store is noted.
    #[inline(always)]
    pub(crate) fn overlap(&mut self, va: u64, size: u8, store: bool) -> u8 {
        let [latest, before] = [self.0 as u32, (self.0 >> 32) as u32];
        if store {
            self.0 = self.0 << 32 | u64::from(va as u32 & 0xfff | u32::from(size) << 24);
            return 0;
        }
        let same_word = |store: u32| (store ^ va as u32) & 0xff8 == 0;
        if same_word(latest) || same_word(before) { Self::bytes(va, size, [latest, before]) } else { 0 }
    }

    #[cold]
    fn bytes(va: u64, size: u8, stores: [u32; 2]) -> u8 {
        let bytes = |va: u64, size: u32| (((1_u32 << size) - 1) << (va & 7)) & 0xff;
        let overlaps = |store: u32| {
            let shared = bytes(store.into(), store >> 24) & bytes(va, size.into());
            u8::from((store ^ va as u32) & 0xff8 == 0 && shared != 0)
        };
        overlaps(stores[0]) | overlaps(stores[1]) << 1
    }
}
