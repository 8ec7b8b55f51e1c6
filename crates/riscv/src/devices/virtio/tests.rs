//! A driver of our own, one that behaves and one that does not.

use super::*;
use crate::map::RAM_BASE;

const SIZE: u64 = 8;
const DESCRIPTORS: u64 = RAM_BASE;
const AVAILABLE: u64 = RAM_BASE + 0x1000;
const USED: u64 = RAM_BASE + 0x2000;
const DATA: u64 = RAM_BASE + 0x3000;

/// A slot whose driver has set up a queue, and the RAM.
struct Scene {
    slot: Slot,
    ram: Vec<u8>,
    console: Console,
    queue: u32,
    offered: u16,
}

impl Scene {
    fn new(device: Device, queue: u32) -> Self {
        let mut slot = Slot::new(Some(device));
        slot.write(0x30, queue);
        slot.write(0x38, SIZE as u32);
        for (offset, address) in [(0x80, DESCRIPTORS), (0x90, AVAILABLE), (0xa0, USED)] {
            slot.write(offset, address as u32);
            slot.write(offset + 4, (address >> 32) as u32);
        }
        slot.write(0x44, 1);
        slot.write(0x70, 0xf);
        Scene { slot, ram: vec![0; 0x10000], console: Console::new(100), queue, offered: 0 }
    }

    fn put(&mut self, at: u64, bytes: &[u8]) {
        let start = (at - RAM_BASE) as usize;
        self.ram[start..start + bytes.len()].copy_from_slice(bytes);
    }

    fn get(&self, at: u64, len: usize) -> &[u8] {
        let start = (at - RAM_BASE) as usize;
        &self.ram[start..start + len]
    }

    fn descriptor(&mut self, n: u64, address: u64, len: u32, flags: u16, next: u16) {
        let mut bytes = address.to_le_bytes().to_vec();
        bytes.extend(len.to_le_bytes());
        bytes.extend(flags.to_le_bytes());
        bytes.extend(next.to_le_bytes());
        self.put(DESCRIPTORS + 16 * n, &bytes);
    }

    /// Offers the chain that begins at a descriptor, and notifies.
    fn offer(&mut self, head: u16) {
        let slot = u64::from(self.offered) % SIZE;
        self.put(AVAILABLE + 4 + 2 * slot, &head.to_le_bytes());
        self.offered += 1;
        let offered = self.offered;
        self.put(AVAILABLE + 2, &offered.to_le_bytes());
        self.slot.write(0x50, self.queue);
        self.serve();
    }

    fn serve(&mut self) {
        self.slot.serve(&mut self.ram, &mut self.console, &mut |_, _| ());
    }

    /// The used ring: how many entries, and how many bytes the last one says were written.
    fn used(&self) -> (u16, u32) {
        let count = u16::from_le_bytes(self.get(USED + 2, 2).try_into().unwrap());
        let last = u64::from(count.wrapping_sub(1)) % SIZE;
        (count, u32::from_le_bytes(self.get(USED + 8 + 8 * last, 4).try_into().unwrap()))
    }

    fn broken(&self) -> bool {
        self.slot.read(0x70, 4) as u32 & NEEDS_RESET != 0
    }

    /// A request to the block device of one sector; yields its status.
    fn request(&mut self, kind: u32, sector: u64) -> u8 {
        let mut header = kind.to_le_bytes().to_vec();
        header.extend([0; 4]);
        header.extend(sector.to_le_bytes());
        self.put(DATA, &header);
        self.put(DATA + 0xff, &[0xee]);
        self.descriptor(0, DATA, 16, 1, 1);
        self.descriptor(1, DATA + 0x100, 512, if kind == 0 { 3 } else { 1 }, 2);
        self.descriptor(2, DATA + 0xff, 1, 2, 0);
        self.offer(0);
        self.get(DATA + 0xff, 1)[0]
    }
}

fn drive() -> Scene {
    let bytes: Vec<u8> = (0..4 * 512u32).map(|i| (i / 512) as u8 + 1).collect();
    Scene::new(Device::Block(Block::new(Box::new(bytes))), 0)
}

#[test]
fn a_drive_is_read_and_what_is_written_is_read_back() {
    let mut s = drive();
    assert_eq!((s.slot.read(0x08, 4), s.slot.read(0x100, 8)), (2, 4));
    assert_eq!(s.request(0, 2), 0);
    assert_eq!(s.get(DATA + 0x100, 512), [3; 512]);
    assert_eq!(s.used(), (1, 513));
    assert!(s.slot.raised());
    s.slot.write(0x64, 1);
    assert!(!s.slot.raised());

    s.put(DATA + 0x100, &[0x55; 512]);
    assert_eq!(s.request(1, 3), 0);
    assert_eq!(s.used(), (2, 1));
    s.put(DATA + 0x100, &[0; 512]);
    assert_eq!(s.request(0, 3), 0);
    assert_eq!(s.get(DATA + 0x100, 512), [0x55; 512]);
    assert_eq!(s.request(0, 2), 0);
    assert_eq!(s.get(DATA + 0x100, 512), [3; 512]);
}

#[test]
fn requests_that_cannot_be_done_have_a_status() {
    let mut s = drive();
    assert_eq!(s.request(0, 4), 1, "behind the end");
    assert_eq!(s.request(1, u64::MAX), 1, "the sector wraps");
    assert_eq!(s.request(77, 0), 2, "no such request");
    assert!(!s.broken());
}

