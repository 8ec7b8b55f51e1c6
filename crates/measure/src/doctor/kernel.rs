//! The kernel's work at a crossing.

use super::check::{Check, Look, View};

pub(super) static CHECKS: &[Check] = &[
    Check {
        code: "page-table-isolation",
        effect: "Every entry to the kernel and every return switch page tables: each system call, fault and interrupt costs more.",
        look: isolation,
    },
    Check {
        code: "mitigations",
        effect: "Crossings contain the cost of the mitigations in force: compare only with hosts that have the same.",
        look: mitigations,
    },
    Check {
        code: "huge-pages",
        effect: "A first touch may be given 2 MiB instead of one page, so faults are fewer and each is slower.",
        look: huge_pages,
    },
    Check {
        code: "autogroup",
        effect: "The scheduler shares the CPU between sessions first, so `nice` does not keep other sessions off the measured CPU.",
        look: autogroup,
    },
];

/// Vulnerabilities whose mitigation adds work to entries, returns, indirect branches or switches, and
/// the words of the kernel's report that say that it does. An empty list: any mitigation does.
const COSTLY: &[(&str, &[&str])] = &[
    (
        "spectre_v2",
        &["Retpolines", "IBRS", "LFENCE", "IBPB", "STIBP: forced", "STIBP: always-on", "BHB", "Clear"],
    ),
    ("retbleed", &[]),
    ("spec_rstack_overflow", &[]),
    ("mds", &["Clear CPU buffers"]),
    ("tsx_async_abort", &["Clear CPU buffers"]),
    ("mmio_stale_data", &["Clear CPU buffers"]),
    ("reg_file_data_sampling", &["Clear"]),
    ("indirect_target_selection", &[]),
    ("tsa", &["Clear CPU buffers"]),
    ("l1tf", &["cache flushes", "flush"]),
    ("vmscape", &[]),
    ("spec_store_bypass", &["Speculative Store Bypass disabled"]),
];

fn isolation(view: &View<'_>) -> Look {
    let host = view.host;
    let report = host.kernel.mitigations.get("meltdown").map(String::as_str);
    let begins = |word| report.is_some_and(|report| report.starts_with(word));
    // The report says "Not affected" also where isolation was forced on; the flag tells the truth.
    let flag = host.cpu.flags.iter().any(|flag| flag == "pti");
    if flag || report.is_some_and(|report| report.contains("PTI")) {
        let forced = "page-table isolation was forced on: the processor does not need it";
        return Look::info(
            if begins("Not affected") { forced } else { "page-table isolation is on" },
            "boot with `pti=off` (arm64: `kpti=0`) to compare, where no foreign code runs",
        );
    }
    if report.is_none() && host.cpu.flags.is_empty() {
        return Look::Unknown;
    }
    if begins("Vulnerable") {
        return Look::info(
            "page-table isolation is off though this processor needs it: crossings are cheaper than on others of its kind",
            "boot without `nopti`, `pti=off` and `mitigations=off` for the figures that others see",
        );
    }
    Look::ok("page-table isolation is off")
}

fn mitigations(view: &View<'_>) -> Look {
    let reports = &view.host.kernel.mitigations;
    if reports.is_empty() {
        return Look::Unknown;
    }
    let in_force: Vec<String> = COSTLY
        .iter()
        .filter_map(|(name, words)| {
            let report = reports.get(*name)?;
            // "Vulnerable: Safe RET, no microcode" is a mitigation in force that is not enough.
            let state = report.strip_prefix("Mitigation:").or_else(|| report.strip_prefix("Vulnerable:"))?;
            // A mitigation on request costs nothing in programs that do not request it.
            let on_request = state.contains("via prctl");
            let costs = !on_request && (words.is_empty() || words.iter().any(|word| state.contains(word)));
            (costs && !state.trim().is_empty()).then(|| format!("{name} ({})", state.trim()))
        })
        .collect();
    if in_force.is_empty() {
        return Look::Ok("no mitigation that is known to cost at a crossing is in force".into());
    }
    Look::Info(
        format!("mitigations are in force: {}", in_force.join(", ")),
        Some("boot with `mitigations=off` to compare, where no foreign code runs".into()),
    )
}

fn huge_pages(view: &View<'_>) -> Look {
    let Some(choice) = view.host.transparent_huge_pages.as_deref() else { return Look::Unknown };
    let what = format!("transparent huge pages: {choice}");
    if choice == "always" {
        let fix = "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled";
        Look::Info(what, Some(fix.into()))
    } else {
        Look::Ok(what)
    }
}

fn autogroup(view: &View<'_>) -> Look {
    let bad = Look::info(
        "tasks are grouped by session (autogroup)",
        "sudo sysctl kernel.sched_autogroup_enabled=0",
    );
    Look::of_switch(view.host.kernel.autogroup, "tasks are not grouped by session", bad)
}

#[cfg(test)]
mod tests {
    use crate::doctor::{Observed, findings};
    use tollgate_record::{Finding, Host, Severity};

    fn isolation(report: &str, flags: &[&str]) -> Finding {
        let mut host = Host::default();
        host.kernel.mitigations.insert("meltdown".into(), report.into());
        host.cpu.flags = flags.iter().map(|flag| (*flag).to_owned()).collect();
        let found = findings(&host, &Observed::default());
        found.into_iter().find(|finding| finding.code == "page-table-isolation").expect("it is known")
    }

    #[test]
    fn the_flag_decides_and_the_report_says_whether_it_was_needed() {
        let on = isolation("Mitigation: PTI", &["syscall", "pti"]);
        assert_eq!((on.severity, on.what.as_str()), (Severity::Info, "page-table isolation is on"));
        let forced = isolation("Not affected", &["syscall", "pti"]);
        assert!(forced.severity == Severity::Info && forced.what.contains("forced on"), "{forced:?}");
        let off = isolation("Vulnerable", &["syscall"]);
        assert!(
            off.severity == Severity::Info && off.what.contains("though this processor needs it"),
            "{off:?}"
        );
        assert_eq!(isolation("Not affected", &["syscall"]).severity, Severity::Ok);
    }
}
