//! The real-time clock of Goldfish: nanoseconds since 1970, and an alarm.
//!
//! Registers as in QEMU's hw/rtc/goldfish_rtc.c and Linux's binding `rtc/google,goldfish-rtc`. Its time is simulated: it
//! begins at a date that the configuration gives, so two runs read the same.

use serde::{Deserialize, Serialize};

/// Its registers.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Rtc {
    /// The offset from the machine's time.
    offset: u64,
    /// The high half of the time that was read last.
    high: u32,
    alarm_high: u32,
    alarm: Option<u64>,
    pending: bool,
    enabled: bool,
}

impl Rtc {
    /// A clock that shows `start` when the machine starts.
    pub(crate) fn new(start: u64) -> Self {
        Rtc { offset: start, ..Rtc::default() }
    }

    /// Lets the alarm go off when its time has come.
    pub(crate) fn tick(&mut self, machine_ns: u64) {
        if self.alarm.is_some_and(|alarm| alarm <= machine_ns.wrapping_add(self.offset)) {
            self.alarm = None;
            self.pending = true;
        }
    }

    /// When the alarm goes off, in the machine's nanoseconds.
    pub(crate) fn due(&self) -> Option<u64> {
        self.alarm.map(|alarm| alarm.saturating_sub(self.offset))
    }

    /// Whether its interrupt line is high.
    pub(crate) fn raised(&self) -> bool {
        self.pending && self.enabled
    }

    pub(crate) fn read(&mut self, offset: u64, machine_ns: u64) -> u32 {
        match offset {
            0x00 => {
                let now = machine_ns.wrapping_add(self.offset);
                self.high = (now >> 32) as u32;
                now as u32
            }
            0x04 => self.high,
            0x08 => self.alarm.unwrap_or(0) as u32,
            0x0c => self.alarm.map_or(self.alarm_high, |alarm| (alarm >> 32) as u32),
            0x10 => u32::from(self.enabled),
            0x18 => u32::from(self.alarm.is_some()),
            _ => 0,
        }
    }

    pub(crate) fn write(&mut self, offset: u64, value: u32, machine_ns: u64) {
        let now = machine_ns.wrapping_add(self.offset);
        match offset {
            0x00 => self.offset = (now & !0xffff_ffff | u64::from(value)).wrapping_sub(machine_ns),
            0x04 => self.offset = (now & 0xffff_ffff | u64::from(value) << 32).wrapping_sub(machine_ns),
            0x08 => self.alarm = Some(u64::from(self.alarm_high) << 32 | u64::from(value)),
            0x0c => self.alarm_high = value,
            0x10 => self.enabled = value & 1 != 0,
            0x14 => self.alarm = None,
            0x1c => self.pending = false,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_read_low_half_first() {
        let mut rtc = Rtc::new(5 << 32);
        assert_eq!((rtc.read(0, 7), rtc.read(4, 1 << 32)), (7, 5));
        rtc.write(4, 9, 7);
        assert_eq!((rtc.read(0, 8), rtc.read(4, 8)), (8, 9));
    }

    #[test]
    fn an_alarm_goes_off_once_and_interrupts_when_enabled() {
        let mut rtc = Rtc::new(100);
        rtc.write(0x0c, 0, 0);
        rtc.write(0x08, 150, 0);
        assert_eq!((rtc.due(), rtc.read(0x18, 0)), (Some(50), 1));
        rtc.tick(49);
        rtc.write(0x10, 1, 49);
        assert!(!rtc.raised());
        rtc.tick(50);
        assert!(rtc.raised());
        assert_eq!(rtc.due(), None);
        rtc.write(0x1c, 1, 51);
        assert!(!rtc.raised());
    }
}
