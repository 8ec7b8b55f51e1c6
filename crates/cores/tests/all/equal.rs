//! Blocks of decoded code against single instructions: the same cycles, the same ledger, the same counts.

use crate::common::{
    self,
    small_cores::{crowded, forgetful, narrow, serial, straying},
};
use crate::common::{Asm, Rng, random};
use random::{BASE, Mode};
use tollgate_cores::{ByPrivilege, CacheCounter, Cause, Causes, Core, Design, Ledger, Timed, TimingCounts};
use tollgate_riscv::{
    Access, Class, Code, Config, Insn, Isa, Machine, MachineKind, Observer, Op, Operands, Pass, Retired,
    Several, Stop, Trap, Walk,
};

fn machine(isa: Isa, image: &[u8]) -> Machine {
    let config =
        Config { isa, machine: MachineKind::Virt, ram_bytes: 1 << 20, misaligned: true, ..Config::default() };
    let mut m = Machine::new(config).unwrap();
    m.write_memory(BASE, image).unwrap();
    m
}

const BUDGET: u64 = 400_000;

/// Fetches beyond what is executed find the whole image.
fn code(isa: Isa, image: &[u8]) -> Code {
    Code::new(isa, vec![(BASE, image.to_vec())])
}

fn stepped(core: &Core, isa: Isa, image: &[u8]) -> (u64, Ledger, TimingCounts) {
    let mut m = machine(isa, image);
    let mut timed = Timed::new(core, ByPrivilege, ()).unwrap().with_code(&code(isa, image));
    assert_eq!(m.run_reference(BUDGET, &mut timed), Stop::Exit { code: 0 });
    assert_eq!(timed.ledger().total(), timed.cycles());
    assert_eq!(timed.counts().memory.unknown_walks, 0);
    (timed.cycles(), timed.ledger().clone(), timed.counts())
}

fn by_blocks(core: &Core, isa: Isa, image: &[u8]) -> (u64, Ledger, TimingCounts) {
    let mut m = machine(isa, image);
    let mut blocks = Timed::new(core, ByPrivilege, ()).unwrap().with_code(&code(isa, image));
    assert_eq!(m.run(BUDGET, &mut blocks), Stop::Exit { code: 0 });
    assert_eq!(blocks.ledger().total(), blocks.cycles());
    (blocks.cycles(), blocks.ledger().clone(), blocks.counts())
}

