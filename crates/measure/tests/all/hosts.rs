//! Hosts as trees of files: what is read from them, and what the doctor says.
//!
//! Each file of `hosts/` is one tree: a remark, then the files, each under a line `-- path --`. The sign
//! for NUL (U+2400) stands for that byte, which device trees end their words with. `guest-kvm` was
//! recorded; the others are composed in the formats that such machines print.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use tollgate_measure::doctor::{Observed, findings};
use tollgate_measure::host;
use tollgate_measure::noise::{CpuNoise, Share, SpanNoise, Watch, warnings};
use tollgate_measure::placement::choose;
use tollgate_record::{Finding, Host, Severity};

/// Unpacks a tree.
fn tree(name: &str) -> tempfile::TempDir {
    let recorded = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/hosts/{name}.txt"));
    let text = fs::read_to_string(&recorded).unwrap();
    let root = tempfile::tempdir().unwrap();
    let mut files: BTreeMap<&str, String> = BTreeMap::new();
    let mut current = None;
    for line in text.lines() {
        if let Some(path) = line.strip_prefix("-- ").and_then(|rest| rest.strip_suffix(" --")) {
            assert!(files.insert(path, String::new()).is_none(), "{path} twice in {name}");
            current = Some(path);
        } else if let Some(path) = current {
            let body = files.get_mut(path).unwrap();
            body.push_str(&line.replace('\u{2400}', "\0"));
            body.push('\n');
        }
    }
    assert!(!files.is_empty());
    for (path, body) in files {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, body).unwrap();
    }
    root
}

/// The facts of a host, placed as a run without options would place it.
fn recorded(name: &str) -> Host {
    let root = tree(name);
    let mut facts = host::facts(root.path());
    if let Ok(site) = choose(&facts.cpu, None, None) {
        host::place(root.path(), &mut facts, site.cpu, site.peer);
    }
    facts
}

/// The codes of a severity, in the order of the table; and checks what holds for every finding.
fn codes(found: &[Finding], severity: Severity) -> Vec<&str> {
    for finding in found {
        assert!(!finding.what.is_empty() && finding.effect.ends_with('.'), "{finding:?}");
        assert!(finding.severity != Severity::Spoils || finding.fix.is_some(), "{finding:?}");
        assert!(finding.fix.as_ref().is_none_or(|fix| fix.len() > 5), "{finding:?}");
    }
    found.iter().filter(|finding| finding.severity == severity).map(|finding| finding.code.as_str()).collect()
}

fn judged(host: &Host) -> Vec<Finding> {
    findings(host, &Observed::default())
}

fn what<'a>(found: &'a [Finding], code: &str) -> &'a str {
    &found.iter().find(|finding| finding.code == code).unwrap().what
}

#[test]
fn a_kvm_guest_with_control_groups_of_version_1() {
    let mut host = recorded("guest-kvm");
    assert_eq!((host.cpu.model.as_str(), host.cpu.vendor.as_str()), ("AMD EPYC", "AuthenticAMD"));
    assert_eq!(host.cpu.family_model_stepping, Some([26, 2, 1]));
    assert_eq!(host.cpu.microcode.as_deref(), Some("0x1000065"));
    assert_eq!((host.cpu.measured, host.cpu.peer), (Some(1), Some(0)));
    assert_eq!(host.cpu.peer_relation.as_deref(), Some("other-core"));
    assert_eq!(host.cpu.smt, Some(false));
    assert_eq!(host.clock.invariant, Some(true));
    assert_eq!(host.clock.kernel_clocksource.as_deref(), Some("tsc"));
    // Words for the first program, after `--`, are not the kernel's.
    assert_eq!(
        host.kernel.command_line,
        [
            "mitigations=auto,no_guest_host,no_guest_guest",
            "page_reporting.page_reporting_order=11",
            "cpuidle_haltpoll.force=1",
            "haltpoll.guest_halt_poll_ns=0"
        ]
    );
    // The group itself sets no limit; the one above it does.
    assert_eq!((host.cgroup.version, host.cgroup.memory_max), (Some(1), Some(16 << 30)));
    assert_eq!((host.cgroup.cpu_max, host.cgroup.pids_max), (None, None));
    assert_eq!(host.transparent_huge_pages.as_deref(), Some("madvise"));
    assert!(host.hypervisor.as_deref().unwrap().contains("hypervisor flag"));

    host.hypervisor = Some("KVM".into());
    host.pmu.reason = Some(host::why_no_pmu(libc::ENOENT, &host));
    let found = judged(&host);
    assert_eq!(codes(&found, Severity::Spoils), [""; 0]);
    assert_eq!(
        codes(&found, Severity::Info),
        ["virtual-machine", "no-pmu", "free-page-reporting", "halt-poll", "mitigations", "autogroup"]
    );
    assert_eq!(what(&found, "no-pmu"), "no hardware counters: no counters exposed by the hypervisor (KVM)");
    assert!(what(&found, "mitigations").contains("Retpolines"));
    // A mitigation that is in force and not enough costs all the same; one that is off does not.
    assert!(
        what(&found, "mitigations").contains("Safe RET") && !what(&found, "mitigations").contains("bypass")
    );
}

