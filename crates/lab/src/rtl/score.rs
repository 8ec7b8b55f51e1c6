//! The error of the model against the RTL, instruction by instruction.

use strum::VariantArray;
use tollgate_cores::Core;

use super::error::RtlError;
use super::golden::{self, Golden};
use super::latency::interrupted;
use super::program::{Part, Program, Shape};
use super::replay::{Before, Cycles, Pair, replay};
use super::subject::Subject;
use crate::phase::Phase;
use crate::symbols::Marks;

/// A comparison of a program with its RTL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Score {
    /// Warm passes or crossings; 1 for a whole program.
    pub passes: u64,
    /// The first crossing; the whole loop or program, which begins with cold caches and predictors.
    pub cold: Cycles,
    /// Warm passes or crossings together: those of the second half.
    pub steady: Cycles,
    /// For traps: the phases of the first crossing and of the warm ones.
    pub phases: Vec<PhaseScore>,
    /// For interrupts: how long each took to its handler.
    pub latencies: Vec<Cycles>,
}

/// A phase of a trap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PhaseScore {
    /// Which.
    pub phase: Phase,
    /// In the first crossing.
    pub cold: Cycles,
    /// In the warm ones together.
    pub steady: Cycles,
}

impl Score {
    /// Runs the program on the core's model and compares.
    ///
    /// # Errors
    /// The model executes other instructions than the RTL, or does not reach the program's end.
    pub fn new(subject: &Subject, core: &Core, program: &Program, golden: &Golden) -> Result<Self, RtlError> {
        if let Shape::Interrupts(raise) = program.shape {
            let latencies = interrupted(subject, core, program, raise, golden)?;
            let mut sum = Cycles::default();
            latencies.iter().for_each(|it| sum += *it);
            let passes = latencies.len() as u64;
            return Ok(Self { passes, cold: sum, steady: sum, phases: Vec::new(), latencies });
        }
        let pairs = replay(subject, core, program, golden)?;
        match &program.shape {
            Shape::Loop { pass, .. } => {
                let ends: Vec<usize> = (0..pairs.len()).filter(|&at| pairs[at].pc == *pass).collect();
                let (Some(&middle), Some(&last)) = (ends.get(ends.len() / 2), ends.last()) else {
                    return Err(RtlError::Differs("the loop is not reached".into()));
                };
                Ok(Self {
                    passes: (ends.len() - 1 - ends.len() / 2) as u64,
                    cold: Cycles::of(&pairs),
                    steady: Cycles::of(&pairs[middle..=last]),
                    phases: Vec::new(),
                    latencies: Vec::new(),
                })
            }
            Shape::Traps { begin, marks } => Ok(crossings(&pairs, *begin, program.end, marks.clone())),
            _ => {
                let all = Cycles::of(&pairs);
                Ok(Self { passes: 1, cold: all, steady: all, phases: Vec::new(), latencies: Vec::new() })
            }
        }
    }
}

/// The crossings of a run: the first, and the second half.
fn crossings(pairs: &[Pair], begin: u64, end: u64, mut marks: Marks<Phase>) -> Score {
    let count = pairs.iter().filter(|pair| pair.pc == end).count();
    let none = Cycles::default();
    let mut score = Score { passes: 0, cold: none, steady: none, phases: Vec::new(), latencies: Vec::new() };
    let mut phases = [[Cycles::default(); 2]; Phase::COUNT];
    let (mut open, mut seen) = (false, 0);
    for two in pairs.windows(2) {
        open |= two[0].pc == begin;
        if !open {
            continue;
        }
        // An instruction after a trap or a return waits for it.
        let phase = match two[1].before {
            Before::Trap => Phase::HardwareTrap,
            Before::Return => Phase::Return,
            Before::Instruction => marks.at(two[1].pc),
        };
        let of = &mut phases[phase as usize];
        if seen == 0 {
            score.cold.step(&two[0], &two[1]);
            of[0].step(&two[0], &two[1]);
        } else if seen > count / 2 {
            score.steady.step(&two[0], &two[1]);
            of[1].step(&two[0], &two[1]);
        }
        if two[1].pc == end {
            open = false;
            score.passes += u64::from(seen > count / 2);
            seen += 1;
        }
    }
    let all =
        Phase::ALL.iter().zip(phases).map(|(&phase, [cold, steady])| PhaseScore { phase, cold, steady });
    score.phases =
        all.filter(|it| it.cold.rtl + it.cold.model + it.steady.rtl + it.steady.model > 0).collect();
    score
}

