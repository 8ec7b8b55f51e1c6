//! `tollgate crossing` in good places and bad ones: what cannot be taken apart keeps its total and says why.

use crate::case::{ANY, CASE, Case, go_through};
use crate::json;
use crate::places::{limited, one_cpu};
use crate::refused::{Rule, refuse};
use serde_json::Value;

#[test]
fn crossings() {
    go_through("e2e::crossing::crossings", CASES);
}

const QUICK: &str = "crossing --no-guest --quick --budget-ms 400 --json --no-save";

pub(crate) const CASES: &[Case] = &[
    Case { name: "crossing: as it is", args: QUICK, then: |outcome| taken_apart(&outcome.printed()), ..CASE },
    Case {
        name: "crossing: as a table, and again from the store",
        args: "crossing --quick --budget-ms 400 --store {dir}/store --all",
        prints: &["System call, whole, ns", "getppid", "What others found", "xperf", "measured"],
        says: &["saved as"],
        ..CASE
    },
    Case {
        name: "crossing: others' figures are folded",
        args: "crossing --quick --budget-ms 400 --no-guest --no-save",
        prints: &["Folded (--all): what others found on their machines.", "measured"],
        then: |outcome| assert!(!outcome.stdout.contains("xperf"), "{}", outcome.stdout),
        ..CASE
    },
    Case {
        name: "crossing: a user with nothing",
        args: QUICK,
        scene: |scene| scene.as_nobody(),
        then: |outcome| {
            let run = outcome.printed();
            assert_eq!(run["host"]["uid"], crate::scene::NOBODY);
            taken_apart(&run);
        },
        ..CASE
    },
    Case {
        name: "crossing: one CPU",
        args: QUICK,
        scene: one_cpu,
        then: |outcome| taken_apart(&outcome.printed()),
        ..CASE
    },
    Case {
        name: "crossing: timed by the system's clock",
        args: "crossing --no-guest --quick --budget-ms 400 --json --no-save --clock os",
        then: |outcome| {
            let run = outcome.printed();
            assert_eq!(run["host"]["clock"]["source"], "os");
            taken_apart(&run);
        },
        ..CASE
    },
    Case {
        name: "crossing: perf events refused",
        args: QUICK,
        scene: |scene| refuse(scene, &[Rule::all(libc::SYS_perf_event_open, libc::EACCES)]),
        then: |outcome| no_faults(&outcome.printed(), "perf_event_paranoid"),
        ..CASE
    },
    Case {
        name: "crossing: perf events unknown to the kernel",
        args: QUICK,
        scene: |scene| refuse(scene, &[Rule::all(libc::SYS_perf_event_open, libc::ENOSYS)]),
        then: |outcome| no_faults(&outcome.printed(), "CONFIG_PERF_EVENTS"),
        ..CASE
    },
    Case {
        name: "crossing: bpf refused",
        args: QUICK,
        scene: |scene| refuse(scene, &[Rule::all(libc::SYS_bpf, libc::EPERM)]),
        then: |outcome| taken_apart(&outcome.printed()),
        ..CASE
    },
    Case {
        name: "crossing: no further filter allowed",
        args: QUICK,
        scene: |scene| refuse(scene, &[Rule::all(libc::SYS_seccomp, libc::EPERM)]),
        then: |outcome| {
            let run = outcome.printed();
            let filtered = json::result(&run, "syscall/getppid-filtered");
            assert_eq!(filtered["status"], "skipped", "{filtered}");
            assert!(filtered["enable"].as_str().unwrap().contains("sandbox"), "{filtered}");
        },
        ..CASE
    },
    Case {
        name: "crossing: exit status 1 when a row failed, with little memory for the guests",
        args: "crossing --quick --budget-ms 400 --json --no-save",
        exit: ANY,
        // Enough for tollgate with its threads; QEMU reserves 1 GiB for the code that it makes.
        scene: |scene| limited(scene, libc::RLIMIT_AS, 256_000_000),
        then: |outcome| {
            let run = outcome.printed();
            let failed = json::statuses(&run).iter().any(|status| *status == "failed");
            let whole = run["complete"] == true && !failed;
            assert_eq!(outcome.exit, Some(i32::from(!whole)), "{}", outcome.describe());
        },
        ..CASE
    },
    Case {
        name: "crossing: ended in the middle",
        args: "crossing --no-guest --store {dir}/store",
        exit: 143,
        says: &["interrupted"],
        during: |running| {
            running.saved();
            running.signal(libc::SIGTERM);
        },
        then: |outcome| assert_eq!(outcome.saved()["complete"], false),
        ..CASE
    },
    Case {
        name: "crossing: the worker killed in the middle",
        args: "crossing --no-guest --quick --store {dir}/store",
        exit: ANY,
        during: |running| {
            running.saved();
            let worker = running.worker();
            // SAFETY: integers only; the worker is our program's.
            unsafe { libc::kill(worker, libc::SIGKILL) };
        },
        then: |outcome| {
            let run = outcome.saved();
            let measured = json::statuses(&run).iter().filter(|status| *status == "measured").count();
            assert!(measured > 10, "the others go on: {measured}");
        },
        ..CASE
    },
    Case {
        name: "crossing: an unknown option",
        args: "crossing --quik",
        exit: 2,
        says: &["--quik", "--quick"],
        ..CASE
    },
    Case { name: "crossing: a word too many", args: "crossing syscall", exit: 2, says: &["syscall"], ..CASE },
    Case {
        name: "crossing: no such CPU",
        args: "crossing --cpu 99999",
        exit: 2,
        says: &["--cpu", "99999"],
        ..CASE
    },
    Case {
        name: "crossing: nowhere to write",
        args: "crossing --quick --out /proc/nothing/here",
        exit: 2,
        says: &["/proc/nothing/here"],
        ..CASE
    },
];

