//! The keys of a core's file, table by table.

use serde::Deserialize;
use strum::{IntoStaticStr, VariantArray};

use super::csr::CsrFlushes;
use tollgate_riscv::cache::Policy;

/// Which microarchitecture a core is: each has a file of its own, which says what happens in which stage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize, VariantArray, IntoStaticStr)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Design {
    /// One to five stages, as textbooks draw them.
    #[default]
    Textbook,
    /// lowRISC's Ibex.
    Ibex,
    /// PicoRV32.
    Picorv32,
    /// VexRiscv.
    Vexriscv,
    /// OpenHW's CV32E40X.
    Cv32e40x,
    /// Rocket.
    Rocket,
    /// CVA6.
    Cva6,
}

/// The number of stages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// One cycle for each instruction, plus its penalties.
    SingleCycle,
    /// One instruction at a time, each in as many cycles as its `[operation]` has states.
    MultiCycle,
    /// One stage fetches, the other does everything else; penalties add up.
    TwoStage,
    /// IF, ID, EX, MEM, WB; an instruction leaves a stage when the next stage is free.
    #[default]
    FiveStage,
}

/// How branches are predicted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Predictor {
    /// Never taken.
    #[default]
    NotTaken,
    /// Taken if the target is behind the branch.
    BackwardTaken,
    /// Two-bit counters, indexed by address.
    Bimodal,
}

/// An operation that takes more than a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Operation {
    /// Cycles from EX to the result; at least 1.
    pub cycles: u32,
    /// Whether the next instruction may enter EX in the meantime.
    #[serde(default)]
    pub pipelined: bool,
    /// Cycles of a division by zero, or 0 if it takes as long as any other.
    #[serde(default, rename = "by-zero")]
    pub by_zero: u32,
    /// Whether a division finds one binary digit of the quotient a cycle: then `cycles` is for a dividend that is as
    /// long as the divisor. Of `float-divide`, also square roots and single numbers: `cycles` is for a dividend whose
    /// significand is not smaller; zeros, infinities and NaNs take no digit.
    #[serde(default)]
    pub digits: bool,
    /// Places that a serial shifter moves in one more cycle; those that are left over, one a cycle. 0 shifts in
    /// `cycles`, however far.
    #[serde(default)]
    pub step: u32,
    /// Whether it takes all cycles but the first in MEM instead of in EX; if it is pipelined, in MEM and behind it, so that
    /// what holds it in EX makes its result later.
    #[serde(default)]
    pub late: bool,
    /// Bubbles between it and a directly following instruction that uses its result.
    #[serde(default, rename = "use")]
    pub use_: u32,
}

impl Default for Operation {
    fn default() -> Self {
        Operation { cycles: 1, pipelined: false, by_zero: 0, digits: false, step: 0, late: false, use_: 0 }
    }
}

/// Latencies of operations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Operations {
    /// Arithmetic, and every instruction that is not named below.
    pub arithmetic: Operation,
    /// Shifts, if they differ from `arithmetic`. With `step`, a serial shifter moves so many places in one more cycle,
    /// and those that are left over one by one.
    pub shift: Option<Operation>,
    /// Loads, without waiting for memory.
    pub load: Option<Operation>,
    /// Stores, without waiting for memory.
    pub store: Option<Operation>,
    /// Branches, taken or not.
    pub branch: Option<Operation>,
    /// `jal`.
    pub jump: Option<Operation>,
    /// `jalr`.
    pub indirect: Option<Operation>,
    /// `fence.i`.
    pub fence_i: Option<Operation>,
    /// Integer multiplication.
    pub multiply: Operation,
    /// The upper half of a product, if it differs from `multiply`.
    pub multiply_high: Option<Operation>,
    /// Integer division and remainder; by zero in `by-zero` cycles, if it is given.
    pub divide: Operation,
    /// Floating-point addition, comparison, conversion, and moves between register files.
    pub float: Operation,
    /// Floating-point multiplication, fused or not.
    pub float_multiply: Operation,
    /// Floating-point division and square root.
    pub float_divide: Operation,
    /// Floating-point comparison, sign injection, classification and moves; without it as `float`.
    pub float_move: Option<Operation>,
    /// Floating-point conversion; without it as `float`.
    pub float_convert: Option<Operation>,
    /// The same of singles, if it differs.
    pub float_divide_single: Option<Operation>,
    /// Atomic read-modify-write, without its memory access.
    pub atomic: Operation,
    /// Addition, multiplication and fused multiplication of doubles, if they differ from those of singles.
    pub double: Option<Operation>,
    /// Comparison, conversion and move of a floating-point value into an integer register, if they differ from `float`.
    pub float_to_integer: Option<Operation>,
    /// Bits of the multiplier that an iterative unit handles in a cycle; it divides by one bit in a cycle, skips leading
    /// zeros, and works while other instructions pass. 0 for a core whose `multiply` and `divide` apply.
    pub iterative: u32,
}

