//! Runs that are computed: for the first time, each time, or instruction by instruction.

use std::slice;

use super::{FETCH, Fast, MOST_RESULT_BITS, NOTHING, TRAIL_BITS};
use crate::access::{Data, Overlaps};
use crate::known::{Known, UNKNOWN, Wanted};
use crate::latest::LatestStores;
use crate::ledger::{Cause, Causes};
use crate::memory::Waits;
use crate::passage::Stage;
use crate::shape::Costs;
use crate::step::{Step, physical};
use crate::touches::Touches;
use tollgate_riscv::{Pass, Retired, Several};

impl Fast {
    /// A block that is not looked up here.
    #[inline(never)]
    pub(super) fn otherwise(
        &mut self,
        number: usize,
        (several, pass): (&Several, &Pass),
        touches: &mut Touches,
        operands: &mut slice::Iter<[u64; 2]>,
        walks: (bool, bool),
    ) {
        if let (Some(memo), Touches::All(all)) = (&mut self.memo, &mut *touches) {
            memo.block(&mut self.model, number, (several, pass), all, operands, walks.0);
            if memo.is_large() {
                self.epoch = u64::MAX;
            }
        } else if self.model.beyond.is_none()
            && self.model.emptied.is_none()
            && self.model.refill_phase == self.blocks[number].memoized
        {
            self.in_parts(number, (several, pass), touches, operands, walks);
        } else {
            self.plainly(number, several, pass, touches, operands);
        }
    }

    /// A block that may miss its lines, in parts that end behind its jumps and the loads that may leave marks: what the fetch runs
    /// on to there comes behind all fetches and accesses of the part.
    fn in_parts(
        &mut self,
        number: usize,
        (several, pass): (&Several, &Pass),
        touches: &mut Touches,
        operands: &mut slice::Iter<[u64; 2]>,
        walks: (bool, bool),
    ) {
        let mut start = pass.start();
        let (latest, places) = (self.model.memory.latest_stores, &self.blocks[number].memory);
        let overlaps = LatestStores::of_block(latest, places, touches.all());
        let place = |at: Option<u8>| at.map_or(pass.end(), |at| pass.start() + u16::from(at) + 1);
        while start < pass.end() {
            let from = (start - pass.start()) as u8;
            // Where no line is missed and no word misread, only some jumps change what follows.
            let block = &mut self.blocks[number];
            let settled = self.model.pipe.filling().is_none() && self.model.has_settled(&mut block.ways);
            let mut part = pass.part(start, place(block.next_change(from).filter(|_| settled)));
            if !settled || !self.fetch_part(several, &part, walks.0) {
                part = pass.part(start, place(self.blocks[number].part_end(from, &overlaps)));
            }
            let number = self.block(several, &part);
            if self.model.pipe.filling().is_some() {
                self.plainly(number, several, &part, touches, operands);
            } else if self.model.memory.fetch_block(&mut self.blocks[number].lines, walks.0) {
                let overlaps = self.access_data::<false>(number, several, touches, walks.1);
                self.look_up::<false>(number, overlaps, several, &part, operands);
            } else {
                let overlaps = self.access_in_order(number, several, &part, touches);
                self.look_up::<false>(number, overlaps, several, &part, operands);
            }
            start = part.end();
        }
    }

    /// Whether all lines of a part are there; they are touched if so.
    fn fetch_part(&mut self, several: &Several, part: &Pass, walks: bool) -> bool {
        let number = self.block(several, part);
        self.model.memory.fetch_block(&mut self.blocks[number].lines, walks)
    }

    /// Fetches the instructions of a block and accesses its data in order, and notes what waits. Yields which overlap.
    fn access_in_order(
        &mut self,
        number: usize,
        several: &Several,
        pass: &Pass,
        touches: &mut Touches,
    ) -> Overlaps {
        self.misses.clear();
        let block = &self.blocks[number];
        let mut places = block.memory.iter().peekable();
        let mut besides = block.beside.iter().peekable();
        let mut overlaps = Overlaps::NONE;
        for (op, at) in several.insns(pass).iter().zip(0..) {
            let memory = &mut self.model.memory;
            let waits = memory.fetch(several.outside(op.pc), physical(op), op.insn.len, several.privilege);
            if waits != Waits::default() {
                self.misses.push((at | FETCH, waits));
            }
            if let Some(place) = places.next_if(|place| place.at == at)
                && let Some(data) = touches.next(several, place, memory)
            {
                memory.compare(place, data.va, &mut overlaps);
                let mut waits = memory.wait_in_block(&data, several.privilege);
                let beside = besides.next_if(|beside| beside.at == at);
                waits.beside = beside.is_some_and(|beside| self.model.misses_beside(beside));
                if waits != Waits::default() {
                    self.misses.push((at, waits));
                }
            }
        }
        overlaps
    }

