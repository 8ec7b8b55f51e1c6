//! What the front end sees of calls and branches.

/// What the front end sees on its way, and does not take back.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    pub(super) returns: Vec<u64>,
    pub(super) latest: u8,
    /// Whether it knows that it is on a wrong path: nothing leaves a mark there.
    pub(super) wrong: bool,
}

impl Seen {
    /// The front end takes what it sees from now on for a wrong path.
    pub(super) fn lose(&mut self) {
        self.wrong = true;
    }

    pub(super) fn push(&mut self, address: u64) {
        if !self.wrong {
            self.returns.push(address);
        }
    }

    pub(super) fn pop(&mut self) -> Option<u64> {
        if self.wrong { self.returns.last().copied() } else { self.returns.pop() }
    }
}
