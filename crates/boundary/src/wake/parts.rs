//! The parts of a message: stamps of the sender and of the receiver, and between them those of the kernel when it wakes the
//! receiver and when it switches to it.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tollgate_measure::clock::Now;
use tollgate_measure::dissection::{Dissection, Part, Term};
use tollgate_measure::stamps::{Anchor, KernelStamp, Mapping, Span, Stamp, Stamper, TracedEvent, Tracepoint};
use tollgate_measure::{Crossing, Refusal};
use tollgate_record::{Evidence, phase};

/// When the peer held the token, if the measuring thread wants to know; on cache lines of its own.
#[repr(align(128))]
#[derive(Default)]
pub(super) struct PeerStamp {
    is_wanted: AtomicBool,
    clock: OnceLock<Now>,
    at: AtomicU64,
}

impl PeerStamp {
    /// What the peer does when it holds the token.
    #[inline]
    pub(super) fn stamp(&self) {
        if self.is_wanted.load(Ordering::Relaxed)
            && let Some(now) = self.clock.get()
        {
            self.at.store(now(), Ordering::Release);
        }
    }
}

/// Which messages one pass makes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Ways {
    /// One to the peer.
    There,
    /// One to the peer, and one back.
    ThereAndBack,
}

impl Ways {
    /// The fewest passes of one run: a message one way comes after an idle time of up to 10 ms.
    fn fewest_passes(self) -> u32 {
        match self {
            Self::There => 1,
            Self::ThereAndBack => 8,
        }
    }
}

/// A message as user mode saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Message {
    sent: u64,
    received: u64,
    /// Whether the peer received it.
    to_peer: bool,
}

/// The lanes: the three parts; whole messages while `sched_waking` was stamped, while both events were, and while none was.
const LANES: usize = 6;
const WITH_WAKING: usize = 3;
const WITH_BOTH: usize = 4;
const WITH_NONE: usize = 5;

pub(super) fn dissection() -> Dissection {
    let stamped = Evidence::KernelTimestamp;
    let lane = |sign, lane| (sign, Term::Lane(lane));
    Dissection {
        lanes: LANES,
        parts: vec![
            Part::lane(phase::SENDERS_CALL, stamped, 0),
            // Each program reads the clock first, so what it takes belongs to the part behind its stamp.
            Part::sum(
                phase::WAKE_UP_TO_RUNNING,
                stamped,
                &[lane(1, 1), lane(-1, WITH_WAKING), lane(1, WITH_NONE)],
            ),
            Part::sum(
                phase::RECEIVERS_RETURN,
                stamped,
                &[lane(1, 2), lane(-1, WITH_BOTH), lane(1, WITH_WAKING)],
            ),
        ],
        total: Term::Batches,
        instrumented: vec![(WITH_BOTH, "sched_waking_and_sched_switch".into())],
        mapped: vec![(0, 1), (2, -1)],
    }
}

/// The programs on the two tracepoints. The rows of a process share them, since loading takes as long as attaching.
struct Points {
    waking: Tracepoint,
    switch: Tracepoint,
    detached: Option<Instant>,
}

/// A tracepoint that is attached again within about fifteen milliseconds waits for the kernel's readers for as long.
const PAUSE: Duration = Duration::from_millis(20);

impl Points {
    fn open() -> Result<Self, Refusal> {
        let every = |event| Tracepoint::open(event, 0, usize::MAX);
        Ok(Self {
            waking: every(TracedEvent::Waking)?,
            switch: every(TracedEvent::Switch)?,
            detached: Some(Instant::now()),
        })
    }
}

thread_local! {
    static POINTS: RefCell<Option<Result<Points, Refusal>>> = const { RefCell::new(None) };
}

/// Takes messages of one row apart, once in each process.
#[derive(Default)]
pub(super) struct Parts {
    is_done: bool,
}

/// The most passes of one run: the stamps of two runs fit into the programs' memory.
const MOST_PASSES: u32 = 100;

