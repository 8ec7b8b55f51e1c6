//! Where a program's cycles go on a core: by function and cause.

use tollgate_cores::{ByPrivilege, Causes, Core, CoreError, Timed};
use tollgate_riscv::{Access, Code, EventCounts, Observer, Pass, Retired, Several, Trap, Walk};

use crate::profile::Profile;
use crate::rtl::proof;
use crate::stacks::{Leave, Path, Stacks};

/// The cycles of a program on a core, beside its profile.
pub struct ProgramLedger {
    pub(crate) profile: Profile,
    clock: Timed,
    /// The cycles that were charged to paths.
    at: u64,
    by_function: Vec<Causes>,
    stacks: Stacks,
    /// Runs of one function that its core did not get yet.
    runs: Vec<Pass>,
    /// How many more cycles than instructions the guest's `mcycle` counts so far, if it counts the core's.
    ahead: Option<i64>,
    /// The events that were counted for the guest.
    events: EventCounts,
    /// The core.
    pub core: String,
    /// How well it is proven against its RTL, if it was compared.
    pub proof: Option<String>,
}

impl ProgramLedger {
    /// For a program on a core.
    ///
    /// # Errors
    /// An invalid core.
    pub(crate) fn new(profile: Profile, core: &Core, code: &Code) -> Result<Self, CoreError> {
        Ok(Self {
            clock: Timed::new(core, ByPrivilege, ())?.with_code(code),
            at: 0,
            by_function: Vec::new(),
            stacks: Stacks::new(profile.len()),
            runs: Vec::new(),
            ahead: None,
            events: EventCounts::default(),
            profile,
            core: core.name.clone(),
            proof: proof(core),
        })
    }

    /// Lets the guest's `mcycle` count the core's cycles; from the first instruction on.
    pub(crate) fn with_guest_cycles(self) -> Self {
        Self { ahead: Some(0), ..self }
    }

    /// Cycles so far.
    #[must_use]
    pub fn cycles(&self) -> u64 {
        self.clock.cycles()
    }

    /// The program has ended: brings [`functions`](Self::functions) up to date.
    pub(crate) fn end(&mut self) {
        self.by_function = self.clock.by_owner().to_vec();
    }

    /// Functions: the name, the function's own cycles by cause, and its cycles with all that it called.
    pub fn functions(&self) -> impl Iterator<Item = (&str, &Causes, u64)> {
        let used = self.by_function.iter().enumerate().filter(|(_, causes)| causes.iter().any(|&n| n > 0));
        used.map(|(at, causes)| (self.profile.name(at), causes, self.stacks.total(at)))
    }

    /// The cycles of functions by who called them, callers first; and the cycles of calls beyond the limits, which the
    /// paths of their callers contain.
    #[must_use]
    pub fn paths(&self) -> (&[Path], u64) {
        self.stacks.paths()
    }

    /// Control arrives at a function, which pays from now on.
    fn arrive(&mut self, pc: u64, function: usize) {
        self.stacks.arrive(pc, function);
        self.clock.set_owner(function as u32);
    }

    /// Charges the cycles since the last time.
    fn charge(&mut self) {
        let now = self.clock.cycles();
        self.stacks.charge(now - std::mem::replace(&mut self.at, now));
    }

    /// Gives the core the collected runs, and charges their cycles.
    fn flush(&mut self, rest: &mut Rest) {
        if self.runs.is_empty() {
            return;
        }
        let Rest { several, instructions, accesses, operands } = *rest;
        let (these, others) = several.accesses.split_at(accesses.min(several.accesses.len()));
        let (own, further) = several.operands.split_at(operands.min(several.operands.len()));
        self.clock.several(&Several { passes: &self.runs, accesses: these, operands: own, ..several });
        self.runs.clear();
        self.charge();
        rest.several.accesses = others;
        rest.several.operands = further;
        rest.several.retired += instructions;
        (rest.instructions, rest.accesses, rest.operands) = (0, 0, 0);
    }
}

/// The part of a report that its core has not received yet, and the share of it in the collected runs.
struct Rest<'a> {
    several: Several<'a>,
    instructions: u64,
    accesses: usize,
    operands: usize,
}

impl Observer for ProgramLedger {
    const MEMORY: bool = true;
    const TRAP: bool = true;
    const BLOCKS: bool = true;
    const WALK: bool = true;

