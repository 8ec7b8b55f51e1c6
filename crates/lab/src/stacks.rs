//! The call stack of a program, from its calls, returns and traps.
//!
//! A jump between functions replaces the caller (a tail call). The return from a trap ends all calls of the handler. A
//! return that fits no call, as after `longjmp`, changes only the function; a trap that returns to another program
//! starts a new stack.

use std::collections::HashMap;

use crate::calls::{Calls, Frame};

pub(crate) use crate::calls::Leave;

/// Calls beyond this depth are not told apart; handlers are, to twice the depth.
const DEEPEST: usize = 256;
/// Paths that are told apart.
const MOST: usize = 1 << 14;
/// The longest instruction: a handler may continue behind the one that trapped.
const LONGEST: u64 = 4;

/// A function as it was called, by the path from the first one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Path {
    /// The path of its caller, by index; its own if nobody called it. A caller comes first.
    pub caller: usize,
    /// The function, by the index of its name.
    pub function: usize,
    /// Cycles of the function itself, on this path.
    pub cycles: u64,
}

/// A function that is running.
struct Running {
    function: usize,
    path: usize,
    /// Calls beyond the limit when it was entered.
    beyond: u64,
}

/// The functions that are running, and what each path cost.
pub(crate) struct Stacks {
    calls: Calls<Running>,
    /// Calls beyond [`DEEPEST`].
    beyond: u64,
    left: Leave,
    /// For each function: how many of its calls are running, since when, and its cycles with all that it called.
    running: Vec<(u32, u64, u64)>,
    paths: Vec<Path>,
    index: HashMap<(Option<usize>, usize), usize>,
    now: u64,
    /// Cycles of calls beyond the limits, which the paths of their callers contain.
    cut: u64,
}

impl Stacks {
    /// For so many functions.
    pub(crate) fn new(functions: usize) -> Self {
        Self {
            calls: Calls(Vec::new()),
            beyond: 0,
            left: Leave::Next,
            running: vec![(0, 0, 0); functions],
            paths: Vec::new(),
            index: HashMap::new(),
            now: 0,
            cut: 0,
        }
    }

    #[inline]
    fn top(&self) -> Option<&Running> {
        self.calls.0.last().map(|frame| &frame.of)
    }

    /// Whether control at `function` is in another function, or in a new call of the same one.
    #[inline]
    pub(crate) fn changes(&self, function: usize) -> bool {
        !matches!(self.left, Leave::Next) || self.top().is_none_or(|top| top.function != function)
    }

    /// Control leaves the instruction that arrived last.
    #[inline]
    pub(crate) fn leave_by(&mut self, leave: Leave) {
        self.left = leave;
    }

    /// Charges what arrived last.
    pub(crate) fn charge(&mut self, cycles: u64) {
        self.now += cycles;
        let Some(top) = self.calls.0.last().map(|frame| &frame.of) else { return };
        let path = &mut self.paths[top.path];
        path.cycles += cycles;
        if path.function != top.function || self.beyond > 0 {
            self.cut += cycles;
        }
    }

    /// Cycles of a function and of all that it called.
    pub(crate) fn total(&self, function: usize) -> u64 {
        let (running, since, total) = self.running[function];
        if running > 0 { total + self.now - since } else { total }
    }

    /// Every path, callers first; and the cycles of calls beyond the limits, which the paths of their callers contain.
    pub(crate) fn paths(&self) -> (&[Path], u64) {
        (&self.paths, self.cut)
    }

    /// Control arrives at the instruction at `pc`, which is about to be charged.
    pub(crate) fn arrive(&mut self, pc: u64, function: usize) {
        match std::mem::replace(&mut self.left, Leave::Next) {
            Leave::Next => {}
            Leave::Call { back } => self.push(function, back, false),
            Leave::Trap { epc } => self.push(function, epc, true),
            Leave::Return if self.beyond > 0 => self.beyond -= 1,
            Leave::Return => {
                if let Some(at) = self.calls.returned(pc) {
                    self.pop_to(at);
                }
            }
            Leave::TrapReturn => {
                let handler = self.calls.handler();
                let back = handler.filter(|&at| pc.wrapping_sub(self.calls.0[at].back) <= LONGEST);
                self.pop_to(back.unwrap_or(0));
            }
        }
        match self.top() {
            Some(top) if top.function == function => {}
            Some(_) => self.replace(function),
            None => self.push(function, u64::MAX, false),
        }
    }

