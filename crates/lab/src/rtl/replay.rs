//! The same instructions in both: when each of them retired in the RTL and retires in the model.

use std::collections::VecDeque;

use tollgate_cores::{Core, Timed};
use tollgate_riscv::{Op, Step};

use super::error::RtlError;
use super::golden::Golden;
use super::program::{Program, Shape};
use super::subject::Subject;

/// The event before an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Before {
    Instruction,
    Trap,
    Return,
}

/// An instruction that retired in both.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pair {
    pub(super) pc: u64,
    pub(super) rtl: u64,
    pub(super) model: u64,
    pub(super) before: Before,
}

/// Cycles of the same instructions in both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cycles {
    /// In the RTL.
    pub rtl: u64,
    /// In the model.
    pub model: u64,
    /// The sum of the differences of single instructions, without their signs.
    pub absolute: u64,
}

impl Cycles {
    /// Whether the sums are equal.
    #[must_use]
    pub fn exact(&self) -> bool {
        self.rtl == self.model
    }

    /// The model's excess over the RTL, as a part of the RTL's.
    #[must_use]
    pub fn error(&self) -> f64 {
        (self.model as f64 - self.rtl as f64) / self.rtl.max(1) as f64
    }

    /// Those of all instructions behind the first.
    pub(super) fn of(pairs: &[Pair]) -> Self {
        let mut sum = Self::default();
        pairs.windows(2).for_each(|two| sum.step(&two[0], &two[1]));
        sum
    }

    /// Adds the second instruction's.
    pub(super) fn step(&mut self, from: &Pair, to: &Pair) {
        let (rtl, model) = (to.rtl - from.rtl, to.model - from.model);
        self.rtl += rtl;
        self.model += model;
        self.absolute += rtl.abs_diff(model);
    }
}

impl std::ops::AddAssign for Cycles {
    fn add_assign(&mut self, other: Self) {
        self.rtl += other.rtl;
        self.model += other.model;
        self.absolute += other.absolute;
    }
}

/// Runs the program on the core's model, from where it is compared to its end. An interrupt comes behind the
/// same instruction as in the RTL.
///
/// # Errors
/// The model executes other instructions than the RTL, or does not reach the program's end.
pub(super) fn replay(
    subject: &Subject,
    core: &Core,
    program: &Program,
    golden: &Golden,
) -> Result<Vec<Pair>, RtlError> {
    let rtl: Vec<(u64, u64)> =
        golden.retired.iter().filter(|each| !each.trapped).map(|each| (each.pc, each.cycle)).collect();
    let mut model = run(subject, core, program, &rtl)?;
    let (from, of) = match &program.shape {
        // From the last instruction before the loop on.
        Shape::Loop { setup, .. } => (
            rtl.iter().rposition(|it| setup.contains(&it.0)),
            model.iter().rposition(|it| setup.contains(&it.pc)),
        ),
        Shape::Traps { begin, .. } | Shape::Whole { begin } => {
            (rtl.iter().position(|it| it.0 == *begin), model.iter().position(|it| it.pc == *begin))
        }
        Shape::Interrupts(_) => (None, None),
    };
    let (Some(from), Some(of)) = (from, of) else {
        return Err(RtlError::Differs("what is compared is not reached".into()));
    };
    let (rtl, mut model) = (&rtl[from..], model.split_off(of));
    if let Some(at) = rtl.iter().zip(&model).position(|(rtl, model)| rtl.0 != model.pc) {
        return Err(RtlError::Differs(format!(
            "{at} instructions from the start the model is at {:#x}, the RTL at {:#x}",
            model[at].pc, rtl[at].0
        )));
    }
    if rtl.len() != model.len() {
        let (own, other) = (model.len(), rtl.len());
        return Err(RtlError::Differs(format!("the model retires {own} instructions, the RTL {other}")));
    }
    model.iter_mut().zip(rtl).for_each(|(pair, rtl)| pair.rtl = rtl.1);
    Ok(model)
}

/// Runs a program to its end.
fn run(subject: &Subject, core: &Core, program: &Program, rtl: &[(u64, u64)]) -> Result<Vec<Pair>, RtlError> {
    let mut machine = subject.machine(program)?;
    let mut timed = Timed::new(core, (), ())?.with_code(&subject.code(program));
    let mut pairs: Vec<Pair> = Vec::with_capacity(rtl.len());
    let mut ahead: VecDeque<u64> = rtl.iter().map(|it| it.0).collect();
    // Interrupts are held only where both are at the same instruction.
    let from = match &program.shape {
        Shape::Loop { setup, .. } => Some(setup.end),
        Shape::Traps { begin, .. } => Some(*begin),
        _ => None,
    };
    let (mut aligned, mut before, mut left) = (false, Before::Instruction, program.times);
    let whole = matches!(program.shape, Shape::Whole { .. });
    // The model may do more or less than the RTL before what is compared.
    for _ in 0..2 * rtl.len() + 1000 {
        let pc = machine.pc();
        if !aligned && from == Some(pc) {
            ahead.drain(..ahead.iter().position(|&it| it == pc).unwrap_or(0));
            aligned = true;
        }
        machine.hold_interrupts(aligned && ahead.front() == Some(&pc));
        let word = if whole { None } else { machine.read_memory(pc & !1, 4).ok() };
        let word = word.and_then(|word| word.try_into().ok());
        match timed.step(&mut machine) {
            Step::Retired => {
                if aligned {
                    ahead.pop_front();
                }
                pairs.push(Pair { pc, rtl: 0, model: timed.cycles(), before });
                let returns = word.is_some_and(|word| returns(u32::from_le_bytes(word)));
                before = if returns { Before::Return } else { Before::Instruction };
                left -= u64::from(pc == program.end);
                if left == 0 {
                    return Ok(pairs);
                }
            }
            Step::Trapped => before = Before::Trap,
            Step::Stopped(_) => break,
            Step::Waited => {}
        }
    }
    Err(RtlError::Differs("the model does not come to the program's end".into()))
}

/// Whether an instruction returns from a trap.
fn returns(word: u32) -> bool {
    [Op::Mret, Op::Sret].iter().any(|&op| word == tollgate_riscv::Insn::encode(op, Default::default()))
}