/// The pipe itself. Penalties are bubbles: cycles without a retiring instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Pipeline {
    /// The number of stages.
    pub kind: Kind,
    /// Whether an instruction receives results before they are written back.
    pub forwarding: bool,
    /// Bubbles between a load and a directly following instruction that uses the value.
    pub load_use: u32,
    /// Whether an instruction that reads `x0` directly behind a load into `x0` waits for it, `load-use` bubbles.
    pub zero_waits: bool,
    /// Extra cycles of each load and store that hits, in a core that waits for the memory.
    pub memory_wait: u32,
    /// Whether a store needs its value in MEM only, so that it may directly follow a load of that value.
    pub store_data_late: bool,
    /// Aligned bytes of one fetch; 0 fetches every instruction at once.
    pub fetch_width: u32,
    /// Aligned bytes of one data access: what crosses them is accessed one cycle later. 0 accesses everything at once.
    pub data_width: u32,
}

impl Default for Pipeline {
    fn default() -> Self {
        Pipeline {
            kind: Kind::FiveStage,
            forwarding: true,
            load_use: 1,
            zero_waits: false,
            memory_wait: 0,
            store_data_late: false,
            fetch_width: 0,
            data_width: 0,
        }
    }
}

/// The front end of `cva6`, which runs ahead.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Front {
    /// Instructions that wait for decode at most.
    pub queue: u32,
}

/// Issue, execution and commit of `cva6`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct ScoreboardShape {
    /// Instructions between issue and commit at most.
    pub entries: u32,
    /// Instructions that commit in one cycle at most.
    pub commits: u32,
    /// Cycles from the data cache's taking a load to its result, on a hit.
    pub load: u32,
    /// Cycles that a load or a store loses to a page-table walk, in addition to the walk.
    pub walk: u32,
    /// Cycles of an atomic operation in addition to memory's, from when all stores are in memory to its commit.
    pub atomic: u32,
}

/// Stores between commit and memory, of `cva6`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct StoreBuffer {
    /// Committed stores before the write buffer at most.
    pub queue: u32,
    /// Words of the write buffer.
    pub words: u32,
    /// Writes on their way to memory at most.
    pub writes: u32,
    /// Cycles of a write in addition to memory's, from its sending until its word is free.
    pub answer: u32,
}

/// Control and status registers, and instructions that synchronize.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct System {
    /// Bubbles between a CSR instruction and a directly following instruction that uses the value.
    pub csr_use: u32,
    /// Whether a CSR instruction waits before EX until all older instructions have left the pipe.
    pub csr_drain: bool,
    /// Bubbles after a CSR instruction that writes.
    pub csr_flush: u32,
    /// The same by kind of register, where it differs.
    pub csr_flush_of: CsrFlushes,
    /// Bits of the address space identifier in `satp`, at most 16, which it has without this key. It takes no time; the
    /// machine under the lab's kernels has as many, and kernels do without identifiers where it has none.
    pub asid_bits: Option<u32>,
    /// Whether a write of `satp` empties the translation buffers.
    pub satp_empties: bool,
    /// Whether `csrrc` and `csrrci` flush nothing.
    pub csr_clear_in_place: bool,
    /// Bubbles after `fence.i`, which also empties the instruction cache.
    pub fence_i: u32,
    /// Bubbles after `sfence.vma`, which also empties the translation buffers.
    pub sfence_vma: u32,
    /// Bubbles after `wfi` for which an interrupt is pending.
    pub wfi: u32,
}

/// Branches and jumps; penalties are bubbles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Branches {
    /// How the direction of a branch is predicted.
    pub predictor: Predictor,
    /// Counters of the predictor, or single bits in `rocket`: a power of two.
    pub counters: u32,
    /// Entries of the branch target buffer, or 0: any number in `rocket`, otherwise a power of two.
    pub btb: u32,
    /// Entries of the return stack, or 0. Where the fetch runs ahead, it keeps what calls and returns on wrong paths have pushed and
    /// popped.
    pub return_stack: u32,
    /// Further cycles in EX of a branch whose direction was mispredicted, before the fetch is redirected.
    pub settle: u32,
    /// After a branch whose direction was mispredicted.
    pub mispredict: u32,
    /// After a branch that was correctly predicted taken, if its target is not in the target buffer.
    pub taken: u32,
    /// After `jal`, if its target is not in the target buffer.
    pub jump: u32,
    /// After `jalr`, if its target was not predicted.
    pub indirect: u32,
}