impl Parts {
    /// Takes about `count` passes of `open` apart. Does nothing if that is done, or if the programs were attached a
    /// moment ago.
    pub(super) fn dissect(
        &mut self,
        (open, claims): (&mut dyn Crossing, usize),
        (peer, ways): (&PeerStamp, Ways),
        (count, now): (u32, Now),
        lanes: &mut [Vec<Span>],
    ) -> Result<(), Refusal> {
        if self.is_done {
            return Ok(());
        }
        POINTS.with_borrow_mut(|points| {
            let points =
                points.get_or_insert_with(Points::open).as_mut().map_err(|refusal| refusal.clone())?;
            if points.detached.is_some_and(|detached| detached.elapsed() < PAUSE) {
                return Ok(());
            }
            self.is_done = true;
            let _ = peer.clock.set(now);
            peer.is_wanted.store(true, Ordering::Relaxed);
            let passes = (count / 8).clamp(ways.fewest_passes(), MOST_PASSES);
            let mut run = || messages(open, (peer, ways), (passes, now));
            let stamped = stamped(points, now, &mut run, lanes);
            points.detached = Some(Instant::now());
            peer.is_wanted.store(false, Ordering::Relaxed);
            stamped?;
            // What was passed belongs to no batch.
            open.prove(&mut vec![None; claims])
        })
    }
}

/// Passes one at a time, each with its stamps.
fn messages(
    open: &mut dyn Crossing,
    (peer, ways): (&PeerStamp, Ways),
    (passes, now): (u32, Now),
) -> Result<Vec<Message>, Refusal> {
    let mut messages = Vec::with_capacity(2 * passes as usize);
    if ways == Ways::ThereAndBack {
        // Once, as before a batch: it lets the peer go to sleep, after which a message takes longer.
        open.prepare(passes.into())?;
    }
    for _ in 0..passes {
        if ways == Ways::There {
            open.prepare(1)?;
        }
        let sent = now();
        open.cross(1)?;
        let back = now();
        let there = peer.at.load(Ordering::Acquire);
        messages.push(Message { sent, received: there, to_peer: true });
        if ways == Ways::ThereAndBack {
            messages.push(Message { sent: there, received: back, to_peer: false });
        }
    }
    Ok(messages)
}

/// Runs with no program, one, both, and none again: the first of several runs is the slowest, so that those without come
/// early and late.
fn stamped(
    points: &mut Points,
    now: Now,
    run: &mut dyn FnMut() -> Result<Vec<Message>, Refusal>,
    lanes: &mut [Vec<Span>],
) -> Result<(), Refusal> {
    let whole = |it: &Message| Span::user(it.sent, it.received);
    lanes[WITH_NONE].extend(run()?.iter().map(whole));
    let first = Anchor::now(now);
    let mut attached = || {
        points.waking.enable()?;
        lanes[WITH_WAKING].extend(run()?.iter().map(whole));
        points.switch.enable()?;
        run()
    };
    let messages = attached();
    // Both are detached even if one was refused.
    let detached = points.waking.disable().and(points.switch.disable());
    let messages = messages.and_then(|messages| detached.map(|()| messages))?;
    let mapping = first.zip(Anchor::now(now)).and_then(|(first, last)| Mapping::between(first, last));
    let mapping = mapping.ok_or_else(|| Refusal::Failed("the clock stopped or ran backwards".into()))?;
    let (wakings, switches) = (points.waking.take(), points.switch.take());
    if wakings.broken || switches.broken {
        return Err(Refusal::Failed("the kernel's stamps cannot be read".into()));
    }
    lanes[WITH_BOTH].extend(messages.iter().map(whole));
    for Woken { message, waking, running } in woken(&messages, wakings.stamps, switches.stamps, &mapping) {
        lanes[0].push(Span::into_kernel(message.sent, waking));
        lanes[1].push(Span { from: Stamp::Kernel(waking), to: Stamp::Kernel(running) });
        lanes[2].push(Span::out_of_kernel(running, message.received));
    }
    lanes[WITH_NONE].extend(run()?.iter().map(whole));
    Ok(())
}