/// A program of a golden file, and how near the model is there.
#[derive(Debug)]
pub struct Compared {
    /// Its purpose.
    pub part: Part,
    /// The program.
    pub program: String,
    /// Cycles that memory took.
    pub latency: u64,
    /// How near it is, if both execute the same.
    pub score: Result<Score, RtlError>,
}

impl Subject {
    /// The programs of its golden files.
    ///
    /// # Errors
    /// A damaged file or image, or an invalid preset.
    pub fn validate(&self) -> Result<Vec<Compared>, RtlError> {
        let mut all = Vec::new();
        for &part in Part::VARIANTS {
            all.extend(self.validate_part(part)?);
        }
        Ok(all)
    }

    /// The programs of one of its golden files.
    ///
    /// # Errors
    /// A damaged file or image, or an invalid preset.
    pub fn validate_part(&self, part: Part) -> Result<Vec<Compared>, RtlError> {
        let goldens = self.goldens(part)?;
        let programs = self.programs(part)?;
        let mut core = Core::preset(self.preset)?;
        let compared = goldens.iter().map(|golden| {
            core.memory.latency = golden.latency.try_into().unwrap_or(u32::MAX);
            let program = programs.iter().find(|program| program.is(&golden.program, golden.latency));
            let score = match program {
                Some(program) => Score::new(self, &core, program, golden),
                None => {
                    Err(RtlError::Differs("the golden file has a program that is not in the corpus".into()))
                }
            };
            Compared { part, program: golden.program.clone(), latency: golden.latency, score }
        });
        Ok(compared.collect())
    }

    /// The recorded runs of the programs of one kind.
    ///
    /// # Errors
    /// A damaged file.
    pub fn goldens(&self, part: Part) -> Result<Vec<Golden>, RtlError> {
        let file = self.golden.iter().find(|(of, _)| *of == part);
        Ok(file.map(|(_, file)| golden::read(file)).transpose()?.map(|read| read.1).unwrap_or_default())
    }
}

/// The scores of some programs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Summary {
    /// Programs that were compared.
    pub programs: usize,
    /// Programs that take exactly as many cycles.
    pub exact: usize,
    /// The mean of the errors, without their signs.
    pub mean: f64,
    /// The largest, and its program.
    pub worst: Option<(f64, String)>,
    /// Cycles of all programs together.
    pub cycles: Cycles,
    /// Programs that execute other instructions here.
    pub others: usize,
}

impl Summary {
    /// Adds up the warm cycles of scores, or the cold ones.
    #[must_use]
    pub fn of<'a>(all: impl IntoIterator<Item = &'a Compared>, cold: bool) -> Self {
        let mut sum = Summary::default();
        for Compared { program, score, .. } in all {
            let Ok(score) = score else {
                sum.others += 1;
                continue;
            };
            let cycles = if cold { score.cold } else { score.steady };
            sum.programs += 1;
            sum.exact += usize::from(cycles.exact());
            sum.cycles += cycles;
            let error = cycles.error();
            sum.mean += error.abs();
            if sum.worst.as_ref().is_none_or(|(worst, _)| error.abs() > worst.abs()) {
                sum.worst = Some((error, program.clone()));
            }
        }
        sum.mean /= sum.programs.max(1) as f64;
        sum
    }
}
