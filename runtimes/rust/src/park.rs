//! Threads of the system that pass a token with `park` and `unpark`.

use crate::protocol::{Counts, Course, Params, Stamps, fail, resident, skip};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread::{self, Thread};

/// A seat of the ring.
#[derive(Default)]
struct Place {
    turn: AtomicBool,
    resumes: AtomicU64,
    thread: OnceLock<Thread>,
}

impl Place {
    /// Waits for the token, takes it and counts.
    #[inline(always)]
    fn take(&self) {
        while !self.turn.swap(false, Ordering::Acquire) {
            thread::park();
        }
        self.resumes.store(self.resumes.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    /// Gives the token to the thread that waits here.
    #[inline(always)]
    fn give(&self) {
        self.turn.store(true, Ordering::Release);
        if let Some(thread) = self.thread.get() {
            thread.unpark();
        }
    }
}

struct Ring {
    places: Vec<Place>,
    stamping: AtomicBool,
    stamps: Mutex<Stamps>,
}

const STACK: usize = 64 << 10;

pub fn run(params: &Params) -> ! {
    let before = resident();
    let ring = Arc::new(Ring {
        places: (0..params.tasks).map(|_| Place::default()).collect(),
        stamping: AtomicBool::new(false),
        stamps: Mutex::new(Stamps::new(params.singles)),
    });
    let _ = ring.places[0].thread.set(thread::current());
    for at in 1..params.tasks {
        let own = Arc::clone(&ring);
        let thread = thread::Builder::new().stack_size(STACK).spawn(move || {
            let next = (at + 1) % own.places.len();
            loop {
                own.places[at].take();
                own.pass(next);
            }
        });
        match thread {
            Ok(thread) => drop(ring.places[at].thread.set(thread.thread().clone())),
            Err(error) => skip(&format!("thread {at} of {} could not be made: {error}", params.tasks)),
        }
    }
    let round = || {
        ring.places[1].give();
        ring.places[0].take();
    };
    round();
    let count = || Counts {
        resumes: ring.places.iter().map(|place| place.resumes.load(Ordering::Relaxed)).sum(),
        ..Counts::default()
    };
    let course = Course::new(params, before).threads().run(&mut (), |()| count(), |()| round());
    let mut singles = Vec::new();
    if params.singles > 0 {
        ring.stamping.store(true, Ordering::Release);
        while singles.len() < params.singles {
            let full = {
                let mut stamps = ring.stamps.lock().unwrap_or_else(|_| fail("a thread panicked"));
                stamps.leaving();
                stamps.ticks.len() >= params.singles
            };
            if full {
                singles = std::mem::take(
                    &mut ring.stamps.lock().unwrap_or_else(|_| fail("a thread panicked")).ticks,
                );
                break;
            }
            ring.places[1].give();
            ring.places[0].take();
            ring.stamps.lock().unwrap_or_else(|_| fail("a thread panicked")).arrived();
        }
    }
    let notes = [format!("stacks of {} KiB", STACK >> 10)];
    course.finish("std::thread", &notes, &singles, false)
}

impl Ring {
    /// Reads the clock if switches are timed, and passes the token.
    #[inline(always)]
    fn pass(&self, next: usize) {
        if self.stamping.load(Ordering::Relaxed)
            && let Ok(mut stamps) = self.stamps.lock()
        {
            stamps.arrived();
            stamps.leaving();
        }
        self.places[next].give();
    }
}