#[test]
fn a_driver_that_breaks_the_rules_stops_the_device_and_no_more() {
    type Break = fn(&mut Scene);
    let cases: [(&str, Break); 8] = [
        ("a loop", |s| {
            s.descriptor(0, DATA, 16, 1, 1);
            s.descriptor(1, DATA, 16, 1, 0);
            s.offer(0);
        }),
        ("a buffer outside RAM", |s| {
            s.descriptor(0, RAM_BASE - 8, 16, 0, 0);
            s.offer(0);
        }),
        ("a buffer that wraps", |s| {
            s.descriptor(0, u64::MAX - 3, 16, 0, 0);
            s.offer(0);
        }),
        ("a descriptor that does not exist", |s| s.offer(200)),
        ("a chain to one that does not exist", |s| {
            s.descriptor(0, DATA, 16, 1, 9);
            s.offer(0);
        }),
        ("what is read behind what is written", |s| {
            s.descriptor(0, DATA, 16, 3, 1);
            s.descriptor(1, DATA, 16, 0, 0);
            s.offer(0);
        }),
        ("a size that is not a power of two", |s| {
            s.slot.write(0x38, 7);
            s.offer(0);
        }),
        ("a ring outside RAM", |s| {
            s.slot.write(0x94, 0xffff_ffff);
            s.offer(0);
        }),
    ];
    for (name, break_it) in cases {
        let mut s = drive();
        break_it(&mut s);
        assert!(s.broken(), "{name}");
        assert_eq!(s.used().0, 0, "{name}");
        // A reset makes it good again.
        s.slot.write(0x70, 0);
        assert!(!s.broken() && s.slot.read(0x44, 4) == 0, "{name}");
    }
}

#[test]
fn no_sequence_of_writes_makes_it_panic() {
    let mut random = Entropy(7);
    for _ in 0..2_000 {
        let mut s = drive();
        for _ in 0..20 {
            let word = random.next();
            let pick = random.next();
            let value =
                [0, 1, 0xf, word as u32, RAM_BASE as u32, 0x8000_1000, u32::MAX, 256][pick as usize % 8];
            s.slot.write((word >> 32) % 0x40 * 4, value);
            s.slot.read(word >> 40 & 0x1ff, 4);
            let at = RAM_BASE + (pick >> 8) % 0x8000;
            s.put(at, &word.to_le_bytes());
            s.slot.write(0x50, 0);
            s.serve();
        }
    }
}

#[test]
fn entropy_fills_what_it_is_given_and_repeats_for_a_seed() {
    let bytes = |seed| {
        let mut s = Scene::new(Device::Entropy(Entropy(seed)), 0);
        s.descriptor(0, DATA, 21, 2, 0);
        s.offer(0);
        assert_eq!(s.used(), (1, 21));
        assert_eq!(s.get(DATA + 21, 3), [0; 3]);
        s.get(DATA, 21).to_vec()
    };
    // The first word of SplitMix64 for the seed 0, as published with its reference code.
    assert_eq!(bytes(0)[..8], 0xe220_a839_7b1d_cdaf_u64.to_le_bytes());
    assert_eq!(bytes(1), bytes(1));
    assert_ne!(bytes(1), bytes(2));
}

#[test]
fn the_console_prints_and_waits_for_a_buffer_to_type_into() {
    let mut s = Scene::new(Device::Console, 1);
    s.put(DATA, b"hello");
    s.descriptor(0, DATA, 5, 0, 0);
    s.offer(0);
    assert_eq!(s.console.bytes, b"hello");

    let mut s = Scene::new(Device::Console, 0);
    s.console.type_in(b"abcdef");
    s.serve();
    assert_eq!((s.used().0, s.console.has_input()), (0, true));
    s.descriptor(0, DATA, 4, 2, 0);
    s.offer(0);
    assert_eq!((s.used(), s.get(DATA, 5)), ((1, 4), &b"abcd\0"[..]));
    // The rest comes with the next buffer.
    s.offer(0);
    assert_eq!((s.used(), s.get(DATA, 2)), ((2, 2), &b"ef"[..]));
}

#[test]
fn the_network_takes_what_is_sent_and_nothing_comes() {
    let mut s = Scene::new(Device::Network, 1);
    // Virtio 1.2, 5.1.4: the address, and a link that is up.
    let address = |at| s.slot.read(at, 1);
    assert_eq!([0x100, 0x101, 0x102, 0x103, 0x104, 0x105].map(address), [0x52, 0x54, 0, 0x12, 0x34, 0x56]);
    assert_eq!((s.slot.read(0x08, 4), s.slot.read(0x106, 2)), (1, 1));
    s.descriptor(0, DATA, 60, 0, 0);
    s.offer(0);
    assert_eq!((s.used(), s.slot.raised()), ((1, 0), true));

    let mut s = Scene::new(Device::Network, 0);
    s.descriptor(0, DATA, 60, 2, 0);
    s.offer(0);
    assert_eq!((s.used().0, s.slot.raised(), s.broken()), (0, false, false));
}

#[test]
fn an_empty_slot_says_that_nothing_is_there() {
    let mut slot = Slot::new(None);
    slot.write(0x70, 0xf);
    assert_eq!([0x00, 0x04, 0x08, 0x70].map(|at| slot.read(at, 4)), [u64::from(MAGIC), 2, 0, 0]);
}
