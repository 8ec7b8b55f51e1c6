//! Frequency and idle states of one CPU.

use super::files::Files;
use tollgate_record::host::{Cpu, Idle, IdleState};

const CPUS: &str = "sys/devices/system/cpu";

/// Reads governor, driver, turbo and idle states.
pub(super) fn read(files: &Files, cpu: &mut Cpu, number: usize) {
    cpu.governor = files.word(&format!("{CPUS}/cpu{number}/cpufreq/scaling_governor"));
    cpu.frequency_driver = files.word(&format!("{CPUS}/cpu{number}/cpufreq/scaling_driver"));
    cpu.turbo = files
        .switch(&format!("{CPUS}/intel_pstate/no_turbo"))
        .map(|off| !off)
        .or_else(|| files.switch(&format!("{CPUS}/cpufreq/boost")))
        .or_else(|| files.switch(&format!("{CPUS}/cpu{number}/cpufreq/boost")));
    cpu.idle = Idle {
        driver: files.word(&format!("{CPUS}/cpuidle/current_driver")).filter(|name| name != "none"),
        governor: files
            .word(&format!("{CPUS}/cpuidle/current_governor"))
            .or_else(|| files.word(&format!("{CPUS}/cpuidle/current_governor_ro"))),
        states: states(files, number),
        halt_poll_ns: files.number("sys/module/haltpoll/parameters/guest_halt_poll_ns"),
    };
}

fn states(files: &Files, cpu: usize) -> Vec<IdleState> {
    let directory = format!("{CPUS}/cpu{cpu}/cpuidle");
    files
        .numbered(&directory, "state")
        .into_iter()
        .filter_map(|state| {
            let path = |name: &str| format!("{directory}/state{state}/{name}");
            Some(IdleState {
                name: files.word(&path("name"))?,
                exit_us: files.number(&path("latency"))?,
                disabled: files.number::<u64>(&path("disable")).is_some_and(|value| value != 0),
            })
        })
        .collect()
}
