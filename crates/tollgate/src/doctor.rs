//! What on this host spoils a measurement, and what would mend it. Changes nothing.

use crate::cli::{self, ClockChoice, DoctorArgs};
use crate::output::Sink;
use std::io;
use std::process::ExitCode;
use std::time::Duration;
use tollgate_measure::doctor::{Observed, findings};
use tollgate_measure::noise::Watch;
use tollgate_measure::session::{SelfCheck, self_check};
use tollgate_measure::{host, placement};
use tollgate_record::{Finding, Severity};

/// How long the machine is watched while nothing of ours runs.
const WATCH: Duration = Duration::from_secs(1);
/// Relative error of the self-check beyond which figures are in doubt.
const SELF_CHECK_ERROR: f64 = 0.01;

pub(crate) fn doctor(args: &DoctorArgs) -> anyhow::Result<ExitCode> {
    let sink = Sink::open(&args.output)?;
    let mut facts = host::here();
    let site = cli::site(&facts.cpu, args.cpu, None)?;
    host::place("/".as_ref(), &mut facts, site.cpu, site.peer);
    let watch = Watch::new(site.cpu, site.peer);
    let mark = watch.mark();
    std::thread::sleep(WATCH);
    let span = watch.span(&mark, &watch.mark());
    let mut found = findings(&facts, &Observed { span: Some(span), audit: host::audited() });
    let pinned = placement::pin(site.cpu);
    let check = pinned.is_ok().then(|| self_check(ClockChoice::Auto.source())).flatten();
    found.extend(pinned.err().map(|error| unpinned(&error)));
    found.extend(check.as_ref().map(harness));
    let text = if sink.json() {
        format!("{:#}\n", serde_json::json!({ "host": facts, "self_check": check, "findings": found }))
    } else {
        tollgate_report::findings(&found, &sink.style())
    };
    sink.deliver(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn unpinned(error: &io::Error) -> Finding {
    Finding {
        severity: Severity::Spoils,
        code: "pin".into(),
        what: error.to_string(),
        effect: "Nothing can be measured: what a task that may wander measures would be wrong.".into(),
        fix: Some(
            "choose another CPU (--cpu), or run outside the sandbox that refuses sched_setaffinity".into(),
        ),
    }
}

fn harness(check: &SelfCheck) -> Finding {
    let error = check.thousand_multiplies / check.expected - 1.0;
    let good = error.abs() <= SELF_CHECK_ERROR;
    Finding {
        severity: if good { Severity::Ok } else { Severity::Spoils },
        code: "harness".into(),
        what: format!(
            "1,000 dependent multiplies of {} cycles in all read {:.0} cycles ({:+.2} %), at {:.2} GHz",
            check.expected,
            check.thousand_multiplies,
            error * 100.0,
            check.core_hz / 1e9
        ),
        effect: "What the harness gets wrong here, it gets wrong in every figure.".into(),
        fix: (!good)
            .then(|| "repeat it when nothing else runs; if it stays, use '--clock os' and compare".into()),
    }
}
