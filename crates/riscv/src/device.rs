//! The devices: timer and software interrupts, console, serial port, test finisher.

/// The core-local interruptor: `msip`, `mtimecmp` and `mtime` of one hart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Clint {
    pub(crate) msip: bool,
    pub(crate) mtimecmp: u64,
    /// What to add to the clock for `mtime`, which software may set.
    pub(crate) time_offset: u64,
}

const MTIMECMP: u64 = 0x4000;
const MTIME: u64 = 0xbff8;

impl Clint {
    pub(crate) fn new() -> Self {
        // Far away, so that no timer interrupt is pending before software asks for one.
        Clint { msip: false, mtimecmp: u64::MAX, time_offset: 0 }
    }

    pub(crate) fn read(&self, offset: u64, size: u64, time: u64) -> Option<u64> {
        let part = |v: u64| {
            let v = v >> (8 * (offset & 7));
            if size == 8 { v } else { v & ((1 << (8 * size)) - 1) }
        };
        Some(match offset & !7 {
            0 if offset == 0 => u64::from(self.msip),
            MTIMECMP => part(self.mtimecmp),
            MTIME => part(time),
            _ => 0,
        })
    }

    pub(crate) fn write(&mut self, offset: u64, size: u64, value: u64, time: u64) -> Option<()> {
        // A narrower write keeps the rest of the register.
        let merge = |old: u64| {
            let shift = 8 * (offset & 7);
            let mask = if size == 8 { u64::MAX } else { ((1 << (8 * size)) - 1) << shift };
            old & !mask | value << shift & mask
        };
        match offset & !7 {
            0 if offset == 0 => self.msip = value & 1 != 0,
            MTIMECMP => self.mtimecmp = merge(self.mtimecmp),
            MTIME => self.time_offset = self.time_offset.wrapping_add(merge(time).wrapping_sub(time)),
            _ => {}
        }
        Some(())
    }
}

/// The bytes that the guest wrote, up to a limit.
#[derive(Default)]
pub(crate) struct Console {
    pub(crate) bytes: Vec<u8>,
    pub(crate) limit: usize,
    pub(crate) dropped: u64,
}

impl Console {
    pub(crate) fn write(&mut self, bytes: &[u8]) {
        let room = self.limit.saturating_sub(self.bytes.len()).min(bytes.len());
        self.bytes.extend_from_slice(&bytes[..room]);
        self.dropped += (bytes.len() - room) as u64;
    }
}

/// A 16550 serial port that is always ready to send and never receives.
#[derive(Clone, Debug, Default)]
pub(crate) struct Uart {
    divisor: [u8; 2],
    interrupt_enable: u8,
    line_control: u8,
    modem_control: u8,
    scratch: u8,
}

const DIVISOR_LATCH: u8 = 0x80;

impl Uart {
    pub(crate) fn read(&mut self, offset: u64) -> u64 {
        let latch = self.line_control & DIVISOR_LATCH != 0;
        u64::from(match offset {
            0 if latch => self.divisor[0],
            1 if latch => self.divisor[1],
            1 => self.interrupt_enable,
            // No interrupt pending.
            2 => 1,
            3 => self.line_control,
            4 => self.modem_control,
            // The transmitter is empty.
            5 => 0x60,
            // Carrier, data set ready, clear to send.
            6 => 0xb0,
            7 => self.scratch,
            _ => 0,
        })
    }

    pub(crate) fn write(&mut self, offset: u64, value: u8, console: &mut Console) {
        let latch = self.line_control & DIVISOR_LATCH != 0;
        match offset {
            0 if latch => self.divisor[0] = value,
            1 if latch => self.divisor[1] = value,
            0 => console.write(&[value]),
            1 => self.interrupt_enable = value & 0xf,
            3 => self.line_control = value,
            4 => self.modem_control = value & 0x1f,
            7 => self.scratch = value,
            _ => {}
        }
    }
}

/// SiFive's test finisher: a write ends the run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Finisher {
    pub(crate) code: Option<i32>,
}

impl Finisher {
    pub(crate) fn write(&mut self, offset: u64, value: u32) {
        if offset != 0 {
            return;
        }
        match value & 0xffff {
            0x5555 => self.code = Some(0),
            0x3333 => self.code = Some((value >> 16) as i32),
            _ => {}
        }
    }
}
