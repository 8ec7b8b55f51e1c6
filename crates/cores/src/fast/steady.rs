//! Runs in a steady state, of a core that is [`plain`](Fast::plain): their blocks are known and all lines of these were there, so that
//! fetches, data and predictions do not depend on one another, nor on the cycles. Each is done for all such runs of a report before the
//! next, and what a loop repeats is done once. The outcome is that of [`Fast::run`].

use std::slice;

use super::{Fast, NOTHING};
use crate::access::{Data, Overlaps};
use crate::known::{Delays, Wanted};
use crate::memory::Waits;
use crate::repeats::Repeated;
use crate::touches::Touches;
use tollgate_riscv::{Pass, Several, Touch};

/// How much is steady.
#[derive(Default)]
struct Extent {
    repeats: usize,
    runs: usize,
    accesses: usize,
}

impl Fast {
    /// All runs of a report.
    #[inline(never)]
    pub(super) fn runs<const PLAIN: bool>(&mut self, several: &Several) {
        let memory = &self.model.memory;
        let walks = (memory.fetch_walks(several.privilege), memory.data_walks());
        let mut touches = Touches::of(several);
        let mut operands = several.operands.iter();
        let mut passes = several.passes;
        loop {
            if PLAIN && self.model.memory.quick() {
                passes = match &mut touches {
                    Touches::All(all) => self.steady_runs(several, passes, all, walks),
                    Touches::Loud(loud) => self.hot_runs(several, passes, loud, walks.0),
                };
            }
            let Some((pass, others)) = passes.split_first() else { break };
            self.run::<PLAIN>(several, pass, &mut touches, &mut operands, walks);
            touches.end_run();
            passes = others;
        }
    }