    fn push(&mut self, function: usize, back: u64, trap: bool) {
        if self.calls.0.len() >= if trap { 2 * DEEPEST } else { DEEPEST } {
            self.beyond += 1;
            return;
        }
        let path = self.path(self.top().map(|top| top.path), function);
        let beyond = std::mem::take(&mut self.beyond);
        self.calls.0.push(Frame { back, trap, of: Running { function, path, beyond } });
        self.enter(function);
    }

    /// The function that runs jumps to another one, which returns for it.
    fn replace(&mut self, function: usize) {
        let Some(mut top) = self.calls.0.pop() else { return };
        self.leave(top.of.function);
        top.of.path = self.path(self.top().map(|caller| caller.path), function);
        top.of.function = function;
        self.calls.0.push(top);
        self.enter(function);
    }

    fn pop_to(&mut self, depth: usize) {
        while self.calls.0.len() > depth {
            let Some(Frame { of: top, .. }) = self.calls.0.pop() else { return };
            self.leave(top.function);
            self.beyond = top.beyond;
        }
    }

    fn enter(&mut self, function: usize) {
        let (running, since, _) = &mut self.running[function];
        if *running == 0 {
            *since = self.now;
        }
        *running += 1;
    }

    fn leave(&mut self, function: usize) {
        let (running, since, total) = &mut self.running[function];
        *running -= 1;
        if *running == 0 {
            *total += self.now - *since;
        }
    }

