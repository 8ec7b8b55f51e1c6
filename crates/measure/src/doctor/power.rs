//! Frequency and idle states.

use super::{Look, View};

/// Microseconds to leave an idle state from which on it shows in a wake-up, which costs some itself.
const SLOW_EXIT_US: u64 = 10;

pub(super) fn governor(view: &View<'_>) -> Look {
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

pub(super) fn turbo(view: &View<'_>) -> Look {
    match view.host.cpu.turbo {
        None => Look::Unknown,
        Some(false) => Look::Ok("turbo is off".into()),
        Some(true) => {
            let intel =
                view.host.cpu.frequency_driver.as_deref().is_some_and(|name| name.starts_with("intel"));
            let fix = if intel {
                "echo 1 | sudo tee /sys/devices/system/cpu/intel_pstate/no_turbo"
            } else {
                "echo 0 | sudo tee /sys/devices/system/cpu/cpufreq/boost"
            };
            Look::Info("turbo (boost) is on".into(), Some(fix.into()))
        }
    }
}

pub(super) fn idle(view: &View<'_>) -> Look {
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

pub(super) fn halt_poll(view: &View<'_>) -> Look {
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
