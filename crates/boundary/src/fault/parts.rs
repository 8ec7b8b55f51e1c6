//! Page faults that the kernel handles, with their parts: stamped by the kernel's own software events, and where that
//! is allowed by a BPF program at the entry.

use super::anonymous::{FIRST_READ, FIRST_WRITE, FreshMemory, FreshTouch};
use super::cached::MemoryFile;
use super::kind::{Counted, SteadyPages};
use super::matched::{Events, FaultStamp, Occasional, Window, cut, watch};
use crate::mechanism::{Apart, Cuts, Mechanism, Opened};
use std::ptr;
use tollgate_measure::clock::Now;
use tollgate_measure::dissection::{Dissection, Part, Term};
use tollgate_measure::stamps::{Span, Stamper, TracedEvent, Tracepoint};
use tollgate_measure::{Meta, Refusal};
use tollgate_record::{Evidence, phase};

/// Each kind with its parts; its batches are those of the same kind without parts.
pub(crate) static ANONYMOUS_PARTS: Mechanism = Mechanism {
    meta: &FIRST_WRITE,
    open: |meta, _| open(meta, FreshMemory::new(FreshTouch::Write), FaultStamp::Event),
};

pub(crate) static ZERO_PAGE_PARTS: Mechanism = Mechanism {
    meta: &FIRST_READ,
    open: |meta, _| open(meta, FreshMemory::new(FreshTouch::Read), FaultStamp::Event),
};

pub(crate) static CACHED_FILE: Mechanism = Mechanism {
    meta: &Meta {
        id: "fault/cached-file",
        what: "first read of a file in the page cache: it and its neighbors are mapped",
        ..FIRST_WRITE
    },
    open: |meta, _| open(meta, MemoryFile::new(), FaultStamp::Event),
};

/// The three once more, with the entry stamped by the tracepoint.
pub(crate) static ANONYMOUS_TRACEPOINT: Mechanism = Mechanism {
    meta: &Meta {
        id: "fault/anonymous-tracepoint",
        what: "first write to a page of anonymous memory, its entry stamped by a BPF program",
        ..FIRST_WRITE
    },
    open: |meta, _| open(meta, FreshMemory::new(FreshTouch::Write), FaultStamp::Tracepoint),
};

pub(crate) static ZERO_PAGE_TRACEPOINT: Mechanism = Mechanism {
    meta: &Meta {
        id: "fault/zero-page-tracepoint",
        what: "first read of a page of anonymous memory, its entry stamped by a BPF program",
        ..FIRST_WRITE
    },
    open: |meta, _| open(meta, FreshMemory::new(FreshTouch::Read), FaultStamp::Tracepoint),
};

pub(crate) static CACHED_FILE_TRACEPOINT: Mechanism = Mechanism {
    meta: &Meta {
        id: "fault/cached-file-tracepoint",
        what: "first read of a file in the page cache, its entry stamped by a BPF program",
        ..FIRST_WRITE
    },
    open: |meta, _| open(meta, MemoryFile::new(), FaultStamp::Tracepoint),
};

/// The most stamped touches of one run.
const STAMPED: usize = 256;
/// Runs of the events of one visit that are kept: each of the two once early and once late.
const EVENT_RUNS: usize = 4;
/// With the tracepoint few visits have stamps, so that each of these has more.
const RARE_FACTOR: usize = 4;

fn open<P: SteadyPages + 'static>(meta: &Meta, pages: Result<P, Refusal>, by: FaultStamp) -> Opened {
    let pages = pages?;
    let tracepoint = match by {
        FaultStamp::Event => None,
        FaultStamp::Tracepoint => {
            let bytes = pages.most() * pages.step();
            Some(Tracepoint::open(TracedEvent::Fault, pages.first().addr(), bytes)?)
        }
    };
    let plain = Box::new(Counted::new(pages, meta.proof)?);
    let cuts = FaultCuts { events: Events::open(), tracepoint, occasional: Occasional::default() };
    Ok(Box::new(Apart { plain, cuts }))
}

struct FaultCuts {
    events: Result<Events, Refusal>,
    tracepoint: Option<Tracepoint>,
    occasional: Occasional,
}

/// Faults watched by one stamper.
fn watched<P: SteadyPages>(
    pages: &mut P,
    stamper: &mut dyn Stamper,
    count: usize,
    now: Now,
) -> Result<Vec<(Window, u64)>, Refusal> {
    pages.arm(count)?;
    // Written before, so that storing a window does not fault.
    let mut windows = vec![Window { page: 1, ..Window::default() }; count];
    watch(stamper, now, crate::map::page_bytes(), || {
        let (mut page, step, writes) = (pages.first(), pages.step(), pages.writes());
        for window in &mut windows {
            let before = now();
            touch(page, writes);
            let after = now();
            *window = Window { before, after, page: page.addr() };
            page = page.wrapping_add(step);
        }
        windows
    })
}

#[inline(always)]
fn touch(page: *mut u8, write: bool) {
    // SAFETY: the caller's page is mapped, and writable if it is written.
    unsafe {
        if write {
            ptr::write_volatile(page, 1);
        } else {
            ptr::read_volatile(page);
        }
    }
}

