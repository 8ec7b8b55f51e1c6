//! Shared code of the kinds of fault: pages are armed outside the clock and touched inside it, and the kernel counts the
//! faults.

use crate::mechanism::{Opened, ROW};
use std::{mem, ptr};
use tollgate_measure::clock::monotonic_raw_ns;
use tollgate_measure::{Claim, Crossing, Facts, Meta, Refusal};
use tollgate_record::{Per, counter};

/// The claim of exactly one minor fault for each touch.
pub(super) const MINOR: Claim = Claim::exact("minor-per-touch");
/// The claim of exactly one major fault for each touch.
pub(super) const MAJOR: Claim = Claim::exact("major-per-touch");
/// Pages that a touch maps: reported, not claimed.
pub(super) const MAPPED: Claim = reported(counter::MAPPED_PER_TOUCH.name);
/// Time off the CPU, in nanoseconds: reported, not claimed.
pub(super) const OFF_CPU: Claim = reported(counter::OFF_CPU.name);
/// Time from before the touches to the reading of the counts: reported, not claimed.
pub(super) const WALL: Claim = reported(counter::WALL.name);

/// The defaults of most kinds.
pub(super) const TOUCH: Meta = Meta { per: Per::Touch, proof: &[MINOR, MAPPED], ..ROW };

/// A count that no value contradicts.
const fn reported(key: &'static str) -> Claim {
    Claim { key, per_crossing: 1.0, tolerance: f64::INFINITY, divides: false }
}

/// The pages of one kind.
pub(crate) trait Pages {
    /// Prepares the next `passes` touches so that each faults. At most [`Pages::most`].
    fn arm(&mut self, passes: usize) -> Result<(), Refusal>;

    /// Makes `passes` touches: the only part inside the clock.
    fn touch(&mut self, passes: usize) -> Result<(), Refusal>;

    /// The most touches of one batch.
    fn most(&self) -> usize;

    /// How many pages are mapped now, if a fault changes that.
    fn mapped(&self) -> Option<u64> {
        None
    }

    /// The kind's own count since the pages were armed, for a claim that is not among the above.
    fn counted(&self) -> Option<u64> {
        None
    }

    /// The facts of the record beside the figures.
    fn facts(&self) -> Facts {
        Facts::default()
    }
}

/// Pages of one size at equal distances, so that single touches can be stamped.
pub(crate) trait SteadyPages: Pages {
    /// The address of the first touch.
    fn first(&self) -> *mut u8;

    /// Bytes from one touch to the next.
    fn step(&self) -> usize;

    /// Whether a touch writes; otherwise it reads.
    fn writes(&self) -> bool;
}

/// The kernel's counts for this thread.
#[derive(Clone, Copy)]
pub(super) struct Usage {
    pub(super) minor: u64,
    major: u64,
    /// Nanoseconds on the CPU.
    ran: u64,
    /// Nanoseconds of the system's clock, before and after that was read.
    wall: [u64; 2],
}

impl Usage {
    pub(super) fn now(with_time: bool) -> Option<Self> {
        // SAFETY: rusage is plain data for which all zeroes is valid.
        let mut usage: libc::rusage = unsafe { mem::zeroed() };
        // SAFETY: `usage` is a valid place to write to.
        if unsafe { libc::getrusage(libc::RUSAGE_THREAD, &mut usage) } != 0 {
            return None;
        }
        let (mut ran, mut wall) = (0, [0; 2]);
        if with_time {
            let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
            wall[0] = monotonic_raw_ns();
            // SAFETY: `time` is a valid place to write to.
            unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
            ran = time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64;
            wall[1] = monotonic_raw_ns();
        }
        let count = |count: libc::c_long| u64::try_from(count).unwrap_or_default();
        Some(Self { minor: count(usage.ru_minflt), major: count(usage.ru_majflt), ran, wall })
    }

    /// Wall time since `before`. It encloses the time on the CPU, however long the thread is interrupted between the clocks.
    fn wall_since(&self, before: &Self) -> Option<u64> {
        self.wall[1].checked_sub(before.wall[0])
    }

    /// Time off the CPU since `before`.
    fn off_cpu_since(&self, before: &Self) -> Option<u64> {
        self.wall_since(before)?.checked_sub(self.ran.checked_sub(before.ran)?)
    }
}

/// A batch that is armed.
pub(super) struct Batch {
    passes: u64,
    pub(super) before: Option<Usage>,
    mapped: Option<u64>,
}

/// Pages of one kind with the counts that prove it.
pub(crate) struct Counted<P> {
    pub(crate) pages: P,
    claims: &'static [Claim],
    with_time: bool,
    pub(super) batch: Option<Batch>,
    /// One for each claim.
    sums: Vec<Option<u64>>,
}

impl<P: Pages + 'static> Counted<P> {
    /// [`Counted::new`] as an open probe.
    pub(super) fn open(pages: P, claims: &'static [Claim]) -> Opened {
        Ok(Box::new(Self::new(pages, claims)?))
    }
}

