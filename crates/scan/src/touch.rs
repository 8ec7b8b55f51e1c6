//! The process that touches. It maps the file on its standard input, touches its pages as its job says, and prints
//! one line of JSON: what happened. While it works it prints lines with the marks so far, which are worth saving.

mod bus;
mod lengths;
mod mapping;

pub(crate) use lengths::middle;

use crate::ScanError;
use crate::plan::{Advice, Pattern, mix, page_bytes};
use lengths::Lengths;
use mapping::{Mapped, direct_reads};
use serde::{Deserialize, Serialize};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::fs::File;
use std::io::{self, Write};
use std::mem;
use std::os::fd::FromRawFd;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tollgate_measure::clock::{Clock, Counter, Moment, Os, Source, monotonic_raw_ns};
use tollgate_measure::placement;
use tollgate_supervise::{end_first, end_with_parent};

/// The job of the process that touches.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct TouchJob {
    /// How much of the file.
    pub(crate) bytes: u64,
    pub(crate) pattern: Pattern,
    pub(crate) advice: Advice,
    /// Of the random order.
    pub(crate) seed: u64,
    pub(crate) cpu: usize,
    pub(crate) source: Source,
    /// The process that must live.
    pub(crate) parent: u32,
    /// Nanoseconds after which no further page is touched.
    pub(crate) most_ns: u64,
}

/// The kernel's counts of this process.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Usage {
    pub(crate) minor: u64,
    pub(crate) major: u64,
    /// Blocks of 512 bytes that were read for it.
    pub(crate) inputs: u64,
    pub(crate) voluntary: u64,
    pub(crate) involuntary: u64,
    pub(crate) user_ns: u64,
    pub(crate) system_ns: u64,
    pub(crate) max_rss_kib: u64,
}

/// A moment of the scan, counted from its start.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Mark {
    pub(crate) ns: u64,
    pub(crate) touches: u64,
    pub(crate) usage: Usage,
}

/// The result of the touches.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Touched {
    /// Touches that were planned, and made.
    pub(crate) planned: u64,
    /// From the start of the scan; the last is its end.
    pub(crate) marks: Vec<Mark>,
    /// Different pages among those touched.
    pub(crate) distinct: u64,
    /// Nanoseconds of each tick of the clock that timed single touches.
    pub(crate) ns_per_tick: f64,
    /// Ticks that the clock itself takes.
    pub(crate) stamp_ticks: u64,
    /// Single touches by their length: number of the bucket, and how many.
    pub(crate) buckets: Vec<(u32, u64)>,
    /// Pages in the page cache before the scan, of those that it covers; absent if the kernel does not
    /// report them.
    pub(crate) resident_before: Option<u64>,
    /// Nanoseconds of reads of one page at random past the page cache, made before the scan.
    pub(crate) direct_read_ns: Vec<u64>,
    /// The offset of the touch that raised SIGBUS, and the file's size at that time.
    pub(crate) bus: Option<(u64, u64)>,
    /// Whether it was asked to stop.
    pub(crate) stopped: bool,
    /// Whether its time was up before the last touch.
    pub(crate) cut: bool,
}

/// Marks of a scan.
const MARKS: u64 = 200;
/// How often the time is looked at: often enough for touches that take milliseconds.
const LOOK_EVERY: u64 = 64;
/// The interval of the printed marks; a short scan prints none, so that printing does not disturb it.
const PRINT_EVERY_NS: u64 = 700_000_000;

/// Does a job, which is JSON, on the file that is standard input, and writes the result to `out`.
///
/// # Errors
/// A parent that is gone, a CPU or file that cannot be used, an output that is closed.
pub fn touch(job: &str, out: &mut dyn Write) -> Result<(), ScanError> {
    let job: TouchJob =
        serde_json::from_str(job).map_err(|error| ScanError::Wrong(format!("the job: {error}")))?;
    end_first();
    end_with_parent(job.parent)
        .map_err(|_| ScanError::Refused("the process that started this one is gone".into()))?;
    placement::pin(job.cpu).map_err(|error| ScanError::Refused(error.to_string()))?;
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&stop))
            .map_err(ScanError::system("catch a signal"))?;
    }
    // SAFETY: standard input belongs to nobody else in this process.
    let file = unsafe { File::from_raw_fd(libc::STDIN_FILENO) };
    let touched = match job.source {
        Source::Counter => run(&job, &file, &Counter, &stop, out)?,
        Source::Os => run(&job, &file, &Os, &stop, out)?,
    };
    print(&touched, out)
}

fn print(what: &impl Serialize, out: &mut dyn Write) -> Result<(), ScanError> {
    let line = serde_json::to_string(what).map_err(io::Error::from);
    let printed = line.and_then(|line| writeln!(out, "{line}")).and_then(|()| out.flush());
    printed.map_err(ScanError::system("write the result"))
}