    /// Everything in order, instruction by instruction.
    #[cold]
    fn plainly(
        &mut self,
        number: usize,
        several: &Several,
        pass: &Pass,
        touches: &mut Touches,
        operands: &mut slice::Iter<[u64; 2]>,
    ) {
        self.materialise();
        self.replays += 1;
        let mut memory = 0;
        for (op, place) in several.insns(pass).iter().zip(pass.start()..) {
            let here =
                self.blocks[number].memory.get(memory).filter(|m| m.at == (place - pass.start()) as u8);
            let access = here.and_then(|here| touches.next(several, here, &self.model.memory));
            if let (Some(here), None) = (here, access) {
                self.model.memory.count_hits(u64::from(!here.store), u64::from(here.store));
            }
            memory += usize::from(here.is_some());
            let operands = match self.dependent && op.insn.op.by_operands() {
                true => operands.next().copied().unwrap_or_default(),
                false => [0; 2],
            };
            let step = Step::in_block(several, pass, place, op, operands);
            self.model.retire(&step, access.as_slice());
        }
        self.forget_replaced();
    }

    /// The block through the pipe, with the predictions, overlaps and misses that were found.
    pub(super) fn replay(&mut self, wanted: &Wanted, several: &Several, pass: &Pass) -> (Causes, u32) {
        let number = wanted.block();
        self.materialise();
        let (privilege, phase) = (several.privilege, several.privilege as u8);
        self.model.start(phase);
        let before = self.model.pipe.cycles();
        let mut charges = [0; Cause::COUNT];
        let (mut jump, mut miss, mut access) = (0, 0, 0);
        for (op, place) in several.insns(pass).iter().zip(pass.start()..) {
            let i = usize::from(place - pass.start());
            let block = &self.blocks[number];
            let (pc, next_pc) = (several.outside(op.pc), several.next_pc(pass, place));
            let (second, at_hand) = self.model.second_fetches(pc, op.insn.len);
            let mut costs = Costs { second, at_hand, ..Costs::default() };
            let mut beside = false;
            while let Some(&(at, waits)) = self.misses.get(miss).filter(|m| usize::from(m.0 & !FETCH) == i) {
                if at & FETCH != 0 {
                    (costs.fetch_walk, costs.fetch_miss) = (waits.walk, waits.miss);
                } else {
                    (costs.data_walk, costs.data_miss) = (waits.walk, waits.miss);
                    (costs.execute, costs.soils) = (waits.execute, waits.soils);
                    beside = waits.beside;
                }
                miss += 1;
            }
            if let Some(place) = block.memory.get(access).filter(|place| usize::from(place.at) == i) {
                access += 1;
                if !place.store {
                    costs.overlap = wanted.delays.overlaps.of(place);
                    costs.behind = self.model.behind_load(costs.overlap, physical(op), &op.insn);
                }
            }
            let (mut turns, mut penalty) = (false, (0, Stage::Execute));
            if let Some((_, turn, _)) = block.jumps.get(jump).filter(|j| usize::from(j.0) == i) {
                jump += 1;
                turns = true;
                let code = wanted.predictions >> (2 * (block.jumps.len() - jump)) & 3;
                costs.settle = self.model.predict.settling(turn, code);
                penalty = (self.model.predict.bubbles(turn, code), self.model.predict.found(turn, code));
            }
            let (insn, operands) = (&op.insn, [0; 2]);
            let taken = pass.taken() && place + 1 == pass.end();
            let step = Step { pc, pa: physical(op), next_pc, insn, privilege, phase, operands, taken };
            let shape = self.model.works.of(insn, &self.model.core).shape;
            costs.crosses = step.crosses();
            costs.line_missed = self.model.line_missed(&step, &mut costs.fetch_miss);
            if beside && self.model.shares_port(&shape, &costs) {
                self.model.share_port(&step, &shape, &mut costs);
            }
            self.model.stray_from_load(&step, &shape, &mut costs);
            if costs.overlap != 0 && place + 1 == pass.end() {
                self.mark = self.model.mark(&step, &shape, &costs);
            }
            let passed = self.model.pipe.pass(&shape, &costs);
            for (sum, c) in charges.iter_mut().zip(passed.causes()) {
                *sum += c;
            }
            if turns {
                // Inside the run it has settled what the fetch runs on to; behind it the caller runs on.
                self.model.behind_jump(&step, penalty, false);
            }
        }
        (charges, (self.model.pipe.cycles() - before) as u32)
    }

