//! Matches the kernel's stamps with crossings: a stamp belongs to the crossing whose address it carries and between
//! whose two stamps of user mode it is. Only faults of the measuring code count.

use tollgate_measure::Refusal;
use tollgate_measure::clock::Now;
use tollgate_measure::stamps::{
    Anchor, KernelEvent, KernelEvents, KernelStamp, Mapping, Span, Stamp, Stamper,
};

/// One crossing as user mode saw it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Window {
    /// Before the touch.
    pub(super) before: u64,
    /// After it.
    pub(super) after: u64,
    /// The page that was touched.
    pub(super) page: usize,
}

/// Pairs windows with stamps. A window with no stamp of its own, or with several, is left out.
pub(super) fn matched(
    windows: &[Window],
    stamps: &[KernelStamp],
    page_bytes: usize,
    mapping: &Mapping,
) -> Vec<(Window, u64)> {
    let mut found = Vec::new();
    let mut from = 0;
    for &window in windows {
        let (before, after) =
            (mapping.ticks(Stamp::User(window.before)), mapping.ticks(Stamp::User(window.after)));
        // Both come in the order of time; a stamp before this window cannot belong to a later one. The mapping
        // between the clocks is known within its doubt only.
        let moment = |stamp: &KernelStamp| mapping.ticks(Stamp::Kernel(stamp.ns));
        while stamps.get(from).is_some_and(|stamp| moment(stamp) < before - mapping.doubt) {
            from += 1;
        }
        let inside = stamps[from..].iter().take_while(|stamp| moment(stamp) <= after + mapping.doubt);
        let own = |stamp: &&KernelStamp| {
            usize::try_from(stamp.address).is_ok_and(|it| it >= window.page && it - window.page < page_bytes)
        };
        let mut own = inside.filter(own);
        if let (Some(stamp), None) = (own.next(), own.next()) {
            found.push((window, stamp.ns));
        }
    }
    found
}

/// Makes crossings while `stamper` stamps them, and matches. `cross` returns the window of each.
pub(super) fn watch(
    stamper: &mut dyn Stamper,
    now: Now,
    page_bytes: usize,
    cross: impl FnOnce() -> Vec<Window>,
) -> Result<Vec<(Window, u64)>, Refusal> {
    stamper.enable()?;
    let first = Anchor::now(now);
    let windows = cross();
    let last = Anchor::now(now);
    stamper.disable()?;
    let mapping = first.zip(last).and_then(|(first, last)| Mapping::between(first, last));
    let mapping = mapping.ok_or_else(|| Refusal::Failed("the clock stopped or ran backwards".into()))?;
    let taken = stamper.take();
    if taken.broken {
        return Err(Refusal::Failed("the kernel's stamps cannot be read".into()));
    }
    Ok(matched(&windows, &taken.stamps, page_bytes, &mapping))
}

/// The event that stamps the entry of a fault.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum FaultStamp {
    /// The software event of a page fault, which every user may count by default.
    Event,
    /// A BPF program on the first tracepoint of the entry: it adds less time, and less of it before its stamp.
    Tracepoint,
}

/// Limits a stamper that is slow to switch on to few calls: the first, and every 16th.
#[derive(Default)]
pub(super) struct Occasional(u32);

impl Occasional {
    /// A tracepoint takes ten milliseconds to attach; a visit takes one or two.
    const EVERY: u32 = 16;

    /// Whether this call is one of them.
    pub(super) fn is_due(&mut self) -> bool {
        let call = self.0;
        self.0 = call.wrapping_add(1);
        call.is_multiple_of(Self::EVERY)
    }
}

/// The two events of a page fault.
pub(super) struct Events {
    pub(super) entry: KernelEvents,
    pub(super) handled: KernelEvents,
}

impl Events {
    pub(super) fn open() -> Result<Self, Refusal> {
        Ok(Self {
            entry: KernelEvents::open(KernelEvent::Fault)?,
            handled: KernelEvents::open(KernelEvent::MinorFault)?,
        })
    }
}

/// Adds the way to the stamp, the way from it, and the whole to the lanes that are given.
pub(super) fn cut(
    found: &[(Window, u64)],
    into: Option<&mut Vec<Span>>,
    out: Option<&mut Vec<Span>>,
    whole: Option<&mut Vec<Span>>,
) {
    let all = |lane: Option<&mut Vec<Span>>, span: fn(&(Window, u64)) -> Span| {
        if let Some(lane) = lane {
            lane.extend(found.iter().map(span));
        }
    };
    all(into, |(window, ns)| Span::into_kernel(window.before, *ns));
    all(out, |(window, ns)| Span::out_of_kernel(*ns, window.after));
    all(whole, |(window, _)| Span::user(window.before, window.after));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One tick is one nanosecond, 20 ticks of doubt.
    fn mapping() -> Mapping {
        let at = |it| Anchor { ticks: it, ns: it, width: 40.0 };
        Mapping::between(at(0.0), at(1e6)).unwrap()
    }

    fn window(before: u64, page: usize) -> Window {
        Window { before, after: before + 1_000, page }
    }

    fn stamp(ns: u64, address: u64) -> KernelStamp {
        KernelStamp { ns, address }
    }

    #[test]
    fn each_window_gets_the_stamp_of_its_time_and_page() {
        let windows = [window(1_000, 0x1000), window(3_000, 0x2000)];
        let stamps = [
            stamp(500, 0x1000),   // too early
            stamp(1_300, 0x9000), // another page
            stamp(1_400, 0x1008), // the one
            stamp(2_500, 0x2000), // between the windows
            stamp(3_200, 0x2fff), // the other one
            stamp(9_000, 0x2000), // too late
        ];
        let found = matched(&windows, &stamps, 4096, &mapping());
        assert_eq!(found, [(windows[0], 1_400), (windows[1], 3_200)]);
    }

    #[test]
    fn none_or_several_stamps_leave_a_crossing_out() {
        let windows = [window(1_000, 0x1000), window(3_000, 0x2000), window(5_000, 0x3000)];
        let stamps =
            [stamp(1_100, 0x1000), stamp(1_200, 0x1000), stamp(5_100, 0x3000), stamp(5_200, u64::MAX)];
        assert_eq!(matched(&windows, &stamps, 4096, &mapping()), [(windows[2], 5_100)]);
        assert_eq!(matched(&windows, &[], 4096, &mapping()), []);
        assert_eq!(matched(&[], &stamps, 4096, &mapping()), []);
    }

    #[test]
    fn a_stamp_at_the_edge_is_good_within_the_doubt() {
        let one = [window(1_000, 0x1000)];
        assert_eq!(matched(&one, &[stamp(985, 0x1000)], 4096, &mapping()).len(), 1);
        assert_eq!(matched(&one, &[stamp(975, 0x1000)], 4096, &mapping()).len(), 0);
        assert_eq!(matched(&one, &[stamp(2_015, 0x1000)], 4096, &mapping()).len(), 1);
        assert_eq!(matched(&one, &[stamp(2_025, 0x1000)], 4096, &mapping()).len(), 0);
    }
}