/// Which rows have which parts.
const PARTS: [(&str, &[&str]); 7] = [
    ("syscall/clock_gettime", &["entry", "return", "unattributed"]),
    ("syscall/clock_gettime-after-sweep", &["entry", "return", "unattributed"]),
    ("fault/anonymous", &["entry", "handling", "return", "unattributed"]),
    ("fault/zero-page", &["entry", "handling", "return", "unattributed"]),
    ("fault/cached-file", &["entry", "handling", "return", "unattributed"]),
    ("fault/protection", &["entry", "delivery", "sigreturn", "unattributed"]),
    ("signal/self", &["kill-to-handler", "handler-to-return", "unattributed"]),
];

fn parts(result: &Value) -> Vec<&str> {
    let phases = result["phases"].as_array().map(Vec::as_slice).unwrap_or_default();
    phases.iter().filter_map(|phase| phase["name"].as_str()).collect()
}

/// Every bill is there, its parts add up to its total, and each has its evidence. A host
/// on which something refuses (a container, another architecture) may have no bills, and then gives the reason.
fn taken_apart(run: &Value) {
    for (probe, names) in PARTS {
        let result = json::result(run, probe);
        if let Some(why) = json::warning(&result["warnings"], "not-split") {
            assert!(why.len() > 30, "{probe}: {why}");
            continue;
        }
        if result["status"] == "skipped" {
            assert!(!result["enable"].as_str().unwrap().is_empty(), "{result}");
            continue;
        }
        // Where a bare guest tells the hardware's share, the entry and the return are two parts each.
        let found = parts(result);
        if !found.contains(&"hardware-entry") {
            assert_eq!(found, names, "{result}");
        }
        for phase in result["phases"].as_array().unwrap() {
            // A figure that was measured once has no interval.
            let ci = &phase["ns"]["ci"];
            let is_known = phase["ns"]["estimate"].is_number() && (ci.is_array() || ci.is_null());
            assert!(phase["evidence"].is_string() && is_known, "{probe}: {phase}");
        }
        let sum: f64 = result["phases"]
            .as_array()
            .unwrap()
            .iter()
            .map(|phase| phase["ns"]["estimate"].as_f64().unwrap())
            .sum();
        // Medians over epochs do not add up to the digit; what a noisy machine leaves over is a part.
        let total = result["ns"]["estimate"].as_f64().unwrap();
        assert!((sum - total).abs() < 0.5 * total, "{probe}: {sum} for {total}");
    }
    for probe in ["fault/anonymous", "fault/protection"] {
        let result = json::result(run, probe);
        if !parts(result).is_empty() {
            assert!(result["instrumented_ns"]["page-faults-event"].is_f64(), "{result}");
        }
    }
}

/// Faults keep their totals and say why they have no parts; what needs no event has its parts.
fn no_faults(run: &Value, remedy: &str) {
    for probe in ["fault/anonymous", "fault/zero-page", "fault/cached-file", "fault/protection"] {
        let result = json::result(run, probe);
        assert_eq!(result["status"], "measured", "{result}");
        assert!(parts(result).is_empty(), "{result}");
        let why = json::warning(&result["warnings"], "not-split").expect("a reason");
        assert!(why.contains(remedy), "{why}");
    }
    assert_eq!(parts(json::result(run, "syscall/clock_gettime")), PARTS[0].1);
    assert_eq!(parts(json::result(run, "signal/self")), PARTS[6].1);
}
