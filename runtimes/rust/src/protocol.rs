//! Parameters, the course of a measurement, and output.

use crate::clock;
use std::fmt::Write as _;
use std::io::Write as _;
use std::time::{Duration, Instant};

/// The parameters.
pub struct Params {
    pub runtime: String,
    pub mechanism: String,
    pub tasks: usize,
    batches: usize,
    pub batch: u64,
    warm_min: Duration,
    warm_max: Duration,
    pub singles: usize,
}

impl Params {
    /// The parameters of each measurement: a value with commas is a list with one for each.
    pub fn each() -> Vec<Self> {
        let arguments: Vec<String> = std::env::args().skip(1).collect();
        let pairs = arguments.iter().filter_map(|argument| argument.split_once('='));
        let lists: Vec<(&str, Vec<&str>)> =
            pairs.map(|(key, value)| (key, value.split(',').collect())).collect();
        let most = lists.iter().map(|(_, values)| values.len()).max().unwrap_or(1);
        let one =
            |at: usize| lists.iter().map(move |(key, values)| (*key, *values.get(at).unwrap_or(&values[0])));
        (0..most).map(|at| Self::read(one(at))).collect()
    }

    fn read<'a>(values: impl Iterator<Item = (&'a str, &'a str)>) -> Self {
        let mut params = Self {
            runtime: String::new(),
            mechanism: String::new(),
            tasks: 2,
            batches: 100,
            batch: 10_000,
            warm_min: Duration::from_millis(20),
            warm_max: Duration::from_millis(500),
            singles: 0,
        };
        for (key, value) in values {
            let number =
                || value.parse::<u64>().unwrap_or_else(|_| fail(&format!("{key}={value} is not a number")));
            match key {
                "runtime" => params.runtime = value.into(),
                "mechanism" => params.mechanism = value.into(),
                "tasks" => params.tasks = number() as usize,
                "batches" => params.batches = number() as usize,
                "batch" => params.batch = number(),
                "warm_min_ms" => params.warm_min = Duration::from_millis(number()),
                "warm_max_ms" => params.warm_max = Duration::from_millis(number()),
                "singles" => params.singles = number() as usize,
                _ => {}
            }
        }
        if params.tasks < 1 || params.batch == 0 || params.batch % params.tasks as u64 != 0 {
            fail("batch must be a multiple of tasks");
        }
        params
    }
}

/// Prints why there are no samples, and exits.
pub fn skip(why: &str) -> ! {
    leave(&format!("tollgate-runtime 1\nskip {why}\nend\n"))
}

/// Prints the error, and exits.
pub fn fail(why: &str) -> ! {
    leave(&format!("tollgate-runtime 1\nfail {why}\nend\n"))
}

/// Prints the text, and exits.
pub fn leave(text: &str) -> ! {
    let mut out = std::io::stdout().lock();
    let done = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    std::process::exit(i32::from(done.is_err()))
}

/// Resident bytes of this process.
pub fn resident() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: u64 = statm.split(' ').nth(1).and_then(|pages| pages.parse().ok()).unwrap_or(0);
    // SAFETY: no memory is touched.
    pages * unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as u64
}

/// Context switches that the kernel counted for this process.
fn kernel_switches() -> u64 {
    // SAFETY: plain data for which zeroes are valid, then a call that fills it.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &mut usage);
        usage
    };
    (usage.ru_nvcsw + usage.ru_nivcsw) as u64
}

/// The counts of the tasks so far.
#[derive(Clone, Copy, Default)]
pub struct Counts {
    pub resumes: u64,
    pub dispatcher: u64,
    /// Texts that were copied on their way.
    pub copies: Option<u64>,
}

enum Stage {
    Warming { steady: u32 },
    Sampling,
}

/// The course of a measurement. The caller repeats: [`Course::begin`] returns the number of rounds, the caller runs them and
/// calls [`Course::end`].
pub struct Course<'p> {
    params: &'p Params,
    stage: Stage,
    started: Instant,
    warm_began: Instant,
    first_tick: u64,
    start: u64,
    warm: Vec<u64>,
    warm_rounds: u64,
    steady: bool,
    samples: Vec<u64>,
    /// Resumptions before each batch, where the scheduler decides how many there are.
    counted: Option<Vec<u64>>,
    first: Counts,
    first_kernel: u64,
    last: Counts,
    last_kernel: u64,
    rss: (u64, u64),
    threads: bool,
}

