//! Turns under a mutex and condition variables, as programs commonly write them.

use super::{End, Ends, Give, Medium, Passed, Take};
use crate::task::Tasks;
use std::{cell::UnsafeCell, sync::Arc};
use tollgate_measure::Refusal;

/// Whose turn it is, under one mutex: lock, wait for the turn, act, set the next turn, notify, unlock
/// (threads only).
///
/// This is the common loop, and it notifies while the mutex is held. It uses the C library's types, because they can be
/// locked in one function and unlocked in another: the task that has the token holds the mutex.
pub struct Condvar;

struct Table {
    mutex: UnsafeCell<libc::pthread_mutex_t>,
    /// Guarded by the mutex.
    turn: UnsafeCell<usize>,
    /// One for each task, so that only the next one is woken.
    changed: Vec<UnsafeCell<libc::pthread_cond_t>>,
}

// SAFETY: the mutex and the conditions are made for use from several threads, and the turn is only touched
// by the thread that holds the mutex.
unsafe impl Send for Table {}
// SAFETY: as above.
unsafe impl Sync for Table {}

/// One task's place at the table, or that of the next task.
///
/// Mutex and conditions are not destroyed: on Linux that does nothing, and the last task ends with the mutex held.
pub struct Place {
    table: Arc<Table>,
    at: usize,
}

impl Medium for Condvar {
    type Give = Place;
    type Take = Place;

    fn ring(len: usize, tasks: Tasks) -> Result<Ends<Self>, Refusal> {
        if tasks == Tasks::Processes {
            let why = "a condition variable of this kind does not work between processes";
            return Err(Refusal::Failed(why.into()));
        }
        let table = Arc::new(Table {
            mutex: UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER),
            turn: UnsafeCell::new(0),
            changed: (0..len).map(|_| UnsafeCell::new(libc::PTHREAD_COND_INITIALIZER)).collect(),
        });
        let place = move |at| Place { table: Arc::clone(&table), at };
        let end = move |at| Ok(End { take: place(at), give: place((at + 1) % len) });
        Ok(Box::new((0..len).map(end)))
    }
}

impl Give for Place {
    #[inline]
    fn give(&mut self) -> Passed {
        // SAFETY: this thread has the token, so it holds the mutex and may touch the turn. All live as
        // long as the table and do not move.
        unsafe {
            *self.table.turn.get() = self.at;
            // Before the unlock: the extra switches that this causes belong to the figure.
            done(libc::pthread_cond_signal(self.table.changed[self.at].get()))?;
            done(libc::pthread_mutex_unlock(self.table.mutex.get()))
        }
    }
}

impl Take for Place {
    fn enter(&mut self) -> Passed {
        match self.at {
            // Task 0 has the token at first.
            // SAFETY: the mutex lives as long as the table and does not move.
            0 => done(unsafe { libc::pthread_mutex_lock(self.table.mutex.get()) }),
            _ => Ok(()),
        }
    }

    #[inline]
    fn take(&mut self) -> Passed {
        // SAFETY: the turn is read between lock and unlock only; all live as long as the table.
        unsafe {
            done(libc::pthread_mutex_lock(self.table.mutex.get()))?;
            while *self.table.turn.get() != self.at {
                done(libc::pthread_cond_wait(self.table.changed[self.at].get(), self.table.mutex.get()))?;
            }
        }
        Ok(())
    }
}

/// These functions return their error number.
fn done(returned: libc::c_int) -> Passed {
    if returned == 0 { Ok(()) } else { Err(returned) }
}
