//! The machine: building, loading and running it.

use serde::{Deserialize, Serialize};

use crate::bus::{Bus, Virt};
use crate::code::Code;
use crate::config::{Config, ConfigError, MachineKind};
use crate::decode::Decoder;
use crate::devices::clint::Clint;
use crate::devices::console::Console;
use crate::devices::finisher::{Finish, Finisher};
use crate::devices::plic::Plic;
use crate::devices::rtc::Rtc;
use crate::devices::uart::Uart;
use crate::devices::virtio::{Device, Slot, entropy::Entropy};
use crate::dtb::{self, Equipment};
use crate::elf::{Elf, LoadError};
use crate::engine::{Engine, Pause};
use crate::exception::{AccessType, Cause, Exception};
use crate::hart::{Hart, interrupt};
use crate::host::{HostCalls, NoFiles};
use crate::hpm;
use crate::htif::Htif;
use crate::insn::{Class, Insn};
use crate::isa::Extension;
use crate::map::{ROM_BASE, ROM_SIZE, TICK_NS};
use crate::mmu;
use crate::observer::{AnyObserver, Observer, Retired};
use crate::tier::Tier;
use crate::trap;
use crate::turn::{Core, QUANTUM, Turns};

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Stop {
    /// The guest requested it.
    Exit {
        /// The exit code.
        code: i32,
    },
    /// The budget is spent.
    Budget,
    /// The guest waits (`wfi`) for an interrupt that can never come, unless something is typed.
    Idle,
    /// The guest asked for a reset.
    Reboot,
    /// A program reads its standard input, which is [open](Machine::open_input) and has nothing.
    Input,
    /// A program makes a [semihosting](Machine::semihost) call that is not answered.
    Semihosting {
        /// Its number.
        call: u64,
    },
}

/// The result of one [`Machine::step`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// An instruction retired.
    Retired,
    /// A trap was taken: by an interrupt, or by an instruction that did not retire.
    Trapped,
    /// Simulated time passed while the guest waited.
    Waited,
    /// Nothing: the machine has stopped.
    Stopped(Stop),
}

/// An address where there is no RAM.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{len} bytes at {address:#x} are not all in RAM")]
pub struct MemoryError {
    /// The first address.
    pub address: u64,
    /// How many bytes.
    pub len: u64,
}

/// Instructions in one tick of `mtime`: a 1 GHz machine with a 10 MHz timebase, as with QEMU's `-icount shift=0`.
pub(crate) const CLOCKS_PER_TICK: u64 = 100;

/// Instructions after which an overflow of a counter of events raises its interrupt at the latest.
const MOST_SKID: u64 = 1000;

/// Not a landing pad (privileged specification, 22.1.5).
const PAD_FAULT: Exception = Exception { cause: Cause::SoftwareCheck, tval: 2 };

/// A RISC-V machine, usually with one hart.
///
/// ```
/// use tollgate_riscv::{Config, Insn, Machine, Op, Operands, Privilege};
/// let mut machine = Machine::new(Config::default()).unwrap();
/// // li a0, 42
/// let li = Insn::encode(Op::Addi, Operands { rd: 10, imm: 42, ..Default::default() });
/// machine.write_memory(0x8000_0000, &li.to_le_bytes()).unwrap();
/// machine.step(&mut ());
/// assert_eq!((machine.x(10), machine.pc(), machine.instret()), (42, 0x8000_0004, 1));
/// assert_eq!(machine.privilege(), Privilege::Machine);
/// ```
pub struct Machine {
    pub(crate) config: Config,
    pub(crate) hart: Hart,
    pub(crate) bus: Bus,
    pub(crate) decoder: Decoder,
    /// Where programs with their code were loaded: addresses and lengths.
    code: Vec<(u64, u64)>,
    pub(crate) engine: Engine,
    host: Box<dyn HostCalls>,
    /// Arguments and input, kept for when a program with HTIF is loaded.
    args: Vec<String>,
    /// The bits of the instruction that is being executed.
    pub(crate) word: u32,
    /// Whether the instruction that was executed last is a branch that was taken.
    pub(crate) taken: bool,
    /// In `wfi`.
    pub(crate) waiting: bool,
    /// The interrupt lines from devices that are high.
    pub(crate) lines: u64,
    /// Interrupts are not taken.
    held: bool,
    /// Clocks that passed without instructions.
    pub(crate) idle: u64,
    /// The clock at which `service` has something to do.
    pub(crate) next_event: u64,
    pub(crate) stopped: Option<Stop>,
    /// The other harts, if there are any.
    pub(crate) turns: Turns,
    /// Calls from supervisor mode are answered by the machine itself instead of firmware.
    pub(crate) sbi: bool,
    /// An `ecall` for which there is no handler can end the program.
    pub(crate) answers_ecalls: bool,
    pub(crate) exits_behind: Option<Vec<u64>>,
    /// Semihosting calls are answered.
    pub(crate) semihosting: bool,
}