/// Traps and returns; penalties are bubbles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Traps {
    /// Between the instruction that traps and the first instruction of the handler.
    pub exception: u32,
    /// Between the last instruction that retires before an interrupt and the first instruction of the handler.
    pub interrupt: u32,
    /// Cycles from an interrupt's line to the core's seeing it.
    pub interrupt_delay: u32,
    /// After `mret` and `sret`.
    #[serde(rename = "return")]
    pub return_: u32,
    /// Additional bubbles after `mret` and `sret` due to a known fault of the core, which `+fault` after the core's
    /// name turns on.
    pub return_fault: u32,
    /// Whether `ecall` waits until `a7` is in the register file, without forwarding.
    pub ecall_reads: bool,
}

/// A cache, in Spike's notation.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct CacheShape {
    /// `sets:ways:line`, the line in bytes.
    pub geometry: String,
    /// Which line of a full set is evicted.
    #[serde(default)]
    pub replacement: Policy,
    /// Whether every store also goes to the next level at once.
    #[serde(default)]
    pub write_through: bool,
    /// Whether a store that misses leaves the cache unchanged.
    #[serde(default)]
    pub no_write_allocate: bool,
    /// Seed of random replacement; of `lfsr16`, how many lines were filled before.
    #[serde(default)]
    pub seed: u64,
    /// Cycles that a miss of the first level waits for a hit in the second; used for `l2` only.
    #[serde(default)]
    pub hit: u32,
}

/// A fully associative translation buffer that evicts the least recently used entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TlbShape {
    /// Entries, from 1 to 1024.
    pub entries: u32,
}

/// Main memory and devices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Memory {
    /// Cycles that an access waits if it misses all caches.
    pub latency: u32,
    /// Cycles until memory answers a write; without this key as `latency`.
    pub write_latency: Option<u32>,
    /// Cycles of an access to a device.
    pub device: u32,
    /// Whether devices are behind the same bus, so that memory's latency is added.
    pub device_on_bus: bool,
    /// Whether a store that misses stalls the pipe, as without a store buffer.
    pub stores_wait: bool,
    /// Cycles of a miss in the first data cache, in addition to what the next level takes.
    pub miss: u32,
    /// Cycles of a miss in the instruction cache, in addition to what the next level takes.
    pub fetch_miss: u32,
    /// Cycles after which a front end with a queue asks again for a line that it missed: from when it missed the line, or, if it
    /// goes on there in sequence, from when the instruction before is in MEM and the queue is empty. 0 where it finds the
    /// line at once.
    pub fetch_miss_step: u32,
    /// Cycles at the end of a miss of the instruction cache in which it takes the line and no other one can be read.
    pub fetch_fill: u32,
    /// Words of a line that comes over a port that the caches share, one word a cycle and one line behind the other: the order
    /// is that in which the port has the requests, and of two misses in a cycle the fetch's is first. 0 for a port each.
    pub line_words: u32,
    /// Cycles from a miss of the first data cache to its request on that port.
    pub request: u32,
    /// The same of the instruction cache, which a hub makes longer that asks the data cache for the line before.
    pub fetch_request: u32,
    /// Cycles by which a miss in the first data cache is later if it evicts a changed line, without a buffer for it.
    pub write_back: u32,
    /// The same of a miss of the page table walker, if it differs.
    pub walk_write_back: Option<u32>,
    /// Address bits that the data cache compares with those of a changed line on its way to memory: a miss whose line has the
    /// same ones waits for the answer to that first; 0 for none.
    pub write_back_compare: u32,
    /// Whether the first store to a clean line, which notes in the tags that the line is changed, lets no other access see the
    /// tags meanwhile: those of the next two cycles are replayed.
    pub tag_update: bool,
    /// Whether accesses to devices do not stall: `device` is then the load-use delay of a load, and until an access is
    /// answered another one is replayed.
    pub device_posted: bool,
    /// Stores that may be on their way to memory behind the pipe, each of which takes the port `latency` + 1 cycles; 0
    /// lets any number pass at no cost.
    pub store_slots: u32,
    /// Whether each access to a page without a translation walks the page table again, because no translation buffer keeps
    /// that there is none.
    pub fault_walks: bool,
    /// Cycles of a page-table walk in addition to its loads.
    pub walk: u32,
    /// The same of a walk for an instruction, if it differs.
    pub fetch_walk: Option<u32>,
    /// Cycles after which a fetch asks again for its translation while that is walked for: the walk takes a multiple of them.
    /// 0 where the fetch goes on at once.
    pub fetch_walk_step: u32,
    /// Cycles of each load of a walk that hits, 1 without this key.
    pub walk_level: Option<u32>,
    /// Entries of page tables that lead to further tables and that the walker keeps until `sfence.vma`, so that they take a
    /// cycle; a power of two, or 0 for none. A tree of bits chooses which is replaced.
    pub walk_cache: u32,
}