    /// Runs as far as they are steady. Yields those that are left.
    #[inline(never)]
    pub(super) fn steady_runs<'a>(
        &mut self,
        several: &Several,
        passes: &'a [Pass],
        accesses: &mut slice::Iter<Touch>,
        walks: (bool, bool),
    ) -> &'a [Pass] {
        if self.state == NOTHING || self.model.refill_phase != several.privilege as u8 {
            return passes;
        }
        let extent = self.fetch_steady(several, passes, walks.0);
        let all = accesses.as_slice();
        let (these, others) = all.split_at(extent.accesses.min(all.len()));
        *accesses = others.iter();
        self.access_steady(several, these, walks.1);
        let (these, others) = passes.split_at(extent.runs);
        self.follow_steady(several, these, extent.repeats);
        others
    }

    /// Looks for the blocks of runs as long as they are known and settled, and predicts their jumps.
    #[inline(always)]
    fn fetch_steady(&mut self, several: &Several, passes: &[Pass], walks: bool) -> Extent {
        let phase = several.privilege as u8;
        let mut extent = Extent::default();
        let (mut same, mut jumps, mut block): (_, &[_], _) = (u64::MAX, &[], 0);
        let (mut accesses, mut settles) = (0, false);
        let mut rest = passes;
        while let Some((pass, others)) = rest.split_first() {
            let (at, key) = Self::block_key(several, pass);
            if key != same {
                let (known, number) = self.block_table[at];
                let Some(found) = self.blocks.get(number as usize).filter(|_| known == key) else { break };
                if found.memoized != phase || !self.model.memory.fetch_is_settled(&found.lines, walks) {
                    break;
                }
                (same, jumps, block) = (key, &found.jumps, number);
                (accesses, settles) = (found.memory.len(), found.settles);
            }
            let Some(place) = self.steady.repeats.get_mut(extent.repeats) else { break };
            let target = || several.outside(pass.target);
            let predictions = self.model.predict.foresee_plainly(jumps, pass.taken(), target);
            let mut times = 1;
            if settles && predictions == 0 {
                // Loops run the same again and again.
                times += others.iter().take_while(|other| other.number() == pass.number()).count();
            }
            *place = Repeated { predictions, block, accesses: accesses as u32, times };
            extent.repeats += 1;
            extent.runs += times;
            extent.accesses += times * accesses;
            rest = &passes[extent.runs..];
        }
        extent
    }

    /// Does the accesses of the runs, and notes what waits.
    #[inline(always)]
    fn access_steady(&mut self, several: &Several, touches: &[Touch], walks: bool) {
        self.steady.waits.clear();
        let mut repeats = self.steady.repeats.iter();
        let mut of = Repeated::default();
        // The first access of these runs and the first one behind them; the first of the runs.
        let (mut at, mut first, mut end, mut run) = (0, 0, 0, 0);
        loop {
            at += self.model.memory.quiet_data_of_blocks(&touches[at..], walks);
            let Some(touch) = touches.get(at) else { return };
            let access =
                Data { va: several.outside(touch.va), pa: touch.pa(), size: 1, store: touch.store() };
            let waits = self.model.memory.wait_in_block(&access, several.privilege);
            if waits != Waits::default() {
                while end <= at {
                    (run, first) = (run + of.times, end);
                    let Some(&next) = repeats.next() else { return };
                    of = next;
                    end += of.times * of.accesses as usize;
                }
                let (times, place) = ((at - first) as u32 / of.accesses, (at - first) as u32 % of.accesses);
                let place = self.blocks[of.block as usize].memory[place as usize].at;
                self.steady.waits.push((run + times as usize, place, waits));
            }
            at += 1;
        }
    }

    /// Adds the cycles of the runs.
    #[inline(always)]
    fn follow_steady(&mut self, several: &Several, passes: &[Pass], repeats: usize) {
        let (mut state, mut write) = (self.state, self.write);
        let (mut at, mut end, mut waiting) = (0, 0, 0);
        let mut waits_at = self.steady.waits.first().map_or(usize::MAX, |wait| wait.0);
        for i in 0..repeats {
            let Repeated { predictions, block, times, .. } = self.steady.repeats[i];
            end += times;
            while at < end {
                let until = end.min(waits_at);
                while at < until {
                    let wanted = Wanted::new(block as usize, state, predictions);
                    let Some(known) = self.results.get_mut(wanted.place(self.result_bits)) else { break };
                    if !known.may_be(&wanted) {
                        break;
                    }
                    let times = if known.next == state { until - at } else { 1 };
                    at += times;
                    known.count += times as u64;
                    state = known.next;
                    write += times as i64 * i64::from(known.cycles);
                }
                if at < end {
                    (self.state, self.write) = (state, write);
                    waiting = self.take_steady(several, &passes[at], at, waiting, i);
                    (state, write) = (self.state, self.write);
                    at += 1;
                    waits_at = self.steady.waits.get(waiting).map_or(usize::MAX, |wait| wait.0);
                }
            }
        }
        (self.state, self.write) = (state, write);
        if let Some(last) = repeats.checked_sub(1) {
            let block = self.steady.repeats[last].block as usize;
            self.model.memory.touch_settled(&self.blocks[block].lines);
        }
    }

    /// Adds the cycles of a run that waits, from one of the accesses that wait on, or is not known. Yields the first access behind it.
    #[inline(never)]
    fn take_steady(
        &mut self,
        several: &Several,
        pass: &Pass,
        at: usize,
        mut waiting: usize,
        repeated: usize,
    ) -> usize {
        self.misses.clear();
        while let Some(&(_, place, waits)) = self.steady.waits.get(waiting).filter(|wait| wait.0 == at) {
            self.misses.push((place, waits));
            waiting += 1;
        }
        let Repeated { predictions, block, .. } = self.steady.repeats[repeated];
        self.model.memory.touch_settled(&self.blocks[block as usize].lines);
        let codes = self.code_misses();
        let wanted = Wanted::new(block as usize, self.number(), predictions);
        match codes {
            Some(misses) => {
                let delays = Delays { misses, overlaps: Overlaps::NONE };
                self.take(wanted.with(delays), several, pass);
            }
            None => {
                self.replay_once(wanted, several, pass);
                self.number();
            }
        }
        waiting
    }
}

