//! Where every cycle goes: by phase and by cause.

use strum::VariantArray;

/// The cause of a cycle. A cycle that two causes share goes to the one that comes first in the pipe.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, strum::VariantArray, strum::IntoStaticStr,
)]
#[strum(serialize_all = "kebab-case")]
#[repr(u8)]
pub enum Cause {
    /// An instruction's own cycle; also the cycles in which the empty pipe fills at the beginning.
    Issue = 0,
    /// Waiting for the result of a load, or, without forwarding, for any register.
    LoadUse,
    /// Waiting for a control and status register, or for what `fence.i` and `sfence.vma` empty.
    Csr,
    /// Refilling after a branch or a jump.
    Branch,
    /// A trap's slot, and refilling after a trap or a return.
    TrapFlush,
    /// Instruction cache miss.
    IMiss,
    /// Data cache miss.
    DMiss,
    /// Page table walk, for an instruction or for data.
    TlbWalk,
    /// Multiplication, division, floating point, atomics: the unit is busy or the result is not there yet.
    LongOperation,
    /// A resource exists only once: a second fetch for an instruction that crosses two words; the states of a machine
    /// without a pipeline, behind the first.
    Structural,
}

impl Cause {
    /// All, in the order of [`Ledger`]'s columns.
    pub const ALL: &'static [Cause] = Self::VARIANTS;

    /// How many there are.
    pub const COUNT: usize = Self::ALL.len();

    /// A short name in lower case, as tables show it.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// Cycles by [`Cause`].
pub type Causes = [u64; Cause::COUNT];

/// Cycles by phase and cause. Phases are the caller's numbers ([`super::Phases`]).
///
/// ```
/// use tollgate_cores::{Cause, Ledger};
/// let mut ledger = Ledger::default();
/// ledger.charge(2, Cause::Branch, 3);
/// ledger.charge(0, Cause::Issue, 1);
/// assert_eq!((ledger.total(), ledger.of_phase(2), ledger.of_cause(Cause::Issue)), (4, 3, 1));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ledger {
    rows: Vec<Causes>,
}

impl Ledger {
    /// Charges cycles.
    #[inline]
    pub fn charge(&mut self, phase: u8, cause: Cause, cycles: u64) {
        if cycles > 0 {
            self.row(phase.into())[cause as usize] += cycles;
        }
    }

    /// Charges a whole row.
    pub fn charge_all(&mut self, phase: u8, causes: &Causes) {
        if causes.iter().any(|&c| c > 0) {
            self.add_to(phase.into(), causes);
        }
    }

    /// Charges a whole row, whose number may be large.
    pub(super) fn add_to(&mut self, row: u32, causes: &Causes) {
        for (sum, c) in self.row(row as usize).iter_mut().zip(causes) {
            *sum += c;
        }
    }

    pub(super) fn row(&mut self, at: usize) -> &mut Causes {
        if at >= self.rows.len() {
            self.rows.resize(at + 1, [0; Cause::COUNT]);
        }
        &mut self.rows[at]
    }

    /// Phases from 0 to the highest that was charged; each row is the cycles by cause.
    pub fn rows(&self) -> &[Causes] {
        &self.rows
    }

    /// Cycles of one phase and cause.
    pub fn get(&self, phase: u8, cause: Cause) -> u64 {
        self.rows.get(usize::from(phase)).map_or(0, |row| row[cause as usize])
    }

    /// Cycles of a phase.
    pub fn of_phase(&self, phase: u8) -> u64 {
        self.rows.get(usize::from(phase)).map_or(0, |row| row.iter().sum())
    }

    /// Cycles of a cause in all phases.
    pub fn of_cause(&self, cause: Cause) -> u64 {
        self.rows.iter().map(|row| row[cause as usize]).sum()
    }

    /// All cycles: equal to [`super::Timed::cycles`].
    pub fn total(&self) -> u64 {
        self.rows.iter().flatten().sum()
    }

    /// Adds what another ledger was charged.
    pub fn add(&mut self, other: &Ledger) {
        for (phase, causes) in (0..).zip(&other.rows) {
            self.charge_all(phase, causes);
        }
    }
}
