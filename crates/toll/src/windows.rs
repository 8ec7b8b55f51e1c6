//! When the entries of calls are seen. Each tracepoint costs half of counting a call, and their exits are enough to count
//! calls. The entries of a program that calls very often are seen in short windows, in which each call is timed.

use aya::maps::{Array, MapData, MapError, PerCpuArray};
use aya::programs::raw_trace_point::RawTracePointLinkId;
use aya::programs::{Program, ProgramError};
use aya::util::KernelVersion;
use aya::{Ebpf, Pod};
use statrs::distribution::{ContinuousCDF, StudentsT};
use std::time::{Duration, Instant};

/// The program that is attached to the entries, and its point.
pub(crate) const PROGRAM: &str = "sys_enter";
/// While counting takes a smaller share of the time of each CPU, all entries are seen.
const SHARE: f64 = 0.04;
/// While all entries are seen, the rate is read first after this time, and later after twice as long each time: reading takes
/// the CPU from a program that has only one.
const WATCHED: Duration = Duration::from_millis(10);
/// Up to this time.
const WATCHED_MOST: Duration = Duration::from_millis(160);
/// As long are the entries seen at once while the program calls too often. A window without a call is made longer, up to
/// [`WATCHED_MOST`]: on a busy machine the program may not have run in it.
const WINDOW: Duration = Duration::from_millis(3);
/// Then they are ignored for this time, up to twice as long, so that no pattern of the program coincides with the windows.
const UNSEEN_MS: u32 = 60;

/// `struct cpu` of the program.
#[repr(C)]
#[derive(Clone, Copy)]
struct Cpu {
    tid: u32,
    pad: u32,
    calls: u64,
    clock: u64,
}

// SAFETY: plain data without padding, in which every bit pattern is valid.
unsafe impl Pod for Cpu {}

/// Whether calls can be counted by their exits alone: the number of a call is in the registers of x86-64, and the kernel lets
/// a program read them since 5.15.
pub(crate) fn are_possible() -> bool {
    cfg!(target_arch = "x86_64")
        && KernelVersion::current().is_ok_and(|it| it >= KernelVersion::new(5, 15, 0))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Watched(Duration),
    Window(Duration),
    Unseen(Duration),
}

impl State {
    fn period(self) -> Duration {
        match self {
            Self::Watched(period) | Self::Window(period) | Self::Unseen(period) => period,
        }
    }

    /// The next period after one with `calls` on one CPU, if observing adds `added` nanoseconds to each.
    fn next(self, elapsed: Duration, calls: u64, added: f64) -> Self {
        let is_fast = calls as f64 * added > elapsed.as_nanos() as f64 * SHARE;
        match self {
            Self::Unseen(_) => Self::Window(WINDOW),
            Self::Window(period) if calls == 0 && period < WATCHED_MOST => {
                Self::Window((period * 2).min(WATCHED_MOST))
            }
            // The last three digits are as good as random.
            _ if is_fast => {
                let thousandths = 1000 + elapsed.subsec_nanos() % 1000;
                Self::Unseen(Duration::from_micros(u64::from(thousandths * UNSEEN_MS)))
            }
            Self::Watched(period) => Self::Watched((period * 2).min(WATCHED_MOST)),
            Self::Window(_) => Self::Watched(WATCHED),
        }
    }
}

/// Attaches and detaches the program of the entries.
pub(crate) struct Windows {
    link: Option<RawTracePointLinkId>,
    state: State,
    /// Nanoseconds that a call takes longer while its entry is seen, too.
    added: f64,
    since: Instant,
    calls: Vec<u64>,
    count: u64,
}

impl Windows {
    /// The entries are seen, by this link.
    pub(crate) fn new(link: RawTracePointLinkId) -> Self {
        let (state, since) = (State::Watched(WATCHED), Instant::now());
        Self { link: Some(link), state, added: 0.0, since, calls: Vec::new(), count: 0 }
    }

    /// Begins with the command, when the cost of observing a call has been measured.
    pub(crate) fn start(&mut self, ebpf: &Ebpf, added: f64) {
        (self.added, self.since, self.calls) = (added, Instant::now(), calls(ebpf));
    }

    /// From now on the entries are seen in windows only, whatever the rate is.
    pub(crate) fn always(&mut self, ebpf: &mut Ebpf) {
        self.added = f64::INFINITY;
        self.sample(ebpf);
    }

    /// How long until [`Windows::sample`] is due.
    pub(crate) fn period(&self) -> Duration {
        self.state.period()
    }

    /// Whether this is the time between two windows: each call of the window before it is over, unless it waits.
    pub(crate) fn are_apart(&self) -> bool {
        matches!(self.state, State::Unseen(_))
    }

