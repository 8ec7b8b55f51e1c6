//! Running superblocks.

use crate::alu::{div, div32, divu32, rem, rem32, remu32, sext32};
use crate::engine::{
    ARENA, Arena, CONTEXTS, Code, Context, LOG, LOG_FULL, LONGEST_BLOCK, MicroOp, NO_TAG, Pause, called,
    tlb_index,
};
use crate::fp::{Compare, F32, F64, Fpu, NAN_BOX, classify, sign_inject};
use crate::insn::Op;
use crate::jump::{JUMP_ENTRIES, Jump, jump_index};
use crate::machine::Machine;
use crate::mmu::PAGE;
use crate::observer::{Access, AccessKind, Observer, Pass, Retired, Several, Touch};
use crate::privilege::Privilege;
use crate::table::instruction_table;
use crate::tier::{Exit, LARGEST_REGION, Observed, Registers};

/// Why the inner loop was left; the instruction that it was left at did nothing yet.
enum Leave {
    /// At an instruction for the reference interpreter.
    Step { place: u16 },
    /// At one whose address is in no TLB entry.
    Miss { resume: Entry, va: u64, size: u64, store: bool },
    /// After one that jumps to an address without a known block.
    Unlinked { from: u16, to: u64 },
    /// At an indirect jump to an address without a known block.
    Indirect { op: MicroOp, to: u64 },
    /// Before an instruction that has to be fetched again.
    Fetch(u64),
    /// The limit is reached.
    Limit(u64),
}

/// Where the inner loop begins: an op, and the place of the instruction that is next. (Instructions that need no op
/// may come before that of the op.)
#[derive(Clone, Copy)]
struct Entry {
    op: u16,
    place: u16,
}

/// What the inner loop works on.
struct Hot<'a> {
    x: &'a mut [u64; 256],
    f: &'a mut [u64; 256],
    fflags: &'a mut u8,
    ram: &'a mut [u8],
    ram_base: u64,
    arena: &'a mut Arena,
    slot: usize,
    context: u32,
    /// For observers: the mode, whether registers have 32 bits, and instructions retired before `count`.
    privilege: Privilege,
    rv32: bool,
    retired: u64,
    epoch: u64,
}

