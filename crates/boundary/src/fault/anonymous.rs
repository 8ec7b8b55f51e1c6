//! The first write to a page of fresh memory: the kernel finds a page, clears it and maps it.

use crate::region::Region;
use std::{mem, ptr};
use tollgate_measure::{Claim, Crossing, Facts, Meta, Placement, Probe, Refusal, Site};
use tollgate_record::Per;
use tollgate_record::family::{ProbeAsked, ProbeFound};

/// The probe `fault/anonymous`.
pub(crate) struct Anonymous;

static META: Meta = Meta {
    id: "fault/anonymous",
    what: "first write to a page of anonymous memory: a page is found, cleared and mapped",
    per: Per::Touch,
    crossings_per_pass: 1,
    placement: Placement::One,
    proof: &[Claim::exact("minor_per_touch")],
};

/// Pages of the region: about half a millisecond of faults, and memory that a second-level cache holds.
const PAGES: usize = 512;

impl Probe for Anonymous {
    fn meta(&self) -> &Meta {
        &META
    }

    fn open(&self, _: &Site) -> Result<Box<dyn Crossing>, Refusal> {
        let mut region = Region::new(PAGES)?;
        // One fault must be one page. A kernel without huge pages does not know the advice.
        match region.advise(PAGES, libc::MADV_NOHUGEPAGE) {
            Err(error) if error.raw_os_error() != Some(libc::EINVAL) => {
                return Err(Refusal::Failed(format!("switch huge pages off: {error}")));
            }
            _ => {}
        }
        let mut open = Open { region, batch: None, faults: Some(0) };
        // First touch of memory that a hypervisor has taken back costs many times more: have it back,
        // and give it to the kernel's free lists, from which the batches will take it.
        open.prepare(PAGES as u64)?;
        open.cross(PAGES as u64)?;
        open.batch = None;
        Ok(Box::new(open))
    }
}

/// Minor faults of this thread so far.
pub(crate) fn minor_faults() -> Option<u64> {
    // SAFETY: rusage is plain data for which all zeroes is valid.
    let mut usage: libc::rusage = unsafe { mem::zeroed() };
    // SAFETY: `usage` is a valid place to write to.
    (unsafe { libc::getrusage(libc::RUSAGE_THREAD, &mut usage) } == 0)
        .then(|| u64::try_from(usage.ru_minflt).unwrap_or_default())
}

/// A batch that was prepared.
struct Batch {
    /// Pages that were unmapped for it.
    pages: usize,
    /// The thread's count of faults before it.
    before: Option<u64>,
}

struct Open {
    region: Region,
    batch: Option<Batch>,
    /// Counted in the batches since the last proof; `None` when the count was not to be had.
    faults: Option<u64>,
}

impl Open {
    /// Adds the faults of the batch that has ended: what the thread's count has grown by, but no more
    /// than the pages that have come to be mapped. The thread may have faulted elsewhere since, and
    /// reading the count as soon as the batch ends would be in the clock.
    fn close_batch(&mut self) {
        let Some(Batch { pages, before }) = self.batch.take() else { return };
        let grown = before.zip(minor_faults()).map(|(before, now)| now - before);
        let mapped = self.region.resident(pages).ok().map(|pages| pages as u64);
        let faults = grown.zip(mapped).map(|(grown, mapped)| grown.min(mapped));
        self.faults = self.faults.zip(faults).map(|(sum, more)| sum + more);
    }
}

impl Crossing for Open {
    fn prepare(&mut self, passes: u64) -> Result<(), Refusal> {
        self.close_batch();
        let pages = usize::try_from(passes).unwrap_or(usize::MAX);
        if pages > PAGES {
            return Err(Refusal::Failed(format!("{pages} touches do not fit into {PAGES} pages")));
        }
        self.region
            .advise(pages, libc::MADV_DONTNEED)
            .map_err(|error| Refusal::Failed(format!("give {pages} pages back: {error}")))?;
        self.batch = Some(Batch { pages, before: minor_faults() });
        Ok(())
    }

