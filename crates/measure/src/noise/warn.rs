//! Warnings about noise.

use super::span::{CpuNoise, SpanNoise};
use tollgate_record::number::{percent, whole};
use tollgate_record::{Warning, warning};

/// Share of the time that other tasks took for certain from which on there is a warning.
const OTHER_SHARE: f64 = 0.01;
/// Share of the time stolen by the hypervisor from which on there is a warning: the usual width of the headline's interval.
const STEAL_SHARE: f64 = 0.005;
/// Ticks by which a difference of stolen time may be off.
const STEAL_ROUNDING_NS: u64 = 20_000_000;
/// Device interrupts a second from which on there is a warning: they hit one in three batches of a third of a millisecond.
const DEVICE_INTERRUPTS: f64 = 1_000.0;

/// The warnings that a span gives: `other-task`, `steal` and `interrupts`, each with its
/// figures. Those of the peer CPU only when something was measured that uses it.
#[must_use]
pub fn warnings(span: &SpanNoise, with_peer: bool) -> Vec<Warning> {
    let mut all = Vec::new();
    let peer = span.peer.as_ref().filter(|_| with_peer);
    for cpu in std::iter::once(&span.measured).chain(peer) {
        all.extend(other_task(cpu));
        all.extend(steal(cpu, span.elapsed_ns));
        all.extend(interrupts(cpu, span.elapsed_ns));
    }
    all
}

fn other_task(cpu: &CpuNoise) -> Option<Warning> {
    let other = cpu.other.filter(|other| other.low > OTHER_SHARE)?;
    // A half width: the ends of the interval are not figures, and its upper one may be above all of the time.
    let (share, half) = (percent(other.estimate), (other.high - other.low) / 2.0);
    let half = if share.contains('.') { percent(half) } else { format!("{} %", whole(100.0 * half)) };
    let share = share.trim_end_matches(" %");
    let text = format!("another task ran on cpu {} for {share} ± {half} of the time", cpu.cpu);
    Some(Warning::new(warning::OTHER_TASK, text))
}

fn steal(cpu: &CpuNoise, elapsed_ns: u64) -> Option<Warning> {
    let certain = cpu.steal_ns?.checked_sub(STEAL_ROUNDING_NS)?;
    if elapsed_ns == 0 || certain as f64 <= STEAL_SHARE * elapsed_ns as f64 {
        return None;
    }
    let share = cpu.steal_ns? as f64 / elapsed_ns as f64;
    let text =
        format!("the hypervisor ran another guest on cpu {} for {} of the time", cpu.cpu, percent(share));
    Some(Warning::new(warning::STEAL, text))
}

fn interrupts(cpu: &CpuNoise, elapsed_ns: u64) -> Option<Warning> {
    let seconds = elapsed_ns as f64 / 1e9;
    let rate = cpu.device_interrupts? as f64 / seconds;
    let text = format!("cpu {} took {rate:.0} device interrupts a second", cpu.cpu);
    (rate.is_finite() && rate > DEVICE_INTERRUPTS).then(|| Warning::new(warning::INTERRUPTS, text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::Share;

    fn span() -> SpanNoise {
        SpanNoise {
            elapsed_ns: 10_000_000_000,
            measured: CpuNoise {
                cpu: 1,
                other: Some(Share { estimate: 0.021, low: 0.015, high: 0.03, chance: 0.005 }),
                steal_ns: Some(300_000_000),
                device_interrupts: Some(12_340),
            },
            peer: Some(CpuNoise {
                cpu: 0,
                other: Some(Share { estimate: 0.98, low: 0.9, high: 1.02, chance: 0.05 }),
                ..CpuNoise::default()
            }),
        }
    }

    #[test]
    fn each_warning_has_its_code_and_its_figures() {
        let all = warnings(&span(), true);
        let texts: Vec<_> = all.iter().map(|one| (one.code.as_str(), one.text.as_str())).collect();
        assert_eq!(
            texts,
            [
                ("other-task", "another task ran on cpu 1 for 2.1 ± 0.8 % of the time"),
                ("steal", "the hypervisor ran another guest on cpu 1 for 3.0 % of the time"),
                ("interrupts", "cpu 1 took 1234 device interrupts a second"),
                ("other-task", "another task ran on cpu 0 for 98 ± 6 % of the time"),
            ]
        );
        assert!(!warnings(&span(), false).iter().any(|one| one.text.contains("cpu 0")));
    }

    #[test]
    fn what_may_be_nothing_is_not_warned_of() {
        let mut quiet = span();
        quiet.measured.other = Some(Share { estimate: 0.05, low: 0.009, high: 0.1, chance: 0.03 });
        quiet.measured.steal_ns = Some(60_000_000);
        quiet.measured.device_interrupts = Some(9_999);
        assert!(warnings(&quiet, false).is_empty());
        // A span of no length has no rate.
        assert!(
            warnings(&SpanNoise { measured: span().measured, ..SpanNoise::default() }, false)
                .iter()
                .all(|one| one.code == warning::OTHER_TASK)
        );
    }
}
