//! How signals end this process.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Arc, OnceLock};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

/// What the signal handlers share with the program: the first signal asks it to stop, so that it prints and saves what it has;
/// the second ends it at once.
#[derive(Debug, Default)]
pub struct Stop {
    flag: Arc<AtomicBool>,
    /// The number of the first signal; zero before.
    signal: AtomicI32,
    registered: AtomicBool,
    /// Whether the handlers print what they do.
    announces: bool,
    /// The command that shows what was saved, once something was.
    pub saved: OnceLock<String>,
}

impl Stop {
    /// Without handlers yet; they will print what they do on standard error.
    #[must_use]
    pub fn announced() -> Arc<Self> {
        Arc::new(Self { announces: true, ..Self::default() })
    }

    /// With handlers that print nothing.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn on_signal() -> io::Result<Arc<Self>> {
        let stop = Arc::<Self>::default();
        stop.register()?;
        Ok(stop)
    }

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

    /// The flag that the first signal sets.
    #[must_use]
    pub fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.flag)
    }

    /// Whether there was a signal.
    pub fn is_set(&self) -> bool {
        self.flag.load(Ordering::Relaxed)
    }

    /// The exit status of a process that a signal has stopped: 128 and the signal's number, as shells have it.
    pub fn status(&self, otherwise: u8) -> u8 {
        match self.signal.load(Ordering::Relaxed) {
            0 => otherwise,
            signal => 128 + signal as u8,
        }
    }

    /// Runs in a signal handler.
    fn receive(&self, signal: i32) {
        // Whoever sees the flag sees the number.
        let _ = self.signal.compare_exchange(0, signal, Ordering::Relaxed, Ordering::Relaxed);
        if !self.flag.swap(true, Ordering::Relaxed) {
            return self.announce(&["stopping after the batch in hand; a second signal ends it at once\n"]);
        }
        match self.saved.get() {
            Some(command) => self.announce(&["ended at once; '", command, "' prints what was saved\n"]),
            None => self.announce(&["ended at once; nothing was saved yet\n"]),
        }
        signal_hook::low_level::exit(128 + signal);
    }

    /// Writes without allocating, as a signal handler must.
    fn announce(&self, words: &[&str]) {
        if !self.announces {
            return;
        }
        for text in ["tollgate: "].iter().chain(words) {
            // SAFETY: the text is valid for its length.
            unsafe { libc::write(libc::STDERR_FILENO, text.as_ptr().cast(), text.len()) };
        }
    }
}