    /// How many there were until now.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// A period has passed.
    pub(crate) fn sample(&mut self, ebpf: &mut Ebpf) {
        let now = calls(ebpf);
        let most = now.iter().zip(&self.calls).map(|(now, before)| now.wrapping_sub(*before)).max();
        let next = self.state.next(self.since.elapsed(), most.unwrap_or(0), self.added);
        // A refused change is tried again after the next period.
        if self.enter(ebpf, next).is_ok() {
            self.count += u64::from(next == State::Window(WINDOW));
            self.state = next;
        }
        (self.since, self.calls) = (Instant::now(), now);
    }

    fn enter(&mut self, ebpf: &mut Ebpf, state: State) -> Result<(), ProgramError> {
        // Calls that are timed from now on are those of windows, or are not any longer.
        set_windows(ebpf, !matches!(state, State::Watched(_)))?;
        self.see(ebpf, !matches!(state, State::Unseen(_)))
    }

    /// From now on all entries are seen.
    pub(crate) fn end(&mut self, ebpf: &mut Ebpf) -> Result<(), ProgramError> {
        self.enter(ebpf, State::Watched(WATCHED))
    }

    /// Attaches or detaches.
    pub(crate) fn see(&mut self, ebpf: &mut Ebpf, seen: bool) -> Result<(), ProgramError> {
        if seen && self.link.is_none() {
            self.link = Some(program(ebpf)?.attach(PROGRAM)?);
        } else if !seen && let Some(link) = self.link.take() {
            program(ebpf)?.detach(link)?;
        }
        Ok(())
    }
}

fn program(ebpf: &mut Ebpf) -> Result<&mut aya::programs::RawTracePoint, ProgramError> {
    match ebpf.program_mut(PROGRAM) {
        Some(Program::RawTracePoint(program)) => Ok(program),
        _ => Err(ProgramError::UnexpectedProgramType),
    }
}

/// `windows` of the program is all that it has in this section.
fn set_windows(ebpf: &mut Ebpf, windows: bool) -> Result<(), MapError> {
    let name = ".bss";
    let map = ebpf.map_mut(name).ok_or(MapError::InvalidName { name: name.into() })?;
    Array::<&mut MapData, u32>::try_from(map)?.set(0, u32::from(windows), 0)
}

/// Calls until now, by CPU.
fn calls(ebpf: &Ebpf) -> Vec<u64> {
    let map = ebpf.map("running").and_then(|map| PerCpuArray::<&MapData, Cpu>::try_from(map).ok());
    let values = map.and_then(|map| map.get(&0, 0).ok());
    values.map_or_else(Vec::new, |values| values.iter().map(|cpu| cpu.calls).collect())
}

/// The calls of one number that were timed in windows, window by window: what that says of the others.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Clusters {
    /// Windows with such a call.
    windows: f64,
    /// Sums over windows of the number of calls squared, of it times their nanoseconds, and of these squared.
    calls_squared: f64,
    products: f64,
    ns_squared: f64,
    calls: f64,
    ns: f64,
}

impl Clusters {
    /// Adds a window.
    pub(crate) fn add(&mut self, calls: u64, ns: u64) {
        let (calls, ns) = (calls as f64, ns as f64);
        self.windows += f64::from(u8::from(calls > 0.0));
        self.calls_squared += calls * calls;
        self.products += calls * ns;
        self.ns_squared += ns * ns;
        self.calls += calls;
        self.ns += ns;
    }