    /// Finds a result in its second place, or computes it. The latest is in the first place.
    #[cold]
    pub(super) fn learn(&mut self, wanted: Wanted, several: &Several, pass: &Pass, at: usize) {
        let second = at ^ 1;
        self.results.swap(at, second);
        self.delays.swap(at, second);
        self.charges.swap(at, second);
        if !self.is_known(at, &wanted) {
            self.replays += 1;
            self.learned += 1;
            let (charges, cycles) = self.replay(&wanted, several, pass);
            let next = self.number();
            self.charge(at);
            self.displaced += usize::from(self.results[at].entered != UNKNOWN.entered);
            let Wanted { entered, predictions, delays } = wanted;
            self.results[at] = Known { entered, predictions, next, cycles, count: 1 };
            self.delays[at] = delays;
            self.charges[at] = charges;
            if self.displaced > self.results.len() && self.result_bits < MOST_RESULT_BITS {
                self.grow();
            }
            return;
        }
        let known = &mut self.results[at];
        known.count += 1;
        self.state = known.next;
        self.write += i64::from(known.cycles);
    }

    /// A block through the pipe, of which nothing is kept.
    #[cold]
    pub(super) fn replay_once(&mut self, wanted: Wanted, several: &Several, pass: &Pass) {
        self.replays += 1;
        let (charges, _) = self.replay(&wanted, several, pass);
        Self::count(&mut self.model, &self.blocks[wanted.block()], 1);
        self.model.charge_run(several.privilege as u8, self.model.owner, &charges);
    }

    /// The fetch runs on behind a run whose last instruction is a jump that was mispredicted.
    #[inline(never)]
    pub(super) fn run_on(&mut self, several: &Several, pass: &Pass) {
        let model = &mut self.model;
        let Some(path) = model.wrong_path(&Step::last(several, pass)) else { return };
        let walks = model.memory.fetch_walks(path.privilege);
        let key = (path, self.state, walks);
        let mixed = (path.pc >> 1 ^ u64::from(self.state) << 24).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        if self.trails.is_empty() {
            self.trails.resize_with(1 << TRAIL_BITS, Default::default);
        }
        let (known, trail) = &mut self.trails[(mixed >> (64 - TRAIL_BITS)) as usize];
        if *known == Some(key) {
            model.see(&path, &mut self.seen);
            if trail.follow(&model.memory, &model.predict, &mut self.seen) {
                model.predict.keep_returns(&mut self.seen);
                return;
            }
        }
        model.pipe.restore(&self.states[self.state as usize], self.write);
        trail.begin(&model.memory);
        model.run_on_wrong(path, &mut self.seen, trail);
        *known = (!trail.changes).then_some(key);
        // Nothing else of the pipe changes, and the number of its state says nothing of a line that it waits for.
        if model.pipe.filling().is_some() {
            self.state = NOTHING;
        }
    }

    /// One instruction through the plain scoreboard.
    pub(super) fn single(&mut self, retired: &Retired) {
        self.materialise();
        let step = Step::of(retired, retired.privilege as u8);
        let accesses: Vec<Data> = self.accesses.iter().map(Data::of).collect();
        self.model.retire(&step, &accesses);
        self.accesses.clear();
        self.forget_replaced();
        self.model.stack(&self.stacked, step.phase);
        self.stacked.clear();
    }
}
