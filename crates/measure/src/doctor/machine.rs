//! The machine: real or virtual, its counters and its clock.

use super::{Look, View};

pub(super) fn missing_facts(view: &View<'_>) -> Look {
    let missing = &view.host.unreadable;
    if missing.is_empty() {
        return Look::Ok("/proc and /sys can be read".into());
    }
    let mounts: Vec<&str> = missing
        .iter()
        .map(
            |directory| {
                if directory == "/proc" { "mount -t proc proc /proc" } else { "mount -t sysfs sysfs /sys" }
            },
        )
        .collect();
    Look::Spoils(
        format!("{} cannot be read", missing.join(" and ")),
        format!("sudo {}", mounts.join(" && sudo ")),
    )
}

pub(super) fn emulated(view: &View<'_>) -> Look {
    match view.host.hypervisor.as_deref() {
        Some(name) if name.starts_with("QEMU TCG") => Look::Spoils(
            "the processor is emulated in software (QEMU TCG)".into(),
            "start the machine with `-accel kvm -cpu host`, or measure on real hardware".into(),
        ),
        _ => Look::Unknown,
    }
}

pub(super) fn virtual_machine(view: &View<'_>) -> Look {
    match &view.host.hypervisor {
        Some(name) => Look::Info(
            format!("this is a virtual machine: {name}"),
            Some(
                "measure on bare metal, or boot this guest with `idle=poll` for wake-ups across CPUs".into(),
            ),
        ),
        // No sign of one is a fact only where there was something to look at.
        None if view.host.cpu.flags.is_empty() => Look::Unknown,
        None => Look::Ok("no sign of a hypervisor".into()),
    }
}

/// A hypervisor that the processor's flags deny and the machine's own name gives away.
pub(super) fn hidden(view: &View<'_>) -> Look {
    let host = view.host;
    let (Some(name), "x86_64", false) = (&host.hypervisor, host.arch.as_str(), host.cpu.flags.is_empty())
    else {
        return Look::Unknown;
    };
    if host.cpu.flags.iter().any(|flag| flag == "hypervisor") {
        return Look::Unknown;
    }
    Look::Info(
        format!("the machine calls itself {name}, and the processor's hypervisor bit is clear"),
        Some("start the guest with the bit (QEMU: without `-cpu ...,-hypervisor`)".into()),
    )
}

pub(super) fn pmu(view: &View<'_>) -> Look {
    let host = view.host;
    if host.pmu.present {
        return Look::Ok("hardware counters can be read".into());
    }
    // Without a reason nobody has tried.
    let Some(reason) = &host.pmu.reason else { return Look::Unknown };
    let fix = if reason.contains("perf_event_paranoid") {
        Some("sudo sysctl kernel.perf_event_paranoid=1".into())
    } else if reason.contains("seccomp") {
        Some("allow perf_event_open in the filter (docker run --security-opt seccomp=unconfined --cap-add PERFMON)".into())
    } else if host.hypervisor.is_some() {
        Some("give the guest a PMU (QEMU: -cpu host,pmu=on; clouds: a bare-metal instance)".into())
    } else {
        None
    };
    Look::Info(format!("no hardware counters: {reason}"), fix)
}

pub(super) fn free_page_reporting(view: &View<'_>) -> Look {
    match view.host.free_page_reporting {
        None => Look::Unknown,
        Some(false) => Look::Ok("free memory stays with this guest".into()),
        Some(true) => Look::Info(
            "free memory is given back to the host (virtio balloon with free page reporting)".into(),
            Some("start the guest without it (QEMU: -device virtio-balloon,free-page-reporting=off), or touch the memory once before".into()),
        ),
    }
}

pub(super) fn clocksource(view: &View<'_>) -> Look {
    let Some(source) = view.host.clock.kernel_clocksource.as_deref() else { return Look::Unknown };
    let what = format!("the kernel's clock source is {source}");
    let fix = "boot with `clocksource=tsc tsc=reliable`, if the kernel's log shows no fault of the TSC";
    match source {
        "tsc" | "arch_sys_counter" | "riscv_clocksource" | "timebase" => Look::Ok(what),
        // Read in user mode as well, by longer code.
        "kvm-clock" | "hyperv_clocksource_tsc_page" => Look::Info(
            what,
            Some(
                "echo tsc | sudo tee /sys/devices/system/clocksource/clocksource0/current_clocksource".into(),
            ),
        ),
        _ => Look::Spoils(what, fix.into()),
    }
}

pub(super) fn tsc(view: &View<'_>) -> Look {
    let host = view.host;
    if host.arch != "x86_64" {
        return Look::Unknown;
    }
    match host.clock.invariant {
        None => Look::Unknown,
        Some(true) => Look::Ok("the time-stamp counter runs at one rate in all power states".into()),
        Some(false) => Look::Spoils(
            "the time-stamp counter is not invariant".into(),
            if host.hypervisor.is_some() {
                "have the hypervisor expose an invariant TSC (QEMU: -cpu host,migratable=no,+invtsc)".into()
            } else {
                "boot with `processor.max_cstate=1` and fix the frequency (sudo cpupower frequency-set -g performance)"
                    .into()
            },
        ),
    }
}
