//! Page faults that the kernel handles, taken apart by its own software events, and where that is allowed by a
//! BPF program at the kernel's door.

use super::matched::{By, Events, Turn, Window, cut, watch};
use crate::fault::minor_faults;
use crate::region::Region;
use std::ptr;
use tollgate_measure::clock::Now;
use tollgate_measure::dissection::{Dissection, Part, Term};
use tollgate_measure::stamps::{Span, Stamper, Tracepoint};
use tollgate_measure::{Claim, Crossing, Facts, Meta, Placement, Probe, Refusal, Site};
use tollgate_record::family::{ProbeAsked, ProbeFound};
use tollgate_record::{Evidence, Per};

/// A kind of touch that faults.
pub(crate) struct Fault {
    meta: Meta,
    kind: Kind,
    by: By,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    /// The first write to anonymous memory.
    Anonymous,
    /// The first read of anonymous memory.
    Zero,
    /// The first read of a file's pages that are in the page cache.
    File,
}

static PROOF: [Claim; 1] = [Claim::exact("minor_per_touch")];

/// What the rows have in common.
const META: Meta = Meta {
    id: "",
    what: "",
    per: Per::Touch,
    crossings_per_pass: 1,
    placement: Placement::One,
    proof: &PROOF,
};

pub(crate) static ANONYMOUS: Fault = Fault {
    meta: Meta {
        id: "fault/anonymous",
        what: "first write to a page of anonymous memory: a page is found, cleared and mapped",
        ..META
    },
    kind: Kind::Anonymous,
    by: By::Event,
};

pub(super) static ZERO_PAGE: Fault = Fault {
    meta: Meta {
        id: "fault/zero-page",
        what: "first read of a page of anonymous memory: the page of zeroes is mapped",
        ..META
    },
    kind: Kind::Zero,
    by: By::Event,
};

pub(super) static CACHED_FILE: Fault = Fault {
    meta: Meta {
        id: "fault/cached-file",
        what: "first read of a file in the page cache: it and its neighbours are mapped",
        ..META
    },
    kind: Kind::File,
    by: By::Event,
};

/// The three once more, with the entry stamped by the tracepoint.
pub(super) static ANONYMOUS_TRACEPOINT: Fault = Fault {
    meta: Meta {
        id: "fault/anonymous-tracepoint",
        what: "first write to a page of anonymous memory, its entry stamped by a BPF program",
        ..META
    },
    kind: Kind::Anonymous,
    by: By::Tracepoint,
};

pub(super) static ZERO_PAGE_TRACEPOINT: Fault = Fault {
    meta: Meta {
        id: "fault/zero-page-tracepoint",
        what: "first read of a page of anonymous memory, its entry stamped by a BPF program",
        ..META
    },
    kind: Kind::Zero,
    by: By::Tracepoint,
};

pub(super) static CACHED_FILE_TRACEPOINT: Fault = Fault {
    meta: Meta {
        id: "fault/cached-file-tracepoint",
        what: "first read of a file in the page cache, its entry stamped by a BPF program",
        ..META
    },
    kind: Kind::File,
    by: By::Tracepoint,
};

/// Touches of a region at the most.
const TOUCHES: usize = 256;
/// Bytes between two touches of a file: the kernel maps the neighbours of a page that is touched, within an
/// aligned window of 64 KiB (fault_around_bytes).
const AROUND: usize = 64 << 10;

impl Probe for Fault {
    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn open(&self, _: &Site) -> Result<Box<dyn Crossing>, Refusal> {
        let page = Region::new(1)?.page_bytes();
        let step = if self.kind == Kind::File { AROUND.max(page) } else { page };
        let pages = TOUCHES * step / page;
        let mut region = if self.kind == Kind::File { Region::of_file(pages)? } else { Region::new(pages)? };
        // One fault must be one page. A kernel without huge pages does not know the advice.
        match region.advise(pages, libc::MADV_NOHUGEPAGE) {
            Err(error) if error.raw_os_error() != Some(libc::EINVAL) => {
                return Err(Refusal::Failed(format!("switch huge pages off: {error}")));
            }
            _ => {}
        }
        let tracepoint = match self.by {
            By::Event => None,
            By::Tracepoint => Some(Tracepoint::open(region.page(0).addr(), pages * page)?),
        };
        let events = Events::open();
        let kind = self.kind;
        let mut open = Open {
            region,
            kind,
            step,
            events,
            tracepoint,
            turn: Turn::default(),
            before: None,
            faults: Some(0),
        };
        // Memory that a hypervisor has taken back comes back at its first touch, at a price of its own.
        open.prepare(TOUCHES as u64)?;
        open.cross(TOUCHES as u64)?;
        open.before = None;
        Ok(Box::new(open))
    }
}