/// The time of [`Rtc`] at reset: 2026-01-01.
const RTC_START: u64 = 1_767_225_600_000_000_000;
/// The slots of the devices that every machine or some machines have.
pub(crate) const DRIVE_SLOT: usize = 0;
pub(crate) const ENTROPY_SLOT: usize = 1;
pub(crate) const CONSOLE_SLOT: usize = 2;
pub(crate) const NETWORK_SLOT: usize = 3;

fn virt_devices() -> Box<Virt> {
    let mut slots: [Slot; crate::map::VIRTIO_SLOTS] = std::array::from_fn(|_| Slot::new(None));
    slots[ENTROPY_SLOT] = Slot::new(Some(Device::Entropy(Entropy(0))));
    Box::new(Virt { finisher: Finisher::default(), rtc: Rtc::new(RTC_START), slots })
}

impl Machine {
    /// Builds a machine with empty memory, at reset.
    pub fn new(mut config: Config) -> Result<Self, ConfigError> {
        config.check()?;
        config.isa = config.machine.completes(config.isa);
        let virt = (config.machine == MachineKind::Virt).then(virt_devices);
        let slots = if virt.is_some() { vec![ENTROPY_SLOT] } else { Vec::new() };
        let rom = dtb::build(&config, &Equipment { slots, ..Equipment::default() }, ROM_SIZE as usize)?;
        let pages = config.ram_bytes / mmu::PAGE;
        let bus = Bus {
            ram: vec![0; config.room()?],
            ram_base: config.ram_base,
            rom,
            clint: Clint::new(),
            clic: config.isa.has(Extension::Smclic).then(Box::default),
            uart: Uart::default(),
            plic: Plic::new(),
            virt,
            htif: None,
            device_written: true,
            console: Console::new(config.console_bytes),
            code_pages: if config.coherent_code { vec![0; pages.div_ceil(64) as usize] } else { Vec::new() },
            code_written: Vec::new(),
        };
        let mut machine = Machine {
            hart: Hart::new(config.isa, config.asid_bits),
            bus,
            decoder: Decoder::new(config.isa),
            code: Vec::new(),
            engine: Engine::new(),
            host: Box::new(NoFiles),
            args: Vec::new(),
            word: 0,
            taken: false,
            waiting: false,
            lines: 0,
            held: false,
            idle: 0,
            next_event: 0,
            stopped: None,
            turns: Turns::new(Vec::new()),
            sbi: false,
            answers_ecalls: false,
            exits_behind: None,
            semihosting: false,
            config,
        };
        machine.reset_harts(machine.bus.ram_base, ROM_BASE);
        Ok(machine)
    }

