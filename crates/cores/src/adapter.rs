//! The plain model as a microarchitecture: for cores that have no file of their own yet.

use tollgate_riscv::{Code, Insn, Machine, Trap};

use super::access::Data;
use super::core::{Core, CoreError};
use super::memory::Memory;
use super::microarchitecture::{Microarchitecture, Slot, Squashed, Step};
use super::operands::Dependence;
use super::shape::{Costs, Shape};
use super::slot::Pass;
use super::step;
use super::timed::Model;
use crate::Kind;
use tollgate_riscv::Privilege;

impl Model {
    fn fill(&self, pass: &Pass, costs: &Costs, slot: &mut Slot) {
        slot.lost = true;
        for (sum, cycles) in slot.charges.iter_mut().zip(pass.charges) {
            *sum += cycles;
        }
        slot.refill = pass.refill;
        slot.starts = pass.starts;
        slot.end = self.pipe.write() + 1;
        (slot.fetch_walk, slot.second) = (costs.fetch_walk, costs.second);
    }
}

impl Microarchitecture for Model {
    type Op = ();

    fn new(core: &Core) -> Result<Self, CoreError> {
        Model::new(core)
    }

    fn describe(&self, _: &Insn) {}

    fn load(&mut self, code: &Code) {
        Model::load(self, code);
    }

    fn stages(&self) -> [bool; 5] {
        match self.core.pipeline.kind {
            Kind::FiveStage | Kind::Scoreboard => [true; 5],
            Kind::TwoStage => [true, false, false, false, true],
            Kind::SingleCycle | Kind::MultiCycle => [false, false, false, false, true],
        }
    }

    fn depends_on_operands(&self) -> bool {
        Dependence::any(&self.core)
    }

    fn retire(&mut self, step: &Step<()>, accesses: &[Data], slot: &mut Slot) {
        let &Step { pc, pa, next_pc, insn, privilege, operands, taken, .. } = step;
        let step = step::Step { pc, pa, next_pc, insn, privilege, phase: 0, operands, taken };
        let (pass, costs) = Model::retire(self, &step, accesses);
        self.fill(&pass, &costs, slot);
    }

    fn trap(&mut self, trap: &Trap, slot: &mut Slot) -> bool {
        if self.board.is_some() {
            if let Some((pass, costs)) = self.slot_of_board(trap, 0) {
                self.fill(&pass, &costs, slot);
            }
            return !trap.cause.is_interrupt();
        }
        match Model::trap(self, trap, 0) {
            Some((pass, costs)) => {
                self.fill(&pass, &costs, slot);
                true
            }
            None => false,
        }
    }

    fn stack(&mut self, words: &[Data]) -> [u32; 2] {
        // Their addresses are physical: no translation.
        let missed = words.iter().map(|word| self.memory.data(word, Privilege::Machine).miss).sum();
        let port = words.len() as u32 * (1 + self.core.pipeline.memory_wait);
        match &mut self.board {
            Some(board) => {
                board.occupy(port + missed);
                self.pipe.set_write(board.commit(), board.redirected());
            }
            None => self.pipe.occupy(port + missed),
        }
        [port, missed]
    }

    fn interrupts(&mut self, machine: &Machine, line: u64) -> bool {
        self.takes_interrupt(machine, line)
    }

    fn squashed(&self, sequential: u64) -> Vec<Squashed> {
        let mut all = Vec::new();
        let Some(redirect) = self.pipe.redirect else { return all };
        let reached = |at: i64| (at < redirect.at).then_some(at as u64);
        let (end, flush) = (redirect.at as u64, redirect.flush);
        if let Some(board) = &self.board {
            for (pc, [request, decode, issue]) in board.dropped() {
                let Some(request) = reached(request) else { break };
                // The cycle of the redirection does not issue.
                let issue = reached(issue + 1).map(|_| issue as u64);
                all.push(Squashed {
                    pc,
                    starts: [Some(request), reached(decode), issue, None, None],
                    end,
                    flush,
                });
            }
        } else if self.core.pipeline.kind == Kind::FiveStage {
            let mut pipe = self.pipe.clone();
            pipe.redirect = None;
            // The pipe holds no more than these behind the last one.
            for k in 0..4 {
                let pass = pipe.pass(&Shape::PLAIN, &Costs::default());
                if pass.starts[0] >= redirect.at {
                    break;
                }
                let pc = sequential.wrapping_add(4 * k);
                all.push(Squashed { pc, starts: pass.starts.map(reached), end, flush });
            }
        }
        all
    }

    fn forget_predictions(&mut self) {
        self.pipe.line_ahead = None;
        self.predict.forget(&self.core);
        if let Some(board) = &mut self.board {
            board.forget();
        }
    }

    fn cycles(&self) -> u64 {
        self.pipe.cycles()
    }

    fn mispredicts(&self) -> u64 {
        self.predict.mispredicts
    }

    fn memory(&self) -> &Memory {
        &self.memory
    }

    fn memory_mut(&mut self) -> &mut Memory {
        &mut self.memory
    }
}