#[cfg(test)]
mod tests {
    use crate::{ByPrivilege, Core, Fast, Timed};
    use tollgate_riscv::{
        Access, Config, Insn, LoudTouch, Machine, MachineKind, Observer, Op, Operands, Retired, Several,
        Touch, Trap, Walk,
    };

    const BASE: u64 = 0x8000_0000;

    /// Loops in a loop, with loads and stores to near and far lines, branches that go both ways, and calls.
    fn looping(mut seed: u64) -> Vec<u8> {
        let op =
            |op, rd, rs1, rs2, imm| Insn::encode(op, Operands { rd, rs1, rs2, imm, ..Operands::default() });
        let mut random = |below: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) % below
        };
        // The begin of the data, and a function.
        let mut words = vec![op(Op::Auipc, 2, 0, 0, 0x1_0000), op(Op::Jal, 0, 0, 0, 12)];
        words.extend([op(Op::Ld, 7, 2, 0, 0), op(Op::Jalr, 0, 1, 0, 0)]);
        let start = words.len();
        for _ in 0..2 + random(3) {
            words.push(op(Op::Addi, 8, 0, 0, 1 + random(40) as i64));
            let inner = words.len();
            words.extend([op(Op::Addi, 5, 5, 0, 1), op(Op::Andi, 6, 5, 0, 0x7f)]);
            words.extend([op(Op::Slli, 6, 6, 0, random(7) as i64), op(Op::Add, 6, 6, 2, 0)]);
            for _ in 0..random(6) {
                let far = 256 * random(5) as i64;
                match random(6) {
                    0 => words.push(op(Op::Ld, 7, 2, 0, far)),
                    1 => words.push(op(Op::Lb, 7, 6, 0, far)),
                    2 => words.push(op(Op::Sb, 0, 6, 5, far)),
                    3 => words.push(op(Op::Sd, 0, 2, 5, far)),
                    4 => {
                        let bit = 1 << random(4);
                        words.extend([op(Op::Andi, 7, 5, 0, bit), op(Op::Bne, 0, 7, 0, 8)]);
                        words.push(op(Op::Addi, 9, 9, 0, 1));
                    }
                    _ => words.push(op(Op::Jal, 1, 0, 0, 8 - 4 * words.len() as i64)),
                }
            }
            words.push(op(Op::Addi, 8, 8, 0, -1));
            words.push(op(Op::Bne, 0, 8, 0, 4 * (inner as i64 - words.len() as i64)));
        }
        words.push(op(Op::Jal, 0, 0, 0, 4 * (start as i64 - words.len() as i64)));
        words.into_iter().flat_map(u32::to_le_bytes).collect()
    }

    /// A core that does not receive quiet accesses, although nothing is translated.
    struct Deaf {
        fast: Fast,
        /// Accesses that it received, and others.
        heard: usize,
        quiet: usize,
    }

    impl Deaf {
        /// Whether the core has to receive an access. Its line is quiet from then on, as translated code makes it.
        fn is_loud(&mut self, touch: &Touch) -> bool {
            let lines = self.fast.loud().and_then(|view| view.lines).unwrap();
            let quiet = self.fast.quiet_data();
            assert_eq!(touch.va & quiet.page_mask, quiet.page);
            let line = touch.pa() >> lines.shift;
            let entry = &quiet.lines[(line & u64::from(lines.count - 1)) as usize];
            let found = entry.get() | if touch.store() { 0 } else { 2 };
            if found == line << 2 | 3 {
                return false;
            }
            entry.set(line << 2 | 1 | u64::from(touch.store()) << 1);
            true
        }
    }

    impl Observer for Deaf {
        const MEMORY: bool = true;
        const TRAP: bool = true;
        const BLOCKS: bool = true;
        const WALK: bool = true;

        fn several(&mut self, several: &Several) {
            let (mut touches, mut loud) = (several.accesses.iter(), Vec::new());
            for (run, pass) in several.passes.iter().enumerate() {
                let accesses = several.insns(pass).iter().filter(|insn| insn.insn.op.access().is_some());
                for (access, touch) in (0..).zip(touches.by_ref().take(accesses.count())) {
                    if self.is_loud(touch) {
                        loud.push(LoudTouch::new(run, access, touch.pa(), touch.store()));
                    }
                }
            }
            self.heard += loud.len();
            self.quiet += several.accesses.len() - loud.len();
            self.fast.several(&Several { accesses: &[], loud: Some(&loud), ..*several });
        }

        fn retire(&mut self, retired: &Retired) {
            self.fast.retire(retired);
        }

        fn access(&mut self, access: &Access) {
            self.fast.access(access);
        }

        fn trap(&mut self, trap: &Trap) {
            self.fast.trap(trap);
        }

        fn walk(&mut self, walk: &Walk) {
            self.fast.walk(walk);
        }

        fn address_space(&mut self, satp: u64) {
            self.fast.address_space(satp);
        }
    }

    #[test]
    fn what_repeats_is_timed_as_single_instructions_are() {
        let all = "name = 'steady'
            pipeline.fetch-width = 4
            branch.mispredict = 2
            branch.jump = 1
            branch.indirect = 2
            l1i.geometry = '16:2:32'
            l1d.geometry = '8:2:32'";
        let predicts = "branch.predictor = 'bimodal'
            branch.counters = 512
            branch.btb = 64
            branch.return-stack = 4";
        // Jumps share what is known of them.
        let shares = "branch.predictor = 'bimodal'
            branch.counters = 2
            branch.btb = 2
            branch.return-stack = 1";
        let soils = "memory.stores-wait = true
            memory.tag-update = true
            memory.write-back = 5";
        let second = "l1d.replacement = 'fifo'
            l2 = { geometry = '16:2:32', hit = 5 }";
        let cores = [
            [predicts, "memory.latency = 30", ""],
            [shares, "memory.latency = 30", ""],
            ["branch.predictor = 'backward-taken'", "memory.latency = 30", soils],
            [predicts, "memory.latency = 30", second],
        ];
        let (mut found, mut replayed, mut heard, mut quiet) = (0, 0, 0, 0);
        for keys in cores {
            let core = Core::from_toml(&format!("{all}\n{}", keys.join("\n"))).unwrap();
            for seed in 0..12 {
                let isa = "rv64gc".parse().unwrap();
                let image = looping(seed);
                let machine = || {
                    let config =
                        Config { isa, machine: MachineKind::Virt, ram_bytes: 1 << 20, ..Config::default() };
                    let mut machine = Machine::new(config).unwrap();
                    machine.write_memory(BASE, &image).unwrap();
                    machine
                };
                let (mut reference, mut quick, mut other) = (machine(), machine(), machine());
                let mut plain = Timed::new(&core, ByPrivilege, ()).unwrap();
                let mut fast: Fast = Fast::new(&core).unwrap();
                let mut deaf = Deaf { fast: Fast::new(&core).unwrap(), heard: 0, quiet: 0 };
                assert!(fast.plain);
                for steps in [100, 3_000, 20_000] {
                    reference.run_reference(steps, &mut plain);
                    quick.run(steps, &mut fast);
                    other.run(steps, &mut deaf);
                    let (expected, at) = (plain.cycles(), format!("seed {seed}, {steps} steps, {keys:?}"));
                    assert_eq!((fast.cycles(), deaf.fast.cycles()), (expected, expected), "{at}");
                }
                for fast in [&mut fast, &mut deaf.fast] {
                    assert_eq!(
                        (fast.counts(), fast.ledger()),
                        (plain.counts(), plain.ledger()),
                        "seed {seed}, {keys:?}"
                    );
                }
                (heard, quiet) = (heard + deaf.heard, quiet + deaf.quiet);
                (found, replayed) = (found + fast.memo_counts().0, replayed + fast.memo_counts().1);
            }
        }
        assert!(found > 20 * replayed && replayed > 1_000, "{found} runs found, {replayed} replayed");
        assert!(heard > 10_000 && quiet > 10_000, "{heard} accesses heard, {quiet} quiet");
    }
}