    /// Resets the harts to the state in which software finds them: `a0` is a hart's number, `a1` the device tree.
    pub(crate) fn reset_harts(&mut self, entry: u64, device_tree: u64) {
        let tiers: Vec<_> = (0..self.harts()).map(|n| self.engine_mut(n).tier.take()).collect();
        let fresh = |number: usize| {
            let mut hart = Hart::new(self.config.isa, self.config.asid_bits);
            hart.id = number as u64;
            hart.pc = hart.canonical(entry);
            hart.x[10] = number as u64;
            hart.x[11] = hart.canonical(device_tree);
            hart
        };
        let count = if self.config.harts > 1 { self.config.harts } else { 0 };
        self.turns = Turns::new((0..count).map(|number| Core::new(fresh(number))).collect());
        self.hart = fresh(0);
        self.engine = Engine::new();
        for (n, mut tier) in tiers.into_iter().enumerate() {
            tier.iter_mut().for_each(Tier::clear);
            self.engine_mut(n).tier = tier;
        }
        self.bus.clint = Clint::new();
        self.waiting = false;
        self.lines = 0;
        self.idle = 0;
        self.next_event = 0;
        self.bus.device_written = true;
        self.bus.code_pages.fill(0);
        self.stopped = None;
    }

    /// Loads a program and resets the hart to its entry point. On Spike's machine the symbols `tohost` and
    /// `fromhost` switch HTIF on.
    ///
    /// A proxy kernel is loaded in the same way, with the user's program among the [arguments](Self::set_args)
    /// and the [files](Self::set_host).
    pub fn load(&mut self, elf: &Elf) -> Result<(), LoadError> {
        if elf.xlen != self.config.isa.xlen() {
            return Err(LoadError::WrongWidth { found: elf.xlen, expected: self.config.isa.xlen() });
        }
        self.place(elf)?;
        let tohost = elf.symbol("tohost").filter(|&a| self.bus.ram_slice(a, 8).is_some());
        let fromhost = elf.symbol("fromhost");
        self.bus.htif = match (self.config.machine, tohost) {
            (MachineKind::Spike, Some(tohost)) => {
                let mut htif = Htif::new(tohost, fromhost.unwrap_or(0));
                htif.args.clone_from(&self.args);
                Some(htif)
            }
            _ => None,
        };
        self.reset_harts(elf.entry, ROM_BASE);
        Ok(())
    }

    /// Copies a program to memory.
    pub(crate) fn place(&mut self, elf: &Elf) -> Result<(), LoadError> {
        for s in &elf.segments {
            if self.bus.ram_slice(s.address, s.memory_size).is_none() {
                let ram_end = self.bus.ram_base + self.config.ram_bytes;
                return Err(LoadError::OutsideRam {
                    address: s.address,
                    size: s.memory_size,
                    ram_base: self.bus.ram_base,
                    ram_end,
                });
            }
        }
        if !elf.segments.iter().any(|s| elf.entry >= s.address && elf.entry - s.address < s.memory_size) {
            return Err(LoadError::Entry(elf.entry));
        }
        let mask = self.hart.target_mask();
        if elf.entry & mask != 0 {
            return Err(LoadError::Misaligned { entry: elf.entry, alignment: mask + 1 });
        }
        for s in &elf.segments {
            if let Some(place) = self.bus.ram_slice_mut(s.address, s.memory_size) {
                let (data, zeros) = place.split_at_mut(s.data.len());
                data.copy_from_slice(&s.data);
                zeros.fill(0);
            }
            self.code.retain(|&(address, _)| address != s.address);
            if s.executable {
                self.code.push((s.address, s.data.len() as u64));
            }
        }
        Ok(())
    }

    /// Sets the command line that a proxy kernel asks for: its own name and options, then the program's path
    /// and arguments, as in `["pk", "prog", "1000"]`.
    pub fn set_args(&mut self, args: impl IntoIterator<Item = impl Into<String>>) {
        self.args = args.into_iter().map(Into::into).collect();
        if let Some(htif) = &mut self.bus.htif {
            htif.args.clone_from(&self.args);
        }
    }

    /// A copy of the code of the programs that were [loaded](Self::load), as memory has it now.
    pub fn code(&self) -> Code {
        let bytes = |&(address, len)| Some((address, self.bus.ram_slice(address, len)?.to_vec()));
        Code::new(self.config.isa, self.code.iter().filter_map(bytes).collect())
    }

    /// Sets the handler of proxied system calls. The default refuses every file.
    pub fn set_host(&mut self, host: Box<dyn HostCalls>) {
        self.host = host;
    }