    fn cross(&mut self, passes: u64) -> Result<(), Refusal> {
        let pages = (passes as usize).min(self.region.pages());
        let (mut page, step) = (self.region.page(0), self.region.page_bytes());
        for _ in 0..pages {
            // SAFETY: `pages` pages from the start of the region are mapped and writable.
            unsafe { ptr::write_volatile(page, 1) };
            page = page.wrapping_add(step);
        }
        Ok(())
    }

    fn prove(&mut self, counts: &mut [Option<u64>]) -> Result<(), Refusal> {
        self.close_batch();
        counts[0] = self.faults.replace(0);
        Ok(())
    }

    fn most_passes(&self) -> u64 {
        PAGES as u64
    }

    fn facts(&self) -> Facts {
        let asked = ProbeAsked { region_pages: Some(PAGES as u64), ..ProbeAsked::default() };
        let found = ProbeFound { page_bytes: Some(self.region.page_bytes() as u64), ..ProbeFound::default() };
        Facts::of_probe(asked, found)
    }
}

#[cfg(test)]
mod tests {
    use super::{Anonymous, Open, PAGES, Region};
    use crate::testing::alone;
    use tollgate_measure::{Crossing, Probe, Site};

    #[test]
    fn one_fault_for_each_touch_and_none_for_a_second_touch() {
        let _turn = alone();
        let mut open = Anonymous.open(&Site { cpu: 0, peer: None }).unwrap();
        let mut counts = [None];
        for passes in [1, 7, PAGES as u64] {
            open.prepare(passes).unwrap();
            open.cross(passes).unwrap();
            open.cross(passes).unwrap();
            open.prove(&mut counts).unwrap();
            assert_eq!(counts, [Some(passes)]);
        }
        open.cross(PAGES as u64).unwrap();
        open.prove(&mut counts).unwrap();
        assert_eq!(counts, [Some(0)], "nothing was unmapped, so nothing may be counted");
    }

    #[test]
    fn several_batches_before_one_proof_add_up() {
        let _turn = alone();
        let mut open = Anonymous.open(&Site { cpu: 0, peer: None }).unwrap();
        let mut counts = [None];
        for passes in [3, 4] {
            open.prepare(passes).unwrap();
            open.cross(passes).unwrap();
        }
        open.prove(&mut counts).unwrap();
        assert_eq!(counts, [Some(7)]);
    }

    #[test]
    fn faults_elsewhere_are_not_counted_and_missing_ones_not_made_up() {
        let _turn = alone();
        let mut open = Anonymous.open(&Site { cpu: 0, peer: None }).unwrap();
        let mut other = Anonymous.open(&Site { cpu: 0, peer: None }).unwrap();
        other.prepare(PAGES as u64).unwrap();
        open.prepare(5).unwrap();
        open.cross(3).unwrap();
        other.cross(PAGES as u64).unwrap();
        let mut counts = [None];
        open.prove(&mut counts).unwrap();
        assert_eq!(counts, [Some(3)]);
    }

    #[test]
    fn a_huge_page_would_show_as_too_few_faults() {
        let _turn = alone();
        let mut region = Region::new(PAGES).unwrap();
        region.advise(PAGES, libc::MADV_NOHUGEPAGE).unwrap_or(());
        let mut open = Open { region, batch: None, faults: Some(0) };
        open.prepare(8).unwrap();
        open.cross(8).unwrap();
        // As if the kernel had mapped all eight at the first touch.
        if let Some(before) = open.batch.as_mut().and_then(|batch| batch.before.as_mut()) {
            *before += 7;
        }
        let mut counts = [None];
        open.prove(&mut counts).unwrap();
        assert!(matches!(counts, [Some(1..8)]), "{counts:?}");
    }

    #[test]
    fn more_than_the_region_is_refused() {
        let mut open = Anonymous.open(&Site { cpu: 0, peer: None }).unwrap();
        let most = open.most_passes();
        assert!(open.prepare(most).is_ok());
        assert!(open.prepare(most + 1).is_err());
    }
}
