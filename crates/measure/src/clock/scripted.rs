//! A clock for tests.

use super::Clock;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

/// A clock that a test sets. Clones share the same time.
#[derive(Clone, Debug, Default)]
pub struct Scripted {
    time: Rc<Cell<u64>>,
    readings: Rc<RefCell<VecDeque<u64>>>,
}

impl Scripted {
    /// A clock that shows these readings one after the other and then stops.
    pub fn reading(readings: &[u64]) -> Self {
        Self { time: Rc::default(), readings: Rc::new(RefCell::new(readings.iter().copied().collect())) }
    }

    /// Lets `ticks` pass.
    pub fn advance(&self, ticks: u64) {
        self.time.set(self.time.get() + ticks);
    }
}

impl Clock for Scripted {
    fn now(&self) -> u64 {
        if let Some(reading) = self.readings.borrow_mut().pop_front() {
            self.time.set(reading);
        }
        self.time.get()
    }
}
