//! Runs several harts in turns, with the effects of one hart on another.

use crate::engine::Engine;
use crate::hart::Hart;
use crate::machine::{Machine, Stop};
use crate::observer::Observer;
use crate::turn::QUANTUM;

impl Machine {
    /// Runs the harts in turns until `budget` steps are done or the machine stops. `run` runs the current hart.
    pub(crate) fn run_turns<O: Observer>(
        &mut self,
        budget: u64,
        obs: &mut O,
        run: fn(&mut Self, &mut u64, &mut O) -> Option<Stop>,
    ) -> Stop {
        let mut left = budget;
        loop {
            if (self.turns.over || self.turns.left == 0)
                && let Some(stop) = self.next_turn()
            {
                return stop;
            }
            let given = left.min(self.turns.left);
            let mut rest = given;
            let stop = run(self, &mut rest, obs);
            left -= given - rest;
            self.turns.left -= given - rest;
            match stop {
                Some(stop) => return stop,
                None if left == 0 => return Stop::Budget,
                None => {}
            }
        }
    }

    /// Ends the current turn and begins that of the next hart; the machine stops if all of them wait for ever.
    pub(crate) fn next_turn(&mut self) -> Option<Stop> {
        if self.stopped.is_some() {
            return self.stopped;
        }
        self.turns.busy |= !self.waiting && self.running_started();
        self.turns.busy |= self.hart.retired != self.turns.retired;
        let count = self.turns.parked.len();
        let current = self.turns.current;
        self.exchange(current);
        let started = |n: &usize| self.turns.parked[*n].started;
        let next = match (current + 1..count).find(started) {
            Some(next) => next,
            None => {
                let turns = &mut self.turns;
                let first = turns.parked.iter().position(|core| core.started);
                let asleep = !turns.busy && turns.wake == u64::MAX;
                let Some(first) = first.filter(|_| !asleep) else {
                    self.exchange(current);
                    self.stopped = Some(Stop::Idle);
                    return self.stopped;
                };
                // When all wait, time passes until the first of them continues.
                let wake = if turns.busy { 0 } else { turns.wake };
                turns.start = (turns.start + QUANTUM).max(wake);
                (turns.busy, turns.wake) = (false, u64::MAX);
                first
            }
        };
        self.exchange(next);
        let turns = &mut self.turns;
        (turns.current, turns.left, turns.over) = (next, QUANTUM, false);
        turns.retired = self.hart.retired;
        self.idle = turns.start.wrapping_sub(self.hart.retired);
        self.bus.device_written = true;
        None
    }

    /// Exchanges what runs with what is parked at a place.
    fn exchange(&mut self, n: usize) {
        let core = &mut self.turns.parked[n];
        std::mem::swap(&mut self.hart, &mut core.hart);
        std::mem::swap(&mut self.engine, &mut core.engine);
        std::mem::swap(&mut self.waiting, &mut core.waiting);
        std::mem::swap(&mut self.lines, &mut core.lines);
        // A store of another hart may come in between.
        core.hart.reservation = None;
    }

    fn running_started(&self) -> bool {
        self.turns.parked.get(self.turns.current).is_none_or(|core| core.started)
    }

    /// How many harts there are.
    pub(crate) fn harts(&self) -> usize {
        self.turns.parked.len().max(1)
    }

    /// A hart by its number.
    pub(crate) fn hart_mut(&mut self, n: usize) -> &mut Hart {
        match self.turns.parked.get_mut(n) {
            Some(core) if n != self.turns.current => &mut core.hart,
            _ => &mut self.hart,
        }
    }

    /// The engine of a hart, by its number: decoded and translated code.
    pub(crate) fn engine_mut(&mut self, n: usize) -> &mut Engine {
        match self.turns.parked.get_mut(n) {
            Some(core) if n != self.turns.current => &mut core.engine,
            _ => &mut self.engine,
        }
    }

    /// Executes `fence.i` on a hart: drops its decoded code, unless each write to code is noticed at once.
    pub(crate) fn fence_i_of(&mut self, n: usize) {
        if self.config.coherent_code {
            return;
        }
        self.engine_mut(n).flush_blocks();
    }

    /// Makes a hart forget its translations.
    pub(crate) fn flush_translations_of(&mut self, n: usize) {
        self.engine_mut(n).flush_translations();
    }

    /// Drops what all harts decoded from pages that were written.
    pub(crate) fn drop_written_code(&mut self) {
        for page in std::mem::take(&mut self.bus.code_written) {
            self.bus.forget_code(page);
            self.engine.drop_page(page);
            for core in &mut self.turns.parked {
                core.engine.drop_page(page);
            }
        }
    }

    /// Instructions are decoded from a page: from now on stores to it must be noticed, if fetches are coherent.
    pub(crate) fn note_code(&mut self, page: u64) {
        if self.bus.note_code(page) {
            self.engine.forget_stores(page);
            for core in &mut self.turns.parked {
                core.engine.forget_stores(page);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Config, Insn, Machine, Op, Operands};

    const BASE: u64 = 0x8000_0000;

    #[test]
    fn a_store_to_code_drops_what_was_decoded_from_its_page_only() {
        let config = Config { coherent_code: true, ram_bytes: 1 << 20, ..Config::default() };
        let mut machine = Machine::new(config).unwrap();
        let mut put = |offset: u64, op: Op, rd: u8, rs1: u8, rs2: u8, imm: i64| {
            let word = Insn::encode(op, Operands { rd, rs1, rs2, imm, ..Operands::default() });
            machine.write_memory(BASE + offset, &word.to_le_bytes()).unwrap();
        };
        // A loop over calls of the next two pages, which also writes an instruction of the third one.
        put(0, Op::Jalr, 1, 5, 0, 0);
        put(4, Op::Jalr, 1, 6, 0, 0);
        put(8, Op::Sw, 0, 6, 7, 0);
        put(12, Op::Jal, 0, 0, 0, -12);
        put(0x1000, Op::Jalr, 0, 1, 0, 0);
        put(0x2000, Op::Addi, 10, 10, 0, 1);
        put(0x2004, Op::Jalr, 0, 1, 0, 0);
        let add_two = Insn::encode(Op::Addi, Operands { rd: 10, rs1: 10, imm: 2, ..Operands::default() });
        for (register, value) in [(5, BASE + 0x1000), (6, BASE + 0x2000), (7, u64::from(add_two))] {
            machine.set_x(register, value);
        }
        machine.run(7 * 1000, &mut ());
        // Once what was there, then what was written.
        assert_eq!((machine.x(10), machine.pc()), (1 + 2 * 999, BASE));
        let starts = |machine: &Machine| {
            let blocks = &machine.engine.blocks;
            [0, 4, 0x1000].map(|offset| blocks.get(&(BASE + offset, BASE + (offset & !4095))).copied())
        };
        let before = starts(&machine);
        assert!(before.iter().all(Option::is_some), "{before:?}");
        machine.run(7 * 1000, &mut ());
        assert_eq!(starts(&machine), before);
        assert_eq!(machine.x(10), 1 + 2 * 1999);
        assert_eq!(machine.engine.drops, 0);
    }
}
