//! The causes that spoil, or may spoil, a measurement on this host: one row of a table for each check.
//!
//! Pure: it judges a [`Host`] and observations, and changes nothing. An unknown fact gives no finding, so a missing code
//! does not mean that all is well there.

mod check;
mod kernel;
mod limits;
mod load;
mod machine;
mod permission;
mod place;
mod power;
mod sandbox;
mod tool;

pub use check::Observed;

use check::{Check, Look, View};
use tollgate_record::{Finding, Host, Severity};

/// The groups of checks, in the order in which findings are shown. A new check is a row in the `CHECKS` of its
/// group; a new group is a file and a line here.
static GROUPS: &[&[Check]] = &[
    machine::CHECKS,
    place::CHECKS,
    power::CHECKS,
    kernel::CHECKS,
    permission::CHECKS,
    sandbox::CHECKS,
    limits::CHECKS,
    load::CHECKS,
    tool::CHECKS,
];

fn checks() -> impl Iterator<Item = &'static Check> {
    GROUPS.iter().copied().flatten()
}

/// Runs every check, in the order of the table.
#[must_use]
pub fn findings(host: &Host, watch: &Observed) -> Vec<Finding> {
    let chosen = crate::placement::choose(&host.cpu, host.cpu.measured, host.cpu.peer).ok();
    let view = View {
        host,
        watch,
        cpu: host.cpu.measured.or(chosen.map(|site| site.cpu)),
        peer: host.cpu.peer.or(chosen.and_then(|site| site.peer)),
    };
    checks()
        .filter_map(|check| {
            let (severity, what, fix) = match (check.look)(&view) {
                Look::Unknown => return None,
                Look::Ok(what) => (Severity::Ok, what, None),
                Look::Info(what, fix) => (Severity::Info, what, fix),
                Look::Spoils(what, fix) => (Severity::Spoils, what, Some(fix)),
            };
            Some(Finding { severity, code: check.code.into(), what, effect: check.effect.into(), fix })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::{Attempt, Attempts};
    use std::collections::BTreeSet;

    #[test]
    fn codes_are_unique_and_effects_are_sentences() {
        let codes: BTreeSet<_> = checks().map(|check| check.code).collect();
        assert_eq!(codes.len(), checks().count());
        for check in checks() {
            assert!(check.code.chars().all(|c| c.is_ascii_lowercase() || c == '-'), "{}", check.code);
            assert!(check.effect.ends_with('.') && check.effect.len() > 20, "{}", check.code);
        }
    }

    #[test]
    fn a_host_that_shows_nothing_is_not_called_well() {
        let host = Host { unreadable: vec!["/proc".into(), "/sys".into()], uid: 1000, ..Host::default() };
        let found = findings(&host, &Observed::default());
        let codes: Vec<_> = found.iter().map(|finding| (finding.severity, finding.code.as_str())).collect();
        assert_eq!(codes, [(Severity::Spoils, "missing-facts"), (Severity::Info, "unprivileged")]);
    }

    #[test]
    fn what_was_tried_and_refused_comes_with_its_fix() {
        let refused = |errno| Some(Attempt::Refused(errno));
        let mut watch = Observed {
            attempts: Attempts {
                perf: refused(libc::EPERM),
                io_uring: refused(libc::ENOSYS),
                userfaultfd: Some(Attempt::Killed),
                affinity: Some(Attempt::Works),
            },
            store: Some(Err("there is no home".into())),
            ..Observed::default()
        };
        let host = Host { proc_options: vec!["hidepid=2".into()], ..Host::default() };
        let of = |host: &Host, watch: &Observed, code: &str| {
            let all = findings(host, watch);
            all.into_iter().find(|finding| finding.code == code).map(|it| (it.severity, it.what, it.fix))
        };
        for (code, what) in [
            ("no-perf", "Operation not permitted"),
            ("no-io-uring", "Function not implemented"),
            ("no-userfaultfd", "SIGSYS"),
        ] {
            let (severity, said, fix) = of(&host, &watch, code).unwrap();
            assert!(severity == Severity::Spoils && said.contains(what) && fix.is_some(), "{code}: {said}");
        }
        assert_eq!(of(&host, &watch, "no-affinity").unwrap().0, Severity::Ok);
        assert_eq!(of(&host, &watch, "store").unwrap().0, Severity::Info);
        assert!(of(&host, &watch, "hidden-processes").unwrap().1.contains("hidepid=2"));
        // One CPU from outside makes up for the call.
        watch.attempts.affinity = refused(libc::EPERM);
        let mut one = host.clone();
        for (allowed, severity) in [(vec![0, 1], Severity::Spoils), (vec![1], Severity::Info)] {
            one.cpu.allowed = allowed;
            assert_eq!(of(&one, &watch, "no-affinity").unwrap().0, severity);
        }
        // Who may trace sees all processes; a setting that forbids io_uring has a finding of its own.
        one.capabilities = vec!["sys_ptrace".into()];
        one.kernel.io_uring_disabled = Some(2);
        assert_eq!(of(&one, &watch, "hidden-processes").unwrap().0, Severity::Ok);
        assert!(of(&one, &watch, "no-io-uring").is_none());
    }

    /// The page is the list that scripts rely on: one row for each code, in the order of the table.
    #[test]
    fn the_page_has_every_code() {
        let rows: String =
            checks().map(|check| format!("| `{}` | {} |\n", check.code, check.effect)).collect();
        let table = format!("\n| code | what it does to a measurement |\n|---|---|\n{rows}\n");
        let codes = tollgate_testkit::Recorded::in_page("doctor", "docs/reference/doctor.md");
        codes.assert(&table);
    }
}
