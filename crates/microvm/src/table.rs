//! What the guest leaves in memory, read with doubt: every field is checked before it is believed.

use crate::phases::{PHASES, PhaseMeta, Stamps};

/// Most samples of a phase.
pub const CAPACITY: usize = 256;
const HEAD: usize = 64;
const ROW: usize = 64;
const SAMPLE: usize = 16;
/// Length of the table in bytes; every table has the same.
pub const TABLE_BYTES: usize = HEAD + PHASES.len() * (ROW + CAPACITY * SAMPLE);
const MAGIC: [u8; 8] = *b"TOLLTAB\0";
const VERSION: u32 = 1;
/// A difference of 32-bit stamps from here on is one that went backwards.
const BACKWARDS: u32 = 1 << 31;

/// Why bytes are no table.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TableError {
    /// Another length than every table has.
    #[error("it has {0} bytes instead of {TABLE_BYTES}")]
    Length(usize),
    /// It does not begin as a table does.
    #[error("it does not begin with its mark")]
    Magic,
    /// A field of the head has a value that it cannot have.
    #[error("its {field} is {value}, not {expected}")]
    Head {
        /// The field.
        field: &'static str,
        /// What it holds.
        value: u64,
        /// What it can hold.
        expected: u64,
    },
    /// The end was announced before the last phase.
    #[error("the guest announced its end before the table was complete")]
    Unfinished,
}

/// What the guest found of its processor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Features {
    /// Tags of address spaces (CPUID.1:ECX bit 17).
    pub pcid: bool,
    /// A timer that fires at a value of the time-stamp counter, and a controller for it.
    pub deadline: bool,
    /// The hypervisor bit.
    pub hypervisor: bool,
    /// The maker calls its hypercall `vmmcall`.
    pub amd: bool,
}

/// Four stamps of the guest's time-stamp counter, the low 32 bits of each; [`Stamps`] says what they mean.
pub type Sample = [u32; 4];

/// What became of a phase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was not asked for, or the guest did not come to it.
    NotRun,
    /// Its samples, in the order in which they were taken; never empty, each in an order that a clock allows.
    Done(Vec<Sample>),
    /// An exception that it did not expect.
    Faulted {
        /// Number of the exception.
        vector: u32,
        /// Its error code.
        error: u64,
        /// The instruction.
        rip: u64,
        /// The address of the last page fault.
        cr2: u64,
        /// How many crossings had been recorded.
        after: u32,
    },
    /// The processor lacks what it needs.
    Unsupported,
    /// It had begun when the guest was stopped.
    Stuck,
    /// What stands there cannot be; with the reason.
    Rubbish(String),
}

/// One phase with what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Which phase.
    pub meta: &'static PhaseMeta,
    /// What became of it.
    pub outcome: Outcome,
}

impl Row {
    /// The samples, where there are any.
    #[must_use]
    pub fn samples(&self) -> Option<&[Sample]> {
        match &self.outcome {
            Outcome::Done(samples) => Some(samples),
            _ => None,
        }
    }

    /// Why there are no samples, one clause.
    #[must_use]
    pub fn why_not(&self) -> Option<String> {
        Some(match &self.outcome {
            Outcome::Done(_) => return None,
            Outcome::NotRun => "the guest was stopped before it came to this".into(),
            Outcome::Faulted { vector, error, rip, after, .. } => format!(
                "{} (error code {error:#x}) at {rip:#x} in the guest after {after} crossings",
                exception(*vector)
            ),
            Outcome::Unsupported => self.meta.needs.unwrap_or("the guest's processor lacks it").into(),
            Outcome::Stuck => "the guest hung in this and was stopped".into(),
            Outcome::Rubbish(why) => format!("the guest wrote rubbish: {why}"),
        })
    }
}

/// The field's own names for exceptions.
fn exception(vector: u32) -> String {
    let name = match vector {
        0 => "#DE",
        1 => "#DB",
        2 => "NMI",
        3 => "#BP",
        6 => "#UD",
        8 => "#DF",
        10 => "#TS",
        11 => "#NP",
        12 => "#SS",
        13 => "#GP",
        14 => "#PF",
        17 => "#AC",
        18 => "#MC",
        _ => return format!("exception {vector}"),
    };
    name.into()
}

/// All phases of one guest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// What the guest found of its processor.
    pub features: Features,
    /// Whether it came to its end.
    pub finished: bool,
    /// One row for each of [`PHASES`], in that order.
    pub rows: Vec<Row>,
}

