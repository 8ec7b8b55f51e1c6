//! What observers count of translated code against the plain model, which sees each instruction of the reference interpreter.

use std::rc::Rc;

use crate::common::{
    self,
    random::{self, BASE, Mode},
};
use crate::common::{Asm, Rng};
use crate::translated::{self, translate};
use tollgate_cores::{ByPrivilege, CacheCounter, Core, Timed};
use tollgate_riscv::cache::{Cache, Policy, WritePolicy};
use tollgate_riscv::tier::{Counter, Kind, Passed, Quiet, Reported, Sight, View};
use tollgate_riscv::{Access, Config, Elf, Machine, Observer, Op, Privilege, Retired, Stop, Xlen};

const RV64: &str = "rv64gc";
const RV32: &str = "rv32gc";

fn machine(image: &[u8]) -> Machine {
    translated::machine(RV64, image)
}

/// A core with these caches and translation buffers, each `sets:ways:line` and a number of entries.
fn core(policy: &str, [l1i, l1d]: [Option<&str>; 2], [itlb, dtlb]: [u32; 2]) -> Core {
    let mut text = "name = 'counted'\n".to_owned();
    for (name, geometry) in [("l1i", l1i), ("l1d", l1d)] {
        if let Some(geometry) = geometry {
            text += &format!("{name} = {{ geometry = '{geometry}', replacement = '{policy}' }}\n");
        }
    }
    text += "l2 = { geometry = '8:2:64', hit = 7 }\n";
    for (name, entries) in [("itlb", itlb), ("dtlb", dtlb)] {
        if entries > 0 {
            text += &format!("{name} = {{ entries = {entries} }}\n");
        }
    }
    Core::from_toml(&text).unwrap()
}

/// Caches and buffers in which little fits, in which most of it fits, and some that are not there.
fn cores() -> Vec<Core> {
    let mut cores: Vec<Core> = ["lru", "plru", "fifo", "random"]
        .into_iter()
        .map(|policy| core(policy, [Some("4:2:16"), Some("2:2:16")], [1, 1]))
        .collect();
    cores.push(core("lru", [Some("16:2:64"), Some("16:4:64")], [2, 8]));
    cores.push(core("lru", [Some("8:1:4"), Some("8:1:8")], [0, 2]));
    cores.push(core("lru", [None, Some("4:1:32")], [2, 0]));
    cores.push(core("lru", [Some("4:1:32"), None], [0, 2]));
    // A second level with shorter lines than the first, and none.
    let shape = |line: &str| {
        format!("name = 'counted'\nl1d = {{ geometry = '4:2:64' }}\ndtlb = {{ entries = 1 }}\n{line}")
    };
    cores.extend(["l2 = { geometry = '8:2:32' }", ""].map(|line| Core::from_toml(&shape(line)).unwrap()));
    let bypassed = "name = 'counted'\nl1d = { geometry = '4:2:16', no-write-allocate = true }";
    cores.push(Core::from_toml(bypassed).unwrap());
    cores
}

#[test]
fn misses_are_those_of_the_plain_model_after_any_number_of_instructions() {
    let cores = cores();
    for (seed, core) in common::seeds(1).flat_map(|seed| (64 * seed..).zip(&cores)) {
        for (isa, mode) in [
            (RV64, Mode::Machine),
            (RV64, Mode::Sv39),
            (RV64, Mode::Sv48),
            (RV32, Mode::Machine),
            (RV32, Mode::Sv32),
        ] {
            let what = format!("seed {seed}, {isa}, {mode:?}, {core:?}");
            let mut rng = Rng(seed);
            let image = random::program(&mut rng, isa.parse().unwrap(), mode, 300);
            let mut plain = Timed::new(core, ByPrivilege, ()).unwrap();
            let mut counting = CacheCounter::new(core).unwrap();
            let [mut reference, mut fast] = [0; 2].map(|_| translated::machine(isa, &image));
            let translated = translate(&mut fast, 1 + rng.below(60));
            loop {
                let budget = 1 + rng.below(5_000);
                let stop = reference.run_reference(budget, &mut plain);
                assert_eq!(fast.run(budget, &mut counting), stop, "{what}");
                assert_eq!((fast.pc(), fast.instret()), (reference.pc(), reference.instret()), "{what}");
                let at = format!("{what}, after {} instructions", fast.instret());
                assert_eq!(counting.counts(), plain.counts().memory, "{at}");
                assert_eq!(counting.instructions(), plain.counts().instructions, "{at}");
                if stop != Stop::Budget {
                    assert_eq!(stop, Stop::Exit { code: 0 });
                    break;
                }
            }
            assert!(
                translated.retired.get() > fast.instret() / 8,
                "{} of {}, {what}",
                translated.retired.get(),
                fast.instret()
            );
        }
    }
}

