//! corosensei: stackful coroutines that the main program resumes in turn.

use crate::protocol::{Counts, Course, Params, Stamps, resident, singles, skip};
use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult};
use std::cell::Cell;
use std::rc::Rc;

const STACK: usize = 16 << 10;

type Task = Coroutine<(), (), (), DefaultStack>;

/// Creates the tasks, each with its own count. With `stamps`, each reads the clock.
fn tasks(params: &Params, stamps: Option<*mut Stamps>) -> (Vec<Task>, Vec<Rc<Cell<u64>>>) {
    (0..params.tasks)
        .map(|_| {
            let stack = DefaultStack::new(STACK).unwrap_or_else(|error| {
                skip(&format!("{} stacks cannot be mapped: {error}; see vm.max_map_count", params.tasks))
            });
            let count = Rc::new(Cell::new(0u64));
            let own = Rc::clone(&count);
            let task = match stamps {
                None => Coroutine::with_stack(stack, move |yielder, ()| {
                    loop {
                        own.set(own.get() + 1);
                        yielder.suspend(());
                    }
                }),
                Some(stamps) => Coroutine::with_stack(stack, move |yielder, ()| {
                    loop {
                        // SAFETY: one task runs at a time; the stamps outlive the tasks.
                        unsafe { (*stamps).arrived() };
                        own.set(own.get() + 1);
                        // SAFETY: as above.
                        unsafe { (*stamps).leaving() };
                        yielder.suspend(());
                    }
                }),
            };
            (task, count)
        })
        .unzip()
}

#[inline(always)]
fn round(tasks: &mut [Task]) {
    for task in tasks {
        if let CoroutineResult::Return(()) = task.resume(()) {
            unreachable!("a task never ends");
        }
    }
}

pub fn run(params: &Params) -> ! {
    let before = resident();
    let (mut ring, counts) = tasks(params, None);
    round(&mut ring);
    let count = |_: &Vec<Task>| {
        let resumes: u64 = counts.iter().map(|count| count.get()).sum();
        // Each resumption returns to the loop.
        Counts { resumes, dispatcher: resumes, copies: None }
    };
    let course = Course::new(params, before).run(&mut ring, count, |ring| round(ring));
    forget(ring);
    let notes = [format!("stacks of {} KiB; each switch is a suspension and a resumption", STACK >> 10)];
    let singles = singles(params, |stamps| tasks(params, Some(stamps)).0, |ring, _| round(ring), forget);
    course.finish("corosensei 0.3.4", &notes, &singles, true)
}

/// A coroutine that is dropped while suspended unwinds; these own nothing, and the process ends soon.
fn forget(tasks: Vec<Task>) {
    std::mem::forget(tasks);
}