impl<'p> Course<'p> {
    /// `before` is the resident size before the tasks were created. Call it when each task has run once.
    pub fn new(params: &'p Params, before: u64) -> Self {
        Self {
            params,
            stage: Stage::Warming { steady: 0 },
            started: Instant::now(),
            warm_began: Instant::now(),
            first_tick: clock::now(),
            start: 0,
            warm: Vec::new(),
            warm_rounds: 0,
            steady: false,
            samples: Vec::with_capacity(params.batches),
            counted: None,
            first: Counts::default(),
            first_kernel: 0,
            last: Counts::default(),
            last_kernel: 0,
            rss: (before, resident()),
            threads: false,
        }
    }

    /// The tasks are threads: the kernel's count is printed as well.
    pub fn threads(mut self) -> Self {
        self.threads = true;
        self
    }

    /// The scheduler may let a task run twice in a round: the switches of each batch are counted.
    pub fn counted(mut self) -> Self {
        self.counted = Some(Vec::with_capacity(self.params.batches + 1));
        self
    }

    /// The number of rounds to run now; `None` at the end. `counts` is called outside the clock.
    #[inline(never)]
    pub fn begin(&mut self, mut counts: impl FnMut() -> Counts) -> Option<u64> {
        if let Stage::Warming { steady } = self.stage
            && self.is_warm()
        {
            self.steady = steady >= 2;
            self.stage = Stage::Sampling;
            self.first = counts();
            self.first_kernel = kernel_switches();
        }
        if let (Stage::Sampling, Some(counted)) = (&self.stage, &mut self.counted) {
            counted.push(counts().resumes);
        }
        if self.samples.len() == self.params.batches {
            self.last = counts();
            self.last_kernel = kernel_switches();
            return None;
        }
        let rounds = self.params.batch / self.params.tasks as u64;
        clock::reset_float_control();
        self.start = clock::now();
        Some(rounds)
    }

    /// Whether the next batch will be a sample.
    pub fn is_warm(&self) -> bool {
        let Stage::Warming { steady } = self.stage else { return true };
        let spent = self.warm_began.elapsed();
        let done = steady >= 2 && spent >= self.params.warm_min;
        done || spent >= self.params.warm_max && !self.warm.is_empty()
    }

    /// Call it when the rounds have run.
    #[inline(never)]
    pub fn end(&mut self) {
        let ticks = clock::now().wrapping_sub(self.start);
        match &mut self.stage {
            Stage::Sampling => self.samples.push(ticks),
            Stage::Warming { steady } => {
                self.warm.push(ticks);
                self.warm_rounds += 1;
                let n = self.warm.len();
                if n >= 16 && n.is_multiple_of(8) {
                    let fastest =
                        |from: usize| self.warm[from..from + 8].iter().copied().min().unwrap_or(0) as f64;
                    *steady = if fastest(n - 8) >= 0.98 * fastest(n - 16) { *steady + 1 } else { 0 };
                }
            }
        }
    }

    /// Runs rounds of the ring until the end. `counts` is called outside the clock, `round` inside.
    #[inline(always)]
    pub fn run<R>(
        mut self,
        ring: &mut R,
        counts: impl Fn(&R) -> Counts,
        mut round: impl FnMut(&mut R),
    ) -> Self {
        while let Some(rounds) = self.begin(|| counts(ring)) {
            for _ in 0..rounds {
                round(ring);
            }
            self.end();
        }
        self
    }

    /// Prints everything and exits. `singles` contains the ticks of single switches.
    pub fn finish(self, version: &str, notes: &[String], singles: &[u64], dispatches: bool) -> ! {
        leave(&self.transcript(version, notes, singles, dispatches))
    }

