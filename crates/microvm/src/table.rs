//! The table that the guest leaves in memory. Every field is checked before it is used.

use crate::phases::{PHASES, PhaseMeta, Stamps};

/// Most samples of a phase.
pub const CAPACITY: usize = 256;
const HEAD: usize = 64;
const ROW: usize = 64;
const SAMPLE: usize = 16;
/// Length of the table in bytes; every table has the same.
pub const TABLE_BYTES: usize = HEAD + PHASES.len() * (ROW + CAPACITY * SAMPLE);
const MAGIC: [u8; 8] = *b"TOLLTAB\0";
const VERSION: u32 = 2;
/// From this value on, a difference of 32-bit stamps is negative.
const BACKWARDS: u32 = 1 << 31;

/// Why bytes are not a valid table.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TableError {
    /// The length is wrong.
    #[error("it has {0} bytes instead of {TABLE_BYTES}")]
    Length(usize),
    /// The first bytes are not a table's.
    #[error("it does not begin with 'TOLLTAB'")]
    Magic,
    /// A field of the head has an invalid value.
    #[error("its {field} is {value}, not {expected}")]
    Head {
        /// The field.
        field: &'static str,
        /// Its value.
        value: u64,
        /// The valid or the largest value.
        expected: u64,
    },
    /// The end was announced before the last phase.
    #[error("the guest announced its end before the table was complete")]
    Unfinished,
}

/// The features of its processor that the guest found.
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
    /// Ports whose writes KVM notes in eventfds, one of which is answered by an interrupt.
    pub doorbells: bool,
}

/// Four stamps of the guest's time-stamp counter, the low 32 bits of each; [`Stamps`] says what they mean.
pub type Sample = [u32; 4];

/// The outcome of a phase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was not requested, or the guest did not reach it.
    NotRun,
    /// Its samples, in the order in which they were taken; never empty, and no stamp is before an earlier one.
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
    /// The processor does not support it.
    Unsupported,
    /// The guest was stopped during it.
    Stuck,
    /// The row has an invalid value, for this reason.
    Invalid(String),
}

/// One phase with its outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Which phase.
    pub meta: &'static PhaseMeta,
    /// Its outcome.
    pub outcome: Outcome,
}

impl Row {
    /// The samples, if it is done.
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
            Outcome::NotRun => "the guest was stopped before this phase".into(),
            Outcome::Faulted { vector, error, rip, after, .. } => format!(
                "{} (error code {error:#x}) at {rip:#x} in the guest after {after} crossings",
                exception(*vector)
            ),
            Outcome::Unsupported => {
                self.meta.needs.unwrap_or("the guest's processor does not support it").into()
            }
            Outcome::Stuck => "the guest hung in this phase and was stopped".into(),
            Outcome::Invalid(why) => format!("the guest wrote an invalid row: {why}"),
        })
    }
}

/// The vendors' names for exceptions.
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
    /// The features of its processor that the guest found.
    pub features: Features,
    /// Whether it announced its end.
    pub finished: bool,
    /// Samples of a phase in one turn of those that take turns ([`IN_TURNS`](crate::IN_TURNS)).
    pub turn: usize,
    /// One row for each of [`PHASES`], in that order.
    pub rows: Vec<Row>,
}

impl Table {
    /// The table of a guest that announced its end.
    ///
    /// # Errors
    /// The bytes are not a valid table. A single invalid phase is [`Outcome::Invalid`], and the others stay.
    pub fn parse(bytes: &[u8]) -> Result<Self, TableError> {
        let table = Self::parse_stopped(bytes)?;
        if table.finished { Ok(table) } else { Err(TableError::Unfinished) }
    }

    /// The table of a guest that was stopped, as far as it wrote it.
    ///
    /// # Errors
    /// As [`Table::parse`], except [`TableError::Unfinished`].
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
        let bits = at_most("set of features", long(bytes, 24), 31)?;
        let features = Features {
            pcid: bits & 1 != 0,
            deadline: bits & 2 != 0,
            hypervisor: bits & 4 != 0,
            amd: bits & 8 != 0,
            doorbells: bits & 16 != 0,
        };
        let turn = at_most("number of samples in a turn", word(bytes, 32).into(), CAPACITY as u64)? as usize;
        let rows = PHASES
            .iter()
            .enumerate()
            .map(|(index, meta)| Row { meta, outcome: row(bytes, index, meta, finished) })
            .collect();
        Ok(Self { features, finished, turn, rows })
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
        return Outcome::Invalid(format!("the row of phase {index} has the number {id}"));
    }
    if count as usize > CAPACITY {
        return Outcome::Invalid(format!("{count} samples, above the maximum of {CAPACITY}"));
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
        _ => Outcome::Invalid(format!("status {status} is not valid for this phase")),
    }
}

fn done(bytes: &[u8], index: usize, meta: &PhaseMeta, count: usize) -> Outcome {
    if count == 0 {
        return Outcome::Invalid("no sample in a phase that is done".into());
    }
    let start = HEAD + PHASES.len() * ROW + index * CAPACITY * SAMPLE;
    let samples: Vec<Sample> = (0..count)
        .map(|sample| [0, 4, 8, 12].map(|byte| word(bytes, start + sample * SAMPLE + byte)))
        .collect();
    match samples.iter().position(|sample| !possible(meta.stamps, sample)) {
        Some(bad) => Outcome::Invalid(format!("the stamps of sample {bad} run backwards")),
        None => Outcome::Done(samples),
    }
}

/// Whether a clock that only goes forwards can have given these stamps.
fn possible(stamps: Stamps, &[a, b, c, d]: &Sample) -> bool {
    let forwards = |from: u32, to: u32| to.wrapping_sub(from) < BACKWARDS;
    match stamps {
        Stamps::Whole => b == 0 && c == 0 && forwards(a, d),
        Stamps::Split | Stamps::Flush => forwards(a, b) && forwards(b, c) && forwards(c, d) && forwards(a, d),
        // The deadline is not a stamp: it may have passed, and a hypervisor may be early.
        Stamps::Answer => b == 0 && forwards(a, c) && forwards(c, d) && forwards(a, d),
        Stamps::Wake => forwards(a, c) && forwards(c, d) && forwards(a, d),
    }
}