#[test]
fn programs_of_the_bench_miss_as_often_as_they_do_interpreted() {
    let core = Core::from_toml(include_str!("../../../cores/examples/bench.toml")).unwrap();
    for (program, at_least) in [
        (&include_bytes!("../../../../guests/riscv/bench/mix.elf")[..], 1_000_000),
        (include_bytes!("../../../../guests/riscv/bench/float.elf"), 1_000_000),
        (include_bytes!("../../../../guests/riscv/bench/compute32.elf"), 1_000_000),
        (include_bytes!("../../../../guests/riscv/bench/traps32.elf"), 30_000),
    ] {
        let elf = Elf::parse(program).unwrap();
        let isa = if elf.xlen == Xlen::Rv64 { RV64 } else { RV32 }.parse().unwrap();
        let run = |translates: bool| {
            let mut machine = Machine::new(Config { isa, ..Config::default() }).unwrap();
            machine.load(&elf).unwrap();
            let translated = if translates { translate(&mut machine, 1_000) } else { Rc::default() };
            let mut counting = CacheCounter::new(&core).unwrap();
            machine.run(3_000_000, &mut counting);
            (counting.counts(), translated.retired.get())
        };
        let ((expected, _), (counts, translated)) = (run(false), run(true));
        assert_eq!(counts, expected);
        assert!(translated > at_least, "{translated}");
    }
}

/// A data cache, and everything that was reported of it.
struct Lines {
    cache: Cache,
    reported: Vec<Kind>,
    passed: Passed,
}

impl Lines {
    fn new(write: WritePolicy) -> Self {
        let cache = Cache::new("4:1:64".parse().unwrap(), Policy::Lru, write).unwrap();
        Lines { cache, reported: Vec::new(), passed: Passed::default() }
    }
}

impl Counter for Lines {
    fn sight(&self) -> Sight {
        let lines = Some(self.cache.line_view());
        Sight { data: View { lines, pages: false }, bytes: true, ..Sight::default() }
    }

    fn quiet_fetches(&mut self, _: Privilege) -> Quiet<'_> {
        Quiet::default()
    }

    fn quiet_data(&mut self, _: Privilege) -> Quiet<'_> {
        Quiet { lines: self.cache.quiet(), ..Quiet::default() }
    }

    fn report_noted(&mut self, noted: &[u64]) {
        for &noted in noted {
            self.cache.access_noted(noted);
            self.reported.push(if noted & 2 == 0 { Kind::Load } else { Kind::Store });
        }
    }

    fn report(&mut self, access: &Reported) {
        let store = access.kind == Kind::Store;
        self.cache.access(access.pa, store);
        self.cache.count_again(store);
        self.reported.push(access.kind);
    }

    fn count(&mut self, passed: &Passed) {
        self.cache.count_hits(passed.loads, passed.stores);
        self.passed.instructions += passed.instructions;
        self.passed.loads += passed.loads;
        self.passed.stores += passed.stores;
        self.passed.fetched_bytes += passed.fetched_bytes;
        self.passed.loaded_bytes += passed.loaded_bytes;
        self.passed.stored_bytes += passed.stored_bytes;
    }
}

impl Observer for Lines {
    const RETIRE: bool = true;
    const MEMORY: bool = true;

    fn counter(&mut self) -> Option<&mut dyn Counter> {
        Some(self)
    }

    fn access(&mut self, access: &Access) {
        self.cache.access(access.pa, access.store);
        let passed = &mut self.passed;
        let (count, bytes) = match access.store {
            true => (&mut passed.stores, &mut passed.stored_bytes),
            false => (&mut passed.loads, &mut passed.loaded_bytes),
        };
        (*count, *bytes) = (*count + 1, *bytes + u64::from(access.size));
    }

    fn retire(&mut self, retired: &Retired) {
        self.passed.instructions += 1;
        self.passed.fetched_bytes += u64::from(retired.insn.len);
    }
}