    fn operands(&self) -> bool {
        self.clock.operands()
    }

    fn run_ahead(&mut self, retired: u64) -> i64 {
        let Some(before) = &mut self.ahead else { return 0 };
        let ahead = self.clock.cycles() as i64 - retired as i64;
        ahead - std::mem::replace(before, ahead)
    }

    fn happened(&mut self) -> EventCounts {
        if self.ahead.is_none() {
            return EventCounts::default();
        }
        let now = self.clock.counts().events();
        let before = std::mem::replace(&mut self.events, now);
        std::array::from_fn(|n| now[n] - before[n])
    }

    fn walk(&mut self, walk: &Walk) {
        self.clock.walk(walk);
    }

    fn address_space(&mut self, satp: u64) {
        self.clock.address_space(satp);
    }

    fn access(&mut self, access: &Access) {
        self.clock.access(access);
    }

    fn retire(&mut self, retired: &Retired) {
        let function = self.profile.function(retired.pc);
        self.profile.retire(retired);
        self.arrive(retired.pc, function);
        self.stacks.leave_by(Leave::of(&retired.insn, retired.pc));
        self.clock.retire(retired);
        self.charge();
    }

    /// The core gets runs of one function together: as long as the stack stays as it is.
    fn several(&mut self, several: &Several) {
        let mut rest = Rest { several: *several, instructions: 0, accesses: 0, operands: 0 };
        for pass in several.passes {
            let mut start = pass.start();
            let mut end = start;
            for part in self.profile.parts(several, pass) {
                let part = self.profile.pass(part, several.privilege);
                if self.stacks.changes(part.function) {
                    if start < end {
                        self.runs.push(pass.part(start, end));
                        start = end;
                    }
                    self.flush(&mut rest);
                    self.arrive(part.pc, part.function);
                }
                end = part.end;
                rest.instructions += part.instructions;
                rest.accesses += part.accesses;
                rest.operands += part.operands;
                self.stacks.leave_by(part.leave);
            }
            self.runs.push(pass.part(start, end));
        }
        self.flush(&mut rest);
    }

    fn trap(&mut self, trap: &Trap) {
        let function = self.profile.function(trap.epc);
        self.profile.trap(trap);
        self.arrive(trap.epc, function);
        self.stacks.leave_by(Leave::Trap { epc: trap.epc });
        self.clock.trap(trap);
        self.charge();
    }
}

#[cfg(test)]
mod tests {
    use tollgate_riscv::{Config, Elf, Insn, Isa, Machine, Op, Operands, Step, Xlen};

    use super::*;
    use crate::cycles::Clock;

    /// The same, instruction by instruction.
    struct Plain {
        profile: Profile,
        clock: Clock,
        by_function: Vec<Causes>,
        stacks: Stacks,
    }

    impl Plain {
        fn charge(&mut self, function: usize) {
            let spent = self.clock.step();
            self.stacks.charge(spent.iter().sum());
            for (sum, cycles) in self.by_function[function].iter_mut().zip(spent) {
                *sum += cycles;
            }
        }
    }

    impl Observer for Plain {
        const RETIRE: bool = true;
        const MEMORY: bool = true;
        const TRAP: bool = true;
        const WALK: bool = true;

        fn walk(&mut self, walk: &Walk) {
            self.clock.model.walk(walk);
        }

        fn address_space(&mut self, satp: u64) {
            self.clock.model.address_space(satp);
        }

        fn access(&mut self, access: &Access) {
            self.clock.model.access(access);
        }

        fn retire(&mut self, retired: &Retired) {
            self.profile.retire(retired);
            self.clock.model.retire(retired);
            let function = self.profile.function(retired.pc);
            self.stacks.arrive(retired.pc, function);
            self.stacks.leave_by(Leave::of(&retired.insn, retired.pc));
            self.charge(function);
        }

        fn trap(&mut self, trap: &Trap) {
            self.profile.trap(trap);
            self.clock.model.trap(trap);
            let function = self.profile.function(trap.epc);
            self.stacks.arrive(trap.epc, function);
            self.stacks.leave_by(Leave::Trap { epc: trap.epc });
            self.charge(function);
        }
    }

    fn image(name: &str) -> Elf {
        let path = format!("{}/../../guests/riscv/images/{name}.elf", env!("CARGO_MANIFEST_DIR"));
        Elf::parse(&std::fs::read(&path).expect(&path)).expect(&path)
    }