    /// The handler of proxied system calls.
    pub fn host(&self) -> &dyn HostCalls {
        &*self.host
    }

    /// Runs until `budget` steps are done or the machine stops. A step is an instruction that retires, a trap,
    /// or a wait; so a guest that does nothing but trap ends as well.
    ///
    /// ```
    /// use tollgate_riscv::{Config, Machine, Stop};
    /// let mut machine = Machine::new(Config::default()).unwrap();
    /// // All memory is zero, which is not an instruction: trap after trap.
    /// assert_eq!(machine.run(1000, &mut ()), Stop::Budget);
    /// assert_eq!(machine.instret(), 0);
    /// ```
    pub fn run<O: Observer>(&mut self, budget: u64, obs: &mut O) -> Stop {
        if !self.turns.parked.is_empty() {
            return self.run_turns(budget, obs, Self::run_hart);
        }
        let mut left = budget;
        self.run_hart(&mut left, obs).unwrap_or(Stop::Budget)
    }

    /// Runs one hart until `steps` are done, its turn is over, or the machine stops.
    fn run_hart<O: Observer>(&mut self, steps: &mut u64, obs: &mut O) -> Option<Stop> {
        let mut left = *steps;
        self.begin(obs);
        let stop = loop {
            if let Some(stop) = self.service() {
                break Some(stop);
            }
            if left == 0 || self.turns.over {
                break None;
            }
            let mut horizon = left.min(self.next_event - self.clock());
            if self.hart.awaits_overflow() {
                self.hart.count_events(&obs.happened());
                horizon = horizon.min(MOST_SKID);
            }
            // A masked interrupt waits for an instruction that only the reference interpreter does. So do a landing pad, and observers
            // of addresses where some bits of those are ignored.
            let quiet = !self.waiting
                && trap::pending(&self.hart).is_none()
                && !self.hart.extra.expects_pad
                && !((O::MEMORY || O::WALK) && self.hart.ignores_bits());
            if quiet && horizon > 0 {
                let before = self.hart.retired;
                let pause = self.run_blocks(horizon, obs);
                left -= self.hart.retired - before;
                // The engine requests a step before the horizon, so there is budget for it.
                match pause {
                    Pause::Horizon => continue,
                    Pause::Execute(insn, word) => {
                        self.execute_and_settle(&insn, word, &mut AnyObserver::new(obs))
                    }
                    Pause::Fetch => self.step_now(&mut AnyObserver::new(obs)),
                };
            } else {
                self.step_now(&mut AnyObserver::new(obs));
            }
            left -= 1;
        };
        *steps = left;
        stop
    }

    /// Reports the hart and its address space to a new observer.
    fn begin<O: Observer>(&mut self, obs: &mut O) {
        debug_assert!(self.hart.is_canonical());
        obs.hart(self.turns.current);
        if O::WALK {
            obs.address_space(self.hart.satp);
        }
    }

    /// Whether the only hart is at an instruction that jumps to itself, and no interrupt can end that.
    ///
    /// ```
    /// use tollgate_riscv::{Config, Machine};
    /// let mut machine = Machine::new(Config::default()).unwrap();
    /// // jal x0, 0
    /// machine.write_memory(0x8000_0000, &[0x6f, 0, 0, 0]).unwrap();
    /// assert!(machine.is_caught());
    /// ```
    pub fn is_caught(&self) -> bool {
        const JUMPS: [&[u8]; 2] = [&[0x6f, 0, 0, 0], &[0x01, 0xa0]];
        let hart = &self.hart;
        if self.waiting || self.harts() > 1 || !trap::are_masked(hart) {
            return false;
        }
        let place = mmu::look_up(hart, &self.bus, hart.pc, AccessType::Fetch, hart.privilege);
        let is_at = |code: &[u8]| {
            place.as_ref().is_ok_and(|&place| {
                self.read_memory(place, code.len() as u64).is_ok_and(|found| found == code)
            })
        };
        JUMPS.into_iter().any(is_at)
    }