#[test]
fn random_programs_take_the_same_cycles_by_blocks() {
    let rv64: Isa = "rv64gc".parse().unwrap();
    let rv32: Isa = "rv32gc".parse().unwrap();
    let mut cores: Vec<Core> = Core::PRESETS.iter().map(|name| Core::preset(name).unwrap()).collect();
    cores.extend(["lru", "plru", "fifo", "random"].map(crowded));
    cores.push(serial());
    cores.extend(["lru", "lfsr"].map(narrow));
    let mut shallow = narrow("lru");
    (shallow.front.queue, shallow.scoreboard.entries, shallow.scoreboard.commits) = (1, 1, 1);
    cores.push(shallow);
    cores.push(forgetful());
    cores.extend([4, 32].map(straying));
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
                let expected = stepped(core, isa, &image);
                let seen = by_blocks(core, isa, &image);
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

/// Who owns an address: pieces of code that end where no jump is.
fn owner(pc: u64) -> usize {
    (pc >> 5 & 15) as usize
}

/// Cycles by owner, of single instructions.
struct SingleOwners {
    timed: Timed<ByPrivilege>,
    seen: Causes,
    cycles: Vec<Causes>,
}

impl SingleOwners {
    fn charge(&mut self, pc: u64) {
        for (i, &cause) in Cause::ALL.iter().enumerate() {
            let now = self.timed.ledger().of_cause(cause);
            self.cycles[owner(pc)][i] += now - std::mem::replace(&mut self.seen[i], now);
        }
    }
}

impl Observer for SingleOwners {
    const RETIRE: bool = true;
    const MEMORY: bool = true;
    const TRAP: bool = true;
    const WALK: bool = true;
    fn access(&mut self, access: &Access) {
        self.timed.access(access);
    }
    fn retire(&mut self, retired: &Retired) {
        self.timed.retire(retired);
        self.charge(retired.pc);
    }
    fn trap(&mut self, trap: &Trap) {
        self.timed.trap(trap);
        self.charge(trap.epc);
    }
    fn walk(&mut self, walk: &Walk) {
        self.timed.walk(walk);
    }
    fn address_space(&mut self, satp: u64) {
        self.timed.address_space(satp);
    }
}

/// The same of blocks: each run is cut where another owner begins.
struct BlockOwners(Timed);

impl BlockOwners {
    fn cut(&mut self, several: &Several, pass: Pass, (accessed, operated): (&mut usize, &mut usize)) {
        let insns = several.insns(&pass);
        self.0.set_owner(owner(several.outside(insns[0].pc)) as u32);
        let memory = [Class::Load, Class::Store, Class::FpLoad, Class::FpStore];
        let accesses = insns.iter().filter(|it| memory.contains(&it.insn.row().class)).count();
        let operands = match self.0.operands() {
            true => insns.iter().filter(|it| it.insn.op.by_operands()).count(),
            false => 0,
        };
        self.0.several(&Several {
            passes: &[pass],
            accesses: &several.accesses[*accessed..*accessed + accesses],
            operands: &several.operands[*operated..*operated + operands],
            ..*several
        });
        *accessed += accesses;
        *operated += operands;
    }
}

impl Observer for BlockOwners {
    const MEMORY: bool = true;
    const TRAP: bool = true;
    const BLOCKS: bool = true;
    const WALK: bool = true;
    fn operands(&self) -> bool {
        self.0.operands()
    }
    fn access(&mut self, access: &Access) {
        self.0.access(access);
    }
    fn retire(&mut self, retired: &Retired) {
        self.0.set_owner(owner(retired.pc) as u32);
        self.0.retire(retired);
    }
    fn several(&mut self, several: &Several) {
        let (mut accessed, mut operated) = (0, 0);
        for pass in several.passes {
            let mut start = pass.start();
            let places = (start..).zip(several.insns(pass));
            let owners: Vec<_> = places.map(|(place, it)| (place, owner(several.outside(it.pc)))).collect();
            for both in owners.windows(2).filter(|both| both[0].1 != both[1].1) {
                self.cut(several, pass.part(start, both[1].0), (&mut accessed, &mut operated));
                start = both[1].0;
            }
            self.cut(several, pass.part(start, pass.end()), (&mut accessed, &mut operated));
        }
        assert_eq!((accessed, operated), (several.accesses.len(), several.operands.len()));
    }
    fn trap(&mut self, trap: &Trap) {
        self.0.set_owner(owner(trap.epc) as u32);
        self.0.trap(trap);
    }
    fn walk(&mut self, walk: &Walk) {
        self.0.walk(walk);
    }
    fn address_space(&mut self, satp: u64) {
        self.0.address_space(satp);
    }
}

#[test]
fn cycles_are_charged_to_the_same_owners() {
    let isa: Isa = "rv64gc".parse().unwrap();
    let presets = ["cva6", "rocket", "vexriscv", "single-cycle"];
    let mut cores = presets.map(|name| Core::preset(name).unwrap()).to_vec();
    cores.extend([crowded("lru"), narrow("lfsr"), serial()]);
    for (seed, mode) in [(21, Mode::Machine), (22, Mode::Sv39)] {
        let image = random::program(&mut Rng(seed), isa, mode, 300);
        for core in &cores {
            let timed = Timed::new(core, ByPrivilege, ()).unwrap();
            let mut single =
                SingleOwners { timed, seen: [0; Cause::COUNT], cycles: vec![[0; Cause::COUNT]; 16] };
            assert_eq!(machine(isa, &image).run_reference(BUDGET, &mut single), Stop::Exit { code: 0 });
            let mut blocks = BlockOwners(Timed::new(core, ByPrivilege, ()).unwrap());
            assert_eq!(machine(isa, &image).run(BUDGET, &mut blocks), Stop::Exit { code: 0 });
            let mut seen = blocks.0.by_owner().to_vec();
            seen.resize(16, [0; Cause::COUNT]);
            assert_eq!(single.cycles, seen, "seed {seed}, {mode:?}, {}", core.name);
            assert!(seen.iter().all(|causes| causes[Cause::Issue as usize] > 0));
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
    let mut timed = Timed::new(&crowded("lru"), (), Vec::new()).unwrap();
    let mut m = machine(isa, &image);
    m.run(BUDGET, &mut (&mut watched, &mut timed));
    assert!(alone.0 == watched.0);
    assert_eq!(console, m.take_console());
    assert!(timed.cycles() > m.instret());

    let mut blocks = Timed::new(&crowded("lru"), ByPrivilege, ()).unwrap();
    let mut m = machine(isa, &image);
    m.run(BUDGET, &mut blocks);
    assert_eq!(console, m.take_console());
    assert_eq!(blocks.cycles(), timed.cycles());
}

#[test]
fn counting_alone_counts_the_same_misses() {
    let isa: Isa = "rv64gc".parse().unwrap();
    for mode in [Mode::Machine, Mode::Sv39] {
        let image = random::program(&mut Rng(11), isa, mode, 300);
        let (_, _, expected) = stepped(&crowded("lru"), isa, &image);
        let mut counting = CacheCounter::new(&crowded("lru")).unwrap();
        let mut m = machine(isa, &image);
        m.run(BUDGET, &mut counting);
        assert_eq!(counting.counts(), expected.memory);
        assert_eq!(counting.instructions(), expected.instructions);
    }
}

#[test]
fn runs_and_threads_agree() {
    let isa: Isa = "rv64gc".parse().unwrap();
    let image = random::program(&mut Rng(3), isa, Mode::Sv39, 200);
    let core = crowded("random");
    let first = by_blocks(&core, isa, &image);
    let threads: Vec<_> = (0..3)
        .map(|_| {
            let (core, image) = (core.clone(), image.clone());
            std::thread::spawn(move || by_blocks(&core, isa, &image))
        })
        .collect();
    for thread in threads {
        assert_eq!(thread.join().unwrap(), first);
    }
    assert_eq!(by_blocks(&core, isa, &image), first);
}

/// A page of random code that returns to `x1`: it computes in `x17`, goes through 64 KiB of data at `x2`, and
/// begins with an instruction that may be overwritten.
fn random_page(rng: &mut Rng) -> Asm {
    let mut a = Asm::default();
    a.op(Op::Addi, 17, 17, 0, 1).op(Op::Addi, 22, 0, 0, 1 + rng.below(6) as i64);
    let again = a.here();
    a.op(Op::Mul, 19, 17, 18, 0).op(Op::And, 19, 19, 20, 0).op(Op::Add, 19, 19, 2, 0);
    for _ in 0..40 {
        let at = 8 * rng.below(200) as i64;
        match rng.below(8) {
            0 | 1 => a.op(Op::Ld, 23, 19, 0, at),
            2 => a.op(Op::Lbu, 24, 2, 0, at),
            3 => a.op(Op::Sd, 0, 19, 17, at),
            4 => a.op(Op::Sw, 0, 2, 23, at),
            5 => a.op(rng.pick(&[Op::Beq, Op::Bne, Op::Blt, Op::Bgeu]), 0, 23, 24, 8),
            6 => a.op(Op::Div, 24, 17, 18, 0),
            _ => a.op(rng.pick(&[Op::Add, Op::Xor, Op::Mul]), 17, 17, 23, 0),
        };
    }
    a.op(Op::Addi, 17, 17, 0, 1).op(Op::Addi, 22, 22, 0, -1);
    let back = again as i64 - a.here() as i64;
    a.op(Op::Bne, 0, 22, 0, back).op(Op::Jalr, 0, 1, 0, 0);
    a
}

/// S-mode under Sv39: a loop that calls two other pages, overwrites the first instruction of one of them
/// (`fence.i`), and now and then changes the address space and maps that page to the other one's memory or back
/// (`sfence.vma`).
pub(crate) fn restless(seed: u64) -> Machine {
    let mut rng = Rng(seed);
    let (tables, data) = (BASE + 0x4_0000, BASE + 0x1_0000);
    let mut start = Asm::default();
    for (csr, register) in [(0x305, 5), (0x3b0, 6), (0x3a0, 7), (0x180, 14), (0x300, 10), (0x341, 11)] {
        start.csrw(csr, register);
    }
    start.op(Op::SfenceVma, 0, 0, 0, 0).op(Op::Mret, 0, 0, 0, 0);
    let mut exit = Asm::default();
    exit.op(Op::Lui, 5, 0, 0, 0x10_0000).li(6, 0x5555).op(Op::Sw, 0, 5, 6, 0).op(Op::Jal, 0, 0, 0, 0);
    let swap = |a: &mut Asm, x, y| {
        a.op(Op::Xor, x, x, y, 0).op(Op::Xor, y, y, x, 0).op(Op::Xor, x, x, y, 0);
    };
    let mut main = Asm::default();
    main.op(Op::Andi, 5, 13, 0, 15).op(Op::Bne, 0, 5, 0, 24);
    main.op(Op::Sw, 0, 3, 4, 0).op(Op::FenceI, 0, 0, 0, 0);
    swap(&mut main, 4, 12);
    main.op(Op::Andi, 5, 13, 0, 7).op(Op::Bne, 0, 5, 0, 24).op(Op::Sd, 0, 27, 25, 0);
    swap(&mut main, 25, 26);
    main.op(Op::SfenceVma, 0, 0, 0, 0);
    main.op(Op::Andi, 5, 13, 0, 3).op(Op::Bne, 0, 5, 0, 20).csrw(0x180, 14);
    swap(&mut main, 14, 15);
    for page in [0x2000, 0x3000] {
        let to = page - 0x1000 - main.here() as i64;
        main.op(Op::Jal, 1, 0, 0, to);
    }
    main.op(Op::Addi, 13, 13, 0, -1);
    let back = -(main.here() as i64);
    main.op(Op::Bne, 0, 13, 0, back).op(Op::Ecall, 0, 0, 0, 0);

    let mut m = machine("rv64gc".parse().unwrap(), &start.0);
    let (first, second) = (random_page(&mut rng), random_page(&mut rng));
    for (at, code) in [(0x200, &exit), (0x1000, &main), (0x2000, &first), (0x3000, &second)] {
        m.write_memory(BASE + at, &code.0).unwrap();
    }
    let mut entry = |at: u64, value: u64| m.write_memory(at, &value.to_le_bytes()).unwrap();
    entry(tables + 16, (tables + 0x1000) >> 2 | 1);
    entry(tables + 0x1000, (tables + 0x2000) >> 2 | 1);
    for page in 0..256 {
        entry(tables + 0x2000 + 8 * page, (BASE + 0x1000 * page) >> 2 | 0xcf);
    }
    let add =
        |imm| u64::from(Insn::encode(Op::Addi, Operands { rd: 17, rs1: 17, imm, ..Default::default() }));
    let satp = 8 << 60 | tables >> 12;
    let words = (add(3), add(5));
    for (register, value) in [
        (2, data),
        (3, BASE + 0x2000),
        (4, words.0),
        (5, BASE + 0x200),
        (6, u64::MAX),
        (7, 0x1f),
        (10, 0x800),
        (11, BASE + 0x1000),
        (12, words.1),
        (13, 200),
        (14, satp),
        (15, satp | 1 << 44),
        (18, 8 * (1 + rng.below(700))),
        (20, 0xfff8),
        (25, (BASE + 0x3000) >> 2 | 0xcf),
        (26, (BASE + 0x2000) >> 2 | 0xcf),
        (27, tables + 0x2000 + 8 * 2),
    ] {
        m.set_x(register, value);
    }
    m
}

#[test]
fn code_that_is_overwritten_and_translations_that_are_dropped_are_timed_alike() {
    let mut cores = ["lru", "plru", "fifo", "random"].map(crowded).to_vec();
    // Caches and buffers in which most of it fits, so that blocks stay settled for a while.
    for mut core in cores.clone() {
        core.name = "roomy".to_string();
        core.l1i.as_mut().unwrap().geometry = "8:2:64".to_string();
        core.l1d.as_mut().unwrap().geometry = "16:4:64".to_string();
        core.itlb.as_mut().unwrap().entries = 2;
        core.dtlb.as_mut().unwrap().entries = 8;
        cores.push(core);
    }
    let mut write_through = crowded("lru");
    let l1d = write_through.l1d.as_mut().unwrap();
    (l1d.write_through, l1d.no_write_allocate, l1d.geometry) = (true, true, "8:2:4".to_string());
    cores.push(write_through);
    cores.extend(["cva6", "rocket", "vexriscv"].map(|name| Core::preset(name).unwrap()));
    cores.extend(["lru", "lfsr"].map(narrow));
    for seed in [1, 2] {
        for core in &cores {
            let mut single = Timed::new(core, ByPrivilege, ()).unwrap();
            let mut reference = restless(seed);
            assert_eq!(reference.run_reference(BUDGET, &mut single), Stop::Exit { code: 0 });
            let mut blocks = Timed::new(core, ByPrivilege, ()).unwrap();
            let mut m = restless(seed);
            assert_eq!(m.run(BUDGET, &mut blocks), Stop::Exit { code: 0 });
            assert_eq!(m.instret(), reference.instret());
            assert!((0..32).all(|r| m.x(r) == reference.x(r)), "the same code ran");
            let mut counting = CacheCounter::new(core).unwrap();
            assert_eq!(restless(seed).run(BUDGET, &mut counting), Stop::Exit { code: 0 });
            let what = format!("seed {seed}, {core:?}");
            assert_eq!(single.cycles(), blocks.cycles(), "{what}");
            assert_eq!(single.ledger(), blocks.ledger(), "{what}");
            assert_eq!(single.counts(), blocks.counts(), "{what}");
            // A fetch on a wrong path fills more or fewer lines, depending on how long it lasts.
            if matches!(core.design, Design::Textbook | Design::Ibex | Design::Picorv32) {
                assert_eq!(single.counts().memory, counting.counts(), "{what}");
            }
            assert!(single.counts().memory.l1d_misses > 0, "{what}");
        }
    }
}

/// A loop of straight code over 64 KiB of data at `x2`, with calls to one of two functions.
fn straight(rng: &mut Rng) -> Machine {
    let mut a = Asm::default();
    a.op(Op::Auipc, 5, 0, 0, 0).op(Op::Addi, 5, 5, 0, 24).op(Op::Addi, 7, 0, 0, 8);
    a.op(Op::Jal, 0, 0, 0, 28);
    a.op(Op::Addi, 17, 17, 0, 1).op(Op::Jalr, 0, 1, 0, 0);
    while a.here() < 40 {
        a.op(Op::Ld, 23, 19, 0, 8).op(Op::Jalr, 0, 1, 0, 0);
    }
    let again = a.here() as i64;
    for _ in 0..60 {
        let at = 8 * rng.below(16) as i64;
        match rng.below(12) {
            0..4 => a.op(Op::Ld, 23, 19, 0, at),
            4..6 => a.op(Op::Sd, 0, 19, 17, at),
            6 => a.op(Op::Jalr, 1, 5, 0, 0),
            7 => a.op(Op::Xor, 5, 5, 7, 0),
            8 => a.op(Op::Div, 24, 17, 18, 0).op(Op::Add, 17, 17, 24, 0),
            _ => a.op(Op::Add, 17, 17, 23, 0),
        };
    }
    a.op(Op::Add, 19, 19, 18, 0).op(Op::And, 19, 19, 20, 0).op(Op::Or, 19, 19, 2, 0);
    a.op(Op::Div, 24, 17, 18, 0).op(Op::Add, 17, 17, 24, 0);
    a.op(Op::Addi, 22, 22, 0, -1);
    let back = again - a.here() as i64;
    a.op(Op::Bne, 0, 22, 0, back).op(Op::Sw, 0, 8, 9, 0).op(Op::Jal, 0, 0, 0, 0);
    let mut m = machine("rv64gc".parse().unwrap(), &a.0);
    let data = BASE + 0x1_0000;
    for (register, value) in
        [(2, data), (8, 0x10_0000), (9, 0x5555), (18, 8 * 5), (19, data), (20, data | 0xfff8), (22, 300)]
    {
        m.set_x(register, value);
    }
    m
}

#[test]
fn accesses_before_a_line_that_is_missing_now_and_then_are_timed_alike() {
    let mut cores = [forgetful(), forgetful()];
    // Room for all calls, so that some targets are known.
    cores[1].branch.btb = 28;
    for (core, seed) in cores.iter().flat_map(|core| (0..10).map(move |seed| (core, seed))) {
        let code = |m: &Machine| code("rv64gc".parse().unwrap(), m.read_memory(BASE, 0x1000).unwrap());
        let (mut reference, mut m) = (straight(&mut Rng(seed)), straight(&mut Rng(seed)));
        let mut single = Timed::new(core, ByPrivilege, ()).unwrap().with_code(&code(&m));
        assert_eq!(reference.run_reference(BUDGET, &mut single), Stop::Exit { code: 0 });
        let mut blocks = Timed::new(core, ByPrivilege, ()).unwrap().with_code(&code(&m));
        assert_eq!(m.run(BUDGET, &mut blocks), Stop::Exit { code: 0 });
        assert_eq!((blocks.cycles(), blocks.counts()), (single.cycles(), single.counts()), "seed {seed}");
        assert_eq!(blocks.ledger(), single.ledger(), "seed {seed}");
    }
}
