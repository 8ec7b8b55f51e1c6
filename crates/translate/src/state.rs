//! The layout that translated code and its caller share.

use std::cell::Cell;

use tollgate_riscv::tier::{
    self, Kind, LOG, Log, Observed, Passed, Quiet, ROOM, Reported, Sight, Start, TlbEntry,
};
use tollgate_riscv::{INSTRUCTIONS, Op, Pass, Touch};

/// No address that an aligned access has.
pub(crate) const NOT_RESERVED: u64 = u64::MAX;

/// The state that a translation shares with its caller.
#[repr(C)]
pub(crate) struct State<'a, 'b> {
    pub(crate) x: *mut u64,
    pub(crate) f: *mut u64,
    pub(crate) fflags: u64,
    /// The physical address that is reserved, or [`NOT_RESERVED`].
    pub(crate) reserved: u64,
    pub(crate) ram: *mut u8,
    pub(crate) ram_bytes: u64,
    pub(crate) loads: *const TlbEntry,
    pub(crate) stores: *const TlbEntry,
    pub(crate) starts: *const Start,
    pub(crate) context: u64,
    /// The code of each translation, and how many there are.
    pub(crate) codes: *const *const u8,
    pub(crate) count: u64,
    pub(crate) retired: u64,
    /// When to look whether there is more to do than to go on.
    pub(crate) soon: u64,
    pub(crate) limit: u64,
    pub(crate) pc: u64,
    pub(crate) interpret: u64,
    /// Which accesses are quiet to the observer, and what retired that was not reported to it.
    pub(crate) fetches: Probe,
    pub(crate) data: Probe,
    pub(crate) passed: Passed,
    pub(crate) cursors: Cursors,
    /// Where the next loud line is noted, and where there is no more room for one.
    pub(crate) noted: *mut u64,
    pub(crate) noted_end: *const u64,
    /// Not for translations.
    pub(crate) loud: &'b mut Loud,
    pub(crate) observed: Option<Observed<'a>>,
}

/// The state of translations for counting observers, besides the observer.
#[derive(Default)]
pub(crate) struct Loud {
    /// In place of the tables of an observer that has shorter ones than those that code was translated for: of fetches, and of data.
    tables: [Vec<u64>; 2],
    /// Loud lines that were not reported yet.
    noted: Vec<u64>,
}

/// How many of them there is room for.
const NOTED: usize = 128;

impl Loud {
    /// Makes room for what code needs of which [`Sight`] this is a part.
    pub(crate) fn need(&mut self, sight: &Sight) {
        for (table, view) in self.tables.iter_mut().zip([sight.fetches, sight.data]) {
            let count = view.lines.map_or(1, |lines| lines.count as usize);
            table.resize(table.len().max(count), 0);
        }
        self.noted.resize(NOTED, 0);
    }

    /// Where lines are noted.
    pub(crate) fn room(&mut self) -> std::ops::Range<*mut u64> {
        self.noted.as_mut_ptr_range()
    }

    /// The quiet lines and pages of fetches or of data.
    fn probe(&mut self, kind: usize, quiet: Quiet<'_>) -> Probe {
        let Quiet { lines, page_mask, page } = quiet;
        let table = &mut self.tables[kind];
        let lines =
            if lines.len() < table.len() { Cell::from_mut(&mut **table).as_slice_of_cells() } else { lines };
        Probe { lines: lines.as_ptr().cast(), page_mask, page }
    }

    /// The quiet lines and pages of fetches and of data.
    pub(crate) fn probes(&mut self, observed: Option<&mut Observed<'_>>) -> [Probe; 2] {
        match observed {
            Some(Observed::Counter { counter, privilege }) => {
                let fetches = self.probe(0, counter.quiet_fetches(*privilege));
                [fetches, self.probe(1, counter.quiet_data(*privilege))]
            }
            _ => [0, 1].map(|kind| self.probe(kind, Quiet::default())),
        }
    }
}

/// Where translations write next to a [`Log`].
#[repr(C)]
pub(crate) struct Cursors {
    pub(crate) passes: *mut Pass,
    pub(crate) accesses: *mut Touch,
    pub(crate) operands: *mut [u64; 2],
}

