//! Counts of caches and translation buffers without a pipeline, and so without cycles.

use tollgate_riscv::tier::{Counter, Passed, Quiet, Reported, Sight};
use tollgate_riscv::{Access, AccessKind, Class, Observer, Op, Privilege, Retired, Several, Trap, Walk};

use super::access::Data;
use super::core::{Core, CoreError};
use super::csr;
use super::parts::memory::{Memory, MemoryCounts};
use super::parts::system;

/// Counts what the caches and translation buffers of a core do while a machine runs. Code that is translated reports only
/// what may miss.
///
/// ```
/// use tollgate_cores::{CacheCounter, Core};
/// use tollgate_riscv::{Config, Machine};
/// let mut machine = Machine::new(Config::default()).unwrap();
/// // addi a0, a0, 1; j back
/// machine.write_memory(0x8000_0000, &[0x13, 0x05, 0x15, 0, 0x6f, 0xf0, 0xdf, 0xff]).unwrap();
/// let mut counter = CacheCounter::new(&Core::preset("spike").unwrap()).unwrap();
/// machine.run(2000, &mut counter);
/// assert_eq!((counter.instructions(), counter.counts().l1i_misses), (2000, 1));
/// ```
#[derive(Clone, Debug)]
pub struct CacheCounter {
    memory: Memory,
    /// Whether a write of `satp` empties the translation buffers.
    satp_empties: bool,
    instructions: u64,
    /// Those of the instruction that is being executed.
    accesses: Vec<Data>,
    /// Words that hardware stacks.
    stacked: Vec<Data>,
}

impl CacheCounter {
    /// Empty caches and translation buffers.
    pub fn new(core: &Core) -> Result<Self, CoreError> {
        core.check()?;
        Ok(CacheCounter {
            memory: Memory::new(core)?,
            satp_empties: core.system.satp_empties,
            instructions: 0,
            accesses: Vec::new(),
            stacked: Vec::new(),
        })
    }

    /// Instructions that retired.
    pub fn instructions(&self) -> u64 {
        self.instructions
    }

    /// The counts so far.
    pub fn counts(&self) -> MemoryCounts {
        self.memory.counts()
    }

    #[inline(always)]
    fn fetch(&mut self, pc: u64, pa: u64, len: u8, privilege: Privilege) {
        if !self.memory.fetches_latest_line(pc, pa, len, privilege) {
            self.memory.fetch(pc, pa, len, privilege);
        }
    }

    #[inline(always)]
    fn data(&mut self, access: &Data, privilege: Privilege) {
        if !self.memory.hits_latest_line(access, privilege) {
            self.memory.data(access, privilege);
        }
    }

    /// The words that a trap or a return has stacked.
    fn stack(&mut self) {
        for word in std::mem::take(&mut self.stacked) {
            // Their addresses are physical: no translation.
            self.memory.data(&word, Privilege::Machine);
        }
    }
}

impl Observer for CacheCounter {
    const MEMORY: bool = true;
    const TRAP: bool = true;
    const BLOCKS: bool = true;
    const WALK: bool = true;

    #[inline]
    fn access(&mut self, access: &Access) {
        match access.kind {
            AccessKind::Stacking => self.stacked.push(Data::of(access)),
            _ => self.accesses.push(Data::of(access)),
        }
    }

    fn counter(&mut self) -> Option<&mut dyn Counter> {
        self.memory.sight().is_some().then_some(self)
    }

    fn several(&mut self, several: &Several) {
        let privilege = several.privilege;
        let mut touches = several.accesses.iter();
        for pass in several.passes {
            for op in several.insns(pass) {
                let pa = u64::from(op.page) << 12 | op.pc & 0xfff;
                self.fetch(several.outside(op.pc), pa, op.insn.len, privilege);
                if let Some((size, store)) = op.insn.op.access()
                    && let Some(touch) = touches.next()
                {
                    let va = several.outside(touch.va);
                    self.data(&Data { va, pa: touch.pa(), size, store }, privilege);
                }
            }
            self.instructions += u64::from(pass.end() - pass.start());
        }
    }

    fn retire(&mut self, retired: &Retired) {
        self.fetch(retired.pc, retired.pa, retired.insn.len, retired.privilege);
        let accesses = std::mem::take(&mut self.accesses);
        for access in &accesses {
            self.data(access, retired.privilege);
        }
        self.accesses = accesses;
        self.accesses.clear();
        self.instructions += 1;
        let insn = &retired.insn;
        match insn.op {
            Op::FenceI => self.memory.flush_instructions(),
            Op::SfenceVma | Op::SinvalVma => self.memory.flush_translations(),
            _ if self.satp_empties
                && insn.row().class == Class::Csr
                && insn.imm as u16 == csr::SATP
                && csr::writes(insn) =>
            {
                self.memory.forget_translations();
            }
            _ => {}
        }
        self.stack();
    }

    fn trap(&mut self, trap: &Trap) {
        self.accesses.clear();
        if !trap.cause.is_interrupt() {
            system::delays_of(trap, &mut self.memory, 0);
        }
        self.stack();
    }

    fn walk(&mut self, walk: &Walk) {
        self.memory.learn(walk);
    }

    fn address_space(&mut self, satp: u64) {
        self.memory.set_satp(satp);
    }
}

impl Counter for CacheCounter {
    fn sight(&self) -> Sight {
        self.memory.sight().unwrap_or_default()
    }

    fn quiet_fetches(&mut self, privilege: Privilege) -> Quiet<'_> {
        self.memory.quiet_fetches(privilege)
    }

    fn quiet_data(&mut self, _: Privilege) -> Quiet<'_> {
        self.memory.quiet_data()
    }

    fn report_noted(&mut self, noted: &[u64]) {
        self.memory.report_noted(noted);
    }

    fn report(&mut self, access: &Reported) {
        self.memory.report(access);
    }

    fn count(&mut self, passed: &Passed) {
        self.instructions += passed.instructions;
        self.memory.count_hits(passed.loads, passed.stores);
    }
}
