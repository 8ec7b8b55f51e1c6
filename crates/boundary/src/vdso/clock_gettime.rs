//! The time of day without the kernel: the C library's `clock_gettime`, which the vDSO answers.

use super::user_mode::{self, Finding};
use crate::mechanism::{Mechanism, Opened, ROW};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::{fs, mem};
use tollgate_measure::{Claim, Crossing, Facts, Meta, Refusal, Site};
use tollgate_record::family::{ProbeAsked, ProbeFound};

/// The clock that `syscall/clock_gettime` reads, too.
const CLOCK: libc::clockid_t = libc::CLOCK_MONOTONIC_RAW;
const SOURCE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";

pub(crate) static CLOCK_GETTIME: Mechanism = Mechanism {
    meta: &Meta {
        id: "vdso/clock_gettime",
        what: "clock_gettime of the C library, answered in user mode by the vDSO",
        proof: &[Claim::exact("right-answers-per-call"), Claim::exact("user-mode-per-call")],
        ..ROW
    },
    open,
};

fn open(_: &'static Meta, _: &Site) -> Opened {
    let source = fs::read_to_string(SOURCE).unwrap_or_default().trim().to_owned();
    if ask(&mut (0, 0)) != 0 {
        return Err(Refusal::os("clock_gettime"));
    }
    let finding = user_mode::watch(|| ask(&mut (0, 0)) == 0);
    if finding == Finding::EntersKernel {
        let source = if source.is_empty() { "unknown" } else { &source };
        return Err(Refusal::skip(
            format!("clock_gettime enters the kernel here: the vDSO cannot read the clock source ({source})"),
            "a clock source that user mode can read (see /sys/devices/system/clocksource/clocksource0/\
             available_clocksource); syscall/clock_gettime measures the call as it is made here",
        ));
    }
    Ok(Box::new(VdsoCalls {
        finding,
        file: File::open(SOURCE).ok(),
        source,
        last: (0, 0),
        right: 0,
        passes: 0,
    }))
}

/// Seconds and nanoseconds of the clock into `time`; the result of the call.
#[inline(always)]
fn ask(time: &mut (i64, i64)) -> libc::c_int {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `now` is a valid place to write the time to.
    let result = unsafe { libc::clock_gettime(CLOCK, &mut now) };
    #[allow(clippy::unnecessary_cast, reason = "both fields are 32 bits wide on some systems")]
    {
        *time = (now.tv_sec as i64, now.tv_nsec as i64);
    }
    result
}

struct VdsoCalls {
    finding: Finding,
    /// Kept open, so that reading it between batches costs one system call.
    file: Option<File>,
    source: String,
    last: (i64, i64),
    right: u64,
    passes: u64,
}

impl VdsoCalls {
    /// Whether the clock source is still that of the experiment.
    fn source_unchanged(&self) -> Option<bool> {
        let mut text = [0; 64];
        let read = self.file.as_ref()?.read_at(&mut text, 0).ok()?;
        Some(text[..read].trim_ascii() == self.source.as_bytes())
    }
}

impl Crossing for VdsoCalls {
    fn cross(&mut self, passes: u64) -> Result<(), Refusal> {
        let (mut last, mut right) = (self.last, 0);
        for _ in 0..passes {
            let mut now = (0, 0);
            let result = ask(&mut now);
            right += u64::from(result == 0 && now >= last);
            last = now;
        }
        self.last = last;
        self.right += right;
        self.passes += passes;
        Ok(())
    }

    fn prove(&mut self, counts: &mut [Option<u64>]) -> Result<(), Refusal> {
        let passes = mem::take(&mut self.passes);
        counts[0] = Some(mem::take(&mut self.right));
        counts[1] = match (&self.finding, self.source_unchanged()) {
            (Finding::StaysInUserMode, Some(true)) => Some(passes),
            // The kernel has changed the clock source since, so nothing is known.
            _ => None,
        };
        Ok(())
    }

    fn facts(&self) -> Facts {
        let shown = match &self.finding {
            Finding::StaysInUserMode => "shown: it works where every system call is refused".into(),
            Finding::EntersKernel => "no".into(),
            Finding::Unknown(why) => format!("not shown: {why}"),
        };
        let asked = ProbeAsked { clock: Some("CLOCK_MONOTONIC_RAW".into()), ..ProbeAsked::default() };
        let found = ProbeFound {
            clocksource: Some(self.source.clone()),
            user_mode: Some(shown),
            ..ProbeFound::default()
        };
        Facts::of_probe(asked, found)
    }
}

#[cfg(test)]
mod tests {
    use super::{CLOCK_GETTIME, Finding, VdsoCalls};
    use crate::testing::alone;
    use tollgate_measure::{Crossing, Probe, Refusal, Site};

    #[test]
    fn every_answer_is_counted_and_every_call_is_in_user_mode_or_the_probe_refuses() {
        let _turn = alone();
        match CLOCK_GETTIME.open(&Site { cpu: 0, peer: None }) {
            Ok(mut open) => {
                let mut counts = [None, None];
                for passes in [1, 1000] {
                    open.cross(passes).unwrap();
                    open.prove(&mut counts).unwrap();
                    assert_eq!(counts[0], Some(passes));
                    assert!(counts[1].is_none_or(|count| count == passes), "{counts:?}");
                }
            }
            Err(refusal) => assert!(matches!(refusal, Refusal::Skip { .. }), "{refusal}"),
        }
    }

    #[test]
    fn time_that_goes_back_is_not_a_right_answer() {
        let mut open = VdsoCalls {
            finding: Finding::StaysInUserMode,
            file: None,
            source: String::new(),
            last: (i64::MAX, 0),
            right: 0,
            passes: 0,
        };
        open.cross(3).unwrap();
        let mut counts = [None, None];
        open.prove(&mut counts).unwrap();
        assert_eq!(counts, [Some(2), None], "the first of the three is earlier than the end of time");
    }
}