#[test]
fn a_laptop_with_everything_that_saves_power() {
    let host = recorded("laptop-intel");
    assert_eq!((host.cpu.measured, host.cpu.peer), (Some(7), Some(6)));
    assert_eq!(host.cpu.cores, [[0, 4], [1, 5], [2, 6], [3, 7]]);
    assert_eq!((host.cpu.governor.as_deref(), host.cpu.turbo), (Some("powersave"), Some(true)));
    assert_eq!(host.cpu.frequency_driver.as_deref(), Some("intel_pstate"));
    assert_eq!(host.cpu.idle.states.len(), 4);
    assert_eq!(host.machine.as_deref(), Some("Latitude 5490"));
    assert_eq!(host.hypervisor, None);
    assert_eq!(host.cgroup.pids_max, Some(20_000));
    assert!(host.cpu.flags.contains(&"pti".to_owned()) && !host.cpu.flags.contains(&"fpu".to_owned()));
    assert_eq!((host.swap_bytes, host.swap_used_bytes), (Some(8_000_000 << 10), Some(1_000_000 << 10)));
    let found = judged(&host);
    assert_eq!(
        codes(&found, Severity::Spoils),
        ["clocksource", "governor", "perf-event-paranoid", "io-uring-disabled", "low-memory"]
    );
    assert_eq!(
        codes(&found, Severity::Info),
        [
            "smt-sibling",
            "turbo",
            "idle-states",
            "page-table-isolation",
            "mitigations",
            "huge-pages",
            "autogroup",
            "unprivileged",
            "swap"
        ]
    );
    assert_eq!(what(&found, "smt-sibling"), "cpu 7 shares its core with cpu 3");
    // C10 is switched off on this CPU.
    assert_eq!(what(&found, "idle-states"), "idle state C6 is in use, and takes 85 us to leave");
    assert!(what(&found, "virtual-machine").contains("no sign"));
}

#[test]
fn caches_of_the_measured_cpu() {
    let root = tree("laptop-intel");
    let mut host = host::facts(root.path());
    let last = host.caches.last().unwrap();
    assert_eq!((host.caches.len(), last.level, last.bytes, last.ways), (4, 3, 6 << 20, Some(12)));
    assert_eq!(last.shared_by, (0..8).collect::<Vec<_>>());
    host::place(root.path(), &mut host, 7, None);
    assert!(host.caches.is_empty(), "nothing was recorded of cpu 7");
}

