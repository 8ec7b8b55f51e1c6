//! What on this host spoils a measurement, and what would fix it. Changes nothing.

use crate::args::{self, ClockChoice, Output};
use crate::output::Sink;
use crate::progress::Progress;
use std::process::ExitCode;
use std::time::Duration;
use tollgate_measure::doctor::{Observed, findings};
use tollgate_measure::host;
use tollgate_measure::noise::Watch;
use tollgate_measure::self_check::self_check;
use tollgate_record::Store;

#[derive(clap::Args)]
#[command(after_help = "Example:\n  tollgate doctor")]
pub(crate) struct Args {
    /// The CPU that would be measured on
    #[arg(long, value_name = "N", value_parser = args::cpu, allow_hyphen_values = true)]
    cpu: Option<usize>,
    #[command(flatten)]
    output: Output,
}

/// How long the machine is watched while nothing of ours runs.
const WATCH: Duration = Duration::from_secs(1);

pub(crate) fn doctor(args: &Args) -> anyhow::Result<ExitCode> {
    let sink = Sink::open(&args.output)?;
    let mut facts = host::here();
    let site = args::site(&facts.cpu, args.cpu, None)?;
    host::place("/".as_ref(), &mut facts, site.cpu, site.peer);
    let attempts = host::attempts();
    let progress = Progress::new();
    progress.show(0.0, format!("watching cpu {} for {} s", site.cpu, WATCH.as_secs()));
    let watch = Watch::new(site.cpu, site.peer);
    let mark = watch.mark();
    std::thread::sleep(WATCH);
    let span = watch.span(&mark, &watch.mark());
    // From here on this process may use one CPU only.
    let pinned = crate::pin::pin(site.cpu);
    let self_check = pinned.is_ok().then(|| self_check(ClockChoice::Auto.source())).flatten();
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
    sink.deliver_either(&document, |style| tollgate_report::findings(&found, style))
}
