//! Progress on standard error. Nothing is drawn while a batch runs: drawing happens between two
//! requests to the worker, and at most five times a second.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

pub(crate) struct Progress {
    bar: ProgressBar,
}

const STEPS: u64 = 1_000;

impl Progress {
    /// A bar on standard error, or nothing if that is not a terminal that can move its cursor.
    pub(crate) fn new() -> Self {
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let target = if dumb { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr_with_hz(5) };
        let bar = ProgressBar::with_draw_target(Some(STEPS), target);
        if let Ok(style) = ProgressStyle::with_template("{bar:30} {percent:>3} %  {eta} left  {msg}") {
            bar.set_style(style.progress_chars("=> "));
        }
        Self { bar }
    }

    /// One that is never drawn.
    pub(crate) fn hidden() -> Self {
        Self { bar: ProgressBar::hidden() }
    }

    /// How far the command is, from 0 to 1, and what it does.
    pub(crate) fn show(&self, share: f64, what: impl Into<String>) {
        self.bar.set_position((share * STEPS as f64) as u64);
        self.bar.set_message(what.into());
    }

    /// Takes the bar off the screen while something is printed.
    pub(crate) fn aside<T>(&self, print: impl FnOnce() -> T) -> T {
        self.bar.suspend(print)
    }

    /// Takes the bar off the screen. So does dropping it.
    pub(crate) fn clear(&self) {
        self.bar.finish_and_clear();
    }
}