struct Open {
    region: Region,
    kind: Kind,
    step: usize,
    events: Result<Events, Refusal>,
    tracepoint: Option<Tracepoint>,
    turn: Turn,
    /// Touches of the batch that was prepared and the thread's count of faults before it.
    before: Option<(u64, Option<u64>)>,
    faults: Option<u64>,
}

impl Open {
    fn clear(&mut self) -> Result<(), Refusal> {
        let pages = self.region.pages();
        let cleared = self.region.advise(pages, libc::MADV_DONTNEED);
        cleared.map_err(|error| Refusal::Failed(format!("give {pages} pages back: {error}")))
    }

    /// The thread may have faulted elsewhere since the batch: no more than were touched can count, and of
    /// anonymous pages no more than are there now.
    fn close_batch(&mut self) {
        let Some((touches, before)) = self.before.take() else { return };
        let most = match self.kind {
            Kind::Anonymous => self.region.resident(touches as usize).ok().map(|pages| pages as u64),
            Kind::Zero | Kind::File => Some(touches),
        };
        let grown = before.zip(minor_faults()).and_then(|(before, now)| now.checked_sub(before));
        let grown = grown.zip(most).map(|(grown, most)| grown.min(most));
        self.faults = self.faults.zip(grown).map(|(sum, more)| sum + more);
    }

    fn windows(&mut self, count: usize, now: Now, windows: &mut [Window]) {
        let mut page = self.region.page(0);
        for window in windows.iter_mut().take(count) {
            let before = now();
            touch(self.kind, page);
            let after = now();
            *window = Window { before, after, page: page.addr() };
            page = page.wrapping_add(self.step);
        }
    }

    /// Faults watched by one stamper.
    fn watched(
        &mut self,
        stamper: &mut dyn Stamper,
        count: usize,
        now: Now,
    ) -> Result<Vec<(Window, u64)>, Refusal> {
        self.clear()?;
        // Written before, so that storing a window does not fault.
        let mut windows = vec![Window { page: 1, ..Window::default() }; count];
        let page = self.region.page_bytes();
        watch(stamper, now, page, || {
            self.windows(count, now, &mut windows);
            windows
        })
    }

    /// Both events in turn, and the tracepoint where there is one.
    fn stamp(
        &mut self,
        events: &mut Events,
        tracepoint: Option<&mut Tracepoint>,
        count: usize,
        now: Now,
        lanes: &mut [Vec<Span>],
    ) -> Result<(), Refusal> {
        let entry = self.watched(&mut events.entry, count, now)?;
        let handled = self.watched(&mut events.handled, count, now)?;
        let door = tracepoint.map(|it| self.watched(it, count, now)).transpose()?;
        if let [to_entry, to_end, back, with_entry, with_end, door_lanes @ ..] = lanes {
            cut(&entry, Some(to_entry), None, Some(with_entry));
            cut(&handled, Some(to_end), Some(back), Some(with_end));
            if let (Some(door), [to_door, with_door]) = (door, door_lanes) {
                cut(&door, Some(to_door), None, Some(with_door));
            }
        }
        Ok(())
    }
}

#[inline(always)]
fn touch(kind: Kind, page: *mut u8) {
    // SAFETY: the caller's page is mapped, and writable when it is written.
    unsafe {
        match kind {
            Kind::Anonymous => ptr::write_volatile(page, 1),
            Kind::Zero | Kind::File => drop(ptr::read_volatile(page)),
        }
    }
}

/// Lanes: to the stamp of the entry, to the stamp of the end, from there back, and the whole with either; with
/// the tracepoint also to its stamp, and the whole with it.
fn dissection(by: By) -> Dissection {
    let difference = Evidence::Difference;
    let mut instrumented = vec![(3, "page_faults_event".into()), (4, "page_faults_min_event".into())];
    let mut mapped = vec![(0, 1), (1, 1), (2, -1)];
    let (lanes, entry) = match by {
        By::Event => (5, 0),
        By::Tracepoint => {
            instrumented.push((6, "page_fault_user_tracepoint".into()));
            mapped.push((5, 1));
            (7, 5)
        }
    };
    Dissection {
        lanes,
        parts: vec![
            Part::lane("entry", Evidence::KernelTimestamp, entry),
            Part::sum("handling", difference, &[(1, Term::Lane(1)), (-1, Term::Lane(entry))]),
            // What an event costs is known from the run of the other one.
            Part::sum("return", difference, &[(1, Term::Lane(2)), (-1, Term::Lane(3)), (1, Term::Batches)]),
        ],
        total: Term::Batches,
        instrumented,
        mapped,
    }
}