/// A message whose receiver slept.
#[derive(Debug, PartialEq)]
struct Woken {
    message: Message,
    /// When the kernel began to wake the receiver.
    waking: u64,
    /// When a CPU switched to it.
    running: u64,
}

/// The messages between whose stamps the receiver was woken and switched to. Other tasks are woken meanwhile, too; the
/// receiver is the task that was woken in most messages of its direction. If it was woken more than once, the last counts.
fn woken(
    messages: &[Message],
    mut wakings: Vec<KernelStamp>,
    mut switches: Vec<KernelStamp>,
    mapping: &Mapping,
) -> Vec<Woken> {
    // Several CPUs stamp, so the stamps are almost in order.
    wakings.sort_by_key(|stamp| stamp.ns);
    switches.sort_by_key(|stamp| stamp.ns);
    // For each message every task that was woken and switched to.
    let chains: Vec<BTreeMap<u64, (u64, u64)>> = messages
        .iter()
        .map(|message| {
            let from = mapping.ticks(Stamp::User(message.sent)) - mapping.doubt;
            let to = mapping.ticks(Stamp::User(message.received)) + mapping.doubt;
            let running = inside(&switches, from, to, mapping);
            let chain = |running: &KernelStamp| {
                let before =
                    |waking: &&KernelStamp| waking.address == running.address && waking.ns <= running.ns;
                let waking = inside(&wakings, from, to, mapping).iter().rfind(before)?;
                Some((running.address, (waking.ns, running.ns)))
            };
            running.iter().filter_map(chain).collect()
        })
        .collect();
    let receiver = |to_peer| {
        let mut seen = BTreeMap::<u64, usize>::new();
        let of_side = messages.iter().zip(&chains).filter(|(message, _)| message.to_peer == to_peer);
        of_side.flat_map(|(_, chains)| chains.keys()).for_each(|task| *seen.entry(*task).or_default() += 1);
        seen.into_iter().max_by_key(|(_, count)| *count).map(|(task, _)| task)
    };
    let receivers = [receiver(false), receiver(true)];
    let of = |(message, chains): (&Message, &BTreeMap<u64, (u64, u64)>)| {
        let (waking, running) = *chains.get(&receivers[usize::from(message.to_peer)]?)?;
        Some(Woken { message: *message, waking, running })
    };
    messages.iter().zip(&chains).filter_map(of).collect()
}