    /// Raises or lowers the machine external interrupt, as a platform's interrupt controller does. It is taken
    /// before the next instruction, if it is enabled.
    pub fn set_external_interrupt(&mut self, raised: bool) {
        self.hart.mip &= !interrupt::MEI;
        self.hart.mip |= if raised { interrupt::MEI } else { 0 };
        self.bus.device_written |= self.bus.clic.is_some();
    }

    /// Lets pending interrupts wait although they are enabled, so that a caller decides behind which instruction they are
    /// taken.
    pub fn hold_interrupts(&mut self, held: bool) {
        self.held = held;
    }

    /// Does one step with the reference interpreter: an instruction, a trap or a wait.
    pub fn step<O: Observer>(&mut self, obs: &mut O) -> Step {
        if self.turns.over || self.turns.left == 0 {
            self.next_turn();
        }
        self.begin(obs);
        if let Some(stop) = self.service() {
            return Step::Stopped(stop);
        }
        if !self.turns.parked.is_empty() {
            self.turns.left -= 1;
        }
        let step = self.step_now(&mut AnyObserver::new(obs));
        // The effects of the step appear at once.
        self.service();
        step
    }

    /// Runs like [`run`](Self::run), with the reference interpreter only.
    pub fn run_reference<O: Observer>(&mut self, budget: u64, obs: &mut O) -> Stop {
        let run = |machine: &mut Self, left: &mut u64, obs: &mut O| {
            machine.begin(obs);
            while *left > 0 && !machine.turns.over {
                if let Some(stop) = machine.service() {
                    return Some(stop);
                }
                machine.step_now(&mut AnyObserver::new(obs));
                *left -= 1;
            }
            machine.service()
        };
        if !self.turns.parked.is_empty() {
            return self.run_turns(budget, obs, run);
        }
        let mut left = budget;
        run(self, &mut left, obs).unwrap_or(Stop::Budget)
    }

    fn step_now(&mut self, obs: &mut AnyObserver<'_>) -> Step {
        if let Some(cause) = trap::pending(&self.hart).filter(|_| !self.held) {
            self.waiting = false;
            trap::take(&mut self.hart, &mut self.bus, cause, 0, obs);
            return Step::Trapped;
        }
        if self.waiting {
            self.wait();
            return Step::Waited;
        }
        self.report_walk(self.hart.pc, AccessType::Fetch, self.hart.privilege, obs);
        match self.fetch().and_then(|fetched| self.check_pad(fetched)) {
            Ok((insn, word)) => self.execute_and_settle(&insn, word, obs),
            Err(e) => self.take_exception(e, obs),
        }
    }

    fn execute_and_settle(&mut self, insn: &Insn, word: u32, obs: &mut AnyObserver<'_>) -> Step {
        self.word = word;
        let (pc, privilege, instret) = (self.hart.pc, self.hart.privilege, self.hart.retired);
        let mut pa = 0;
        if obs.retire {
            let translated = mmu::look_up(&self.hart, &self.bus, pc, AccessType::Fetch, privilege);
            pa = translated.unwrap_or_default();
            if (pc & 0xfff) + u64::from(insn.len) > mmu::PAGE {
                self.report_walk(self.hart.canonical(pc.wrapping_add(2)), AccessType::Fetch, privilege, obs);
            }
        }
        self.taken = false;
        let mut sets_cycles = false;
        if insn.row().class == Class::Csr {
            let ahead = obs.run_ahead(instret);
            self.hart.cycle.add(ahead);
            sets_cycles = insn.writes_csr() && self.hart.begins_to_count_cycles(insn.imm as u16);
            if hpm::is_counter(insn.imm as u16) {
                self.hart.count_events(&obs.happened());
            }
        }
        let mut operands = [0; 2];
        if obs.retire && insn.op.by_operands() {
            operands = self.hart.operands(insn);
        }
        match self.execute(insn, obs) {
            Ok(next) => {
                self.hart.pc = next;
                debug_assert!(self.hart.is_canonical(), "{:?} at {pc:#x}", insn.op);
                self.hart.retired = self.hart.retired.wrapping_add(1);
                obs.retire(|| Retired {
                    pc: self.hart.outside(pc),
                    pa,
                    next_pc: self.hart.outside(next),
                    insn: *insn,
                    word,
                    privilege,
                    value: self.hart.destination(insn),
                    operands,
                    taken: self.taken,
                    instret,
                });
                if sets_cycles {
                    // The cycles of this instruction came before the counter's new value (3.1.10).
                    obs.run_ahead(self.hart.retired);
                }
                Step::Retired
            }
            Err(e) => self.take_exception(e, obs),
        }
    }