/// Lanes: to the stamp of the entry, to the stamp of the end, from there back, and the whole with either; with
/// the tracepoint also to its stamp, and the whole with it.
fn dissection(by: FaultStamp) -> Dissection {
    let difference = Evidence::Difference;
    let mut instrumented = vec![(3, "page-faults-event".into()), (4, "page-faults-min-event".into())];
    let mut mapped = vec![(0, 1), (1, 1), (2, -1)];
    let (lanes, entry) = match by {
        FaultStamp::Event => (5, 0),
        FaultStamp::Tracepoint => {
            instrumented.push((6, "page_fault_user_tracepoint".into()));
            mapped.push((5, 1));
            (7, 5)
        }
    };
    Dissection {
        lanes,
        parts: vec![
            Part::lane(phase::ENTRY, Evidence::KernelTimestamp, entry),
            Part::sum(phase::HANDLING, difference, &[(1, Term::Lane(1)), (-1, Term::Lane(entry))]),
            // The run of the other event gives the cost of this one.
            Part::sum(
                phase::RETURN,
                difference,
                &[(1, Term::Lane(2)), (-1, Term::Lane(3)), (1, Term::Batches)],
            ),
        ],
        total: Term::Batches,
        instrumented,
        mapped,
    }
}

impl<P: SteadyPages> Cuts<Counted<P>> for FaultCuts {
    fn dissection(&self) -> Dissection {
        dissection(if self.tracepoint.is_some() { FaultStamp::Tracepoint } else { FaultStamp::Event })
    }

    /// Both events in turn, and the tracepoint where there is one. The first run of an event is the slowest, and is not kept: with
    /// it, the whole with the first event took 2 to 4 % more of a fault than with the second. Of the others each event has an early
    /// and a late one.
    fn dissect(
        &mut self,
        plain: &mut Counted<P>,
        count: u32,
        now: Now,
        lanes: &mut [Vec<Span>],
    ) -> Result<(), Refusal> {
        let mut count = count as usize / EVENT_RUNS;
        if self.tracepoint.is_some() {
            if !self.occasional.is_due() {
                return Ok(());
            }
            count *= RARE_FACTOR;
        }
        let events = self.events.as_mut().map_err(|refusal| refusal.clone())?;
        plain.close_batch();
        let (pages, count) = (&mut plain.pages, count.clamp(1, STAMPED));
        watched(pages, &mut events.entry, count, now)?;
        watched(pages, &mut events.handled, count, now)?;
        let mut entry = watched(pages, &mut events.entry, count, now)?;
        let mut handled = watched(pages, &mut events.handled, count, now)?;
        handled.extend(watched(pages, &mut events.handled, count, now)?);
        entry.extend(watched(pages, &mut events.entry, count, now)?);
        let traced = self.tracepoint.as_mut().map(|it| watched(pages, it, count, now)).transpose()?;
        if let [to_entry, to_end, back, with_entry, with_end, traced_lanes @ ..] = lanes {
            cut(&entry, Some(to_entry), None, Some(with_entry));
            cut(&handled, Some(to_end), Some(back), Some(with_end));
            if let (Some(traced), [to_tracepoint, with_tracepoint]) = (traced, traced_lanes) {
                cut(&traced, Some(to_tracepoint), None, Some(with_tracepoint));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::alone;
    use tollgate_measure::clock::{Clock, Counter, Os, Source};
    use tollgate_measure::{Probe, Site};

    const SITE: Site = Site { cpu: 0, peer: None };
    const BY_EVENT: [&dyn Probe; 3] = [&ANONYMOUS_PARTS, &ZERO_PAGE_PARTS, &CACHED_FILE];
    const BY_TRACEPOINT: [&dyn Probe; 3] =
        [&ANONYMOUS_TRACEPOINT, &ZERO_PAGE_TRACEPOINT, &CACHED_FILE_TRACEPOINT];

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
        for probe in BY_EVENT {
            let mut open = probe.open(&SITE).unwrap();
            let mut counts = vec![None; probe.meta().proof.len()];
            let most = open.most_passes();
            for passes in [1, 7, most] {
                open.prepare(passes).unwrap();
                open.cross(passes).unwrap();
                open.cross(passes).unwrap();
                open.prove(&mut counts).unwrap();
                assert_eq!(counts[0], Some(passes), "{}", probe.meta().id);
            }
            assert!(open.prepare(most + 1).is_err());
        }
    }

    #[test]
    fn every_stamped_fault_is_found_by_its_window_and_page() {
        let _turn = alone();
        for (probe, by_tracepoint) in
            BY_EVENT.map(|probe| (probe, false)).into_iter().chain(BY_TRACEPOINT.map(|probe| (probe, true)))
        {
            let id = probe.meta().id;
            let mut open = match probe.open(&SITE) {
                Ok(open) => open,
                // A kernel may refuse BPF to this user; the refusals have tests of their own.
                Err(Refusal::Skip { .. }) if by_tracepoint => continue,
                Err(refusal) => panic!("{id}: {refusal:?}"),
            };
            let mut lanes = vec![Vec::new(); open.dissection().unwrap().lanes];
            match open.dissect(40, now(), &mut lanes) {
                Ok(()) => {}
                Err(Refusal::Skip { .. }) => continue,
                Err(Refusal::Failed(why)) => panic!("{id}: {why}"),
            }
            // A test machine may be in the middle of anything: most, not all.
            for (at, lane) in lanes.iter().enumerate() {
                let made = match (by_tracepoint, at) {
                    (false, _) => 20,
                    (true, ..5) => 20 * RARE_FACTOR,
                    (true, _) => 10 * RARE_FACTOR,
                };
                assert!(lane.len() * 4 >= made * 3 && lane.len() <= made, "{id}, lane {at}: {}", lane.len());
            }
        }
    }
}