impl Machine {
    /// Runs blocks until about `horizon` instructions have retired, or one comes that blocks cannot do. Never
    /// more than `horizon`; the hart's pc and instruction count are exact when it returns.
    pub(crate) fn run_blocks<O: Observer>(&mut self, horizon: u64, obs: &mut O) -> Pause {
        let precise = O::RETIRE;
        if self.engine.precise != precise {
            self.engine.flush_blocks();
            self.engine.precise = precise;
        }
        let limit = horizon.saturating_sub(LONGEST_BLOCK);
        // Other observers of instructions and accesses need the interpreter.
        let observed = O::RETIRE || O::BLOCKS || O::MEMORY;
        let sight = obs.counter().map(|counter| counter.sight());
        let translates = (!observed || sight.is_some()) && self.engine.tier.is_some();
        if let Some(tier) = self.engine.tier.as_mut().filter(|_| translates) {
            tier.show(sight);
        }
        let translated_limit = horizon.checked_sub(LARGEST_REGION as u64).filter(|_| translates);
        // Whether the instruction at `pc` is the interpreter's.
        let mut interpret = false;
        let context = Context::of(&self.hart);
        let (slot, mut id) = self.engine.enter(context);
        let mut count = 0;
        let mut link: Option<(u16, u64)> = None;
        let mut pc = self.hart.pc;
        let pause = 'find: loop {
            if !std::mem::take(&mut interpret)
                && let Some(limit) = translated_limit.filter(|&limit| count <= limit)
                && let Some(exit) = self.run_translated(slot, pc, id, count, limit, obs)
            {
                (pc, count, interpret) = (exit.pc, exit.retired, exit.interpret);
                link = None;
                continue 'find;
            }
            let drops = self.engine.drops;
            let Some(start) = self.block_at(pc, context, id, obs) else { break Pause::Fetch };
            if self.engine.flushed_since(drops) {
                // Room was made for the block: what was linked is gone.
                link = None;
                id = self.engine.enter(context).1;
            }
            if let (Some((from, source)), Some(arena)) = (link.take(), &mut self.engine.arena)
                && (source ^ pc) & !(PAGE - 1) == 0
                && arena.jumps[jump_index(pc)].pc == pc
            {
                // (What was translated is not in the table, and is never linked.)
                arena.links[usize::from(from)] = start;
            }
            let soon =
                if translates { limit.min(self.sample_if_due(start, context.fp, count)) } else { limit };
            let mut entry = Entry { op: start, place: start };
            loop {
                match self.hot(slot, id, entry, &mut count, soon, obs) {
                    Leave::Miss { resume, va, size, store } => {
                        // A misaligned address never matches; only an aligned one may try again.
                        if va & (size - 1) == 0 && self.fill_tlb(slot, va, store, obs) {
                            entry = resume;
                            continue;
                        }
                        break 'find self.pause_at(resume.place, &mut pc);
                    }
                    Leave::Step { place } => break 'find self.pause_at(place, &mut pc),
                    Leave::Unlinked { from, to } => {
                        link = Some((from, self.meta_pc(from))).filter(|(from, _)| *from != 0);
                        pc = to;
                        continue 'find;
                    }
                    Leave::Indirect { op, to } => {
                        let to = self.hart.canonical(to);
                        if to & self.hart.target_mask() != 0 {
                            break 'find self.pause_at(op.place, &mut pc);
                        }
                        self.finish_indirect(op, to, &mut count, obs);
                        pc = to;
                        if count > limit {
                            break 'find Pause::Horizon;
                        }
                        continue 'find;
                    }
                    Leave::Fetch(to) => {
                        pc = to;
                        break 'find Pause::Fetch;
                    }
                    Leave::Limit(to) => {
                        pc = to;
                        if count > limit {
                            break 'find Pause::Horizon;
                        }
                        continue 'find;
                    }
                }
            }
        };
        self.hart.pc = pc;
        self.hart.retired = self.hart.retired.wrapping_add(count);
        pause
    }

    /// Samples the block that comes next if a sample is due; yields how many instructions this run will have retired when the
    /// next one is.
    fn sample_if_due(&mut self, start: u16, fp: u8, count: u64) -> u64 {
        let now = self.hart.retired.wrapping_add(count);
        let due = |machine: &Self| machine.engine.tier.as_ref().map_or(u64::MAX, |tier| tier.due);
        if now >= due(self) {
            self.sample(start, fp, now);
        }
        due(self).saturating_sub(self.hart.retired)
    }

    /// Runs what was translated of the code at `pc`, if anything was.
    #[inline]
    fn run_translated<O: Observer>(
        &mut self,
        slot: usize,
        pc: u64,
        id: u32,
        count: u64,
        limit: u64,
        obs: &mut O,
    ) -> Option<Exit> {
        let (tier, arena) = (self.engine.tier.as_mut()?, self.engine.arena.as_ref()?);
        let privilege = self.hart.privilege;
        tier.run(pc, id, |starts| Registers {
            x: &mut self.hart.x,
            f: &mut self.hart.f,
            fflags: &mut self.hart.fflags,
            ram: &mut self.bus.ram,
            loads: &arena.loads[slot],
            stores: &arena.stores[slot],
            starts,
            context: id,
            retired: count,
            limit,
            observed: obs.counter().map(|counter| Observed { counter, privilege }),
        })
    }

    /// The block at `pc`: from the table of jump targets, or found and built.
    fn block_at<O: Observer>(&mut self, pc: u64, context: Context, id: u32, obs: &mut O) -> Option<u16> {
        if let Some(arena) = &self.engine.arena {
            let entry = arena.jumps[jump_index(pc)];
            if entry.pc == pc && entry.context == id {
                return Some(entry.start);
            }
        }
        self.find_block(pc, context, id, obs)
    }

    /// Stops before an instruction that the reference interpreter does.
    fn pause_at(&self, place: u16, pc: &mut u64) -> Pause {
        let Some(arena) = &self.engine.arena else { return Pause::Fetch };
        let meta = arena.meta[usize::from(place)];
        *pc = meta.pc;
        Pause::Execute(meta.insn, meta.word)
    }

    fn meta_pc(&self, place: u16) -> u64 {
        self.engine.arena.as_ref().map_or(0, |a| a.meta[usize::from(place)].pc)
    }

    /// Does an indirect jump whose target was not in the table.
    fn finish_indirect<O: Observer>(&mut self, op: MicroOp, to: u64, count: &mut u64, obs: &mut O) {
        let Some(arena) = &self.engine.arena else { return };
        let meta = arena.meta[usize::from(op.place)];
        self.hart.x[usize::from(op.rd)] = op.imm;
        *count += 1;
        if O::BLOCKS {
            obs.several(&Several {
                passes: &[Pass::new(op.place, op.place + 1, to != op.imm, to)],
                accesses: &[],
                operands: &[],
                insns: &arena.meta,
                epoch: self.engine.drops,
                privilege: self.hart.privilege,
                rv32: !self.hart.isa.is_rv64(),
                retired: self.hart.retired.wrapping_add(*count - 1),
            });
        }
        if O::RETIRE {
            obs.retire(&Retired {
                pc: self.hart.outside(meta.pc),
                pa: u64::from(meta.page) << 12 | meta.pc & (PAGE - 1),
                next_pc: self.hart.outside(to),
                insn: meta.insn,
                word: meta.word,
                privilege: self.hart.privilege,
                value: self.hart.destination(&meta.insn),
                operands: [0; 2],
                taken: false,
                instret: self.hart.retired.wrapping_add(*count - 1),
            });
        }
    }

    /// Calls the inner loop with the parts of the machine that it uses.
    #[inline(always)]
    fn hot<O: Observer>(
        &mut self,
        slot: usize,
        context: u32,
        entry: Entry,
        count: &mut u64,
        limit: u64,
        obs: &mut O,
    ) -> Leave {
        let Some(arena) = &mut self.engine.arena else { return Leave::Limit(self.hart.pc) };
        let hot = Hot {
            rv32: !self.hart.isa.is_rv64(),
            x: &mut self.hart.x,
            f: &mut self.hart.f,
            fflags: &mut self.hart.fflags,
            ram: &mut self.bus.ram,
            ram_base: self.bus.ram_base,
            arena,
            slot,
            context,
            privilege: self.hart.privilege,
            retired: self.hart.retired,
            epoch: self.engine.drops,
        };
        hot.run(entry, count, limit, obs)
    }
}