/// The stamps between two moments in ticks.
fn inside<'s>(stamps: &'s [KernelStamp], from: f64, to: f64, mapping: &Mapping) -> &'s [KernelStamp] {
    let moment = |stamp: &KernelStamp| mapping.ticks(Stamp::Kernel(stamp.ns));
    let begin = stamps.partition_point(|stamp| moment(stamp) < from);
    let end = stamps.partition_point(|stamp| moment(stamp) <= to);
    &stamps[begin..end.max(begin)]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One tick is one nanosecond, 10 ticks of doubt.
    fn mapping() -> Mapping {
        let at = |it| Anchor { ticks: it, ns: it, width: 20.0 };
        Mapping::between(at(0.0), at(1e6)).unwrap()
    }

    const PEER: u64 = 0xffff_8880_0000_1000;
    const OWN: u64 = 0xffff_8880_0000_2000;
    const OTHER: u64 = 0xffff_8880_0000_3000;

    fn stamp(ns: u64, address: u64) -> KernelStamp {
        KernelStamp { ns, address }
    }

    /// There from 1,000 to 2,000 and back from 2,000 to 3,000, and once more 10,000 later.
    fn round_trips() -> [Message; 4] {
        let message = |at: u64, to_peer| Message { sent: at, received: at + 1_000, to_peer };
        [message(1_000, true), message(2_000, false), message(11_000, true), message(12_000, false)]
    }

    #[test]
    fn each_message_gets_the_wake_up_of_its_receiver() {
        let wakings = [(1_100, PEER), (1_150, OTHER), (2_200, OWN), (11_300, PEER), (12_100, OWN)];
        let switches = [(1_500, OTHER), (1_600, PEER), (2_700, OWN), (11_800, PEER), (12_600, OWN)];
        let of = |stamps: [(u64, u64); 5]| stamps.map(|(ns, address)| stamp(ns, address)).to_vec();
        let found = woken(&round_trips(), of(wakings), of(switches), &mapping());
        let moments: Vec<_> = found.iter().map(|it| (it.message.sent, it.waking, it.running)).collect();
        assert_eq!(
            moments,
            [
                (1_000, 1_100, 1_600),
                (2_000, 2_200, 2_700),
                (11_000, 11_300, 11_800),
                (12_000, 12_100, 12_600)
            ]
        );
    }

    #[test]
    fn stamps_out_of_order_and_an_early_wake_up_do_no_harm() {
        // Woken without a message first, it sleeps again.
        let wakings = vec![stamp(1_500, PEER), stamp(1_100, PEER)];
        let switches = vec![stamp(1_800, PEER), stamp(1_300, PEER)];
        let found = woken(&round_trips()[..1], wakings, switches, &mapping());
        assert_eq!(found, [Woken { message: round_trips()[0], waking: 1_500, running: 1_800 }]);
    }

    #[test]
    fn a_receiver_that_was_awake_leaves_its_message_out() {
        // A switch without a waking, a waking after the switch, and both outside of the message.
        let messages = &round_trips()[..1];
        for (waking, running) in
            [(None, 1_500), (Some(1_600), 1_500), (Some(900), 1_500), (Some(1_100), 2_100)]
        {
            let wakings = waking.map(|ns| stamp(ns, PEER)).into_iter().collect();
            assert_eq!(woken(messages, wakings, vec![stamp(running, PEER)], &mapping()), []);
        }
        assert_eq!(woken(&[], vec![stamp(1_100, PEER)], vec![stamp(1_500, PEER)], &mapping()), []);
    }

    #[test]
    fn the_parts_are_a_message_without_what_stamping_adds() {
        let bill = dissection();
        let signs = |lane: usize| -> i8 {
            let terms = bill.parts.iter().flat_map(|part| &part.terms);
            terms.filter(|(_, of)| *of == Term::Lane(lane)).map(|(sign, _)| sign).sum()
        };
        // The three parts of a message are the whole with both; what is left is the whole with none.
        assert_eq!([0, 1, 2].map(signs), [1, 1, 1]);
        assert_eq!([WITH_WAKING, WITH_BOTH, WITH_NONE].map(signs), [0, -1, 1]);
    }

    /// Each pass takes the time that the number of programs makes it take.
    struct Exchange<'p>(&'p PeerStamp);

    impl Crossing for Exchange<'_> {
        fn cross(&mut self, _: u64) -> Result<(), Refusal> {
            self.0.stamp();
            Ok(())
        }

        fn prove(&mut self, _: &mut [Option<u64>]) -> Result<(), Refusal> {
            Ok(())
        }
    }

    #[test]
    fn the_receivers_stamp_ends_one_message_and_begins_the_next() {
        static TIME: AtomicU64 = AtomicU64::new(0);
        fn now() -> u64 {
            TIME.fetch_add(5, Ordering::Relaxed)
        }
        let peer = PeerStamp::default();
        let mut open = Exchange(&peer);
        open.cross(1).unwrap();
        assert_eq!(TIME.load(Ordering::Relaxed), 0, "nobody wants a stamp");
        peer.clock.set(now).unwrap();
        peer.is_wanted.store(true, Ordering::Relaxed);
        let found = messages(&mut open, (&peer, Ways::ThereAndBack), (2, now)).unwrap();
        let message = |sent, received, to_peer| Message { sent, received, to_peer };
        assert_eq!(
            found,
            [message(0, 5, true), message(5, 10, false), message(15, 20, true), message(20, 25, false)]
        );
        assert_eq!(messages(&mut open, (&peer, Ways::There), (1, now)).unwrap(), [message(30, 35, true)]);
    }
}
