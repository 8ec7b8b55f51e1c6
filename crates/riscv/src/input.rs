//! Console input, and the standard input of a program on Spike's machine.

use crate::machine::{Machine, Stop};

impl Machine {
    /// Types on the console; returns how many of the bytes there was room for. A machine that is
    /// [idle](Stop::Idle), or waits for [input](Stop::Input), continues.
    pub fn type_in(&mut self, bytes: &[u8]) -> usize {
        if self.stopped == Some(Stop::Idle) {
            self.stopped = None;
        }
        self.answer_input();
        self.turns.busy = true;
        self.bus.device_written = true;
        self.bus.console.type_in(bytes)
    }

    /// Whether the guest waits at its serial port for something to be [typed](Self::type_in).
    pub fn listens(&self) -> bool {
        self.bus.uart.listens() && !self.bus.console.has_input()
    }

    /// Opens the standard input of a program on Spike's machine, after it was loaded: a read of it stops the machine
    /// ([`Stop::Input`]) until something is [typed](Self::type_in) or the input [ends](Self::end_input). Otherwise it is empty.
    pub fn open_input(&mut self) {
        if let Some(htif) = &mut self.bus.htif {
            htif.input_open = true;
        }
    }

    /// Ends the standard input: what was typed can still be read.
    pub fn end_input(&mut self) {
        if let Some(htif) = &mut self.bus.htif {
            htif.input_open = false;
        }
        self.answer_input();
    }

    /// Lets a read that waits for input try again.
    fn answer_input(&mut self) {
        if self.stopped == Some(Stop::Input) {
            self.stopped = None;
            let clock = self.elapsed();
            if let Some(htif) = &mut self.bus.htif {
                htif.due = Some(clock);
                self.bus.device_written = true;
            }
        }
    }
}