impl<P: Pages> Counted<P> {
    /// Touches every page once: a page that a hypervisor has taken back is there again before anything is timed.
    pub(crate) fn new(mut pages: P, claims: &'static [Claim]) -> Result<Self, Refusal> {
        let most = pages.most();
        pages.arm(most)?;
        pages.touch(most)?;
        let with_time = claims.iter().any(|claim| claim.key == OFF_CPU.key);
        Ok(Self { pages, claims, with_time, batch: None, sums: vec![Some(0); claims.len()] })
    }

    /// Adds the counts of the batch that has ended. Reading them as soon as it ends would be inside the clock, and
    /// the thread may have faulted elsewhere since: the faults are those that the thread's count has grown by, but
    /// no more than touches were made, nor than pages have been mapped.
    pub(crate) fn close_batch(&mut self) {
        let Some(Batch { passes, before, mapped }) = self.batch.take() else { return };
        let now = Usage::now(self.with_time);
        // A count that ran backwards is not known: absent, never zero.
        let grown = |of: fn(&Usage) -> u64| of(&now?).checked_sub(of(&before?));
        let mapped = mapped.zip(self.pages.mapped()).and_then(|(before, now)| now.checked_sub(before));
        let most = passes.min(mapped.unwrap_or(u64::MAX));
        for (claim, sum) in self.claims.iter().zip(&mut self.sums) {
            let more = match claim.key {
                key if key == MINOR.key => grown(|usage| usage.minor).map(|minor| minor.min(most)),
                key if key == MAJOR.key => grown(|usage| usage.major).map(|major| major.min(passes)),
                key if key == OFF_CPU.key => {
                    now.zip(before).and_then(|(now, before)| now.off_cpu_since(&before))
                }
                key if key == WALL.key => now.zip(before).and_then(|(now, before)| now.wall_since(&before)),
                key if key == MAPPED.key => mapped,
                _ => self.pages.counted(),
            };
            *sum = sum.zip(more).map(|(sum, more)| sum + more);
        }
    }
}

impl<P: Pages> Crossing for Counted<P> {
    fn prepare(&mut self, passes: u64) -> Result<(), Refusal> {
        self.close_batch();
        let most = self.pages.most();
        let touches = usize::try_from(passes).unwrap_or(usize::MAX);
        if touches > most {
            return Err(Refusal::Failed(format!("{passes} touches do not fit into {most}")));
        }
        if touches > 0 {
            self.pages.arm(touches)?;
            let mapped = self.pages.mapped();
            self.batch = Some(Batch { passes, before: Usage::now(self.with_time), mapped });
        }
        Ok(())
    }

    #[inline]
    fn cross(&mut self, passes: u64) -> Result<(), Refusal> {
        self.pages.touch((passes as usize).min(self.pages.most()))
    }

    fn prove(&mut self, counts: &mut [Option<u64>]) -> Result<(), Refusal> {
        self.close_batch();
        counts.copy_from_slice(&self.sums);
        self.sums.fill(Some(0));
        Ok(())
    }

    fn most_passes(&self) -> u64 {
        self.pages.most() as u64
    }

    fn facts(&self) -> Facts {
        self.pages.facts()
    }
}

/// Writes one byte at `first` and at each `step` bytes after it, `touches` times.
///
/// # Safety
/// All those bytes are mapped and writable.
#[inline]
pub(super) unsafe fn write_each(first: *mut u8, step: usize, touches: usize) {
    let mut page = first;
    for _ in 0..touches {
        // SAFETY: the caller's promise.
        unsafe { ptr::write_volatile(page, 1) };
        page = page.wrapping_add(step);
    }
}

/// Reads one byte at `first` and at each `step` bytes after it, `touches` times.
///
/// # Safety
/// All those bytes are mapped and readable.
#[inline]
pub(super) unsafe fn read_each(first: *mut u8, step: usize, touches: usize) {
    let mut page = first;
    for _ in 0..touches {
        // SAFETY: the caller's promise.
        unsafe { ptr::read_volatile(page) };
        page = page.wrapping_add(step);
    }
}

#[cfg(test)]
mod tests {
    use super::Usage;

    #[test]
    fn an_interruption_between_the_clocks_is_time_off_the_cpu() {
        let usage = |ran, wall| Usage { minor: 0, major: 0, ran, wall };
        // Interrupted for 500 ns between the clocks, before a batch of 300 ns that does not wait.
        let (before, now) = (usage(100, [1_000, 1_510]), usage(400, [1_800, 1_810]));
        assert_eq!((now.wall_since(&before), now.off_cpu_since(&before)), (Some(810), Some(510)));
        let backwards = usage(50, [1_800, 1_810]);
        assert_eq!(backwards.off_cpu_since(&before), None);
    }
}
