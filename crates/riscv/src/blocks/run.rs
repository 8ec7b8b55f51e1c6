//! Running superblocks.

use super::inner::{Entry, Inner, Leave, soon};
use crate::engine::{Arena, CONTEXTS, Context, MicroOp, PADS, Pause};
use crate::fp::Rounding;
use crate::hart::status;
use crate::jump::jump_index;
use crate::log::{LONGEST_BLOCK, Log};
use crate::machine::Machine;
use crate::mmu::PAGE;
use crate::observer::{BlockInsn, Observer, Pass, Retired, Several};
use crate::privilege::Privilege;
use crate::tier::{Exit, LARGEST_REGION, Observed, Receiver, Registers, Reports};
use crate::vector::Vectors;

/// The reports of translated code for an observer; `None` if it needs the interpreter.
fn reports<O: Observer>(obs: &mut O) -> Option<Reports> {
    if let Some(counter) = obs.counter() {
        return Some(Reports::Counts(counter.sight()));
    }
    match (O::RETIRE, O::BLOCKS, O::MEMORY) {
        (false, true, accesses) => Some(Reports::Runs { accesses, operands: obs.operands() }),
        (false, false, false) => Some(Reports::Nothing),
        _ => None,
    }
}

/// An observer of blocks that receives what translated code has logged.
struct BlockReceiver<'a, O> {
    obs: &'a mut O,
    insns: &'a [BlockInsn],
    epoch: u64,
    privilege: Privilege,
    rv32: bool,
    /// Instructions retired before the run of translated code, and before what it has logged.
    before: u64,
    retired: u64,
}

impl<O: Observer> Receiver for BlockReceiver<'_, O> {
    fn receive(&mut self, log: &Log<'_>, count: u64) {
        self.obs.several(&Several {
            passes: &log.passes[..log.noted],
            accesses: &log.accesses[..log.accessed],
            operands: &log.operands[..log.operated],
            insns: self.insns,
            epoch: self.epoch,
            privilege: self.privilege,
            rv32: self.rv32,
            retired: self.retired,
        });
        self.retired = self.before.wrapping_add(count);
    }
}

