//! tokio on its current-thread scheduler: tasks that yield, and tasks that pass a token through channels.

use crate::protocol::{Counts, Course, Params, Stamps, fail, resident};
use std::cell::{Cell, RefCell};
use std::future::Future;
use std::rc::Rc;
use tokio::runtime::Builder;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::task::{LocalSet, spawn_local, yield_now};

const VERSION: &str = "tokio 1.53.1";

/// The state that the tasks share.
struct Shared {
    counts: Vec<Cell<u64>>,
    stamps: RefCell<Option<Stamps>>,
    /// The tasks end when this is set.
    over: Cell<bool>,
}

impl Shared {
    fn new(tasks: usize) -> Rc<Self> {
        let counts = (0..tasks).map(|_| Cell::new(0)).collect();
        Rc::new(Self { counts, stamps: RefCell::new(None), over: Cell::new(false) })
    }

    fn resumes(&self) -> Counts {
        let resumes = self.counts.iter().map(Cell::get).sum();
        Counts { resumes, dispatcher: resumes, copies: None }
    }

    /// Call it when task `at` has the CPU.
    #[inline(always)]
    fn arrived<const STAMP: bool>(&self, at: usize) {
        if STAMP && let Some(stamps) = self.stamps.borrow_mut().as_mut() {
            stamps.arrived();
        }
        let count = &self.counts[at];
        count.set(count.get() + 1);
    }

    #[inline(always)]
    fn leaving<const STAMP: bool>(&self) {
        if STAMP && let Some(stamps) = self.stamps.borrow_mut().as_mut() {
            stamps.leaving();
        }
    }
}

/// Runs `first`, which spawns the other tasks, as one of the tasks.
fn block_on<T: 'static>(first: impl Future<Output = T> + 'static) -> T {
    let runtime = Builder::new_current_thread()
        .build()
        .unwrap_or_else(|error| fail(&format!("tokio does not start: {error}")));
    let tasks = LocalSet::new();
    let result = tasks.block_on(&runtime, async {
        spawn_local(first).await.unwrap_or_else(|error| fail(&format!("a task panicked: {error}")))
    });
    // The other tasks wait forever; the process ends soon.
    std::mem::forget(tasks);
    result
}

pub fn run_yield(params: &'static Params) -> ! {
    let course = block_on(async move {
        let before = resident();
        let shared = Shared::new(params.tasks);
        spawn_yielding::<false>(params, &shared);
        yield_now().await;
        shared.arrived::<false>(0);
        let mut course = Course::new(params, before).counted();
        while let Some(rounds) = course.begin(|| shared.resumes()) {
            for _ in 0..rounds {
                yield_now().await;
                shared.arrived::<false>(0);
            }
            course.end();
        }
        shared.over.set(true);
        course
    });
    let singles = if params.singles == 0 { Vec::new() } else { block_on(singles_yielding(params)) };
    course.finish(VERSION, &["LocalSet on a current-thread runtime".into()], &singles, true)
}

fn spawn_yielding<const STAMP: bool>(params: &Params, shared: &Rc<Shared>) {
    for at in 1..params.tasks {
        let shared = Rc::clone(shared);
        spawn_local(async move {
            while !shared.over.get() {
                shared.arrived::<STAMP>(at);
                shared.leaving::<STAMP>();
                yield_now().await;
            }
        });
    }
}

async fn singles_yielding(params: &'static Params) -> Vec<u64> {
    let shared = Shared::new(params.tasks);
    spawn_yielding::<true>(params, &shared);
    yield_now().await;
    yield_now().await;
    *shared.stamps.borrow_mut() = Some(Stamps::new(params.singles));
    while shared.stamps.borrow().as_ref().is_some_and(|stamps| stamps.ticks.len() < params.singles) {
        shared.leaving::<true>();
        yield_now().await;
        shared.arrived::<true>(0);
    }
    shared.over.set(true);
    shared.stamps.take().map(|stamps| stamps.ticks).unwrap_or_default()
}

/// The ends of the channels of the first task.
struct Ends {
    out: Sender<()>,
    back: Receiver<()>,
}

fn spawn_passing<const STAMP: bool>(params: &Params, shared: &Rc<Shared>) -> Ends {
    let (out, mut input) = channel(1);
    for at in 1..params.tasks {
        let (next, following) = channel(1);
        let mut from = std::mem::replace(&mut input, following);
        let shared = Rc::clone(shared);
        spawn_local(async move {
            while from.recv().await.is_some() {
                shared.arrived::<STAMP>(at);
                shared.leaving::<STAMP>();
                if next.send(()).await.is_err() {
                    break;
                }
            }
        });
    }
    Ends { out, back: input }
}

impl Ends {
    #[inline(always)]
    async fn round(&mut self) {
        if self.out.send(()).await.is_err() || self.back.recv().await.is_none() {
            fail("the ring broke");
        }
    }
}

pub fn run_channel(params: &'static Params) -> ! {
    let course = block_on(async move {
        let before = resident();
        let shared = Shared::new(params.tasks);
        let mut ends = spawn_passing::<false>(params, &shared);
        ends.round().await;
        shared.arrived::<false>(0);
        let mut course = Course::new(params, before);
        while let Some(rounds) = course.begin(|| shared.resumes()) {
            for _ in 0..rounds {
                ends.round().await;
                shared.arrived::<false>(0);
            }
            course.end();
        }
        course
    });
    let singles = if params.singles == 0 { Vec::new() } else { block_on(singles_passing(params)) };
    course.finish(
        VERSION,
        &["mpsc channels of one place, LocalSet on a current-thread runtime".into()],
        &singles,
        true,
    )
}

async fn singles_passing(params: &'static Params) -> Vec<u64> {
    let shared = Shared::new(params.tasks);
    let mut ends = spawn_passing::<true>(params, &shared);
    ends.round().await;
    *shared.stamps.borrow_mut() = Some(Stamps::new(params.singles));
    while shared.stamps.borrow().as_ref().is_some_and(|stamps| stamps.ticks.len() < params.singles) {
        shared.leaving::<true>();
        ends.round().await;
        shared.arrived::<true>(0);
    }
    shared.stamps.take().map(|stamps| stamps.ticks).unwrap_or_default()
}