    /// Runs so many steps of a program both ways, once `choose` has written to memory.
    fn compare(elf: &Elf, core: &str, steps: u64, choose: impl Fn(&mut Machine)) -> ProgramLedger {
        let core = Core::preset(core).expect("a preset");
        let isa: Isa = if elf.xlen == Xlen::Rv64 { "rv64gc" } else { "rv32imc" }.parse().expect("an ISA");
        let booted = || {
            let mut machine =
                Machine::new(Config { isa, ram_bytes: 8 << 20, ..Config::default() }).expect("a machine");
            machine.load(elf).expect("it fits");
            choose(&mut machine);
            machine
        };
        let profile = || Profile::new(elf, None);
        let mut plain = Plain {
            by_function: vec![[0; tollgate_cores::Cause::COUNT]; profile().len()],
            stacks: Stacks::new(profile().len()),
            profile: profile(),
            clock: Clock::new(&core, &booted().code()).expect("a core"),
        };
        let mut reference = booted();
        let stop = reference.run_reference(steps, &mut plain);
        let mut ledger = ProgramLedger::new(profile(), &core, &booted().code()).expect("a core");
        let mut machine = booted();
        assert_eq!(machine.run(steps, &mut ledger), stop);
        ledger.end();
        assert_eq!(machine.instret(), reference.instret());
        assert_eq!(ledger.cycles(), plain.clock.model.cycles());
        assert_eq!(ledger.by_function.iter().flatten().sum::<u64>(), ledger.cycles());
        assert_eq!(ledger.stacks.paths(), plain.stacks.paths());
        ledger.by_function.resize(plain.by_function.len(), [0; tollgate_cores::Cause::COUNT]);
        for (at, causes) in plain.by_function.iter().enumerate() {
            let name = plain.profile.name(at);
            assert_eq!(ledger.by_function[at], *causes, "{name}");
            assert_eq!(ledger.stacks.total(at), plain.stacks.total(at), "{name}");
        }
        assert_eq!(ledger.profile.functions(), plain.profile.functions());
        assert_eq!(ledger.profile.phases, plain.profile.phases);
        assert_eq!(ledger.profile.calls, plain.profile.calls);
        ledger
    }

    #[test]
    fn runs_of_instructions_are_charged_as_single_ones_are() {
        for (image, core, least) in [("ctx_switch", "rocket", 5), ("enhanced_ctx_switch", "cva6", 5)] {
            let ledger = compare(&self::image(image), core, 60_000, |_| {});
            assert!(ledger.paths().0.len() >= least, "{image}: {:?}", ledger.paths());
            assert!(ledger.profile.calls.contains_key(&172), "{image} traps");
        }
    }

    /// A call of code of the same function that follows in the same block.
    #[test]
    fn a_call_inside_a_run_is_followed() {
        let op = |op, rd, rs1, imm| Insn::encode(op, Operands { rd, rs1, imm, ..Operands::default() });
        let call =
            [op(Op::Jal, 1, 0, 8), op(Op::Jal, 0, 0, -4), op(Op::Addi, 5, 5, 1), op(Op::Jalr, 0, 1, 0)];
        let data: Vec<u8> = call.iter().flat_map(|word| word.to_le_bytes()).collect();
        let mut elf = image("ctx_switch");
        elf.segments.truncate(1);
        let segment = &mut elf.segments[0];
        (elf.entry, segment.memory_size, segment.data) = (segment.address, data.len() as u64, data);
        elf.symbols.clear();
        let ledger = compare(&elf, "single-cycle", 4_000, |_| {});
        let cycles: Vec<_> = ledger.paths().0.iter().map(|path| path.cycles).collect();
        // A thousand calls of two instructions, and as many in the caller.
        assert_eq!(cycles, [2_000, 2_000]);
    }

    /// How far `mcycle` has to run ahead.
    #[derive(Default)]
    struct Ahead {
        cycles: i64,
        /// How often the machine asked in this step: twice for an instruction that sets `mcycle`.
        asked: u32,
    }

    impl Observer for Ahead {
        fn run_ahead(&mut self, _: u64) -> i64 {
            self.asked += 1;
            std::mem::take(&mut self.cycles)
        }
    }

