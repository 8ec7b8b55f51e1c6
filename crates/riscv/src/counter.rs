//! The reports of translations to a counting observer.
//!
//! To a cache, an access to the line that was accessed last in its set changes nothing but counts; to a translation buffer, an
//! access to the page that was translated last does not either. Such accesses are *quiet*. A translation counts all accesses,
//! and reports those that are not quiet. So an observer of any number of caches needs two lines of a table here: what it
//! has to see ([`Sight`]), and what is quiet at the moment ([`Quiet`]).
//!
//! Most accesses that are not quiet make their line quiet, and nothing else. A translation enters such a line in the table itself,
//! and notes the access. It reports many of them at once.

use std::cell::Cell;

use crate::privilege::Privilege;

/// An observer to which most accesses are quiet. Its counts are the same with and without translations.
pub trait Counter {
    /// The accesses that it must receive. (Code is translated anew when this has changed.)
    fn sight(&self) -> Sight;

    /// Which fetches are quiet in a mode. Only a fetch changes it.
    fn quiet_fetches(&mut self, privilege: Privilege) -> Quiet<'_>;

    /// Which loads and stores are quiet in a mode.
    fn quiet_data(&mut self, privilege: Privilege) -> Quiet<'_>;

    /// Loads and stores whose lines were not quiet, and are now ([`LineView::fills`]), in the form of [`Quiet::lines`]: 3 is added for a
    /// store, 1 for a load. [`count`](Self::count) will count them. They come before everything that is reported later.
    fn report_noted(&mut self, noted: &[u64]);

    /// An access that [`count`](Self::count) will count: each one that is not quiet, in order, and perhaps some that are. Of one
    /// instruction, the fetch comes first.
    fn report(&mut self, access: &Reported);

    /// So much has retired, with what was reported.
    fn count(&mut self, passed: &Passed);
}

/// The accesses that an observer must receive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sight {
    /// Of fetches.
    pub fetches: View,
    /// Of loads and stores, which are aligned.
    pub data: View,
    /// Whether it counts bytes too.
    pub bytes: bool,
}

/// The accesses of one kind that an observer must receive; none by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct View {
    /// Accesses to lines of a cache that are not quiet.
    pub lines: Option<LineView>,
    /// Accesses to pages that are not quiet.
    pub pages: bool,
}

/// The view of the lines of a cache ([`Cache::line_view`](crate::cache::Cache::line_view)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineView {
    /// The size of a line as a power of two.
    pub shift: u32,
    /// The length of [`Quiet::lines`], a power of two.
    pub count: u32,
    /// Whether each access makes its line quiet, and stores make it quiet to stores: in caches that write back and allocate. Then loads
    /// and stores that would be reported for no other reason are noted ([`Counter::report_noted`]).
    pub fills: bool,
}

/// Which accesses are quiet: those to both a quiet line and the quiet page, as far as a [`View`] has them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Quiet<'a> {
    /// One entry for all lines whose numbers have the same lowest bits; a power of two of them. It is the number of a line, times 4, plus 1 if
    /// accesses to it are quiet, plus 2 if stores are as well. Translations write what they note.
    pub lines: &'a [Cell<u64>],
    /// The bits of a virtual address that are those of its page.
    pub page_mask: u64,
    /// The counter of those in the quiet page.
    pub page: u64,
}

/// Why memory was accessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// To fetch an instruction.
    Fetch,
    /// By a load.
    Load,
    /// By a store.
    Store,
}

/// An access that is reported to a [`Counter`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reported {
    /// Why.
    pub kind: Kind,
    /// Its virtual address.
    pub va: u64,
    /// Its physical address.
    pub pa: u64,
    /// How many bytes.
    pub size: u8,
    /// The mode.
    pub privilege: Privilege,
}

/// Counts of instructions that retired in translations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Passed {
    /// Instructions, each of them fetched once.
    pub instructions: u64,
    /// Loads.
    pub loads: u64,
    /// Stores.
    pub stores: u64,
    /// Bytes of the instructions; this and the next two are 0 unless [`Sight::bytes`] is set.
    pub fetched_bytes: u64,
    /// Bytes of the loads.
    pub loaded_bytes: u64,
    /// Bytes of the stores.
    pub stored_bytes: u64,
}
