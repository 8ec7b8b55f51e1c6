//! A pipe whose stages wait together: what holds a stage holds all stages before it, whether there is an instruction in
//! them or not.

/// When nothing moves.
#[derive(Clone, Debug, Default)]
pub(super) struct Rigid {
    state: State,
}

/// What later instructions depend on, with cycles as the pipe counts them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct State {
    /// When the last instruction entered WB.
    entered: i64,
    /// Cycles in which no instruction enters a stage before the one that is held: the first, and the last.
    held: Vec<(i64, i64)>,
}

impl Rigid {
    /// The first cycle from `at` on in which an instruction can move.
    pub(super) fn thaw(&self, mut at: i64) -> i64 {
        for &(first, last) in &self.state.held {
            if (first..=last).contains(&at) {
                at = last + 1;
            }
        }
        at
    }

    /// When the last instruction entered WB.
    pub(super) fn entered(&self) -> i64 {
        self.state.entered
    }

    /// An instruction enters ID in `decode`, EX in `execute`, MEM in `memory`, WB in `entered` and leaves it behind `write`.
    /// Each cycle more than one in a stage holds those behind it.
    pub(super) fn pass(&mut self, [decode, execute, memory, entered, write]: [i64; 5]) {
        let State { entered: last, held } = &mut self.state;
        *last = entered;
        // No later instruction is fetched before this one is in ID.
        held.retain(|&(_, last)| last >= decode);
        for (first, last) in [(execute + 1, memory - 1), (memory + 1, entered - 1), (entered + 1, write)] {
            if first <= last {
                held.push((first, last));
            }
        }
        held.sort_unstable();
    }

    /// The state relative to the last write-back.
    pub(super) fn key(&self, write: i64) -> State {
        self.state.moved(-write)
    }

    /// The state of a key.
    pub(super) fn restore(&mut self, key: &State, write: i64) {
        self.state = key.moved(write);
    }
}

impl State {
    fn moved(&self, by: i64) -> Self {
        let held = self.held.iter().map(|&(first, last)| (first + by, last + by)).collect();
        State { entered: self.entered + by, held }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instruction_that_is_held_in_wb_holds_every_stage() {
        let mut rigid = Rigid::default();
        // In WB from 5 to 7.
        rigid.pass([2, 3, 4, 5, 7]);
        assert_eq!([5, 6, 7, 8].map(|at| rigid.thaw(at)), [5, 8, 8, 8]);
        // The next one divides in MEM from 8 on, behind that.
        rigid.pass([3, 4, 8, 12, 12]);
        assert_eq!([8, 9, 11, 12].map(|at| rigid.thaw(at)), [8, 12, 12, 12]);
        assert_eq!(rigid.entered(), 12);
    }
}
