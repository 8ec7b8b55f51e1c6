//! Where things are in the address space, in Spike's memory map and in that of QEMU's `virt`.

/// Where RAM begins, in both memory maps.
pub(crate) const RAM_BASE: u64 = 0x8000_0000;
/// Where the read-only memory with the device tree begins.
pub(crate) const ROM_BASE: u64 = 0x1000;
pub(crate) const ROM_SIZE: u64 = 0xf000;
pub(crate) const FINISHER_BASE: u64 = 0x10_0000;
pub(crate) const FINISHER_SIZE: u64 = 0x1000;
pub(crate) const RTC_BASE: u64 = 0x10_1000;
pub(crate) const RTC_SIZE: u64 = 0x1000;
pub(crate) const RTC_SOURCE: u32 = 11;
pub(crate) const CLINT_BASE: u64 = 0x200_0000;
pub(crate) const CLINT_SIZE: u64 = 0x10000;
pub(crate) const CLIC_BASE: u64 = 0x400_0000;
pub(crate) const CLIC_SIZE: u64 = 0x2000;
pub(crate) const PLIC_BASE: u64 = 0xc00_0000;
pub(crate) const PLIC_SIZE: u64 = 0x60_0000;
/// The same on Spike's machine (riscv/platform.h).
pub(crate) const PLIC_SIZE_OF_SPIKE: u64 = 0x100_0000;
pub(crate) const UART_BASE: u64 = 0x1000_0000;
pub(crate) const UART_SIZE: u64 = 0x100;
pub(crate) const UART_SOURCE: u32 = 10;
/// The same on Spike's machine (`NS16550_INTERRUPT_ID`).
pub(crate) const UART_SOURCE_OF_SPIKE: u32 = 1;
pub(crate) const VIRTIO_BASE: u64 = 0x1000_1000;
/// The distance from one virtio slot to the next.
pub(crate) const VIRTIO_STRIDE: u64 = 0x1000;
pub(crate) const VIRTIO_SLOTS: usize = 8;
/// The interrupt source of the first virtio slot.
pub(crate) const VIRTIO_SOURCE: u32 = 1;

/// The most harts that a machine has.
pub(crate) const MOST_HARTS: usize = 8;
/// Ticks of `mtime` in a second; an instruction counts as a nanosecond of it.
pub(crate) const TIMEBASE_HZ: u32 = 10_000_000;
/// Nanoseconds of a tick.
pub(crate) const TICK_NS: u64 = 1_000_000_000 / TIMEBASE_HZ as u64;

/// Whether a device is at an address that can be accessed: below RAM, unless RAM is there.
pub fn is_device(pa: u64) -> bool {
    pa < RAM_BASE
        && [
            (ROM_BASE, ROM_SIZE),
            (FINISHER_BASE, FINISHER_SIZE + RTC_SIZE),
            (CLINT_BASE, CLINT_SIZE),
            (CLIC_BASE, CLIC_SIZE),
            (PLIC_BASE, PLIC_SIZE),
            (UART_BASE, 0x1000 + VIRTIO_STRIDE * VIRTIO_SLOTS as u64),
        ]
        .iter()
        .any(|&(base, size)| pa.wrapping_sub(base) < size)
}

/// How far before the usual RAM the headers of a file can be.
const BEFORE_RAM: u64 = 1 << 16;

/// Where RAM can be for a program from one address to another, the first below the usual RAM: from its page to the next
/// device, at most so many bytes; its first address and size. `None` if there is a device in between, or no program below.
///
/// ```
/// use tollgate_riscv::ram_below;
/// assert_eq!(ram_below(0x10000, 0x10400, 1 << 20), Some((0x10000, 0xf0000)));
/// // Linked with -Ttext=0x80000000, with the file's headers in front.
/// assert_eq!(ram_below(0x7fff_f000, 0x8000_0400, 1 << 20), Some((0x7fff_f000, 1 << 20)));
/// assert_eq!(ram_below(0x8000_0000, 0x8000_0400, 1 << 20), None);
/// assert_eq!(ram_below(0x1000_0000, 0x8000_0400, 1 << 20), None);
/// ```
pub fn ram_below(first: u64, end: u64, most: u64) -> Option<(u64, u64)> {
    let base = first & !0xfff;
    // The headers of a file whose code is linked at the usual RAM are a page before it.
    if (RAM_BASE - BEFORE_RAM..RAM_BASE).contains(&base) && end > RAM_BASE {
        return Some((base, most));
    }
    let ends = [FINISHER_BASE, CLINT_BASE, RAM_BASE];
    let last = ends.into_iter().find(|&last| end <= last)?;
    let free = base >= CLINT_BASE + CLINT_SIZE || last <= CLINT_BASE;
    (free && base < last).then(|| (base, most.min(last - base)))
}

/// Assembles up to eight little-endian bytes. (Of the usual numbers without a loop: page-table walks do nothing else.)
#[inline]
pub(crate) fn from_le(bytes: &[u8]) -> u64 {
    if let Ok(bytes) = bytes.try_into() {
        u64::from_le_bytes(bytes)
    } else if let Ok(bytes) = bytes.try_into() {
        u32::from_le_bytes(bytes).into()
    } else if let Ok(bytes) = bytes.try_into() {
        u16::from_le_bytes(bytes).into()
    } else {
        bytes.iter().rev().fold(0, |v, &b| v << 8 | u64::from(b))
    }
}

/// The reverse: the lowest bytes of a value, as many as there is room for.
#[inline]
pub(crate) fn put_le(bytes: &mut [u8], value: u64) {
    match bytes.len() {
        8 => bytes.copy_from_slice(&value.to_le_bytes()),
        4 => bytes.copy_from_slice(&(value as u32).to_le_bytes()),
        _ => bytes.iter_mut().zip(value.to_le_bytes()).for_each(|(byte, value)| *byte = value),
    }
}