#[test]
fn a_tuned_server_of_another_architecture() {
    let mut host = recorded("server-aarch64");
    assert_eq!((host.arch.as_str(), host.cpu.model.as_str()), ("aarch64", "Neoverse-N1 r3p1"));
    assert_eq!(host.cpu.part.as_deref(), Some("0x41/0xd0c"));
    assert_eq!((&host.cpu.isolated[..], &host.cpu.tickless[..]), (&[6, 7][..], &[6, 7][..]));
    assert_eq!(host.kernel.command_line, ["isolcpus=6-7", "nohz_full=6-7", "rcu-nocbs=6-7"]);
    assert_eq!(host.limits.processes, None);
    assert_eq!(host.caches.len(), 3);
    let found = judged(&host);
    assert_eq!(codes(&found, Severity::Spoils), [""; 0]);
    assert_eq!(codes(&found, Severity::Info), ["cpu-set", "mitigations"]);
    // How counters are read is of interest once there are some.
    host.pmu.present = true;
    assert_eq!(codes(&judged(&host), Severity::Info), ["cpu-set", "mitigations", "perf-user-access"]);
    assert!(what(&found, "mitigations").contains("BHB") && !what(&found, "mitigations").contains("prctl"));
    let text = |cpu| choose(&host.cpu, Some(cpu), None).unwrap_err().to_string();
    assert_eq!(text(9), "cpu 9 is offline; online are 0-7");
    assert_eq!(text(2), "cpu 2 is outside the set of CPUs that this process may use: 4-7");
}

#[test]
fn a_small_board() {
    let host = recorded("board-riscv64");
    assert_eq!((host.arch.as_str(), host.cpu.model.as_str()), ("riscv64", "sifive,u74-mc"));
    assert!(host.cpu.isa.as_deref().unwrap().starts_with("rv64imafdc_zicntr"));
    assert_eq!(host.cpu.part.as_deref(), Some("0x489/0x8000000000000007"));
    assert_eq!(host.machine.as_deref(), Some("StarFive VisionFive 2 v1.3B"));
    assert_eq!((host.hypervisor.as_deref(), host.clock.invariant), (None, Some(true)));
    let found = judged(&host);
    assert_eq!(codes(&found, Severity::Spoils), ["governor", "process-limit", "open-files", "low-memory"]);
    assert_eq!(codes(&found, Severity::Info), ["one-cpu", "cpu-set", "perf-event-paranoid", "unprivileged"]);
    // Nothing tells whether page-table isolation is on, so nothing is reported.
    assert!(!found.iter().any(|finding| finding.code == "page-table-isolation"));
}

#[test]
fn a_container_with_every_limit() {
    let mut host = recorded("container-v2");
    assert_eq!(host.hypervisor.as_deref(), Some("Xen"));
    assert_eq!(host.uid, 65_534);
    assert_eq!((host.kernel.seccomp, host.kernel.traced), (Some(true), Some(true)));
    assert_eq!(host.cgroup.version, Some(2));
    // Of two limits the tighter, on whichever level it is.
    assert_eq!(host.cgroup.cpu_max, Some(0.5));
    assert_eq!((host.cgroup.memory_max, host.cgroup.pids_max), (Some(256 << 20), Some(50)));
    assert_eq!(host.cpu.peer_relation.as_deref(), Some("smt-sibling"));
    assert_eq!(host.clock.invariant, Some(false));
    host.pmu.reason = Some(host::why_no_pmu(libc::EPERM, &host));
    let found = judged(&host);
    assert_eq!(
        codes(&found, Severity::Spoils),
        [
            "clocksource",
            "tsc-not-invariant",
            "perf-event-paranoid",
            "io-uring-disabled",
            "seccomp",
            "tracer",
            "cpu-quota",
            "memory-limit",
            "tasks-limit"
        ]
    );
    assert_eq!(
        codes(&found, Severity::Info),
        ["virtual-machine", "no-pmu", "cpu-set", "smt-sibling", "peer-is-sibling", "unprivileged"]
    );
}

#[test]
fn a_host_with_nothing() {
    let root = tempfile::tempdir().unwrap();
    let host = host::facts(root.path());
    assert_eq!(host, Host { unreadable: vec!["/proc".into(), "/sys".into()], ..Host::default() });
    let found = judged(&Host { uid: 1000, ..host });
    assert_eq!(codes(&found, Severity::Spoils), ["missing-facts"]);
    assert_eq!(codes(&found, Severity::Ok), [""; 0]);
}

