//! The progress bar on standard error, with the time left.
//!
//! Nothing is drawn while a batch runs: drawing happens between two requests to the worker, and at most five times a
//! second. After 2.5 s of silence, a second thread draws to show that the command lives.

mod console;
mod reader;
mod remaining;

pub use console::Console;
pub use reader::ReaderGone;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use remaining::Remaining;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long nothing may be drawn, which is less than the 3 s after which a command seems to hang.
const SILENCE: Duration = Duration::from_millis(2_500);

/// How often a share that has changed is drawn.
const OFTEN: Duration = Duration::from_millis(200);

const STEPS: u64 = 1_000;

/// Standard error if it is a terminal that can move its cursor, otherwise nothing.
fn target() -> ProgressDrawTarget {
    let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    if dumb { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr_with_hz(5) }
}

/// The bar of one command.
pub struct Progress {
    shared: Arc<Shared>,
    /// Ends the thread when it is dropped; `None` as long as nothing was shown.
    alive: Mutex<Option<Sender<()>>>,
}

struct Shared {
    bar: ProgressBar,
    state: Mutex<State>,
}

struct State {
    begun: Instant,
    drawn: Instant,
    remaining: Remaining,
    /// The finished share, if it is known.
    share: Option<f64>,
    doing: String,
    /// Since when the command does this.
    since: Instant,
    template: &'static str,
    ended: bool,
}

impl Default for Progress {
    fn default() -> Self {
        Self::new()
    }
}

impl Progress {
    /// A bar on standard error, or nothing if that is not a terminal that can move its cursor.
    pub fn new() -> Self {
        Self::on(ProgressBar::with_draw_target(Some(STEPS), target()))
    }

    /// One that is never drawn.
    pub fn hidden() -> Self {
        Self::on(ProgressBar::hidden())
    }

    fn on(bar: ProgressBar) -> Self {
        let now = Instant::now();
        let state = State {
            begun: now,
            drawn: now,
            remaining: Remaining::default(),
            share: None,
            doing: String::new(),
            since: now,
            template: "",
            ended: false,
        };
        Self { shared: Arc::new(Shared { bar, state: Mutex::new(state) }), alive: Mutex::default() }
    }

    /// Begins work that is likely to take so long.
    pub fn expect(&self, duration: Duration) {
        let mut state = self.shared.lock();
        state.begun = Instant::now();
        state.remaining = Remaining::expecting(duration.as_secs_f64());
        drop(state);
        self.show(0.0, "starting");
    }

    /// Shows the progress of the command, from 0 to 1, and its current work.
    pub fn show(&self, share: f64, what: impl Into<String>) {
        self.update(Some(share), what.into());
    }

    /// Shows work of unknown length.
    pub fn wait(&self, what: impl Into<String>) {
        self.update(None, what.into());
    }

    fn update(&self, share: Option<f64>, what: String) {
        if self.shared.bar.is_hidden() {
            return;
        }
        let mut state = self.shared.lock();
        let is_new = state.doing != what;
        state.share = share;
        if !is_new && state.drawn.elapsed() < OFTEN {
            return;
        }
        if is_new {
            (state.doing, state.since) = (what, Instant::now());
        }
        self.shared.draw(&mut state);
        drop(state);
        let mut alive = self.alive.lock().unwrap_or_else(PoisonError::into_inner);
        if alive.is_none() {
            let (sender, ended) = mpsc::channel();
            let shared = Arc::clone(&self.shared);
            // Without a thread there are only fewer signs of life.
            let _ = std::thread::Builder::new().name("progress".into()).spawn(move || {
                while ended.recv_timeout(SILENCE) == Err(RecvTimeoutError::Timeout) {
                    shared.redraw();
                }
            });
            *alive = Some(sender);
        }
    }

    /// Takes the bar off the screen while something is printed.
    pub fn aside<T>(&self, print: impl FnOnce() -> T) -> T {
        let _state = self.shared.lock();
        self.shared.bar.suspend(print)
    }

    /// Takes the bar off the screen. So does dropping it.
    pub fn clear(&self) {
        self.shared.lock().ended = true;
        self.shared.bar.finish_and_clear();
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.clear();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Draws again what nobody has drawn for a while.
    fn redraw(&self) {
        let mut state = self.lock();
        if !state.ended && state.drawn.elapsed() >= SILENCE / 2 {
            self.draw(&mut state);
        }
    }

    fn draw(&self, state: &mut State) {
        state.drawn = Instant::now();
        let (elapsed, silent) = (state.begun.elapsed().as_secs_f64(), state.since.elapsed().as_secs_f64());
        let text = match state.share {
            Some(share) => format!("{}  {}", state.remaining.text(share, elapsed), state.doing),
            None => state.doing.clone(),
        };
        let template =
            if state.share.is_some() { "{bar:30} {percent:>3} %  {msg}" } else { "{spinner} {msg}" };
        if state.template != template
            && let Ok(style) = ProgressStyle::with_template(template)
        {
            state.template = template;
            self.bar.set_style(style.progress_chars("=> "));
        }
        self.bar.set_message(match silent {
            2.0.. => format!("{text}, for {}", remaining::duration(silent)),
            _ => text,
        });
        // The message first, so that no bar without words is drawn.
        self.bar.set_position((state.share.unwrap_or(0.0).clamp(0.0, 1.0) * STEPS as f64) as u64);
        self.bar.tick();
    }
}
