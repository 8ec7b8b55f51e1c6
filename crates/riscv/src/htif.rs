//! HTIF: the two words through which a program on Spike's machine reaches the host.

/// The interface's state.
#[derive(Clone, Debug)]
pub(crate) struct Htif {
    pub(crate) tohost: u64,
    pub(crate) fromhost: u64,
    /// The clock at which to look at `tohost`; set when it is written.
    pub(crate) due: Option<u64>,
    /// Whether the whole word was written, if `tohost` was written since [`Htif::schedule`] last ran.
    written: Option<bool>,
    /// The program's arguments, `argv[0]` first.
    pub(crate) args: Vec<String>,
    pub(crate) exit: Option<i32>,
    /// More may be typed: a read of standard input without any waits.
    pub(crate) input_open: bool,
    /// Such a read waits.
    pub(crate) awaits_input: bool,
}

/// A program that writes `tohost` in two halves has written both after this many instructions, or never will.
const SETTLE: u64 = 64;

impl Htif {
    pub(crate) fn new(tohost: u64, fromhost: u64) -> Self {
        Htif {
            tohost,
            fromhost,
            due: None,
            written: None,
            args: Vec::new(),
            exit: None,
            input_open: false,
            awaits_input: false,
        }
    }

    /// Whether stores to the page of this address must be checked for writes to `tohost`.
    pub(crate) fn watches(&self, pa: u64) -> bool {
        pa >> 12 == self.tohost >> 12 || pa >> 12 == (self.tohost + 7) >> 12
    }

    /// Whether a store to RAM would write to `tohost`.
    pub(crate) fn is_command(&self, pa: u64, size: u64) -> bool {
        pa < self.tohost + 8 && pa + size > self.tohost
    }

    /// Records a store to RAM; returns whether it wrote to `tohost`.
    pub(crate) fn noticed(&mut self, pa: u64, size: u64) -> bool {
        let touches = self.is_command(pa, size);
        if touches {
            // The high half comes last.
            self.written = Some(pa + size >= self.tohost + 8);
        }
        touches
    }

    /// Sets when to look, after a store at `clock`.
    pub(crate) fn schedule(&mut self, clock: u64) {
        if let Some(whole) = self.written.take() {
            // The first half-written word sets the time: a loop that writes it again and again must not put it off.
            self.due = Some(if whole { clock } else { self.due.unwrap_or(clock + SETTLE) });
        }
    }
}
