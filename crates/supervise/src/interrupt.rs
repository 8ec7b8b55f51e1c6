//! How signals end this process.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Arc, OnceLock};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

/// What the signal handlers share with the program: the first signal asks it to stop, the second ends it.
#[derive(Debug, Default)]
pub struct Interrupt {
    /// Set by the first signal.
    pub stop: Arc<AtomicBool>,
    registered: AtomicBool,
    /// The number of the first signal; zero before.
    signal: AtomicI32,
    /// The command that shows what was saved, once something was.
    pub saved: OnceLock<String>,
}

impl Interrupt {
    /// Installs the handlers, once.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn register(self: &Arc<Self>) -> io::Result<()> {
        if self.registered.swap(true, Ordering::Relaxed) {
            return Ok(());
        }
        for signal in [SIGHUP, SIGINT, SIGTERM] {
            let own = Arc::clone(self);
            // SAFETY: the handler reads atomics and calls write(2) and _exit(2), which a handler may do.
            unsafe { signal_hook::low_level::register(signal, move || own.receive(signal)) }?;
        }
        Ok(())
    }

    /// The exit status of a process that a signal has stopped: 128 and the signal's number, as shells have it.
    pub fn status(&self) -> Option<u8> {
        match self.signal.load(Ordering::Relaxed) {
            0 => None,
            signal => Some(128 + signal as u8),
        }
    }

    /// Runs in a signal handler.
    fn receive(&self, signal: i32) {
        // Whoever sees the flag sees the number.
        let _ = self.signal.compare_exchange(0, signal, Ordering::Relaxed, Ordering::Relaxed);
        let write = |text: &str| {
            // SAFETY: the text is valid for its length.
            unsafe { libc::write(libc::STDERR_FILENO, text.as_ptr().cast(), text.len()) };
        };
        if !self.stop.swap(true, Ordering::Relaxed) {
            return write("tollgate: stopping after the batch in hand; a second signal ends it at once\n");
        }
        match self.saved.get() {
            Some(command) => {
                write("tollgate: ended at once; '");
                write(command);
                write("' prints what was saved\n");
            }
            None => write("tollgate: ended at once; nothing was saved yet\n"),
        }
        signal_hook::low_level::exit(128 + signal);
    }
}
