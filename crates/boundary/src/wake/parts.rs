//! The parts of a message: stamps of the sender and of the receiver, and between them those of the kernel when it wakes the
//! receiver and when it switches to it.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tollgate_measure::clock::Now;
use tollgate_measure::dissection::{Dissection, Part, Term};
use tollgate_measure::stamps::{
    Anchor, KernelStamp, Mapping, Span, Stamp, Stamper, TracedEvent, Tracepoint, pair_ticks,
};
use tollgate_measure::stats::{INTERRUPTED, mean_of_crossings, median};
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
    /// The peer's stamp when it holds the token.
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

/// A message as user mode saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Message {
    sent: u64,
    received: u64,
    /// Whether the peer received it.
    to_peer: bool,
}

impl Message {
    fn whole(&self) -> Span {
        Span::user(self.sent, self.received)
    }
}

/// The lanes: the parts, and whole messages while both events were stamped.
const LANES: usize = 5;
const WITH_BOTH: usize = 4;
/// Part of the sender alone, which ends at the first stamp of the kernel.
const SENDER: usize = 0;

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
        Ok(Self { waking: every(TracedEvent::Waking)?, switch: every(TracedEvent::Switch)?, detached: None })
    }
}

thread_local! {
    static POINTS: RefCell<Option<Result<Points, Refusal>>> = const { RefCell::new(None) };
}

/// Takes messages of one row apart, once in each process.
pub(super) struct Parts {
    is_apart: bool,
    is_done: bool,
}

/// The most passes of one run: the stamps of two runs fit into the programs' memory.
const MOST_PASSES: u32 = 100;

impl Parts {
    /// Of two threads on different CPUs or on one.
    pub(super) fn new(is_apart: bool) -> Self {
        Self { is_apart, is_done: false }
    }

    /// The bill of a message. Only a receiver on another CPU can be awake.
    pub(super) fn dissection(&self) -> Dissection {
        let stamped = Evidence::KernelTimestamp;
        let mut parts = vec![
            Part::lane(phase::SENDERS_CALL, stamped, SENDER),
            Part::lane(phase::WAKE_UP_TO_RUNNING, stamped, 1),
            Part::lane(phase::RECEIVERS_RETURN, stamped, 2),
        ];
        if self.is_apart {
            parts.push(Part::lane(phase::RECEIVER_AWAKE, Evidence::Measured, 3));
        }
        Dissection {
            lanes: LANES,
            parts,
            total: Term::Batches,
            instrumented: vec![(WITH_BOTH, "sched_waking_and_sched_switch".into())],
            mapped: vec![(SENDER, 1), (2, -1)],
        }
    }

    /// Takes `passes` of `open` apart. Does nothing if that is done, or if the programs were attached a moment ago: waiting
    /// in each epoch would take the time of half of the family's batches.
    pub(super) fn dissect(
        &mut self,
        (open, claims): (&mut dyn Crossing, usize),
        (peer, ways): (&PeerStamp, Ways),
        (passes, now): (u32, Now),
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
            let passes = passes.min(MOST_PASSES);
            let mut run = || messages(open, (peer, ways), (passes, now));
            let stamped = stamped(points, (now, self.is_apart), &mut run, lanes);
            points.detached = Some(Instant::now());
            peer.is_wanted.store(false, Ordering::Relaxed);
            stamped?;
            // These messages do not belong to a batch.
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
        // Once, as before a batch: it lets the peer go to sleep, and the first message takes longer, as in a batch.
        open.prepare(passes.into())?;
    }
    for _ in 0..passes {
        if ways == Ways::There {
            open.prepare(1)?;
        }
        let sent = now();
        open.cross(1)?;
        let back = now();
        match ways {
            // Until the sender sees that it has arrived.
            Ways::There => messages.push(Message { sent, received: back, to_peer: true }),
            Ways::ThereAndBack => {
                let there = peer.at.load(Ordering::Acquire);
                messages.push(Message { sent, received: there, to_peer: true });
                messages.push(Message { sent: there, received: back, to_peer: false });
            }
        }
    }
    Ok(messages)
}

