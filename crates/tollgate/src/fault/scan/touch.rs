//! The process that touches. It maps what it finds on its standard input, touches as it was told, and prints
//! one line of JSON: what happened.

use super::args::{Advice, Pattern, page_bytes};
use anyhow::{Context, bail};
use serde::{Deserialize, Serialize};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::mem;
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::process::ExitCode;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use tollgate_measure::clock::{Clock, Counter, Moment, Os, Source, monotonic_raw_ns};
use tollgate_measure::placement;

/// What to do.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Job {
    /// How much of the file.
    pub(super) bytes: u64,
    pub(super) pattern: Pattern,
    pub(super) advice: Advice,
    /// Of the random order.
    pub(super) seed: u64,
    pub(super) cpu: usize,
    pub(super) source: Source,
    /// The process that must live.
    pub(super) parent: u32,
}

/// What the kernel has counted for this process.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Usage {
    pub(super) minor: u64,
    pub(super) major: u64,
    /// Blocks of 512 bytes that were read for it.
    pub(super) inputs: u64,
    pub(super) voluntary: u64,
    pub(super) involuntary: u64,
    pub(super) user_ns: u64,
    pub(super) system_ns: u64,
    pub(super) max_rss_kib: u64,
}

/// A moment of the scan, counted from its start.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Mark {
    pub(super) ns: u64,
    pub(super) touches: u64,
    pub(super) usage: Usage,
}

/// What happened.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Touched {
    /// Touches that were planned, and made.
    pub(super) planned: u64,
    /// From the start of the scan; the last is its end.
    pub(super) marks: Vec<Mark>,
    /// Different pages among those touched.
    pub(super) distinct: u64,
    /// Nanoseconds of each tick of the clock that timed single touches.
    pub(super) ns_per_tick: f64,
    /// Ticks that the clock itself takes.
    pub(super) stamp_ticks: u64,
    /// Single touches by their length: number of the bucket, and how many.
    pub(super) buckets: Vec<(u32, u64)>,
    /// Pages in the page cache before the scan, of those that it goes over; absent where the kernel does not
    /// tell.
    pub(super) resident_before: Option<u64>,
    /// Nanoseconds of reads of one page at random past the page cache, made before the scan.
    pub(super) floor_ns: Vec<u64>,
    /// The touch behind which there was no file any more, and the file's size then.
    pub(super) bus: Option<(u64, u64)>,
    /// Whether it was asked to stop.
    pub(super) stopped: bool,
}

/// Marks of a scan.
const MARKS: u64 = 200;
/// Reads that measure the device.
const FLOOR_READS: u64 = 48;

/// The hidden command.
pub(crate) fn touch(job: &str) -> anyhow::Result<ExitCode> {
    let job: Job = serde_json::from_str(job).context("the job")?;
    // SAFETY: PR_SET_PDEATHSIG takes a signal number and touches no memory.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
    // SAFETY: no arguments. The parent may have died before the request took effect.
    if unsafe { libc::getppid() } as u32 != job.parent {
        bail!("the process that started this one is gone");
    }
    placement::pin(job.cpu)?;
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&stop))?;
    }
    // SAFETY: standard input belongs to nobody else in this process.
    let file = unsafe { File::from_raw_fd(libc::STDIN_FILENO) };
    let touched = match job.source {
        Source::Counter => scan(&job, &file, &Counter, &stop)?,
        Source::Os => scan(&job, &file, &Os, &stop)?,
    };
    let mut line = serde_json::to_vec(&touched)?;
    line.push(b'\n');
    io::stdout().lock().write_all(&line)?;
    Ok(ExitCode::SUCCESS)
}

