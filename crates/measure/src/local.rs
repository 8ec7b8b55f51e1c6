//! The bench in this process.

use crate::arch;
use crate::bench::{Bench, Lost, Reply, Request};
use crate::clock::{Clock, Moment, monotonic_raw_ns};
use crate::noise::{BatchMark, BatchNoise};
use crate::probe::{Crossing, Probe, Site};
use crate::refusal::Refusal;
use crate::room::leave_room;
use crate::stamps::{self, Anchor, Mapping, Span};
use crate::yardstick::Yardsticks;

/// Opens probes and times batches in this process, with any clock.
pub struct Local<'p, C> {
    clock: C,
    probes: &'p [&'p dyn Probe],
    site: Site,
    open: Vec<Option<Box<dyn Crossing>>>,
    yardsticks: Option<Yardsticks>,
}

impl<'p, C: Clock> Local<'p, C> {
    /// A bench on which nothing is open yet. The calling thread must be pinned to `site.cpu` already.
    pub fn new(clock: C, probes: &'p [&'p dyn Probe], site: Site) -> Self {
        let open = probes.iter().map(|_| None).collect();
        Self { clock, probes, site, open, yardsticks: None }
    }

    fn answer(&mut self, request: &Request) -> Result<Reply, Refusal> {
        match request {
            Request::Open { probe } => {
                let crossing = self.probes[*probe].open(&self.site)?;
                leave_room()?;
                let reply = Reply::Opened {
                    most_passes: crossing.most_passes(),
                    facts: Box::new(crossing.facts()),
                    dissection: crossing.dissection(),
                };
                self.open[*probe] = Some(crossing);
                Ok(reply)
            }
            Request::Close { probe } => {
                self.open[*probe] = None;
                Ok(Reply::Closed)
            }
            Request::Visit { probe, warm, passes, most_ticks } => {
                self.visit(*probe, *warm, passes, *most_ticks)
            }
            Request::Singles { probe, count, ticks, most_ticks } => {
                self.singles(*probe, *count, *ticks, *most_ticks)
            }
            Request::Dissect { probe, count } => self.dissect(*probe, *count),
            Request::Yardsticks => {
                let yardsticks = self.yardsticks.get_or_insert_with(Yardsticks::new);
                Ok(Reply::Yardsticks(yardsticks.time(&self.clock)))
            }
            Request::Core => self.core(),
            Request::Moment => Ok(Reply::Moment(Moment::read(&self.clock, monotonic_raw_ns, 200))),
        }
    }

    fn visit(&mut self, probe: usize, warm: u64, batches: &[u64], most_ticks: u64) -> Result<Reply, Refusal> {
        let claims = self.probes[probe].meta().proof.len();
        let Some(crossing) = self.open[probe].as_mut() else {
            return Err(Refusal::Failed("it is not open".into()));
        };
        let (mut noise, mut used) = (BatchNoise::default(), 0);
        if warm > 0 {
            crossing.prepare(warm)?;
            let start = self.clock.now();
            crossing.cross(warm)?;
            used = elapsed(start, self.clock.now())?;
        }
        let mut made = warm;
        let mut ticks = Vec::with_capacity(batches.len());
        for &passes in batches {
            if used > most_ticks {
                break;
            }
            crossing.prepare(passes)?;
            let before = BatchMark::now();
            arch::reset_float_control();
            let start = self.clock.now();
            let outcome = crossing.cross(passes);
            #[cfg(feature = "planted")]
            wait_planted(&self.clock, start, self.probes[probe].meta().id);
            let end = self.clock.now();
            noise = noise.and(&before.until(&BatchMark::now()));
            outcome?;
            ticks.push(elapsed(start, end)?);
            used = used.saturating_add(end - start);
            made += passes;
        }
        let mut counts = vec![None; claims];
        crossing.prove(&mut counts)?;
        Ok(Reply::Visited { ticks, counts, passes: made, noise })
    }

    fn singles(
        &mut self,
        probe: usize,
        (least, most): (u32, u32),
        wanted_ticks: u64,
        most_ticks: u64,
    ) -> Result<Reply, Refusal> {
        let Some(crossing) = self.open[probe].as_mut() else {
            return Err(Refusal::Failed("it is not open".into()));
        };
        let mut times = [Vec::with_capacity(most as usize), Vec::with_capacity(most as usize)];
        let (mut begun, mut used) = (None, 0);
        arch::reset_float_control();
        for made in 0..most {
            if used > most_ticks || made >= least && used > wanted_ticks {
                break;
            }
            // A pass, then an empty pass by the same path: the pair's cost is measured where it is paid.
            for (passes, times) in [1, 0].into_iter().zip(&mut times) {
                crossing.prepare(passes)?;
                let start = self.clock.now();
                let outcome = crossing.cross(passes);
                let end = self.clock.now();
                outcome?;
                times.push(elapsed(start, end)?);
                used = elapsed(*begun.get_or_insert(start), end)?;
            }
        }
        // Nobody counts them. A probe that disturbs others while it crosses ends that here, as after a visit.
        crossing.prove(&mut vec![None; self.probes[probe].meta().proof.len()])?;
        let [ticks, empty] = times;
        Ok(Reply::Singles { ticks, empty })
    }

    fn dissect(&mut self, probe: usize, count: u32) -> Result<Reply, Refusal> {
        let Some(crossing) = self.open[probe].as_mut() else {
            return Err(Refusal::Failed("it is not open".into()));
        };
        let (Some(dissection), Some(now)) = (crossing.dissection(), self.clock.stamper()) else {
            return Err(Refusal::skip("this clock cannot stamp", "--clock tsc"));
        };
        let mut spans: Vec<Vec<Span>> = vec![Vec::with_capacity(count as usize); dissection.lanes];
        arch::reset_float_control();
        // Around the crossings, so the two clocks are compared when they are used.
        let first = Anchor::now(now);
        crossing.dissect(count, now, &mut spans)?;
        let mapping = first.zip(Anchor::now(now)).and_then(|(first, last)| Mapping::between(first, last));
        let mapping = mapping.ok_or_else(|| Refusal::Failed("the clock stopped or ran backwards".into()))?;
        let pair = stamps::pair_ticks(now);
        let lengths = |lane: &Vec<Span>| lane.iter().map(|&span| mapping.length(span, pair)).collect();
        Ok(Reply::Dissected { lanes: spans.iter().map(lengths).collect(), doubt: mapping.doubt })
    }

    fn core(&self) -> Result<Reply, Refusal> {
        const TRIES: usize = 40;
        let pair: Vec<u64> = (0..1_000)
            .map(|_| {
                let start = self.clock.now();
                elapsed(start, self.clock.now())
            })
            .collect::<Result<_, _>>()?;
        let timed = |chain: fn(u64) -> u64, n: u64| {
            let start = self.clock.now();
            let made = chain(n);
            let ticks = elapsed(start, self.clock.now())?;
            Ok::<_, Refusal>((ticks as f64, made as f64))
        };
        // Two lengths, so that the cost of the clock and of the call drops out of the difference.
        let slope = |chain: fn(u64) -> u64| {
            let (short, few) = timed(chain, 4_000)?;
            let (long, many) = timed(chain, 24_000)?;
            Ok::<_, Refusal>((long - short) / (many - few))
        };
        let (mut multiply, mut add, mut thousand) = (Vec::new(), Vec::new(), Vec::new());
        // One after the other within microseconds, so the same place in the three was timed at the same core frequency.
        for _ in 0..TRIES {
            multiply.push(slope(arch::multiply_chain)?);
            let (long, _) = timed(arch::multiply_chain, 1_000)?;
            let (empty, _) = timed(arch::multiply_chain, 0)?;
            thousand.push(long - empty);
            add.push(slope(arch::add_chain)?);
        }
        Ok(Reply::Core { multiply, add, thousand, pair })
    }
}

