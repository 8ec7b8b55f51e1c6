//! The cells of a matrix of rings.

use super::bill::Cell;
use super::need::{Room, too_large};
use super::sizes::Sizes;
use super::spec::{Pages, Spec};
use tollgate_record::Host;

/// A cell for each number of tasks and each size, otherwise like `first`.
///
/// # Errors
/// Huge pages on a host where they are off, or the first cell that there is no room for.
pub fn cells_of(
    first: &Spec,
    procs: &[u32],
    sizes: &Sizes,
    host: &Host,
    room: Option<Room>,
) -> Result<Vec<Cell>, String> {
    if first.pages == Pages::Huge && host.transparent_huge_pages.as_deref().is_none_or(|it| it == "never") {
        return Err(
            "--pages huge needs transparent huge pages, which are off on this host; use --pages 4k, or \
                    have the administrator write madvise to /sys/kernel/mm/transparent_hugepage/enabled"
                .into(),
        );
    }
    let specs = procs.iter().flat_map(|&procs| {
        sizes.of(procs, &host.caches, room).into_iter().map(move |bytes| first.of(procs, bytes))
    });
    specs
        .map(|spec| match room.and_then(|room| too_large(&spec, room)) {
            Some(why) => Err(why),
            None => Ok(Cell::new(spec)),
        })
        .collect()
}