fn scan(job: &Job, file: &File, clock: &impl Clock, stop: &AtomicBool) -> anyhow::Result<Touched> {
    let floor_ns = floor(file, job);
    let mapped = Mapped::new(file, job.bytes)?;
    mapped.advise(job.advice)?;
    let resident_before = mapped.resident(file);
    let plan = Plan::new(job);
    let stamp_ticks = stamp(clock);
    let mut lengths = Lengths::new();
    let mut marks = Vec::with_capacity(MARKS as usize + 2);
    bus::catch()?;

    let chunk = plan.touches.div_ceil(MARKS).max(1);
    let first = Moment::read(clock, monotonic_raw_ns, 200);
    let start = monotonic_raw_ns();
    marks.push(Mark { ns: 0, touches: 0, usage: usage() });
    let (mut done, mut last) = (0, clock.now());
    while done < plan.touches && !stop.load(Ordering::Relaxed) && bus::address().is_none() {
        let end = (done + chunk).min(plan.touches);
        for touch in done..end {
            // SAFETY: the plan's offsets are below the length of the mapping, which is readable; behind the
            // end of a file that was cut short the handler puts a page.
            unsafe { ptr::read_volatile(mapped.base.add(plan.offset(touch))) };
            let now = clock.now();
            lengths.add(now.saturating_sub(last));
            last = now;
        }
        done = end;
        marks.push(Mark { ns: monotonic_raw_ns() - start, touches: done, usage: usage() });
        // What the mark took is no part of a touch.
        last = clock.now();
    }
    let scale = first.scale_until(&Moment::read(clock, monotonic_raw_ns, 200));
    let ns_per_tick = scale.map_or(1.0, |scale| 1e9 / scale.hz);
    let bus = bus::address().map(|address| {
        let offset = (address - mapped.base as usize) as u64;
        (offset, file.metadata().map_or(0, |there| there.len()))
    });
    Ok(Touched {
        planned: plan.touches,
        marks,
        distinct: plan.distinct(done),
        ns_per_tick,
        stamp_ticks,
        buckets: lengths.full(),
        resident_before,
        floor_ns,
        bus,
        stopped: stop.load(Ordering::Relaxed),
    })
}

/// Which byte each touch is of.
struct Plan {
    pattern: Pattern,
    step: u64,
    page: u64,
    touches: u64,
    seed: u64,
}

impl Plan {
    fn new(job: &Job) -> Self {
        let (step, page) = (job.pattern.step(), page_bytes());
        // The rest of a page at the end is a page.
        Self { pattern: job.pattern, step, page, touches: job.bytes.div_ceil(step), seed: job.seed }
    }

    #[inline]
    fn offset(&self, touch: u64) -> usize {
        match self.pattern {
            Pattern::Sequential | Pattern::Stride(_) => (touch * self.step) as usize,
            Pattern::Random => {
                let drawn = u128::from(mix(self.seed.wrapping_add(touch))) * u128::from(self.touches);
                ((drawn >> 64) as u64 * self.page) as usize
            }
        }
    }

    /// Different pages among the first `touches`.
    fn distinct(&self, touches: u64) -> u64 {
        if self.pattern != Pattern::Random {
            return touches;
        }
        let mut met = vec![0_u64; self.touches.div_ceil(64) as usize];
        for touch in 0..touches {
            let page = self.offset(touch) / self.page as usize;
            met[page / 64] |= 1 << (page % 64);
        }
        met.iter().map(|word| u64::from(word.count_ones())).sum()
    }
}

