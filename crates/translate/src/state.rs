//! The layout that translated code and its caller share.

use tollgate_riscv::tier::{self, Kind, Observed, Passed, Quiet, Reported, Start, TlbEntry};
use tollgate_riscv::{INSTRUCTIONS, Op};

/// What a translation shares with its caller.
#[repr(C)]
pub(crate) struct State<'a> {
    pub(crate) x: *mut u64,
    pub(crate) f: *mut u64,
    pub(crate) fflags: u64,
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
    pub(crate) limit: u64,
    pub(crate) pc: u64,
    pub(crate) interpret: u64,
    /// Which accesses are quiet to the observer, and what retired that it was not told of.
    pub(crate) fetches: Probe,
    pub(crate) data: Probe,
    pub(crate) passed: Passed,
    /// Not for translations.
    pub(crate) observed: Option<Observed<'a>>,
}

/// A [`Quiet`] for translations.
#[repr(C)]
pub(crate) struct Probe {
    // (No two fields that a quiet has side by side: they would be copied together, and wait for each other's stores.)
    pub(crate) page_mask: u64,
    pub(crate) lines: *const u64,
    pub(crate) page: u64,
    /// The index of the last line in the table: one less than a power of two, and within the table.
    pub(crate) last: u64,
}

/// A table in which no line is quiet.
static LOUD: [u64; 1] = [0];

impl Probe {
    /// What a translation needs of it.
    #[inline]
    pub(crate) fn new(quiet: Quiet<'_>) -> Self {
        let Quiet { lines, page_mask, page } = quiet;
        let lines = if lines.is_empty() { &LOUD } else { lines };
        Probe { lines: lines.as_ptr(), last: (1 << lines.len().ilog2()) - 1, page_mask, page }
    }

    /// What is quiet of fetches.
    pub(crate) fn of_fetches(observed: &Observed<'_>) -> Self {
        Self::new(observed.counter.quiet_fetches(observed.privilege))
    }

    /// What is quiet of data.
    pub(crate) fn of_data(observed: &Observed<'_>) -> Self {
        Self::new(observed.counter.quiet_data(observed.privilege))
    }
}

/// Reports an access to the observer; `what` is of [`report_code`].
pub(crate) extern "C" fn report(state: &mut State<'_>, what: u64, va: u64, pa: u64) {
    let Some(observed) = &mut state.observed else { return };
    let kind = match what >> 8 {
        0 => Kind::Fetch,
        1 => Kind::Load,
        _ => Kind::Store,
    };
    let privilege = observed.privilege;
    observed.counter.report(&Reported { kind, va, pa, size: what as u8, privilege });
    // (A load or store does not change which fetches are quiet.)
    if kind == Kind::Fetch {
        state.fetches = Probe::of_fetches(observed);
    }
    state.data = Probe::of_data(observed);
}

/// What [`report`] receives of an access.
pub(crate) fn report_code(kind: Kind, size: u64) -> u64 {
    (kind as u64) << 8 | size
}

/// Does a floating-point instruction for a translation; `what` is its op and rounding mode.
pub(crate) extern "C" fn float(state: &mut State<'_>, what: u64, a: u64, b: u64, c: u64) -> u64 {
    let [_, _, _, _, _, rounding, high, low] = what.to_be_bytes();
    let Some(row) = INSTRUCTIONS.get(usize::from(u16::from_be_bytes([high, low]))) else { return 0 };
    let mut flags = state.fflags as u8;
    let value = tier::float(row.op, rounding, &mut flags, [a, b, c]);
    state.fflags = flags.into();
    value
}

/// What [`float`] receives of an instruction.
pub(crate) fn float_code(op: Op, rounding: u8) -> u64 {
    u64::from(rounding) << 16 | u64::from(op as u16)
}
