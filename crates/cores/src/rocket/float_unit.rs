//! A floating-point unit with one divider, which needs the write port for itself, as in Rocket.

/// The waits of its instructions, in cycles of EX.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct FloatUnit {
    /// The first in which the divider is free.
    divider: i64,
    /// The first in which no result is on its way to the registers.
    written: i64,
}

/// The unit's part in an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Floating {
    /// It moves a register to or from memory or the integer registers, without a result that takes time.
    Passes,
    /// Its result is there this many cycles after EX.
    Computes(u32),
    /// A division or square root.
    Divides(u32),
}

impl FloatUnit {
    pub(super) const IDLE: FloatUnit = FloatUnit { divider: i64::MIN / 2, written: i64::MIN / 2 };

    /// The first cycle of EX from `execute` on, replay by replay, in which an instruction finds the divider free, and a
    /// division also the write port; takes both. `more` is what the operands add.
    pub(super) fn pass(&mut self, floating: Floating, execute: i64, replay: i64, more: i32) -> i64 {
        let mut at = execute;
        let from = match floating {
            Floating::Divides(_) => self.divider.max(self.written),
            _ => self.divider,
        };
        while at < from {
            at += replay;
        }
        match floating {
            Floating::Passes => {}
            Floating::Computes(cycles) => {
                // Results that take longer than four cycles are waited for by their register's mark, one cycle more.
                let cycles = i64::from(cycles) - i64::from(cycles > 4);
                self.written = self.written.max(at + cycles - 1);
            }
            Floating::Divides(cycles) => self.divider = at + i64::from(cycles) + i64::from(more) - 3,
        }
        at
    }

    /// Whether an instruction in EX then may have to wait.
    pub(super) fn is_busy(&self, execute: i64) -> bool {
        self.divider.max(self.written) > execute
    }
}

#[cfg(test)]
mod tests {
    use super::{FloatUnit, Floating::*};

    #[test]
    fn a_division_comes_again_while_a_result_is_written_and_others_while_it_divides() {
        let mut unit = FloatUnit::IDLE;
        // fadd.d is in EX in 10 and in MEM in 11, and its result is on its way from 12 to 14.
        assert_eq!(unit.pass(Computes(6), 10, 5, 0), 10);
        let at = |cycle| { unit }.pass(Divides(57), cycle, 5, 0);
        assert_eq!([11, 13, 14].map(at), [16, 18, 14]);
        // fadd.s has its result a cycle earlier.
        let mut single = FloatUnit::IDLE;
        single.pass(Computes(4), 10, 5, 0);
        assert_eq!([12, 13].map(|cycle| { single }.pass(Divides(28), cycle, 5, 0)), [17, 13]);
        // A division of 57 cycles: fld in EX behind it comes again each five cycles; a zero is divided at once.
        unit.pass(Divides(57), 20, 5, 0);
        assert_eq!({ unit }.pass(Passes, 21, 5, 0), 76);
        assert_eq!({ unit }.pass(Passes, 74, 5, 0), 74);
        let mut zero = FloatUnit::IDLE;
        zero.pass(Divides(57), 20, 5, -53);
        assert_eq!(zero.pass(Passes, 21, 5, 0), 21);
    }
}