#[test]
fn garbage_is_no_fact() {
    let root = tree("garbage");
    let host = host::facts(root.path());
    assert_eq!((host.memory_bytes, host.uid), (None, 0));
    assert_eq!((host.kernel.seccomp, host.kernel.traced), (None, None));
    assert_eq!((host.kernel.perf_event_paranoid, host.kernel.io_uring_disabled), (None, None));
    assert_eq!((host.cgroup.cpu_max, host.cgroup.memory_max), (None, None));
    assert_eq!(host.transparent_huge_pages, None);
    assert!(host.caches.is_empty() && host.cpu.idle.states.is_empty() && host.cpu.online.is_empty());
    assert!(host.kernel.command_line.is_empty() && host.cpu.allowed.is_empty());
    codes(&judged(&host), Severity::Ok);
    let watch = Watch::recorded(root.path(), 0, Some(1), 1);
    let noise = watch.span(&watch.mark_at(0), &watch.mark_at(1));
    assert_eq!((noise.measured.steal_ns, noise.measured.other), (None, None));
    assert!(warnings(&noise, true).is_empty());
}

#[test]
fn forced_isolation_is_read_from_the_flag() {
    let mut host = recorded("guest-kvm");
    assert!(what(&judged(&host), "page-table-isolation").ends_with("off"));
    // The kernel reports "Not affected" all the same.
    host.cpu.flags.push("pti".into());
    assert!(what(&judged(&host), "page-table-isolation").contains("forced on"));
}

#[test]
fn an_emulator_is_not_taken_for_hardware() {
    let host = Host { hypervisor: Some("QEMU TCG".into()), ..Host::default() };
    assert!(codes(&judged(&host), Severity::Spoils).contains(&"emulated-cpu"));
}

#[test]
fn one_cpu_says_where_another_is() {
    let fix = |present: &[usize], online: &[usize]| {
        let mut host = Host::default();
        host.cpu.allowed = vec![0];
        host.cpu.online = online.to_vec();
        host.cpu.present = present.to_vec();
        judged(&host).into_iter().find(|finding| finding.code == "one-cpu").unwrap().fix
    };
    assert!(fix(&[0, 1], &[0, 1]).unwrap().contains("taskset -c 0-1"));
    assert!(fix(&[0, 1], &[0]).unwrap().ends_with("cpu1/online"));
    assert_eq!(fix(&[0], &[0]), None);
}

#[test]
fn what_was_watched_is_judged() {
    let mut host = recorded("guest-kvm");
    host.hypervisor = Some("KVM".into());
    let mut span = SpanNoise {
        elapsed_ns: 1_000_000_000,
        measured: CpuNoise {
            cpu: 1,
            steal_ns: Some(0),
            other: Some(Share { estimate: 0.0, low: -0.01, high: 0.01, chance: 0.01 }),
            device_interrupts: Some(0),
        },
        ..SpanNoise::default()
    };
    let spoils = |span| {
        let found = findings(&host, &Observed { span: Some(span), ..Observed::default() });
        let codes: Vec<String> = codes(&found, Severity::Spoils).into_iter().map(str::to_owned).collect();
        (codes, found)
    };
    let (quiet, found) = spoils(span);
    assert!(quiet.is_empty());
    for code in ["other-task", "steal", "interrupts"] {
        assert_eq!(found.iter().find(|one| one.code == code).unwrap().severity, Severity::Ok, "{code}");
    }
    span.measured.steal_ns = Some(90_000_000);
    span.measured.other = Some(Share { estimate: 0.5, low: 0.4, high: 0.6, chance: 0.1 });
    span.measured.device_interrupts = Some(5_000);
    assert_eq!(spoils(span).0, ["other-task", "steal", "interrupts"]);
}

#[test]
fn this_machine_can_be_described() {
    let host = host::here();
    assert_eq!(host.arch, std::env::consts::ARCH);
    assert!(host.page_bytes.is_power_of_two());
    assert!(!host.cpu.allowed.is_empty() && !host.kernel.release.is_empty());
    assert_ne!(host.pmu.present, host.pmu.reason.is_some());
    codes(&judged(&host), Severity::Ok);
}
