//! The machine: real or virtual, its counters and its clock.

use super::check::{Check, Look, View};

pub(super) static CHECKS: &[Check] = &[
    Check {
        code: "missing-facts",
        effect: "Facts that the system does not show are neither judged nor recorded, and noise cannot be watched.",
        look: missing_facts,
    },
    Check {
        code: "emulated-cpu",
        effect: "An emulator runs the instructions, so figures are those of the emulator and only look like hardware.",
        look: emulated,
    },
    Check {
        code: "virtual-machine",
        effect: "Waking a halted virtual CPU goes through the hypervisor, so wake-ups across CPUs cost 10 us and more, and the hypervisor can take time that the guest does not notice.",
        look: virtual_machine,
    },
    Check {
        code: "hidden-hypervisor",
        effect: "The guest's kernel skips its work for a hypervisor, and vm/cpuid mistakes an exit for an ordinary instruction.",
        look: hidden,
    },
    Check {
        code: "no-pmu",
        effect: "Hardware counters stay out of the record: no cache, TLB or branch misses beside the figures.",
        look: pmu,
    },
    Check {
        code: "clocksource",
        effect: "Reading the clock costs what its source costs: outside the TSC it may be a system call or a device access, and the vdso figures are those of another path.",
        look: clocksource,
    },
    Check {
        code: "tsc-not-invariant",
        effect: "The time-stamp counter changes its rate or stops with the core, so ticks cannot be turned into nanoseconds.",
        look: tsc,
    },
    Check {
        code: "free-page-reporting",
        effect: "The host takes free memory back, and the first touch of such a page goes through the hypervisor: tens of microseconds instead of one.",
        look: free_page_reporting,
    },
];

fn missing_facts(view: &View<'_>) -> Look {
    let missing = &view.host.unreadable;
    if missing.is_empty() {
        return Look::Ok("/proc and /sys can be read".into());
    }
    let mount = |directory: &str| match directory {
        "/proc" => Some("mount -t proc proc /proc"),
        "/sys" => Some("mount -t sysfs sysfs /sys"),
        _ => None,
    };
    let mounts: Vec<&str> = missing.iter().filter_map(|directory| mount(directory)).collect();
    let what = format!("{} cannot be read", missing.join(" and "));
    if mounts.is_empty() {
        let fix = "start the container without masks (docker run --security-opt systempaths=unconfined)";
        return Look::Info(what, Some(fix.into()));
    }
    Look::Spoils(what, format!("sudo {}", mounts.join(" && sudo ")))
}

fn emulated(view: &View<'_>) -> Look {
    match view.host.hypervisor.as_deref() {
        Some(name) if name.starts_with("QEMU TCG") => Look::spoils(
            "the processor is emulated in software (QEMU TCG)",
            "start the machine with `-accel kvm -cpu host`, or measure on real hardware",
        ),
        _ => Look::Unknown,
    }
}

fn virtual_machine(view: &View<'_>) -> Look {
    match &view.host.hypervisor {
        Some(name) => Look::info(
            format!("this is a virtual machine: {name}"),
            "measure on bare metal, or boot this guest with `idle=poll` for wake-ups across CPUs",
        ),
        // No sign of one is a fact only where there was something to look at.
        None if view.host.cpu.flags.is_empty() => Look::Unknown,
        None => Look::ok("no sign of a hypervisor"),
    }
}

/// A hypervisor that the processor's flags deny and the machine's own name gives away.
fn hidden(view: &View<'_>) -> Look {
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

fn pmu(view: &View<'_>) -> Look {
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

fn free_page_reporting(view: &View<'_>) -> Look {
    let bad = Look::info(
        "free memory is given back to the host (virtio balloon with free page reporting)",
        "start the guest without it (QEMU: -device virtio-balloon,free-page-reporting=off), or touch the memory once before",
    );
    Look::of_switch(view.host.free_page_reporting, "free memory stays with this guest", bad)
}

fn clocksource(view: &View<'_>) -> Look {
    let Some(source) = view.host.clock.kernel_clocksource.as_deref() else { return Look::Unknown };
    let what = format!("the kernel's clock source is {source}");
    match source {
        "tsc" | "arch_sys_counter" | "riscv_clocksource" | "timebase" => Look::Ok(what),
        // Read in user mode as well, by longer code.
        "kvm-clock" | "hyperv_clocksource_tsc_page" => Look::info(
            what,
            "echo tsc | sudo tee /sys/devices/system/clocksource/clocksource0/current_clocksource",
        ),
        _ => Look::spoils(
            what,
            "boot with `clocksource=tsc tsc=reliable`, if the kernel's log shows no fault of the TSC",
        ),
    }
}

fn tsc(view: &View<'_>) -> Look {
    let host = view.host;
    if host.arch != "x86_64" {
        return Look::Unknown;
    }
    let fix = if host.hypervisor.is_some() {
        "have the hypervisor expose an invariant TSC (QEMU: -cpu host,migratable=no,+invtsc)"
    } else {
        "boot with `processor.max_cstate=1` and fix the frequency (sudo cpupower frequency-set -g performance)"
    };
    let bad = Look::spoils("the time-stamp counter is not invariant", fix);
    let well = "the time-stamp counter runs at one rate in all power states";
    Look::of_switch(host.clock.invariant.map(|invariant| !invariant), well, bad)
}
