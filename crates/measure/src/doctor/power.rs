//! Frequency and idle states.

use super::check::{Check, Look, View};

pub(super) static CHECKS: &[Check] = &[
    Check {
        code: "governor",
        effect: "The core's frequency follows the load, so the same crossing takes a different time from one second to the next.",
        look: governor,
    },
    Check {
        code: "turbo",
        effect: "The core's frequency depends on temperature and on what other cores do: compare cycles rather than nanoseconds between runs.",
        look: turbo,
    },
    Check {
        code: "idle-states",
        effect: "A CPU that waits falls asleep, and wake-ups across CPUs include the time that it needs to come back.",
        look: idle,
    },
    Check {
        code: "halt-poll",
        effect: "An idle virtual CPU is given back at once instead of polling for a while, which makes wake-ups across CPUs slow.",
        look: halt_poll,
    },
];

/// Microseconds to leave an idle state from which on it shows in a wake-up, which costs some itself.
const SLOW_EXIT_US: u64 = 10;

fn governor(view: &View<'_>) -> Look {
    let cpu = &view.host.cpu;
    let Some(governor) = cpu.governor.as_deref() else { return Look::Unknown };
    let driver = cpu.frequency_driver.as_deref().map(|name| format!(" ({name})")).unwrap_or_default();
    let what = format!("the frequency governor is {governor}{driver}");
    match governor {
        "performance" => Look::Ok(what),
        // The user has chosen one frequency: steady, whichever it is.
        "userspace" => Look::Info(what, None),
        _ => Look::Spoils(what, "sudo cpupower frequency-set -g performance".into()),
    }
}

fn turbo(view: &View<'_>) -> Look {
    let driver = view.host.cpu.frequency_driver.as_deref();
    let fix = if driver.is_some_and(|name| name.starts_with("intel")) {
        "echo 1 | sudo tee /sys/devices/system/cpu/intel_pstate/no_turbo"
    } else {
        "echo 0 | sudo tee /sys/devices/system/cpu/cpufreq/boost"
    };
    Look::of_switch(view.host.cpu.turbo, "turbo is off", Look::info("turbo (boost) is on", fix))
}

fn idle(view: &View<'_>) -> Look {
    let idle = &view.host.cpu.idle;
    if idle.states.is_empty() {
        return Look::Unknown;
    }
    let deepest = idle.states.iter().filter(|state| !state.disabled).max_by_key(|state| state.exit_us);
    match deepest {
        Some(state) if state.exit_us >= SLOW_EXIT_US => Look::Info(
            format!("idle state {} is in use, and takes {} us to leave", state.name, state.exit_us),
            Some(format!("sudo cpupower idle-set -D {} (idle-set -E undoes it)", SLOW_EXIT_US - 1)),
        ),
        _ => Look::Ok(format!("no idle state in use takes {SLOW_EXIT_US} us to leave")),
    }
}

fn halt_poll(view: &View<'_>) -> Look {
    let idle = &view.host.cpu.idle;
    if idle.driver.as_deref() != Some("haltpoll") {
        return Look::Unknown;
    }
    match idle.halt_poll_ns {
        None => Look::Unknown,
        Some(0) => Look::Info(
            "the haltpoll driver is set to poll for 0 ns".into(),
            Some("echo 200000 | sudo tee /sys/module/haltpoll/parameters/guest_halt_poll_ns".into()),
        ),
        Some(ns) => Look::Ok(format!("an idle CPU polls for up to {ns} ns before it halts")),
    }
}
