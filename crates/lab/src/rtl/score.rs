//! How far the model is from the RTL, instruction by instruction.

use tollgate_riscv::timing::{Core, Timed};
use tollgate_riscv::{Machine, Step};

use super::corpus::{Program, Subject};
use super::error::RtlError;
use super::golden::{self, Golden};

/// An instruction that retired: its address and when.
type Slot = (u64, u64);

/// What was compared: the loop of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Score {
    /// Passes of the second half, in which caches and predictors are warm.
    pub passes: u64,
    /// The whole loop, which begins with cold caches and predictors.
    pub whole: Cycles,
    /// The second half.
    pub steady: Cycles,
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
        (self.model as f64 - self.rtl as f64) / self.rtl as f64
    }
}

impl Score {
    /// Runs the program on the core's model and compares.
    ///
    /// # Errors
    /// The model executes other instructions than the RTL, or does not come to the program's end.
    pub fn new(subject: &Subject, core: &Core, program: &Program, golden: &Golden) -> Result<Self, RtlError> {
        let rtl: Vec<Slot> = golden.retired.iter().filter(|r| !r.trapped).map(|r| (r.pc, r.cycle)).collect();
        let mut machine = subject.machine(program)?;
        let model = run(&mut machine, core, program, rtl.len())?;
        let (rtl, model) = (since(&rtl, program), since(&model, program));
        if let Some(at) = rtl.iter().zip(model).position(|(rtl, model)| rtl.0 != model.0) {
            return Err(RtlError::Differs(format!(
                "{at} instructions into the loop the model is at {:#x}, the RTL at {:#x}",
                model[at].0, rtl[at].0
            )));
        }
        if rtl.len() != model.len() {
            return Err(RtlError::Differs(format!(
                "the model retires {} instructions, the RTL {}",
                model.len(),
                rtl.len()
            )));
        }
        let ends: Vec<usize> = (0..rtl.len()).filter(|&at| rtl[at].0 == program.pass).collect();
        let (Some(&middle), Some(&last)) = (ends.get(ends.len() / 2), ends.last()) else {
            return Err(RtlError::Differs("the loop is not reached".into()));
        };
        Ok(Self {
            passes: (ends.len() - 1 - ends.len() / 2) as u64,
            whole: cycles(rtl, model),
            steady: cycles(&rtl[middle..=last], &model[middle..=last]),
        })
    }
}

/// A program of a golden file, and how near the model is there.
#[derive(Debug)]
pub struct Compared {
    /// The program.
    pub program: String,
    /// Cycles that memory took.
    pub latency: u64,
    /// How near it is, if both execute the same.
    pub score: Result<Score, RtlError>,
}

impl Subject {
    /// The text of its golden file, and the programs there that it has.
    ///
    /// # Errors
    /// A damaged file or image, or an invalid preset.
    pub fn validate(&self) -> Result<(&'static str, Vec<Compared>), RtlError> {
        let (text, goldens) = golden::read(self.golden)?;
        let kernels = self.kernels()?;
        let mut core = Core::preset(self.preset)?;
        let compared = goldens.iter().filter_map(|golden| {
            let program = kernels.iter().find(|program| program.name == golden.program)?;
            core.memory.latency = golden.latency.try_into().unwrap_or(u32::MAX);
            let score = Score::new(self, &core, program, golden);
            Some(Compared { program: program.name.clone(), latency: golden.latency, score })
        });
        Ok((text, compared.collect()))
    }
}

/// The scores of a core.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Summary {
    /// Programs that were compared.
    pub programs: usize,
    /// Programs whose warm passes take exactly as many cycles.
    pub exact: usize,
    /// The mean of the warm errors, without their signs.
    pub mean: f64,
    /// The largest, and its program.
    pub worst: Option<(f64, String)>,
    /// Warm cycles of all programs in the RTL.
    pub rtl: u64,
    /// The same in the model.
    pub model: u64,
    /// The sum of the differences of single instructions.
    pub absolute: u64,
    /// Programs that execute other instructions here.
    pub others: usize,
}

impl Summary {
    /// Adds scores up.
    #[must_use]
    pub fn of(all: &[Compared]) -> Self {
        let mut sum = Summary::default();
        for Compared { program, score, .. } in all {
            let Ok(Score { steady, .. }) = score else {
                sum.others += 1;
                continue;
            };
            sum.programs += 1;
            sum.exact += usize::from(steady.exact());
            sum.rtl += steady.rtl;
            sum.model += steady.model;
            sum.absolute += steady.absolute;
            let error = steady.error();
            sum.mean += error.abs();
            if sum.worst.as_ref().is_none_or(|(worst, _)| error.abs() > worst.abs()) {
                sum.worst = Some((error, program.clone()));
            }
        }
        sum.mean /= sum.programs.max(1) as f64;
        sum
    }
}

/// Runs a program to its end.
fn run(machine: &mut Machine, core: &Core, program: &Program, count: usize) -> Result<Vec<Slot>, RtlError> {
    let mut timed = Timed::new(core, (), ())?;
    let mut slots = Vec::with_capacity(count);
    // The model may do more or less than the RTL before the loop.
    for _ in 0..2 * count + 1000 {
        let pc = machine.pc();
        match machine.step(&mut timed) {
            Step::Retired => slots.push((pc, timed.cycles())),
            Step::Stopped(_) => break,
            _ => {}
        }
        if pc == program.end {
            return Ok(slots);
        }
    }
    Err(RtlError::Differs("the model does not come to the program's end".into()))
}

/// From the last instruction before the loop on.
fn since<'a>(slots: &'a [Slot], program: &Program) -> &'a [Slot] {
    let last = slots.iter().rposition(|slot| program.setup.contains(&slot.0));
    &slots[last.unwrap_or(slots.len())..]
}

fn cycles(rtl: &[Slot], model: &[Slot]) -> Cycles {
    let total = |slots: &[Slot]| slots[slots.len() - 1].1 - slots[0].1;
    let steps = |slots: &[Slot]| slots.windows(2).map(|two| two[1].1 - two[0].1).collect::<Vec<_>>();
    let absolute = steps(rtl).iter().zip(steps(model)).map(|(&a, b)| a.abs_diff(b)).sum();
    Cycles { rtl: total(rtl), model: total(model), absolute }
}
