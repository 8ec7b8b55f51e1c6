//! Runs with loads that are replayed, behind which the front end has come to jumps before: what it keeps of that changes the
//! predictions inside the run.

use super::Fast;
use crate::access::{Overlaps, Place};
use crate::known::{Delays, Wanted};
use crate::marks::{Mark, Marked};
use tollgate_riscv::{Pass, Several};

/// Loads whose marks are kept, as a power of two.
const MARK_BITS: u32 = 13;

impl Fast {
    /// Whether one of a run's loads may be replayed and leave a mark.
    #[inline(never)]
    pub(super) fn may_mark(&mut self, number: usize, overlaps: &Overlaps) -> bool {
        let marks = self.marks_of(number);
        overlaps.meets(&marks)
    }

    /// The loads of a run that may leave marks: without a store that waits only those behind its own stores.
    fn marks_of(&mut self, number: usize) -> Overlaps {
        let state = self.number();
        let block = &self.blocks[number];
        if self.stores[state as usize] { block.marks } else { block.own_marks }
    }

    /// Predicts the jumps of a run, each behind the marks of the loads before it.
    #[inline(never)]
    pub(super) fn predict_marked(
        &mut self,
        number: usize,
        overlaps: Overlaps,
        several: &Several,
        pass: &Pass,
    ) -> u64 {
        let marks = self.marks_of(number);
        let jumps = self.blocks[number].jumps.len();
        let (mut predictions, mut load) = (0, 0);
        for jump in 0..=jumps {
            let next = self.blocks[number].jumps.get(jump).map_or(u8::MAX, |jump| jump.0);
            while let Some(&place) = self.blocks[number].memory.get(load).filter(|place| place.at <= next) {
                load += 1;
                if !place.store && marks.of(&place) & overlaps.of(&place) != 0 {
                    self.leave_mark(number, overlaps, predictions, &place, several, pass);
                }
            }
            let Some(one) = self.blocks[number].jumps.get(jump) else { break };
            let taken = pass.taken() && jump + 1 == jumps;
            let (one, target) = (std::slice::from_ref(one), || several.outside(pass.target));
            predictions = predictions << 2 | self.model.predict.foresee_all(one, taken, target);
        }
        predictions
    }

    /// The front end goes on behind a load, if that is replayed.
    fn leave_mark(
        &mut self,
        number: usize,
        overlaps: Overlaps,
        predictions: u64,
        place: &Place,
        several: &Several,
        pass: &Pass,
    ) {
        let misses = self.code_misses();
        let delays = Delays { misses: misses.unwrap_or_default(), overlaps };
        let run = Wanted::new(number, self.number(), predictions).with(delays);
        let mixed = run.mixed() ^ u64::from(place.at) << 8;
        let slot = (mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - MARK_BITS)) as usize;
        if self.marks.is_empty() {
            self.marks.resize(1 << MARK_BITS, Marked { run: Wanted::NOTHING, at: 0, mark: None });
        }
        let known = &self.marks[slot];
        if misses.is_none() || known.at != place.at || known.run != run {
            let mark = self.find_mark(&run, place, several, pass).map(|mark| Box::new((mark, None)));
            self.marks[slot] = Marked { run, at: place.at, mark };
            if misses.is_none() {
                self.marks[slot].run = Wanted::NOTHING;
            }
        }
        let known = &mut self.marks[slot];
        let Some((mark, known_trail)) = known.mark.as_deref_mut() else { return };
        let model = &mut self.model;
        if let Some(trail) = known_trail {
            model.predict.see(&mut self.seen);
            if trail.follow(&model.memory, &model.predict, &mut self.seen) {
                if trail.turns {
                    model.keep_mark(&mut self.seen);
                }
                return;
            }
        }
        let mut trail = known_trail.take().unwrap_or_default();
        trail.begin(&model.memory);
        model.leave_mark(mark, &mut self.seen, &mut trail);

        if trail.is_empty() {
            known.mark = None;
        } else if !trail.changes {
            *known_trail = Some(trail);
        }
    }

    /// Where the front end goes on behind a load of a run, with the predictions of the jumps before.
    #[cold]
    fn find_mark(&mut self, run: &Wanted, place: &Place, several: &Several, pass: &Pass) -> Option<Mark> {
        let (state, write) = (self.number(), self.write);
        let part = pass.part(pass.start(), pass.start() + u16::from(place.at) + 1);
        let number = self.block(several, &part);
        let delays = Delays { overlaps: run.delays.overlaps.first(place.load + 1), ..run.delays };
        let wanted = Wanted::new(number, state, run.predictions).with(delays);
        self.mark = None;
        // Misses of later instructions are not looked at.
        self.replay(&wanted, several, &part);
        (self.state, self.write) = (state, write);
        self.mark.take()
    }
}

