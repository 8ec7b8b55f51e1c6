//! The kernel: its version, its command line, and its mitigations.

use super::files::Files;
use std::collections::BTreeMap;
use tollgate_record::Host;

/// Words of the boot command line that change what a crossing costs, by subject. A name that ends in a dot stands
/// for all parameters of that module. Written with underscores, which the kernel does not distinguish from dashes.
const WORDS: &[&str] = &[
    // Mitigations of hardware vulnerabilities.
    "mitigations pti nopti kpti nospectre_v1 nospectre_v2 nospectre_bhb spectre_v2 spectre_v2_user",
    "spectre_bhi spec_store_bypass_disable nospec_store_bypass_disable ssbd retbleed l1tf mds tsx",
    "tsx_async_abort srbds mmio_stale_data gather_data_sampling spec_rstack_overflow",
    "reg_file_data_sampling indirect_target_selection tsa vmscape",
    // Features of the processor that were switched off.
    "nopcid noinvpcid nofsgsbase nosmap nosmep nopku noxsave noxsaveopt fred clearcpuid arm64.nosve",
    "arm64.nosme arm64.nopauth",
    // Which CPUs there are and what runs on them.
    "nosmt nosmp maxcpus nr_cpus isolcpus nohz nohz_full rcu_nocbs rcu_nocb_poll irqaffinity",
    "threadirqs preempt noautogroup skew_tick nowatchdog nmi_watchdog nosoftlockup workqueue.",
    // Idle and frequency.
    "idle nohlt hlt intel_idle. processor. cpuidle. cpuidle_haltpoll. haltpoll. intel_pstate",
    "amd_pstate cpufreq.",
    // Clocks.
    "clocksource tsc notsc hpet nohpet no_kvmclock no_steal_acc no_kvmapf nopv",
    // Memory.
    "transparent_hugepage thp_anon default_hugepagesz hugepagesz hugepages init_on_alloc init_on_free",
    "page_poison debug_pagealloc slub_debug slab_debug numa_balancing page_reporting.",
    // Work at every entry.
    "audit randomize_kstack_offset vsyscall vdso vdso32 kasan ftrace lockdown",
];

/// Reads version, command line, mitigations and the settings that forbid or slow what is measured.
pub(super) fn read(files: &Files, host: &mut Host) {
    let kernel = &mut host.kernel;
    kernel.release = files.word("proc/sys/kernel/osrelease").unwrap_or_default();
    kernel.version = files.word("proc/sys/kernel/version").unwrap_or_default();
    kernel.command_line = files.text("proc/cmdline").map(|line| kept(&line)).unwrap_or_default();
    kernel.mitigations = mitigations(files);
    kernel.perf_event_paranoid = files.number("proc/sys/kernel/perf_event_paranoid");
    kernel.perf_user_access = files.number("proc/sys/kernel/perf_user_access");
    kernel.io_uring_disabled = files.number("proc/sys/kernel/io_uring_disabled");
    kernel.autogroup = files.switch("proc/sys/kernel/sched_autogroup_enabled");
    host.clock.kernel_clocksource =
        files.word("sys/devices/system/clocksource/clocksource0/current_clocksource");
}

fn mitigations(files: &Files) -> BTreeMap<String, String> {
    let directory = "sys/devices/system/cpu/vulnerabilities";
    files
        .names(directory)
        .into_iter()
        .filter_map(|name| files.word(&format!("{directory}/{name}")).map(|state| (name, state)))
        .collect()
}

/// The words that change what a crossing costs, in their order. Words after `--` are for the first
/// program, not for the kernel.
fn kept(line: &str) -> Vec<String> {
    line.split_ascii_whitespace()
        .take_while(|word| *word != "--")
        .filter(|word| matters(word))
        .map(str::to_owned)
        .collect()
}

fn matters(word: &str) -> bool {
    let name = word.split_once('=').map_or(word, |(name, _)| name).replace('-', "_");
    let mut words = WORDS.iter().flat_map(|group| group.split(' '));
    words.any(|known| if known.ends_with('.') { name.starts_with(known) } else { name == known })
}

#[cfg(test)]
mod tests {
    use super::kept;

    #[test]
    fn only_words_that_matter_to_a_crossing_are_kept() {
        let line = "BOOT_IMAGE=/vmlinuz root=UUID=1 mitigations=off,nosmt no-kvmclock intel_idle.max_cstate=1 \
                    tsc=reliable quiet tscx=1 isolcpus=2-3 -- idle=poll\n";
        assert_eq!(
            kept(line),
            [
                "mitigations=off,nosmt",
                "no-kvmclock",
                "intel_idle.max_cstate=1",
                "tsc=reliable",
                "isolcpus=2-3"
            ]
        );
        assert!(kept("").is_empty());
    }
}