    /// Runs a program whose `mcycle` counts a core's cycles, from blocks and with `mcycle` set behind each step. Yields what
    /// the guest wrote, and its `a0`.
    fn with_guest_cycles(elf: &Elf, core: &str, steps: u64) -> (String, u64) {
        let core = Core::preset(core).expect("a preset");
        let booted = || {
            let mut machine =
                Machine::new(Config { ram_bytes: 8 << 20, ..Config::default() }).expect("a machine");
            machine.load(elf).expect("it fits");
            machine
        };
        let ledger = || ProgramLedger::new(Profile::new(elf, None), &core, &booted().code()).expect("a core");
        let (mut stepped, mut plain, mut ahead) = (booted(), ledger(), Ahead::default());
        for _ in 0..steps {
            let before = plain.cycles() as i64 - stepped.instret() as i64;
            if let Step::Stopped(_) = stepped.step(&mut (&mut plain, &mut ahead)) {
                break;
            }
            // The cycles of an instruction that sets the counter do not count into it.
            if std::mem::take(&mut ahead.asked) < 2 {
                ahead.cycles += plain.cycles() as i64 - stepped.instret() as i64 - before;
            }
        }
        let (mut machine, mut ledger) = (booted(), ledger().with_guest_cycles());
        machine.run(steps, &mut ledger);
        assert_eq!(machine.instret(), stepped.instret());
        assert_eq!(ledger.cycles(), plain.cycles());
        for register in 1..32 {
            assert_eq!(machine.x(register), stepped.x(register), "x{register} on {}", core.name);
        }
        assert_eq!(machine.console(), stepped.console());
        (String::from_utf8_lossy(machine.console()).into_owned(), machine.x(10))
    }

    #[test]
    fn blocks_let_mcycle_count_what_single_steps_do() {
        let op =
            |op, rd, rs1, rs2, imm| Insn::encode(op, Operands { rd, rs1, rs2, imm, ..Operands::default() });
        let mcycle = 0xb00;
        // Mixes each reading into a0, and sets the counter to some of that.
        let pass = [
            op(Op::Csrrs, 5, 0, 0, mcycle),
            op(Op::Mul, 10, 10, 11, 0),
            op(Op::Add, 10, 10, 5, 0),
            op(Op::Csrrs, 6, 0, 0, mcycle),
            op(Op::Div, 7, 10, 6, 0),
            op(Op::Add, 10, 10, 6, 0),
            op(Op::Andi, 7, 10, 0, 8),
            op(Op::Beq, 0, 7, 0, 8),
            op(Op::Csrrw, 0, 10, 0, mcycle),
            op(Op::Jal, 0, 0, 0, -36),
        ];
        let data: Vec<u8> = pass.iter().flat_map(|word| word.to_le_bytes()).collect();
        let mut elf = image("ctx_switch");
        elf.segments.truncate(1);
        let segment = &mut elf.segments[0];
        (elf.entry, segment.memory_size, segment.data) = (segment.address, data.len() as u64, data);
        elf.symbols.clear();
        let mut seen = Vec::new();
        for core in ["rocket", "cva6", "vexriscv", "ripes-5stage"] {
            seen.push(with_guest_cycles(&elf, core, 20_000).1);
            // Its traps come between two readings.
            let (console, _) = with_guest_cycles(&image("ctx_switch"), core, 20_000);
            assert_ne!(console, "getpid 1: 96 cycles\n");
        }
        seen.dedup();
        assert_eq!(seen.len(), 4, "{seen:x?}");
    }

    #[test]
    fn the_programs_of_the_corpus_are_charged_as_single_instructions_are() {
        for (image, cores) in
            [("rtl-programs-rv64", ["rocket", "cva6"]), ("rtl-programs-rv32", ["vexriscv", "ibex"])]
        {
            let elf = self::image(image);
            let selected =
                elf.symbol("selected").expect("a word") + if elf.xlen == Xlen::Rv64 { 8 } else { 4 };
            let programs: Vec<_> = elf.symbols.iter().filter(|it| it.name.starts_with("program.")).collect();
            assert!(programs.len() >= 10, "{image}");
            for (at, program) in programs.iter().enumerate() {
                let word = (program.address.wrapping_sub(elf.entry) as u32).to_le_bytes();
                let choose = |machine: &mut Machine| machine.write_memory(selected, &word).expect("in RAM");
                let ledger = compare(&elf, cores[at % 2], 30_000, choose);
                assert!(ledger.paths().0.len() > 1, "{} is called", program.name);
            }
        }
    }
}