/// Rounds of the loop below.
const ROUNDS: u64 = 10_000;

/// Four loads and two stores a round in two lines: eight bytes and two bytes loaded of each, four stored to one and one to the
/// other.
fn two_lines() -> Vec<u8> {
    let mut asm = Asm::default();
    asm.op(Op::Auipc, 8, 0, 0, 0x1000).li(9, ROUNDS as i32);
    let top = asm.0.len() as i64;
    for line in [0, 64] {
        asm.op(Op::Ld, 10, 8, 0, line).op(Op::Lhu, 11, 8, 0, line + 8);
    }
    asm.op(Op::Sw, 0, 8, 10, 16).op(Op::Sb, 0, 8, 10, 80);
    asm.op(Op::Addi, 9, 9, 0, -1);
    let at = asm.0.len() as i64;
    asm.op(Op::Bne, 0, 9, 0, top - at);
    let at = asm.0.len() as i64;
    asm.op(Op::Jal, 0, 0, 0, 0);
    assert_eq!(at % 4, 0);
    asm.0
}

/// Runs the rounds, and one jump behind them.
fn rounds(write: WritePolicy) -> Lines {
    let image = two_lines();
    let mut machine = machine(&image);
    let translated = translate(&mut machine, 100);
    let mut lines = Lines::new(write);
    let before = (image.len() as u64 - 9 * 4) / 4;
    let steps = before + ROUNDS * 8 + 1;
    assert_eq!(machine.run(steps, &mut lines), Stop::Budget);
    assert!(translated.retired.get() > ROUNDS * 7, "{}", translated.retired.get());
    assert_eq!(lines.passed.instructions, steps);
    assert_eq!(lines.passed.fetched_bytes, steps * 4);
    lines
}

#[test]
fn quiet_accesses_are_counted_and_not_reported() {
    let Lines { cache, reported, passed } = rounds(WritePolicy::default());
    assert_eq!([passed.loads, passed.stores], [ROUNDS * 4, ROUNDS * 2]);
    assert_eq!([passed.loaded_bytes, passed.stored_bytes], [ROUNDS * 20, ROUNDS * 5]);
    let counts = cache.counts();
    assert_eq!([counts.reads, counts.writes], [ROUNDS * 4, ROUNDS * 2]);
    assert_eq!((counts.read_misses, counts.write_misses), (2, 0));
    assert!(reported.is_empty(), "each line was accessed before the loop was hot: {reported:?}");
}

/// No line of such a cache is ever dirty: each store goes to memory.
#[test]
fn stores_are_reported_where_none_is_quiet() {
    let Lines { cache, reported, passed } = rounds(WritePolicy { back: false, allocate: true });
    assert!(reported.iter().all(|kind| *kind == Kind::Store));
    assert!(reported.len() as u64 > ROUNDS, "{}", reported.len());
    assert_eq!(passed.stores, ROUNDS * 2);
    assert_eq!(cache.counts().writes_through, ROUNDS * 2);
}

/// An instruction cache, and how often a fetch is from another page than the one before.
struct Fetches {
    cache: Cache,
    page: u64,
    pages: u64,
}

impl Fetches {
    fn fetch(&mut self, va: u64, pa: u64, size: u8) {
        self.pages += u64::from(self.page != va >> 12);
        self.page = va >> 12;
        let line = u64::from(self.cache.geometry().line());
        self.cache.access(pa, false);
        if pa % line + u64::from(size) > line {
            self.cache.access(pa + u64::from(size) - 1, false);
        }
    }
}

impl Counter for Fetches {
    fn sight(&self) -> Sight {
        let lines = Some(self.cache.line_view());
        Sight { fetches: View { lines, pages: true }, ..Sight::default() }
    }

    fn quiet_fetches(&mut self, _: Privilege) -> Quiet<'_> {
        Quiet { lines: self.cache.quiet(), page_mask: !0xfff, page: self.page << 12 }
    }

    fn quiet_data(&mut self, _: Privilege) -> Quiet<'_> {
        Quiet::default()
    }

    fn report_noted(&mut self, _: &[u64]) {}

    fn report(&mut self, access: &Reported) {
        assert_eq!(access.kind, Kind::Fetch);
        self.fetch(access.va, access.pa, access.size);
    }

    fn count(&mut self, _: &Passed) {}
}

