//! A token goes around any number of tasks over every medium, each task takes it once a lap, and nothing is
//! left behind. A program of its own: it compares counts of the whole process.

use std::{
    fs, ptr,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};
use tollgate_boundary::task::{
    Medium, Ring, Tasks,
    media::{Condvar, Eventfd, Futex, Pipe, Signal, Socketpair},
};
use tollgate_measure::placement;

fn around<M: Medium>(tasks: Tasks, cpu: usize) {
    for peers in [1, 2, 9] {
        let mut ring = Ring::<M>::open(tasks, &vec![cpu; peers], |_| || ()).expect("a ring");
        let before = ring.served();
        let mut switches = ring.switches();
        switches.begin();
        let mut laps = 0;
        ring.laps(50, || laps += 1).expect("50 laps");
        assert_eq!(laps, 50);
        assert_eq!(ring.served() - before, 50 * peers as u64, "{peers} peers");
        // Every hop is a switch; the media that need more have more.
        let switches = switches.count().expect("/proc is mounted");
        assert!(switches >= 49 * (peers as u64 + 1), "{peers} peers made {switches} switches in 50 laps");
    }
}

fn traces() -> (usize, usize) {
    let count = |path| fs::read_dir(path).expect("/proc is mounted").count();
    (count("/proc/self/task"), count("/proc/self/fd"))
}

/// One test, because counts of the whole process are compared.
#[test]
fn every_medium_carries_a_token_around() {
    let cpu = *placement::allowed().expect("the mask can be read").last().expect("a CPU");
    placement::pin(cpu).expect("the CPU is in our mask");
    let before = traces();
    for tasks in [Tasks::Threads, Tasks::Processes] {
        around::<Futex>(tasks, cpu);
        around::<Pipe>(tasks, cpu);
        around::<Eventfd>(tasks, cpu);
        around::<Socketpair>(tasks, cpu);
        around::<Signal>(tasks, cpu);
    }
    around::<Condvar>(Tasks::Threads, cpu);

    let worked = Arc::new(AtomicU64::new(0));
    let work = |_| {
        let worked = Arc::clone(&worked);
        move || {
            worked.fetch_add(1, Ordering::Relaxed);
        }
    };
    let mut ring = Ring::<Futex>::open(Tasks::Threads, &[cpu; 3], work).expect("a ring");
    ring.laps(10, || ()).expect("10 laps");
    assert_eq!(worked.load(Ordering::Relaxed), 3 * (2 + 10), "each peer works once a lap, also at the start");
    drop(ring);

    // SAFETY: no status is asked for.
    let left = unsafe { libc::waitpid(-1, ptr::null_mut(), libc::WNOHANG | libc::__WALL) };
    assert_eq!(left, -1, "a child is left behind");
    // A joined thread can still be listed for a moment, until the kernel has taken it apart.
    let begin = Instant::now();
    while traces() != before && begin.elapsed() < Duration::from_secs(10) {
        thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(traces(), before, "threads and descriptors");
}
