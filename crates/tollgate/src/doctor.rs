//! What on this host spoils a measurement, and what would fix it. Changes nothing.

use crate::args::{self, ClockChoice, Output};
use crate::output::{Sink, say};
use std::process::ExitCode;
use std::time::{Duration, Instant};
use tollgate_measure::doctor::{Observed, findings};
use tollgate_measure::host;
use tollgate_measure::noise::Watch;
use tollgate_measure::self_check::self_check;
use tollgate_progress::Progress;
use tollgate_record::Store;
use tollgate_supervise::Stop;

#[derive(clap::Args)]
#[command(after_help = "Example:\n  tollgate doctor")]
pub(crate) struct Args {
    /// The CPU that would be measured on
    #[arg(long, value_name = "N", value_parser = args::cpu, allow_hyphen_values = true)]
    cpu: Option<usize>,
    #[command(flatten)]
    output: Output,
}

/// The time for which the machine is watched while nothing of ours runs.
const WATCH: Duration = Duration::from_secs(1);

pub(crate) fn doctor(args: &Args) -> anyhow::Result<ExitCode> {
    let sink = Sink::open(&args.output)?;
    let mut facts = host::here();
    let site = args::site(&facts.cpu, args.cpu, None)?;
    host::place("/".as_ref(), &mut facts, site.cpu, site.peer);
    let attempts = host::attempts();
    let (progress, stop) = (Progress::new(), Stop::announced());
    stop.register()?;
    let stopped = || stop.is_set();
    progress.wait(format!("watching cpu {} for {} s", site.cpu, WATCH.as_secs()));
    let watch = Watch::new(site.cpu, site.peer);
    let mark = watch.mark();
    let begun = Instant::now();
    while begun.elapsed() < WATCH && !stopped() {
        std::thread::sleep(WATCH / 20);
    }
    let span = watch.span(&mark, &watch.mark());
    // From here on this process may use one CPU only.
    let pinned = crate::pin::pin(site.cpu);
    progress.wait("timing what needs no kernel");
    let is_checked = pinned.is_ok() && !stopped();
    let self_check = is_checked.then(|| self_check(ClockChoice::Auto.source())).flatten();
    let observed = Observed {
        span: Some(span),
        audit: host::audited(),
        attempts,
        pinned: Some(pinned.map_err(|error| error.to_string())),
        self_check,
        store: Some(host::usable_store(Store::default_dir())),
    };
    let found = findings(&facts, &observed);
    drop(progress);
    let document = serde_json::json!({ "host": facts, "self_check": self_check, "findings": found });
    let delivered = sink.deliver_either(&document, |style| tollgate_report::findings(&found, style))?;
    // A signal leaves out the checks that had not begun.
    if stop.is_set() {
        say("tollgate: interrupted; the findings are those until then");
        return Ok(ExitCode::from(stop.status(0)));
    }
    Ok(delivered)
}
