//! The load while the host was watched.

use super::check::{Check, Look, View};
use crate::noise;

pub(super) static CHECKS: &[Check] = &[
    Check {
        code: "other-task",
        effect: "Tasks that share the CPU push the measured one off it: percentiles rise first, then the headline.",
        look: other_task,
    },
    Check {
        code: "steal",
        effect: "The hypervisor stops the CPU in the middle of batches, and that time is counted as ours.",
        look: steal,
    },
    Check {
        code: "interrupts",
        effect: "Each interrupt adds a microsecond or more to the batch that it hits and displaces part of the cache.",
        look: interrupts,
    },
];

fn other_task(view: &View<'_>) -> Look {
    let known = view.watch.span.as_ref().is_some_and(|span| span.measured.other.is_some());
    warned(view, known, "other-task", "no other task was seen for certain on the measured CPUs", |cpu| {
        format!(
            "end it (those with {cpu} in the column PSR of: ps -eo pid,psr,pcpu,comm --sort=-pcpu), keep it off (taskset -pc CPUS PID), or measure elsewhere (--cpu)"
        )
    })
}

fn steal(view: &View<'_>) -> Look {
    let known = view.host.hypervisor.is_some()
        && view.watch.span.as_ref().is_some_and(|span| span.measured.steal_ns.is_some());
    warned(view, known, "steal", "the hypervisor took no time that counts", |_| {
        "measure when the host is quiet, or on an instance with CPUs of its own".into()
    })
}

fn interrupts(view: &View<'_>) -> Look {
    let known = view.watch.span.as_ref().is_some_and(|span| span.measured.device_interrupts.is_some());
    warned(view, known, "interrupts", "devices interrupt the measured CPUs seldom", |cpu| {
        format!(
            "send them elsewhere (sudo systemctl stop irqbalance; CPUs but {cpu} to /proc/irq/N/smp_affinity_list)"
        )
    })
}

/// The warnings of one code that the watch gives, as a look.
fn warned(view: &View<'_>, known: bool, code: &str, well: &str, fix: impl Fn(usize) -> String) -> Look {
    let Some(span) = view.watch.span.as_ref() else { return Look::Unknown };
    let texts: Vec<String> = noise::warnings(span, true)
        .into_iter()
        .filter(|warning| warning.code == code)
        .map(|warning| warning.text)
        .collect();
    if !texts.is_empty() {
        Look::Spoils(texts.join("; "), fix(span.measured.cpu))
    } else if known {
        Look::Ok(well.into())
    } else {
        Look::Unknown
    }
}