#[cfg(test)]
mod tests {
    use crate::{ByPrivilege, Core, Fast, Timed};
    use tollgate_riscv::{Code, Config, Insn, Machine, MachineKind, Op, Operands};

    const BASE: u64 = 0x8000_0000;

    /// A loop of loads, near stores to the same words, branches that depend on a counter and may wait for a division, and calls; the
    /// functions have the same in them.
    fn looping(mut seed: u64) -> Vec<u8> {
        let op =
            |op, rd, rs1, rs2, imm| Insn::encode(op, Operands { rd, rs1, rs2, imm, ..Operands::default() });
        let mut random = |below: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) % below
        };
        let mut words = vec![op(Op::Auipc, 2, 0, 0, 0x1_0000), op(Op::Addi, 9, 0, 0, 1), 0];
        let mut functions = Vec::new();
        for part in 0..5 {
            let start = 4 * words.len() as i64;
            for _ in 0..if part < 4 { 3 + random(4) } else { 60 } {
                let at = 8 * random(2) as i64;
                match random(if part < 4 { 8 } else { 11 }) {
                    0 | 1 => words.push(op(Op::Ld, 23, 2, 0, at)),
                    2 => words.push(op(Op::Sd, 0, 2, 17, at)),
                    3 | 4 => words.extend([op(Op::Bne, 0, 24, 0, 8), op(Op::Ld, 23, 2, 0, at)]),
                    5 => words.push(op(Op::Divu, 24, 24, 9, 0)),
                    6 | 7 => {
                        let bit = 1 << random(3);
                        words.extend([op(Op::Addi, 17, 17, 0, 3), op(Op::Andi, 24, 17, 0, bit)]);
                    }
                    _ => {
                        let to: i64 = functions[random(4) as usize];
                        words.push(op(Op::Jal, 1, 0, 0, to - 4 * words.len() as i64));
                    }
                }
            }
            functions.push(start);
            words.push(op(Op::Jalr, 0, 1, 0, 0));
        }
        // The last part is the loop.
        words[2] = op(Op::Jal, 0, 0, 0, functions[4] - 8);
        words.pop();
        words.push(op(Op::Jal, 0, 0, 0, functions[4] - 4 * words.len() as i64));
        words.into_iter().flat_map(u32::to_le_bytes).collect()
    }

    /// Runs such loops on both paths, so many steps at a time; all that is known may be forgotten in between.
    fn compare(core: &Core, seed: u64, rounds: u64, steps: impl Fn(u64) -> u64, forget: bool) {
        let isa = "rv64gc".parse().unwrap();
        let image = looping(seed);
        let code = Code::new(isa, vec![(BASE, image.clone())]);
        let machine = || {
            let config = Config { isa, machine: MachineKind::Virt, ram_bytes: 1 << 20, ..Config::default() };
            let mut machine = Machine::new(config).unwrap();
            machine.write_memory(BASE, &image).unwrap();
            machine
        };
        let (mut reference, mut quick) = (machine(), machine());
        let mut plain = Timed::new(core, ByPrivilege, ()).unwrap().with_code(&code);
        let mut fast: Fast = Fast::new(core).unwrap().with_code(&code);
        for round in 0..rounds {
            reference.run_reference(steps(round), &mut plain);
            quick.run(steps(round), &mut fast);
            assert_eq!(fast.cycles(), plain.cycles(), "seed {seed}, round {round}");
            if forget {
                fast.epoch = u64::MAX;
            }
        }
        assert_eq!((fast.counts(), fast.ledger()), (plain.counts(), plain.ledger()), "seed {seed}");
    }

    #[test]
    fn marks_behind_loads_that_are_replayed_are_timed_alike() {
        let small = "base = 'rocket'
            branch.counters = 16
            branch.btb = 6
            branch.return-stack = 2
            l1i.geometry = '8:2:16'";
        for core in [Core::preset("rocket").unwrap(), Core::from_toml(small).unwrap()] {
            for seed in 0..30 {
                compare(&core, seed, 1, |_| 10_000, false);
            }
        }
    }

    #[test]
    fn when_all_is_forgotten_so_are_the_ways_of_the_fetch() {
        let core = Core::preset("rocket").unwrap();
        for seed in 0..4 {
            compare(&core, seed, 300, |round| 50 + 7 * (round % 23), true);
        }
    }
}