    fn take_exception(&mut self, e: Exception, obs: &mut AnyObserver<'_>) -> Step {
        if let Some(stop) = self.exit_by(e.cause, self.hart.pc) {
            self.stopped = Some(stop);
            return Step::Stopped(stop);
        }
        trap::take(&mut self.hart, &mut self.bus, e.cause, e.tval, obs);
        Step::Trapped
    }

    /// An error unless the instruction is the landing pad that is expected, if one is (Zicfilp, 22.1.4).
    fn check_pad(&mut self, (insn, word): (Insn, u32)) -> Result<(Insn, u32), Exception> {
        if self.hart.extra.expects_pad {
            if !self.hart.is_pad(&insn) {
                return Err(PAD_FAULT);
            }
            self.hart.extra.expects_pad = false;
        }
        Ok((insn, word))
    }

    /// Fetches and decodes the instruction at the pc.
    fn fetch(&mut self) -> Result<(Insn, u32), Exception> {
        let word = self.fetch_word(self.hart.pc)?;
        match self.decoder.decode(word) {
            Some(insn) => Ok((insn, word)),
            // Zicfilp, 22.1.4: this check comes first.
            None if self.hart.extra.expects_pad => Err(PAD_FAULT),
            None => Err(Exception { cause: Cause::IllegalInstruction, tval: u64::from(word) }),
        }
    }

    /// Fetches one instruction's bits, in two halves, since each may be in a page of its own.
    fn fetch_word(&mut self, pc: u64) -> Result<u32, Exception> {
        let second = self.hart.canonical(pc.wrapping_add(2));
        let mut half = |va: u64| -> Result<u32, Exception> {
            let pa =
                mmu::translate(&self.hart, &mut self.bus, va, 2, AccessType::Fetch, self.hart.privilege)?;
            match self.bus.ram_read(pa, 2) {
                Some(v) => Ok(v as u32),
                None => Err(AccessType::Fetch.access_fault(va)),
            }
        };
        let low = half(pc)?;
        if low & 3 != 3 {
            return Ok(low);
        }
        Ok(low | half(second)? << 16)
    }

    /// Clocks since reset: one for each retired instruction, and those spent waiting.
    fn clock(&self) -> u64 {
        self.hart.retired.wrapping_add(self.idle)
    }

    /// The value of `mtime`.
    pub(crate) fn mtime(&self) -> u64 {
        (self.clock() / CLOCKS_PER_TICK).wrapping_add(self.bus.clint.time_offset)
    }

    /// Lets devices act: after they were written, and when their time has come.
    #[inline]
    fn service(&mut self) -> Option<Stop> {
        if self.bus.device_written || self.clock() >= self.next_event || self.stopped.is_some() {
            self.service_devices();
        }
        self.stopped
    }

