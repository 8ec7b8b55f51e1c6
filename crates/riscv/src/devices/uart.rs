//! A 16550A serial port with interrupts.
//!
//! Texas Instruments PC16550D, section 8 (registers). The transmitter is infinitely fast: what is written is
//! sent at once. A receiver that nobody listens to loses nothing: a byte arrives when its interrupt is enabled, or
//! when software polls the line status. (Drivers read the receiver to empty it when they start.)

use serde::{Deserialize, Serialize};

use super::console::Console;

/// Its registers.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Uart {
    divisor: [u8; 2],
    interrupt_enable: u8,
    fifo_control: u8,
    line_control: u8,
    modem_control: u8,
    scratch: u8,
    /// The interrupt "transmitter holding register empty" is pending.
    sent: bool,
    /// A byte that was sent to itself in loop-back mode.
    looped: Option<u8>,
    /// How often the line status was read since the last transfer.
    polls: u8,
    /// Something happened that makes an interrupt which is pending a new one.
    event: bool,
}

const DIVISOR_LATCH: u8 = 0x80;
/// Bits of the interrupt enable register.
const RECEIVED: u8 = 1;
const SENT: u8 = 2;
/// The bit of the modem control register that connects the transmitter to the receiver.
const LOOP: u8 = 0x10;
/// Software that has read the line status so often in a row waits for input.
const POLLING: u8 = 16;

impl Uart {
    /// Whether a byte can be read.
    fn ready(&self, console: &Console) -> bool {
        if self.modem_control & LOOP != 0 {
            return self.looped.is_some();
        }
        self.listens() && console.has_input()
    }

    /// Whether software waits for input: by interrupt, or by reading the line status again and again.
    pub(crate) fn listens(&self) -> bool {
        self.interrupt_enable & RECEIVED != 0 || self.polls >= POLLING
    }

    /// The pending interrupt of the highest priority, as the identification register shows it (table 8-5).
    fn pending(&self, console: &Console) -> u8 {
        if self.interrupt_enable & RECEIVED != 0 && self.ready(console) {
            4
        } else if self.interrupt_enable & SENT != 0 && self.sent {
            2
        } else {
            1
        }
    }

    /// Whether its interrupt line is high.
    pub(crate) fn raised(&self, console: &Console) -> bool {
        self.pending(console) != 1
    }

    /// Whether a pending interrupt is a new one since the last time, as QEMU's model updates its line.
    pub(crate) fn is_anew(&mut self, console: &mut Console) -> bool {
        std::mem::take(&mut self.event) | std::mem::take(&mut console.typed)
    }

    pub(crate) fn read(&mut self, offset: u64, console: &mut Console) -> u64 {
        let latch = self.line_control & DIVISOR_LATCH != 0;
        self.event |= matches!(offset, 0 | 2);
        u64::from(match offset {
            0 if latch => self.divisor[0],
            1 if latch => self.divisor[1],
            0 => {
                let ready = self.ready(console);
                self.polls = 0;
                match self.modem_control & LOOP {
                    0 if ready => console.read().unwrap_or(0),
                    0 => 0,
                    _ => self.looped.take().unwrap_or(0),
                }
            }
            1 => self.interrupt_enable,
            2 => {
                let pending = self.pending(console);
                if pending == 2 {
                    self.sent = false;
                }
                // The two high bits say that the FIFOs are on.
                pending | if self.fifo_control & 1 != 0 { 0xc0 } else { 0 }
            }
            3 => self.line_control,
            4 => self.modem_control,
            5 => {
                self.polls = self.polls.saturating_add(1);
                // The transmitter is empty.
                0x60 | u8::from(self.ready(console))
            }
            // In loop-back mode the outputs RTS, DTR, OUT1 and OUT2 are the inputs CTS, DSR, RI and DCD.
            6 if self.modem_control & LOOP != 0 => {
                let m = self.modem_control;
                (m & 2) << 3 | (m & 1) << 5 | (m & 0xc) << 4
            }
            // Carrier, data set ready, clear to send.
            6 => 0xb0,
            7 => self.scratch,
            _ => 0,
        })
    }

    pub(crate) fn write(&mut self, offset: u64, value: u8, console: &mut Console) {
        let latch = self.line_control & DIVISOR_LATCH != 0;
        self.event |= offset <= 2;
        match offset {
            0 if latch => self.divisor[0] = value,
            1 if latch => self.divisor[1] = value,
            0 => {
                self.polls = 0;
                self.sent = true;
                if self.modem_control & LOOP == 0 {
                    console.write(&[value]);
                } else {
                    self.looped = Some(value);
                }
            }
            1 => {
                // The transmitter is empty when its interrupt is enabled, so that is an interrupt at once.
                self.sent |= value & !self.interrupt_enable & SENT != 0;
                self.interrupt_enable = value & 0xf;
            }
            2 => self.fifo_control = value,
            3 => self.line_control = value,
            4 => self.modem_control = value & 0x1f,
            7 => self.scratch = value,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(bytes: &[u8]) -> Console {
        let mut console = Console::new(100);
        console.type_in(bytes);
        console
    }

    #[test]
    fn a_driver_that_empties_the_receiver_loses_no_input() {
        let (mut uart, mut console) = (Uart::default(), typed(b"ab"));
        // The start of Linux's 8250 driver: line status, receiver, identification, modem status.
        for offset in [5, 0, 2, 6] {
            uart.read(offset, &mut console);
        }
        assert!(!uart.raised(&console));
        uart.write(1, RECEIVED, &mut console);
        assert!(uart.raised(&console));
        assert_eq!(uart.read(2, &mut console), 4);
        assert_eq!(uart.read(5, &mut console), 0x61);
        assert_eq!([uart.read(0, &mut console), uart.read(0, &mut console)], [b'a', b'b'].map(u64::from));
        assert_eq!(uart.read(5, &mut console), 0x60);
        assert!(!uart.raised(&console));
    }

    #[test]
    fn software_that_polls_receives() {
        let (mut uart, mut console) = (Uart::default(), typed(b"x"));
        let polls = (0..100).position(|_| uart.read(5, &mut console) & 1 != 0).unwrap();
        assert!(polls < 20, "{polls}");
        assert_eq!(uart.read(0, &mut console), u64::from(b'x'));
    }

    #[test]
    fn an_empty_transmitter_interrupts_until_it_is_identified() {
        let (mut uart, mut console) = (Uart::default(), typed(b""));
        uart.write(1, SENT, &mut console);
        assert!(uart.raised(&console));
        assert_eq!(uart.read(2, &mut console), 2);
        assert!(!uart.raised(&console));
        uart.write(0, b'x', &mut console);
        assert!(uart.raised(&console));
        assert_eq!(console.bytes, b"x");
    }

    #[test]
    fn loop_back_connects_outputs_to_inputs() {
        let (mut uart, mut console) = (Uart::default(), typed(b""));
        // Linux's autoconfiguration: LOOP, OUT2 and RTS must show as DCD and CTS.
        uart.write(4, 0x1a, &mut console);
        assert_eq!(uart.read(6, &mut console) & 0xf0, 0x90);
        uart.write(0, 7, &mut console);
        assert_eq!((uart.read(0, &mut console), console.bytes.len()), (7, 0));
    }
}