/// Numbers without a pattern from numbers with one (the finaliser of SplitMix64).
pub(super) fn mix(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The mapping of the file. It lives as long as the process.
struct Mapped {
    base: *const u8,
    bytes: usize,
}

impl Mapped {
    fn new(file: &File, bytes: u64) -> anyhow::Result<Self> {
        let bytes = usize::try_from(bytes).context("more than an address can name")?;
        let descriptor = file.as_raw_fd();
        // SAFETY: a new mapping at an address of the kernel's choice overlaps nothing of ours.
        let base =
            unsafe { libc::mmap(ptr::null_mut(), bytes, libc::PROT_READ, libc::MAP_SHARED, descriptor, 0) };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error()).context("map the file");
        }
        Ok(Self { base: base.cast_const().cast(), bytes })
    }

    fn advise(&self, advice: Advice) -> anyhow::Result<()> {
        let advice = match advice {
            Advice::Normal => libc::MADV_NORMAL,
            Advice::Random => libc::MADV_RANDOM,
            Advice::Sequential => libc::MADV_SEQUENTIAL,
        };
        // SAFETY: our own mapping; none of these changes its contents.
        match unsafe { libc::madvise(self.base.cast_mut().cast(), self.bytes, advice) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()).context("madvise"),
        }
    }

    /// Pages of the mapping that are in the page cache. The kernel tells it of files that one may write to
    /// or owns only, and of all others that everything is there (mincore(2)).
    fn resident(&self, file: &File) -> Option<u64> {
        // SAFETY: no arguments.
        let user = unsafe { libc::geteuid() };
        if user != 0 && file.metadata().ok()?.uid() != user {
            return None;
        }
        const AT_ONCE: usize = 1 << 16;
        let page = page_bytes() as usize;
        let mut there = vec![0_u8; AT_ONCE.min(self.bytes.div_ceil(page))];
        let mut count = 0;
        for at in (0..self.bytes).step_by(AT_ONCE * page) {
            let bytes = (self.bytes - at).min(AT_ONCE * page);
            // SAFETY: a part of our own mapping, and a byte for each of its pages.
            let told =
                unsafe { libc::mincore(self.base.add(at).cast_mut().cast(), bytes, there.as_mut_ptr()) };
            if told != 0 {
                return None;
            }
            count += there[..bytes.div_ceil(page)].iter().filter(|&&byte| byte & 1 == 1).count() as u64;
        }
        Some(count)
    }
}

/// Single reads of a page at random past the page cache: what the device takes. Empty where the file system
/// does not allow that.
fn floor(file: &File, job: &Job) -> Vec<u64> {
    let page = page_bytes() as usize;
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    let Ok(direct) = OpenOptions::new().read(true).custom_flags(libc::O_DIRECT).open(path) else {
        return Vec::new();
    };
    let mut buffer = vec![0_u8; 2 * page];
    let aligned = buffer.as_ptr().align_offset(page);
    let pages = (job.bytes / page as u64).max(1);
    let mut times = Vec::new();
    for read in 0..FLOOR_READS {
        let at = (u128::from(mix(!job.seed ^ read)) * u128::from(pages)) >> 64;
        let start = monotonic_raw_ns();
        // SAFETY: a whole page of the buffer is behind `aligned`.
        let got = unsafe {
            let to = buffer.as_mut_ptr().add(aligned);
            libc::pread(direct.as_raw_fd(), to.cast(), page, (at as usize * page) as libc::off_t)
        };
        if got <= 0 {
            break;
        }
        times.push(monotonic_raw_ns() - start);
    }
    times
}

/// Ticks between two readings of the clock with nothing between them.
fn stamp(clock: &impl Clock) -> u64 {
    let mut all: Vec<u64> = (0..1_000).map(|_| clock.now().abs_diff(clock.now())).collect();
    all.sort_unstable();
    all[all.len() / 2]
}

fn usage() -> Usage {
    // SAFETY: rusage is plain data, and a valid place to write to.
    let usage = unsafe {
        let mut usage: libc::rusage = mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &mut usage);
        usage
    };
    Usage::of(&usage)
}

impl Usage {
    pub(super) fn of(usage: &libc::rusage) -> Self {
        let count = |count: libc::c_long| u64::try_from(count).unwrap_or_default();
        let ns = |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1_000;
        Self {
            minor: count(usage.ru_minflt),
            major: count(usage.ru_majflt),
            inputs: count(usage.ru_inblock),
            voluntary: count(usage.ru_nvcsw),
            involuntary: count(usage.ru_nivcsw),
            user_ns: ns(usage.ru_utime),
            system_ns: ns(usage.ru_stime),
            max_rss_kib: count(usage.ru_maxrss),
        }
    }
}

/// How often a touch took how long: 64 buckets for each power of two, so that each is known to 1.6 %.
struct Lengths {
    counts: Vec<u64>,
}

/// Buckets of each power of two, as a power of two.
const FINE: u32 = 6;

impl Lengths {
    fn new() -> Self {
        Self { counts: vec![0; ((64 - FINE as usize) + 1) << FINE] }
    }

    #[inline]
    fn add(&mut self, ticks: u64) {
        self.counts[bucket(ticks)] += 1;
    }