impl Cursors {
    /// Those of an empty log, if the observer has one.
    pub(crate) fn new(observed: Option<&mut Observed<'_>>) -> Self {
        let null = std::ptr::null_mut();
        let mut cursors = Cursors { passes: null, accesses: null.cast(), operands: null.cast() };
        if let Some(Observed::Runs { log, .. }) = observed {
            cursors.reset(log);
        }
        cursors
    }

    /// To the begin of a log.
    fn reset(&mut self, log: &mut Log<'_>) {
        self.passes = log.passes.as_mut_ptr();
        self.accesses = log.accesses.as_mut_ptr();
        self.operands = log.operands.as_mut_ptr();
    }

    /// Notes in a log, which was empty, how much has been written to it.
    fn note(&self, log: &mut Log<'_>) {
        let entries = |now: usize, first: usize| (now.wrapping_sub(first) / size_of::<Pass>()).min(LOG);
        log.noted = entries(self.passes as usize, log.passes.as_ptr() as usize);
        log.accessed = entries(self.accesses as usize, log.accesses.as_ptr() as usize);
        log.operated = entries(self.operands as usize, log.operands.as_ptr() as usize);
    }
}

impl State<'_, '_> {
    /// Tells an observer of runs what has retired, and empties the log.
    pub(crate) fn tell(&mut self) {
        let Some(Observed::Runs { log, receiver }) = &mut self.observed else { return };
        self.cursors.note(log);
        if log.noted > 0 {
            receiver.receive(log, self.retired);
        }
        self.cursors.reset(log);
        self.soon = self.limit.min(self.retired.saturating_add(ROOM));
    }

    /// Reports what was noted to an observer that counts.
    pub(crate) fn report_noted(&mut self) {
        let room = self.loud.room();
        let noted = (self.noted as usize).wrapping_sub(room.start as usize) / size_of::<u64>();
        self.noted = room.start;
        if let (Some(noted @ [_, ..]), Some(Observed::Counter { counter, privilege })) =
            (self.loud.noted.get(..noted), &mut self.observed)
        {
            counter.report_noted(noted);
            self.data = self.loud.probe(1, counter.quiet_data(*privilege));
        }
    }

    /// Reports an access to an observer that counts.
    fn report(&mut self, what: u64, va: u64, pa: u64) {
        let Some(Observed::Counter { counter, privilege }) = &mut self.observed else { return };
        let kind = match what >> 8 {
            0 => Kind::Fetch,
            1 => Kind::Load,
            _ => Kind::Store,
        };
        counter.report(&Reported { kind, va, pa, size: what as u8, privilege: *privilege });
        // (A load or store does not change which fetches are quiet.)
        if kind == Kind::Fetch {
            self.fetches = self.loud.probe(0, counter.quiet_fetches(*privilege));
        }
        self.data = self.loud.probe(1, counter.quiet_data(*privilege));
    }
}

/// A [`Quiet`] for translations.
#[repr(C)]
pub(crate) struct Probe {
    // (No two fields that a quiet has side by side: they would be copied together, and wait for each other's stores.)
    pub(crate) page_mask: u64,
    /// At least as many as translations index.
    pub(crate) lines: *const u64,
    pub(crate) page: u64,
}

/// Reports to the observer an access, of which `what` is [`report_code`], with the entries before it; or, if it receives
/// runs, the log.
pub(crate) extern "C" fn report(state: &mut State<'_, '_>, what: u64, va: u64, pa: u64) {
    state.report_noted();
    match state.observed {
        Some(Observed::Counter { .. }) if what != 0 => state.report(what, va, pa),
        _ => state.tell(),
    }
}

/// The code of an access for [`report`].
pub(crate) fn report_code(kind: Kind, size: u64) -> u64 {
    (kind as u64) << 8 | size
}

/// Does an instruction on registers for a translation; `what` is its op and rounding mode.
pub(crate) extern "C" fn called(state: &mut State<'_, '_>, what: u64, a: u64, b: u64, c: u64) -> u64 {
    let [_, _, _, _, _, rounding, high, low] = what.to_be_bytes();
    let Some(row) = INSTRUCTIONS.get(usize::from(u16::from_be_bytes([high, low]))) else { return 0 };
    let mut flags = state.fflags as u8;
    let value = tier::result(row.op, rounding, &mut flags, [a, b, c]);
    state.fflags = flags.into();
    value
}

/// The code of an instruction for [`called`].
pub(crate) fn called_code(op: Op, rounding: u8) -> u64 {
    u64::from(rounding) << 16 | u64::from(op as u16)
}
