//! A sign of life while a program that prints is silent.

use crate::{SILENCE, remaining, target};
use indicatif::{ProgressBar, ProgressStyle};
use std::io::{self, IsTerminal, Write};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// The output of a program. If it is silent for a while, a line on standard error shows that it runs.
pub struct Console<W> {
    output: W,
    quiet: Arc<Mutex<Quiet>>,
    /// Ends the thread when it is dropped.
    _alive: Option<Sender<()>>,
}

struct Quiet {
    doing: String,
    bar: Option<ProgressBar>,
    printed: Instant,
    begun: Instant,
    /// Whether the cursor is behind what was printed, for example a prompt, which must stay.
    is_amid_line: bool,
}

impl<W: Write> Console<W> {
    /// Prints to `output`, which is `shared` if it is the terminal of standard error, too.
    pub fn new(output: W, doing: &str, shared: bool) -> Self {
        let now = Instant::now();
        let quiet = Quiet { doing: doing.into(), bar: None, printed: now, begun: now, is_amid_line: false };
        let quiet = Arc::new(Mutex::new(quiet));
        let mut alive = None;
        if !target().is_hidden() {
            let (sender, ended) = mpsc::channel();
            let quiet = Arc::clone(&quiet);
            // Without a thread there are only no signs of life.
            let _ = std::thread::Builder::new().name("progress".into()).spawn(move || {
                while ended.recv_timeout(SILENCE) == Err(RecvTimeoutError::Timeout) {
                    let mut quiet = lock(&quiet);
                    if quiet.is_silent(shared, Instant::now()) {
                        quiet.draw();
                    }
                }
            });
            alive = Some(sender);
        }
        Self { output, quiet, _alive: alive }
    }
}

impl Console<Box<dyn Write>> {
    /// Where a guest prints: on standard output, or on standard error if `json` is all that standard output has.
    pub fn of_guest(doing: &str, json: bool) -> Self {
        match json {
            true => Self::new(Box::new(io::stderr()), doing, true),
            false => Self::new(Box::new(io::stdout()), doing, io::stdout().is_terminal()),
        }
    }
}

impl<W: Write> Write for Console<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut quiet = lock(&self.quiet);
        if let Some(bar) = quiet.bar.take() {
            bar.finish_and_clear();
        }
        let written = self.output.write(bytes)?;
        quiet.print(&bytes[..written], Instant::now());
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.output.flush()
    }
}

impl<W> Drop for Console<W> {
    fn drop(&mut self) {
        if let Some(bar) = lock(&self.quiet).bar.take() {
            bar.finish_and_clear();
        }
    }
}

impl Quiet {
    fn print(&mut self, bytes: &[u8], now: Instant) {
        if let Some(last) = bytes.last() {
            (self.is_amid_line, self.printed) = (!matches!(last, b'\n' | b'\r'), now);
        }
    }

    /// Whether to draw. After a prompt it does not: the user sees that the program waits.
    fn is_silent(&self, shared: bool, now: Instant) -> bool {
        now.duration_since(self.printed) >= SILENCE && !(shared && self.is_amid_line)
    }

    fn draw(&mut self) {
        let bar = self.bar.get_or_insert_with(|| {
            let bar = ProgressBar::with_draw_target(None, target());
            match ProgressStyle::with_template("{spinner} {msg}") {
                Ok(style) => bar.with_style(style),
                Err(_) => bar,
            }
        });
        bar.set_message(format!(
            "{}, for {}",
            self.doing,
            remaining::duration(self.begun.elapsed().as_secs_f64())
        ));
        bar.tick();
    }
}

fn lock(quiet: &Mutex<Quiet>) -> MutexGuard<'_, Quiet> {
    quiet.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_passes_and_a_prompt_is_not_drawn_over() {
        let mut printed = Vec::new();
        let mut console = Console::new(&mut printed, "booting", true);
        let later = |console: &Console<&mut Vec<u8>>, shared| {
            let quiet = lock(&console.quiet);
            (quiet.is_silent(shared, quiet.printed), quiet.is_silent(shared, quiet.printed + SILENCE))
        };
        assert_eq!(later(&console, true), (false, true));
        console.write_all(b"Linux\r\n# ").unwrap();
        assert_eq!(later(&console, true), (false, false), "a prompt");
        assert_eq!(later(&console, false), (false, true), "the prompt is elsewhere");
        console.write_all(b"ls\r\n").unwrap();
        assert_eq!(later(&console, true), (false, true));
        drop(console);
        assert_eq!(printed, b"Linux\r\n# ls\r\n");
    }
}
