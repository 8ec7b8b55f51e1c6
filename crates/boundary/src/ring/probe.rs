//! A ring as a probe: one pass is one lap of the token.

use super::{
    array::Array,
    events, limits,
    spec::{Link, Pages, Spec},
};
use crate::task::{Medium, Ring, Switches, Work, media};
use std::{
    fs,
    time::{Duration, Instant},
};
use tollgate_measure::counters::Kernel;
use tollgate_measure::{Crossing, Facts, Meta, Probe, Refusal, Site};
use tollgate_record::family::RingFound;
use tollgate_record::{Asked, Found};

/// A ring that can be opened.
pub struct RingProbe {
    spec: Spec,
    meta: Meta,
}

impl RingProbe {
    /// The probe of this ring.
    pub fn new(spec: Spec) -> Self {
        let meta = spec.meta();
        Self { spec, meta }
    }
}

impl Probe for RingProbe {
    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn open(&self, _: &Site) -> Result<Box<dyn Crossing>, Refusal> {
        limits::raise(&self.spec);
        let opened = match self.spec.link {
            Link::Pipe => open::<media::Pipe>(&self.spec),
            Link::Futex => open::<media::Futex>(&self.spec),
            Link::Eventfd => open::<media::Eventfd>(&self.spec),
            Link::Socketpair => open::<media::Socketpair>(&self.spec),
        };
        opened.map_err(|refusal| limits::named(refusal, &self.spec))
    }
}

fn open<M: Medium>(spec: &Spec) -> Result<Box<dyn Crossing>, Refusal> {
    let mut own = Array::new(spec);
    own.enter().map_err(|errno| {
        let error = std::io::Error::from_raw_os_error(errno);
        Refusal::Failed(format!("an array of {} bytes: {error}", spec.bytes))
    })?;
    let mut ring = Ring::<M>::open(spec.tasks(), &spec.peer_cpus(), |_| Array::new(spec))?;
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_micros(spec.warm_us) {
        ring.laps(1, || own.work())?;
    }
    let peers = ring.census(|| own.work())?;
    let mut facts = Facts { asked: Asked::Ring(spec.asked()), ..Facts::default() };
    if spec.pages == Pages::Huge && spec.bytes > 0 {
        facts.found = Found::Ring(RingFound { huge_kib: huge_kib(own.address()) });
    }
    if spec.counters {
        let tasks = ring.task_numbers();
        facts.counted = events::counted(&mut Kernel::new(), &tasks, || ring.laps(1, || own.work()))?;
    }
    let switches = Switches::new(&[]);
    Ok(Box::new(OpenRing { ring, own, switches, peers, laps: 0, facts }))
}

struct OpenRing<M: Medium> {
    ring: Ring<M>,
    /// The array of the measuring thread, which is the first task.
    own: Array,
    /// The measuring thread's own switches.
    switches: Switches,
    /// Switches of all other tasks at the last census.
    peers: u64,
    /// Laps since the last census.
    laps: u64,
    facts: Facts,
}

impl<M: Medium> Crossing for OpenRing<M> {
    fn prepare(&mut self, _: u64) -> Result<(), Refusal> {
        self.switches.begin();
        Ok(())
    }

    fn cross(&mut self, passes: u64) -> Result<(), Refusal> {
        self.laps += passes;
        let own = &mut self.own;
        self.ring.laps(passes, || own.work())
    }

    fn prove(&mut self, counts: &mut [Option<u64>]) -> Result<(), Refusal> {
        let Some(count) = counts.first_mut() else { return Ok(()) };
        // Each task stores its count when it takes the token in one more lap. That lap is in the count, so the result is
        // scaled to the laps of the batches.
        let own = &mut self.own;
        let peers = self.ring.census(|| own.work())?;
        let (laps, before) = (std::mem::take(&mut self.laps), std::mem::replace(&mut self.peers, peers));
        *count = self.switches.count().map(|own| {
            let all = (peers - before + own) as f64;
            (all * laps as f64 / (laps + 1) as f64).round() as u64
        });
        Ok(())
    }

    fn facts(&self) -> Facts {
        self.facts.clone()
    }
}

/// How much of the mapping at this address is on huge pages.
fn huge_kib(address: usize) -> Option<u64> {
    huge_in(&fs::read_to_string("/proc/self/smaps").ok()?, address)
}

fn huge_in(smaps: &str, address: usize) -> Option<u64> {
    let mut inside = false;
    for line in smaps.lines() {
        let range = line.split(' ').next().and_then(|range| range.split_once('-'));
        let bound = |hex| usize::from_str_radix(hex, 16).ok();
        if let Some((low, high)) = range.and_then(|(low, high)| bound(low).zip(bound(high))) {
            inside = (low..high).contains(&address);
        } else if inside && let Some(rest) = line.strip_prefix("AnonHugePages:") {
            return rest.trim().trim_end_matches(" kB").parse().ok();
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate_measure::placement;

    #[test]
    fn huge_pages_are_looked_up_at_the_array() {
        let smaps = "1000-2000 rw-p 0 0:0 0\nSize: 4 kB\nAnonHugePages:  0 kB\n\
                     a000-c000 rw-p 0 0:0 0 \nAnonHugePages:      2048 kB\n";
        assert_eq!(huge_in(smaps, 0xb000), Some(2048));
        assert_eq!(huge_in(smaps, 0x1000), Some(0));
        assert_eq!(huge_in(smaps, 0x3000), None);
    }

    #[test]
    fn every_link_carries_the_token_and_each_hop_is_a_switch() {
        let cpu = *placement::allowed().expect("the mask can be read").last().expect("a CPU");
        for link in [Link::Pipe, Link::Futex, Link::Eventfd, Link::Socketpair] {
            for (threads, procs) in [(false, 1), (true, 1), (false, 5), (true, 5)] {
                let spec = Spec { link, threads, ..Spec::like_lmbench(procs, 4096, cpu) };
                let counted = std::thread::spawn(move || {
                    placement::pin(cpu).expect("the CPU is in our mask");
                    let probe = RingProbe::new(spec);
                    let mut open = probe.open(&Site { cpu, peer: None }).expect("it opens");
                    open.prepare(200).expect("prepared");
                    open.cross(200).expect("the token comes back");
                    let mut counts = vec![None; probe.meta().proof.len()];
                    open.prove(&mut counts).expect("proved");
                    counts
                });
                let counted = counted.join().expect("no panic");
                if procs == 1 {
                    assert!(counted.is_empty());
                    continue;
                }
                let count = counted[0].expect("rusage is always there") as f64;
                assert!(count >= 0.97 * 200.0 * f64::from(procs), "{link:?} {threads}: {count}");
            }
        }
    }
}