impl Machine {
    /// Runs blocks until about `horizon` instructions have retired, or one comes that blocks cannot do. Never
    /// more than `horizon`; the hart's pc and instruction count are exact when it returns. If the horizon
    /// is nearer than the end of the longest block, it runs one block, and at most to the horizon.
    pub(crate) fn run_blocks<O: Observer>(&mut self, horizon: u64, obs: &mut O) -> Pause {
        let is_near = horizon <= LONGEST_BLOCK;
        let limit = horizon.saturating_sub(LONGEST_BLOCK);
        let context = Context::of(&self.hart);
        // (Translated code has no landing pads.)
        let reports = reports(obs);
        let has_vectors = reports == Some(Reports::Nothing) && !O::WALK && !O::CSR;
        if self.engine.precise != O::RETIRE || self.engine.vectors != has_vectors {
            self.engine.flush_blocks();
            (self.engine.precise, self.engine.vectors) = (O::RETIRE, has_vectors);
        }
        let reports = reports.filter(|_| context.fp & PADS == 0);
        if let (Some(tier), Some(reports)) = (&mut self.engine.tier, reports) {
            tier.translate_for(reports);
        }
        let translates = reports.is_some() && self.engine.tier.is_some();
        // Whether nobody sees accesses, so that those may be done here which the inner loop does not do.
        let is_unseen = reports == Some(Reports::Nothing) && !O::WALK;
        let misaligned = is_unseen && self.does_misaligned();
        let translated_limit = horizon.checked_sub(LARGEST_REGION as u64).filter(|_| translates);
        // Whether the instruction at `pc` is the interpreter's.
        let mut interpret = false;
        let (slot, mut id) = self.engine.enter(context);
        let mut count = 0;
        let mut link: Option<(u16, u64)> = None;
        let mut pc = self.hart.pc;
        let pause = 'find: loop {
            if !std::mem::take(&mut interpret)
                && let Some(enters) = translated_limit.filter(|&enters| count <= enters)
                && let Some(exit) = self.run_translated(slot, pc, id, count, enters, obs)
            {
                (pc, count, interpret) = (exit.pc, exit.retired, exit.interpret);
                link = None;
                // A region may end near the horizon, and a block looks only behind its end.
                if count > limit {
                    break Pause::Horizon;
                }
                continue 'find;
            }
            let drops = self.engine.drops;
            let Some(start) = self.block_at(pc, context, id, obs) else { break Pause::Fetch };
            if self.engine.flushed_since(drops) {
                // Room was made for the block: all links are gone.
                link = None;
                id = self.engine.enter(context).1;
            }
            if let (Some((from, source)), Some(arena)) = (link.take(), &mut self.engine.arena)
                && (source ^ pc) & !(PAGE - 1) == 0
                && arena.jumps[jump_index(pc)].pc == pc
            {
                // (Translated blocks are not in the table, and are never linked.)
                arena.links[usize::from(from)] = start;
            }
            let soon =
                if translates { limit.min(self.sample_if_due(start, context.fp, count)) } else { limit };
            let mut entry = Entry { op: start, place: start };
            loop {
                let cut = is_near.then(|| self.cut(entry, horizon - count)).flatten();
                let leave = self.hot(slot, id, entry, &mut count, soon, obs);
                self.undo(cut);
                match leave {
                    Leave::Miss { resume, va, size, store } => {
                        if va & (size - 1) == 0 {
                            if self.fill_tlb(slot, va, store, obs) {
                                entry = resume;
                                continue;
                            }
                        } else if misaligned
                            && self.access_misaligned(slot, resume.place, (va, size, store), obs)
                        {
                            count += 1;
                            // (Each block ends with an op that leaves it.)
                            let [op, place] = [resume.op, resume.place].map(|place| place.wrapping_add(1));
                            entry = Entry { op, place };
                            continue;
                        }
                        break 'find self.pause_at(resume.place, &mut pc);
                    }
                    Leave::Step { place } => {
                        let done = if is_unseen { self.do_atomic(slot, place, obs) } else { None };
                        let Some(next) = done else { break 'find self.pause_at(place, &mut pc) };
                        (pc, count) = (next, count + 1);
                        if count > limit {
                            break 'find Pause::Horizon;
                        }
                        continue 'find;
                    }
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
        if count == horizon { Pause::Horizon } else { pause }
    }

    /// Makes the block that is entered here end after `most` instructions. One op can do several instructions at once: the block
    /// then ends before that op. Returns the place and the op that the cut replaces.
    fn cut(&mut self, entry: Entry, most: u64) -> Option<(usize, MicroOp)> {
        let arena = self.engine.arena.as_mut()?;
        let [first, mut next] = [entry.op, entry.place].map(usize::from);
        let end = next + most as usize;
        // (There are never more ops than instructions. Behind the end of the block the cut is of no effect.)
        for (at, op) in arena.ops.iter_mut().enumerate().take(end + 1).skip(first) {
            if usize::from(op.place) >= end {
                let cut = MicroOp { place: next as u16, ..MicroOp::NOTHING };
                return Some((at, std::mem::replace(op, cut)));
            }
            next = usize::from(op.place) + 1;
        }
        None
    }

    /// Puts the op back that a [`cut`](Self::cut) replaced.
    fn undo(&mut self, cut: Option<(usize, MicroOp)>) {
        if let (Some((at, op)), Some(arena)) = (cut, &mut self.engine.arena) {
            arena.ops[at] = op;
        }
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

    /// Runs the translation of the code at `pc`, if there is one.
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
        let (tier, arena) = (self.engine.tier.as_mut()?, self.engine.arena.as_mut()?);
        let privilege = self.hart.privilege;
        let number = tier.at(pc, id)?;
        let Arena { meta, loads, stores, passes, accesses, operands, .. } = &mut **arena;
        let mut receiver;
        let observed = match tier.reports {
            Reports::Nothing => None,
            Reports::Counts(_) => obs.counter().map(|counter| Observed::Counter { counter, privilege }),
            Reports::Runs { .. } => {
                let before = self.hart.retired;
                receiver = BlockReceiver {
                    obs,
                    insns: meta,
                    epoch: self.engine.drops,
                    privilege,
                    rv32: !self.hart.isa.is_rv64(),
                    before,
                    retired: before.wrapping_add(count),
                };
                let log = Log { passes, accesses, operands, noted: 0, accessed: 0, operated: 0 };
                Some(Observed::Runs { log, receiver: &mut receiver })
            }
        };
        tier.run(number, |starts| Registers {
            x: &mut self.hart.x,
            f: &mut self.hart.f,
            fflags: &mut self.hart.fflags,
            reservation: &mut self.hart.reservation,
            ram: &mut self.bus.ram,
            loads: &loads[slot],
            stores: &stores[slot],
            starts,
            context: id,
            retired: count,
            limit,
            observed,
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

    /// Calls the inner loop with the parts of the machine that it uses. (`Inner` must be a variable of this function, which the
    /// compiler takes apart.)
    #[inline(never)]
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
        let is_on = self.engine.vectors && self.hart.mstatus & status::VS == status::VS;
        let is_float = self.hart.mstatus & status::FS == status::FS;
        let mut vectors = self.hart.vector.as_deref_mut().filter(|_| is_on).map(|state| Vectors {
            state,
            isa: self.hart.isa,
            rounding: Rounding::from_bits(self.hart.frm).filter(|_| is_float),
        });
        let inner = Inner {
            x: &mut self.hart.x,
            f: &mut self.hart.f,
            fflags: &mut self.hart.fflags,
            ram: &mut self.bus.ram,
            ram_base: self.bus.ram_base,
            ops: &arena.ops,
            links: &mut arena.links,
            meta: &arena.meta,
            jumps: &arena.jumps,
            loads: &arena.loads[slot % CONTEXTS],
            stores: &arena.stores[slot % CONTEXTS],
            vectors: vectors.as_mut(),
            context,
            privilege: self.hart.privilege,
            rv32: !self.hart.isa.is_rv64(),
            retired: self.hart.retired,
            epoch: self.engine.drops,
            at: entry.op,
            from: usize::from(entry.place),
            n: *count,
            limit,
            soon: soon::<O>(*count, limit),
            log: Log {
                passes: &mut arena.passes,
                accesses: &mut arena.accesses,
                operands: &mut arena.operands,
                noted: 0,
                accessed: 0,
                operated: 0,
            },
            notes_operands: O::BLOCKS && obs.operands(),
            base: self.hart.retired.wrapping_add(*count),
            obs,
        };
        inner.run(count)
    }
}
