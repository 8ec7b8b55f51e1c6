//! What statements are inside of: macros, repetitions, included files and conditions.

use std::rc::Rc;

use super::error::Pos;
use super::statement::Line;

/// `.if` and its branches.
pub(super) struct Condition {
    pub(super) outer: bool,
    pub(super) taken: bool,
    pub(super) active: bool,
    pub(super) ended: bool,
    pub(super) at: Pos,
}

/// A macro.
pub(super) struct Macro<'a> {
    pub(super) params: Vec<Param>,
    pub(super) body: Rc<Vec<Line<'a>>>,
    pub(super) at: Pos,
}

/// A parameter of a macro.
pub(super) struct Param {
    pub(super) name: String,
    pub(super) default: String,
    pub(super) required: bool,
    pub(super) vararg: bool,
}

/// Statements that are being read, perhaps several times.
pub(super) struct Frame<'a> {
    pub(super) lines: Rc<Vec<Line<'a>>>,
    pub(super) next: usize,
    pub(super) again: u64,
    /// Which macro or directive made it, and where that was used.
    pub(super) used: Option<(String, Pos)>,
    /// How many conditions are open around it.
    pub(super) conditions: usize,
}

impl<'a> Frame<'a> {
    pub(super) fn new(lines: Vec<Line<'a>>, used: Option<(String, Pos)>) -> Self {
        Self { lines: Rc::new(lines), next: 0, again: 0, used, conditions: 0 }
    }

    pub(super) fn next(&mut self) -> Option<(Rc<Vec<Line<'a>>>, usize)> {
        if self.next == self.lines.len() {
            self.again = self.again.checked_sub(1)?;
            self.next = 0;
        }
        let index = self.next;
        self.next += 1;
        (index < self.lines.len()).then(|| (self.lines.clone(), index))
    }
}
