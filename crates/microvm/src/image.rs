//! The guest's image, and what a loader sets in it.

/// The image in the tree; `cargo xtask guests` builds it.
static BYTES: &[u8] = include_bytes!("../guests/x86/images/tolls.bin");

// Offsets in its head: guests/x86/image.S.
const ENTRY: usize = 0x10;
const TRANSLATION: usize = 0x14;
const RESULTS: usize = 0x18;
const RESULTS_BYTES: usize = 0x1c;
#[cfg(test)]
const MEMORY_END: usize = 0x20;
const SAMPLES: usize = 0x28;
const FLAGS: usize = 0x2c;
const SABOTAGE: usize = 0x30;
const DEADLINE: usize = 0x34;
const MASK: usize = 0x38;

/// Where it is loaded.
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code, reason = "only KVM loads it"))]
pub(crate) const LOAD: usize = 0x10_0000;

/// A fault built into the guest, to test the code that runs it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u32)]
pub enum Sabotage {
    /// It works.
    #[default]
    None = 0,
    /// An exception without a table of handlers.
    TripleFault = 1,
    /// An endless loop.
    Hang = 2,
    /// Pseudo-random bytes where the table should be.
    Rubbish = 3,
    /// An unexpected exception in the first phase; the others go on.
    StrayFault = 4,
    /// A count of samples above the capacity.
    Overcount = 5,
    /// `hlt` with interrupts off.
    Halt = 6,
    /// The end, before the table is complete.
    Unfinished = 7,
    /// Endless port writes.
    Runaway = 8,
}

/// The parameters of the guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// Crossings of each phase, at most [`CAPACITY`](crate::CAPACITY); more are cut by the guest.
    pub samples: u32,
    /// Which phases, one bit each in the order of [`PHASES`](crate::PHASES).
    pub phases: u64,
    /// From the programming of the timer to its deadline, in ticks of the guest's counter.
    pub deadline_ticks: u32,
    /// The fault to inject.
    pub sabotage: Sabotage,
}

impl Default for Params {
    /// Every phase 128 times; 1 M ticks to the deadline, which is a fraction of a millisecond.
    fn default() -> Self {
        Self { samples: 128, phases: u64::MAX, deadline_ticks: 1_000_000, sabotage: Sabotage::None }
    }
}

/// The guest also writes its results to QEMU's debug port.
pub(crate) const DUMP: u32 = 1;
/// There is a local interrupt controller.
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code, reason = "only KVM loads it"))]
pub(crate) const HAS_APIC: u32 = 2;
/// Both doorbells work.
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code, reason = "only KVM loads it"))]
pub(crate) const HAS_DOORBELLS: u32 = 4;

/// An image with its parameters set.
#[derive(Clone, Debug)]
pub struct Image {
    bytes: Vec<u8>,
}

impl Image {
    /// The guest with these parameters; `flags` describes its environment.
    pub(crate) fn new(params: &Params, flags: u32) -> Self {
        let mut image = Self { bytes: BYTES.to_vec() };
        image.set(SAMPLES, params.samples);
        image.set(FLAGS, flags);
        image.set(SABOTAGE, params.sabotage as u32);
        image.set(DEADLINE, params.deadline_ticks);
        image.bytes[MASK..MASK + 8].copy_from_slice(&params.phases.to_le_bytes());
        image
    }

    fn set(&mut self, at: usize, value: u32) {
        self.bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
    }

    /// The field of the head at this offset. It cannot fail: the image is part of this crate, and a test reads every field.
    fn field(&self, at: usize) -> usize {
        let mut four = [0; 4];
        four.copy_from_slice(&self.bytes[at..at + 4]);
        u32::from_le_bytes(four) as usize
    }

    /// The bytes to load at 1 MiB, or to give to QEMU as a kernel.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Where long mode begins.
    #[must_use]
    pub fn entry(&self) -> usize {
        self.field(ENTRY)
    }

    /// The root of the page tables.
    #[must_use]
    pub fn translation(&self) -> usize {
        self.field(TRANSLATION)
    }

    /// The addresses of the table of results.
    #[must_use]
    pub fn results(&self) -> std::ops::Range<usize> {
        let start = self.field(RESULTS);
        start..start + self.field(RESULTS_BYTES)
    }
}

#[cfg(test)]
mod tests {
    use super::{BYTES, HAS_APIC, Image, LOAD, Params};
    use crate::TABLE_BYTES;

    /// The head is consistent with this crate's constants and with itself.
    #[test]
    fn the_head_is_sound() {
        let image = Image::new(&Params::default(), HAS_APIC);
        assert_eq!(&BYTES[..8], b"TOLLX86\0");
        assert_eq!(image.field(8), 2, "version");
        assert_eq!(image.field(12), BYTES.len());
        let inside = LOAD..LOAD + BYTES.len();
        assert!(inside.contains(&image.entry()));
        assert!(inside.contains(&image.translation()));
        assert_eq!(image.translation() % 4096, 0);
        assert_eq!(image.results().len(), TABLE_BYTES);
        assert!(image.results().start >= inside.end && image.results().end <= image.field(super::MEMORY_END));
        assert!(image.field(super::MEMORY_END) <= 2 << 20, "the guest's own translation covers 2 MiB");
        assert_eq!(image.field(super::SAMPLES), 128);
        assert_eq!(image.field(super::FLAGS), 2);
    }
}