    /// Everything that is printed at the end.
    pub fn transcript(self, version: &str, notes: &[String], singles: &[u64], dispatches: bool) -> String {
        // The rate of the counter over the whole measurement.
        let ticks = (clock::now() - self.first_tick) as f64;
        let ns = self.started.elapsed().as_nanos() as f64 / ticks;
        if !clock::constant() {
            skip("the time-stamp counter of this processor is not stated to have a constant rate");
        }
        let pairs: Vec<u64> = pairs(singles.len());
        let switches: Vec<u64> = match &self.counted {
            Some(counted) => counted.windows(2).map(|two| two[1] - two[0]).collect(),
            None => vec![self.params.batch; self.samples.len()],
        };
        let mut text = String::from("tollgate-runtime 1\n");
        let _ = writeln!(text, "version {version}, {}", env!("TOLLGATE_RUSTC"));
        let _ = writeln!(text, "clock {:.4} {} at {:.1} MHz", grain() * ns, clock::NAME, 1e3 / ns);
        let _ = writeln!(text, "rss {} {}", self.rss.0, self.rss.1);
        let how = if self.steady { "steady" } else { "limit" };
        let _ = writeln!(text, "warm {} {how}", self.warm_rounds * self.params.batch);
        for (ticks, switches) in self.samples.iter().zip(&switches) {
            let _ = writeln!(text, "sample {switches} {:.1}", *ticks as f64 * ns);
        }
        for pair in &pairs {
            let _ = writeln!(text, "pair {:.2}", *pair as f64 * ns);
        }
        for single in singles {
            let _ = writeln!(text, "single 1 {:.2}", *single as f64 * ns);
        }
        let _ = writeln!(text, "count switches {}", switches.iter().sum::<u64>());
        let _ = writeln!(text, "count resumes {}", self.last.resumes - self.first.resumes);
        if dispatches {
            let _ = writeln!(text, "count dispatcher {}", self.last.dispatcher - self.first.dispatcher);
        }
        if self.threads {
            let _ = writeln!(text, "count kernel {}", self.last_kernel - self.first_kernel);
        }
        if let (Some(first), Some(last)) = (self.first.copies, self.last.copies) {
            let _ = writeln!(text, "count copies {}", last - first);
        }
        for note in notes {
            let _ = writeln!(text, "note {note}");
        }
        text.push_str("end\n");
        text
    }
}

/// Times of two successive readings.
fn pairs(count: usize) -> Vec<u64> {
    let pair = |_| {
        let start = clock::now();
        clock::now() - start
    };
    (0..count).map(pair).collect()
}

/// The smallest difference of two durations, in ticks: some counters advance by many ticks at once.
fn grain() -> f64 {
    let mut lengths = pairs(2_000);
    lengths.sort_unstable();
    // Two adjacent values are one step that was rounded up and down.
    lengths.windows(2).map(|two| two[1] - two[0]).filter(|step| *step > 1).min().unwrap_or(1) as f64
}

/// Times single switches: each task takes a stamp when it has the CPU and just before it gives it up.
pub struct Stamps {
    left: u64,
    pub ticks: Vec<u64>,
}

impl Stamps {
    pub fn new(singles: usize) -> Self {
        Self { left: clock::now(), ticks: Vec::with_capacity(singles) }
    }

    /// Call it when a task has the CPU.
    #[inline(always)]
    pub fn arrived(&mut self) {
        let ticks = clock::now() - self.left;
        if self.ticks.len() < self.ticks.capacity() {
            self.ticks.push(ticks);
        }
    }

    /// Call it just before a task gives up the CPU.
    #[inline(always)]
    pub fn leaving(&mut self) {
        self.left = clock::now();
    }
}

/// Ticks of single switches of a ring whose tasks stamp. `round` lets each task run once; `end` leaves none that could.
#[inline(always)]
pub fn singles<R>(
    params: &Params,
    make: impl FnOnce(*mut Stamps) -> R,
    mut round: impl FnMut(&mut R, *mut Stamps),
    end: impl FnOnce(R),
) -> Vec<u64> {
    if params.singles == 0 {
        return Vec::new();
    }
    let stamps = Box::into_raw(Box::new(Stamps::new(params.singles)));
    let mut ring = make(stamps);
    // The first rounds pay for cold caches and page faults.
    round(&mut ring, stamps);
    round(&mut ring, stamps);
    // SAFETY: one task runs at a time, none runs here, and `end` leaves none that could use the stamps.
    unsafe {
        (*stamps).ticks.clear();
        (*stamps).leaving();
        while (*stamps).ticks.len() < params.singles {
            round(&mut ring, stamps);
        }
        end(ring);
        Box::from_raw(stamps).ticks
    }
}
