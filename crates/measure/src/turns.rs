//! Two runs whose epochs take turns: A B A B.
//!
//! Each run has a thread and a bench of its own. At the beginning of an epoch a bench waits for its turn; it ends its
//! worker before it passes the turn on, so at most one worker exists at a time. Whatever drifts on the machine then
//! affects both runs alike.

use crate::bench::{Bench, Lost, Reply, Request};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Whose turn it is.
#[derive(Default)]
pub struct Alternation {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    turn: usize,
    left: [bool; 2],
}

impl Alternation {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until it is the turn of `me`, or the other has left.
    fn take(&self, me: usize) {
        let mut state = self.state();
        while state.turn != me && !state.left[1 - me] {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.turn = me;
    }

    fn pass(&self, me: usize, leaves: bool) {
        let mut state = self.state();
        state.left[me] |= leaves;
        if state.turn == me {
            state.turn = 1 - me;
        }
        self.changed.notify_all();
    }
}

/// One of the two benches.
pub struct AlternatingBench<'t, B: Bench> {
    bench: B,
    turns: &'t Alternation,
    me: usize,
    /// Set when an epoch begins: the next start is its own and not that of a bench that was lost.
    begins: &'t AtomicBool,
    has_turn: bool,
    waited_ns: u64,
}

impl<'t, B: Bench> AlternatingBench<'t, B> {
    /// The bench of side `me`, 0 or 1; side 0 begins. The caller sets `begins` on
    /// [`Event::Epoch`](crate::sampler::Event::Epoch).
    pub fn new(bench: B, turns: &'t Alternation, me: usize, begins: &'t AtomicBool) -> Self {
        Self { bench, turns, me: me.min(1), begins, has_turn: false, waited_ns: 0 }
    }
}

impl<B: Bench> Bench for AlternatingBench<'_, B> {
    fn ask(&mut self, request: &Request) -> Result<Reply, Lost> {
        self.bench.ask(request)
    }

    fn restart(&mut self) -> Result<(), Lost> {
        if self.begins.swap(false, Ordering::Relaxed) {
            let before = self.bench.elapsed_ns();
            if std::mem::take(&mut self.has_turn) {
                self.bench.pause();
                self.turns.pass(self.me, false);
            }
            self.turns.take(self.me);
            self.has_turn = true;
            self.waited_ns += self.bench.elapsed_ns() - before;
        }
        self.bench.restart()
    }

    /// The time of the other's turns does not count.
    fn elapsed_ns(&self) -> u64 {
        self.bench.elapsed_ns() - self.waited_ns
    }
}

impl<B: Bench> Drop for AlternatingBench<'_, B> {
    fn drop(&mut self) {
        self.bench.pause();
        self.turns.pass(self.me, true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Notes its starts and pauses, and has a clock of its own.
    struct Noting<'n>(char, &'n Mutex<String>);

    impl Noting<'_> {
        fn note(&self, what: char) {
            self.1.lock().unwrap().extend([self.0, what]);
        }
    }

    impl Bench for Noting<'_> {
        fn ask(&mut self, _: &Request) -> Result<Reply, Lost> {
            Ok(Reply::Closed)
        }

        fn restart(&mut self) -> Result<(), Lost> {
            self.note('+');
            Ok(())
        }

        fn elapsed_ns(&self) -> u64 {
            0
        }

        fn pause(&mut self) {
            self.note('-');
        }
    }

    /// What happens when A makes some epochs and B makes others.
    fn epochs(of_a: u32, of_b: u32) -> String {
        let (turns, notes) = (Alternation::default(), Mutex::new(String::new()));
        std::thread::scope(|scope| {
            for (me, name, epochs) in [(1, 'b', of_b), (0, 'a', of_a)] {
                let (turns, notes) = (&turns, &notes);
                scope.spawn(move || {
                    let begins = AtomicBool::new(false);
                    let mut bench = AlternatingBench::new(Noting(name, notes), turns, me, &begins);
                    for _ in 0..epochs {
                        begins.store(true, Ordering::Relaxed);
                        bench.restart().unwrap();
                    }
                });
            }
        });
        notes.into_inner().unwrap()
    }

    #[test]
    fn epochs_alternate_and_never_more_than_one_is_open() {
        assert_eq!(epochs(3, 3), "a+a-b+b-a+a-b+b-a+a-b+b-");
    }

    #[test]
    fn the_one_with_more_epochs_goes_on_alone() {
        assert_eq!(epochs(1, 3), "a+a-b+b-b+b-b+b-");
        assert_eq!(epochs(0, 1), "a-b+b-");
    }

    #[test]
    fn a_bench_that_was_lost_starts_again_in_its_own_turn() {
        let (turns, notes, begins) =
            (Alternation::default(), Mutex::new(String::new()), AtomicBool::new(true));
        let mut bench = AlternatingBench::new(Noting('a', &notes), &turns, 0, &begins);
        bench.restart().unwrap();
        bench.restart().unwrap();
        drop(bench);
        assert_eq!(notes.into_inner().unwrap(), "a+a+a-");
    }
}
