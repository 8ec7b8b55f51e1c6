//! A flag under a mutex and a condition variable, as programs commonly write it.

use super::{Ends, Give, Medium, Passed, Take, closed};
use crate::task::Tasks;
use std::sync::{Arc, Condvar as StdCondvar, Mutex, PoisonError};
use tollgate_measure::Refusal;

/// A flag under a mutex, notified while the mutex is held, as programs commonly write it (threads only).
pub struct Condvar;

#[derive(Default)]
struct Link {
    full: Mutex<bool>,
    changed: StdCondvar,
}

/// Either end of a link.
pub struct FlagEnd(Arc<Link>);

impl Medium for Condvar {
    type Give = FlagEnd;
    type Take = FlagEnd;

    fn ring(len: usize, tasks: Tasks) -> Result<Ends<Self>, Refusal> {
        if tasks == Tasks::Processes {
            return Err(Refusal::Failed(
                "a condition variable of this kind does not reach between processes".into(),
            ));
        }
        let link = |_| {
            let link = Arc::new(Link::default());
            Ok((FlagEnd(Arc::clone(&link)), FlagEnd(link)))
        };
        closed(len, link)
    }
}

impl Give for FlagEnd {
    #[inline]
    fn give(&mut self) -> Passed {
        let mut full = self.0.full.lock().unwrap_or_else(PoisonError::into_inner);
        *full = true;
        // Before the guard is dropped: that is the common way, and the extra switches that it causes are
        // what the figure is about.
        self.0.changed.notify_one();
        Ok(())
    }
}

impl Take for FlagEnd {
    #[inline]
    fn take(&mut self) -> Passed {
        let mut full = self.0.full.lock().unwrap_or_else(PoisonError::into_inner);
        while !*full {
            full = self.0.changed.wait(full).unwrap_or_else(PoisonError::into_inner);
        }
        *full = false;
        Ok(())
    }
}
