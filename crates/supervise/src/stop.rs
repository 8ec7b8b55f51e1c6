//! A signal that stops a command of one process, which then prints and saves what it has.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

/// The first signal stops the command, the second ends it at once.
#[derive(Debug)]
pub struct Stop(Arc<AtomicUsize>);

impl Stop {
    /// Installs the handlers.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn on_signal() -> io::Result<Self> {
        let (first, again) = (Arc::default(), Arc::new(AtomicBool::new(false)));
        for signal in [SIGHUP, SIGINT, SIGTERM] {
            flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&again))?;
            flag::register(signal, Arc::clone(&again))?;
            flag::register_usize(signal, Arc::clone(&first), signal as usize)?;
        }
        Ok(Self(first))
    }

    /// Whether there was a signal.
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed) != 0
    }

    /// The exit status of the command: 128 and the number of the signal, if there was one.
    pub fn status(&self, otherwise: u8) -> u8 {
        match self.0.load(Ordering::Relaxed) {
            0 => otherwise,
            signal => 128 + signal as u8,
        }
    }
}