impl Observer for Fetches {
    const RETIRE: bool = true;

    fn counter(&mut self) -> Option<&mut dyn Counter> {
        Some(self)
    }

    fn retire(&mut self, retired: &Retired) {
        self.fetch(retired.pc, retired.pa, retired.insn.len);
    }
}

/// A call of another page, and a branch whose second half is in a line that displaces, and is displaced by, that of the function.
#[test]
fn fetches_from_another_page_and_of_a_second_line_are_reported() {
    let mut asm = Asm::default();
    asm.li(9, ROUNDS as i32);
    asm.0.resize(0x10, 0);
    // (`c.nop` as far as the line goes.)
    for half in asm.0[8..].chunks_exact_mut(2) {
        half[0] = 1;
    }
    asm.op(Op::Jal, 1, 0, 0, 0xff0).op(Op::Addi, 9, 9, 0, -1).op(Op::Addi, 0, 0, 0, 0);
    asm.0.extend([1, 0]);
    assert_eq!(asm.0.len(), 0x1e, "half of the branch is in the line at 0x20");
    asm.op(Op::Bne, 0, 9, 0, -0xe).op(Op::Jal, 0, 0, 0, 0);
    asm.0.resize(0x1000, 0);
    asm.op(Op::Jalr, 0, 1, 0, 0);
    // The lines at 0 and 0x10 miss once, those at 0x1000 and 0x20 in each round, or once where there is room.
    for (geometry, misses) in [("2:1:16", 2 + 2 * ROUNDS), ("4:4:16", 4)] {
        let mut machine = machine(&asm.0);
        let translated = translate(&mut machine, 100);
        let cache = Cache::new(geometry.parse().unwrap(), Policy::Lru, WritePolicy::default()).unwrap();
        let mut fetches = Fetches { cache, page: BASE >> 12, pages: 0 };
        machine.run(ROUNDS * 6 + 20, &mut fetches);
        assert_eq!(machine.x(9), 0);
        assert!(translated.retired.get() > ROUNDS * 5, "{}", translated.retired.get());
        assert_eq!(fetches.pages, 2 * ROUNDS, "{geometry}");
        assert_eq!(fetches.cache.counts().misses(), misses, "{geometry}");
    }
}

/// Every access that is not to the line and the page of the one before, in a cache of one line.
struct Sequence {
    cache: Cache,
    page: u64,
    lines: Vec<u64>,
    /// How many of them were noted.
    noted: u64,
}

impl Sequence {
    fn new() -> Self {
        let cache = Cache::new("1:1:64".parse().unwrap(), Policy::Lru, WritePolicy::default()).unwrap();
        Sequence { cache, page: 1, lines: Vec::new(), noted: 0 }
    }

    fn access(&mut self, va: u64, pa: u64, store: bool) {
        let hit = self.cache.access(pa, store).hit;
        if !hit || self.page != va >> 12 {
            self.lines.push(pa >> 6);
        }
        self.page = va >> 12;
    }
}

impl Counter for Sequence {
    fn sight(&self) -> Sight {
        let lines = Some(self.cache.line_view());
        Sight { data: View { lines, pages: true }, ..Sight::default() }
    }

    fn quiet_fetches(&mut self, _: Privilege) -> Quiet<'_> {
        Quiet::default()
    }

    fn quiet_data(&mut self, _: Privilege) -> Quiet<'_> {
        Quiet { lines: self.cache.quiet(), page_mask: !0xfff, page: self.page << 12 }
    }

    fn report_noted(&mut self, noted: &[u64]) {
        self.noted += noted.len() as u64;
        for &noted in noted {
            if !self.cache.access_noted(noted).hit {
                self.lines.push(noted >> 2);
            }
        }
    }

    fn report(&mut self, access: &Reported) {
        self.access(access.va, access.pa, access.kind == Kind::Store);
    }

    fn count(&mut self, _: &Passed) {}
}

impl Observer for Sequence {
    const RETIRE: bool = true;
    const MEMORY: bool = true;

    fn counter(&mut self) -> Option<&mut dyn Counter> {
        Some(self)
    }

    fn access(&mut self, access: &Access) {
        Sequence::access(self, access.va, access.pa, access.store);
    }
}