    /// The path of a function below its caller's, or beyond the limits the caller's own.
    fn path(&mut self, caller: Option<usize>, function: usize) -> usize {
        if let Some(&known) = self.index.get(&(caller, function)) {
            return known;
        }
        // Something calls everything beyond the limits except the first function.
        if let (Some(caller), true) = (caller, self.paths.len() >= MOST) {
            return caller;
        }
        let path = self.paths.len();
        self.paths.push(Path { caller: caller.unwrap_or(path), function, cycles: 0 });
        self.index.insert((caller, function), path);
        path
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Arrives at instructions of one cycle each: how control leaves the one before, where it is, and whose it is.
    fn follow(steps: &[(Leave, u64, usize)]) -> Stacks {
        let mut stacks = Stacks::new(4);
        for &(leave, pc, function) in steps {
            stacks.left = leave;
            stacks.arrive(pc, function);
            stacks.charge(1);
        }
        stacks
    }

    fn totals(stacks: &Stacks) -> [u64; 4] {
        [0, 1, 2, 3].map(|function| stacks.total(function))
    }

    const NEXT: Leave = Leave::Next;

    #[test]
    fn a_call_is_its_callers_until_it_returns() {
        let stacks = follow(&[
            (NEXT, 0, 0),
            (Leave::Call { back: 4 }, 100, 1),
            (Leave::Call { back: 104 }, 200, 2),
            (Leave::Return, 104, 1),
            (Leave::Return, 4, 0),
        ]);
        assert_eq!(totals(&stacks), [5, 3, 1, 0]);
        let paths = [(0, 0, 2), (0, 1, 2), (1, 2, 1)];
        assert_eq!(
            stacks.paths().0,
            paths.map(|(caller, function, cycles)| Path { caller, function, cycles })
        );
    }

    #[test]
    fn recursion_counts_once() {
        let stacks = follow(&[
            (NEXT, 0, 0),
            (Leave::Call { back: 4 }, 100, 1),
            (Leave::Call { back: 104 }, 100, 1),
            (Leave::Return, 104, 1),
            (Leave::Return, 4, 0),
        ]);
        assert_eq!(totals(&stacks), [5, 3, 0, 0]);
    }

    #[test]
    fn a_tail_call_returns_to_the_caller_of_its_caller() {
        let stacks =
            follow(&[(NEXT, 0, 0), (Leave::Call { back: 4 }, 100, 1), (NEXT, 200, 2), (Leave::Return, 4, 0)]);
        assert_eq!(totals(&stacks), [4, 1, 1, 0]);
        assert_eq!(stacks.calls.0.len(), 1);
    }

    #[test]
    fn a_return_past_several_calls_ends_them_all() {
        let stacks = follow(&[
            (NEXT, 0, 0),
            (Leave::Call { back: 4 }, 100, 1),
            (Leave::Call { back: 104 }, 200, 2),
            (Leave::Return, 4, 0),
            (NEXT, 8, 0),
        ]);
        assert_eq!(totals(&stacks), [5, 2, 1, 0]);
    }

    #[test]
    fn a_handler_ends_at_the_trap_or_behind_it_with_all_that_it_called() {
        for resumed in [40, 44] {
            let stacks = follow(&[
                (NEXT, 0, 0),
                (Leave::Call { back: 4 }, 40, 1),
                (Leave::Trap { epc: 40 }, 100, 2),
                (Leave::Call { back: 104 }, 200, 3),
                // An address that fits a call of the program does not end the handler.
                (Leave::Return, 4, 3),
                (Leave::TrapReturn, resumed, 1),
                (Leave::Return, 4, 0),
            ]);
            assert_eq!(totals(&stacks), [7, 5, 3, 2], "{resumed}");
        }
    }

    #[test]
    fn another_program_starts_a_new_stack() {
        let stacks = follow(&[
            (NEXT, 0, 0),
            (Leave::Call { back: 4 }, 40, 1),
            (Leave::Trap { epc: 40 }, 100, 2),
            (Leave::TrapReturn, 500, 3),
        ]);
        assert_eq!((totals(&stacks), stacks.calls.0.len()), ([3, 2, 1, 1], 1));
        assert_eq!(stacks.paths().0.last(), Some(&Path { caller: 3, function: 3, cycles: 1 }));
    }

    #[test]
    fn calls_beyond_the_limit_belong_to_the_deepest() {
        let mut stacks = Stacks::new(2);
        let mut arrive = |leave, pc, function| {
            stacks.left = leave;
            stacks.arrive(pc, function);
            stacks.charge(1);
        };
        let deep = DEEPEST as u64 + 10;
        arrive(NEXT, 0, 0);
        (0..deep).for_each(|i| arrive(Leave::Call { back: i }, 100, 1));
        (0..deep).rev().for_each(|i| arrive(Leave::Return, i, usize::from(i > 0)));
        assert_eq!((stacks.total(0), stacks.total(1)), (2 * deep + 1, 2 * deep - 1));
        assert_eq!((stacks.calls.0.len(), stacks.paths().0.len()), (1, DEEPEST));
        assert_eq!(stacks.beyond, 0);
        // The root and the calls up to the limit are told apart: down and up again, with one turn at the bottom.
        assert_eq!(stacks.paths().1, 2 * (deep + 1 - DEEPEST as u64) - 1);
    }

    #[test]
    fn a_handler_returns_to_calls_beyond_the_limit() {
        let mut stacks = Stacks::new(3);
        let mut arrive = |leave, pc, function| {
            stacks.left = leave;
            stacks.arrive(pc, function);
            stacks.charge(1);
        };
        let deep = DEEPEST as u64 + 10;
        arrive(NEXT, 0, 0);
        (0..deep).for_each(|i| arrive(Leave::Call { back: i }, 1_000, 1));
        arrive(Leave::Trap { epc: 1_000 }, 2_000, 2);
        arrive(Leave::Call { back: 2_004 }, 3_000, 2);
        arrive(Leave::Return, 2_004, 2);
        arrive(Leave::TrapReturn, 1_000, 1);
        (0..deep).rev().for_each(|i| arrive(Leave::Return, i, usize::from(i > 0)));
        assert_eq!([0, 1, 2].map(|function| stacks.total(function)), [2 * deep + 5, 2 * deep + 3, 3]);
        assert_eq!((stacks.calls.0.len(), stacks.beyond), (1, 0));
    }
}