    /// Half the 95 % interval of the mean nanoseconds of a call: of a ratio, since windows have different numbers of calls
    /// (Cochran, Sampling Techniques, section 6.3), by Student's distribution. One window alone says nothing about the
    /// others, so that the interval is then the mean itself.
    pub(crate) fn mean_error(&self) -> f64 {
        let mean = self.ns / self.calls.max(1.0);
        let freedom = self.windows - 1.0;
        let Ok(student) = StudentsT::new(0.0, 1.0, freedom) else { return mean };
        let residuals = self.ns_squared - 2.0 * mean * self.products + mean * mean * self.calls_squared;
        let variance = residuals.max(0.0) * self.windows / freedom / (self.calls * self.calls);
        student.inverse_cdf(0.975) * variance.sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_seen_while_counting_takes_less_than_a_twenty_fifth() {
        let second = Duration::from_secs(1);
        // 400,000 calls of 100 ns more are 40 ms.
        let watched = State::Watched(WATCHED);
        let [twice, most] = [2 * WATCHED, WATCHED_MOST].map(State::Watched);
        assert_eq!(watched.next(second, 400_000, 100.0), twice);
        assert_eq!(most.next(second, 400_000, 100.0), most);
        let unseen = State::Unseen(Duration::from_millis(60));
        assert_eq!(watched.next(second, 400_001, 100.0), unseen);
        let window = State::Window(WINDOW);
        assert_eq!(window.next(second, 1_000_000, 100.0), unseen);
        assert_eq!(window.next(second, 400_000, 100.0), watched);
        // Whatever it did meanwhile.
        assert_eq!(unseen.next(second, 0, 100.0), window);
        assert_eq!(unseen.next(second, 1_000_000, 100.0), window);
    }

    #[test]
    fn a_window_waits_for_a_program_that_has_no_cpu() {
        let (mut state, mut waited) = (State::Window(WINDOW), Duration::ZERO);
        while let State::Window(period) = state {
            waited += period;
            state = state.next(period, 0, 100.0);
        }
        // 3, 6, 12, 24, 48, 96 and 160 ms; then it may wait for something else.
        assert_eq!((state, waited), (State::Watched(WATCHED), Duration::from_millis(349)));
        let late = State::Window(8 * WINDOW);
        assert_eq!(late.next(8 * WINDOW, 100_000, 100.0).period(), Duration::from_millis(60));
    }

    #[test]
    fn windows_are_short_and_their_distance_varies() {
        let fast = |nanos| State::Window(WINDOW).next(Duration::from_nanos(nanos), 1_000_000, 100.0).period();
        assert_eq!(fast(5_061_000), Duration::from_millis(60));
        assert_eq!(fast(5_061_500), Duration::from_millis(90));
        assert_eq!(fast(5_061_999), Duration::from_micros(60_000 + 59_940));
        assert!(WINDOW * 10 < fast(5_061_000));
    }

    #[test]
    fn the_interval_of_windows_is_that_of_a_ratio() {
        let mut clusters = Clusters::default();
        assert_eq!(clusters.mean_error(), 0.0);
        clusters.add(100, 20_000);
        assert_eq!(clusters.mean_error(), 200.0, "one window");
        clusters.add(0, 0);
        assert_eq!(clusters.mean_error(), 200.0, "a window without such a call");
        clusters.add(300, 120_000);
        // Mean 350; residuals 20,000 - 35,000 and 120,000 - 105,000; t for one degree of freedom is 12.706.
        let expected = 12.706 * (2.0 * 15_000.0_f64.powi(2) * 2.0).sqrt() / 400.0;
        assert!((clusters.mean_error() / expected - 1.0).abs() < 1e-4, "{}", clusters.mean_error());
    }

    /// A linear congruential generator, of which the high bits are used.
    struct Random(u64);

    impl Random {
        fn unit(&mut self) -> f64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 11) as f64 / (1_u64 << 53) as f64
        }
    }

    /// Programs whose calls change their duration by phases, seen in windows of [`WINDOW`] as the state machine places them:
    /// the interval of the mean contains the true one in at least 90 of 100.
    #[test]
    fn the_interval_covers_the_mean_of_programs_that_change() {
        for (phase_ms, seconds) in [(1, 2), (20, 4), (100, 10), (300, 20)] {
            let programs = 400;
            let covered = (0..programs).filter(|seed| covers(*seed, phase_ms, seconds)).count();
            assert!(
                covered * 100 >= programs as usize * 90,
                "phases of {phase_ms} ms: {covered} of {programs}"
            );
        }
    }

    fn covers(seed: u64, phase_ms: usize, seconds: usize) -> bool {
        let mut random = Random(seed);
        // The mean duration of a call in each millisecond, which decides how many there are.
        let mut milliseconds = Vec::new();
        while milliseconds.len() < seconds * 1000 {
            let (ns, length) = (300.0 + 1700.0 * random.unit(), 2.0 * random.unit() * phase_ms as f64);
            milliseconds.extend(std::iter::repeat_n(ns, 1 + length as usize));
        }
        let of = |part: &[f64]| {
            let calls: u64 = part.iter().map(|ns| (1e6 / (ns + 100.0)) as u64).sum();
            (calls, part.iter().map(|ns| (1e6 / (ns + 100.0)).floor() * ns).sum::<f64>())
        };
        let (calls, ns) = of(&milliseconds);
        let (mut clusters, mut at) = (Clusters::default(), 50);
        loop {
            let elapsed = Duration::from_nanos(5_061_000 + (random.unit() * 1e3) as u64);
            at += State::Window(WINDOW).next(elapsed, 1_000_000, 100.0).period().as_millis() as usize;
            let Some(window) = milliseconds.get(at..at + WINDOW.as_millis() as usize) else { break };
            let (calls, ns) = of(window);
            clusters.add(calls, ns as u64);
            at += window.len();
        }
        let (truth, mean) = (ns / calls as f64, clusters.ns / clusters.calls);
        (mean - truth).abs() <= clusters.mean_error()
    }
}