    #[cold]
    fn service_devices(&mut self) {
        self.bus.device_written = false;
        if self.stopped.is_some() {
            return;
        }
        let clock = self.clock();
        if let Some(htif) = &mut self.bus.htif {
            htif.schedule(clock);
            if htif.due.is_some_and(|due| due <= clock) {
                // Code included.
                if self.bus.serve_htif(&mut *self.host) {
                    self.engine.flush_blocks();
                }
            }
        }
        let time = self.mtime();
        self.bus.serve_devices(time.wrapping_mul(TICK_NS));
        if !self.bus.code_written.is_empty() {
            self.drop_written_code();
        }
        let finish = self.bus.virt.as_ref().and_then(|virt| virt.finisher.finish);
        let awaits_input = self.bus.htif.as_ref().is_some_and(|htif| htif.awaits_input);
        self.stopped = match (self.bus.htif.as_ref().and_then(|h| h.exit), finish) {
            (Some(code), _) | (None, Some(Finish::Exit(code))) => Some(Stop::Exit { code }),
            (None, Some(Finish::Reboot)) => Some(Stop::Reboot),
            (None, None) => awaits_input.then_some(Stop::Input),
        };

        let clint = &self.bus.clint;
        let (compare, msip) = (clint.mtimecmp[self.turns.current], clint.msip[self.turns.current]);
        let timer = compare <= time;
        // The built-in firmware passes its timer on to supervisor mode.
        let timer_bit =
            if self.sbi && !self.hart.has_supervisor_timer() { interrupt::STI } else { interrupt::MTI };
        self.hart.mip &= !(interrupt::MSI | timer_bit);
        self.hart.mip |= if msip { interrupt::MSI } else { 0 } | if timer { timer_bit } else { 0 };
        self.pass_external_interrupts();
        if let (Some(sources), Some(clic)) = (&mut self.bus.clic, &mut self.hart.clic) {
            sources.lines = self.hart.mip;
            clic.sources = **sources;
        }

        let at = |ticks_ahead: u64| {
            ticks_ahead.saturating_add(clock / CLOCKS_PER_TICK).saturating_mul(CLOCKS_PER_TICK)
        };
        let event = |compare: u64| if compare <= time { u64::MAX } else { at(compare - time) };
        let mut timer_event = event(compare);
        if self.hart.has_supervisor_timer() {
            self.hart.mip &= !interrupt::STI;
            self.hart.mip |= if self.hart.stimecmp <= time { interrupt::STI } else { 0 };
            timer_event = timer_event.min(event(self.hart.stimecmp));
        }
        let htif_event = self.bus.htif.as_ref().and_then(|h| h.due).unwrap_or(u64::MAX);
        let alarm = self.bus.virt.as_ref().and_then(|virt| virt.rtc.due());
        let alarm_event = alarm.map_or(u64::MAX, |ns| at((ns.div_ceil(TICK_NS)).saturating_sub(time)));
        self.next_event = timer_event.min(htif_event).min(alarm_event);
    }

    /// Raises and lowers the external interrupts as the platform's controller says.
    fn pass_external_interrupts(&mut self) {
        let raised = |mode: usize, bit: u64| {
            if self.bus.plic.raised(2 * self.turns.current + mode) { bit } else { 0 }
        };
        let lines = raised(0, interrupt::MEI) | raised(1, interrupt::SEI);
        self.hart.mip = self.hart.mip & !(self.lines & !lines) | lines;
        self.lines = lines;
    }

    /// Lets time pass until an enabled interrupt is pending.
    fn wait(&mut self) {
        let (enabled, wakes) = self.hart.enabled_and_wakes();
        if wakes {
            self.waiting = false;
            return;
        }
        let supervisor = self.sbi || self.hart.has_supervisor_timer();
        let timers = interrupt::MTI | if supervisor { interrupt::STI } else { 0 };
        let alarms = if self.bus.virt.is_some() { interrupt::MEI | interrupt::SEI } else { 0 };
        let can_come = enabled & (timers | alarms) != 0;
        let htif_is_due = self.bus.htif.as_ref().is_some_and(|h| h.due.is_some());
        let event = if can_come || htif_is_due { self.next_event } else { u64::MAX };
        if !self.turns.parked.is_empty() && event >= self.turns.start + QUANTUM {
            self.turns.wake = self.turns.wake.min(event);
            self.turns.over = true;
        } else if event == u64::MAX {
            self.stopped = Some(Stop::Idle);
        } else {
            self.idle = self.idle.wrapping_add(event.saturating_sub(self.clock()));
        }
    }

    /// Nanoseconds since reset, as the guest's clock counts them: one for each instruction, and those spent waiting.
    pub fn elapsed(&self) -> u64 {
        self.clock()
    }
}