impl Crossing for Open {
    fn prepare(&mut self, passes: u64) -> Result<(), Refusal> {
        self.close_batch();
        if passes > TOUCHES as u64 {
            return Err(Refusal::Failed(format!("{passes} touches do not fit into a region for {TOUCHES}")));
        }
        self.clear()?;
        self.before = Some((passes, minor_faults()));
        Ok(())
    }

    fn cross(&mut self, passes: u64) -> Result<(), Refusal> {
        let mut page = self.region.page(0);
        for _ in 0..passes.min(TOUCHES as u64) {
            touch(self.kind, page);
            page = page.wrapping_add(self.step);
        }
        Ok(())
    }

    fn prove(&mut self, counts: &mut [Option<u64>]) -> Result<(), Refusal> {
        self.close_batch();
        counts[0] = self.faults.replace(0);
        Ok(())
    }

    fn most_passes(&self) -> u64 {
        TOUCHES as u64
    }

    fn dissection(&self) -> Option<Dissection> {
        Some(dissection(if self.tracepoint.is_some() { By::Tracepoint } else { By::Event }))
    }

    fn dissect(&mut self, count: u32, now: Now, lanes: &mut [Vec<Span>]) -> Result<(), Refusal> {
        if self.tracepoint.is_some() && !self.turn.comes() {
            return Ok(());
        }
        if let Err(refusal) = &self.events {
            return Err(refusal.clone());
        }
        let mut events = std::mem::replace(&mut self.events, Err(Refusal::Failed(String::new())))?;
        let mut tracepoint = self.tracepoint.take();
        self.close_batch();
        let count = (count as usize / 2).clamp(1, TOUCHES);
        let stamped = self.stamp(&mut events, tracepoint.as_mut(), count, now, lanes);
        (self.events, self.tracepoint) = (Ok(events), tracepoint);
        stamped
    }

    fn facts(&self) -> Facts {
        let asked = match self.kind {
            Kind::File => ProbeAsked {
                file: Some("in memory (memfd)".into()),
                bytes_between_touches: Some(self.step as u64),
                ..ProbeAsked::default()
            },
            _ => ProbeAsked::default(),
        };
        let found = ProbeFound { page_bytes: Some(self.region.page_bytes() as u64), ..ProbeFound::default() };
        Facts::of_probe(asked, found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::alone;
    use tollgate_measure::clock::{Clock, Counter, Os, Source};

    const SITE: Site = Site { cpu: 0, peer: None };

    fn now() -> Now {
        match Source::best() {
            Source::Counter => Counter.stamper(),
            Source::Os => Os.stamper(),
        }
        .unwrap()
    }

    #[test]
    fn one_fault_for_each_touch_of_every_kind() {
        let _turn = alone();
        for probe in [&ANONYMOUS, &ZERO_PAGE, &CACHED_FILE] {
            let mut open = probe.open(&SITE).unwrap();
            let mut counts = [None];
            for passes in [1, 7, TOUCHES as u64] {
                open.prepare(passes).unwrap();
                open.cross(passes).unwrap();
                open.cross(passes).unwrap();
                open.prove(&mut counts).unwrap();
                assert_eq!(counts, [Some(passes)], "{}", probe.meta.id);
            }
            assert!(open.prepare(TOUCHES as u64 + 1).is_err());
        }
    }

    #[test]
    fn every_stamped_fault_is_found_by_its_window_and_page() {
        let _turn = alone();
        let kinds = [&ANONYMOUS, &ZERO_PAGE, &CACHED_FILE];
        let doors = [&ANONYMOUS_TRACEPOINT, &ZERO_PAGE_TRACEPOINT, &CACHED_FILE_TRACEPOINT];
        for probe in kinds.into_iter().chain(doors) {
            let mut open = match probe.open(&SITE) {
                Ok(open) => open,
                // A kernel that refuses BPF to this user is no failure; the refusals are tested where they are.
                Err(Refusal::Skip { .. }) if probe.by == By::Tracepoint => continue,
                Err(refusal) => panic!("{}: {refusal:?}", probe.meta.id),
            };
            let mut lanes = vec![Vec::new(); open.dissection().unwrap().lanes];
            match open.dissect(40, now(), &mut lanes) {
                Ok(()) => {}
                Err(Refusal::Skip { .. }) => continue,
                Err(Refusal::Failed(why)) => panic!("{}: {why}", probe.meta.id),
            }
            // A test machine may be in the middle of anything: most, not all.
            for (at, lane) in lanes.iter().enumerate() {
                assert!(lane.len() >= 15 && lane.len() <= 20, "{}, lane {at}: {}", probe.meta.id, lane.len());
            }
        }
    }
}
