//! Code that was written and is executed without `fence.i` in between: on a real core the old instructions may run.

use std::collections::HashMap;

use tollgate_riscv::{Access, Observer, Op, Retired};

use crate::symbols::Symbols;

/// Bytes of a page, and of a piece of it: each piece is watched by itself, and an instruction begins at an even address.
const PAGE: u64 = 4096;
const PIECE: u64 = 2;
const WORDS: usize = (PAGE / PIECE / 64) as usize;
/// How many places are named.
const NAMED: usize = 4;

/// What was written in a page since the last `fence.i`.
struct Page {
    written: [u64; WORDS],
    /// The instruction that wrote last.
    by: u64,
}

/// An instruction that was executed although it had been written.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Stale {
    pc: u64,
    by: u64,
}

/// Watches stores and fetches. Its memory is a sixteenth of what the program writes.
#[derive(Default)]
pub(super) struct Fence {
    pages: HashMap<u64, Page>,
    /// The page that the instruction which is about to retire wrote.
    stored: Option<u64>,
    stale: Vec<Stale>,
    times: u64,
}

impl Fence {
    /// A warning with the places, if there is one to give.
    pub(super) fn tell(&self, symbols: &mut Symbols) -> Option<String> {
        let mut place = |pc: u64| match symbols.at(pc) {
            0 => format!("{pc:#x}"),
            name => format!("{pc:#x} in {}", symbols.names()[name]),
        };
        let places: Vec<String> = (self.stale.iter())
            .map(|stale| format!("{}, in a page written by {}", place(stale.pc), place(stale.by)))
            .collect();
        (self.times > 0).then(|| {
            format!(
                "code was executed after it had been written, without fence.i in between, so a core may execute what was \
                 there before ({} times): {}",
                self.times,
                places.join("; ")
            )
        })
    }

    fn is_written(&self, pa: u64) -> Option<u64> {
        let page = self.pages.get(&(pa / PAGE))?;
        let piece = (pa % PAGE / PIECE) as usize;
        (page.written[piece / 64] >> (piece % 64) & 1 != 0).then_some(page.by)
    }
}

impl Observer for Fence {
    const RETIRE: bool = true;
    const MEMORY: bool = true;

    fn access(&mut self, access: &Access) {
        if !access.store {
            return;
        }
        let number = access.pa / PAGE;
        let page = self.pages.entry(number).or_insert(Page { written: [0; WORDS], by: 0 });
        // Of an access to two pages only the first part has a known address.
        let (first, end) = (access.pa % PAGE, (access.pa % PAGE + u64::from(access.size)).min(PAGE));
        for piece in first / PIECE..end.div_ceil(PIECE) {
            page.written[piece as usize / 64] |= 1 << (piece % 64);
        }
        self.stored = Some(number);
    }

    fn retire(&mut self, retired: &Retired) {
        if let Some(page) = self.stored.take().and_then(|number| self.pages.get_mut(&number)) {
            page.by = retired.pc;
        }
        if retired.insn.op == Op::FenceI {
            self.pages.clear();
            return;
        }
        let halves = [Some(retired.pa), (retired.insn.len == 4).then(|| retired.pa.wrapping_add(PIECE))];
        let Some(by) = halves.into_iter().flatten().find_map(|pa| self.is_written(pa)) else { return };
        self.times += 1;
        let stale = Stale { pc: retired.pc, by };
        if self.stale.len() < NAMED && !self.stale.iter().any(|known| known.pc == stale.pc) {
            self.stale.push(stale);
        }
    }
}