/// Ticks between two readings. A clock that ran backwards is a failure, not a short time.
fn elapsed(start: u64, end: u64) -> Result<u64, Refusal> {
    end.checked_sub(start)
        .ok_or_else(|| Refusal::Failed(format!("the clock ran backwards by {} ticks", start - end)))
}

/// Makes the batch that began at `start` longer by the share that the environment gives, for all probes or those that it
/// lists.
#[cfg(feature = "planted")]
fn wait_planted(clock: &impl Clock, start: u64, probe: &str) {
    static PLANTED: std::sync::OnceLock<(f64, Option<String>)> = std::sync::OnceLock::new();
    let (share, probes) = PLANTED.get_or_init(|| {
        let share = std::env::var("TOLLGATE_PLANTED").ok().and_then(|text| text.parse().ok());
        (share.unwrap_or(0.0), std::env::var("TOLLGATE_PLANTED_PROBES").ok())
    });
    if probes.as_ref().is_some_and(|probes| !probes.split(',').any(|it| it == probe)) {
        return;
    }
    let now = clock.now();
    let end = now + (now.saturating_sub(start) as f64 * *share) as u64;
    while clock.now() < end {}
}

impl<C: Clock> Bench for Local<'_, C> {
    fn ask(&mut self, request: &Request) -> Result<Reply, Lost> {
        Ok(match self.answer(request) {
            Ok(reply) => reply,
            Err(refusal) => {
                if let Request::Visit { probe, .. } | Request::Singles { probe, .. } = request {
                    self.open[*probe] = None;
                }
                match refusal {
                    Refusal::Skip { reason, enable } => Reply::Skipped { reason, enable },
                    Refusal::Failed(reason) => Reply::Failed { reason },
                }
            }
        })
    }

    fn restart(&mut self) -> Result<(), Lost> {
        self.open.iter_mut().for_each(|open| *open = None);
        Ok(())
    }

    fn elapsed_ns(&self) -> u64 {
        monotonic_raw_ns()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Scripted;
    use crate::{Meta, Placement};
    use std::sync::atomic::{AtomicBool, Ordering};
    use tollgate_record::Per;

    /// Whether the crossing disturbs others, as one does that attaches something in the kernel.
    static DISTURBS: AtomicBool = AtomicBool::new(false);

    struct Loud;

    impl Probe for Loud {
        fn meta(&self) -> &Meta {
            const {
                &Meta {
                    id: "a/loud",
                    what: "",
                    per: Per::Call,
                    crossings_per_pass: 1,
                    least_passes: 1,
                    placement: Placement::One,
                    proof: &[],
                }
            }
        }

        fn open(&self, _: &Site) -> Result<Box<dyn Crossing>, Refusal> {
            Ok(Box::new(Self))
        }
    }

    impl Crossing for Loud {
        fn prepare(&mut self, _: u64) -> Result<(), Refusal> {
            DISTURBS.store(true, Ordering::Relaxed);
            Ok(())
        }

        fn cross(&mut self, _: u64) -> Result<(), Refusal> {
            Ok(())
        }

        fn prove(&mut self, _: &mut [Option<u64>]) -> Result<(), Refusal> {
            DISTURBS.store(false, Ordering::Relaxed);
            Ok(())
        }
    }

    /// A bench on which the loud probe is open, with these readings of the clock.
    fn opened(readings: &[u64]) -> Local<'static, Scripted> {
        const PROBES: &[&dyn Probe] = &[&Loud];
        let mut bench = Local::new(Scripted::reading(readings), PROBES, Site { cpu: 0, peer: None });
        bench.ask(&Request::Open { probe: 0 }).unwrap();
        bench
    }

    #[test]
    fn a_probe_disturbs_the_others_only_in_its_own_requests() {
        let mut bench = opened(&[5; 64]);
        for request in [
            Request::Visit { probe: 0, warm: 1, passes: vec![1], most_ticks: 100 },
            Request::Singles { probe: 0, count: (2, 2), ticks: 100, most_ticks: 100 },
        ] {
            let reply = bench.ask(&request).unwrap();
            assert!(matches!(reply, Reply::Visited { .. } | Reply::Singles { .. }), "{reply:?}");
            assert!(!DISTURBS.load(Ordering::Relaxed), "{request:?}");
        }
    }

    #[test]
    fn no_batch_of_a_visit_begins_when_its_time_is_up() {
        // A batch takes 10 ticks.
        let readings: Vec<u64> = (0..64).map(|at| 10 * at).collect();
        let made = |warm, most_ticks| {
            let mut bench = opened(&readings);
            match bench.ask(&Request::Visit { probe: 0, warm, passes: vec![5, 5, 7], most_ticks }).unwrap() {
                Reply::Visited { ticks, passes, .. } => (ticks.len(), passes),
                other => panic!("{other:?}"),
            }
        };
        assert_eq!([made(0, 9), made(0, 15), made(0, 20)], [(1, 5), (2, 10), (3, 17)]);
        assert_eq!([made(2, 9), made(2, 10)], [(0, 2), (1, 7)], "what comes before them counts");
    }

    #[test]
    fn single_passes_are_as_many_as_fit_into_their_time() {
        // A pass and an empty one take four readings: 30 ticks from the first to the last, and 10 before the next.
        let readings: Vec<u64> = (0..64).map(|at| 10 * at).collect();
        let made = |ticks, most_ticks| {
            let mut bench = opened(&readings);
            match bench.ask(&Request::Singles { probe: 0, count: (2, 5), ticks, most_ticks }).unwrap() {
                Reply::Singles { ticks, empty } if ticks.len() == empty.len() => ticks.len(),
                other => panic!("{other:?}"),
            }
        };
        assert_eq!([made(20, 1_000), made(100, 1_000), made(1_000, 1_000)], [2, 3, 5]);
        assert_eq!(made(20, 20), 1, "what takes too long is given up with less than the least");
    }
}
