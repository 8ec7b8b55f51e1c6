//! Futures of the language, polled in turn by a loop: the cost of async without an executor.

use crate::protocol::{Counts, Course, Params, Stamps, resident, singles};
use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

/// A future that is pending once and then ready.
pub struct Yield(pub bool);

impl Future for Yield {
    type Output = ();

    #[inline(always)]
    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        if std::mem::replace(&mut self.0, true) { Poll::Ready(()) } else { Poll::Pending }
    }
}

type Task = Pin<Box<dyn Future<Output = ()>>>;

fn tasks(params: &Params, stamps: Option<*mut Stamps>) -> (Vec<Task>, Vec<Rc<Cell<u64>>>) {
    (0..params.tasks)
        .map(|_| {
            let count = Rc::new(Cell::new(0u64));
            let own = Rc::clone(&count);
            let task: Task = match stamps {
                None => Box::pin(async move {
                    loop {
                        own.set(own.get() + 1);
                        Yield(false).await;
                    }
                }),
                Some(stamps) => Box::pin(async move {
                    loop {
                        // SAFETY: one task runs at a time; the stamps outlive the tasks.
                        unsafe { (*stamps).arrived() };
                        own.set(own.get() + 1);
                        // SAFETY: as above.
                        unsafe { (*stamps).leaving() };
                        Yield(false).await;
                    }
                }),
            };
            (task, count)
        })
        .unzip()
}

#[inline(always)]
fn round(tasks: &mut [Task], context: &mut Context<'_>) {
    for task in tasks {
        let _ = task.as_mut().poll(context);
    }
}

pub fn run(params: &Params) -> ! {
    let before = resident();
    let mut context = Context::from_waker(Waker::noop());
    let (mut ring, counts) = tasks(params, None);
    round(&mut ring, &mut context);
    let count = |_: &Vec<Task>| {
        let resumes: u64 = counts.iter().map(|count| count.get()).sum();
        Counts { resumes, dispatcher: resumes, copies: None }
    };
    let course = Course::new(params, before).run(&mut ring, count, |ring| round(ring, &mut context));
    drop(ring);
    let mut context = Context::from_waker(Waker::noop());
    let singles =
        singles(params, |stamps| tasks(params, Some(stamps)).0, |ring, _| round(ring, &mut context), drop);
    course.finish("Rust futures", &["boxed futures, polled through dyn Future".into()], &singles, true)
}