/// Reports the recorded instructions to an observer of blocks. (Outside the inner loop, so that it does not have to
/// save and restore registers.)
#[inline(never)]
fn tell<O: Observer>(obs: &mut O, several: &Several) {
    obs.several(several);
}

impl Hot<'_> {
    /// The inner loop. `count` is what retired in blocks that were left; it is updated at
    /// each jump, where the limit is checked.
    #[inline(never)]
    fn run<O: Observer>(self, entry: Entry, count: &mut u64, limit: u64, obs: &mut O) -> Leave {
        let Hot { x, f, fflags, ram, ram_base, arena, slot, context, privilege, rv32, retired, epoch } = self;
        let Arena { ops, links, meta, jumps, loads, stores, passes, accesses, operands } = arena;
        let (passes, accesses): (&mut [Pass; LOG], &mut [Touch; LOG]) = (passes, accesses);
        let operands: &mut [[u64; 2]; LOG] = operands;
        // References to the arrays: each op would follow the boxes again.
        let (ops, links, jumps): (&[MicroOp; ARENA], &mut [u16; ARENA], &[Jump; JUMP_ENTRIES]) =
            (ops, links, jumps);
        let (loads, stores) = (&loads[slot % CONTEXTS], &stores[slot % CONTEXTS]);
        let outside = |v: u64| if rv32 { u64::from(v as u32) } else { v };
        // The op that is next.
        let mut at = entry.op;
        // The place of the first instruction that is not in `n` and that was not reported to the observer.
        let mut from = usize::from(entry.place);
        let mut n = *count;
        // Of `passes`, `accesses` and `operands`: how many were not reported to the observer yet.
        let (mut noted, mut accessed, mut operated) = (0, 0, 0);
        let notes_operands = O::BLOCKS && obs.operands();
        // Instructions retired before the first of them.
        let mut base = retired.wrapping_add(n);
        // When to check the limit, and to report to the observer.
        let mut soon = if O::BLOCKS { limit.min(n + LOG_FULL) } else { limit };
        macro_rules! tell {
            () => {
                if noted > 0 {
                    let several = Several {
                        passes: &passes[..noted],
                        accesses: &accesses[..accessed],
                        operands: &operands[..operated],
                        insns: meta,
                        epoch,
                        privilege,
                        rv32,
                        retired: base,
                    };
                    tell(obs, &several);
                }
            };
        }
        let leave = loop {
            let op = &ops[usize::from(at)];
            // It does not wrap: each block ends with an op that leaves it.
            at = at.wrapping_add(1);
            /// The place of the op's instruction.
            macro_rules! place {
                () => {
                    usize::from(op.place)
                };
            }
            /// Where to begin again, at this op.
            macro_rules! resume {
                () => {
                    Entry { op: at.wrapping_sub(1), place: op.place }
                };
            }
            /// On with the block there.
            macro_rules! go {
                ($to:expr) => {{
                    at = $to;
                    from = usize::from(at);
                }};
            }

            /// Reports the retirement of the op's instruction to the observer.
            macro_rules! retire {
                ($next:expr, $value:expr) => {
                    retire!($next, $value, [0; 2], false)
                };
                ($next:expr, $value:expr, $operands:expr, $taken:literal) => {
                    if O::RETIRE {
                        let m = &meta[place!()];
                        obs.retire(&Retired {
                            pc: outside(m.pc),
                            pa: u64::from(m.page) << 12 | m.pc & (PAGE - 1),
                            next_pc: outside($next),
                            insn: m.insn,
                            word: m.word,
                            privilege,
                            value: $value,
                            operands: $operands,
                            taken: $taken,
                            instret: retired.wrapping_add(n + (place!() - from) as u64),
                        });
                    }
                };
            }
            /// Counts the instructions up to the place `$end`, and records for the observer that they retired, if
            /// there are `$some`.
            macro_rules! passed {
                ($some:expr, $end:expr, $target:expr, $taken:expr) => {
                    let end = $end;
                    if O::BLOCKS && $some {
                        passes[noted % LOG] = Pass::new(from as u16, end as u16, $taken, $target);
                        noted += 1;
                    }
                    n += (end - from) as u64;
                };
            }
            /// The op is done; on with the one behind it.
            macro_rules! next {
                ($value:expr) => {{
                    retire!(meta[place!() + 1].pc, $value);
                }};
            }
            macro_rules! leave {
                ($leave:expr) => {
                    break $leave
                };
            }
            /// Leaves when enough has been done.
            macro_rules! check {
                ($to:expr) => {
                    if n > soon {
                        if n > limit {
                            leave!(Leave::Limit($to));
                        }
                        tell!();
                        (noted, accessed, operated) = (0, 0, 0);
                        base = retired.wrapping_add(n);
                        soon = limit.min(n + LOG_FULL);
                    }
                };
            }
            /// Leaves before the op.
            macro_rules! leave_before {
                ($leave:expr) => {{
                    passed!(from < place!(), place!(), 0, false);
                    leave!($leave)
                }};
            }
            macro_rules! write {
                ($value:expr) => {{
                    let value = $value;
                    x[usize::from(op.rd)] = value;
                    next!(if op.rd < 32 { outside(value) } else { 0 });
                }};
            }
            /// The bytes of an access, if its page is in the TLB.
            macro_rules! find {
                ($tlb:expr, $size:literal, $store:literal, $va:ident, $index:ident, $bytes:ident) => {
                    let $va = x[usize::from(op.rs1)].wrapping_add(op.imm);
                    let entry = &$tlb[tlb_index($va)];
                    if entry.tag != $va & !(PAGE - 1) | $va & ($size - 1) {
                        leave_before!(Leave::Miss { resume: resume!(), va: $va, size: $size, store: $store });
                    }
                    let $index = $va.wrapping_add(entry.addend);
                    let Some($bytes) = ram.as_chunks_mut::<$size>().0.get_mut(($index / $size) as usize)
                    else {
                        leave_before!(Leave::Step { place: op.place });
                    };
                };
            }
            macro_rules! accessed {
                ($va:expr, $index:expr, $size:literal, $store:literal, $value:expr) => {
                    let pa = ram_base + $index;
                    if O::BLOCKS && O::MEMORY {
                        accesses[accessed % LOG] = Touch::new($va, pa, $store);
                        accessed += 1;
                    } else if O::MEMORY {
                        obs.access(&Access {
                            kind: AccessKind::Data,
                            store: $store,
                            va: outside($va),
                            pa,
                            size: $size,
                            value: $value,
                        });
                    }
                };
            }
            macro_rules! read {
                ($size:literal, $value:ident) => {
                    find!(loads, $size, false, va, index, bytes);
                    let mut buffer = [0; 8];
                    buffer[..$size].copy_from_slice(bytes);
                    let $value = u64::from_le_bytes(buffer);
                    accessed!(va, index, $size, false, $value);
                };
            }
            macro_rules! store {
                ($size:literal, $value:expr) => {{
                    find!(stores, $size, true, va, index, bytes);
                    let value: u64 = $value;
                    bytes.copy_from_slice(&value.to_le_bytes()[..$size]);
                    accessed!(
                        va,
                        index,
                        $size,
                        true,
                        if $size == 8 { value } else { value & ((1 << ($size % 8 * 8)) - 1) }
                    );
                    next!(0);
                }};
            }
            /// Goes to where a jump leads, by its link, else by the table.
            macro_rules! jump {
                ($to:expr) => {{
                    let link = links[place!()];
                    check!($to);
                    if link != 0 {
                        go!(link);
                    } else {
                        let entry = &jumps[jump_index($to)];
                        if entry.pc != $to || entry.context != context {
                            leave!(Leave::Unlinked { from: op.place, to: $to });
                        }
                        if (meta[place!()].pc ^ $to) & !(PAGE - 1) == 0 {
                            links[place!()] = entry.start;
                        }
                        go!(entry.start);
                    }
                }};
            }

            /// An op of a row of the table.
            macro_rules! one {
                ($op:ident AluImm |$a:ident, $b:ident| $value:expr) => {{
                    let ($a, $b) = (x[usize::from(op.rs1)], op.imm);
                    write!($value);
                }};
                ($op:ident AluReg |$a:ident, $b:ident| $value:expr) => {{
                    let ($a, $b) = (x[usize::from(op.rs1)], x[usize::from(op.rs2)]);
                    let both = if Op::$op.by_operands() { [outside($a), outside($b)] } else { [0; 2] };
                    if Op::$op.by_operands() && notes_operands {
                        operands[operated % LOG] = both;
                        operated += 1;
                    }
                    let value = $value;
                    x[usize::from(op.rd)] = value;
                    let value = if op.rd < 32 { outside(value) } else { 0 };
                    retire!(meta[place!() + 1].pc, value, both, false);
                }};
                ($op:ident Load $size:literal |$v:ident| $value:expr) => {{
                    read!($size, $v);
                    write!($value);
                }};
                ($op:ident Store $size:literal) => {
                    store!($size, x[usize::from(op.rs2)])
                };
                ($op:ident Branch |$a:ident, $b:ident| $taken:expr) => {{
                    let ($a, $b) = (x[usize::from(op.rs1)], x[usize::from(op.rs2)]);
                    if $taken {
                        retire!(op.imm, 0, [0; 2], true);
                        passed!(true, place!() + 1, 0, true);
                        jump!(op.imm);
                    } else {
                        next!(0);
                    }
                }};
                ($op:ident JumpReg) => {{
                    let to = x[usize::from(op.rs1)].wrapping_add(op.offset()) & !1;
                    let entry = &jumps[jump_index(to)];
                    if entry.pc != to || entry.context != context {
                        leave_before!(Leave::Indirect { op: *op, to });
                    }
                    x[usize::from(op.rd)] = op.imm;
                    retire!(to, if op.rd < 32 { outside(op.imm) } else { 0 });
                    passed!(true, place!() + 1, to, to != op.imm);
                    check!(to);
                    go!(entry.start);
                }};
                ($op:ident FpLoad $size:literal |$v:ident| $value:expr) => {{
                    read!($size, $v);
                    let value = $value;
                    f[usize::from(op.rd)] = value;
                    next!(value);
                }};
                ($op:ident FpStore $size:literal) => {
                    store!($size, f[usize::from(op.rs2)])
                };
                ($op:ident FpFp |$e:ident, $a:ident, $b:ident, $c:ident| $value:expr) => {{
                    let mut fpu = Fpu { rounding: op.rounding, flags: *fflags };
                    let ($e, $a, $b, $c) =
                        (&mut fpu, f[usize::from(op.rs1)], f[usize::from(op.rs2)], f[usize::from(op.rs3)]);
                    let both = if Op::$op.by_operands() { [$a, $b] } else { [0; 2] };
                    if Op::$op.by_operands() && notes_operands {
                        operands[operated % LOG] = both;
                        operated += 1;
                    }
                    let value = $value;
                    f[usize::from(op.rd)] = value;
                    *fflags = fpu.flags;
                    retire!(meta[place!() + 1].pc, value, both, false);
                }};
                ($op:ident FpInt |$e:ident, $a:ident, $b:ident| $value:expr) => {{
                    let mut fpu = Fpu { rounding: op.rounding, flags: *fflags };
                    let ($e, $a, $b) = (&mut fpu, f[usize::from(op.rs1)], f[usize::from(op.rs2)]);
                    let value = $value;
                    *fflags = fpu.flags;
                    write!(value);
                }};
                ($op:ident IntFp |$e:ident, $a:ident| $value:expr) => {{
                    let mut fpu = Fpu { rounding: op.rounding, flags: *fflags };
                    let ($e, $a) = (&mut fpu, x[usize::from(op.rs1)]);
                    let value = $value;
                    f[usize::from(op.rd)] = value;
                    *fflags = fpu.flags;
                    next!(value);
                }};
            }
            macro_rules! execute {
                (
                    folded { $($folded:tt)* }
                    in_blocks { $($class:ident { $($op:ident $m:literal $w:ident $e:ident $f:ident $b:literal $($size:literal)? $($call:ident)? $(|$($arg:ident),+| $x:expr)?;)* })* }
                    called { $($called:tt)* }
                    stepped { $($stepped:tt)* }
                ) => {
                    match op.code {
                        $($(Code::$op => one!($op $class $($size)? $(|$($arg),+| $x)?),)*)*
                        Code::Constant => write!(op.imm),
                        Code::Shifts => write!(x[usize::from(op.rs1)] << (op.imm & 63) >> (op.imm >> 8 & 63)),
                        Code::Called => {
                            let operands = (x[usize::from(op.rs1)], x[usize::from(op.rs2)]);
                            write!(called(meta[place!()].insn.op, operands.0, operands.1))
                        }
                        Code::CalledImm => {
                            write!(called(meta[place!()].insn.op, x[usize::from(op.rs1)], op.imm))
                        }
                        Code::Nop => next!(0),
                        Code::Goto => {
                            // Its own address is where it goes.
                            passed!(from < place!(), place!(), 0, false);
                            jump!(op.imm);
                        }
                        Code::Away => {
                            passed!(from < place!(), place!(), 0, false);
                            check!(op.imm);
                            let entry = &jumps[jump_index(op.imm)];
                            if entry.pc != op.imm || entry.context != context {
                                // No instruction has place 0: nothing is linked.
                                leave!(Leave::Unlinked { from: 0, to: op.imm });
                            }
                            go!(entry.start);
                        }
                        Code::Step => leave_before!(Leave::Step { place: op.place }),
                        Code::Fetch => leave_before!(Leave::Fetch(meta[place!()].pc)),
                    }
                };
            }
            instruction_table!(execute);
        };
        tell!();
        *count = n;
        leave
    }
}

const _: () = assert!(NO_TAG & !(PAGE - 1) == 0 && NO_TAG > 7, "no masked address equals it");