impl TouchJob {
    /// The result of a scan up to these marks.
    pub(crate) fn so_far(&self, marks: &[Mark]) -> Touched {
        let order = Order::new(self);
        Touched {
            planned: order.touches,
            marks: marks.to_vec(),
            distinct: order.distinct(marks.last().map_or(0, |last| last.touches)),
            ns_per_tick: 1.0,
            stopped: true,
            ..Touched::default()
        }
    }
}

fn run(
    job: &TouchJob,
    file: &File,
    clock: &impl Clock,
    stop: &AtomicBool,
    out: &mut dyn Write,
) -> Result<Touched, ScanError> {
    let direct_read_ns = direct_reads(file, job.bytes, job.seed);
    let mapped = Mapped::new(file, job.bytes)?;
    mapped.advise(job.advice)?;
    let resident_before = mapped.resident(file);
    let order = Order::new(job);
    let stamp_ticks = stamp(clock);
    let mut lengths = Lengths::new();
    let mut marks = Vec::with_capacity(MARKS as usize + 2);
    bus::catch().map_err(ScanError::system("catch SIGBUS"))?;

    let chunk = order.touches.div_ceil(MARKS).max(1);
    let first = Moment::read(clock, monotonic_raw_ns, 200);
    let start = monotonic_raw_ns();
    marks.push(Mark { ns: 0, touches: 0, usage: usage() });
    let (mut printed, mut printed_ns) = (0, 0);
    let (mut done, mut last) = (0, clock.now());
    let (mut marked, mut cut) = (0, false);
    while done < order.touches && !cut && !stop.load(Ordering::Relaxed) && bus::address().is_none() {
        let end = (done + LOOK_EVERY.min(chunk)).min(order.touches);
        for touch in done..end {
            // SAFETY: the offsets are below the length of the mapping, which is readable; beyond the
            // end of a truncated file the handler maps a page.
            unsafe { ptr::read_volatile(mapped.base.add(order.offset(touch))) };
            let now = clock.now();
            lengths.add(now.saturating_sub(last));
            last = now;
        }
        done = end;
        cut = done < order.touches && monotonic_raw_ns() - start > job.most_ns;
        if done < (marked + chunk).min(order.touches) && !cut {
            // The time of the look is not part of a touch.
            last = clock.now();
            continue;
        }
        marked = done;
        marks.push(Mark { ns: monotonic_raw_ns() - start, touches: done, usage: usage() });
        if marks.last().is_some_and(|mark| mark.ns >= printed_ns + PRINT_EVERY_NS) {
            print(&&marks[printed..], out)?;
            (printed, printed_ns) = (marks.len(), monotonic_raw_ns() - start);
        }
        // The time of the mark is not part of a touch.
        last = clock.now();
    }
    if marked < done {
        marks.push(Mark { ns: monotonic_raw_ns() - start, touches: done, usage: usage() });
    }
    let scale = first.scale_until(&Moment::read(clock, monotonic_raw_ns, 200));
    let ns_per_tick = scale.map_or(1.0, |scale| 1e9 / scale.hz);
    let bus = bus::address().map(|address| {
        let offset = (address - mapped.base as usize) as u64;
        (offset, file.metadata().map_or(0, |metadata| metadata.len()))
    });
    Ok(Touched {
        planned: order.touches,
        marks,
        distinct: order.distinct(done),
        ns_per_tick,
        stamp_ticks,
        buckets: lengths.full(),
        resident_before,
        direct_read_ns,
        bus,
        stopped: stop.load(Ordering::Relaxed),
        cut,
    })
}

/// The byte that each touch reads.
struct Order {
    pattern: Pattern,
    step: u64,
    page: u64,
    touches: u64,
    seed: u64,
}

impl Order {
    fn new(job: &TouchJob) -> Self {
        let (step, page) = (job.pattern.step(), page_bytes());
        // A partial page at the end counts as a page.
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
    pub(crate) fn of(usage: &libc::rusage) -> Self {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_pattern_stays_inside_and_a_rest_is_a_page() {
        let page = page_bytes();
        let job = |pattern, bytes| TouchJob {
            bytes,
            pattern,
            advice: Advice::Normal,
            seed: 7,
            cpu: 0,
            source: Source::Os,
            parent: 0,
            most_ns: u64::MAX,
        };
        for (pattern, touches) in
            [(Pattern::Sequential, 11), (Pattern::Random, 11), (Pattern::Stride(4 * page), 3)]
        {
            let order = Order::new(&job(pattern, 10 * page + 1));
            assert_eq!(order.touches, touches, "{pattern:?}");
            assert!((0..touches).all(|touch| order.offset(touch) < (10 * page + 1) as usize));
        }
        let random = Order::new(&job(Pattern::Random, 1_000 * page));
        // Of n draws from n, 1 - 1/e are different: 632, give or take three deviations of about 10.
        assert!((600..=664).contains(&random.distinct(1_000)), "{}", random.distinct(1_000));
    }
}