impl Table {
    /// The table of a guest that announced its end.
    ///
    /// # Errors
    /// When the bytes are no table. A single phase that cannot be believed is [`Outcome::Rubbish`], and the others stay.
    pub fn parse(bytes: &[u8]) -> Result<Self, TableError> {
        let table = Self::parse_stopped(bytes)?;
        if table.finished { Ok(table) } else { Err(TableError::Unfinished) }
    }

    /// The table of a guest that was stopped: what it had come to.
    ///
    /// # Errors
    /// As [`Table::parse`], but for [`TableError::Unfinished`].
    pub fn parse_stopped(bytes: &[u8]) -> Result<Self, TableError> {
        if bytes.len() != TABLE_BYTES {
            return Err(TableError::Length(bytes.len()));
        }
        if bytes[..8] != MAGIC {
            return Err(TableError::Magic);
        }
        for (field, at, expected) in [
            ("version", 8, VERSION),
            ("number of phases", 12, PHASES.len() as u32),
            ("room for samples", 16, CAPACITY as u32),
        ] {
            let value = word(bytes, at);
            if value != expected {
                return Err(TableError::Head { field, value: value.into(), expected: expected.into() });
            }
        }
        let finished = at_most("mark of the end", word(bytes, 20).into(), 1)? == 1;
        let bits = at_most("set of features", long(bytes, 24), 15)?;
        let features = Features {
            pcid: bits & 1 != 0,
            deadline: bits & 2 != 0,
            hypervisor: bits & 4 != 0,
            amd: bits & 8 != 0,
        };
        let rows = PHASES
            .iter()
            .enumerate()
            .map(|(index, meta)| Row { meta, outcome: row(bytes, index, meta, finished) })
            .collect();
        Ok(Self { features, finished, rows })
    }
}

fn at_most(field: &'static str, value: u64, expected: u64) -> Result<u64, TableError> {
    if value > expected { Err(TableError::Head { field, value, expected }) } else { Ok(value) }
}

fn word(bytes: &[u8], at: usize) -> u32 {
    let mut four = [0; 4];
    four.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(four)
}

fn long(bytes: &[u8], at: usize) -> u64 {
    u64::from(word(bytes, at)) | u64::from(word(bytes, at + 4)) << 32
}

fn row(bytes: &[u8], index: usize, meta: &PhaseMeta, finished: bool) -> Outcome {
    let at = HEAD + index * ROW;
    let (id, status, count) = (word(bytes, at), word(bytes, at + 4), word(bytes, at + 8));
    if status == 0 && count == 0 {
        return Outcome::NotRun;
    }
    if id as usize != index {
        return Outcome::Rubbish(format!("the row of phase {index} says that it is {id}"));
    }
    if count as usize > CAPACITY {
        return Outcome::Rubbish(format!("{count} samples where {CAPACITY} is the most"));
    }
    match status {
        1 => done(bytes, index, meta, count as usize),
        2 => Outcome::Faulted {
            vector: word(bytes, at + 12),
            error: long(bytes, at + 16),
            rip: long(bytes, at + 24),
            cr2: long(bytes, at + 32),
            after: count,
        },
        3 if meta.needs.is_some() => Outcome::Unsupported,
        4 if !finished => Outcome::Stuck,
        _ => Outcome::Rubbish(format!("status {status} is none that this phase can have")),
    }
}

fn done(bytes: &[u8], index: usize, meta: &PhaseMeta, count: usize) -> Outcome {
    if count == 0 {
        return Outcome::Rubbish("no sample in a phase that is done".into());
    }
    let start = HEAD + PHASES.len() * ROW + index * CAPACITY * SAMPLE;
    let samples: Vec<Sample> = (0..count)
        .map(|sample| [0, 4, 8, 12].map(|byte| word(bytes, start + sample * SAMPLE + byte)))
        .collect();
    match samples.iter().position(|sample| !possible(meta.stamps, sample)) {
        Some(bad) => {
            Outcome::Rubbish(format!("the stamps of sample {bad} are in no order that a clock allows"))
        }
        None => Outcome::Done(samples),
    }
}

/// Whether a clock that only goes forwards can have given these stamps.
fn possible(stamps: Stamps, &[a, b, c, d]: &Sample) -> bool {
    let forwards = |from: u32, to: u32| to.wrapping_sub(from) < BACKWARDS;
    match stamps {
        Stamps::Whole => b == 0 && c == 0 && forwards(a, d),
        Stamps::Split | Stamps::Flush => forwards(a, b) && forwards(b, c) && forwards(c, d) && forwards(a, d),
        // The deadline is no stamp: it may have passed, and a hypervisor may be early.
        Stamps::Wake => forwards(a, c) && forwards(c, d) && forwards(a, d),
    }
}
