//! Whether the tool itself can do its work here.

use super::check::{Check, Look, View};

pub(super) static CHECKS: &[Check] = &[
    Check {
        code: "pin",
        effect: "Nothing can be measured: a task that may move between CPUs measures wrong figures.",
        look: pin,
    },
    Check { code: "harness", effect: "An error of the harness is in every figure.", look: harness },
    Check {
        code: "store",
        effect: "Runs are printed and not saved, so that they can be neither shown nor compared later.",
        look: store,
    },
];

/// Relative error of the self-check beyond which figures are in doubt.
const SELF_CHECK_ERROR: f64 = 0.01;

fn pin(view: &View<'_>) -> Look {
    match &view.watch.pinned {
        Some(Err(error)) => Look::Spoils(
            error.clone(),
            "choose another CPU (--cpu), run outside the sandbox that refuses sched_setaffinity, or start it on one \
             CPU from outside (taskset -c N; docker run --cpuset-cpus=N)"
                .into(),
        ),
        // The CPU is named by other findings.
        _ => Look::Unknown,
    }
}

fn harness(view: &View<'_>) -> Look {
    let Some(check) = &view.watch.self_check else { return Look::Unknown };
    let error = check.thousand_multiplies / check.expected - 1.0;
    let what = format!(
        "1,000 dependent multiplies of {} cycles in all read {:.0} cycles ({:+.2} %), at {:.2} GHz",
        check.expected,
        check.thousand_multiplies,
        error * 100.0,
        check.core_hz / 1e9
    );
    if error.abs() <= SELF_CHECK_ERROR {
        Look::Ok(what)
    } else {
        Look::Spoils(
            what,
            "repeat it when nothing else runs; if it stays, use '--clock os' and compare".into(),
        )
    }
}

fn store(view: &View<'_>) -> Look {
    match &view.watch.store {
        None => Look::Unknown,
        Some(Ok(directory)) => Look::Ok(format!("runs are saved in {directory}")),
        Some(Err(why)) => Look::info(why, "name a directory that can be written to with --store DIR"),
    }
}