/// Loads and stores of some lines of two pages, in rounds.
fn rounds_of(accesses: &[(Op, i64)]) -> Vec<u8> {
    let mut asm = Asm::default();
    asm.op(Op::Auipc, 8, 0, 0, 0x2000).li(9, ROUNDS as i32);
    let top = asm.0.len() as i64;
    for &(op, offset) in accesses {
        // (A displacement has 12 bits.)
        asm.op(op, if op == Op::Ld { 10 } else { 0 }, 8, 0, offset);
    }
    asm.op(Op::Addi, 9, 9, 0, -1);
    let at = asm.0.len() as i64;
    asm.op(Op::Bne, 0, 9, 0, top - at);
    asm.op(Op::Jal, 0, 0, 0, 0);
    asm.0
}

#[test]
fn noted_lines_are_reported_in_order_and_before_what_is_reported_later() {
    // (The first one is in the page before the others.)
    let accesses =
        [(Op::Ld, -64), (Op::Ld, 0), (Op::Sd, 128), (Op::Ld, 128), (Op::Sd, 64), (Op::Ld, 0), (Op::Sd, 0)];
    let image = rounds_of(&accesses);
    let run = |translates: bool| {
        let mut machine = machine(&image);
        let translated = if translates { translate(&mut machine, 100) } else { Rc::default() };
        let mut sequence = Sequence::new();
        machine.run(ROUNDS * 9, &mut sequence);
        (sequence, translated.retired.get())
    };
    let ((expected, _), (sequence, translated)) = (run(false), run(true));
    assert!(translated > ROUNDS * 8, "{translated}");
    assert!(sequence.noted > ROUNDS, "{}", sequence.noted);
    assert_eq!(sequence.lines.len() as u64, ROUNDS * 5);
    assert!(sequence.lines == expected.lines, "in another order");
    assert_eq!(sequence.cache.counts().writebacks, expected.cache.counts().writebacks);
}

/// A store that misses brings nothing in: the load behind it finds the line that the one before it found.
#[test]
fn stores_that_bypass_a_cache_are_reported() {
    let image = rounds_of(&[(Op::Ld, 0), (Op::Sd, 256), (Op::Ld, 0), (Op::Ld, 512)]);
    let mut machine = machine(&image);
    let translated = translate(&mut machine, 100);
    let mut lines = Lines::new(WritePolicy { back: true, allocate: false });
    machine.run(3 + ROUNDS * 6, &mut lines);
    assert!(translated.retired.get() > ROUNDS * 5, "{}", translated.retired.get());
    let counts = lines.cache.counts();
    assert_eq!((counts.read_misses, counts.write_misses), (ROUNDS * 2, ROUNDS));
}

/// Two ways lead to one place: from its own line, and from one that displaces it.
#[test]
fn lines_of_instructions_are_probed_where_ways_from_several_meet() {
    let mut asm = Asm::default();
    asm.li(9, ROUNDS as i32).op(Op::Addi, 0, 0, 0, 0).op(Op::Addi, 0, 0, 0, 0);
    assert_eq!(asm.0.len(), 0x10, "the next line begins");
    asm.op(Op::Andi, 10, 9, 0, 1).op(Op::Bne, 0, 10, 0, 0x14);
    asm.op(Op::Addi, 9, 9, 0, -1).op(Op::Bne, 0, 9, 0, -0xc);
    asm.op(Op::Jal, 0, 0, 0, 0).op(Op::Addi, 0, 0, 0, 0);
    asm.op(Op::Jal, 0, 0, 0, -0x10);
    // Translations that begin in several places: where one does is probed in any case.
    for every in 100..109 {
        let mut machine = machine(&asm.0);
        let translated = translate(&mut machine, every);
        let cache = Cache::new("1:1:16".parse().unwrap(), Policy::Lru, WritePolicy::default()).unwrap();
        let mut fetches = Fetches { cache, page: BASE >> 12, pages: 0 };
        machine.run(4 + ROUNDS / 2 * 9 + 1, &mut fetches);
        assert_eq!((machine.x(9), machine.pc()), (0, BASE + 0x20));
        assert!(translated.retired.get() > ROUNDS * 4, "{}", translated.retired.get());
        // Lines 0, 1 and, behind the loop, 2; line 2 and 1 again in every other round.
        assert_eq!(fetches.cache.counts().misses(), 3 + ROUNDS, "samples every {every}");
    }
}