/// Runs with no program, with both, and with none again: those without come early and late.
fn stamped(
    points: &mut Points,
    (now, is_apart): (Now, bool),
    run: &mut dyn FnMut() -> Result<Vec<Message>, Refusal>,
    lanes: &mut [Vec<Span>],
) -> Result<(), Refusal> {
    let mut plain = run()?;
    let first = Anchor::now(now);
    let mut attached = || {
        points.waking.enable()?;
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
    plain.extend(run()?);
    let pair = pair_ticks(now);
    let followed = followed(&messages, (wakings.stamps, switches.stamps), (&mapping, is_apart));
    let split: Vec<[f64; 4]> = followed.iter().map(|it| it.split(&mapping, pair)).collect();
    let plain: Vec<f64> = plain.iter().map(|it| mapping.length(it.whole(), pair)).collect();
    if let (Some((parts, whole)), Some(plain)) = (means(&split), mean_of_crossings(&plain)) {
        let parts = without_programs(parts, plain);
        for (lane, ticks) in lanes.iter_mut().zip(parts.into_iter().chain([whole])) {
            // The reader of spans takes off the clock's own time.
            lane.push(Span::user(0, (ticks + pair).max(0.0).round() as u64));
        }
    }
    Ok(())
}

/// The mean of each part, and of the whole, over the messages that nothing interrupted.
fn means(split: &[[f64; 4]]) -> Option<([f64; 4], f64)> {
    let wholes: Vec<f64> = split.iter().map(|parts| parts.iter().sum()).collect();
    let limit = INTERRUPTED * median(&wholes);
    let kept = || split.iter().zip(&wholes).filter(|(_, whole)| **whole < limit).map(|(parts, _)| parts);
    let count = kept().count();
    let mean = |part: usize| kept().map(|parts| parts[part]).sum::<f64>() / count as f64;
    let parts = [0, 1, 2, 3].map(mean);
    (count > 0).then(|| (parts, parts.iter().sum()))
}

/// Parts that add up to `plain`, a message without the programs. Each program reads the clock first, so what it takes is
/// behind the sender's part.
fn without_programs(parts: [f64; 4], plain: f64) -> [f64; 4] {
    let sender = parts[SENDER];
    let behind = parts.iter().sum::<f64>() - sender;
    let factor = if behind > 0.0 { (plain - sender) / behind } else { 1.0 };
    [sender, parts[1] * factor, parts[2] * factor, parts[3] * factor]
}

/// A message, and the kernel's events for it.
#[derive(Debug, PartialEq)]
struct Followed {
    message: Message,
    /// When the kernel began to wake the receiver; none if it was ready to run, or awake.
    waking: Option<u64>,
    /// When a CPU switched to it; none if it was awake.
    running: Option<u64>,
}

impl Followed {
    /// How many ticks belong to each part.
    fn split(&self, mapping: &Mapping, pair: f64) -> [f64; 4] {
        let Message { sent, received, .. } = self.message;
        let length = |span| mapping.length(span, pair);
        let Some(running) = self.running else { return [0.0, 0.0, 0.0, length(self.message.whole())] };
        let back = length(Span::out_of_kernel(running, received));
        match self.waking {
            Some(waking) => {
                let between = Span { from: Stamp::Kernel(waking), to: Stamp::Kernel(running) };
                [length(Span::into_kernel(sent, waking)), length(between), back, 0.0]
            }
            None => [0.0, length(Span::into_kernel(sent, running)), back, 0.0],
        }
    }
}

/// The kernel's events between the stamps of each message. Other tasks run at the same time; the receiver is the task to
/// which the CPU switches in most messages of its direction. If that happens more than once in a message, the last switch
/// counts.
fn followed(
    messages: &[Message],
    (mut wakings, mut switches): (Vec<KernelStamp>, Vec<KernelStamp>),
    (mapping, is_apart): (&Mapping, bool),
) -> Vec<Followed> {
    // Several CPUs stamp, so the stamps are almost in order.
    wakings.sort_by_key(|stamp| stamp.ns);
    switches.sort_by_key(|stamp| stamp.ns);
    // For each message every task that was switched to, and when it was woken before.
    let chains: Vec<BTreeMap<u64, (Option<u64>, u64)>> = messages
        .iter()
        .map(|message| {
            let from = mapping.ticks(Stamp::User(message.sent)) - mapping.doubt;
            let to = mapping.ticks(Stamp::User(message.received)) + mapping.doubt;
            let wakings = inside(&wakings, from, to, mapping);
            let chain = |running: &KernelStamp| {
                let before =
                    |waking: &&KernelStamp| waking.address == running.address && waking.ns <= running.ns;
                (running.address, (wakings.iter().rfind(before).map(|waking| waking.ns), running.ns))
            };
            inside(&switches, from, to, mapping).iter().map(chain).collect()
        })
        .collect();
    // Where a CPU is idle, the idle task is switched to as often; it is never woken.
    let woken: BTreeSet<u64> = wakings.iter().map(|stamp| stamp.address).collect();
    let is_busy = |task: &&u64| !is_apart || woken.contains(task);
    let receiver = |to_peer| {
        let mut seen = BTreeMap::<u64, usize>::new();
        let of_side = messages.iter().zip(&chains).filter(|(message, _)| message.to_peer == to_peer);
        let tasks = of_side.flat_map(|(_, chains)| chains.keys()).filter(is_busy);
        tasks.for_each(|task| *seen.entry(*task).or_default() += 1);
        seen.into_iter().max_by_key(|(_, count)| *count).map(|(task, _)| task)
    };
    let receivers = [receiver(false), receiver(true)];
    let of = |(message, chains): (&Message, &BTreeMap<u64, (Option<u64>, u64)>)| {
        let chain = receivers[usize::from(message.to_peer)].and_then(|task| chains.get(&task));
        let waking = chain.and_then(|(waking, _)| *waking);
        Followed { message: *message, waking, running: chain.map(|(_, running)| *running) }
    };
    messages.iter().zip(&chains).map(of).collect()
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

    /// The moments of the kernel in each message.
    fn moments(found: &[Followed]) -> Vec<(Option<u64>, Option<u64>)> {
        found.iter().map(|it| (it.waking, it.running)).collect()
    }

    #[test]
    fn each_message_gets_the_wake_up_of_its_receiver() {
        let wakings = [(1_100, PEER), (1_150, OTHER), (2_200, OWN), (11_300, PEER), (12_100, OWN)];
        let switches = [(1_500, OTHER), (1_600, PEER), (2_700, OWN), (11_800, PEER), (12_600, OWN)];
        let of = |stamps: [(u64, u64); 5]| stamps.map(|(ns, address)| stamp(ns, address)).to_vec();
        let found = followed(&round_trips(), (of(wakings), of(switches)), (&mapping(), false));
        let expected = [(1_100, 1_600), (2_200, 2_700), (11_300, 11_800), (12_100, 12_600)];
        assert_eq!(moments(&found), expected.map(|(waking, running)| (Some(waking), Some(running))));
    }

    #[test]
    fn stamps_out_of_order_and_an_early_wake_up_do_no_harm() {
        // Woken without a message first, it sleeps again.
        let wakings = vec![stamp(1_500, PEER), stamp(1_100, PEER)];
        let switches = vec![stamp(1_800, PEER), stamp(1_300, PEER)];
        let found = followed(&round_trips()[..1], (wakings, switches), (&mapping(), true));
        assert_eq!(moments(&found), [(Some(1_500), Some(1_800))]);
    }

    #[test]
    fn a_receiver_may_be_ready_to_run_or_awake() {
        let wakings = || vec![stamp(1_100, PEER), stamp(900, OWN), stamp(12_200, OTHER)];
        let switches = vec![stamp(1_500, PEER), stamp(11_400, PEER), stamp(12_300, OTHER)];
        let found = followed(&round_trips(), (wakings(), switches), (&mapping(), true));
        // The first is woken, the third only switched to; the sender of both never slept.
        assert_eq!(moments(&found)[..3], [(Some(1_100), Some(1_500)), (None, None), (None, Some(11_400))]);
        let split: Vec<[f64; 4]> = found[..3].iter().map(|it| it.split(&mapping(), 0.0)).collect();
        assert_eq!(split, [[100.0, 400.0, 500.0, 0.0], [0.0, 0.0, 0.0, 1_000.0], [0.0, 400.0, 600.0, 0.0]]);
        let found = followed(&round_trips()[..1], (wakings(), Vec::new()), (&mapping(), true));
        assert_eq!(moments(&found), [(None, None)]);
        // On one CPU a receiver that never slept is known by the switches to it.
        let switches = vec![stamp(1_500, PEER), stamp(2_500, OWN)];
        let found = followed(&round_trips()[..2], (Vec::new(), switches), (&mapping(), false));
        assert_eq!(moments(&found), [(None, Some(1_500)), (None, Some(2_500))]);
    }

    #[test]
    fn the_parts_add_up_to_a_message_without_programs() {
        let split = [[100.0, 400.0, 500.0, 0.0], [0.0, 0.0, 0.0, 1_000.0], [0.0, 90_000.0, 0.0, 0.0]];
        let (parts, whole) = means(&split).unwrap();
        assert_eq!((parts, whole), ([50.0, 200.0, 250.0, 500.0], 1_000.0), "the last was interrupted");
        assert_eq!(without_programs(parts, 525.0), [50.0, 100.0, 125.0, 250.0]);
        assert_eq!(means(&[]), None);
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
        let one_way = messages(&mut open, (&peer, Ways::There), (1, now)).unwrap();
        assert_eq!(one_way, [message(30, 40, true)], "until the sender knows");
    }
}