    fn full(&self) -> Vec<(u32, u64)> {
        let full = self.counts.iter().enumerate().filter(|&(_, &count)| count > 0);
        full.map(|(bucket, &count)| (bucket as u32, count)).collect()
    }
}

#[inline]
fn bucket(ticks: u64) -> usize {
    let top = 63 - (ticks | 1).leading_zeros();
    if top < FINE {
        return ticks as usize;
    }
    let shift = top - FINE;
    (((shift + 1) as usize) << FINE) + ((ticks >> shift) as usize - (1 << FINE))
}

/// The ticks that the middle of a bucket stands for.
pub(super) fn middle(bucket: u32) -> f64 {
    let (power, rest) = (bucket >> FINE, u64::from(bucket & ((1 << FINE) - 1)));
    if power == 0 {
        return rest as f64;
    }
    let width = (1_u64 << (power - 1)) as f64;
    ((1 << FINE) + rest) as f64 * width + (width - 1.0) / 2.0
}

/// SIGBUS: what a touch behind the end of the file, or of a page that the disk does not give, brings.
mod bus {
    use super::{AtomicUsize, Ordering, io, mem, page_bytes, ptr};

    /// The address of the first.
    static ADDRESS: AtomicUsize = AtomicUsize::new(0);

    pub(super) fn address() -> Option<usize> {
        Some(ADDRESS.load(Ordering::Relaxed)).filter(|&address| address != 0)
    }

    /// Catches it from now on.
    pub(super) fn catch() -> io::Result<()> {
        // SAFETY: sigaction is plain data; the handler makes system calls and touches an atomic.
        let done = unsafe {
            let mut action: libc::sigaction = mem::zeroed();
            action.sa_sigaction = handler as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO;
            libc::sigaction(libc::SIGBUS, &action, ptr::null_mut())
        };
        if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// Puts an empty page where there is none, so that the touch is done and the scan can end.
    extern "C" fn handler(_: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
        let page = page_bytes() as usize;
        // SAFETY: the kernel passes a valid siginfo_t, with an address for SIGBUS.
        let address = unsafe { (*info).si_addr() } as usize;
        let _ = ADDRESS.compare_exchange(0, address, Ordering::Relaxed, Ordering::Relaxed);
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
        let place = (address & !(page - 1)) as *mut libc::c_void;
        // SAFETY: it replaces one page of the file's mapping, which alone can bring this signal here.
        let made = unsafe { libc::mmap(place, page, libc::PROT_READ, flags, -1, 0) };
        if made == libc::MAP_FAILED {
            // SAFETY: no way to go on; exiting is allowed in a handler.
            unsafe { libc::_exit(1) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_follow_each_other_and_know_their_middle_to_two_percent() {
        let mut last = 0;
        for ticks in (0..5_000).chain([1 << 20, (1 << 20) + 20_000, 1 << 40]) {
            let here = bucket(ticks);
            assert!(here == last || here == last + 1 || ticks > 5_000, "{ticks}");
            let error = (middle(here as u32) - ticks as f64).abs();
            assert!(error <= ticks as f64 / 64.0, "{ticks}: {}", middle(here as u32));
            last = here;
        }
        assert!(bucket(u64::MAX) < Lengths::new().counts.len());
    }

    #[test]
    fn each_pattern_stays_inside_and_a_rest_is_a_page() {
        let page = page_bytes();
        let job = |pattern, bytes| Job {
            bytes,
            pattern,
            advice: Advice::Normal,
            seed: 7,
            cpu: 0,
            source: Source::Os,
            parent: 0,
        };
        for (pattern, touches) in
            [(Pattern::Sequential, 11), (Pattern::Random, 11), (Pattern::Stride(4 * page), 3)]
        {
            let plan = Plan::new(&job(pattern, 10 * page + 1));
            assert_eq!(plan.touches, touches, "{pattern:?}");
            assert!((0..touches).all(|touch| plan.offset(touch) < (10 * page + 1) as usize));
        }
        let random = Plan::new(&job(Pattern::Random, 1_000 * page));
        // Of n draws from n, 1 - 1/e are different: 632, give or take three deviations of about 10.
        assert!((600..=664).contains(&random.distinct(1_000)), "{}", random.distinct(1_000));
    }
}
