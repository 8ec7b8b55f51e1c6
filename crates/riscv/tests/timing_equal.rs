//! The fast path against the plain scoreboard: the same cycles, the same ledger, the same counts.

mod common;

use common::{Rng, random};
use random::{BASE, Mode};
use tollgate_riscv::timing::{ByPrivilege, Core, Fast, Ledger, Timed, TimingCounts};
use tollgate_riscv::{Config, Isa, Machine, MachineKind, Observer, Retired, Stop};

fn machine(isa: Isa, image: &[u8]) -> Machine {
    let config =
        Config { isa, machine: MachineKind::Virt, ram_bytes: 1 << 20, misaligned: true, ..Config::default() };
    let mut m = Machine::new(config).unwrap();
    m.write_memory(BASE, image).unwrap();
    m
}

const BUDGET: u64 = 400_000;

fn plain(core: &Core, isa: Isa, image: &[u8]) -> (u64, Ledger, TimingCounts) {
    let mut m = machine(isa, image);
    let mut timed = Timed::new(core, ByPrivilege, ()).unwrap();
    assert_eq!(m.run_reference(BUDGET, &mut timed), Stop::Exit { code: 0 });
    assert_eq!(timed.ledger().total(), timed.cycles());
    assert_eq!(timed.counts().memory.unknown_walks, 0);
    (timed.cycles(), timed.ledger().clone(), timed.counts())
}

fn fast(core: &Core, isa: Isa, image: &[u8]) -> (u64, Ledger, TimingCounts) {
    let mut m = machine(isa, image);
    let mut fast: Fast = Fast::new(core).unwrap();
    assert_eq!(m.run(BUDGET, &mut fast), Stop::Exit { code: 0 });
    let (found, replayed) = fast.memo_counts();
    assert!(found > replayed / 4, "{found} runs of instructions found, {replayed} replayed");
    assert_eq!(fast.ledger().total(), fast.cycles());
    (fast.cycles(), fast.ledger().clone(), fast.counts())
}

/// A core that has everything, and little of it, so that everything happens often.
fn crowded(replacement: &str) -> Core {
    let core = format!(
        "name = 'crowded'
        [pipeline]
        fetch-width = 4
        load-use = 2
        [operation]
        multiply = {{ cycles = 3, pipelined = true }}
        divide = {{ cycles = 11 }}
        float = {{ cycles = 4, pipelined = true }}
        atomic = {{ cycles = 2 }}
        [branch]
        predictor = 'bimodal'
        counters = 16
        btb = 8
        return-stack = 2
        mispredict = 3
        taken = 1
        jump = 1
        indirect = 3
        [system]
        csr-use = 2
        csr-drain = true
        csr-flush = 3
        fence-i = 5
        [trap]
        exception = 4
        interrupt = 4
        return = 5
        [l1i]
        geometry = '4:2:16'
        replacement = '{replacement}'
        [l1d]
        geometry = '2:2:16'
        replacement = '{replacement}'
        [l2]
        geometry = '8:2:64'
        hit = 7
        [itlb]
        entries = 1
        [dtlb]
        entries = 1
        [memory]
        latency = 31
        device = 5
        stores-wait = true
        walk = 2"
    );
    Core::from_toml(&core).unwrap()
}

#[test]
fn the_fast_path_equals_the_plain_scoreboard_on_random_programs() {
    let rv64: Isa = "rv64gc".parse().unwrap();
    let rv32: Isa = "rv32gc".parse().unwrap();
    let mut cores: Vec<Core> = Core::PRESETS.iter().map(|name| Core::preset(name).unwrap()).collect();
    cores.extend(["lru", "plru", "fifo", "random"].map(crowded));
    let seconds = common::fuzz_seconds();
    let end = seconds.map(|s| std::time::Instant::now() + std::time::Duration::from_secs(s));
    let mut seed = if end.is_some() { u64::from(std::process::id()) << 32 } else { 100 };
    loop {
        let kinds = [(rv64, Mode::Machine), (rv64, Mode::Sv39), (rv32, Mode::Sv32), (rv64, Mode::Sv48)];
        for (i, (isa, mode)) in kinds.into_iter().enumerate() {
            let image = random::program(&mut Rng(seed), isa, mode, 300);
            for (j, core) in cores.iter().enumerate() {
                // Without a time of its own the test does a third of all pairs for each seed.
                if end.is_none() && !(i + j + seed as usize).is_multiple_of(3) {
                    continue;
                }
                let expected = plain(core, isa, &image);
                let seen = fast(core, isa, &image);
                let what = format!("seed {seed:#x}, {isa}, {mode:?}, {}", core.name);
                assert_eq!(expected.0, seen.0, "cycles, {what}");
                assert_eq!(expected.1, seen.1, "ledger, {what}");
                assert_eq!(expected.2.mispredicts, seen.2.mispredicts, "{what}");
                assert_eq!(expected.2.instructions, seen.2.instructions, "{what}");
                assert_eq!(expected.2.memory, seen.2.memory, "{what}");
            }
        }
        seed += 1;
        match end {
            Some(end) if std::time::Instant::now() < end => {}
            None if seed < 103 => {}
            _ => break,
        }
    }
}

/// Everything that retires.
#[derive(Default)]
struct Trace(Vec<Retired>);

impl Observer for Trace {
    const RETIRE: bool = true;
    fn retire(&mut self, retired: &Retired) {
        self.0.push(*retired);
    }
}

#[test]
fn timing_changes_nothing_that_the_guest_sees() {
    let isa: Isa = "rv64gc".parse().unwrap();
    let image = random::program(&mut Rng(7), isa, Mode::Sv39, 300);
    let mut alone = Trace::default();
    let mut m = machine(isa, &image);
    m.run(BUDGET, &mut alone);
    let console = m.take_console();

    let mut watched = Trace::default();
    let mut timed = Timed::new(&crowded("lru"), (), ()).unwrap();
    let mut m = machine(isa, &image);
    m.run(BUDGET, &mut (&mut watched, &mut timed));
    assert!(alone.0 == watched.0);
    assert_eq!(console, m.take_console());
    assert!(timed.cycles() > m.instret());

    let mut fast: Fast = Fast::new(&crowded("lru")).unwrap();
    let mut m = machine(isa, &image);
    m.run(BUDGET, &mut fast);
    assert_eq!(console, m.take_console());
    assert_eq!(fast.cycles(), timed.cycles());
}

#[test]
fn counting_alone_counts_the_same_misses() {
    let isa: Isa = "rv64gc".parse().unwrap();
    for mode in [Mode::Machine, Mode::Sv39] {
        let image = random::program(&mut Rng(11), isa, mode, 300);
        let (_, _, expected) = plain(&crowded("lru"), isa, &image);
        let mut counting = Fast::<false>::new(&crowded("lru")).unwrap();
        let mut m = machine(isa, &image);
        m.run(BUDGET, &mut counting);
        assert_eq!(counting.counts().memory, expected.memory);
        assert_eq!(counting.counts().instructions, expected.instructions);
    }
}

#[test]
fn runs_and_threads_agree() {
    let isa: Isa = "rv64gc".parse().unwrap();
    let image = random::program(&mut Rng(3), isa, Mode::Sv39, 200);
    let core = crowded("random");
    let first = fast(&core, isa, &image);
    let threads: Vec<_> = (0..3)
        .map(|_| {
            let (core, image) = (core.clone(), image.clone());
            std::thread::spawn(move || fast(&core, isa, &image))
        })
        .collect();
    for thread in threads {
        assert_eq!(thread.join().unwrap(), first);
    }
    assert_eq!(fast(&core, isa, &image), first);
}
