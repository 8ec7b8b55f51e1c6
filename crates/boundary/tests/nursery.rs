//! What a fork copies is the same whatever else the process has mapped. A program of its own: the tests change what the
//! process maps.

use std::{fs, ptr};
use tollgate_boundary::PROBES;
use tollgate_measure::{Crossing, Site, placement};
use tollgate_record::family::ProbeFound;

const MAPPINGS: usize = 200;
const BYTES: usize = 1 << 20;

/// Memory that is mapped and touched, in mappings that the kernel cannot join.
struct Ballast(Vec<*mut libc::c_void>);

impl Ballast {
    fn new() -> Self {
        let one = |nth: usize| {
            let protection =
                if nth.is_multiple_of(2) { libc::PROT_READ } else { libc::PROT_EXEC } | libc::PROT_WRITE;
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_POPULATE;
            // SAFETY: a new anonymous mapping at an address of the kernel's choice.
            let at = unsafe { libc::mmap(ptr::null_mut(), BYTES, protection, flags, -1, 0) };
            assert_ne!(at, libc::MAP_FAILED, "mmap: {}", std::io::Error::last_os_error());
            at
        };
        Self((0..MAPPINGS).map(one).collect())
    }
}

impl Drop for Ballast {
    fn drop(&mut self) {
        for &at in &self.0 {
            // SAFETY: mapped by us, and nobody looks at it.
            unsafe { libc::munmap(at, BYTES) };
        }
    }
}

fn open() -> Box<dyn Crossing> {
    let cpu = *placement::allowed().expect("the mask can be read").last().expect("a CPU");
    placement::pin(cpu).expect("the CPU is in our mask");
    let fork = PROBES.iter().find(|probe| probe.meta().id == "spawn/fork").expect("it is in the list");
    fork.open(&Site { cpu, peer: None }).unwrap_or_else(|error| panic!("{error}"))
}

fn found(crossing: &dyn Crossing) -> ProbeFound {
    crossing.facts().found.probe().expect("a probe of this host").clone()
}

#[test]
fn a_fork_copies_the_same_beside_other_memory_and_other_threads() {
    let alone = open();
    assert_eq!(found(alone.as_ref()).address_space.as_deref(), Some("the program and the C library"));
    let ballast = Ballast::new();
    let (tell, told) = std::sync::mpsc::channel::<()>();
    let threads: Vec<_> =
        (0..2).map(|_| std::thread::spawn(|| vec![1_u8; BYTES]).join().expect("no panic")).collect();
    let sleeper = std::thread::spawn(move || told.recv());
    let mut beside = open();
    let maps = fs::read_to_string("/proc/self/maps").expect("/proc is mounted");
    let [few, many] = [&alone, &beside].map(|it| found(it.as_ref()).mappings.expect("/proc is mounted"));
    assert!(maps.lines().count() > MAPPINGS && few.abs_diff(many) <= 2, "{few} and {many} mappings");
    if found(alone.as_ref()).resident_kib.is_some() {
        let [little, much] =
            [&alone, &beside].map(|it| found(it.as_ref()).resident_kib.expect("/proc is mounted"));
        assert!(little.abs_diff(much) <= 512, "{little} and {much} KiB, of {} MiB in all", MAPPINGS);
    }
    // With memory gone that it was made beside, it still forks.
    drop((ballast, threads, tell));
    let _ = sleeper.join().expect("no panic");
    beside.cross(50).unwrap_or_else(|error| panic!("{error}"));
    let mut counts = [None];
    beside.prove(&mut counts).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(counts, [Some(50)]);
    beside.cross(0).unwrap_or_else(|error| panic!("{error}"));
    beside.prove(&mut counts).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(counts, [Some(0)]);
}

/// Opens the probe with `kib` more on the stack.
fn open_below(kib: usize) {
    let frame = [1_u8; 1024];
    if kib > 0 {
        open_below(kib - 1);
    } else {
        drop(open());
    }
    std::hint::black_box(&frame);
}

#[test]
fn it_opens_wherever_on_the_stack_it_is_called() {
    (0..70).for_each(open_below);
}
